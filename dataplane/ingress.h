/*
 * Classifies a frame received by a data core by its Ethernet header, in the order of RFC 1812
 * 5.2.1. Applications call ingress_classify first for each packet of rx_vector, except on a fast
 * path that checks the header itself.
 */
#ifndef DATAPLANE_INGRESS_H
#define DATAPLANE_INGRESS_H

#include "dataplane/dhcp.h"
#include "dataplane/link_control.h"
#include "dataplane/state.h"
#include "dataplane/to_engine.h"
#include "runtime/runtime.h"
#include "net/bfd/packet.h"
#include "net/eth.h"
#include "net/icmp6.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "net/tcp/wire.h"
#include "net/vxlan.h"

enum ingress {
	INGRESS_CONSUMED, /* dropped and counted, or punted to the control core: ARP, link protocols
	                   * (link_control.h), and IS-IS and LLDP for the routing engine */
	INGRESS_IP4,
	INGRESS_IP6,
};

/*
 * INGRESS_IP4, INGRESS_IP6: the frame has a whole Ethernet header with that EtherType, and its
 * destination is our MAC address or a group address (eth_is_multicast). An interface that waits for an
 * IPv4 address (dhcp_awaits) takes IPv4 too. Nothing else is checked:
 * call ip4_check or ip6_check next. The packet stays the caller's, unchanged. ifp: the input
 * interface, &dp->interface[p->interface].
 */
static inline enum ingress ingress_classify(struct pkt *p, const struct dp_interface *ifp)
{
	if (p->len < ETH_HLEN) {
		core_drop(p, CNT_drop_eth_short);
		return INGRESS_CONSUMED;
	}
	uint16_t type = be16_load(p->data + 12);
	bool known = type == ETH_TYPE_IP4 || type == ETH_TYPE_IP6 || type == ETH_TYPE_ARP;
	if (!known && link_control_input(p, ifp)) /* also on a port that is not in use */
		return INGRESS_CONSUMED;
	bool enabled = known ? type == ETH_TYPE_IP6 ? ifp->enabled6 : ifp->enabled
	                     : dp_in_use(ifp);
	if (!enabled && (!known || type == ETH_TYPE_IP6 || !dhcp_awaits(dp_get(), p->interface)))
		core_drop(p, CNT_drop_port_down);
	else if (!eth_is_multicast(p->data) && !eth_equal(p->data, ifp->mac))
		core_drop(p, CNT_drop_eth_dst);
	else if (type == ETH_TYPE_ARP)
		core_punt(p, PUNT_ARP, 0);
	else if (!known && !to_engine_link(p))
		core_drop(p, type == ETH_TYPE_VLAN ? CNT_drop_vlan_unknown : CNT_drop_eth_type);
	else if (known)
		return type == ETH_TYPE_IP4 ? INGRESS_IP4 : INGRESS_IP6;
	return INGRESS_CONSUMED;
}

/* Is addr one of our addresses on that interface? */
static inline bool ingress_is_local4(const struct dp_interface *ifp, uint32_t addr)
{
	for (unsigned a = 0; a < ifp->addresses; a++)
		if (ifp->addr[a] == addr)
			return true;
	return false;
}

/* RFC 1122 3.2.1.3: our own addresses and the broadcast addresses of our subnets are no valid
 * sources. CNT_NONE: src is none of them; else the counter of the drop. */
static inline enum counter ingress_source4(const struct dp_interface *ifp, uint32_t src)
{
	if (ingress_is_local4(ifp, src))
		return CNT_drop_ip4_src_local;
	for (unsigned a = 0; a < ifp->addresses; a++)
		if (ip4_subnet_broadcast(ifp->addr[a], ifp->plen[a]) == src)
			return CNT_drop_ip4_src_martian;
	return CNT_NONE;
}

/* A host's checks of an IPv4 packet that ingress_classify let in. CNT_NONE: it is correct and for
 * one of our addresses on that interface; else the counter of the drop. */
static inline enum counter ingress_host4(const struct pkt *p, const struct dp_interface *ifp)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	enum counter bad = ip4_check(ip, p->len - ETH_HLEN);
	if (bad != CNT_NONE)
		return bad;
	if (eth_is_multicast(p->data))
		return ip4_is_multicast(ip4_dst(ip)) ? CNT_drop_ip4_multicast : CNT_drop_ip4_link_bcast;
	return ingress_is_local4(ifp, ip4_dst(ip)) ? ingress_source4(ifp, ip4_src(ip))
	                                           : CNT_drop_ip4_not_ours;
}

/*
 * Completes a partial checksum. Its position comes from the sender's virtio header and is
 * untrusted: the function writes nothing into the first `headers` bytes, which have been checked.
 */
void ingress_complete(struct pkt *p, unsigned headers);

/* Is a UDP datagram, whose header begins at octet `at` of the IPv4 packet, VXLAN from the routing
 * engine? */
