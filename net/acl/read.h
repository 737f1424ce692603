/*
 * Reads the words of a batch of packets, LANES packets at a time: loads 16 bytes of the header of
 * each, and transposes blocks of 4 packets. Included by scalar.c, avx2.c and avx512.c only, which
 * define
 *
 *     LANES, lanes, BLOCKS(a, b, c, d)    a vector of 32-bit words of packets, and the list of the
 *                                    indices a, b, c and d in each block of 4 words
 *     pairs, PAIRS(a, b)             the same of 64 bits each
 *     rows(ip, at, j)                a vector: block b has the 16 bytes at ip[4 b + j] + at
 *     from_be(v)                     words of a packet, as loaded, in host order
 *     signs(v)                       bit i: lane i is negative
 *
 * Lanes can read a plain packet only: without IPv4 options or IPv6 extension headers, not a later
 * fragment, and with PLAIN_TRANSPORT bytes of the transport header. acl_read reads all others.
 */
#ifndef NET_ACL_READ_H
#define NET_ACL_READ_H

#include "lib/bytes.h"
#include "net/acl/inside.h"
#include "net/ip4.h"
#include "net/ip6.h"

#define PLAIN_TRANSPORT 20

/* A constant with the bits `host` of a word, as loaded. */
#define AS_LOADED(host) ((int32_t)BYTES_SWAP32(host))

/* Byte n of words, as loaded. */
SEARCH_FN lanes byte_of(lanes v, unsigned n)
{
	return v >> (int)(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 8 * n : 24 - 8 * n) & 0xff;
}

SEARCH_FN lanes select_lanes(lanes by, lanes yes, lanes no)
{
	return (yes & by) | (no & ~by);
}

/* The 16 bits of host-order words above the lowest 16. */
SEARCH_FN lanes upper_half(lanes v)
{
	return v >> 16 & 0xffff;
}

/* word[d]: word d of the 16 bytes at ip[i] + at, for each packet i. */
SEARCH_FN void read_words(const uint8_t *const *ip, unsigned at, lanes word[4])
{
	const lanes a = rows(ip, at, 0), b = rows(ip, at, 1), c = rows(ip, at, 2), d = rows(ip, at, 3);
	const lanes ab = __builtin_shufflevector(a, b, BLOCKS(0, LANES, 1, LANES + 1));
	const lanes cd = __builtin_shufflevector(c, d, BLOCKS(0, LANES, 1, LANES + 1));
	const lanes ab2 = __builtin_shufflevector(a, b, BLOCKS(2, LANES + 2, 3, LANES + 3));
	const lanes cd2 = __builtin_shufflevector(c, d, BLOCKS(2, LANES + 2, 3, LANES + 3));
	word[0] = (lanes)__builtin_shufflevector((pairs)ab, (pairs)cd, PAIRS(0, LANES / 2));
	word[1] = (lanes)__builtin_shufflevector((pairs)ab, (pairs)cd, PAIRS(1, LANES / 2 + 1));
	word[2] = (lanes)__builtin_shufflevector((pairs)ab2, (pairs)cd2, PAIRS(0, LANES / 2));
	word[3] = (lanes)__builtin_shufflevector((pairs)ab2, (pairs)cd2, PAIRS(1, LANES / 2 + 1));
}

SEARCH_FN void put(int32_t *word, lanes v)
{
	*(lanes *)(void *)word = v;
}

SEARCH_FN void put_address(struct acl_keys *k, unsigned word, unsigned i, lanes loaded)
{
	put(&k->word[word][i], from_be(loaded) ^ (int32_t)ACL_TURNED);
}

/* The words of the transport headers, whose first word is `first` and whose word 3 is `third`, by
 * protocol. */
SEARCH_FN void put_transport(const struct acl *a, struct acl_keys *k, unsigned i, lanes proto,
                             uint8_t icmp, lanes first, lanes third)
{
	const lanes host = from_be(first), high = upper_half(host), none = (lanes){0} + ACL_PORT_NONE;
	const lanes tcp = proto == IP4_PROTO_TCP;
	const lanes ports = tcp | (proto == IP4_PROTO_UDP) | (proto == IP4_PROTO_SCTP);
	const lanes flags = a->flags ? byte_of(third, 1) : (lanes){0};
	put(&k->word[ACL_SRC_PORT][i], select_lanes(ports, high, none));
	put(&k->word[ACL_DST_PORT][i],
	    select_lanes(ports, host & 0xffff, select_lanes(proto == icmp, high, none)));
	put(&k->word[ACL_KIND][i], select_lanes(tcp, flags + ACL_KIND_TCP, proto));
}

