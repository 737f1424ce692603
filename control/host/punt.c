/*
 * Processes the messages that data cores punt. The fate of a received packet is counted once: here,
 * or by the function to which the packet passes.
 */
#include "control/forwarding/fate.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/tables.h"
#include "control/host/dhcp_client.h"
#include "control/host/input.h"
#include "control/host/input6.h"
#include "control/host/output.h"
#include "control/host/punt.h"
#include "control/host/vxlan.h"
#include "control/link/link.h"
#include "dataplane/state.h"
#include "net/arp.h"
#include "net/icmp4.h"
#include "control/forwarding/trace_points.h"

#include "lib/mem.h"
#include "net/ip4.h"

static punt_receiver application;

void punt_application(punt_receiver f)
{
	application = f;
}

/* True if the packet's version is 6; a packet to be resolved has no Ethernet header. */
static bool is_ip6(const struct core_msg *m)
{
	return m->len > ETH_HLEN && m->frame[ETH_HLEN] >> 4 == 6;
}

/* Sends a packet whose neighbour is not known yet. Its fate is counted when it leaves the queue. */
static void resolve(const struct core_msg *m, enum frame_origin origin)
{
	static uint8_t frame[BUF_STRIDE_JUMBO];
	struct dp_state *v = dp_get();
	const uint8_t *ip = frame + ETH_HLEN;
	bool transit = origin == FRAME_TRANSIT;
	if (is_ip6(m)) {
		local6_resolve(m, origin);
		return;
	}
	if (m->len < ETH_HLEN + IP4_HLEN) {
		if (transit)
			fate_count(CNT_drop_ip4_short);
		return;
	}
	memcpy(frame, m->frame, m->len);
	/* Looked up again: the neighbour may have been forgotten since the data core's look-up. */
	uint32_t nh = transit ? dp_next_hop_flow4(v, ip) : dp_next_hop4(v, ip4_dst(ip));
	int interface = dp_interface_of(v, nh);
	if (interface < 0) {
		if (transit) {
			fate_count(CNT_drop_ip4_no_route);
			local_error(ip, m->len - ETH_HLEN, ICMP4_UNREACH, ICMP4_UNREACH_NET);
		}
		return;
	}
	if (!dp_link_is_up(dp_get(), interface) && !transit) {
		count(CNT_originated_drop_tx);
		return;
	}
	if (!dp_link_is_up(dp_get(), interface)) {
		fate_count(CNT_drop_tx_down);
		local_error(ip, m->len - ETH_HLEN, ICMP4_UNREACH, ICMP4_UNREACH_HOST);
		return;
	}
	int pair = transit ? -1 : core_pair_serving(m->core);
	neighbour_output(nh, ip4_dst(ip), frame, m->len, origin,
	                 pair < 0 ? PAIR_ANY : (unsigned)pair);
}

/* CNT_NONE: it has been counted, or there is none yet. */
static void count_fate(enum counter fate)
{
	if (fate != CNT_NONE)
		fate_count(fate);
}

static void serve_msg(const struct core_msg *m)
{
	/* a faulty data core may name an interface that does not exist */
	if (!forwarding.ready || !dp_exists(dp_get(), m->port)) {
		if (m->kind != PUNT_OWN && !(m->kind == PUNT_APP && m->arg & PUNT_APP_OWN))
			fate_count(CNT_drop_port_down);
		return;
	}
	switch ((enum punt_kind)m->kind) {
	case PUNT_ARP:
		dhcp_client_arp_frame(m->port, m->frame, m->len);
		fate_count(arp_input(&neighbours.arp, m->port, m->frame, m->len, core_now_ns()));
		break;
	case PUNT_ND:
		vxlan_copy(m);
		/* fall through */
	case PUNT_LOCAL:
	case PUNT_TCP:
	case PUNT_BFD:
	case PUNT_BFD_MULTIHOP:
	case PUNT_FRAGMENT:
	case PUNT_VXLAN:
		count_fate(is_ip6(m) ? local6_input(m) : local_input(m));
		break;
	case PUNT_RESOLVE:
		resolve(m, FRAME_TRANSIT);
		break;
	case PUNT_OWN:
		resolve(m, FRAME_OWN);
		break;
	case PUNT_APP:
		count_fate(application ? application(m) : CNT_drop_eth_type);
		break;
	case PUNT_ENGINE:
	case PUNT_LINK:
	case PUNT_END:
	default: /* PUNT_ENGINE or PUNT_LINK, + protocol */
		fate_count(m->kind < PUNT_LINK ? vxlan_hand_over(m)
		                               : link_input((enum link_protocol)(m->kind - PUNT_LINK), m));
		break;
	}
}

void punt_input(const struct core_msg *m)
{
	bool followed = unlikely(m->traced != 0) && trace_message(m);
	fate_interface = m->port;
	serve_msg(m);
	fate_interface = DP_INTERFACES_MAX;
	if (followed)
		trace_leave();
}
