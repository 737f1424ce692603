/*
 * The end of the slow path, for both families: a packet whose next hop is known leaves the router, is
 * refused, or waits on the control core for its neighbour. The steps, in their order:
 *
 *     hop limit   RFC 1812 5.3.1, RFC 8200 3
 *     filter      of the interface it leaves by, RFC 1812 5.3.9
 *     size        IPv4 with DF, and IPv6: the sender is told the MTU (RFC 1812 5.2.7.1, RFC 8200 5)
 *     link        an error if the link is down: sent here, because a flood to a dead link must not
 *                 reach the control core
 *     redirect    before the packet is changed
 *     options     IPv4 alone, RFC 1812 5.3.13
 *     neighbour
 *     fragments   IPv4 alone, RFC 1812 4.2.2.7
 */
#include "apps/router/egress.h"
#include "apps/router/error.h"
#include "apps/router/filter.h"
#include "apps/router/redirect.h"
#include "apps/router/send.h"
#include "dataplane/ingress.h"
#include "net/ip4.h"
#include "net/ip6.h"

/* Bytes of the frame that have been checked, for ingress_complete. */
static unsigned headers(const uint8_t *ip, bool six)
{
	return ETH_HLEN + (six ? IP6_HLEN : ip4_header_len(ip));
}

/* Fragments an IPv4 packet for its link and sends the fragments. */
static void fragment(struct pkt *p, const struct adj *a)
{
	struct ip4_frag it;
	struct pkt f;
	ingress_complete(p, headers(p->data + ETH_HLEN, false));
	if (ip4_frag_init(&it, p->data + ETH_HLEN, a->mtu) != E_OK) {
		core_drop(p, CNT_drop_ip4_total_len);
		return;
	}
	while (!it.ended && pkt_alloc(&self.pool, &f)) {
		unsigned n = ip4_frag_next(&it, f.data + ETH_HLEN, buf_room(&self.pool) - ETH_HLEN);
		assert(n > 0); /* no MTU is larger than a buffer */
		router_set_len(&f, n + ETH_HLEN);
		f.interface = p->interface;
		f.flags = PKT_OWN;
		count(CNT_fragments_created);
		router_send_by(&f, a);
	}
	count_n(CNT_fragmented, it.ended);
	core_drop(p, it.ended ? CNT_forwarded : CNT_drop_no_buffer);
}

static bool is_ours(uint32_t addr) { return fib4_lookup(router.dp->fib, addr) == NH_LOCAL; }

static void fill_options(uint8_t *ip, const struct adj *a)
{
	const struct ip4_passage at = {.addr = router.dp->interface[a->interface].addr[0],
	                               .time_ms = (uint32_t)(core_now_us() / 1000),
	                               .is_ours = is_ours};
	ip4_options_fill(ip, &at);
}

/* six is a constant in each call, so each family has a copy. One copy for both costs an IPv4 packet
 * with options 23 instructions more than these 79 (callgrind), and 3 % of its cycles. */
static inline __attribute__((always_inline)) void egress(struct pkt *p, const struct adj *a,
                                                         uint32_t nh, bool six)
{
	uint8_t *ip = p->data + ETH_HLEN;
	const unsigned total = six ? ip6_total_len(ip) : ip4_total_len(ip);
	if ((six ? ip6_hop_limit(ip) : ip4_ttl(ip)) <= 1) {
		router_refuse(p, REFUSE_HOP_LIMIT, 0, six);
		return;
	}
	if (router_denied(p, &router.filters->interface[a->interface].out[six], CNT_drop_acl_out))
		return;
	if (total > a->mtu && (six || ip4_dont_fragment(ip))) {
		router_refuse(p, REFUSE_TOO_BIG, a->mtu, six);
		return;
	}
	router_trim(p, total, headers(ip, six));
	if (!__atomic_load_n(&router.dp->interface[a->interface].link_up, __ATOMIC_RELAXED)) {
		router_refuse(p, REFUSE_LINK_DOWN, 0, six);
		return;
	}
	if (a->interface == p->interface) {
		count(CNT_redirect_needed);
		if (router_resolved(a))
			router_may_redirect(p, nh, six);
	}
	if (six) {
		ip6_hop_limit_decrement(ip);
	} else {
		if (unlikely(ip4_header_len(ip) > IP4_HLEN))
			fill_options(ip, a);
		ip4_ttl_decrement(ip);
	}
	if (!router_resolved(a)) {
		ingress_complete(p, headers(ip, six));
		core_punt(p, PUNT_RESOLVE, nh);
		return;
	}
	router.used->second[nh] = (uint32_t)(core_now_ns() >> 30);
	if (!six && total > a->mtu) {
		fragment(p, a);
	} else {
		router_send_by(p, a);
		core_forwarded(p->interface, 1);
	}
}

void router_egress(struct pkt *p, const struct adj *a, uint32_t nh, bool six)
{
	if (six)
		egress(p, a, nh, true);
	else
		egress(p, a, nh, false);
}
