/* See pattern.h. */
#include "examples/pattern.h"

#include <string.h>

#include "lib/bytes.h"

static uint8_t pattern[PATTERN_PERIOD];

const uint8_t *pattern_at(uint64_t at, uint32_t max, uint32_t *n)
{
	static bool made;
	for (uint32_t i = 0, x = 1; !made && i < PATTERN_PERIOD; i++) {
		pattern[i] = (uint8_t)(x >> 24);
		x = x * 1664525u + 1013904223u;
	}
	made = true;
	uint32_t from = (uint32_t)(at % PATTERN_PERIOD);
	*n = PATTERN_PERIOD - from < max ? PATTERN_PERIOD - from : max;
	return pattern + from;
}

bool pattern_is(uint64_t at, const uint8_t *bytes, uint32_t n)
{
	for (uint32_t k; n; n -= k, at += k, bytes += k) {
		const uint8_t *want = pattern_at(at, n, &k);
		if (memcmp(bytes, want, k) != 0)
			return false;
	}
	return true;
}

/* Eight bytes at a time with eight tables (Kounavis and Berry, 2005): table k is for a byte followed by
 * k bytes. */
static uint32_t table[8][256];

static void make_tables(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t c = b;
		for (int bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
		table[0][b] = c;
	}
	for (uint32_t b = 0; b < 256; b++)
		for (int k = 1; k < 8; k++)
			table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 255];
}

uint32_t pattern_crc32(uint32_t crc, const uint8_t *p, uint32_t n)
{
	if (!table[0][1])
		make_tables();
	crc = ~crc;
	for (; n >= 8; n -= 8, p += 8) {
		uint32_t a = crc ^ le32_load(p), b = le32_load(p + 4);
		crc = table[7][a & 255] ^ table[6][a >> 8 & 255] ^ table[5][a >> 16 & 255] ^
		      table[4][a >> 24] ^ table[3][b & 255] ^ table[2][b >> 8 & 255] ^
		      table[1][b >> 16 & 255] ^ table[0][b >> 24];
	}
	for (; n; n--)
		crc = crc >> 8 ^ table[0][(crc ^ *p++) & 255];
	return ~crc;
}
