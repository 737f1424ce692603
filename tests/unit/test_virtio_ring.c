/*
 * drivers/virtio_net/ring.c against a device: first one that keeps to VIRTIO 1.2, then one that
 * does not. The device is virtq_device.h's. It takes what is available at the moment its doorbell
 * rings, so a descriptor published after the doorbell would not be seen.
 *
 * After every test each buffer has exactly one owner: pool, a ring, or the test's hands.
 */
#include "tests/unit/host.h"

#include <sanitizer/asan_interface.h>

#include "drivers/virtio_net/ring.h"
#include "hal/layout.h"
#include "hal/mmio.h"
#include "tests/unit/virtq_device.h"

#define PAGE 4096u
#define BUFS_MAX 2200
#define ROOM (BUF_STRIDE_STANDARD - BUF_DATA_OFFSET)

static struct world {
	struct bufpool pool;
	uint32_t stack[BUFS_MAX];
	struct nic_counters cnt;
	struct virtio_ring rx, tx; /* the driver's */
	struct vq drx, dtx;        /* the device's */
	bool offload, broken;
	unsigned nhands;
	struct pkt hands[BUFS_MAX]; /* packets the test holds */
} w;

static char doorbells[2]; /* only their addresses matter */

static void device_init(struct vq *q, const struct virtio_ring *r, bool writable)
{
	*q = (struct vq){.size = r->size, .number = r->queue, .writable = writable, .strict = true};
	q->desc = bus_of(r->desc);
	q->avail = bus_of(r->avail);
	q->used = bus_of(r->used);
}

void host_mmio_write(volatile void *a, unsigned bytes, uint32_t v)
{
	struct vq *q = a == &doorbells[0] ? &w.drx : a == &doorbells[1] ? &w.dtx : NULL;
	assert_non_null(q);
	device_doorbell(q, bytes, v);
}

uint32_t host_mmio_read(const volatile void *a, unsigned bytes)
{
	(void)a;
	(void)bytes;
	fail_msg("the data path reads a register");
	return 0;
}

/* --- frames that can be told apart --- */

static unsigned frame_len(uint32_t seq)
{
	return 60 + seq * 7 % (ROOM - 60 + 1);
}

static uint8_t frame_byte(uint32_t seq, unsigned i)
{
	return (uint8_t)(i < 4 ? seq >> 8 * i : seq * 31 + i);
}

static void make_frame(uint8_t *at, uint32_t seq)
{
	for (unsigned i = 0; i < frame_len(seq); i++)
		at[i] = frame_byte(seq, i);
}

static void assert_frame(const uint8_t *at, unsigned len, uint32_t seq)
{
	static uint8_t want[ROOM];
	assert_int_equal(len, frame_len(seq));
	make_frame(want, seq);
	assert_memory_equal(at, want, len);
}

static const struct header plain = {.num_buffers = 1};

/* The device receives frame `seq` into the i-th oldest descriptor it holds. */
static void device_receive(unsigned i, uint32_t seq)
{
	unsigned id = device_pick(&w.drx, i);
	uint64_t at = w.drx.chain[id].addr;
	store_header(at, plain);
	make_frame(bus(at + HEADER, frame_len(seq)), seq);
	device_use(&w.drx, id, HEADER + frame_len(seq));
}

/* --- the machine --- */

static void poison_to(uint8_t *from, uint8_t *to)
{
	ASAN_POISON_MEMORY_REGION(from, (size_t)(to - from));
}

