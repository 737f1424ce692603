/*
 * Free memory as a list of extents, in order of address: first fit, and neighbours are joined. The list
 * says nothing about what is in use; its owner bounds that, and so the number of extents: with k pieces in
 * use in r separate stretches of memory there are at most k + r extents.
 */
#ifndef RUNTIME_EXTENT_H
#define RUNTIME_EXTENT_H

#include "lib/types.h"

struct extent {
	uint64_t at, bytes;
};

struct extents {
	struct extent *v; /* free, by address; no two touch */
	unsigned count, max;
};

/* Adds memory that is not in the list. False: part of it is there already, or there would be more than
 * `max` extents; nothing has changed. */
bool extents_give(struct extents *e, uint64_t at, uint64_t bytes);

/* Takes memory from the first extent that is large enough; false: none is. */
bool extents_take(struct extents *e, uint64_t bytes, uint64_t *at);

/* Takes this memory. False: not all of it is in the list, or there would be more than `max` extents;
 * nothing has changed. */
bool extents_claim(struct extents *e, uint64_t at, uint64_t bytes);

/* Bytes in the list. */
uint64_t extents_free(const struct extents *e);

#endif
