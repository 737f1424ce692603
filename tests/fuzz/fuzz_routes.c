/*
 * Routes from a file (tests/unit/rig/routes_file.c): MRT dumps and lines with any contents. An accepted
 * route has a prefix with no bit set behind its length, and a next hop of the length of either
 * family. An error names a place.
 *
 * Input: whether it is a dump; the file.
 */
#include "tests/fuzz/input.h"

#include "tests/unit/rig/routes_file.c"

static void take_route(void *ctx, const struct file_route *r)
{
	struct file_route masked = *r;
	(void)ctx;
	assert(r->addr_bytes == 4 || r->addr_bytes == 16);
	assert(r->plen <= r->addr_bytes * 8);
	assert(r->hop_bytes == 0 || r->hop_bytes == 4 || r->hop_bytes == 16);
	mask(&masked);
	assert(memcmp(masked.addr, r->addr, sizeof r->addr) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	uint8_t *copy = exactly(data + 1, size - 1);
	struct source s = {.name = "input", .take = take_route, .f = fmemopen(copy, size - 1, "rb")};
	assert(s.f);
	const char *error = data[0] & 1 ? read_mrt(&s) : read_lines(&s);
	assert(!error || strstr(error, "input"));
	fclose(s.f);
	free(copy);
	return 0;
}