static uint8_t *next_page(uint8_t *p)
{
	return (uint8_t *)(((uintptr_t)p + CACHE_LINE + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
}

/* As a data core does it: rings zeroed, empty pool, attach. */
static void start(unsigned size, unsigned buffers)
{
	uint8_t *memory = (uint8_t *)(uintptr_t)MEMORY_WINDOW;
	assert_true(buffers <= BUFS_MAX);
	ASAN_UNPOISON_MEMORY_REGION(memory, GUEST_BYTES);
	memset(&w, 0, sizeof w);
	size_t bytes = virtio_ring_bytes(size);
	uint8_t *rx = memory + PAGE, *tx = next_page(rx + bytes), *base = next_page(tx + bytes);
	uint8_t *end = base + (size_t)buffers * BUF_STRIDE_STANDARD;
	assert_true(end <= memory + GUEST_BYTES);
	poison_to(memory, rx);
	poison_to(rx + bytes, tx);
	poison_to(tx + bytes, base);
	poison_to(end, memory + GUEST_BYTES);
	memset(rx, 0, bytes);
	memset(tx, 0, bytes);
	bufpool_init(&w.pool, base, w.stack, buffers, BUF_STRIDE_STANDARD);

	virtio_ring_init(&w.rx, rx, size);
	virtio_ring_init(&w.tx, tx, size);
	w.rx.doorbell = &doorbells[0];
	w.tx.doorbell = &doorbells[1];
	w.rx.queue = 4; /* pair 2 */
	w.tx.queue = 5;
	device_init(&w.drx, &w.rx, true);
	device_init(&w.dtx, &w.tx, false);
	virtio_rx_fill(&w.rx, &w.pool, &w.cnt);
}

static unsigned rx(unsigned max)
{
	static struct pkt v[PKT_VECTOR_MAX];
	unsigned n = virtio_rx_burst(&w.rx, &w.pool, &w.cnt, v, max, w.offload, &w.broken);
	assert_in_range(n, 0, max);
	memcpy(&w.hands[w.nhands], v, n * sizeof v[0]);
	w.nhands += n;
	return n;
}

static void let_go(void)
{
	while (w.nhands)
		pkt_free(&w.pool, &w.hands[--w.nhands]);
}

/* Takes `n` buffers of the pool in hand, with frames seq, seq + 1, ... */
static void take_frames(unsigned n, uint32_t seq)
{
	for (unsigned i = 0; i < n; i++) {
		struct pkt *p = &w.hands[w.nhands];
		assert_true(pkt_alloc(&w.pool, p));
		p->len = (uint16_t)frame_len(seq + i);
		make_frame(p->data, seq + i);
		w.nhands++;
	}
}

/* Sends what is in hand; what is refused stays there. */
static unsigned tx(void)
{
	unsigned n = w.nhands < PKT_VECTOR_MAX ? w.nhands : PKT_VECTOR_MAX;
	unsigned k = virtio_tx_burst(&w.tx, &w.pool, &w.cnt, w.hands, n, &w.broken);
	assert_in_range(k, 0, n);
	w.nhands -= k;
	memmove(w.hands, w.hands + k, w.nhands * sizeof w.hands[0]);
	return k;
}

/* The device sends the i-th oldest frame it holds, which has to be `seq`. */
static void device_send(unsigned i, uint32_t seq)
{
	static const uint8_t zero[HEADER];
	unsigned id = device_pick(&w.dtx, i);
	const struct chain *c = &w.dtx.chain[id];
	/* 5.1.6.2.1: nothing to be done for the frame, num_buffers 0 */
	assert_memory_equal(bus(c->addr, HEADER), zero, HEADER);
	assert_frame(bus(c->addr + HEADER, c->len - HEADER), c->len - HEADER, seq);
	device_use(&w.dtx, id, 0);
}

static void assert_owner(uint8_t *seen, uint32_t buf)
{
	assert_in_range(buf, 0, w.pool.count - 1);
	if (seen[buf]++)
		fail_msg("buffer %u has two owners", buf);
}

/* Every buffer has exactly one owner, and the rings know what they have. */
static void assert_accounted(void)
{
	static uint8_t seen[BUFS_MAX];
	unsigned none = 0, total = w.pool.free + w.nhands;
	memset(seen, 0, sizeof seen);
	for (uint32_t i = 0; i < w.pool.free; i++)
		assert_owner(seen, w.pool.stack[i]);
	for (unsigned i = 0; i < w.nhands; i++)
		assert_owner(seen, w.hands[i].buf);
	for (unsigned i = 0; i < w.rx.size; i++) {
		if (w.rx.owner[i] == VIRTIO_NONE) {
			none++;
			continue;
		}
		total++;
		assert_owner(seen, w.rx.owner[i]);
		assert_int_equal(load(w.drx.desc + 16 * i, 8),
		                 bus_of(buf_base(&w.pool, w.rx.owner[i])) + BUF_DATA_OFFSET - HEADER);
	}
	assert_int_equal(none, w.rx.missing);
	for (unsigned i = 0; i < w.tx.size; i++) {
		if (w.tx.owner[i] == VIRTIO_NONE)
			continue;
		total++;
		assert_owner(seen, w.tx.owner[i]);
	}
	assert_int_equal(total, w.pool.count);
}

/* With a device that keeps to the rules, both agree on what the device holds. */
static void assert_agree(const struct virtio_ring *r, const struct vq *q)
{
	unsigned held = 0;
	for (unsigned i = 0; i < q->size; i++) {
		held += q->chain[i].held;
		if (q->chain[i].held)
			assert_int_not_equal(r->owner[i], VIRTIO_NONE);
	}
	assert_int_equal(held, q->n);
}

static int teardown(void **s)
{
	(void)s;
	assert_accounted();
	assert_int_equal(w.cnt.mmio_reads, 0);
	assert_int_equal(w.cnt.mmio_writes, w.drx.rings + w.dtx.rings);
	return 0;
}

/* Teardown of tests in which the device behaves: nothing was found wrong with it. */
static int teardown_good(void **s)
{
	assert_false(w.broken);
	assert_int_equal(w.cnt.rx_bad_desc + w.cnt.tx_bad_desc, 0);
	assert_agree(&w.rx, &w.drx);
	assert_agree(&w.tx, &w.dtx);
	return teardown(s);
}

/* --- a device that keeps to the standard --- */

/* 2.7: alignment and size of the three parts; they do not overlap each other or the owner table. */
static void layout(void **s)
{
	(void)s;
	for (unsigned size = 2; size <= VIRTIO_RING_MAX; size *= 2) {
		start(size, BUFS_MAX);
		const struct vq *q = &w.dtx;
		assert_int_equal(virtio_ring_bytes(size) % 64, 0);
		assert_int_equal(q->desc % 16, 0);
		assert_int_equal(q->avail % 2, 0);
		assert_int_equal(q->used % 4, 0);
		assert_true(q->desc + 16 * size <= q->avail);
		assert_true(q->avail + 6 + 2 * size <= q->used);
		assert_true(q->used + 6 + 8 * size <= bus_of(w.tx.owner));
		assert_true(bus_of(w.tx.owner) + 4 * size <= q->desc + virtio_ring_bytes(size));
		assert_int_equal(load(q->avail, 2), 1); /* no interrupts */
		assert_int_equal(load(q->avail + 2, 2), 0);
		assert_int_equal(w.drx.n, size);
		assert_int_equal(w.rx.missing, 0);
		assert_accounted();
	}
}

static void rx_in_order(void **s)
{
	(void)s;
	uint32_t seq = 0, bytes = 0;
	start(256, 600);
	for (unsigned n = 1; n <= 256; n += 5) {
		for (unsigned i = 0; i < n; i++)
			device_receive(0, seq + i);
		assert_int_equal(rx(256), 0); /* not published yet */
		device_publish(&w.drx);
		assert_int_equal(rx(256), n);
		for (unsigned i = 0; i < n; i++) {
			const struct pkt *p = &w.hands[i];
			assert_ptr_equal(p->data, buf_base(&w.pool, p->buf) + BUF_DATA_OFFSET);
			assert_int_equal(p->flags, 0);
			assert_frame(p->data, p->len, seq + i);
			bytes += p->len;
		}
		seq += n;
		assert_int_equal(w.drx.n, 256);
		assert_accounted();
		let_go();
	}
	assert_int_equal(w.cnt.rx_pkts, seq);
	assert_int_equal(w.cnt.rx_bytes, bytes);
}

static void rx_out_of_order(void **s)
{
	(void)s;
	uint32_t seq = 0;
	start(64, 300);
	seed_random("rx_out_of_order");
	for (unsigned round = 0; round < 500; round++) {
		unsigned n = 1 + random_below(64);
		for (unsigned i = 0; i < n; i++)
			device_receive(random_below(w.drx.n), seq + i);
		device_publish(&w.drx);
		assert_int_equal(rx(256), n);
		for (unsigned i = 0; i < n; i++)
			assert_frame(w.hands[i].data, w.hands[i].len, seq + i);
		seq += n;
		assert_accounted();
		let_go();
	}
	assert_int_equal(w.cnt.rx_pkts, seq);
}

/* A vector smaller than what waits: the rest stays, nothing is lost. */
static void rx_takes_no_more_than_asked(void **s)
{
	(void)s;
	start(64, 200);
	for (unsigned i = 0; i < 50; i++)
		device_receive(0, i);
	device_publish(&w.drx);
	for (unsigned got = 0; got < 50; got += 7)
		assert_int_equal(rx(7), 50 - got < 7 ? 50 - got : 7);
	assert_int_equal(rx(7), 0);
	for (unsigned i = 0; i < 50; i++)
		assert_frame(w.hands[i].data, w.hands[i].len, i);
}

static void indices_wrap(void **s)
{
	(void)s;
	uint32_t seq = 0;
	start(128, 600);
	while (seq < 3 * 65536 + 1000) {
		unsigned n = 1 + seq % 128;
		for (unsigned i = 0; i < n; i++)
			device_receive(0, seq + i);
		device_publish(&w.drx);
		assert_int_equal(rx(256), n);
		assert_int_equal(tx(), n);
		assert_int_equal(w.nhands, 0);
		for (unsigned i = 0; i < n; i++)
			device_send(0, seq + i);
		device_publish(&w.dtx);
		seq += n;
	}
	assert_int_equal(tx(), 0);
	assert_accounted();
	assert_int_equal(w.cnt.rx_pkts, seq);
	assert_int_equal(w.cnt.tx_pkts, seq);
	assert_int_equal(w.cnt.tx_bytes, w.cnt.rx_bytes);
	assert_int_equal(w.pool.free, 600 - 128);
}

static void rx_pool_runs_dry_and_recovers(void **s)
{
	(void)s;
	uint32_t seq = 0;
	start(64, 100);
	for (unsigned round = 0; round < 3; round++) {
		/* 36 in the pool: after 100 frames the device has no descriptor left */
		while (w.drx.n) {
			unsigned n = w.drx.n < 10 ? w.drx.n : 10;
			for (unsigned i = 0; i < n; i++)
				device_receive(w.drx.n / 2, seq++);
			device_publish(&w.drx);
			assert_int_equal(rx(256), n);
			assert_accounted();
		}
		assert_int_equal(w.nhands, 100);
		assert_int_equal(w.rx.missing, 64);
		assert_int_equal(w.cnt.rx_no_buffer, 64 * (round + 1));
		unsigned rings = w.drx.rings;
		assert_int_equal(rx(256), 0);
		assert_int_equal(w.drx.rings, rings); /* nothing to say */
		assert_false(w.broken);

		/* One comes back, then all. */
		pkt_free(&w.pool, &w.hands[--w.nhands]);
		assert_int_equal(rx(256), 0);
		assert_int_equal(w.drx.n, 1);
		let_go();
		w.cnt.rx_no_buffer = 64 * (round + 1);
		assert_int_equal(rx(256), 0);
		assert_int_equal(w.drx.n, 64);
		assert_int_equal(w.rx.missing, 0);
		assert_accounted();
	}
	/* Fewer buffers than descriptors from the start. */
	start(64, 20);
	assert_int_equal(w.drx.n, 20);
	for (unsigned i = 0; i < 1000; i++) {
		device_receive(random_below(w.drx.n), i);
		device_publish(&w.drx);
		assert_int_equal(rx(256), 1);
		assert_frame(w.hands[0].data, w.hands[0].len, i);
		let_go();
		assert_accounted();
	}
	assert_int_equal(rx(256), 0);
	assert_int_equal(w.drx.n, 20);
}

static void tx_in_order(void **s)
{
	(void)s;
	uint32_t seq = 0;
	start(256, 600);
	for (unsigned n = 1; n <= 256; n += 3) {
		take_frames(n, seq);
		assert_int_equal(tx(), n);
		assert_int_equal(w.nhands, 0);
		assert_int_equal(w.dtx.n, n);
		for (unsigned i = 0; i < n; i++)
			device_send(0, seq + i);
		device_publish(&w.dtx);
		assert_int_equal(tx(), 0);
		assert_int_equal(w.pool.free, 600 - 256);
		assert_accounted();
		seq += n;
	}
	assert_int_equal(w.cnt.tx_pkts, seq);
	assert_int_equal(w.cnt.tx_full, 0);
}

static void tx_out_of_order(void **s)
{
	(void)s;
	uint32_t seq = 0, at[64];
	unsigned waiting = 0, sent = 0, refused = 0;
	start(64, 300);
	seed_random("tx_out_of_order");
	for (unsigned round = 0; round < 2000; round++) {
		unsigned n = random_below(40);
		take_frames(n, seq);
		unsigned k = tx();
		for (unsigned i = 0; i < k; i++)
			at[waiting++] = seq + i;
		sent += k;
		refused += k < n;
		let_go(); /* what did not fit */
		seq += n;
		assert_int_equal(w.dtx.n, waiting);
		for (unsigned done = random_below(waiting + 1); done; done--) {
			unsigned i = random_below(waiting);
			device_send(i, at[i]);
			waiting--;
			memmove(&at[i], &at[i + 1], (waiting - i) * sizeof at[0]);
		}
		device_publish(&w.dtx);
		assert_accounted();
	}
	for (unsigned i = 0; i < waiting; i++)
		device_send(0, at[i]);
	device_publish(&w.dtx);
	assert_int_equal(tx(), 0);
	assert_int_equal(w.pool.free, 300 - 64);
	assert_int_equal(w.cnt.tx_pkts, sent);
	assert_int_equal(w.cnt.tx_full, refused);
	assert_true(refused > 0);
}

static void tx_ring_full(void **s)
{
	(void)s;
	start(64, 300);
	take_frames(100, 0);
	assert_int_equal(tx(), 64);
	assert_int_equal(w.nhands, 36);
	assert_int_equal(w.cnt.tx_full, 1); /* times, not packets */
	unsigned rings = w.dtx.rings;
	assert_int_equal(tx(), 0); /* and no doorbell for nothing */
	assert_int_equal(w.dtx.rings, rings);
	assert_int_equal(w.cnt.tx_full, 2);
	assert_accounted();

	/* The oldest is still out: its place is not to be had, however many behind it are done. */
	for (unsigned i = 1; i < 64; i++)
		device_send(1, i);
	device_publish(&w.dtx);
	assert_int_equal(tx(), 0);
	assert_int_equal(w.dtx.n, 1);
	assert_int_equal(w.pool.free, 300 - 64 - 36 - 1);
	device_send(0, 0);
	device_publish(&w.dtx);
	assert_int_equal(tx(), 36);
	for (unsigned i = 0; i < 36; i++)
		device_send(0, 64 + i);
	device_publish(&w.dtx);
	assert_int_equal(tx(), 0);
	assert_int_equal(w.pool.free, 300 - 64);
}

/* 5.1.6.2: what a frame with a partial checksum says, and that the next in its place does not. */
static void tx_partial_checksum(void **s)
{
	(void)s;
	start(4, 20);
	for (unsigned round = 0; round < 8; round++) {
		take_frames(1, round);
		struct pkt *p = &w.hands[0];
		if (round % 2 == 0) {
			p->flags = PKT_CSUM_PARTIAL;
			*pkt_meta(&w.pool, p->buf) = (struct pkt_meta){34, 16};
		}
		memset(p->data - HEADER, 0xee, HEADER);
		assert_int_equal(tx(), 1);
		if (round % 2 == 0) {
			uint64_t at = w.dtx.chain[w.dtx.fifo[0]].addr;
			assert_int_equal(load(at, 1), 1); /* NEEDS_CSUM */
			assert_int_equal(load(at + 1, 1), 0);
			assert_int_equal(load(at + 2, 4), 0);
			assert_int_equal(load(at + 6, 2), 34);
			assert_int_equal(load(at + 8, 2), 16);
			assert_int_equal(load(at + 10, 2), 0);
			store_header(at, (struct header){0});
		}
		device_send(0, round);
		device_publish(&w.dtx);
		assert_int_equal(tx(), 0);
	}
}

/* A received header, and what has to become of the frame of 100 bytes behind it. */
static void rx_headers(void **s)
{
	(void)s;
	static const struct {
		bool offload;
		struct header h;
		bool passes;
		uint8_t flags;
		unsigned bad_len, oversize;
	} row[] = {
		{true, {0, 0, 0, 0, 1}, true, 0, 0, 0},
		{true, {1, 0, 34, 16, 1}, true, PKT_CSUM_PARTIAL, 0, 0},
		{true, {1, 0, 0, 0, 1}, true, PKT_CSUM_PARTIAL, 0, 0},
		{true, {1, 0, 82, 16, 1}, true, PKT_CSUM_PARTIAL, 0, 0}, /* the last two bytes */
		{true, {1, 0, 83, 16, 1}, false, 0, 1, 0},
		{true, {1, 0, 0, 99, 1}, false, 0, 1, 0},
		{true, {1, 0, 0, 98, 1}, true, PKT_CSUM_PARTIAL, 0, 0},
		{true, {1, 0, 100, 0, 1}, false, 0, 1, 0},
		{true, {1, 0, 0xffff, 0xffff, 1}, false, 0, 1, 0},
		{true, {1, 0, 0xffff, 3, 1}, false, 0, 1, 0}, /* 65536 + 2 in 16 bits fits */
		{true, {1, 0, 3, 0xffff, 1}, false, 0, 1, 0},
		{true, {2, 0, 0, 0, 1}, true, PKT_CSUM_OK, 0, 0},
		{true, {2, 0, 0xffff, 0xffff, 1}, true, PKT_CSUM_OK, 0, 0},
		{true, {0xfc, 0, 0xffff, 0xffff, 1}, true, 0, 0, 0}, /* unknown bits: ignored */
		{true, {0, 1, 0, 0, 1}, false, 0, 0, 1},             /* GSO was not negotiated */
		{true, {0, 4, 0, 0, 1}, false, 0, 0, 1},
		{true, {0, 0x80, 0, 0, 1}, false, 0, 0, 1},
		{true, {1, 0xff, 34, 16, 1}, false, 0, 0, 1},
		{true, {0, 0, 0, 0, 0}, false, 0, 0, 1},
		{true, {0, 0, 0, 0, 65535}, false, 0, 0, 1},
		/* Without GUEST_CSUM flags mean nothing. */
		{false, {0, 0, 0, 0, 1}, true, 0, 0, 0},
		{false, {1, 0, 0xffff, 0xffff, 1}, true, 0, 0, 0},
		{false, {2, 0, 0, 0, 1}, true, 0, 0, 0},
		{false, {0, 0, 0, 0, 0}, false, 0, 0, 1},
		{false, {0, 0, 0, 0, 65535}, false, 0, 0, 1},
	};
	start(8, 40);
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		memset(&w.cnt, 0, sizeof w.cnt);
		w.drx.rings = w.dtx.rings = 0;
		w.offload = row[i].offload;
		unsigned id = device_pick(&w.drx, 0);
		store_header(w.drx.chain[id].addr, row[i].h);
		device_use(&w.drx, id, HEADER + 100);
		device_publish(&w.drx);
		unsigned n = rx(256);
		if (n != row[i].passes || w.cnt.rx_bad_len != row[i].bad_len ||
		    w.cnt.rx_oversize != row[i].oversize || (n && w.hands[0].flags != row[i].flags))
			fail_msg("row %u: %u packets", i, n);
		assert_int_equal(w.cnt.rx_pkts, n);
		assert_int_equal(w.cnt.rx_bytes, 100 * n);
		if (row[i].flags == PKT_CSUM_PARTIAL) {
			const struct pkt_meta *m = pkt_meta(&w.pool, w.hands[0].buf);
			assert_int_equal(m->csum_start, row[i].h.csum_start);
			assert_int_equal(m->csum_offset, row[i].h.csum_offset);
		}
		assert_accounted();
		let_go();
		/* The next frame is taken for what it is. */
		device_receive(0, i);
		device_publish(&w.drx);
		assert_int_equal(rx(256), 1);
		assert_frame(w.hands[0].data, w.hands[0].len, i);
		let_go();
	}
}

/* 5.1.6.4: a frame spread over `buffers`, with `tail` bytes in the last. The bytes of all but the
 * first look like a header and frame 666, as a sender would have them to smuggle one in. */
static void device_receive_spread(unsigned buffers, unsigned tail)
{
	struct header h = plain;
	h.num_buffers = (uint16_t)buffers;
	for (unsigned i = 0; i < buffers; i++) {
		unsigned id = device_pick(&w.drx, 0);
		uint64_t at = w.drx.chain[id].addr;
		store_header(at, i ? plain : h);
		make_frame(bus(at + HEADER, frame_len(666)), 666);
		device_use(&w.drx, id, i + 1 < buffers ? ROOM + HEADER : tail);
	}
}

/* A frame larger than a buffer is dropped whole, also where a burst ends in the middle of it. */
static void rx_spread_frame_is_dropped_whole(void **s)
{
	(void)s;
	static const unsigned tails[] = {1, 5, HEADER, 60, ROOM + HEADER};
	start(16, 60);
	for (unsigned max = 1; max <= 16; max++) {
		for (unsigned buffers = 2; buffers <= 8; buffers++) {
			memset(&w.cnt, 0, sizeof w.cnt);
			w.drx.rings = w.dtx.rings = 0;
			device_receive(0, 1);
			device_receive(0, 2);
			device_receive_spread(buffers, tails[(max + buffers) % ARRAY_LEN(tails)]);
			device_receive(0, 3);
			device_publish(&w.drx);
			for (unsigned i = 0; i < 16; i++)
				rx(max);
			assert_int_equal(w.nhands, 3);
			for (unsigned i = 0; i < 3; i++)
				assert_frame(w.hands[i].data, w.hands[i].len, 1 + i);
			assert_int_equal(w.cnt.rx_pkts, 3);
			assert_int_equal(w.cnt.rx_oversize, 1);
			assert_int_equal(w.cnt.rx_bad_len, 0);
			assert_int_equal(w.drx.n, 16);
			assert_accounted();
			let_go();
		}
	}
}

/* A frame dropped for its own header takes nothing with it, even after one that did. */
static void rx_drops_after_a_spread_frame(void **s)
{
	(void)s;
	start(16, 60);
	w.offload = true;
	for (unsigned max = 1; max <= 8; max++) {
		device_receive_spread(3, 60);
		unsigned id = device_pick(&w.drx, 0);
		store_header(w.drx.chain[id].addr, (struct header){1, 0, 2000, 0, 1});
		device_use(&w.drx, id, HEADER + 60);
		for (unsigned i = 0; i < 4; i++)
			device_receive(0, i);
		device_publish(&w.drx);
		for (unsigned i = 0; i < 8; i++)
			rx(max);
		assert_int_equal(w.nhands, 4);
		for (unsigned i = 0; i < 4; i++)
			assert_frame(w.hands[i].data, w.hands[i].len, i);
		let_go();
	}
	assert_int_equal(w.cnt.rx_bad_len, 8);
	assert_int_equal(w.cnt.rx_oversize, 8);
}

/* 2.7.10: one doorbell for a burst that gave the device something, none if it says NO_NOTIFY. */
static void notifications(void **s)
{
	(void)s;
	start(64, 300);
	assert_int_equal(w.drx.rings, 1); /* the first fill */
	for (unsigned round = 0; round < 200; round++) {
		bool wants_rx = round & 1, wants_tx = round & 2;
		unsigned before_rx = w.drx.rings, before_tx = w.dtx.rings;
		unsigned n = round % 65;
		device_wants_doorbell(&w.drx, wants_rx);
		device_wants_doorbell(&w.dtx, wants_tx);
		for (unsigned i = 0; i < n; i++)
			device_receive(0, i);
		device_publish(&w.drx);
		assert_int_equal(rx(256), n);
		assert_int_equal(rx(256), 0);
		assert_int_equal(w.drx.rings - before_rx, wants_rx && n);
		assert_int_equal(tx(), n);
		assert_int_equal(tx(), 0); /* reclaims only */
		assert_int_equal(w.dtx.rings - before_tx, wants_tx && n);
		device_take(&w.drx); /* a device that polls finds all the same */
		device_take(&w.dtx);
		assert_int_equal(w.drx.n, 64);
		assert_int_equal(w.dtx.n, n);
		for (unsigned i = 0; i < n; i++)
			device_send(0, i);
		device_publish(&w.dtx);
	}
	assert_int_equal(tx(), 0);
}

/* 2.7.7: avail.flags 1 asks for no interrupts. */
static void interrupt_arming(void **s)
{
	(void)s;
	start(16, 60);
	assert_int_equal(load(w.drx.avail, 2), 1);
	assert_false(virtio_rx_interrupt(&w.rx, true));
	assert_int_equal(load(w.drx.avail, 2), 0);
	device_receive(0, 1);
	assert_false(virtio_rx_interrupt(&w.rx, true)); /* not used yet */
	device_publish(&w.drx);
	assert_true(virtio_rx_interrupt(&w.rx, true)); /* do not sleep */
	assert_int_equal(rx(256), 1);
	assert_int_equal(load(w.drx.avail, 2), 0); /* a burst leaves it as it is */
	virtio_rx_interrupt(&w.rx, false);
	assert_int_equal(load(w.drx.avail, 2), 1);
	/* What a burst left behind counts as waiting, over the wrap of the index too. */
	for (unsigned i = 0; i < 70000; i += 5) {
		for (unsigned k = 0; k < 5; k++)
			device_receive(0, i + k);
		device_publish(&w.drx);
		let_go();
		assert_int_equal(rx(4), 4);
		assert_true(virtio_rx_interrupt(&w.rx, true));
		assert_int_equal(rx(4), 1);
		assert_false(virtio_rx_interrupt(&w.rx, true));
	}
	assert_int_equal(load(w.dtx.avail, 2), 1); /* transmit never interrupts */
}

/* --- a device that does not --- */

static void hostile(void)
{
	w.drx.strict = w.dtx.strict = false;
}

/* used.idx beyond what was given, or gone back: the queue is broken and nothing of it is used. */
static void rx_index_lies(void **s)
{
	(void)s;
	static const unsigned ahead[] = {17, 18, 100, 32767, 32768, 40000, 65534, 65535};
	for (unsigned i = 0; i < ARRAY_LEN(ahead); i++) {
		for (uint32_t base = 0; base < 3; base++) {
			start(16, 60);
			for (uint32_t k = 0; k < base; k++)
				device_receive(0, k);
			device_publish(&w.drx);
			assert_int_equal(rx(256), base);
			hostile();
			unsigned head = w.rx.head, rings = w.drx.rings, free = w.pool.free;
			store(w.drx.used + 2, 2, base + ahead[i]);
			assert_int_equal(rx(256), 0);
			assert_true(w.broken);
			assert_int_equal(w.rx.head, head);
			assert_int_equal(w.drx.rings, rings);
			assert_int_equal(w.pool.free, free);
			assert_int_equal(w.cnt.rx_pkts, base);
			assert_accounted();
		}
	}
	/* Fewer given than the ring holds: the limit is what was given. */
	start(16, 10);
	store(w.drx.used + 2, 2, 11);
	assert_int_equal(rx(256), 0);
	assert_true(w.broken);
	/* And a broken queue gets no buffers any more. */
	start(16, 10);
	device_receive(0, 1);
	device_publish(&w.drx);
	assert_int_equal(rx(256), 1);
	let_go();
	hostile();
	store(w.drx.used + 2, 2, 40);
	assert_int_equal(rx(256), 0);
	assert_true(w.broken);
	assert_int_equal(w.pool.free, 1);
}

static void tx_index_lies(void **s)
{
	(void)s;
	static const unsigned ahead[] = {6, 16, 17, 32768, 65535};
	for (unsigned i = 0; i < ARRAY_LEN(ahead); i++) {
		start(16, 60);
		take_frames(5, 0);
		assert_int_equal(tx(), 5);
		hostile();
		store(w.dtx.used + 2, 2, ahead[i]);
		take_frames(3, 5);
		unsigned rings = w.dtx.rings, free = w.pool.free;
		assert_int_equal(tx(), 0);
		assert_true(w.broken);
		assert_int_equal(w.nhands, 3);
		assert_int_equal(w.dtx.rings, rings);
		assert_int_equal(w.pool.free, free);
		assert_int_equal(w.cnt.tx_pkts, 5);
		assert_accounted();
	}
}

/* Entries that name no descriptor of the device's are counted; those around them count as ever. */
static void rx_bad_ids(void **s)
{
	(void)s;
	static const uint32_t bad[] = {16, 17, 255, 0x10000, 0x10003, 0x7fffffff, 0x80000000,
	                               0xfffffffe, 0xffffffff};
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		start(16, 60);
		hostile();
		w.drx.n = 16; /* it still knows what it has */
		device_receive(0, 1);
		device_use(&w.drx, bad[i], HEADER + 60);
		device_receive(0, 2);
		device_publish(&w.drx);
		assert_int_equal(rx(256), 2);
		assert_int_equal(w.cnt.rx_bad_desc, 1);
		assert_frame(w.hands[0].data, w.hands[0].len, 1);
		assert_frame(w.hands[1].data, w.hands[1].len, 2);
		assert_accounted();
	}
}

