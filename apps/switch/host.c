/*
 * Frames to the machine itself. Data cores do with them what those of apps/echo do: the control core answers.
 *
 * A frame to a group is flooded and, if it concerns us, given to the control core too. So that the control
 * core does not see each broadcast of a large VLAN, only these concern us:
 * - ARP that asks for one of our addresses, or says that it has one (RFC 5227 2.4), and announcements,
 *   which change what we know of a neighbour (RFC 826)
 * - IPv6 to a group that we have joined, such as a solicited node's
 * - DHCP, if the VLAN's interface has a client or a relay agent (dataplane/dhcp.h)
 * - all ARP, while the interface waits for its address: another host may have that (RFC 5227 2.1.1)
 * Other IPv4 groups and broadcasts are for nobody here (ingress_host4).
 */
#include "apps/switch/host.h"

#include "dataplane/filter.h"
#include "dataplane/ingress.h"
#include "dataplane/vlan.h"

#define ARP_BYTES 28
#define ARP_SPA 14 /* RFC 826: sender's and target's protocol address */
#define ARP_TPA 24

static bool wants_arp(const struct dp_interface *ifp, const uint8_t *arp, unsigned len)
{
	if (len < ARP_BYTES)
		return false;
	const uint32_t from = be32_load(arp + ARP_SPA), to = be32_load(arp + ARP_TPA);
	return from == to || ingress_is_local4(ifp, from) || ingress_is_local4(ifp, to);
}

bool host_wants(const struct dp_state *dp, const struct pkt *p, unsigned tag, unsigned interface)
{
	const unsigned head = ETH_HLEN + tag;
	const struct dp_interface *ifp = &dp->interface[interface];
	const uint16_t type = be16_load(p->data + head - 2);
	if (type == ETH_TYPE_ARP)
		return ifp->enabled ? wants_arp(ifp, p->data + head, p->len - head) : dhcp_awaits(dp, interface);
	if (type == ETH_TYPE_IP4)
		return p->len > head && dhcp_is_wanted(dp, interface, p->data + head, p->len - head);
	if (type != ETH_TYPE_IP6 || !ifp->enabled6 || p->len < head + IP6_HLEN)
		return false;
	const struct net_addr dst = ip6_dst(p->data + head);
	return ip6_is_multicast(&dst) && ingress_is_local6(dp, interface, &dst);
}

/* Hands a packet that has passed its checks to the control core, unless the list of the VLAN's interface
 * denies it. The list must see what the control core will, so the checksum is completed first. */
static void punt(const struct dp_state *dp, struct pkt *p, bool six)
{
	const struct dp_filter *f = &dp_filters(dp)->interface[p->interface].in[six];
	const uint8_t *ip = p->data + ETH_HLEN;
	uint32_t rule;
	if (unlikely(f->acl)) {
		ingress_complete(p, ETH_HLEN + (six ? IP6_HLEN : ip4_header_len(ip)));
		filter_ask(f, &ip, &rule, 1);
		if (!acl_permits(f->acl, rule)) {
			core_drop(p, filter_reason(f, rule, CNT_drop_acl_in));
			return;
		}
	}
	ingress_punt(p);
}

static void input4(const struct dp_state *dp, struct pkt *p, const struct dp_interface *ifp)
{
	const enum counter bad = ingress_host4(p, ifp);
	if (bad == CNT_NONE || dhcp_is_wanted(dp, p->interface, p->data + ETH_HLEN, p->len - ETH_HLEN))
		punt(dp, p, false);
	else
		core_drop(p, bad);
}

static void input6(const struct dp_state *dp, struct pkt *p)
{
	const enum counter bad = ip6_check(p->data + ETH_HLEN, p->len - ETH_HLEN);
	if (bad != CNT_NONE)
		core_drop(p, bad);
	else if (!ingress_local6(dp, p))
		core_drop(p, CNT_drop_ip6_not_ours);
	else
		punt(dp, p, true);
}

void host_input(const struct dp_state *dp, struct pkt *p, unsigned tag, unsigned interface)
{
	struct dp_carried *carried = &dp_counted()->carried[interface];
	const struct dp_interface *ifp = &dp->interface[interface];
	if (tag)
		vlan_pop(p);
	p->interface = (uint8_t)interface;
	carried->rx_pkts++;
	carried->rx_bytes += p->len;
	const enum ingress ingress = ingress_classify(p, ifp);
	if (ingress == INGRESS_IP4)
		input4(dp, p, ifp);
	else if (ingress == INGRESS_IP6)
		input6(dp, p);
}
