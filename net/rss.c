/* See rss.h. The hash is linear over the bits of its input: each input word contributes its share
 * by XOR, and the shares of the two addresses and of the ports are independent. */
#include "net/rss.h"

#include "lib/bytes.h"

/* The share of a 32-bit word at byte `at` of the input, at most 32: for each set bit, XORs the 32
 * key bits that begin at the same position. */
static uint32_t word_share(const uint8_t *key, unsigned at, uint32_t word)
{
	uint64_t window = (uint64_t)be32_load(key + at) << 32 | be32_load(key + at + 4);
	uint32_t hash = 0;
	for (; word; word <<= 1, window <<= 1)
		if (word & 0x80000000)
			hash ^= (uint32_t)(window >> 32);
	return hash;
}

static uint32_t ports_share(const uint8_t *key, unsigned at, uint16_t src_port, uint16_t dst_port)
{
	return word_share(key, at, (uint32_t)src_port << 16 | dst_port);
}

uint32_t rss_hash_ip4(const uint8_t key[RSS_KEY_BYTES], uint32_t src, uint32_t dst)
{
	return word_share(key, 0, src) ^ word_share(key, 4, dst);
}

uint32_t rss_hash_tcp4(const uint8_t key[RSS_KEY_BYTES], uint32_t src, uint32_t dst,
                       uint16_t src_port, uint16_t dst_port)
{
	return rss_hash_ip4(key, src, dst) ^ ports_share(key, 8, src_port, dst_port);
}

uint32_t rss_hash_ip6(const uint8_t key[RSS_KEY_BYTES], const uint8_t src[16],
                      const uint8_t dst[16])
{
	uint32_t hash = 0;
	for (unsigned i = 0; i < 16; i += 4)
		hash ^= word_share(key, i, be32_load(src + i)) ^
			word_share(key, 16 + i, be32_load(dst + i));
	return hash;
}

uint32_t rss_hash_tcp6(const uint8_t key[RSS_KEY_BYTES], const uint8_t src[16],
                       const uint8_t dst[16], uint16_t src_port, uint16_t dst_port)
{
	return rss_hash_ip6(key, src, dst) ^ ports_share(key, 32, src_port, dst_port);
}
