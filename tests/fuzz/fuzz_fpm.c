/*
 * A stream of net/fpm: the input is frames, one after the other, until one is malformed or incomplete.
 * Next-hop objects go into a small table. The contract is in tests/unit/rig/fpm_contract.c.
 */
#include "tests/fuzz/input.h"

#include "tests/unit/rig/fpm_contract.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint64_t memory[1024];
	static const struct fpm_nexthops_size room = {16, 40};
	static const struct siphash_key key = {1, 2};
	struct fpm_nexthops t;
	assert(fpm_nexthops_bytes(&room) <= sizeof memory);
	fpm_nexthops_init(&t, memory, &room, &key);
	for (uint32_t at = 0, n; at < size; at += n)
		if (fpm_contract(data + at, (uint32_t)(size - at), &t, &n) != FPM_OK || n == 0)
			break;
	return 0;
}
