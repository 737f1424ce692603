#include "tests/unit/rig/virtio_rig.h"

#include "hal/mmio.h"

struct world w;
static char doorbells[2]; /* only their addresses matter */
static bool in_order;

static void device_init(struct vq *q, const struct virtio_ring *r, bool writable)
{
	*q = (struct vq){.size = r->size, .number = r->queue, .writable = writable, .strict = true,
	                 .in_order = r->in_order};
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

void set_in_order(bool on)
{
	in_order = on;
}

int negotiate_in_order(void **s)
{
	(void)s;
	set_in_order(true);
	return 0;
}

void start(unsigned size, unsigned buffers)
{
	memset(&w, 0, sizeof w);
	frame_most = ROOM;
	/* A page for each ring, as in the runtime, with the rest of the first poisoned. */
	size_t bytes = virtio_ring_bytes(size);
	size_t second = (bytes + CACHE_LINE + GUEST_PAGE - 1) & ~(size_t)(GUEST_PAGE - 1);
	uint8_t *rx = hand_begin(&w.pool, w.stack, &w.cnt, second + bytes, buffers,
	                         BUF_STRIDE_STANDARD);
	uint8_t *tx = rx + second;
	guest_close(rx + bytes, tx);

	virtio_ring_init(&w.rx, rx, size);
	virtio_ring_init(&w.tx, tx, size);
	w.rx.doorbell = &doorbells[0];
	w.tx.doorbell = &doorbells[1];
	w.rx.queue = 4; /* pair 2 */
	w.tx.queue = 5;
	w.tx.csum = true;
	w.rx.in_order = w.tx.in_order = in_order;
	device_init(&w.drx, &w.rx, true);
	device_init(&w.dtx, &w.tx, false);
	virtio_rx_fill(&w.rx, UINT32_MAX, &w.pool, &w.cnt);
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
	hand_takes(v, n);
	return n;
}

unsigned tx(void)
{
	unsigned n = hand.n < PKT_VECTOR_MAX ? hand.n : PKT_VECTOR_MAX;
	unsigned k = virtio_tx_burst(&w.tx, &w.pool, &w.cnt, hand.pkt, n, &w.broken);
	assert_in_range(k, 0, n);
	hand_gave(k);
	return k;
}

void device_send(unsigned i, uint32_t seq)
{
	static const uint8_t zero[HEADER];
	unsigned id = device_pick(&w.dtx, i);
	static uint8_t all[HEADER + BUF_STRIDE_STANDARD];
	unsigned n = device_read(&w.dtx, id, all);
	/* 5.1.6.2.1: nothing requested for the frame, num_buffers 0 */
	assert_memory_equal(all, zero, HEADER);
	assert_frame(all + HEADER, n - HEADER, seq);
	device_use(&w.dtx, id, 0);
}

void assert_accounted(void)
{
	unsigned none = 0;
	assert_hand();
	for (unsigned i = 0; i < w.rx.size; i++) {
		if (w.rx.owner[i] == VIRTIO_NONE) {
			none++;
			continue;
		}
		assert_owner(w.rx.owner[i]);
		assert_int_equal(load(w.drx.desc + 16 * i, 8),
		                 bus_of(buf_base(&w.pool, w.rx.owner[i])) + BUF_DATA_OFFSET - HEADER);
	}
	assert_int_equal(none, w.rx.missing);
	for (unsigned i = 0; i < w.tx.size; i++)
		if (w.tx.owner[i] != VIRTIO_NONE)
			assert_owner_word(w.tx.owner[i]);
	assert_all_owned();
}

/* With a compliant device, both sides agree on what the device holds. */
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
