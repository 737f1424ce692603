/*
 * The first pass of the vector path (forward.c): which frames hold a plain packet to be forwarded.
 * check_avx2.c asks the same of eight frames together.
 */
#ifndef APPS_ROUTER_CHECK_H
#define APPS_ROUTER_CHECK_H

#include "apps/router/send.h"
#include "net/ip4.h"
#include "net/ip6.h"

#define CHECK_LANES 8 /* frames in a group; n must not be less */

/* What pass 3 knows of the lengths of a vector's packets. Some of these may be gone by then. */
struct lengths {
	unsigned most; /* bytes of the longest IP packet */
	bool padded;   /* router_is_padded of some frame */
};

static inline void note_length(struct lengths *l, const struct pkt *p, unsigned total)
{
	l->most = l->most < total ? total : l->most;
	l->padded |= router_is_padded(p, total);
}

/*
 * True for a frame to our MAC address that holds a correct IPv4 packet without options and with a
 * TTL above 1; its length is noted. mac: our address, in the byte order of the frame.
 */
static inline bool check4(const struct pkt *p, uint64_t mac, struct lengths *l)
{
	const uint8_t *f = p->data;
	if (unlikely(p->len < ETH_HLEN + IP4_HLEN || (raw64_load(f) & 0xffffffffffff) != mac ||
	             raw16_load(f + 12) != BE16(ETH_TYPE_IP4).raw || f[ETH_HLEN] != 0x45 ||
	             f[ETH_HLEN + 8] <= 1))
		return false;
	if (unlikely(ip4_check(f + ETH_HLEN, p->len - ETH_HLEN) != CNT_NONE))
		return false;
	note_length(l, p, ip4_total_len(f + ETH_HLEN));
	return true;
}

/*
 * check4 for IPv6. A router ignores extension headers (RFC 8200 4) except hop-by-hop options: a
 * packet with these may be for every router on its path (RFC 2711), so it takes the slow path.
 */
static inline bool check6(const struct pkt *p, uint64_t mac, struct lengths *l)
{
	const uint8_t *f = p->data;
	if (unlikely(p->len < ETH_HLEN + IP6_HLEN))
		return false;
	bool bad = (raw64_load(f) & 0xffffffffffff) != mac;
	bad |= raw16_load(f + 12) != BE16(ETH_TYPE_IP6).raw;
	bad |= ip6_hop_limit(f + ETH_HLEN) <= 1;
	bad |= ip6_next(f + ETH_HLEN) == IP6_HOP_BY_HOP;
	if (unlikely(bad) || unlikely(ip6_check(f + ETH_HLEN, p->len - ETH_HLEN) != CNT_NONE) ||
	    unlikely(ip6_check_forward(f + ETH_HLEN) != CNT_NONE))
		return false;
	note_length(l, p, ip6_total_len(f + ETH_HLEN));
	return true;
}

/*
 * Writes the destinations of leading frames of v for which check4 is true to dst, and notes their lengths.
 * Returns how many: n, or a multiple of CHECK_LANES; then check4 is false for one of the next
 * CHECK_LANES frames, of which too the lengths may be noted. There are n frames, CHECK_LANES or more. The
 * machine must have AVX2.
 */
unsigned check4_avx2(const struct pkt *v, unsigned n, uint64_t mac, uint32_t *dst,
                     struct lengths *l);

/* The same for check6, with the first and second word of the destinations. */
unsigned check6_avx2(const struct pkt *v, unsigned n, uint64_t mac, uint32_t *high, uint32_t *low,
                     struct lengths *l);

#endif
