/*
 * runtime/slots.c on a driver simulated by the test. Whatever the runtime sends in between, the frames
 * of the application's slots leave in order, none twice and none omitted, and each as the table had
 * it; the runtime's buffers come back.
 */
#include "tests/unit/rig/guest.h"

#include "runtime/shared.h"
#include "abi/layout.h"
#include "lib/bytes.h"

#define BUFFERS 300
#define WAITING_MAX 40
#define OWN 0x80000000u /* in the number of a frame of our own */

struct core_self self;
struct core_out core_outs[NIC_PORTS_MAX];

static struct world {
	struct nic_queue q;
	struct nic_counters cnt;
	struct bufpool pool;
	uint32_t stack[BUFFERS];
	/* the driver and its device */
	unsigned size, keeps;              /* slots; how many of them it always keeps */
	unsigned stamped; /* slots */
	struct nic_slot ring[1024];
	uint32_t next, done, sends, puts;
	bool coarse; /* reports room in multiples of 8 while it has more than half, and looks rarely: */
	uint32_t looked, asked; /* `done` at the last look, `next` at the last call */
	uint32_t seen[100000];             /* numbers of the frames sent, in order */
	/* the application */
	struct nic_slot table[NIC_SLOTS_MAX];
	uint32_t sent; /* slots */
	uint32_t own_made;
	uint32_t stalls;
	uint32_t bound; /* times that the ring was declared the application's */
} w;

#define PORT 3

/* --- stand-ins for runtime/data.c --- */

struct nic_queue *data_queue(unsigned port)
{
	return port == PORT ? &w.q : NULL;
}

void data_bind(unsigned port)
{
	assert_int_equal(port, PORT);
	w.bound++;
}

void data_note_stall(unsigned port)
{
	assert_int_equal(port, PORT);
	w.stalls++;
}

void core_tx_flush(unsigned port)
{
	struct core_out *o = &core_outs[port];
	unsigned n = w.q.ops->tx_burst(&w.q, o->v, o->n);
	o->n -= n;
	memmove(o->v, o->v + n, o->n * sizeof o->v[0]);
}

/* --- the driver --- */

static uint32_t number_of(const struct nic_slot *s)
{
	return raw32_load(s->data + 20);
}

static unsigned slots_open(struct nic_queue *q)
{
	assert_ptr_equal(q, &w.q);
	return w.next == w.done ? w.size : 0;
}

static void slots_put(struct nic_queue *q, unsigned first, const struct nic_slot *s, unsigned n)
{
	(void)q;
	assert_in_range(first - w.next, 0, w.size - 1 - (w.next - w.done));
	assert_in_range(n, 1, w.size);
	w.puts += n;
	for (unsigned i = 0; i < n; i++)
		w.ring[(first + i) % w.size] = s[i];
}

static void slot_stamp(struct nic_queue *q, unsigned slot)
{
	(void)q;
	assert_int_equal(slot, w.next); /* put, and not sent */
	w.stamped++;
}

static unsigned slots_free(struct nic_queue *q)
{
	(void)q;
	unsigned known = w.size - w.keeps - (w.next - w.looked);
	bool spared = w.coarse && w.asked != w.next && known > w.size / 2;
	w.asked = w.next;
	if (spared)
		return known;
	w.looked = w.done;
	unsigned busy = w.next - w.done, n = w.size - w.keeps - busy;
	return w.coarse && busy > w.size / 2 ? n & ~7u : n;
}

static void slots_send(struct nic_queue *q, unsigned n, uint64_t bytes)
{
	assert_in_range(n, 1, w.size - w.keeps - (w.next - w.done));
	q->cnt->tx_pkts += n;
	q->cnt->tx_bytes += bytes;
	for (unsigned i = 0; i < n; i++, w.next++) {
		const struct nic_slot *s = &w.ring[w.next % w.size];
		uint32_t number = number_of(s);
		w.seen[w.sends++] = number;
		assert_in_range(s->len, 60, 1514);
		if (!(number & OWN))
			assert_int_equal(s->len, 60 + number % 1000);
	}
}

/* Descriptors stay, so sent frames must not change until they are done. */
static void device_done(unsigned n)
{
	for (; n; n--, w.done++)
		assert_int_equal(number_of(&w.ring[w.done % w.size]), w.seen[w.done]);
}

static const struct nic_ops driver = {
	.slots_open = slots_open,
	.slots_put = slots_put,
	.slot_stamp = slot_stamp,
	.slots_free = slots_free,
	.slots_send = slots_send,
};

/* --- application and runtime --- */

/* Slot k is to send frame k, counted without limit. */
static void prepare(uint32_t k)
{
	struct nic_slot *s = &w.table[k % w.size];
	raw32_store(s->data + 20, k);
	s->len = 60 + k % 1000;
}

