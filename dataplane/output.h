/*
 * The way out of a data core for packets that are made there: TCP's, and whatever an application
 * answers to somebody else than who sent. (A router's packets go the way of
 * apps/router/.)
 *
 * The packet is looked up in the forwarding table like a received one; a neighbour that is known
 * gets it at once, one that is not by way of the control core, which asks for it. A link that is
 * down has no neighbour that is known, so the quick case has one question, and takes 60
 * instructions (gcc 12, with core_tx) beside those of fib4_lookup.
 *
 * Deliberately missing: fragmentation. Who makes a packet keeps to dp_mtu(), which every link
 * here carries.
 */
#ifndef DATAPLANE_OUTPUT_H
#define DATAPLANE_OUTPUT_H

#include "dataplane/state.h"
#include "net/ip.h"

/* This core's own. */
struct output_state {
	const struct dp_state *dp;
	struct dp_used *used;
	uint32_t second; /* as in struct dp_used */
	uint32_t full;   /* bit p: port p had no room when it was last asked */
};
extern struct output_state output_state;

/* In data_start; and at the beginning of each hook that sends. */
void output_start(void);
static inline void output_turn(void) { output_state.second = (uint32_t)(core_now_ns() >> 30); }

/* The next hop of an IPv6 packet from src (NULL: any of ours) to dst. */
uint32_t output_next_hop6(const struct net_addr *src, const struct net_addr *dst);

/* The same of the packet at ip. */
static inline uint32_t output_next_hop(const uint8_t *ip)
{
	if (likely(!ip_is_ip6(ip)))
		return dp_next_hop4(output_state.dp, ip4_dst(ip));
	const struct net_addr src = ip6_src(ip), dst = ip6_dst(ip);
	return output_next_hop6(&src, &dst);
}

/* The rest of output_tx: no neighbour is known. */
void output_unresolved(struct pkt *p, uint32_t nh);

/*
 * Sends a packet of ours, PKT_OWN: a correct IP packet at data + ETH_HLEN, whose Ethernet header
 * is written here. Its buffers pass on. May have PKT_CSUM_PARTIAL, PKT_CHAIN, PKT_TSO as core_tx()
 * may. What cannot leave is counted as originated_drop_tx. Frames are not filled up to Ethernet's
 * 60 bytes here: drivers/nic.h.
 */
static inline void output_tx(struct pkt *p)
{
	uint32_t nh = output_next_hop(p->data + ETH_HLEN);
	const struct adj *a = &output_state.dp->adj[nh];
	/* acquire: the state says that the rest of the adjacency may be read (dataplane/state.h) */
	if (unlikely(__atomic_load_n(&a->state, __ATOMIC_ACQUIRE) != ADJ_FORWARD)) {
		output_unresolved(p, nh);
		return;
	}
	uint64_t first = raw64_load(a->header);
	uint64_t last = raw64_load(a->header + 6); /* overlaps: 14 bytes in two moves */
	raw64_store(p->data, first);
	raw64_store(p->data + 6, last);
	if (unlikely(output_state.used->second[nh] != output_state.second))
		output_state.used->second[nh] = output_state.second;
	unsigned port = a->port;
	if (unlikely(ip_is_ip6(p->data + ETH_HLEN)))
		dp_hop_limit6(output_state.dp, port, p->data + ETH_HLEN);
	core_tx(port, p);
	/* a comparison only: with fewer it is full only if it was, and then its bit is set */
	if (unlikely(core_outs[port].n >= CORE_OUT_ROOM) && core_tx_full(port))
		output_state.full |= 1u << port;
}

/* The rest of output_full. */
unsigned output_full_port(const struct net_addr *addr);

/* 1 + the port by which a packet to `addr` leaves when that has no room for one that can wait
 * (core_tx_full); 0: it has. While all have, a comparison. */
static inline unsigned output_full(const struct net_addr *addr)
{
	return unlikely(output_state.full) ? output_full_port(addr) : 0;
}

#endif
