/*
 * The slow way through the router for IPv6. Each packet that comes in here ends in one fate
 * (net/counters.h), is handed to the control core, or is sent.
 *
 * Order of the checks: link, header (RFC 8200 3), filter of the port it came in by, source (RFC
 * 3704), for us or for a group of ours (RFC 4291 2.8), scope (2.5.6), route (RFC 4443 3.1), hop
 * limit (3.3), filter of the port it leaves by, size (3.2). What is behind the header of a packet
 * for us is the control core's to look at; options of other packets are not looked at. So filter and
 * source come before every error here too.
 */
#include "apps/router/error.h"
#include "apps/router/filter.h"
#include "apps/router/redirect.h"
#include "apps/router/send.h"
#include "apps/router/slow6.h"
#include "apps/router/verify.h"
#include "dataplane/ingress.h"
#include "dataplane/trace_note.h"
#include "net/icmp6.h"
#include "net/ip6.h"

#define HEADERS (ETH_HLEN + IP6_HLEN) /* checked before anything is completed */

static void forward(struct pkt *p, uint32_t nh)
{
	uint8_t *ip = p->data + ETH_HLEN;
	const struct adj *a = &router.view->adj[nh];
	unsigned total = ip6_total_len(ip);
	if (ip6_hop_limit(ip) <= 1) {
		router_error6(p, ICMP6_TIME_EXCEEDED, ICMP6_TIME_HOP_LIMIT, 0);
		core_drop(p, CNT_drop_ip6_hop_limit);
		return;
	}
	if (router_denied(p, &router.filters->port[a->interface].out[1], CNT_drop_acl_out))
		return;
	if (total > a->mtu) { /* RFC 8200 5: nobody fragments on the way */
		router_error6(p, ICMP6_TOO_BIG, 0, a->mtu);
		core_drop(p, CNT_drop_ip6_too_big);
		return;
	}
	router_trim(p, total, HEADERS);
	/* Answered here: the control core has better to do when a flood meets a dead link. */
	if (!__atomic_load_n(&router.view->port[a->interface].link_up, __ATOMIC_RELAXED)) {
		router_error6(p, ICMP6_UNREACH, ICMP6_UNREACH_ADDRESS, 0);
		core_drop(p, CNT_drop_tx_down);
		return;
	}
	if (a->interface == p->port) {
		count(CNT_redirect_needed);
		if (router_resolved(a))
			router_may_redirect(p, nh, true);
	}
	ip6_hop_limit_decrement(ip);
	if (!router_resolved(a)) {
		router_complete(p, HEADERS);
		core_punt(p, PUNT_RESOLVE, nh);
	} else {
		router_send(p, nh);
		core_forwarded(1);
	}
}

/* To one of our addresses, or to a group we are in. */
static void local_input(struct pkt *p)
{
	router_complete(p, HEADERS);
	core_punt(p, door_kind6(p), NH_LOCAL);
}

/* What its destination address ties to the link it came by: a group, or a link-local address. True:
 * it was such a packet, and is gone. */
static bool link_input(struct pkt *p, const struct net_addr *dst)
{
	bool group = ip6_is_multicast(dst);
	if (!group && !ip6_is_link_local(dst))
		return false;
	uint32_t nh = view_on_link6(router.view, p->port,
	                            p->data + ETH_HLEN + offsetof(struct ip6_header, dst));
	if (core_traces())
		trace_way(nh, ip6_total_len(p->data + ETH_HLEN));
	if (nh == NH_LOCAL)
		local_input(p);
	else /* RFC 4291 2.5.6: a router must not forward them; RFC 4443 2.4: nobody is told */
		core_drop(p, group ? CNT_drop_ip6_multicast : CNT_drop_ip6_scope);
	return true;
}

void router_ip6_input(struct pkt *p, bool asked)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	enum counter bad = ip6_check(ip, p->len - ETH_HLEN);
	if (bad != CNT_NONE) {
		core_drop(p, bad);
		return;
	}
	if (!asked && (router_denied(p, &router.filters->port[p->port].in[1], CNT_drop_acl_in) ||
	               router_is_forged(p, true)))
		return;
	const struct net_addr dst = ip6_dst(ip);
	if (link_input(p, &dst))
		return;
	if (eth_is_multicast(p->data)) {
		core_drop(p, CNT_drop_ip6_link_mcast);
		return;
	}
	uint32_t nh = view_flow6(router.view, ip);
	if (core_traces())
		trace_way(nh, ip6_total_len(ip));
	if (nh == NH_LOCAL) {
		local_input(p);
		return;
	}
	bad = ip6_check_forward(ip);
	if (bad != CNT_NONE) {
		if (bad == CNT_drop_ip6_scope) /* RFC 4443 3.1 */
			router_error6(p, ICMP6_UNREACH, ICMP6_UNREACH_SCOPE, 0);
		core_drop(p, bad);
		return;
	}
	switch (nh) {
	case NH_NONE:
		router_error6(p, ICMP6_UNREACH, ICMP6_UNREACH_NO_ROUTE, 0);
		core_drop(p, CNT_drop_ip6_no_route);
		break;
	case NH_NULL0: /* RFC 7084 WPD-5 and common practice: reject route */
		router_error6(p, ICMP6_UNREACH, ICMP6_UNREACH_REJECT, 0);
		core_drop(p, CNT_drop_ip6_null0);
		break;
	case NH_BLACKHOLE:
		core_drop(p, CNT_drop_route_blackhole);
		break;
	case NH_UNREACHABLE:
		router_error6(p, ICMP6_UNREACH, ICMP6_UNREACH_ADDRESS, 0);
		core_drop(p, CNT_drop_route_unreachable);
		break;
	case NH_PROHIBIT:
		router_deny6(p, CNT_drop_route_prohibit, true);
		break;
	default:
		forward(p, nh);
		break;
	}
}