/* All slots prepared, none sent. */
static void begin(unsigned size, unsigned keeps, bool coarse)
{
	uint8_t *memory = (uint8_t *)(uintptr_t)MEMORY_WINDOW + GUEST_PAGE;
	guest_open();
	memset(&w, 0, sizeof w);
	memset(core_outs, 0, sizeof core_outs);
	bufpool_init(&w.pool, memory, w.stack, BUFFERS, BUF_STRIDE_STANDARD);
	w.size = size;
	w.keeps = keeps;
	w.coarse = coarse;
	w.q = (struct nic_queue){.ops = &driver, .pool = &w.pool, .cnt = &w.cnt, .port = PORT};
	for (unsigned i = 0; i < size; i++) {
		w.table[i].data = memory + BUFFERS * BUF_STRIDE_STANDARD + 2048 * i;
		prepare(i);
	}
	assert_int_equal(core_slots_open(PORT, w.table), (int)size);
	assert_int_equal(w.bound, 1);
	assert_int_equal(core_slots_len_max(PORT), UINT32_MAX);
	w.q.slot_len_max = 2000;
	assert_int_equal(core_slots_len_max(PORT), 2000);
}

static void make_own(unsigned n)
{
	struct core_out *o = &core_outs[PORT];
	struct pkt p;
	for (; n && o->n < WAITING_MAX && pkt_alloc(&w.pool, &p); n--) {
		p.len = random_below(2) ? 42 : 200;
		p.flags = PKT_OWN;
		raw32_store(p.data + 20, OWN | w.own_made++);
		o->v[o->n++] = p;
	}
}

static void drain(void)
{
	do {
		core_tx_flush(PORT);
		device_done(w.next - w.done);
	} while (core_outs[PORT].n);
	w.q.ops->tx_burst(&w.q, NULL, 0);
	assert_true(core_slots_idle(PORT));
	assert_int_equal(w.pool.free, BUFFERS);
}

/* All frames left once, and in order: the application's first is 0. */
static void assert_order(bool same)
{
	uint32_t app = 0, own = 0;
	for (uint32_t i = 0; i < w.sends; i++) {
		if (w.seen[i] & OWN)
			assert_int_equal(w.seen[i], OWN | own++);
		else
			assert_int_equal(w.seen[i], same ? app++ % w.size : app++);
	}
	assert_int_equal(own, w.own_made);
	assert_int_equal(app, w.sent);
	assert_int_equal(w.cnt.tx_pkts, w.sends);
}

/* Frames that stay the same, now and then with some of the runtime's in between. */
static void fixed_frames(void **s)
{
	(void)s;
	seed_random("fixed_frames");
	for (unsigned life = 0; life < 40; life++) {
		begin(16u << life % 4, life % 2, life % 3 == 0);
		for (unsigned round = 0; round < 400; round++) {
			unsigned room = core_slots_room(PORT), n = random_below(room + 1);
			if (n)
				core_slots_send(PORT, n, n);
			w.sent += n;
			if (random_below(20) == 0)
				make_own(1 + random_below(3));
			if (random_below(2))
				core_tx_flush(PORT);
			device_done(random_below(w.next - w.done + 1));
		}
		drain();
		assert_order(true);
	}
}

/* Different frames each time: the table is written for the next few. */
static void frames_that_change(void **s)
{
	(void)s;
	seed_random("frames_that_change");
	for (unsigned life = 0; life < 40; life++) {
		begin(16u << life % 4, life % 2, life % 3 == 0);
		for (unsigned round = 0; round < 400; round++) {
			unsigned room = core_slots_room(PORT), n = random_below(room + 1);
			for (unsigned i = 0; i < n; i++)
				prepare(w.sent + i);
			core_slots_changed(PORT, n);
			if (n)
				core_slots_send(PORT, n, n);
			w.sent += n;
			if (random_below(3) == 0)
				make_own(random_below(8));
			if (random_below(2))
				core_tx_flush(PORT);
			device_done(random_below(w.next - w.done + 1));
		}
		drain();
		assert_order(false);
	}
}

/* Unchanged slots are put once; after a frame of the runtime once more. */
static void puts_little(void **s)
{
	(void)s;
	begin(64, 0, false);
	for (unsigned round = 0; round < 100; round++) {
		assert_int_equal(core_slots_room(PORT), 64);
		core_slots_send(PORT, 40, 40);
		device_done(40);
	}
	assert_int_equal(w.puts, 64);
	make_own(1);
	core_tx_flush(PORT);
	assert_int_equal(w.puts, 65);
	for (unsigned round = 0; round < 100; round++) {
		core_slots_room(PORT);
		core_slots_send(PORT, 40, 40);
		device_done(w.next - w.done);
	}
	assert_int_equal(w.puts, 65 + 64);
	drain();
}

