/*
 * Test data, each byte a function of its offset in the stream, and a checksum for received data: each end
 * of a transfer knows the expected data without the other. Any other program can generate the bytes:
 *
 *     x[0] = 1;  x[i + 1] = x[i] * 1664525 + 1013904223 mod 2^32;  byte i = x[i mod 65521] >> 24
 *
 * The period is a prime, so it does not coincide with boundaries of segments, buffers or pages.
 */
#ifndef EXAMPLES_PATTERN_H
#define EXAMPLES_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#define PATTERN_PERIOD 65521u

/* The bytes from offset `at` on; *n of them are contiguous, at most `max`. */
const uint8_t *pattern_at(uint64_t at, uint32_t max, uint32_t *n);

/* True if these n bytes are the pattern from offset `at` on. */
bool pattern_is(uint64_t at, const uint8_t *bytes, uint32_t n);

/* Adds n bytes to a CRC-32 (IEEE 802.3, as zlib's crc32); start with 0. lib/crc32.h computes the same without
 * 8 KiB of tables, too slowly for a stream. */
uint32_t pattern_crc32(uint32_t crc, const uint8_t *bytes, uint32_t n);

#endif
