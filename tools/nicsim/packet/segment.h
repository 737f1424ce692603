/*
 * Segmentation: one packet of the guest's, larger than a frame, becomes many. Each has the headers
 * of the whole, with
 *
 *   IPv4   total length; identification plus 1 for each; header checksum
 *   IPv6   payload length
 *   TCP    sequence number; flags by masks for the first, the middle and the last; checksum
 *   UDP    length; checksum
 *
 * The checksum field of the whole's L4 header holds the folded sum of the pseudo header with length
 * 0 (sum_pseudo), to which the length of each segment is added.
 */
#ifndef NICSIM_PACKET_SEGMENT_H
#define NICSIM_PACKET_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

/* A request. The offsets are the caller's to check: headers + payload is the length of the whole,
 * L3 is ipv4 or not, L4 is tcp or UDP, and each header is all there. */
struct segments {
	uint32_t l3, l4;  /* offsets */
	uint32_t headers; /* bytes before the payload */
	uint32_t payload;
	uint32_t mss; /* payload of a segment, at least 1; the last may have less */
	bool ipv4, tcp;
	uint16_t flags_first, flags_middle, flags_last; /* of TCP: lower 12 bits that stay */
};

/* Writes to `out` the segment whose payload begins `from` bytes behind the headers, a multiple of
 * mss. Returns its bytes, at most headers + mss. */
uint32_t segment_make(const struct segments *s, const uint8_t *whole, uint32_t from, uint8_t *out);

#endif
