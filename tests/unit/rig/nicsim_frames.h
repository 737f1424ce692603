/* Frames for tests of NIC models, with checksums, made by code that shares nothing with the
 * models. */
#ifndef TESTS_UNIT_RIG_NICSIM_FRAMES_H
#define TESTS_UNIT_RIG_NICSIM_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

extern uint8_t f[70000]; /* the frame under construction */

/* Makes a frame in f, addressed to the card, of no protocol that it knows, distinguishable by
 * `seq`; returns `bytes`. */
uint32_t numbered(uint32_t seq, uint32_t bytes);

struct flow {
	unsigned version;   /* 4 or 6 */
	uint8_t protocol;   /* 6, 17 or another */
	uint8_t src[16], dst[16];
	uint16_t sport, dport;
	uint32_t payload;   /* bytes */
	bool tagged;
	uint16_t tci;
};
/* Writes a frame with correct checksums to `to`; returns its bytes (at least 60). Independent of
 * the model's checksum code. */
uint32_t make_ip(uint8_t *to, const struct flow *flow);
/* RFC 1071 the slow way: the one's complement sum of big-endian words. */
uint16_t slow_sum(const uint8_t *p, uint32_t bytes, uint32_t start);
uint32_t slow_pseudo(const uint8_t *ip, unsigned version, unsigned protocol, uint32_t length);

/* A TCP or UDP packet of up to `payload` bytes, some of its bytes or its length changed, arrives n times. */
void some_frames(uint32_t payload, unsigned n);

#endif