static void rx_id_twice(void **s)
{
	(void)s;
	start(16, 60);
	hostile();
	for (unsigned i = 0; i < 5; i++)
		device_use(&w.drx, 3, HEADER + 60);
	store_header(w.drx.chain[3].addr, plain);
	device_publish(&w.drx);
	assert_int_equal(rx(256), 1);
	assert_int_equal(w.cnt.rx_bad_desc, 4);
	assert_accounted();

	/* An id it was never given: the pool had no buffer for it. */
	start(16, 10);
	hostile();
	device_use(&w.drx, 12, HEADER + 60);
	device_publish(&w.drx);
	assert_int_equal(rx(256), 0);
	assert_int_equal(w.cnt.rx_bad_desc, 1);
	assert_int_equal(w.rx.missing, 6);
}

/* A device that has claimed to return everything and has returned nothing will never receive
 * again: the queue says so instead of going deaf. */
static void rx_starved_by_bad_ids(void **s)
{
	(void)s;
	start(16, 60);
	hostile();
	for (unsigned i = 0; i < 16; i++) {
		assert_false(w.broken);
		device_use(&w.drx, 0xffff, HEADER + 60);
		device_publish(&w.drx);
		assert_int_equal(rx(256), 0);
	}
	assert_int_equal(w.cnt.rx_bad_desc, 16);
	assert_int_equal(rx(256), 0);
	assert_true(w.broken);
}

