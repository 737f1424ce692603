/*
 * bpf_csum_diff(). In ones' complement arithmetic (RFC 1071) to subtract is to add the complement. There are two
 * zeros, and the result tells them apart as Linux' does: 0 only if nothing but zeros was added.
 */
#include "bpf/csum.h"

#include "lib/csum.h"

static uint32_t fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

int64_t bpf_csum_diff(const void *from, uint64_t from_bytes, const void *to, uint64_t to_bytes, uint32_t seed)
{
	if ((from_bytes | to_bytes) & 3)
		return -22;
	if (from_bytes && to_bytes)
		return fold(csum_add(csum_partial(to, to_bytes, seed), ~csum_partial(from, from_bytes, 0)));
	if (to_bytes)
		return fold(csum_partial(to, to_bytes, seed));
	if (from_bytes)
		return fold(~csum_partial(from, from_bytes, ~seed));
	return fold(seed);
}
