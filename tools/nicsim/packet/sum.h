/*
 * The Internet checksum (RFC 1071), in parts. A part is a 64-bit one's complement sum of 16-bit
 * words in memory order. sum_add extends a part, sum_fold folds it at the end.
 *
 *     sum_fold(sum_add(0, header, bytes)) == 0xffff                          is it right?
 *     uint16_t field = (uint16_t)~sum_fold(sum_add(0, header, bytes))        stored by memcpy
 *
 * Only the last part can have an odd number of bytes. Inline: every received frame needs three
 * sums, two of them very short.
 */
#ifndef NICSIM_PACKET_SUM_H
#define NICSIM_PACKET_SUM_H

#include <stdint.h>
#include <string.h>

/* Adds `bytes` of p, eight at a time: the carry out of 64 bits is added back (end-around), and a
 * later fold gives the same result modulo 0xffff. */
static inline uint64_t sum_add(uint64_t sum, const uint8_t *p, uint32_t bytes)
{
	uint64_t w;
	for (; bytes >= 8; bytes -= 8, p += 8) {
		memcpy(&w, p, 8);
		sum += w;
		sum += sum < w;
	}
	if (bytes) { /* the rest as the low bytes of a word of its own */
		w = 0;
		if (bytes & 4) {
			uint32_t v;
			memcpy(&v, p, 4);
			w = v;
			p += 4;
		}
		if (bytes & 2) {
			uint16_t v;
			memcpy(&v, p, 2);
			w += v;
			p += 2;
		}
		if (bytes & 1)
			w += *p;
		sum += w;
		sum += sum < w;
	}
	return sum;
}

/* 16 bits in memory order, not complemented. Takes any 64-bit sum; 0 stays 0. */
static inline uint16_t sum_fold(uint64_t sum)
{
	/* adding a number to itself with its halves exchanged leaves their end-around sum in the
	 * upper half */
	uint32_t half = (uint32_t)((sum + (sum << 32 | sum >> 32)) >> 32);
	return (uint16_t)((half + (half << 16 | half >> 16)) >> 16);
}

/* A 16-bit number as a word of a packet in memory order. */
static inline uint32_t sum_word(uint32_t number)
{
	return (number & 0xff) << 8 | (number >> 8 & 0xff);
}

/* Sum of the pseudo header (RFC 9293 3.1, 8200 8.1): addresses from the IP header, protocol,
 * length. */
static inline uint64_t sum_pseudo(const uint8_t *ip, unsigned version, uint32_t protocol,
                                  uint32_t length)
{
	uint32_t rest = sum_word(protocol) + sum_word(length & 0xffff) + sum_word(length >> 16);
	return version == 4 ? sum_add(rest, ip + 12, 8) : sum_add(rest, ip + 8, 32);
}

/* The sum of all from the IP header on of a frame that its wire vouches for (FRAME_UDP4). The IP
 * header, and the datagram with its pseudo header, sum up to 0xffff, which is 0: what remains is the
 * negative of the pseudo header. */
static inline uint16_t sum_vouched(const uint8_t *frame)
{
	uint64_t addresses;
	uint16_t length;
	memcpy(&addresses, frame + 26, 8);
	memcpy(&length, frame + 38, 2);
	const uint64_t rest = sum_word(17) + length;
	const uint64_t sum = addresses + rest;
	const uint16_t negative = (uint16_t)~sum_fold(sum + (sum < rest));
	return negative ? negative : 0xffff;
}

#endif
