/*
 * IPv6 packets to the machine itself, as input.c for IPv4. Neighbour discovery and MLD are ICMPv6
 * messages and come here too.
 */
#include "control/forwarding/fate.h"
#include "control/forwarding/neighbour6.h"
#include "control/host/input.h"
#include "control/host/input6.h"
#include "control/host/output.h"
#include "control/host/output6.h"
#include "control/host/ping.h"
#include "control/host/traceroute.h"
#include "control/forwarding/adjacency.h"
#include "control/host/fragments.h"
#include "dataplane/services.h"
#include "control/host/tcp_control.h"
#include "control/host/udp_control.h"

#include "lib/mem.h"
#include "net/ip6.h"
#include "net/tcp/reset.h"

/* A packet to us, as received or reassembled from fragments; m then is the last one. */
struct arrival {
	const struct core_msg *m;
	const uint8_t *ip;
	unsigned len;
	struct ip6_upper up;
};

/* True for a unicast address of ours: of any interface or, if link-local, of this one. */
static bool is_unicast_of_ours(const struct net_addr *addr, unsigned interface)
{
	const struct dp_state *v = dp_get();
	for (unsigned n = 0; n < v->ifs; n++) {
		const struct dp_interface6 *ifp = &v->interface6[n];
		for (uint32_t i = 0; i < ifp->count; i++)
			if (net_addr_equal(&ifp->addr[i], addr) &&
			    (n == interface || !ip6_is_link_local(addr)))
				return true;
	}
	return false;
}

/* RFC 4443 4.2: the source of the reply is the request's destination or, if that is a multicast or
 * anycast address, an address of the interface that received the request. */
static void echo_reply(const struct arrival *a)
{
	const struct net_addr from = ip6_src(a->ip);
	struct net_addr src = ip6_dst(a->ip);
	if (!is_unicast_of_ours(&src, a->m->port) &&
	    !dp_source6(dp_get(), a->m->port, &from, &src)) {
		count(CNT_originated_drop_tx);
		return;
	}
	memcpy(local_frame + ETH_HLEN, a->ip, a->len);
	uint8_t *reply = icmp6_echo_reply_make(local_frame + ETH_HLEN, a->up.at, &src);
	count(CNT_icmp6_tx_echo_reply);
	local6_output(reply - ETH_HLEN, ip6_total_len(reply) + ETH_HLEN, a->m->port);
}

static enum counter discovery_input(const struct arrival *a, const struct icmp6_msg *icmp)
{
	const struct core_msg *m = a->m;
	bool router = icmp->type == ICMP6_ROUTER_SOLICIT || icmp->type == ICMP6_ROUTER_ADVERT;
	if (router && !neighbours.nd.params.router)
		return slaac_input(&neighbours.slaac, m->port, m->frame, &a->up, icmp, core_now_ns());
	return router ? ra_input(&neighbours.ra, m->port, m->frame, &a->up, icmp, core_now_ns())
	              : nd_input(&neighbours.nd, m->port, m->frame, &a->up, icmp, core_now_ns());
}

/* The port has verified the checksum of an unfragmented packet. */
static bool csum_known(const struct arrival *a)
{
	return a->m->flags & PKT_CSUM_OK && !a->up.fragment;
}

static void error_input(const struct arrival *a, const struct net_addr *from,
                        const struct icmp6_msg *icmp)
{
	ping_error6(from, icmp);
	traceroute_error6(from, icmp);
	if (icmp->quoted_proto != IP6_TCP || !icmp->quoted_at)
		return;
	tcp_control_icmp6(icmp);
	bool known = icmp->type == ICMP6_UNREACH || icmp->type == ICMP6_TOO_BIG;
	if (known && !a->up.fragment) /* the message has only the last fragment */
		local_tell_tcp(a->m);
}