static void rx_bad_lengths(void **s)
{
	(void)s;
	static const struct {
		uint32_t len;
		bool passes;
	} row[] = {
		{0, false},
		{1, false},
		{11, false},
		{12, false}, /* a header and nothing */
		{13, true},
		{ROOM + HEADER, true},
		{ROOM + HEADER + 1, false},
		{65535, false},
		{65536 + HEADER, false}, /* 0 in 16 bits */
		{65536 + HEADER + 60, false},
		{0x7fffffff, false},
		{0x80000000 + HEADER + 60, false},
		{0xffffffff, false},
	};
	start(16, 60);
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		uint64_t bad = w.cnt.rx_bad_len;
		unsigned id = device_pick(&w.drx, 0);
		store_header(w.drx.chain[id].addr, plain);
		device_use(&w.drx, id, row[i].len);
		device_receive(0, i);
		device_publish(&w.drx);
		assert_int_equal(rx(256), 1 + row[i].passes);
		assert_int_equal(w.cnt.rx_bad_len - bad, !row[i].passes);
		if (row[i].passes)
			assert_int_equal(w.hands[0].len, row[i].len - HEADER);
		assert_frame(w.hands[row[i].passes].data, w.hands[row[i].passes].len, i);
		assert_int_equal(w.drx.n, 16);
		assert_accounted();
		let_go();
	}
}

