#include "tools/nicsim/packet/toeplitz.h"

#include "tools/nicsim/packet/bytes.h"

void toeplitz_make(struct toeplitz *t, const uint8_t key[TOEPLITZ_KEY])
{
	for (unsigned i = 0; i < TOEPLITZ_INPUT; i++) {
		/* the 32 bits of the key that bit 7 of this byte selects, and the 8 that follow */
		uint64_t window = (uint64_t)be32(&key[i]) << 8 | key[i + 4];
		uint32_t *row = t->row[i];
		row[0] = 0;
		for (unsigned b = 1; b < 256; b++) {
			unsigned top = 31 - (unsigned)__builtin_clz(b);
			row[b] = row[b & ~(1u << top)] ^ (uint32_t)(window >> (top + 1));
		}
	}
}
