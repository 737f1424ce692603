/* See mirror_ring.h. */
#include "dataplane/mirror_ring.h"

#include "lib/mem.h"

#define PLACE(at) ((size_t)((at) & (MIRROR_RING_BYTES - 1)))

void mirror_ring_begin(struct mirror_ring *r, uint64_t number)
{
	r->head = 0;
	memset(r->count, 0, sizeof r->count);
	__atomic_store_n(&r->number, number, __ATOMIC_RELEASE);
}

/* The number of bytes from position `at` to the ring's end, at most len. */
static size_t first_part(uint64_t at, size_t len)
{
	size_t left = MIRROR_RING_BYTES - PLACE(at);
	return len < left ? len : left;
}

void mirror_ring_put(struct mirror_ring *r, uint64_t at, const void *data, size_t len)
{
	size_t first = first_part(at, len);
	memcpy(r->bytes + PLACE(at), data, first);
	memcpy(r->bytes, (const uint8_t *)data + first, len - first);
}

static void get(const struct mirror_ring *r, uint64_t at, void *data, size_t len)
{
	size_t first = first_part(at, len);
	memcpy(data, r->bytes + PLACE(at), first);
	memcpy((uint8_t *)data + first, r->bytes, len - first);
}

uint64_t mirror_ring_get(const struct mirror_ring *r, uint64_t head, uint64_t at,
                          struct mirror_record *out, uint8_t *data, unsigned room)
{
	if (head - at > MIRROR_RING_BYTES || head - at < sizeof *out)
		return 0;
	get(r, at, out, sizeof *out);
	if (out->kept > room || out->kept > out->len || mirror_record_bytes(out->kept) > head - at)
		return 0;
	get(r, at + sizeof *out, data, out->kept);
	return mirror_record_bytes(out->kept);
}