static void tx_bad_ids(void **s)
{
	(void)s;
	static const uint32_t bad[] = {16, 0x10000, 0x10003, 0x80000000, 0xffffffff, 9, 0};
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		start(16, 60);
		take_frames(6, 0);
		assert_int_equal(tx(), 6);
		hostile();
		device_use(&w.dtx, 0, 0);
		device_use(&w.dtx, bad[i], 0); /* the last: 0 once more */
		device_use(&w.dtx, 2, 0xffffffff);
		device_publish(&w.dtx);
		assert_int_equal(tx(), 0);
		assert_int_equal(w.cnt.tx_bad_desc, 1);
		assert_int_equal(w.pool.free, 60 - 16 - 6 + 2);
		assert_false(w.broken); /* three are out: the truth may yet come */
		assert_accounted();
	}
}

/* The same for transmit: all is said to be back, but one frame is not. Its place would be held
 * for ever, and the queue fill up behind it. */
static void tx_stuck_by_a_bad_id(void **s)
{
	(void)s;
	start(16, 60);
	hostile();
	take_frames(5, 0);
	assert_int_equal(tx(), 5);
	static const uint32_t ids[] = {0, 1, 77, 3, 4};
	for (unsigned i = 0; i < 5; i++)
		device_use(&w.dtx, ids[i], 0);
	device_publish(&w.dtx);
	take_frames(1, 5);
	assert_int_equal(tx(), 0);
	assert_true(w.broken);
	assert_int_equal(w.cnt.tx_bad_desc, 1);
	assert_int_equal(w.nhands, 1);
	assert_int_equal(w.tx.owner[2] == VIRTIO_NONE, false);
}

