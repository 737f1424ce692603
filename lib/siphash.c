/* See siphash.h. */
#include "lib/siphash.h"

/* The n bytes at p as a little-endian number; missing bytes are zero. */
static uint64_t load_little_endian(const uint8_t *p, size_t n)
{
	uint64_t word = 0;
	for (size_t i = 0; i < n; i++)
		word |= (uint64_t)p[i] << 8 * i;
	return word;
}

uint64_t siphash24(const struct siphash_key *key, const void *data, size_t n)
{
	const uint8_t *p = data;
	struct siphash_state s = siphash_begin(key);
	size_t left = n;
	for (; left >= 8; left -= 8, p += 8)
		siphash_word(&s, load_little_endian(p, 8), 2);
	siphash_word(&s, load_little_endian(p, left) | (uint64_t)n << 56, 2);
	return siphash_end(&s, 4);
}

struct siphash24 siphash24_begin(const struct siphash_key *key)
{
	return (struct siphash24){.state = siphash_begin(key)};
}

void siphash24_add(struct siphash24 *h, const void *data, size_t n)
{
	const uint8_t *p = data;
	for (size_t i = 0; i < n; i++) {
		h->word |= (uint64_t)p[i] << 8 * (h->bytes++ % 8);
		if (h->bytes % 8 == 0) {
			siphash_word(&h->state, h->word, 2);
			h->word = 0;
		}
	}
}

uint64_t siphash24_end(const struct siphash24 *h)
{
	struct siphash_state s = h->state;
	siphash_word(&s, h->word | h->bytes << 56, 2);
	return siphash_end(&s, 4);
}
