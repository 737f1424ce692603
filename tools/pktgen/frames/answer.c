/* See answer.h. */
#include "tools/pktgen/frames/answer.h"

#include "net/arp.h"
#include "net/eth.h"
#include "net/icmp6.h"
#include "net/ip6.h"
#include "net/nd_wire.h"

bool answer_covers(const struct plan *plan, unsigned port, const struct net_addr *addr)
{
	for (unsigned i = 0; i < plan->answers; i++) {
		const struct plan_answer *a = &plan->answer[i];
		if (a->port == port && ip6_in_prefix(addr, &a->prefix, a->plen))
			return true;
	}
	return false;
}

static unsigned answer_arp(const struct plan *plan, unsigned port, const uint8_t *mac,
                           const uint8_t *frame, unsigned len, uint8_t *out)
{
	struct arp_message m;
	if (len < ARP_FRAME_LEN)
		return 0;
	memcpy(&m, frame + ETH_HLEN, sizeof m);
	const struct net_addr target = net_addr_ip4(be32_get(m.tpa));
	if (be16_get(m.htype) != ARP_HTYPE_ETHERNET || be16_get(m.ptype) != ETH_TYPE_IP4 ||
	    m.hlen != ETH_ALEN || m.plen != 4 || be16_get(m.op) != ARP_OP_REQUEST ||
	    m.spa.raw == 0 || m.spa.raw == m.tpa.raw || !eth_is_station(m.sha) ||
	    !answer_covers(plan, port, &target))
		return 0;
	eth_header_build(out, m.sha, mac, ETH_TYPE_ARP);
	struct arp_message reply = m;
	reply.op = be16_make(ARP_OP_REPLY);
	reply.spa = m.tpa;
	reply.tpa = m.spa;
	eth_copy(reply.sha, mac);
	eth_copy(reply.tha, m.sha);
	memcpy(out + ETH_HLEN, &reply, sizeof reply);
	return eth_pad(out, ARP_FRAME_LEN);
}

/* Is this a valid solicitation (RFC 4861 7.1.1) from a host that has an address? */
static bool is_solicitation(const uint8_t *ip, struct icmp6_msg *m, struct nd_options *options)
{
	struct ip6_upper up;
	const struct net_addr src = ip6_src(ip);
	return ip6_next(ip) == IP6_ICMP6 && ip6_upper(ip, &up) == CNT_NONE &&
	       icmp6_input(ip, up.at, m) == CNT_NONE && m->type == ICMP6_NEIGHBOUR_SOLICIT &&
	       nd_check(ip, &up, m, ND_NEIGHBOUR_LEN, options) == CNT_NONE && ip6_is_unicast(&src);
}

static unsigned answer_nd(const struct plan *plan, unsigned port, const uint8_t *mac,
                          const uint8_t *frame, unsigned len, uint8_t *out)
{
	const uint8_t *ip = frame + ETH_HLEN;
	struct icmp6_msg m;
	struct nd_options options;
	if (ip6_check(ip, len - ETH_HLEN) != CNT_NONE || !is_solicitation(ip, &m, &options))
		return 0;
	const struct net_addr target = net_addr_load(m.icmp + ND_TARGET);
	const uint8_t *asker = options.source_mac ? options.source_mac : frame + ETH_ALEN;
	if (!answer_covers(plan, port, &target) || !eth_is_station(asker))
		return 0;
	struct nd_envelope e = {
		.src = target, .dst = ip6_src(ip), .src_mac = mac, .dst_mac = asker};
	uint8_t *icmp = out + ND_FRAME_ICMP;
	memset(icmp, 0, ND_NEIGHBOUR_LEN);
	icmp[0] = ICMP6_NEIGHBOUR_ADVERT;
	icmp[4] = ND_NA_SOLICITED | ND_NA_OVERRIDE;
	net_addr_store(icmp + ND_TARGET, &target);
	uint8_t *end = nd_mac_option_put(icmp + ND_NEIGHBOUR_LEN, ND_OPT_TARGET_MAC, mac);
	return nd_frame_finish(out, &e, (unsigned)(end - icmp));
}

unsigned answer_make(const struct plan *plan, unsigned port, const uint8_t *mac,
                     const uint8_t *frame, unsigned len, uint8_t *out)
{
	if (plan->answers == 0 || len < ETH_HLEN)
		return 0;
	switch (be16_load(frame + 12)) {
	case ETH_TYPE_ARP:
		return answer_arp(plan, port, mac, frame, len, out);
	case ETH_TYPE_IP6:
		return answer_nd(plan, port, mac, frame, len, out);
	default:
		return 0;
	}
}
