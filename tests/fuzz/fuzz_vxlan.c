/*
 * Frames of the routing engine: the input is a byte that says what to correct, then a VXLAN packet, or
 * a received frame whose protocol is to be found. An accepted frame has our source MAC address, fits
 * the MTU and lies within the packet; one to be routed is a valid IP packet. No frame that is accepted
 * can resolve a neighbour or change the VLAN. Which protocol a frame belongs to depends on nothing
 * behind its packet.
 */
#include "tests/fuzz/input.h"

#include "net/eth.h"
#include "net/icmp6.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "net/routing.h"
#include "net/vxlan.h"

enum mend {
	RECEIVED = 1,   /* a received frame; else a VXLAN packet */
	MEND_SOURCE = 2, /* the source MAC address is ours */
	MEND_IP = 4,    /* the IPv4 checksum is correct */
	TO_US = 8,      /* the destination MAC address is ours */
};

#define MTU 600

static const uint8_t OURS[ETH_ALEN] = {2, 0x48, 0x59, 0, 0, 1};

static void mend(uint8_t *frame, unsigned len, unsigned what)
{
	if (len < ETH_HLEN)
		return;
	if (what & MEND_SOURCE)
		memcpy(frame + ETH_ALEN, OURS, ETH_ALEN);
	if (what & TO_US)
		memcpy(frame, OURS, ETH_ALEN);
	const uint8_t *ip = frame + ETH_HLEN;
	if (what & MEND_IP && len >= ETH_HLEN + IP4_HLEN && be16_load(frame + 12) == ETH_TYPE_IP4 &&
	    ip4_header_len(ip) >= IP4_HLEN && ip4_header_len(ip) <= len - ETH_HLEN)
		ip4_checksum_set(frame + ETH_HLEN);
}

static void judge(const uint8_t *frame, unsigned len)
{
	enum vxlan_action action;
	unsigned n = 0;
	const enum counter c = vxlan_judge(frame, len, OURS, MTU, &action, &n);
	if (c != CNT_NONE) {
		assert(c == CNT_drop_vxlan_malformed || c == CNT_drop_vxlan_source ||
		       c == CNT_drop_vxlan_type || c == CNT_drop_vxlan_too_big);
		return;
	}
	const unsigned type = be16_load(frame + 12);
	const uint8_t *ip = frame + ETH_HLEN;
	assert(n >= ETH_HLEN && n <= len && n <= ETH_HLEN + MTU && eth_equal(frame + ETH_ALEN, OURS));
	assert(type != ETH_TYPE_ARP && type != ETH_TYPE_VLAN && type != 0x88a8);
	if (action == VXLAN_ROUTE4)
		assert(type == ETH_TYPE_IP4 && ip4_check(ip, n - ETH_HLEN) == CNT_NONE);
	if (action == VXLAN_ROUTE6)
		assert(type == ETH_TYPE_IP6 && ip6_check(ip, n - ETH_HLEN) == CNT_NONE);
	if (type == ETH_TYPE_IP6 && ip6_next(ip) == IP6_ICMP6 && n > ETH_HLEN + IP6_HLEN)
		assert(ip[IP6_HLEN] < ICMP6_NEIGHBOUR_SOLICIT || ip[IP6_HLEN] > ICMP6_REDIRECT);
}

/* The same packet without the bytes behind it has the same protocol. */
static void of_ip(const uint8_t *ip, unsigned total, bool six)
{
	uint8_t *exact = exactly(ip, total);
	for (unsigned to = 0; to <= ROUTING_TO_BROADCAST; to++) {
		const enum routing_to t = (enum routing_to)to;
		const enum routing_protocol a = six ? routing_of_ip6(ip, t) : routing_of_ip4(ip, t);
		const enum routing_protocol b = six ? routing_of_ip6(exact, t) : routing_of_ip4(exact, t);
		assert(a == b && a <= ROUTING_NONE && a != ROUTING_ISIS && a != ROUTING_LLDP);
	}
	if (six)
		assert(routing_is_discovery(ip) == routing_is_discovery(exact));
	free(exact);
}

static void received(const uint8_t *frame, unsigned len)
{
	const uint8_t *ip = frame + ETH_HLEN;
	if (len < ETH_HLEN)
		return;
	const enum routing_protocol r = routing_of_link(frame, len);
	assert(r == ROUTING_NONE || r == ROUTING_ISIS || r == ROUTING_LLDP);
	if (ip4_check(ip, len - ETH_HLEN) == CNT_NONE)
		of_ip(ip, ip4_total_len(ip), false);
	if (ip6_check(ip, len - ETH_HLEN) == CNT_NONE)
		of_ip(ip, ip6_total_len(ip), true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	const unsigned what = take8(&in);
	uint8_t *p = exactly(in.p, in.n);
	const unsigned len = (unsigned)in.n, skip = what & RECEIVED ? 0 : VXLAN_HLEN;
	const uint32_t vni = vxlan_vni(p, len);
	assert(vni <= VXLAN_VNI_MAX && (!vni || len >= VXLAN_HLEN));
	if (len >= skip)
		mend(p + skip, len - skip, what);
	if (what & RECEIVED)
		received(p, len);
	else if (vni)
		judge(p + VXLAN_HLEN, len - VXLAN_HLEN);
	free(p);
	return 0;
}
