/*
 * The Internet checksum (RFC 1071) and its incremental update (RFC 1624).
 *
 * Convention: sums are taken over the 16-bit words as the machine loads them, without swapping.
 * RFC 1071 section 2(B) shows that the result, stored the same way, is right on either byte order.
 * A "raw" sum or checksum is therefore read and written only with raw16_load/raw16_store (or the .raw
 * of a be16_t), and never compared with a host-order number.
 *
 * A partial sum is a uint32_t in which carries have been added back, but not down to 16 bits.
 * Pieces may be chained in any order as long as each starts at an even offset of the message;
 * only the last piece may have an odd length.
 */
#ifndef LIB_CSUM_H
#define LIB_CSUM_H

#include "lib/bytes.h"
#include "lib/types.h"

/* Adds the n bytes at data (any alignment) to a partial sum; start with 0. */
uint32_t csum_partial(const void *data, size_t n, uint32_t sum);

/* Adds two partial sums with the carry added back. */
static inline uint32_t csum_add(uint32_t a, uint32_t b)
{
	uint32_t s = a + b;
	return s + (s < b);
}

/* csum_add in 64 bits. */
static inline uint64_t csum_add64(uint64_t a, uint64_t b)
{
	uint64_t s = a + b;
	return s + (s < b);
}

/* True if this is the sum of a message that includes a correct checksum: folded, it is all ones. Each
 * half is added to the other; the upper result then includes the carry out of the lower one. */
static inline bool csum_is_right64(uint64_t sum)
{
	uint64_t halves = sum + (sum << 32 | sum >> 32);
	uint32_t quarters = (uint32_t)(halves >> 32);
	quarters += quarters << 16 | quarters >> 16;
	return quarters >> 16 == 0xffff;
}

/* The raw checksum field for a message with this sum; 0 if the sum includes a correct checksum
 * field. */
static inline uint16_t csum_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Partial sum of the IPv4 pseudo header of TCP and UDP (RFC 9293 3.1, RFC 768); addresses and the
 * length of the segment are in host order. */
static inline uint32_t csum_pseudo4(uint32_t src, uint32_t dst, uint8_t proto, uint16_t len)
{
	uint32_t s = csum_add(be32_make(src).raw, be32_make(dst).raw);
	return csum_add(s, (uint32_t)be16_make(proto).raw + be16_make(len).raw);
}

/* Partial sum of the IPv6 pseudo header (RFC 8200 8.1). Addresses are 16 bytes as on the wire, any
 * alignment; the length of upper-layer header and data is in host order. */
static inline uint32_t csum_pseudo6(const void *src, const void *dst, uint8_t proto, uint32_t len)
{
	const uint8_t *s = src, *d = dst;
	uint64_t sum = (uint64_t)be32_make(len).raw + be32_make(proto).raw;
	for (unsigned i = 0; i < 16; i += 4)
		sum += (uint64_t)raw32_load(s + i) + raw32_load(d + i);
	return csum_add((uint32_t)sum, (uint32_t)(sum >> 32));
}

/*
 * The checksum after one 16-bit word of the message changed from `was` to `is`, all raw.
 * RFC 1624 equation 3: HC' = ~(~HC + ~m + m'). Unlike RFC 1141 it never gives 0xffff instead of 0.
 */
static inline uint16_t csum_update16(uint16_t csum, uint16_t was, uint16_t is)
{
	return csum_fold((uint32_t)(uint16_t)~csum + (uint16_t)~was + is);
}

#endif
