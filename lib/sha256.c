/* See sha256.h. Names as in FIPS 180-4. */
#include "lib/sha256.h"

#include "lib/bytes.h"
#include "lib/mem.h"

static inline uint32_t rotr(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

/* Section 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64
 * primes. */
static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

void sha256_state_init(struct sha256_state *s)
{
	*s = (struct sha256_state){{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
	                            0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

/* Section 6.2.2, step 1: the message schedule. */
static void schedule(uint32_t w[64], const uint8_t *block)
{
	for (unsigned t = 0; t < 16; t++)
		w[t] = be32_load(block + 4 * t);
	for (unsigned t = 16; t < 64; t++) {
		uint32_t sigma0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
		uint32_t sigma1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
		w[t] = sigma1 + w[t - 7] + sigma0 + w[t - 16];
	}
}

void sha256_block(struct sha256_state *s, const uint8_t *block)
{
	uint32_t w[64], a = s->h[0], b = s->h[1], c = s->h[2], d = s->h[3], e = s->h[4], f = s->h[5],
	                g = s->h[6], h = s->h[7];
	schedule(w, block);
	for (unsigned t = 0; t < 64; t++) {
		uint32_t sum1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25);
		uint32_t sum0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
		uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + k[t] + w[t];
		uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
		h = g, g = f, f = e, e = d + t1;
		d = c, c = b, b = a, a = t1 + t2;
	}
	s->h[0] += a, s->h[1] += b, s->h[2] += c, s->h[3] += d;
	s->h[4] += e, s->h[5] += f, s->h[6] += g, s->h[7] += h;
}

void sha256_init(struct sha256 *s)
{
	sha256_state_init(&s->state);
	s->bytes = 0;
}

void sha256_add(struct sha256 *s, const void *data, size_t n)
{
	const uint8_t *from = data;
	while (n > 0) {
		size_t at = (size_t)(s->bytes % SHA256_BLOCK), take = SHA256_BLOCK - at;
		take = take < n ? take : n;
		memcpy(s->block + at, from, take);
		s->bytes += take;
		from += take;
		n -= take;
		if (at + take == SHA256_BLOCK)
			sha256_block(&s->state, s->block);
	}
}

/* Section 5.1.1: a one bit, zeros up to the last 8 bytes of a block, the length in bits. */
void sha256_end(struct sha256 *s, uint8_t digest[SHA256_BYTES])
{
	static const uint8_t padding[SHA256_BLOCK] = {0x80};
	const uint64_t bits = s->bytes * 8;
	uint8_t length[8];
	size_t at = (size_t)(s->bytes % SHA256_BLOCK);
	be32_store(length, (uint32_t)(bits >> 32));
	be32_store(length + 4, (uint32_t)bits);
	sha256_add(s, padding, (at < 56 ? 56 : 120) - at);
	sha256_add(s, length, sizeof length);
	for (unsigned i = 0; i < 8; i++)
		be32_store(digest + 4 * i, s->state.h[i]);
}

void sha256_of(const void *data, size_t n, uint8_t digest[SHA256_BYTES])
{
	struct sha256 s;
	sha256_init(&s);
	sha256_add(&s, data, n);
	sha256_end(&s, digest);
}
