/* See out.h. */
#include "dataplane/output.h"

struct out out_way;

void out_start(void)
{
	out_way.view = view_get();
	out_way.used = &view_shared()->used;
	out_way.full = 0;
	out_turn();
}

uint32_t out_way6(const struct net_addr *src, const struct net_addr *dst)
{
	const uint8_t *to = (const uint8_t *)dst->w;
	if (likely(!ip6_is_link_local(dst)))
		return view_way6(out_way.view, to);
	unsigned port = view_link_of6(out_way.view, src, dst);
	return port < VIEW_IFS_MAX ? view_on_link6(out_way.view, port, to) : NH_NONE;
}

COLD unsigned out_full_port(const struct net_addr *addr)
{
	uint32_t nh = net_addr_is_ip4(addr) ? view_way4(out_way.view, net_addr_to_ip4(addr))
	                                    : out_way6(NULL, addr);
	const struct adj *a = &out_way.view->adj[nh];
	/* one without a neighbour is for the control core; acquire as in out_tx */
	if (__atomic_load_n(&a->state, __ATOMIC_ACQUIRE) != ADJ_FORWARD ||
	    !(out_way.full >> a->port & 1))
		return 0;
	if (core_tx_full(a->port))
		return 1u + a->port;
	out_way.full &= ~(1u << a->port);
	return 0;
}

/*
 * What is larger than a message (a PKT_TSO frame) is dropped: who made it sends it again, in
 * smaller pieces, and that one finds the neighbour.
 */
COLD void out_unresolved(struct pkt *p, uint32_t nh)
{
	int port = view_port_of(out_way.view, nh);
	const struct view_port *vp = port < 0 ? NULL : &out_way.view->port[port];
	bool enabled = vp && (ip_is_ip6(p->data + ETH_HLEN) ? vp->enabled6 : vp->enabled);
	if (!enabled || !__atomic_load_n(&vp->link_up, __ATOMIC_RELAXED) ||
	    p->flags & PKT_TSO || pkt_bytes(&self.pool, p) > core_frame_max()) {
		core_drop(p, CNT_originated_drop_tx);
		return;
	}
	pkt_csum_complete(&self.pool, p);
	p->port = (uint8_t)port;
	core_punt_own(p, PUNT_OWN, nh);
}
