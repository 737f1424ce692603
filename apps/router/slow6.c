/*
 * The slow path of the router for IPv6. Each packet ends in one fate (net/counters.h), is handed to the
 * control core, or is sent.
 *
 * Order of the checks: link, header (RFC 8200 3), filter of the interface it came in by, source (RFC
 * 3704), local delivery to an address or a group (RFC 4291 2.8), scope (2.5.6), route (RFC 4443 3.1),
 * then those of egress.c. So filter and source come before every error here too. The control core
 * reads the extension headers of packets for the machine itself. The options of other packets are
 * ignored.
 */
#include "apps/router/egress.h"
#include "apps/router/error.h"
#include "apps/router/filter.h"
#include "apps/router/send.h"
#include "apps/router/slow6.h"
#include "apps/router/verify.h"
#include "dataplane/ingress.h"
#include "dataplane/trace_note.h"
#include "net/icmp6.h"
#include "net/ip6.h"

/* Takes a packet to one of our addresses, or to a group that we joined. */
static void local_input(struct pkt *p, enum routing_to to)
{
	if (to_engine_ip6(p, to))
		return;
	ingress_complete(p, ETH_HLEN + IP6_HLEN);
	core_punt(p, ingress_punt_kind6(p), NH_LOCAL);
}

/* Takes a packet whose destination is valid only on the link that it came by: a group or a
 * link-local address. False: it is another packet, and unchanged. */
static bool link_input(struct pkt *p, const struct net_addr *dst)
{
	bool group = ip6_is_multicast(dst);
	if (!group && !ip6_is_link_local(dst))
		return false;
	uint32_t nh = dp_on_link6(router.dp, p->interface,
	                            p->data + ETH_HLEN + offsetof(struct ip6_header, dst));
	if (core_traces())
		trace_way(nh, ip6_total_len(p->data + ETH_HLEN));
	if (nh == NH_LOCAL)
		local_input(p, group ? ROUTING_TO_GROUP : ROUTING_TO_OWN);
	else if (!group || !to_engine_ip6(p, ROUTING_TO_GROUP))
		/* RFC 4291 2.5.6: a router must not forward them; RFC 4443 2.4: no error */
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
	if (!asked &&
	    (router_denied(p, &router.filters->interface[p->interface].in[1], CNT_drop_acl_in) ||
	     router_is_forged(p, true)))
		return;
	const struct net_addr dst = ip6_dst(ip);
	if (link_input(p, &dst))
		return;
	if (eth_is_multicast(p->data)) {
		core_drop(p, CNT_drop_ip6_link_mcast);
		return;
	}
	uint32_t nh = dp_next_hop_flow6(router.dp, ip);
	if (core_traces())
		trace_way(nh, ip6_total_len(ip));
	if (nh == NH_LOCAL) {
		local_input(p, ROUTING_TO_OWN);
		return;
	}
	bad = ip6_check_forward(ip);
	if (bad != CNT_NONE) {
		if (bad == CNT_drop_ip6_scope) /* RFC 4443 3.1 */
			router_error6(p, ICMP6_UNREACH, ICMP6_UNREACH_SCOPE, 0);
		core_drop(p, bad);
		return;
	}
	if (nh < NH_CONNECTED)
		router_reject(p, nh, true);
	else
		router_egress(p, &router.dp->adj[nh], nh, true);
}
