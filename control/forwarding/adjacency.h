/*
 * Adjacencies in the data-plane state, and the frames that go to neighbours or wait for them: what
 * ARP (neighbour.c) and neighbour discovery (neighbour6.c) have in common.
 */
#ifndef CONTROL_FORWARDING_ADJACENCY_H
#define CONTROL_FORWARDING_ADJACENCY_H

#include "dataplane/state.h"
#include "control/forwarding/trace_points.h"

static inline struct adj *adjacency_of(uint32_t nh)
{
	return &dp_get()->adj[nh];
}

/* A neighbour comes to life: nobody uses the adjacency yet, or it is unresolved. gateway: as in
 * struct adj. */
void adjacency_new(uint32_t nh, unsigned port, uint64_t gateway);

/* The neighbour has this MAC: forward, with an Ethernet header of that type, unless the link is
 * down. Waits for the data cores (dataplane/state.h, rule 2). */
void adjacency_up(uint32_t nh, const uint8_t *mac, uint16_t type);

/* Hand its packets to the control core. */
void adjacency_down(uint32_t nh);

/* The neighbour is forgotten and no route leads to it any more: waits for the data cores, then the
 * number may be used again. */
void adjacency_free(uint32_t nh);

/*
 * Hands a complete frame to a data core. Each one that polls can send by any port. What came from
 * one goes back by its queue pair: a device without RSS sends the packets of a flow to the queue
 * that it last saw the flow's answers leave by (VIRTIO 1.2 5.1.6.5.6), and a TCP connection has to
 * stay with its core. For the rest (PAIR_ANY), a port keeps to one pair.
 */
bool adjacency_send(unsigned port, unsigned pair, const uint8_t *frame, unsigned len);

/* What the control core has sent by interfaces that are no ports, since the ports started; rx is
 * nothing. */
extern struct dp_carried adjacency_carried[DP_INTERFACES_MAX];

/* The same for one of our own, in a buffer of any length: filled up to what Ethernet wants. One
 * that cannot leave is counted. */
void adjacency_send_own(unsigned port, const uint8_t *frame, unsigned len);

/* Where a frame given to ARP comes from: what becomes of a received one is its fate, what becomes
 * of our own is not. */
enum frame_origin { FRAME_TRANSIT, FRAME_OWN };

#define PAIR_ANY 0xff /* of queue pairs: any will do */

/* How the sender of a packet of len bytes at ip, which came in by that interface, is told that the
 * neighbour does not answer: an ICMP error, if one is allowed. Set before the ports run. */
extern void (*adjacency_tell_unreachable)(unsigned interface, const uint8_t *ip, unsigned len);

extern uint64_t adjacency_waiting; /* received frames that wait for a neighbour: a gauge */

/*
 * A frame that waits has no Ethernet header yet: its first bytes say where it came from, the
 * interface too, and whether it is being followed (ADJACENCY_TRACE, control/monitor/trace.h). Marked, it is
 * handed to the table of its family, and whatever becomes of it ends in one of the others:
 * it leaves; its neighbour, on that interface, does not answer (the sender of a received one is told);
 * it has been pushed out.
 */
#define ADJACENCY_TRACE 2
#define ADJACENCY_FROM (ADJACENCY_TRACE + TRACE_MARK)
void adjacency_mark(uint8_t *frame, enum frame_origin origin, unsigned pair);
void adjacency_release(uint32_t nh, uint8_t *frame, unsigned len);
void adjacency_unreachable(unsigned interface, const uint8_t *frame, unsigned len);
void adjacency_lost(const uint8_t *frame);

/* What both tables ask of us in the same way (struct arp_ops, struct nd_ops). ctx: a uint32_t, the
 * next hop that neighbour 0 of the table is. */
void adjacency_op_tx(void *ctx, unsigned port, const uint8_t *frame, unsigned len);
void adjacency_op_down(void *ctx, unsigned index);
void adjacency_op_release(void *ctx, unsigned index, uint8_t *frame, unsigned len);
void adjacency_op_lost(void *ctx, unsigned index, uint8_t *frame, unsigned len);
void adjacency_op_count(void *ctx, enum counter counter, unsigned n);

#endif
