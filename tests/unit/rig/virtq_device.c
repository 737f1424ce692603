#include "tests/unit/rig/virtq_device.h"

enum { NEXT = 1, WRITE = 2 }; /* 2.7.5: flags; INDIRECT (4) is not used */

/* 2.7.5.1: the next descriptor of a chain; q->size: the chain ends here. */
static unsigned next_of(const struct vq *q, unsigned id)
{
	uint64_t d = q->desc + 16 * id;
	return load(d + 12, 2) & NEXT ? (unsigned)load(d + 14, 2) : q->size;
}

/* Takes a chain that the driver has made available, and checks all of it. */
static void take_one(struct vq *q, unsigned id)
{
	struct chain *c = &q->chain[id];
	*c = (struct chain){true, load(q->desc + 16 * id, 8), (uint32_t)load(q->desc + 16 * id + 8, 4), 0};
	assert_true(c->len > HEADER);
	for (unsigned i = id; i != q->size; i = next_of(q, i)) {
		uint64_t d = q->desc + 16 * i;
		uint32_t len = (uint32_t)load(d + 8, 4);
		assert_in_range(i, 0, q->size - 1);
		assert_int_equal(load(d + 12, 2) & ~(q->writable ? 0ull : NEXT), q->writable ? WRITE : 0);
		assert_in_range(len, 1, GUEST_BYTES);
		bus(load(d, 8), len);
		assert_in_range(++c->pieces, 1, q->size); /* 2.7.5.2: nor is it a cycle */
		if (q->strict)
			assert_false(q->busy[i]);
		if (q->in_order && next_of(q, i) != q->size) /* 2.7.5.2 */
			assert_int_equal(next_of(q, i), (i + 1) % q->size);
		q->busy[i] = true;
	}
}

void device_take(struct vq *q)
{
	uint16_t to = (uint16_t)load(q->avail + 2, 2);
	assert_in_range((uint16_t)(to - q->seen), 0, q->size);
	for (; q->seen != to; q->seen++) {
		unsigned id = (unsigned)load(q->avail + 4 + 2 * (q->seen % q->size), 2);
		assert_in_range(id, 0, q->size - 1);
		if (q->strict)
			assert_false(q->chain[id].held);
		if (q->in_order)
			assert_int_equal(id, q->turn);
		take_one(q, id);
		q->turn = (uint16_t)((id + q->chain[id].pieces) % q->size);
		if (q->strict)
			q->fifo[q->n++] = (uint16_t)id;
	}
}

unsigned device_read(const struct vq *q, unsigned id, uint8_t *to)
{
	unsigned n = 0;
	for (unsigned i = id; i != q->size; i = next_of(q, i)) {
		uint32_t len = (uint32_t)load(q->desc + 16 * i + 8, 4);
		memcpy(to + n, bus(load(q->desc + 16 * i, 8), len), len);
		n += len;
	}
	return n;
}

void device_doorbell(struct vq *q, unsigned bytes, uint32_t v)
{
	assert_int_equal(bytes, 2);
	assert_int_equal(v, q->number);
	q->rings++;
	device_take(q);
}

void device_use(struct vq *q, uint32_t id, uint32_t len)
{
	q->first = q->in_order && q->open ? q->first : q->idx;
	q->open = q->strict && (!q->writable || len == q->chain[id].len);
	store(q->used + 4 + 8 * (q->first % q->size), 4, id);
	store(q->used + 8 + 8 * (q->first % q->size), 4, len);
	q->idx++;
	if (id >= q->size || !q->chain[id].held)
		return;
	q->chain[id].held = false;
	if (q->strict)
		for (unsigned i = id; i != q->size; i = next_of(q, i))
			q->busy[i] = false;
}

void device_publish(struct vq *q)
{
	store(q->used + 2, 2, q->idx);
	q->open = false;
}

unsigned device_pick(struct vq *q, unsigned i)
{
	assert_true(i < q->n);
	unsigned id = q->fifo[i];
	q->n--;
	memmove(&q->fifo[i], &q->fifo[i + 1], (q->n - i) * sizeof q->fifo[0]);
	return id;
}

void device_wants_doorbell(struct vq *q, bool wants)
{
	store(q->used, 2, !wants); /* VIRTQ_USED_F_NO_NOTIFY is 1 */
}

void store_header(uint64_t at, struct header h)
{
	store(at, 1, h.flags);
	store(at + 1, 1, h.gso_type);
	store(at + 2, 4, 0); /* hdr_len, gso_size */
	store(at + 6, 2, h.csum_start);
	store(at + 8, 2, h.csum_offset);
	store(at + 10, 2, h.num_buffers);
}
