/* See output.h. */
#include "dataplane/output.h"

struct output_state output_state;

void output_start(void)
{
	output_state.dp = dp_get();
	output_state.used = &dp_shared()->used;
	output_state.full = 0;
	output_turn();
}

uint32_t output_next_hop6(const struct net_addr *src, const struct net_addr *dst)
{
	const uint8_t *to = (const uint8_t *)dst->w;
	if (likely(!ip6_is_link_local(dst)))
		return dp_next_hop6(output_state.dp, to);
	unsigned interface = dp_link_of6(output_state.dp, src, dst);
	return interface < DP_INTERFACES_MAX ? dp_on_link6(output_state.dp, interface, to)
	                                     : NH_NONE;
}

COLD unsigned output_full_port(const struct net_addr *addr)
{
	uint32_t nh = net_addr_is_ip4(addr) ? dp_next_hop4(output_state.dp, net_addr_to_ip4(addr))
	                                    : output_next_hop6(NULL, addr);
	const struct adj *a = &output_state.dp->adj[nh];
	/* packets to an unknown neighbour go to the control core; acquire: as in output_tx */
	if (__atomic_load_n(&a->state, __ATOMIC_ACQUIRE) != ADJ_FORWARD ||
	    !(output_state.full >> a->port & 1))
		return 0;
	if (core_tx_full(a->port))
		return 1u + a->port;
	output_state.full &= ~(1u << a->port);
	return 0;
}

/*
 * A packet larger than a message (PKT_TSO) is dropped. Its sender retransmits it in smaller pieces,
 * which the control core can resolve.
 */
COLD void output_unresolved(struct pkt *p, uint32_t nh)
{
	int interface = dp_interface_of(output_state.dp, nh);
	const struct dp_interface *ifp =
		interface < 0 ? NULL : &output_state.dp->interface[interface];
	bool enabled = ifp && (ip_is_ip6(p->data + ETH_HLEN) ? ifp->enabled6 : ifp->enabled);
	if (!enabled || !__atomic_load_n(&ifp->link_up, __ATOMIC_RELAXED) ||
	    p->flags & PKT_TSO || pkt_bytes(&self.pool, p) > core_frame_max()) {
		core_drop(p, CNT_originated_drop_tx);
		return;
	}
	pkt_csum_complete(&self.pool, p);
	p->interface = (uint8_t)interface;
	core_punt_own(p, PUNT_OWN, nh);
}