/* --- random hostility --- */

static uint32_t random_id(unsigned size)
{
	switch (random_below(8)) {
	case 0: return (uint32_t)random64();
	case 1: return size + random_below(4);
	default: return random_below(size);
	}
}

static uint32_t random_len(void)
{
	switch (random_below(8)) {
	case 0: return (uint32_t)random64();
	case 1: return random_below(HEADER + 2);
	case 2: return ROOM + HEADER - 2 + random_below(5);
	default: return HEADER + 1 + random_below(ROOM);
	}
}

static void random_header(uint64_t at)
{
	static const uint16_t buffers[] = {0, 1, 1, 1, 1, 1, 1, 2, 3, 65535};
	store_header(at, (struct header){(uint8_t)random_below(4), random_below(8) ? 0 : (uint8_t)random64(),
	                                 (uint16_t)random_below(2400), (uint16_t)random_below(40),
	                                 buffers[random_below(ARRAY_LEN(buffers))]});
	if (random_below(8) == 0)
		random_fill(bus(at, HEADER), HEADER);
}

/* Mostly plausible used entries, sometimes plain garbage all over the used ring. */
static void misbehave(struct vq *q, unsigned outstanding)
{
	unsigned n = random_below(outstanding + 1);
	for (unsigned i = 0; i < n; i++) {
		uint32_t id = random_id(q->size);
		if (q->writable && id < q->size && q->chain[id].held)
			random_header(q->chain[id].addr);
		device_use(q, id, random_len());
	}
	switch (random_below(64)) {
	case 0: /* the index lies */
		q->idx = (uint16_t)(q->idx + random_below(q->size + 2));
		break;
	case 1:
		q->idx = (uint16_t)random64();
		break;
	case 2:
	case 3:
		random_fill(bus(q->used + 4, 8 * q->size), 8 * q->size);
		break;
	default:
		break;
	}
	store(q->used, 2, random64());
	device_publish(q);
}

