/* See csum.h. */
#include "lib/csum.h"

/* Adds 32-bit words in 64 bits. 2^32 of them fit before a carry is lost, so the loop adds no carry
 * back. RFC 1071 2(C): the width of the adder does not matter. */
uint32_t csum_partial(const void *data, size_t n, uint32_t sum)
{
	const uint8_t *p = data;
	uint64_t acc = sum;
	for (; n >= 16; n -= 16, p += 16)
		acc += (uint64_t)raw32_load(p) + raw32_load(p + 4) + raw32_load(p + 8) +
		       raw32_load(p + 12);
	for (; n >= 4; n -= 4, p += 4)
		acc += raw32_load(p);
	if (n >= 2) {
		acc += raw16_load(p);
		n -= 2;
		p += 2;
	}
	if (n) {
		/* RFC 1071 (4.1): an odd last byte is padded with a zero byte. */
		uint8_t last[2] = {*p, 0};
		acc += raw16_load(last);
	}
	acc = (acc & UINT32_MAX) + (acc >> 32);
	acc = (acc & UINT32_MAX) + (acc >> 32);
	return (uint32_t)acc;
}
