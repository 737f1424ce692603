/*
 * Memory lent to this room's functions.
 */
#include "bpf/program.h"

void *bpf_take(struct bpf_memory *m, size_t bytes)
{
	const size_t skip = -(uintptr_t)m->at & 15;
	const size_t left = (size_t)(m->end - m->at);
	if (skip > left || bytes > left - skip)
		return NULL;
	uint8_t *taken = m->at + skip;
	m->at = taken + bytes;
	for (size_t i = 0; i < bytes; i++)
		taken[i] = 0;
	return taken;
}
