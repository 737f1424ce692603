/* See virtio_liar.h. */
#include "tests/unit/rig/virtio_liar.h"

void hostile(void)
{
	w.drx.strict = w.dtx.strict = false;
}

/* One of this many ids and indices of the device is a lie. Periods of honesty are long. */
static unsigned honesty;

/* A descriptor that the device holds, or a false one. */
static uint32_t random_id(const struct vq *q)
{
	if (random_below(honesty) == 0) {
		switch (random_below(3)) {
		case 0: return (uint32_t)random64();
		case 1: return q->size + random_below(4);
		default: return random_below(q->size);
		}
	}
	unsigned at = q->in_order ? q->idx % q->size : random_below(q->size);
	for (unsigned i = 0; i < q->size; i++)
		if (q->chain[(at + i) % q->size].held)
			return (at + i) % q->size;
	return at;
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
	struct header h = {
		.flags = (uint8_t)random_below(4),
		.gso_type = random_below(8) ? 0 : (uint8_t)random64(),
		.csum_start = (uint16_t)random_below(2400),
		.csum_offset = (uint16_t)random_below(40),
		.num_buffers = buffers[random_below(ARRAY_LEN(buffers))],
	};
	store_header(at, h);
	if (random_below(8) == 0)
		random_fill(bus(at, HEADER), HEADER);
}

/* Mostly plausible used entries, sometimes garbage all over the used ring. */
static void misbehave(struct vq *q, unsigned outstanding)
{
	unsigned n = random_below(outstanding + 1);
	for (unsigned i = 0; i < n; i++) {
		uint32_t id = random_id(q);
		if (q->writable && id < q->size && q->chain[id].held)
			random_header(q->chain[id].addr);
		device_use(q, id, random_len());
	}
	switch (random_below(16 * honesty)) {
	case 0: /* a false index */
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

/* Received packets are valid, whatever the device said. */
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

void liar_start(void)
{
	start(2u << random_below(7), 1 + random_below(300));
	hostile();
	honesty = 1u << random_below(12);
	w.offload = random_below(2);
}

void liar_round(void)
{
	misbehave(&w.drx, (uint16_t)(w.rx.head - w.rx.tail));
	misbehave(&w.dtx, (uint16_t)(w.tx.head - w.tx.tail));
	unsigned before = hand.n, n = rx(1 + random_below(PKT_VECTOR_MAX));
	for (unsigned i = before; i < before + n; i++)
		assert_sound(&hand.pkt[i]);
	device_take(&w.drx);
	virtio_rx_interrupt(&w.rx, random_below(2));
	if (random_below(2) && w.pool.free > PKT_FRAGS_MAX + 1) {
		unsigned most = w.tx.size <= PKT_FRAGS_MAX ? w.tx.size - 1u : PKT_FRAGS_MAX;
		take_frags((uint32_t)random64(), 1 + random_below(most));
		if (random_below(2))
			keep(&hand.pkt[hand.n - 1], 1 + random_below(3));
	}
	tx();
	while (hand.nkept && random_below(4))
		let_go_of_kept(random_below(hand.nkept));
	device_take(&w.dtx);
	while (hand.n && random_below(3))
		pkt_free(&w.pool, &hand.pkt[--hand.n]);
	assert_accounted();
	assert_in_range((uint16_t)(w.rx.head - w.rx.tail), 0, w.rx.size);
	assert_in_range((uint16_t)(w.tx.head - w.tx.tail), 0, w.tx.size);
	assert_in_range((uint16_t)(w.tx.next - w.tx.done), 0, w.tx.size);
}
