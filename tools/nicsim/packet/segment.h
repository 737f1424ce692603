/*
 * Segmentation: one packet of the guest, larger than a frame, becomes many. Each has the headers of
 * the original, except for
 *
 *   IPv4   total length; identification, incremented for each; header checksum
 *   IPv6   payload length
 *   TCP    sequence number; flags by masks for the first, the middle and the last; checksum
 *   UDP    length; checksum
 *
 * The checksum field of the original's L4 header holds the folded sum of the pseudo header with
 * length 0 (sum_pseudo); the length of each segment is added to it.
 */
#ifndef NICSIM_PACKET_SEGMENT_H
#define NICSIM_PACKET_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

/* A request. The caller checks the offsets: headers + payload is the length of the original, L3 is
 * ipv4 or not, L4 is tcp or UDP, and each header is complete. */
struct segments {
	uint32_t l3, l4;  /* offsets */
	uint32_t headers; /* bytes before the payload */
	uint32_t payload;
	uint32_t mss; /* payload of a segment, at least 1; the last may be shorter */
	bool ipv4, tcp;
	uint16_t flags_first, flags_middle, flags_last; /* masks: lower 12 bits to keep */
};

/* Writes to `out` the segment whose payload begins `from` bytes after the headers, a multiple of
 * mss. Returns its bytes, at most headers + mss. */
uint32_t segment_make(const struct segments *s, const uint8_t *whole, uint32_t from, uint8_t *out);

#endif
