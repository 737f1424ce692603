#include "tests/unit/virtio_rig.h"

#include <sanitizer/asan_interface.h>

#include "hal/layout.h"
#include "hal/mmio.h"

#define PAGE 4096u

struct world w;
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

unsigned frame_len(uint32_t seq)
{
	return 60 + seq * 7 % (ROOM - 60 + 1);
}

static uint8_t frame_byte(uint32_t seq, unsigned i)
{
	return (uint8_t)(i < 4 ? seq >> 8 * i : seq * 31 + i);
}

void make_frame(uint8_t *at, uint32_t seq)
{
	for (unsigned i = 0; i < frame_len(seq); i++)
		at[i] = frame_byte(seq, i);
}

void assert_frame(const uint8_t *at, unsigned len, uint32_t seq)
{
	static uint8_t want[ROOM];
	assert_int_equal(len, frame_len(seq));
	make_frame(want, seq);
	assert_memory_equal(at, want, len);
}

const struct header plain_header = {.num_buffers = 1};

void device_receive(unsigned i, uint32_t seq)
{
	unsigned id = device_pick(&w.drx, i);
	uint64_t at = w.drx.chain[id].addr;
	assert_true(HEADER + frame_len(seq) <= w.drx.chain[id].len);
	store_header(at, plain_header);
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

void start(unsigned size, unsigned buffers)
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
	idle_turns(2);
}

void idle_turns(unsigned n)
{
	while (n--) {
		virtio_settle(&w.rx, &w.cnt);
		virtio_settle(&w.tx, &w.cnt);
	}
}

unsigned rx(unsigned max)
{
	static struct pkt v[PKT_VECTOR_MAX];
	unsigned n = virtio_rx_burst(&w.rx, &w.pool, &w.cnt, v, max, w.offload, &w.broken);
	assert_in_range(n, 0, max);
	memcpy(&w.hands[w.nhands], v, n * sizeof v[0]);
	w.nhands += n;
	return n;
}

void let_go(void)
{
	while (w.nhands)
		pkt_free(&w.pool, &w.hands[--w.nhands]);
}

void take_frames(unsigned n, uint32_t seq)
{
	for (unsigned i = 0; i < n; i++) {
		struct pkt *p = &w.hands[w.nhands];
		assert_true(pkt_alloc(&w.pool, p));
		p->len = (uint16_t)frame_len(seq + i);
		make_frame(p->data, seq + i);
		w.nhands++;
	}
}

unsigned tx(void)
{
	unsigned n = w.nhands < PKT_VECTOR_MAX ? w.nhands : PKT_VECTOR_MAX;
	unsigned k = virtio_tx_burst(&w.tx, &w.pool, &w.cnt, w.hands, n, &w.broken);
	assert_in_range(k, 0, n);
	w.nhands -= k;
	memmove(w.hands, w.hands + k, w.nhands * sizeof w.hands[0]);
	return k;
}

void device_send(unsigned i, uint32_t seq)
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

void assert_accounted(void)
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

int teardown(void **s)
{
	(void)s;
	assert_accounted();
	assert_int_equal(w.cnt.mmio_reads, 0);
	assert_int_equal(w.cnt.mmio_writes, w.drx.rings + w.dtx.rings);
	return 0;
}

int teardown_good(void **s)
{
	assert_false(w.broken);
	assert_int_equal(w.cnt.rx_bad_desc + w.cnt.tx_bad_desc, 0);
	assert_agree(&w.rx, &w.drx);
	assert_agree(&w.tx, &w.dtx);
	return teardown(s);
}
