/*
 * Output of packets that a data core makes itself: TCP segments, and an application's packets to
 * any host but the sender of the request. (apps/router/ sends the router's packets.)
 *
 * The packet is looked up in the FIB like a received one. If the neighbour is known, the packet is
 * sent at once; if not, it goes to the control core, which resolves the neighbour. No neighbour is
 * known on a link that is down, so the fast path makes a single check. It takes 60 instructions
 * (gcc 12, with core_tx) besides those of fib4_lookup.
 *
 * Deliberately missing: fragmentation. Callers make no packet larger than dp_mtu(), which every
 * link carries.
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
	uint32_t full;   /* bit p: port p had no room when last asked */
};
extern struct output_state output_state;

/* To be called in data_start and data_tables. */
void output_start(void);

/* To be called at the start of each hook that sends. */
static inline void output_turn(void) { output_state.second = (uint32_t)(core_now_ns() >> 30); }

/* The next hop of an IPv6 packet from src (NULL: any of our addresses) to dst. */
uint32_t output_next_hop6(const struct net_addr *src, const struct net_addr *dst);

/* The next hop of the packet at ip. */
static inline uint32_t output_next_hop(const uint8_t *ip)
{
	if (likely(!ip_is_ip6(ip)))
		return dp_next_hop4(output_state.dp, ip4_dst(ip));
	const struct net_addr src = ip6_src(ip), dst = ip6_dst(ip);
	return output_next_hop6(&src, &dst);
}

/* The slow path of output_tx: the neighbour is not known. */
void output_unresolved(struct pkt *p, uint32_t nh);

/*
 * Sends one of our own packets, PKT_OWN: a correct IP packet at data + ETH_HLEN. Writes its
 * Ethernet header. Its buffers pass on. It may have PKT_CSUM_PARTIAL, PKT_CHAIN and PKT_TSO, as for
 * core_tx(). A packet that cannot be sent is counted as originated_drop_tx. Frames are not padded
 * to Ethernet's 60 bytes here (drivers/nic.h).
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
	/* with fewer queued a port is full only if it was full before, and then its bit is set */
	if (unlikely(core_outs[port].n >= CORE_OUT_ROOM) && core_tx_full(port))
		output_state.full |= 1u << port;
}

/* The slow path of output_full. */
unsigned output_full_port(const struct net_addr *addr);

/* Returns 1 + the port by which a packet to `addr` leaves, if that port has no room for a packet
 * that can wait (core_tx_full); 0: it has room. One comparison while all ports have room. */
static inline unsigned output_full(const struct net_addr *addr)
{
	return unlikely(output_state.full) ? output_full_port(addr) : 0;
}

#endif