/* What the driver hands up is sound, whatever the device said. */
static void assert_sound(const struct pkt *p)
{
	assert_ptr_equal(p->data, buf_base(&w.pool, p->buf) + BUF_DATA_OFFSET);
	assert_in_range(p->len, 1, ROOM);
	if (p->flags & PKT_CSUM_PARTIAL) {
		const struct pkt_meta *m = pkt_meta(&w.pool, p->buf);
		assert_true(w.offload);
		assert_true((unsigned)m->csum_start + m->csum_offset + 2 <= p->len);
	} else {
		assert_true(p->flags == 0 || (w.offload && p->flags == PKT_CSUM_OK));
	}
}

static void random_round(void)
{
	misbehave(&w.drx, (uint16_t)(w.rx.head - w.rx.tail));
	misbehave(&w.dtx, (uint16_t)(w.tx.head - w.tx.tail));
	unsigned before = w.nhands, n = rx(1 + random_below(PKT_VECTOR_MAX));
	for (unsigned i = before; i < before + n; i++)
		assert_sound(&w.hands[i]);
	device_take(&w.drx);
	virtio_rx_interrupt(&w.rx, random_below(2));
	tx();
	device_take(&w.dtx);
	while (w.nhands && random_below(3))
		pkt_free(&w.pool, &w.hands[--w.nhands]);
	assert_accounted();
	assert_in_range((uint16_t)(w.rx.head - w.rx.tail), 0, w.rx.size);
	assert_in_range((uint16_t)(w.tx.head - w.tx.tail), 0, w.tx.size);
	assert_in_range((uint16_t)(w.tx.head - w.tx.done), 0, w.tx.size);
}

