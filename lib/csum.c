/* See csum.h. */
#include "lib/csum.h"

/* Adds 64-bit words with their carries added back. RFC 1071 2(C): the width of the adder does not matter. */
uint32_t csum_partial(const void *data, size_t n, uint32_t sum)
{
	const uint8_t *p = data;
	uint64_t acc = sum;
	for (; n >= 32; n -= 32, p += 32) {
		acc = csum_add64(acc, raw64_load(p));
		acc = csum_add64(acc, raw64_load(p + 8));
		acc = csum_add64(acc, raw64_load(p + 16));
		acc = csum_add64(acc, raw64_load(p + 24));
	}
	for (; n >= 8; n -= 8, p += 8)
		acc = csum_add64(acc, raw64_load(p));
	if (n >= 4) {
		acc = csum_add64(acc, raw32_load(p));
		n -= 4;
		p += 4;
	}
	if (n >= 2) {
		acc = csum_add64(acc, raw16_load(p));
		n -= 2;
		p += 2;
	}
	if (n) {
		/* RFC 1071 (4.1): an odd last byte is padded with a zero byte. */
		uint8_t last[2] = {*p, 0};
		acc = csum_add64(acc, raw16_load(last));
	}
	return csum_add((uint32_t)acc, (uint32_t)(acc >> 32));
}
