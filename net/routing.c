/* See routing.h. */
#include "net/routing.h"

#include "net/eth.h"
#include "net/icmp6.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "net/link.h"

#define PROTO_IGMP 2
#define PROTO_OSPF 89
#define PROTO_PIM 103

#define PORT_BGP 179
#define PORT_RIP 520
#define PORT_RIPNG 521
#define PORT_LDP 646
#define PORT_BFD 3784
#define PORT_BFD_ECHO 3785
#define PORT_BFD_MULTIHOP 4784

const struct routing_desc routing_desc[ROUTING_PROTOCOLS_END] = {
#define ROUTING_DESC(name, word, rate, burst, usual) [ROUTING_##name] = {word, rate, burst},
	ROUTING_PROTOCOLS(ROUTING_DESC)
#undef ROUTING_DESC
};

/* By the number of the IP protocol alone. */
static enum routing_protocol of_proto(unsigned proto, bool six)
{
	switch (proto) {
	case PROTO_OSPF: return ROUTING_OSPF;
	case PROTO_PIM: return ROUTING_PIM;
	case PROTO_IGMP: return six ? ROUTING_NONE : ROUTING_IGMP;
	default: return ROUTING_NONE;
	}
}

static enum routing_protocol of_tcp(uint16_t src, uint16_t dst)
{
	if (src == PORT_BGP || dst == PORT_BGP)
		return ROUTING_BGP;
	return src == PORT_LDP || dst == PORT_LDP ? ROUTING_LDP : ROUTING_NONE;
}

static enum routing_protocol of_udp(uint16_t dst, enum routing_to to, bool six)
{
	if (dst == (six ? PORT_RIPNG : PORT_RIP))
		return ROUTING_RIP;
	if (to == ROUTING_TO_BROADCAST)
		return ROUTING_NONE;
	if (dst == PORT_LDP)
		return ROUTING_LDP;
	const bool bfd = dst == PORT_BFD || dst == PORT_BFD_ECHO || dst == PORT_BFD_MULTIHOP;
	return bfd && to == ROUTING_TO_OWN ? ROUTING_BFD : ROUTING_NONE;
}

/* at: the header behind IP's, of which `left` bytes are there. */
static enum routing_protocol of_ports(unsigned proto, const uint8_t *at, unsigned left,
                                      enum routing_to to, bool six)
{
	if (left < 4)
		return ROUTING_NONE;
	const uint16_t src = be16_load(at), dst = be16_load(at + 2);
	if (proto == IP4_PROTO_TCP)
		return to == ROUTING_TO_OWN ? of_tcp(src, dst) : ROUTING_NONE;
	return proto == IP4_PROTO_UDP ? of_udp(dst, to, six) : ROUTING_NONE;
}

enum routing_protocol routing_of_ip4(const uint8_t *ip, enum routing_to to)
{
	const unsigned header = ip4_header_len(ip);
	enum routing_protocol r = to == ROUTING_TO_BROADCAST ? ROUTING_NONE
	                                                     : of_proto(ip4_proto(ip), false);
	if (r != ROUTING_NONE || ip4_is_fragment(ip))
		return r;
	return of_ports(ip4_proto(ip), ip + header, ip4_total_len(ip) - header, to, false);
}

enum routing_protocol routing_of_ip6(const uint8_t *ip, enum routing_to to)
{
	const unsigned left = ip6_total_len(ip) - IP6_HLEN;
	if (ip6_next(ip) == IP6_FRAGMENT)
		return left ? of_proto(ip[IP6_HLEN], true) : ROUTING_NONE;
	enum routing_protocol r = of_proto(ip6_next(ip), true);
	return r != ROUTING_NONE ? r : of_ports(ip6_next(ip), ip + IP6_HLEN, left, to, true);
}

bool routing_is_discovery(const uint8_t *ip)
{
	return ip6_next(ip) == IP6_ICMP6 && ip6_total_len(ip) > IP6_HLEN &&
	       (ip[IP6_HLEN] == ICMP6_ROUTER_SOLICIT || ip[IP6_HLEN] == ICMP6_ROUTER_ADVERT);
}

static bool is_isis(const uint8_t *frame, unsigned len, unsigned length)
{
	/* AllISs (RFC 5309 3); AllL1ISs and AllL2ISs are 01:80:c2:00:00:14 and :15 */
	static const uint8_t all_iss[ETH_ALEN] = {0x09, 0x00, 0x2b, 0, 0, 0x05};
	static const uint8_t llc[] = {0xfe, 0xfe, 0x03};
	const int group = link_group(frame);
	return length >= sizeof llc && length <= len - ETH_HLEN &&
	       memcmp(frame + ETH_HLEN, llc, sizeof llc) == 0 &&
	       (group == 0x14 || group == 0x15 || eth_equal(frame, all_iss));
}

enum routing_protocol routing_of_link(const uint8_t *frame, unsigned len)
{
	const unsigned type = be16_load(frame + 12);
	if (type <= ETH_LENGTH_MAX)
		return is_isis(frame, len, type) ? ROUTING_ISIS : ROUTING_NONE;
	return link_protocol_of(frame) == LINK_LLDP ? ROUTING_LLDP : ROUTING_NONE;
}