static void random_device(void **s)
{
	(void)s;
	unsigned long long restarts = 0, rx_pkts = 0, tx_pkts = 0, bad = 0;
	seed_random("random_device");
	for (unsigned round = 0; round < 100000; round++) {
		if (round == 0 || w.broken || random_below(500) == 0) {
			rx_pkts += w.cnt.rx_pkts;
			tx_pkts += w.cnt.tx_pkts;
			bad += w.cnt.rx_bad_desc + w.cnt.tx_bad_desc + w.cnt.rx_bad_len;
			start(2u << random_below(5), 1 + random_below(80));
			hostile();
			w.offload = random_below(2);
			restarts++;
		}
		random_round();
	}
	printf("random_device: %llu restarts, %llu received, %llu sent, %llu bad\n", restarts, rx_pkts,
	       tx_pkts, bad);
	/* The test is worth something only if much gets through. */
	assert_true(rx_pkts > 10000 && tx_pkts > 10000 && bad > 10000 && restarts < 50000);
}

#define GOOD(f) cmocka_unit_test_teardown(f, teardown_good)
#define HOSTILE(f) cmocka_unit_test_teardown(f, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		GOOD(layout),
		GOOD(rx_in_order),
		GOOD(rx_out_of_order),
		GOOD(rx_takes_no_more_than_asked),
		GOOD(indices_wrap),
		GOOD(rx_pool_runs_dry_and_recovers),
		GOOD(rx_headers),
		GOOD(rx_spread_frame_is_dropped_whole),
		GOOD(rx_drops_after_a_spread_frame),
		GOOD(tx_in_order),
		GOOD(tx_out_of_order),
		GOOD(tx_ring_full),
		GOOD(tx_partial_checksum),
		GOOD(notifications),
		GOOD(interrupt_arming),
		HOSTILE(rx_index_lies),
		HOSTILE(tx_index_lies),
		HOSTILE(rx_bad_ids),
		HOSTILE(rx_id_twice),
		HOSTILE(rx_starved_by_bad_ids),
		HOSTILE(rx_bad_lengths),
		HOSTILE(tx_bad_ids),
		HOSTILE(tx_stuck_by_a_bad_id),
		HOSTILE(random_device),
	};
	return cmocka_run_group_tests_name("virtio_ring", tests, guest_map, NULL);
}
