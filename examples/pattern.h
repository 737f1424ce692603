/*
 * Bytes to send, each a function of its place in the stream, and a checksum over what came: both
 * ends of a transfer can say without the other what it has to be. Any other program can make them:
 *
 *     x[0] = 1;  x[i + 1] = x[i] * 1664525 + 1013904223 mod 2^32;  byte i = x[i mod 65521] >> 24
 *
 * The period is a prime, so that it falls on no boundary of segments, buffers or pages.
 */
#ifndef EXAMPLES_PATTERN_H
#define EXAMPLES_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#define PATTERN_PERIOD 65521u

/* The bytes from place `at` on, *n of them in one piece (at most `max`). */
const uint8_t *pattern_at(uint64_t at, uint32_t max, uint32_t *n);

/* Whether these n bytes are the pattern from place `at` on. */
bool pattern_is(uint64_t at, const uint8_t *bytes, uint32_t n);

/* CRC-32 (IEEE 802.3, as zlib's crc32) of n more bytes; begins with 0. */
uint32_t crc32_add(uint32_t crc, const uint8_t *bytes, uint32_t n);

#endif
