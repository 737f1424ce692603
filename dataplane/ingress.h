/*
 * How a data core classifies a received frame by its Ethernet header, in the order
 * of RFC 1812 5.2.1. Applications ask here first, with each packet that rx_vector was given (those
 * on their fast path know already).
 */
#ifndef DATAPLANE_INGRESS_H
#define DATAPLANE_INGRESS_H

#include "dataplane/state.h"
#include "runtime/runtime.h"
#include "net/eth.h"
#include "net/icmp6.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "net/tcp/wire.h"

enum ingress {
	INGRESS_CONSUMED, /* dropped under its counter, or, ARP, handed to the control core */
	INGRESS_IP4,
	INGRESS_IP6,
};

/*
 * INGRESS_IP4, INGRESS_IP6: a packet of that version for our station, or for several
 * (eth_is_multicast), unchecked beyond its Ethernet header, which is there: ask ip4_check or
 * ip6_check next. It stays the caller's, unchanged. `port`: that of the data-plane state by which
 * it came in, &dp->port[p->port].
 */
static inline enum ingress ingress_classify(const struct pkt *p, const struct dp_interface *port)
{
	if (p->len < ETH_HLEN) {
		core_drop(p, CNT_drop_eth_short);
		return INGRESS_CONSUMED;
	}
	uint16_t type = be16_load(p->data + 12);
	bool known = type == ETH_TYPE_IP4 || type == ETH_TYPE_IP6 || type == ETH_TYPE_ARP;
	bool enabled = known ? type == ETH_TYPE_IP6 ? port->enabled6 : port->enabled
	                     : dp_in_use(port);
	if (!enabled)
		core_drop(p, CNT_drop_port_down);
	else if (!eth_is_multicast(p->data) && !eth_equal(p->data, port->mac))
		core_drop(p, CNT_drop_eth_dst);
	else if (type == ETH_TYPE_ARP)
		core_punt(p, PUNT_ARP, 0);
	else if (!known)
		core_drop(p, type == ETH_TYPE_VLAN ? CNT_drop_vlan_unknown : CNT_drop_eth_type);
	else
		return type == ETH_TYPE_IP4 ? INGRESS_IP4 : INGRESS_IP6;
	return INGRESS_CONSUMED;
}

/* Is this one of our addresses on that port? */
static inline bool ingress_is_local4(const struct dp_interface *port, uint32_t addr)
{
	for (unsigned a = 0; a < port->addresses; a++)
		if (port->addr[a] == addr)
			return true;
	return false;
}

/* RFC 1122 3.2.1.3: neither we nor the broadcast of a subnet of ours can be who asks. */
static inline enum counter ingress_source4(const struct dp_interface *port, uint32_t src)
{
	if (ingress_is_local4(port, src))
		return CNT_drop_ip4_src_local;
	for (unsigned a = 0; a < port->addresses; a++)
		if (ip4_subnet_broadcast(port->addr[a], port->plen[a]) == src)
			return CNT_drop_ip4_src_martian;
	return CNT_NONE;
}

/* What a host does with an IPv4 packet that ingress_classify let in: CNT_NONE when it is a correct one to an
 * address of ours on that port, else the counter of its drop. */
static inline enum counter ingress_host4(const struct pkt *p, const struct dp_interface *port)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	enum counter bad = ip4_check(ip, p->len - ETH_HLEN);
	if (bad != CNT_NONE)
		return bad;
	if (eth_is_multicast(p->data))
		return ip4_is_multicast(ip4_dst(ip)) ? CNT_drop_ip4_multicast : CNT_drop_ip4_link_bcast;
	return ingress_is_local4(port, ip4_dst(ip)) ? ingress_source4(port, ip4_src(ip)) : CNT_drop_ip4_not_ours;
}

/* A TCP segment, whose header begins `at` octets into the packet, goes to the control core as one of
 * a connection, or, if it would begin one, as any other packet. So neither a flood of pings nor one
 * of SYN has a session of the console wait. */
static inline enum punt_kind ingress_punt_kind_tcp(const struct pkt *p, unsigned at)
{
	unsigned flags = ETH_HLEN + at + 13; /* RFC 9293 3.1 */
	return p->len > flags && !(p->data[flags] & TCP_SYN) ? PUNT_TCP : PUNT_LOCAL;
}

/* As what an IPv4 packet for us, which ip4_check has passed, goes to the control core. */
static inline enum punt_kind ingress_punt_kind4(const struct pkt *p)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	if (ip4_is_fragment(ip))
		return PUNT_FRAGMENT;
	return ip4_proto(ip) == IP4_PROTO_TCP ? ingress_punt_kind_tcp(p, ip4_header_len(ip)) : PUNT_LOCAL;
}

/* The same of an IPv6 packet, which ip6_check has passed, by the header that follows IPv6's. Discovery
 * is from the link itself by its hop limit (RFC 4861 6.1, 7.1: 255), so nobody beyond fills the room
 * that is kept for it. */
static inline enum punt_kind ingress_punt_kind6(const struct pkt *p)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	if (ip6_next(ip) == IP6_FRAGMENT)
		return PUNT_FRAGMENT;
	if (ip6_next(ip) == IP_PROTO_TCP)
		return ingress_punt_kind_tcp(p, IP6_HLEN);
	bool discovery = ip6_next(ip) == IP6_ICMP6 && ip6_hop_limit(ip) == 255 &&
	                 p->len > ETH_HLEN + IP6_HLEN && ip[IP6_HLEN] >= ICMP6_ROUTER_SOLICIT &&
	                 ip[IP6_HLEN] <= ICMP6_NEIGHBOUR_ADVERT;
	return discovery ? PUNT_ND : PUNT_LOCAL;
}

/* Is this one of our addresses, or a group we are in? Of a link: of that of `port`. */
static inline bool ingress_is_local6(const struct dp_state *v, unsigned port, const struct net_addr *addr)
{
	const uint8_t *a = (const uint8_t *)addr->w;
	bool on_link = ip6_is_link_local(addr) || ip6_is_multicast(addr);
	return (on_link ? dp_on_link6(v, port, a) : dp_next_hop6(v, a)) == NH_LOCAL;
}

/* Is an IPv6 packet that ip6_check has passed for us? */
static inline bool ingress_local6(const struct dp_state *v, const struct pkt *p)
{
	const struct net_addr dst = ip6_dst(p->data + ETH_HLEN);
	return ingress_is_local6(v, p->interface, &dst);
}

#endif
