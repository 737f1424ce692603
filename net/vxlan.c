/* See vxlan.h. */
#include "net/vxlan.h"

#include "net/eth.h"
#include "net/icmp6.h"
#include "net/ip4.h"
#include "net/ip6.h"

/* Messages by which the router resolves neighbours (RFC 4861 4.3 to 4.5). */
static bool is_neighbour_discovery(const uint8_t *ip)
{
	const unsigned type = ip6_total_len(ip) > IP6_HLEN ? ip[IP6_HLEN] : 0;
	return ip6_next(ip) == IP6_ICMP6 && type >= ICMP6_NEIGHBOUR_SOLICIT && type <= ICMP6_REDIRECT;
}

/* Bytes behind the Ethernet header; *bad: CNT_NONE, or why the frame is dropped. */
static unsigned payload(const uint8_t *frame, unsigned len, enum counter *bad)
{
	const uint8_t *ip = frame + ETH_HLEN;
	const unsigned left = len - ETH_HLEN, type = be16_load(frame + 12);
	bool good = true;
	switch (type) {
	case ETH_TYPE_ARP:
	case ETH_TYPE_VLAN:
	case ETH_TYPE_VLAN_SERVICE:
		*bad = CNT_drop_vxlan_type;
		return left;
	case ETH_TYPE_IP4:
		good = ip4_check(ip, left) == CNT_NONE;
		*bad = good ? CNT_NONE : CNT_drop_vxlan_malformed;
		return good ? ip4_total_len(ip) : left;
	case ETH_TYPE_IP6:
		good = ip6_check(ip, left) == CNT_NONE;
		*bad = !good ? CNT_drop_vxlan_malformed
		       : is_neighbour_discovery(ip) ? CNT_drop_vxlan_type
		                                    : CNT_NONE;
		return good ? ip6_total_len(ip) : left;
	default:
		good = type > ETH_LENGTH_MAX || type <= left;
		*bad = good ? CNT_NONE : CNT_drop_vxlan_malformed;
		return good && type <= ETH_LENGTH_MAX ? type : left;
	}
}

enum counter vxlan_judge(const uint8_t *frame, unsigned len, const uint8_t *mac, unsigned mtu,
                         enum vxlan_action *action, unsigned *length)
{
	enum counter bad;
	if (len < ETH_HLEN)
		return CNT_drop_vxlan_malformed;
	if (!eth_equal(frame + ETH_ALEN, mac))
		return CNT_drop_vxlan_source;
	const unsigned n = payload(frame, len, &bad), type = be16_load(frame + 12);
	if (bad != CNT_NONE)
		return bad;
	if (n > mtu)
		return CNT_drop_vxlan_too_big;
	const bool to_us = eth_equal(frame, mac);
	*action = to_us && type == ETH_TYPE_IP4   ? VXLAN_ROUTE4
	       : to_us && type == ETH_TYPE_IP6 ? VXLAN_ROUTE6
	                                       : VXLAN_SEND;
	*length = n + ETH_HLEN;
	return CNT_NONE;
}
