/*
 * The slow path of the router takes every packet that the vector path does not forward, one at a time:
 * IPv4 here, IPv6 in slow6.c, the end of both in egress.c. Each packet ends in one fate
 * (net/counters.h), is handed to the control core, or is sent.
 *
 * Order of the checks: RFC 1812 5.2.1 (link), 5.2.2 (header), 5.3.9 (filter of the interface it came
 * in by), 5.3.8 (source), 4.3.3.5 (options), 5.2.3 (local delivery), then those of egress.c. The
 * router sends an error or a redirect only about a packet that this filter has permitted and whose
 * source has been verified. The one exception is the filter's own error (filter.c).
 */
#include "apps/router/egress.h"
#include "apps/router/error.h"
#include "apps/router/filter.h"
#include "apps/router/send.h"
#include "apps/router/slow.h"
#include "apps/router/slow6.h"
#include "apps/router/verify.h"
#include "dataplane/ingress.h"
#include "dataplane/trace_note.h"
#include "dataplane/vlan.h"
#include "net/icmp4.h"
#include "net/ip4.h"

/* The interface that has a subnet with broadcast address dst and sends directed broadcasts; -1:
 * none. The obsolete form of the address, with a host part of zero bits, does not count. */
static int directed_interface(uint32_t dst)
{
	const struct dp_state *v = router.dp;
	for (unsigned n = 0; n < v->ifs; n++) {
		const struct dp_interface *ifp = &v->interface[n];
		if (!__atomic_load_n(&v->policy[n].directed, __ATOMIC_RELAXED) || !ifp->enabled)
			continue;
		for (unsigned a = 0; a < ifp->addresses; a++)
			if (ifp->plen[a] < 31 && dst == ip4_subnet_broadcast(ifp->addr[a], ifp->plen[a]))
				return (int)n;
	}
	return -1;
}

/*
 * Takes a packet to a broadcast address. RFC 2644, RFC 1812 5.3.5.2: a broadcast directed to one of
 * our links is sent there if the interface is configured for that and another interface received
 * it; else the hosts of the link have received it already. Nothing here answers broadcasts.
 */
static COLD void broadcast(struct pkt *p)
{
	static const uint8_t everybody[ETH_ALEN] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	const int interface = directed_interface(ip4_dst(p->data + ETH_HLEN));
	if (interface < 0 || interface == p->interface) {
		core_drop(p, CNT_drop_ip4_link_bcast);
		return;
	}
	const uint32_t nh = NH_CONNECTED + (uint32_t)interface;
	struct adj a = router.dp->adj[nh];
	vlan_adjacency(&a, &router.dp->interface[interface], everybody, ETH_TYPE_IP4);
	a.state = ADJ_FORWARD;
	router_egress(p, &a, nh, false);
}

/* For DHCP: the source 0.0.0.0 of a client, or a server before our interface has a lease. */
static bool has_no_route_yet(unsigned interface, const uint8_t *ip)
{
	return ip4_src(ip) == 0 || !router.dp->interface[interface].enabled;
}

static void ip4_input(struct pkt *p, bool asked)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	enum counter bad = ip4_check(ip, p->len - ETH_HLEN);
	const bool dhcp = dhcp_is_wanted(router.dp, p->interface, ip, p->len - ETH_HLEN);
	if (bad != CNT_NONE && bad != CNT_drop_ip4_options && !dhcp) {
		core_drop(p, bad);
		return;
	}
	if (!router.dp->interface[p->interface].enabled && !dhcp) { /* it waits for its address */
		core_drop(p, CNT_drop_port_down);
		return;
	}
	/* RFC 1812 5.3.8, 5.3.9: filter and source come before every error. A denied sender gets
	 * no error about its options, and a forged source gets no answer. */
	if (!asked &&
	    (router_denied(p, &router.filters->interface[p->interface].in[0], CNT_drop_acl_in) ||
	     (!(dhcp && has_no_route_yet(p->interface, ip)) && router_is_forged(p, false))))
		return;
	if (dhcp) {
		ingress_complete(p, ETH_HLEN + ip4_header_len(ip));
		core_punt(p, ingress_punt_kind4(p), NH_LOCAL);
		return;
	}
	if (bad != CNT_NONE) { /* RFC 1812 4.3.3.5 */
		router_error4(p, ICMP4_PARAM_PROBLEM, 0, ip4_options_error(ip) << 24);
		core_drop(p, bad);
		return;
	}
	uint32_t nh = dp_next_hop_flow4(router.dp, ip);
	if (core_traces())
		trace_way(nh, ip4_total_len(ip));
	/* RFC 1812 5.3.4: a packet received as a link-layer broadcast is not forwarded */
	if (eth_is_multicast(p->data) && nh != NH_MULTICAST) {
		if (nh != NH_BROADCAST || !to_engine_ip4(p, ROUTING_TO_BROADCAST))
			core_drop(p, CNT_drop_ip4_link_bcast);
		return;
	}
	switch (nh) {
	case NH_LOCAL:
		if (to_engine_ip4(p, ROUTING_TO_OWN))
			break;
		ingress_complete(p, ETH_HLEN + ip4_header_len(ip));
		core_punt(p, ingress_punt_kind4(p), nh);
		break;
	case NH_BROADCAST:
		broadcast(p);
		break;
	case NH_MULTICAST:
		if (!to_engine_ip4(p, ROUTING_TO_GROUP))
			core_drop(p, CNT_drop_ip4_multicast);
		break;
	default:
		if (nh < NH_CONNECTED)
			router_reject(p, nh, false);
		else
			router_egress(p, &router.dp->adj[nh], nh, false);
		break;
	}
}

void router_slow(struct pkt *p, bool asked)
{
	core_current_set(p, 1);
	if (!vlan_untag(p, router.dp, router.carried))
		return;
	switch (ingress_classify(p, &router.dp->interface[p->interface])) {
	case INGRESS_IP4:
		ip4_input(p, asked);
		break;
	case INGRESS_IP6:
		router_ip6_input(p, asked);
		break;
	case INGRESS_CONSUMED:
		break;
	}
}
