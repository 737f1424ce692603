#include "tests/unit/virtq_device.h"

void device_take(struct vq *q)
{
	uint16_t to = (uint16_t)load(q->avail + 2, 2);
	assert_in_range((uint16_t)(to - q->seen), 0, q->size);
	for (; q->seen != to; q->seen++) {
		unsigned id = (unsigned)load(q->avail + 4 + 2 * (q->seen % q->size), 2);
		assert_in_range(id, 0, q->size - 1);
		struct chain *c = &q->chain[id];
		if (q->strict)
			assert_false(c->held);
		uint64_t d = q->desc + 16 * id;
		/* flags: WRITE (2) alone or none; NEXT (1) and INDIRECT (4) are not in use */
		assert_int_equal(load(d + 12, 2), q->writable ? 2 : 0);
		*c = (struct chain){true, load(d, 8), (uint32_t)load(d + 8, 4)};
		assert_true(c->len > HEADER && c->len < GUEST_BYTES);
		bus(c->addr, c->len);
		if (q->strict)
			q->fifo[q->n++] = (uint16_t)id;
	}
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
	store(q->used + 4 + 8 * (q->idx % q->size), 4, id);
	store(q->used + 8 + 8 * (q->idx % q->size), 4, len);
	q->idx++;
	if (id < q->size)
		q->chain[id].held = false;
}

void device_publish(struct vq *q)
{
	store(q->used + 2, 2, q->idx);
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
