/* See mirror_ring.h. */
#include "dataplane/mirror_ring.h"

#include "lib/mem.h"

void mirror_ring_begin(struct mirror_ring *r, uint64_t number)
{
	r->head = 0;
	memset(r->count, 0, sizeof r->count);
	__atomic_store_n(&r->number, number, __ATOMIC_RELEASE);
}

static size_t place(uint32_t size, uint64_t at)
{
	return at & (size - 1);
}

/* The number of bytes from position `at` to the ring's end, at most len. */
static size_t first_part(uint32_t size, uint64_t at, size_t len)
{
	size_t left = size - place(size, at);
	return len < left ? len : left;
}

void mirror_ring_put(struct mirror_ring *r, uint32_t size, uint64_t at, const void *data, size_t len)
{
	size_t first = first_part(size, at, len);
	memcpy(r->bytes + place(size, at), data, first);
	memcpy(r->bytes, (const uint8_t *)data + first, len - first);
}

static void get(const struct mirror_ring *r, uint32_t size, uint64_t at, void *data, size_t len)
{
	size_t first = first_part(size, at, len);
	memcpy(data, r->bytes + place(size, at), first);
	memcpy((uint8_t *)data + first, r->bytes, len - first);
}

uint64_t mirror_ring_look(const struct mirror_ring *r, uint32_t size, uint64_t head, uint64_t at,
                          struct mirror_record *out, unsigned room)
{
	if (head - at > size || head - at < sizeof *out)
		return 0;
	get(r, size, at, out, sizeof *out);
	if (out->kept > room || out->kept > out->len || mirror_record_bytes(out->kept) > head - at)
		return 0;
	return mirror_record_bytes(out->kept);
}

void mirror_ring_get(const struct mirror_ring *r, uint32_t size, uint64_t at, const struct mirror_record *record,
                     uint8_t *data)
{
	get(r, size, at + sizeof *record, data, record->kept);
}