/* Is the length at bytes n and n + 1 of words, as loaded, below `least`, which is below 256? */
SEARCH_FN lanes too_short(lanes v, unsigned n, int least)
{
	return ((v & AS_LOADED(0xff000000u >> 8 * n)) == 0) & (byte_of(v, n + 1) < least);
}

/* Lanes of packets that are not plain: bit i is packet i. */
SEARCH_FN uint32_t not_plain4(const lanes word[4])
{
	const lanes differs = (word[0] & AS_LOADED(0xff000000)) ^ AS_LOADED(0x45000000);
	const lanes odd = differs | (word[1] & AS_LOADED(IP4_OFFSET_MASK));
	return signs((odd != 0) | too_short(word[0], 2, IP4_HLEN + PLAIN_TRANSPORT));
}

/* The same for IPv6. */
SEARCH_FN uint32_t not_plain6(const lanes word[4])
{
	const lanes next = byte_of(word[1], 2);
	const lanes plain = (next == IP6_TCP) | (next == IP6_UDP) | (next == IP4_PROTO_SCTP) |
	                    (next == IP6_ICMP6);
	return signs(~plain | too_short(word[1], 0, PLAIN_TRANSPORT));
}

/* Packets that lanes cannot read are replaced, for the words behind the first 16 bytes. */
SEARCH_FN const uint8_t *const *plain_ones(const uint8_t *const *ip, uint32_t odd,
                                           const uint8_t **copy)
{
	static const uint8_t nothing[IP6_HLEN + PLAIN_TRANSPORT];
	if (likely(odd == 0))
		return ip;
	for (unsigned j = 0; j < LANES; j++)
		copy[j] = odd >> j & 1 ? nothing : ip[j];
	return copy;
}

/* Reads LANES packets from packet i of the batch on. Returns those that acl_read has to read. */
SEARCH_FN uint32_t read4(const struct acl *a, struct acl_keys *k, unsigned i,
                         const uint8_t *const *ip)
{
	const uint8_t *copy[LANES];
	lanes head[4], dst[4], end[4] = {{0}};
	read_words(ip, 0, head);
	const uint32_t odd = not_plain4(head);
	ip = plain_ones(ip, odd, copy);
	read_words(ip, 16, dst);
	if (a->flags)
		read_words(ip, IP4_HLEN + PLAIN_TRANSPORT - 16, end);
	put_address(k, ACL_SRC + 3, i, head[3]);
	put_address(k, ACL_DST + 3, i, dst[0]);
	put_transport(a, k, i, byte_of(head[2], 1), IP4_PROTO_ICMP, dst[1], end[2]);
	return odd;
}

SEARCH_FN uint32_t read6(const struct acl *a, struct acl_keys *k, unsigned i,
                         const uint8_t *const *ip)
{
	const uint8_t *copy[LANES];
	lanes head[4], middle[4], end[4], transport[4];
	read_words(ip, 0, head);
	const uint32_t odd = not_plain6(head);
	read_words(ip, 16, middle);
	ip = plain_ones(ip, odd, copy);
	read_words(ip, 32, end);
	read_words(ip, IP6_HLEN, transport);
	UNROLL
	for (unsigned w = 0; w < 2; w++) {
		put_address(k, ACL_SRC + w, i, head[2 + w]);
		put_address(k, ACL_SRC + 2 + w, i, middle[w]);
		put_address(k, ACL_DST + w, i, middle[2 + w]);
		put_address(k, ACL_DST + 2 + w, i, end[w]);
	}
	put_transport(a, k, i, byte_of(head[1], 2), IP6_ICMP6, transport[0], transport[3]);
	return odd;
}

/* After the n packets of a batch, lanes repeat a packet up to a whole vector. */
SEARCH_FN void read_group(const struct acl *a, struct acl_keys *k, unsigned i,
                          const uint8_t *const *ip, unsigned n)
{
	const uint8_t *filled[LANES];
	const uint8_t *const *from = ip;
	if (n < LANES) {
		for (unsigned j = 0; j < LANES; j++)
			filled[j] = ip[j < n ? j : 0];
		from = filled;
	}
	uint32_t odd = a->six ? read6(a, k, i, from) : read4(a, k, i, from);
	for (unsigned j = 0; unlikely(odd) && j < LANES && j < n; j++)
		if (odd >> j & 1)
			acl_read(a, k, i + j, ip[j]);
}

SEARCH_FN void read_batch(const struct acl *a, struct acl_keys *k, const uint8_t *const *ip,
                          unsigned n)
{
	k->undetermined = false;
	for (unsigned i = 0; i < n; i += LANES)
		read_group(a, k, i, ip + i, n - i);
}

#endif