/* The runtime's frames wait while the ring is full, and are the first to leave. */
static void own_frames_go_first(void **s)
{
	(void)s;
	begin(16, 0, false);
	core_slots_room(PORT);
	core_slots_send(PORT, 16, 16);
	make_own(3);
	core_tx_flush(PORT);
	assert_int_equal(core_outs[PORT].n, 3);
	assert_int_equal(core_slots_room(PORT), 0);
	assert_int_equal(w.stalls, 1);
	device_done(2);
	assert_int_equal(core_slots_room(PORT), 0);
	assert_int_equal(core_outs[PORT].n, 1);
	device_done(5);
	assert_int_equal(core_slots_room(PORT), 4);
	assert_int_equal(core_outs[PORT].n, 0);
	assert_false(core_slots_idle(PORT));
	drain();
}

/* Short frames are padded with zeros, checksums completed. */
static void own_frames_are_completed(void **s)
{
	struct core_out *o = &core_outs[PORT];
	struct pkt p;
	(void)s;
	begin(16, 0, false);
	assert_true(pkt_alloc(&w.pool, &p));
	memset(p.data, 0xee, 100);
	p.len = 50;
	p.flags = PKT_OWN | PKT_CSUM_PARTIAL;
	memset(p.data - NIC_SLOT_ROOM, 0xee, NIC_SLOT_ROOM);
	raw32_store(p.data + 20, OWN);
	raw16_store(p.data + 40, 0);
	*pkt_meta(&w.pool, p.buf) = (struct pkt_meta){.csum_start = 34, .csum_offset = 6};
	o->v[o->n++] = p;
	core_tx_flush(PORT);
	assert_int_equal(w.ring[0].len, 60);
	assert_int_not_equal(raw16_load(p.data + 40), 0);
	for (unsigned i = 50; i < 60; i++)
		assert_int_equal(p.data[i], 0);
	assert_int_equal(p.data[60], 0xee);
	for (unsigned i = 0; i < NIC_SLOT_ROOM; i++)
		assert_int_equal(p.data[-1 - (int)i], 0);
	assert_int_equal(w.cnt.tx_bytes, 50);
	drain();
}

/* A packet to be time-stamped by the device leaves at once, between the slots, or is refused for
 * lack of room. */
static void stamped_frames(void **s)
{
	struct pkt p;
	(void)s;
	begin(16, 0, false);
	core_slots_room(PORT);
	core_slots_send(PORT, 7, 7);
	w.sent += 7;
	assert_true(pkt_alloc(&w.pool, &p));
	p.len = 60;
	raw32_store(p.data + 20, OWN | w.own_made++);
	assert_int_equal(core_tx_stamped(PORT, &p), E_OK);
	assert_int_equal(w.stamped, 1);
	core_slots_room(PORT);
	core_slots_send(PORT, 8, 8);
	w.sent += 8;
	assert_true(pkt_alloc(&w.pool, &p));
	p.len = 60;
	assert_int_equal(core_tx_stamped(PORT, &p), E_AGAIN);
	pkt_free(&w.pool, &p);
	assert_int_equal(w.stamped, 1);
	drain();
	assert_order(true);
}

/* A new run begins with slot 0, after the device has sent the last one; a queue that was attached
 * again has no slots. */
static void opened_again(void **s)
{
	(void)s;
	begin(16, 1, false);
	core_slots_room(PORT);
	core_slots_send(PORT, 5, 5);
	assert_int_equal(core_slots_open(PORT, w.table), E_AGAIN);
	device_done(5);
	make_own(1);
	core_tx_flush(PORT);
	assert_int_equal(core_slots_open(PORT, w.table), E_AGAIN);
	device_done(1);
	assert_int_equal(core_slots_open(PORT, w.table), 16);
	core_slots_room(PORT);
	core_slots_send(PORT, 3, 3);
	assert_int_equal(w.seen[6], 0);
	w.q.ops = &driver; /* stopped with frames in the ring, and attached */
	assert_int_equal(core_slots_open(PORT, w.table), E_AGAIN);
	device_done(3);
	assert_int_equal(core_slots_open(PORT, w.table), 16);
	assert_int_equal(core_slots_open(PORT + 1, w.table), E_AGAIN);
	w.q.broken = true;
	assert_int_equal(core_slots_room(PORT), 0);
	assert_true(core_slots_idle(PORT));
	assert_int_equal(core_slots_open(PORT, w.table), E_AGAIN);
	w.q = (struct nic_queue){.ops = &(const struct nic_ops){.name = "none"}, .port = PORT};
	assert_int_equal(core_slots_open(PORT, w.table), E_NOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_frames),
		cmocka_unit_test(frames_that_change),
		cmocka_unit_test(puts_little),
		cmocka_unit_test(own_frames_go_first),
		cmocka_unit_test(own_frames_are_completed),
		cmocka_unit_test(stamped_frames),
		cmocka_unit_test(opened_again),
	};
	return cmocka_run_group_tests_name("slots", tests, guest_map, NULL);
}
