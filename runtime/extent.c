/* See extent.h. */
#include "runtime/extent.h"

#include "lib/mem.h"

/* Removes n extents from place i on, and puts there those of `v`. */
static void replace(struct extents *e, unsigned i, unsigned n, const struct extent *v, unsigned with)
{
	memmove(&e->v[i + with], &e->v[i + n], (e->count - i - n) * sizeof *e->v);
	for (unsigned k = 0; k < with; k++)
		e->v[i + k] = v[k];
	e->count = e->count - n + with;
}

static uint64_t end_of(const struct extent *x)
{
	return x->at + x->bytes;
}

bool extents_give(struct extents *e, uint64_t at, uint64_t bytes)
{
	unsigned i = 0;
	if (bytes == 0 || at + bytes < at)
		return false;
	while (i < e->count && e->v[i].at < at)
		i++;
	const struct extent *below = i > 0 ? &e->v[i - 1] : NULL;
	const struct extent *above = i < e->count ? &e->v[i] : NULL;
	if ((below && end_of(below) > at) || (above && at + bytes > above->at))
		return false;
	const bool joins_below = below && end_of(below) == at, joins_above = above && at + bytes == above->at;
	if (!joins_below && !joins_above && e->count == e->max)
		return false;
	struct extent x = {at, bytes};
	if (joins_below)
		x = (struct extent){below->at, below->bytes + x.bytes};
	if (joins_above)
		x.bytes += above->bytes;
	replace(e, i - joins_below, (unsigned)joins_below + joins_above, &x, 1);
	return true;
}

/* Takes [at, at + bytes), which lies in extent i. False: there would be too many extents. */
static bool cut(struct extents *e, unsigned i, uint64_t at, uint64_t bytes)
{
	const struct extent x = e->v[i];
	struct extent rest[2];
	unsigned n = 0;
	if (at > x.at)
		rest[n++] = (struct extent){x.at, at - x.at};
	if (at + bytes < end_of(&x))
		rest[n++] = (struct extent){at + bytes, end_of(&x) - at - bytes};
	if (n == 2 && e->count == e->max)
		return false;
	replace(e, i, 1, rest, n);
	return true;
}

bool extents_take(struct extents *e, uint64_t bytes, uint64_t *at)
{
	for (unsigned i = 0; i < e->count && bytes; i++)
		if (e->v[i].bytes >= bytes) {
			*at = e->v[i].at;
			return cut(e, i, *at, bytes);
		}
	return false;
}

bool extents_claim(struct extents *e, uint64_t at, uint64_t bytes)
{
	for (unsigned i = 0; i < e->count && bytes; i++)
		if (at >= e->v[i].at && at - e->v[i].at < e->v[i].bytes)
			return bytes <= e->v[i].bytes - (at - e->v[i].at) && cut(e, i, at, bytes);
	return false;
}

uint64_t extents_free(const struct extents *e)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < e->count; i++)
		bytes += e->v[i].bytes;
	return bytes;
}
