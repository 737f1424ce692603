/*
 * Ethernet II frames: header, types, station addresses. All helpers take unaligned pointers.
 *
 *     octet 0 destination, 6 source, 12 type, big-endian (up to ETH_LENGTH_MAX: an 802.3 length)
 */
#ifndef NET_ETH_H
#define NET_ETH_H

#include "lib/bytes.h"
#include "lib/mem.h"
#include "lib/types.h"

#define ETH_ALEN 6
#define ETH_HLEN 14
#define ETH_FRAME_MIN 60 /* without FCS; shorter frames are padded by the sender */

#define ETH_TYPE_IP4 0x0800
#define ETH_TYPE_ARP 0x0806
#define ETH_TYPE_VLAN 0x8100 /* IEEE 802.1Q 9.4: a tag of ETH_TAG_LEN bytes precedes the type */
#define ETH_TYPE_IP6 0x86dd
#define ETH_TYPE_VLAN_SERVICE 0x88a8 /* the tag of a provider (IEEE 802.1Q table 9-1) */
#define ETH_LENGTH_MAX 1500 /* up to this value the field is a length and no type (IEEE 802.3 3.2.6) */

#define ETH_TAG_LEN 4
#define ETH_VID_MASK 0xfff /* in the second half of the tag: priority, DEI, VLAN identifier (9.6) */
#define ETH_VID_MAX 4094   /* 4095 is reserved; 0 carries a priority without a VLAN (table 9-2) */

static inline bool eth_equal(const uint8_t *a, const uint8_t *b)
{
	return raw32_load(a) == raw32_load(b) && raw16_load(a + 4) == raw16_load(b + 4);
}

static inline void eth_copy(uint8_t *to, const uint8_t *from)
{
	uint32_t head = raw32_load(from);
	uint16_t tail = raw16_load(from + 4);
	raw32_store(to, head);
	raw16_store(to + 4, tail);
}

/* Group address: multicast or broadcast (IEEE 802 I/G bit). */
static inline bool eth_is_multicast(const uint8_t *mac) { return mac[0] & 1; }

static inline bool eth_is_zero(const uint8_t *mac)
{
	return raw32_load(mac) == 0 && raw16_load(mac + 4) == 0;
}

/* True for the address of a single station. */
static inline bool eth_is_station(const uint8_t *mac)
{
	return !eth_is_multicast(mac) && !eth_is_zero(mac);
}

/* Writes the 14-byte header at frame; type in host order. */
static inline void eth_header_build(uint8_t *frame, const uint8_t *dst, const uint8_t *src,
                                    uint16_t type)
{
	eth_copy(frame, dst);
	eth_copy(frame + ETH_ALEN, src);
	be16_store(frame + 12, type);
}

/* Copies a header of 14 bytes, in two moves that overlap. */
static inline void eth_header_copy(uint8_t *frame, const uint8_t *header)
{
	const uint64_t first = raw64_load(header), last = raw64_load(header + ETH_ALEN);
	raw64_store(frame, first);
	raw64_store(frame + ETH_ALEN, last);
}

/* Removes the tag from a frame of at least 18 bytes: moves the addresses up, so the frame begins
 * ETH_TAG_LEN bytes later. */
static inline void eth_untag(uint8_t *frame)
{
	uint64_t head = raw64_load(frame);
	uint32_t tail = raw32_load(frame + 8);
	raw64_store(frame + ETH_TAG_LEN, head);
	raw32_store(frame + ETH_TAG_LEN + 8, tail);
}

/* Writes a VLAN tag with priority 0 at its place in a frame. */
static inline void eth_tag_build(uint8_t *frame, unsigned vid)
{
	be16_store(frame + 12, ETH_TYPE_VLAN);
	be16_store(frame + 14, (uint16_t)vid);
}

/* Pads a short frame with zeros (RFC 894), in a buffer of at least ETH_FRAME_MIN bytes. Returns the
 * new length. */
static inline unsigned eth_pad(uint8_t *frame, unsigned len)
{
	if (len >= ETH_FRAME_MIN)
		return len;
	memset(frame + len, 0, ETH_FRAME_MIN - len);
	return ETH_FRAME_MIN;
}

#endif
