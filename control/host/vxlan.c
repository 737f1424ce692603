/* See vxlan.h. */
#include "control/host/vxlan.h"

#include "control/config/running.h"
#include "control/forwarding/adjacency.h"
#include "control/host/output.h"
#include "control/host/output6.h"
#include "control/host/udp_control.h"
#include "dataplane/to_engine.h"
#include "lib/mem.h"
#include "net/icmp_limit.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "net/vxlan.h"

#define OUTER_HLEN (IP4_HLEN + UDP_HLEN)
#define SOURCE_PORTS 16384 /* RFC 7348 5: 49152 to 65535 */
#define SOURCE_PORT_FIRST 49152

struct vxlan_counts vxlan_counts[DP_INTERFACES_MAX];

static struct {
	uint32_t local, remote; /* 0: there is no VXLAN */
	unsigned networks;
	struct {
		uint32_t vni;
		uint32_t interface;
	} network[DP_INTERFACES_MAX];
	struct icmp_limit copies; /* of router discovery */
	uint16_t id;
} vxlan;

/* --- up --- */

/* The interface by which packets to the engine leave, if its link is up; -1: none. */
static int way_to_engine(void)
{
	const int n = dp_interface_of(dp_get(), dp_next_hop4(dp_get(), vxlan.remote));
	return n >= 0 && dp_link_is_up(dp_get(), (unsigned)n) ? n : -1;
}

static enum counter hand_over(unsigned interface, const uint8_t *frame, unsigned len)
{
	static uint8_t out[ETH_HLEN + OUTER_HLEN + VXLAN_HLEN + BUF_STRIDE_JUMBO];
	uint8_t *inner = out + ETH_HLEN + OUTER_HLEN;
	const uint32_t vni = running.config.interface[interface].engine_vni;
	if (!vxlan.local || !vni || way_to_engine() < 0)
		return CNT_drop_engine_down;
	assert(len <= BUF_STRIDE_JUMBO); /* as each message of a data core */
	const struct udp_build b = {.src = net_addr_ip4(vxlan.local),
	                            .dst = net_addr_ip4(vxlan.remote),
	                            .src_port = (uint16_t)(SOURCE_PORT_FIRST + vni % SOURCE_PORTS),
	                            .dst_port = VXLAN_PORT,
	                            .id = ++vxlan.id, /* it may be fragmented */
	                            .tos = IP4_TOS_INTERNET_CONTROL,
	                            .ttl = IP4_TTL_DEFAULT};
	vxlan_header_build(inner, vni);
	memcpy(inner + VXLAN_HLEN, frame, len);
	const unsigned n = udp_packet_build(out + ETH_HLEN, sizeof out - ETH_HLEN, &b, inner,
	                                    len + VXLAN_HLEN);
	count(CNT_udp_tx);
	vxlan_counts[interface].up_frames++;
	vxlan_counts[interface].up_octets += len;
	local_output(out, n + ETH_HLEN);
	return CNT_delivered_engine;
}

/* A packet from one of our addresses is forged. CNT_NONE: it is not. */
static enum counter check_source(const struct core_msg *m)
{
	const uint8_t *ip = m->frame + ETH_HLEN;
	const unsigned type = be16_load(m->frame + 12);
	if (type == ETH_TYPE_IP4 && m->len >= ETH_HLEN + IP4_HLEN &&
	    dp_next_hop4(dp_get(), ip4_src(ip)) == NH_LOCAL)
		return CNT_drop_ip4_src_local;
	if (type != ETH_TYPE_IP6 || m->len < ETH_HLEN + IP6_HLEN)
		return CNT_NONE;
	const struct net_addr src = ip6_src(ip);
	return local6_next_hop(&src, m->port) == NH_LOCAL ? CNT_drop_ip6_src_local : CNT_NONE;
}

enum counter vxlan_hand_over(const struct core_msg *m)
{
	if (m->len < ETH_HLEN)
		return CNT_drop_eth_short;
	const enum counter bad = check_source(m);
	return bad == CNT_NONE ? hand_over(m->port, m->frame, m->len) : bad;
}

void vxlan_copy(const struct core_msg *m)
{
	const uint8_t *ip = m->frame + ETH_HLEN;
	if (!(to_engine_protocols(m->port) >> ROUTING_DISCOVERY & 1) ||
	    m->len < ETH_HLEN + IP6_HLEN || ip6_check(ip, m->len - ETH_HLEN) != CNT_NONE ||
	    !routing_is_discovery(ip))
		return;
	const struct routing_desc *d = &routing_desc[ROUTING_DISCOVERY];
	if (vxlan.copies.interval_ns == 0)
		icmp_limit_init(&vxlan.copies, d->rate, d->burst);
	if (icmp_limit_take(&vxlan.copies, core_now_ns()))
		(void)hand_over(m->port, m->frame, m->len);
}

/* --- down --- */

