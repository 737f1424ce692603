/*
 * What the device knows of L3 and L4: the parser of received frames and the Internet checksum
 * (RFC 1071), which is computed for real, over the bytes that came.
 */
#include "tools/nicsim/82599/state.h"

#include <string.h>

enum { IP_TCP = 6, IP_UDP = 17, IP_SCTP = 132, IP6_HOPOPTS = 0, IP6_ROUTING = 43, IP6_FRAGMENT = 44,
       IP6_DSTOPTS = 60 };

/* Adds `bytes` of p to a sum in memory order, eight at a time: the carry out of 64 bits comes back in
 * (end-around), and folding later is the same modulo 0xffff. Inline: every received frame has three
 * of them, two very short. */
static inline uint64_t add(uint64_t s, const uint8_t *p, uint32_t bytes)
{
	uint64_t w;
	for (; bytes >= 8; bytes -= 8, p += 8) {
		memcpy(&w, p, 8);
		s += w;
		s += s < w;
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
		s += w;
		s += s < w;
	}
	return s;
}

static inline uint16_t fold(uint64_t s)
{
	/* a number added to itself with its halves exchanged has the end-around sum of both on top */
	uint32_t half = (uint32_t)((s + (s << 32 | s >> 32)) >> 32);
	return (uint16_t)((half + (half << 16 | half >> 16)) >> 16);
}

/* The same between files: 32 bits that sum_fold makes 16 of, in memory order, not complemented. */
uint32_t sum_add(uint32_t sum, const uint8_t *p, uint32_t bytes)
{
	return fold(add(sum, p, bytes));
}

uint16_t sum_fold(uint32_t sum)
{
	return fold(sum);
}

static uint32_t swap16(uint32_t v)
{
	return (v & 0xff) << 8 | (v >> 8 & 0xff);
}

static inline uint64_t pseudo(const uint8_t *ip, unsigned version, uint32_t protocol,
                              uint32_t length)
{
	uint32_t rest = swap16(protocol) + swap16(length & 0xffff) + swap16(length >> 16);
	return version == 4 ? add(rest, ip + 12, 8) : add(rest, ip + 8, 32);
}

/* RFC 9293 3.1, 8200 8.1: addresses, protocol, length. */
uint32_t sum_pseudo(const uint8_t *ip, unsigned version, uint32_t protocol, uint32_t length)
{
	return fold(pseudo(ip, version, protocol, length));
}

static void parse_l4(struct parsed *p, uint32_t at, uint8_t protocol)
{
	p->protocol = protocol;
	if (protocol == IP_TCP && at + 20 <= p->end)
		p->ptype |= PTYPE_TCP;
	else if (protocol == IP_UDP && at + 8 <= p->end)
		p->ptype |= PTYPE_UDP;
	else if (protocol == IP_SCTP && at + 12 <= p->end)
		p->ptype |= PTYPE_SCTP;
	else
		return;
	p->l4 = (uint16_t)at;
}

static void parse_ip4(const uint8_t *frame, uint32_t bytes, uint32_t at, struct parsed *p)
{
	if (bytes < at + 20 || frame[at] >> 4 != 4)
		return;
	uint32_t header = (frame[at] & 15u) * 4, total = be16(&frame[at + 2]);
	if (header < 20 || total < header || total > bytes - at)
		return;
	p->version = 4;
	p->l2 = (uint16_t)at;
	p->end = (uint16_t)(at + total);
	p->ptype |= header > 20 ? PTYPE_IPV4E : PTYPE_IPV4;
	p->fragment = be16(&frame[at + 6]) & 0x3fff; /* MF or an offset */
	p->protocol = frame[at + 9];
	if (!p->fragment)
		parse_l4(p, at + header, frame[at + 9]);
}

static void parse_ip6(const uint8_t *frame, uint32_t bytes, uint32_t at, struct parsed *p)
{
	if (bytes < at + 40 || frame[at] >> 4 != 6 || be16(&frame[at + 4]) > bytes - at - 40)
		return;
	p->version = 6;
	p->l2 = (uint16_t)at;
	p->end = (uint16_t)(at + 40 + be16(&frame[at + 4]));
	uint8_t next = frame[at + 6];
	bool extended = false;
	at += 40;
	/* each header is at least eight bytes, so the loop ends with the packet */
	while (next == IP6_HOPOPTS || next == IP6_ROUTING || next == IP6_DSTOPTS ||
	       next == IP6_FRAGMENT) {
		extended = true;
		if (at + 8 > p->end)
			break;
		if (next == IP6_FRAGMENT)
			p->fragment = true;
		uint32_t length = next == IP6_FRAGMENT ? 8 : (frame[at + 1] + 1u) * 8;
		next = frame[at];
		if (length > p->end - at)
			break;
		at += length;
	}
	p->ptype |= extended ? PTYPE_IPV6E : PTYPE_IPV6;
	p->protocol = next;
	if (!p->fragment)
		parse_l4(p, at, next);
}