static enum counter icmp_input(const struct arrival *a)
{
	struct icmp6_msg icmp;
	enum counter fate = icmp6_input(a->ip, a->up.at, &icmp);
	const struct net_addr from = ip6_src(a->ip);
	if (fate == CNT_NONE)
		return discovery_input(a, &icmp);
	if (fate != CNT_delivered_icmp6)
		return fate;
	if (local6_next_hop(&from, a->m->port) == NH_LOCAL)
		return CNT_drop_ip6_src_local;
	if (icmp.kind == ICMP6_KIND_ECHO_REQUEST)
		echo_reply(a);
	else if (icmp.kind == ICMP6_KIND_ECHO_REPLY) {
		ping_reply6(&from, &icmp, ip6_hop_limit(a->ip));
		traceroute_reply(&from, icmp.id, icmp.seq);
	} else
		error_input(a, &from, &icmp);
	return fate;
}

/* No RST to an unspecified source, or if the destination is multicast. */
static enum counter refuse_tcp(const struct arrival *a)
{
	const struct net_addr src = ip6_src(a->ip), dst = ip6_dst(a->ip);
	unsigned n = 0;
	if (net_addr_is_any(&src) || ip6_is_multicast(&dst) || eth_is_multicast(a->m->frame))
		return CNT_drop_tcp_port;
	enum counter fate = tcp_reset_build(local_frame + ETH_HLEN, &n, a->ip, csum_known(a));
	if (n) {
		count(CNT_tcp_tx);
		count(CNT_tcp_tx_rst);
		local6_output(local_frame, n + ETH_HLEN, a->m->port);
	}
	return fate;
}

/* A reassembled datagram to a service that data cores have for unfragmented ones. */
static enum counter service_input(const struct arrival *a, enum service s,
                                  const struct udp_datagram *d)
{
	if (s != SERVICE_ECHO)
		return CNT_drop_fragment_local;
	if (service_answers(&dp_get()->services, d->src_port))
		return CNT_drop_udp_loop;
	if (net_addr_is_any(&d->src))
		return CNT_drop_ip6_src_martian;
	if (ip6_is_multicast(&d->dst))
		return CNT_drop_ip6_multicast;
	memcpy(local_frame + ETH_HLEN, a->ip, a->len);
	uint8_t *reply = udp_echo_make(local_frame + ETH_HLEN);
	count(CNT_udp_tx);
	local6_output(reply - ETH_HLEN, ip6_total_len(reply) + ETH_HLEN, a->m->port);
	return CNT_delivered_udp;
}

static enum counter udp_input(const struct arrival *a)
{
	bool served = core_app()->data_msg != NULL; /* an application with services */
	struct udp_datagram d;
	enum counter fate = udp_check(a->ip, a->len, csum_known(a), &d);
	if (fate != CNT_NONE)
		return fate;
	enum service s = SERVICES;
	if (a->up.fragment && served)
		s = service_of(&dp_get()->services, SERVICE_UDP, d.dst_port);
	if (s != SERVICES)
		return service_input(a, s, &d);
	const struct udp_arrival from = {a->m->port, ip6_hop_limit(a->ip), a->up.fragment};
	fate = udp_control_input(&d, &from);
	if (fate == CNT_drop_udp_port)
		local6_error(a->m->port, a->ip, a->len, ICMP6_UNREACH, ICMP6_UNREACH_PORT, 0);
	return fate;
}

static enum counter whole_input(const struct arrival *a)
{
	switch (a->up.proto) {
	case IP6_ICMP6:
		return icmp_input(a);
	case IP6_UDP:
		return udp_input(a);
	case IP6_TCP:
		if (a->up.fragment) /* as in IPv4: TCP does not fragment its segments */
			return CNT_drop_fragment_local;
		return tcp_control ? tcp_control_input(a->ip, a->len, a->m->flags) : refuse_tcp(a);
	default:
		local6_error(a->m->port, a->ip, a->len, ICMP6_PARAM_PROBLEM, ICMP6_PARAM_NEXT_HEADER,
		             a->up.next_at);
		return CNT_drop_ip6_proto;
	}
}

/* Finds the upper-layer header; CNT_NONE: found. */
static enum counter find_upper(struct arrival *a)
{
	enum counter bad = ip6_upper(a->ip, &a->up);
	if (bad != CNT_NONE && a->up.problem)
		local6_error(a->m->port, a->ip, a->len, ICMP6_PARAM_PROBLEM, a->up.problem_code,
		             a->up.problem_pointer);
	return bad;
}