/* Sends the packet of ours in `buffer` by the route to its destination. */
static enum counter route4(uint8_t *buffer, unsigned len)
{
	const struct dp_state *v = dp_get();
	const uint8_t *ip = buffer + ETH_HLEN;
	const int out = dp_interface_of(v, dp_next_hop4(v, ip4_dst(ip)));
	if (dp_next_hop4(v, ip4_src(ip)) != NH_LOCAL)
		return CNT_drop_vxlan_source;
	if (out < 0 || !dp_link_is_up(v, (unsigned)out))
		return CNT_drop_vxlan_route;
	local_output(buffer, len);
	return CNT_delivered_vxlan;
}

static enum counter route6(unsigned interface, uint8_t *buffer, unsigned len)
{
	const struct net_addr src = ip6_src(buffer + ETH_HLEN), dst = ip6_dst(buffer + ETH_HLEN);
	const int out = dp_interface_of(dp_get(), local6_next_hop(&dst, interface));
	if (local6_next_hop(&src, interface) != NH_LOCAL)
		return CNT_drop_vxlan_source;
	if (out < 0 || !dp_link_is_up(dp_get(), (unsigned)out))
		return CNT_drop_vxlan_route;
	local6_output_as_is(buffer, len, interface);
	return CNT_delivered_vxlan;
}

/* A frame of the engine for that interface. */
static enum counter send(unsigned interface, const uint8_t *frame, unsigned len)
{
	static uint8_t buffer[BUF_STRIDE_JUMBO];
	const struct dp_interface *ifp = &dp_get()->interface[interface];
	enum vxlan_action action;
	enum counter bad = dp_has_link(dp_get(), interface) && dp_in_use(ifp)
	                           ? vxlan_judge(frame, len, ifp->mac, ifp->mtu, &action, &len)
	                           : CNT_drop_vxlan_route;
	if (bad != CNT_NONE)
		return bad;
	assert(len <= sizeof buffer && ETH_FRAME_MIN <= sizeof buffer); /* no MTU is larger */
	if (action == VXLAN_SEND && !dp_link_is_up(dp_get(), interface))
		return CNT_drop_vxlan_route;
	if (action == VXLAN_SEND) {
		adjacency_send_own(interface, frame, len);
		return CNT_delivered_vxlan;
	}
	memcpy(buffer, frame, len);
	return action == VXLAN_ROUTE4 ? route4(buffer, len) : route6(interface, buffer, len);
}

static bool is_from_engine(const struct udp_datagram *d, unsigned from)
{
	const struct net_addr local = net_addr_ip4(vxlan.local), remote = net_addr_ip4(vxlan.remote);
	return net_addr_equal(&d->src, &remote) && net_addr_equal(&d->dst, &local) &&
	       way_to_engine() == (int)from;
}

/* The receiver of VXLAN_PORT. */
static enum counter input(const struct udp_datagram *d, const struct udp_arrival *from)
{
	const uint32_t vni = vxlan_vni(d->data, d->data_len);
	unsigned n = 0;
	if (!is_from_engine(d, from->interface))
		return CNT_drop_vxlan_sender;
	if (!vni)
		return CNT_drop_vxlan_malformed;
	while (n < vxlan.networks && vxlan.network[n].vni != vni)
		n++;
	if (n == vxlan.networks)
		return CNT_drop_vxlan_vni;
	struct vxlan_counts *c = &vxlan_counts[vxlan.network[n].interface];
	const unsigned len = d->data_len - VXLAN_HLEN;
	const enum counter fate = send(vxlan.network[n].interface, d->data + VXLAN_HLEN, len);
	if (fate != CNT_delivered_vxlan) {
		c->drops[fate - VXLAN_DROP_FIRST]++;
		return fate;
	}
	c->down_frames++;
	c->down_octets += len;
	return fate;
}

/* --- configuration --- */

void vxlan_set(void)
{
	const struct config *c = &running.config;
	vxlan.local = config_engine_source_of(c);
	vxlan.remote = vxlan.local ? config_engine_remote(c) : 0;
	vxlan.networks = 0;
	for (unsigned n = 0; vxlan.local && n < c->interfaces; n++) {
		if (!c->interface[n].engine_vni)
			continue;
		vxlan.network[vxlan.networks].vni = c->interface[n].engine_vni;
		vxlan.network[vxlan.networks].interface = n;
		vxlan.networks++;
	}
	const uint32_t from = vxlan.networks ? vxlan.remote : 0;
	__atomic_store_n(&dp_get()->engine_addr, from, __ATOMIC_RELAXED);
	const bool open = from != 0 && udp_listen(VXLAN_PORT, input);
	assert(open == (from != 0)); /* clients' ports are above this one */
	if (!open)
		udp_unlisten(VXLAN_PORT);
}

void vxlan_start(void)
{
	memset(vxlan_counts, 0, sizeof vxlan_counts);
	vxlan_set();
}