/* 7.1.6.2, packet type. `bytes` is at least 60. A second tag is not looked through (GDV is off). */
void parse(const uint8_t *frame, uint32_t bytes, struct parsed *p)
{
	*p = (struct parsed){0};
	uint32_t at = 14, type = be16(frame + 12);
	if (type == 0x8100) {
		p->tagged = true;
		p->tci = (uint16_t)be16(frame + 14);
		type = be16(frame + 16);
		at = 18;
	}
	if (type == 0x0800)
		parse_ip4(frame, bytes, at, p);
	else if (type == 0x86dd)
		parse_ip6(frame, bytes, at, p);
}

static bool l4_sum_good(const uint8_t *frame, const struct parsed *p, uint32_t length)
{
	uint64_t sum = pseudo(frame + p->l2, p->version, p->protocol, length);
	return fold(add(sum, frame + p->l4, length)) == 0xffff;
}

/*
 * 7.1.11: IPv4 header, TCP and UDP are checked whatever RXCSUM says. A fragment has only its header
 * checked; a UDP datagram whose sum is 0 has none to check, and neither L4CS nor UDPCS is set.
 * Options and extension headers are looked through.
 */
uint32_t checksum_status(const uint8_t *frame, const struct parsed *p)
{
	uint32_t status = 0;
	if (p->version == 4) {
		uint32_t header = (frame[p->l2] & 15u) * 4;
		status |= RXD_IPCS;
		if (fold(add(0, frame + p->l2, header)) != 0xffff)
			status |= RXD_IPE;
	}
	if (p->ptype & PTYPE_TCP) {
		status |= RXD_L4CS;
		if (!l4_sum_good(frame, p, p->end - p->l4))
			status |= RXD_TCPE;
	}
	if (p->ptype & PTYPE_UDP) {
		uint32_t length = be16(&frame[p->l4 + 4]);
		status |= RXD_UDPCS;
		if (be16(&frame[p->l4 + 6]) == 0)
			return status & ~(uint32_t)RXD_UDPCS;
		status |= RXD_L4CS;
		if (length < 8 || length > (uint32_t)(p->end - p->l4) || !l4_sum_good(frame, p, length))
			status |= RXD_TCPE;
	}
	return status;
}

/* 7.1.11.2 (RXCSUM.IPPCSE): the unadjusted one's complement sum of the IP payload of a fragment. */
uint16_t fragment_sum(const uint8_t *frame, const struct parsed *p)
{
	uint32_t header = p->version == 4 ? (frame[p->l2] & 15u) * 4 : 40;
	return sum_fold(sum_add(0, frame + p->l2 + header, p->end - p->l2 - header));
}

/*
 * parse() and checksum_status() in one, for untagged IPv4 without options, whole, with TCP or UDP:
 * what line rate is made of. False: not such a frame, nothing is said about it.
 */
bool quick_ip4(const uint8_t *frame, uint32_t bytes, struct parsed *p, uint32_t *status)
{
	const uint8_t *ip = frame + 14, *l4 = frame + 34;
	const uint32_t total = be16(ip + 2), protocol = ip[9];
	bool tcp = protocol == IP_TCP;
	if (be16(frame + 12) != 0x0800 || ip[0] != 0x45 || be16(ip + 6) & 0x3fff ||
	    total > bytes - 14 || total < (tcp ? 40 : 28) || (!tcp && protocol != IP_UDP))
		return false;
	const uint32_t length = total - 20;
	/* UDP with a length of its own, or without a sum */
	if (!tcp && (be16(l4 + 4) != length || be16(l4 + 6) == 0))
		return false;
	const uint64_t rest = swap16(protocol) + swap16(length);
	*p = (struct parsed){.l2 = 14,
	                     .l4 = 34,
	                     .end = (uint16_t)(14 + total),
	                     .ptype = PTYPE_IPV4 | (tcp ? PTYPE_TCP : PTYPE_UDP),
	                     .version = 4,
	                     .protocol = (uint8_t)protocol};
	*status = RXD_IPCS | RXD_L4CS | (tcp ? 0 : (uint32_t)RXD_UDPCS);
	if (fold(add(0, ip, 20)) != 0xffff)
		*status |= RXD_IPE;
	/* from the source address on: the pseudo header's addresses and the segment lie together */
	if (fold(add(rest, ip + 12, 8 + length)) != 0xffff)
		*status |= RXD_TCPE;
	return true;
}