static enum counter fragment_input(struct arrival *a)
{
	struct reassembly_result r;
	enum counter fate = fragments_input(a->m->port, a->ip, a->len, &a->up, &r);
	if (fate != CNT_NONE && r.problem)
		local6_error(a->m->port, a->ip, a->len, ICMP6_PARAM_PROBLEM, ICMP6_PARAM_FIELD,
		             r.problem_pointer);
	if (fate != CNT_NONE || !r.ip)
		return fate;
	a->ip = r.ip;
	a->len = r.len;
	fate = find_upper(a);
	a->up.fragment = true; /* it was fragmented: discovery must know (RFC 6980) */
	return fate == CNT_NONE ? whole_input(a) : fate;
}

enum counter local6_input(const struct core_msg *m)
{
	struct arrival a = {.m = m, .ip = m->frame + ETH_HLEN};
	if (m->len < ETH_HLEN + IP6_HLEN)
		return CNT_drop_ip6_short;
	enum counter bad = ip6_check(a.ip, m->len - ETH_HLEN);
	if (bad != CNT_NONE)
		return bad;
	a.len = ip6_total_len(a.ip);
	const struct net_addr src = ip6_src(a.ip);
	bool icmp = ip6_next(a.ip) == IP6_ICMP6; /* net/nd.h handles claims of our addresses */
	if (!icmp && !net_addr_is_any(&src) && local6_next_hop(&src, m->port) == NH_LOCAL)
		return CNT_drop_ip6_src_local;
	bad = find_upper(&a);
	if (bad != CNT_NONE)
		return bad;
	return a.up.fragment ? fragment_input(&a) : whole_input(&a);
}

/* --- packets that wait for a neighbour --- */

/* True for an address of ours that DAD has not passed yet. It is no neighbour's. */
static bool is_tentative(const struct net_addr *addr, unsigned interface)
{
	struct nd_address a;
	for (unsigned cursor = 0; nd_local_next(&neighbours.nd, &cursor, &a);)
		if (a.state == ND_TENTATIVE && a.interface == interface &&
		    net_addr_equal(&a.addr, addr))
			return true;
	return false;
}

void local6_resolve(const struct core_msg *m, enum frame_origin origin)
{
	static uint8_t frame[BUF_STRIDE_JUMBO];
	const uint8_t *ip = frame + ETH_HLEN;
	bool transit = origin == FRAME_TRANSIT;
	if (m->len < ETH_HLEN + IP6_HLEN) {
		if (transit)
			fate_count(CNT_drop_ip6_short);
		return;
	}
	memcpy(frame, m->frame, m->len);
	/* Looked up again: the neighbour may have been forgotten since the data core's look-up. */
	const struct net_addr dst = ip6_dst(ip);
	uint32_t nh = transit && !ip6_is_link_local(&dst) ? dp_next_hop_flow6(dp_get(), ip)
	                                                  : local6_next_hop(&dst, m->port);
	int interface = dp_interface_of(dp_get(), nh);
	if (interface < 0) {
		if (transit) {
			fate_count(CNT_drop_ip6_no_route);
			local6_error(m->port, ip, m->len - ETH_HLEN, ICMP6_UNREACH, ICMP6_UNREACH_NO_ROUTE,
			             0);
		}
		return;
	}
	if (is_tentative(&dst, (unsigned)interface)) { /* RFC 4862 5.4: silently */
		fate_count(transit ? CNT_drop_ip6_tentative : CNT_originated_drop_tx);
		return;
	}
	if (!dp_link_is_up(dp_get(), interface)) {
		fate_count(transit ? CNT_drop_tx_down : CNT_originated_drop_tx);
		if (transit)
			local6_error(m->port, ip, m->len - ETH_HLEN, ICMP6_UNREACH, ICMP6_UNREACH_ADDRESS,
			             0);
		return;
	}
	if (!transit)
		dp_hop_limit6(dp_get(), (unsigned)interface, frame + ETH_HLEN);
	int pair = transit ? -1 : core_pair_serving(m->core);
	neighbour6_output(nh, &dst, frame, m->len, origin, pair < 0 ? PAIR_ANY : (unsigned)pair);
}
