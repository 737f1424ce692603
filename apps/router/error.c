/*
 * ICMP errors of both families: about which packets, to whom, from which address, and how often
 * (RFC 1812 4.3.2, RFC 4443 2.4).
 */
#include "apps/router/error.h"
#include "apps/router/send.h"
#include "dataplane/ingress.h"
#include "net/icmp4.h"
#include "net/icmp6.h"
#include "net/ip4.h"
#include "net/ip6.h"

void router_error4(struct pkt *p, uint8_t type, uint8_t code, uint32_t rest)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	uint32_t nh = dp_next_hop4(router.dp, ip4_src(ip));
	int interface = dp_interface_of(router.dp, nh);
	struct pkt e;
	/* RFC 1122 3.2.2: a directed broadcast counts as a broadcast, even in a unicast frame */
	bool broadcast = eth_is_multicast(p->data) ||
	                 fib4_lookup(router.dp->fib, ip4_dst(ip)) == NH_BROADCAST;
	ingress_complete(p, ETH_HLEN + ip4_header_len(ip));
	if (interface < 0 || broadcast || !icmp4_error_allowed(ip, p->len - ETH_HLEN)) {
		count(CNT_icmp_err_suppressed);
		return;
	}
	const bool too_big = type == ICMP4_UNREACH && code == ICMP4_UNREACH_FRAG;
	if (!router_message(&e, too_big ? LIMIT_TOO_BIG : LIMIT_ERRORS))
		return;
	/* RFC 1812 4.3.2.4: from the address of the interface by which the error leaves */
	const struct icmp4_error error = {.src = router.dp->interface[interface].addr[0],
	                                  .type = type,
	                                  .code = code,
	                                  .rest = rest};
	unsigned n = icmp4_error_build(e.data + ETH_HLEN, buf_room(&self.pool) - ETH_HLEN, ip,
	                               p->len - ETH_HLEN, &error);
	count(icmp4_error_counter(type, code));
	router_send_own(&e, n, p, nh);
}

/* The next hop of an answer to src. A link-local source is on the link that its packet came by. */
static uint32_t way_back(const struct pkt *p, const struct net_addr *src)
{
	const uint8_t *addr = p->data + ETH_HLEN + offsetof(struct ip6_header, src);
	return ip6_is_link_local(src) ? dp_on_link6(router.dp, p->interface, addr)
	                              : dp_next_hop6(router.dp, addr);
}

void router_error6(struct pkt *p, uint8_t type, uint8_t code, uint32_t rest)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	const struct net_addr src = ip6_src(ip);
	uint32_t nh = way_back(p, &src);
	int interface = dp_interface_of(router.dp, nh);
	struct icmp6_error error = {.type = type, .code = code, .rest = rest};
	struct pkt e;
	ingress_complete(p, ETH_HLEN + IP6_HLEN);
	/* RFC 4443 2.4 (e.4), (e.5): no error about a link-layer multicast or broadcast. Packet too
	 * big is an exception, but such packets are never forwarded. */
	bool shared = eth_is_multicast(p->data);
	if (interface < 0 || shared || !icmp6_error_allowed(ip, p->len - ETH_HLEN, type, code) ||
	    !dp_source6(router.dp, (unsigned)interface, &src, &error.src)) {
		count(CNT_icmp_err_suppressed);
		return;
	}
	if (!router_message(&e, type == ICMP6_TOO_BIG ? LIMIT_TOO_BIG : LIMIT_ERRORS))
		return;
	unsigned n = icmp6_error_build(e.data + ETH_HLEN, buf_room(&self.pool) - ETH_HLEN, ip,
	                               p->len - ETH_HLEN, &error);
	count(icmp6_error_counter(type, code));
	router_send_own(&e, n, p, nh);
}

/* The error to the sender, and the counter of the drop: [0] IPv4, [1] IPv6. */
static const struct refusal {
	uint8_t type, code;
	enum counter reason;
} refusals[][2] = {
	[REFUSE_NO_ROUTE] = {{ICMP4_UNREACH, ICMP4_UNREACH_NET, CNT_drop_ip4_no_route},
	                     {ICMP6_UNREACH, ICMP6_UNREACH_NO_ROUTE, CNT_drop_ip6_no_route}},
	/* IPv6: RFC 7084 WPD-5 and common practice */
	[REFUSE_NULL0] = {{ICMP4_UNREACH, ICMP4_UNREACH_HOST, CNT_drop_ip4_null0},
	                  {ICMP6_UNREACH, ICMP6_UNREACH_REJECT, CNT_drop_ip6_null0}},
	[REFUSE_UNREACHABLE] = {{ICMP4_UNREACH, ICMP4_UNREACH_HOST, CNT_drop_route_unreachable},
	                        {ICMP6_UNREACH, ICMP6_UNREACH_ADDRESS, CNT_drop_route_unreachable}},
	[REFUSE_PROHIBIT] = {{ICMP4_UNREACH, ICMP4_UNREACH_PROHIBITED, CNT_drop_route_prohibit},
	                     {ICMP6_UNREACH, ICMP6_UNREACH_PROHIBITED, CNT_drop_route_prohibit}},
	[REFUSE_HOP_LIMIT] = {{ICMP4_TIME_EXCEEDED, ICMP4_TIME_TTL, CNT_drop_ip4_ttl},
	                      {ICMP6_TIME_EXCEEDED, ICMP6_TIME_HOP_LIMIT, CNT_drop_ip6_hop_limit}},
	[REFUSE_TOO_BIG] = {{ICMP4_UNREACH, ICMP4_UNREACH_FRAG, CNT_drop_ip4_need_frag},
	                    {ICMP6_TOO_BIG, 0, CNT_drop_ip6_too_big}},
	[REFUSE_LINK_DOWN] = {{ICMP4_UNREACH, ICMP4_UNREACH_HOST, CNT_drop_tx_down},
	                      {ICMP6_UNREACH, ICMP6_UNREACH_ADDRESS, CNT_drop_tx_down}},
};

static void tell(struct pkt *p, const struct refusal *r, uint32_t rest, bool six)
{
	if (six)
		router_error6(p, r->type, r->code, rest);
	else
		router_error4(p, r->type, r->code, rest);
}

void router_refuse(struct pkt *p, enum router_refusal why, uint32_t mtu, bool six)
{
	const struct refusal *r = &refusals[why][six];
	tell(p, r, mtu, six);
	core_drop(p, r->reason);
}

void router_deny(struct pkt *p, enum counter reason, bool is_told, bool six)
{
	if (is_told)
		tell(p, &refusals[REFUSE_PROHIBIT][six], 0, six);
	core_drop(p, reason);
}

void router_reject(struct pkt *p, uint32_t nh, bool six)
{
	switch (nh) {
	case NH_NONE:
		router_refuse(p, REFUSE_NO_ROUTE, 0, six);
		break;
	case NH_NULL0:
		router_refuse(p, REFUSE_NULL0, 0, six);
		break;
	case NH_UNREACHABLE:
		router_refuse(p, REFUSE_UNREACHABLE, 0, six);
		break;
	case NH_PROHIBIT:
		router_refuse(p, REFUSE_PROHIBIT, 0, six);
		break;
	default:
		assert(nh == NH_BLACKHOLE);
		core_drop(p, CNT_drop_route_blackhole);
		break;
	}
}