static inline bool ingress_is_vxlan(const struct pkt *p, unsigned at)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	const uint32_t engine = __atomic_load_n(&dp_get()->engine_addr, __ATOMIC_RELAXED);
	return engine && ip4_src(ip) == engine && p->len >= ETH_HLEN + at + 4 &&
	       be16_load(ip + at + 2) == VXLAN_PORT;
}

/* The punt kind of a TCP segment whose header begins at octet `at` of the IP packet: PUNT_LOCAL
 * with SYN, or if the flags are missing; else PUNT_TCP. So a flood of pings or SYNs does not delay
 * console sessions. */
static inline enum punt_kind ingress_punt_kind_tcp(const struct pkt *p, unsigned at)
{
	unsigned flags = ETH_HLEN + at + 13; /* RFC 9293 3.1 */
	return p->len > flags && !(p->data[flags] & TCP_SYN) ? PUNT_TCP : PUNT_LOCAL;
}

/* The punt kind of a UDP datagram whose header begins at octet `at` of the IP packet. A single-hop BFD
 * packet has a TTL of 255, which no packet from beyond the link has (RFC 5881 5): a sender elsewhere
 * cannot fill the places reserved for PUNT_BFD. */
static inline enum punt_kind ingress_punt_kind_udp(const struct pkt *p, unsigned at, uint8_t ttl)
{
	unsigned port = ETH_HLEN + at + 2;
	if (p->len < port + 2)
		return PUNT_LOCAL;
	uint16_t to = be16_load(p->data + port);
	if (to == BFD_PORT_MULTIHOP)
		return PUNT_BFD_MULTIHOP;
	return to == BFD_PORT_SINGLE_HOP && ttl == BFD_TTL ? PUNT_BFD : PUNT_LOCAL;
}

/* The punt kind of an IPv4 packet for us that ip4_check has passed. */
static inline enum punt_kind ingress_punt_kind4(const struct pkt *p)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	if (ip4_is_fragment(ip))
		return PUNT_FRAGMENT;
	const unsigned at = ip4_header_len(ip);
	switch (ip4_proto(ip)) {
	case IP4_PROTO_TCP:
		return ingress_punt_kind_tcp(p, at);
	case IP4_PROTO_UDP:
		return ingress_is_vxlan(p, at) ? PUNT_VXLAN : ingress_punt_kind_udp(p, at, ip4_ttl(ip));
	default:
		return PUNT_LOCAL;
	}
}

/* The same for an IPv6 packet that ip6_check has passed, by the header that follows the IPv6
 * header. Neighbour discovery has hop limit 255 (RFC 4861 6.1, 7.1), which no packet from beyond
 * the link has. So a sender elsewhere cannot fill the places reserved for PUNT_ND. */
static inline enum punt_kind ingress_punt_kind6(const struct pkt *p)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	if (ip6_next(ip) == IP6_FRAGMENT)
		return PUNT_FRAGMENT;
	if (ip6_next(ip) == IP_PROTO_TCP)
		return ingress_punt_kind_tcp(p, IP6_HLEN);
	if (ip6_next(ip) == IP6_UDP)
		return ingress_punt_kind_udp(p, IP6_HLEN, ip6_hop_limit(ip));
	bool discovery = ip6_next(ip) == IP6_ICMP6 && ip6_hop_limit(ip) == 255 &&
	                 p->len > ETH_HLEN + IP6_HLEN && ip[IP6_HLEN] >= ICMP6_ROUTER_SOLICIT &&
	                 ip[IP6_HLEN] <= ICMP6_NEIGHBOUR_ADVERT;
	return discovery ? PUNT_ND : PUNT_LOCAL;
}

/* Hands a packet for us, that ip4_check or ip6_check has passed, to the control core. */
static inline void ingress_punt(struct pkt *p)
{
	pkt_csum_complete(&self.pool, p);
	core_punt(p, ip_is_ip6(p->data + ETH_HLEN) ? ingress_punt_kind6(p) : ingress_punt_kind4(p), NH_LOCAL);
}

/* Is addr one of our addresses, or a group that we joined? A link-local address or a group is
 * looked up on the link of `interface`. */
static inline bool ingress_is_local6(const struct dp_state *v, unsigned interface,
                                     const struct net_addr *addr)
{
	const uint8_t *a = (const uint8_t *)addr->w;
	bool on_link = ip6_is_link_local(addr) || ip6_is_multicast(addr);
	return (on_link ? dp_on_link6(v, interface, a) : dp_next_hop6(v, a)) == NH_LOCAL;
}

/* A packet that ingress_host4 refuses, as `bad`: hands it to the control core if it is one of dhcp.h, else drops it. */
static inline void ingress_refuse4(const struct dp_state *v, struct pkt *p, enum counter bad)
{
	if (dhcp_is_wanted(v, p->interface, p->data + ETH_HLEN, p->len - ETH_HLEN))
		ingress_punt(p);
	else
		core_drop(p, bad);
}

/* Is an IPv6 packet that ip6_check has passed for us? */
static inline bool ingress_local6(const struct dp_state *v, const struct pkt *p)
{
	const struct net_addr dst = ip6_dst(p->data + ETH_HLEN);
	return ingress_is_local6(v, p->interface, &dst);
}

#endif
