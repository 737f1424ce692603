/*
 * Adjacencies in the data-plane state, and frames that are sent to neighbours or wait for them. ARP
 * (neighbour.c) and neighbour discovery (neighbour6.c) share these functions.
 */
#ifndef CONTROL_FORWARDING_ADJACENCY_H
#define CONTROL_FORWARDING_ADJACENCY_H

#include "dataplane/state.h"
#include "control/forwarding/trace_points.h"

static inline struct adj *adjacency_of(uint32_t nh)
{
	return &dp_get()->adj[nh];
}

/* Is the adjacency of a neighbour for IPv6 packets? */
static inline bool adjacency_is_six(uint32_t nh)
{
	return nh >= NH_NEIGHBOUR6 && nh < NH_NEIGHBOUR46;
}

/* Makes the adjacency of a new neighbour, unresolved. It must be unused or unresolved before.
 * gateway: as in struct adj. */
void adjacency_new(uint32_t nh, unsigned interface, uint64_t gateway);

/* Makes an unused adjacency of a station that has one already: with its interface, MAC and state. */
void adjacency_new_beside(uint32_t nh, uint32_t known);

/* Sets the neighbour's MAC and, if the link is up, has data cores forward to it. Waits for the data
 * cores (dataplane/state.h, rule 2). */
void adjacency_up(uint32_t nh, const uint8_t *mac);

/* From now on data cores punt the neighbour's packets. */
void adjacency_down(uint32_t nh);

/* The link of a resolved neighbour went up or down. */
void adjacency_link(uint32_t nh, bool up);

/* Frees the adjacency of a forgotten neighbour, to which no route leads any more. Waits for the
 * data cores; then the number may be used again. */
void adjacency_free(uint32_t nh);

/*
 * Hands a complete frame to a data core, to leave by that interface. False: it cannot be sent.
 * Every data core that polls can send by any port. A frame from a data core leaves by that core's
 * queue pair: a device without RSS receives a flow on the queue that last sent packets of the flow
 * (VIRTIO 1.2 5.1.6.5.6), and a TCP connection must stay on its core. All other frames of a port
 * (PAIR_ANY) leave by one pair.
 */
bool adjacency_send(unsigned interface, unsigned pair, const uint8_t *frame, unsigned len);

/*
 * The same for a TCP packet of ours that the port's device segments (core_inject_whole), to the neighbour that is
 * next hop nh. Writes the Ethernet header in front of it. False: nothing was sent, and smaller frames may be: the
 * neighbour is not known, a segment does not fit into the link's MTU, the interface is a VLAN or the switch's, or
 * there is no room.
 */
bool adjacency_send_whole(uint32_t nh, const struct bufpool *pool, const struct pkt *p);

/* Frames that the control core has sent by VLAN interfaces since the ports started; the rx counts
 * stay 0. */
extern struct dp_carried adjacency_carried[DP_INTERFACES_MAX];

/* Sends a frame of our own by any queue pair, padded to the Ethernet minimum; the buffer may be
 * shorter. A frame that cannot be sent is counted as originated_drop_tx. */
void adjacency_send_own(unsigned interface, const uint8_t *frame, unsigned len);

/* The origin of a frame given to ARP or ND. A received frame gets a fate (net/counters.h), one of
 * our own does not. */
enum frame_origin { FRAME_TRANSIT, FRAME_OWN };

#define PAIR_ANY 0xff /* instead of a queue pair: any */

/* Sends an ICMP error, if one is allowed, about a packet of len bytes at ip, whose neighbour on
 * that interface does not answer. Set before the ports run. */
extern void (*adjacency_tell_unreachable)(unsigned interface, const uint8_t *ip, unsigned len);

extern uint64_t adjacency_waiting; /* received frames that wait for a neighbour: a gauge */

/*
 * A frame that waits has no Ethernet header yet. adjacency_mark writes into its first bytes its
 * origin, its queue pair, its trace mark (ADJACENCY_TRACE, control/monitor/trace.h) and the
 * interface by which it came in (ADJACENCY_FROM). The caller then gives it to the table of its
 * family. Exactly one of these calls ends its wait:
 *
 *     adjacency_release       its neighbour is known: sends it
 *     adjacency_unreachable   its neighbour on that interface does not answer: sends an ICMP error
 *                             about a received frame
 *     adjacency_lost          it was pushed out of the queue
 */
#define ADJACENCY_TRACE 2
#define ADJACENCY_FROM (ADJACENCY_TRACE + TRACE_MARK)
void adjacency_mark(uint8_t *frame, enum frame_origin origin, unsigned pair);
void adjacency_release(uint32_t nh, uint8_t *frame, unsigned len);
void adjacency_unreachable(unsigned interface, const uint8_t *frame, unsigned len);
void adjacency_lost(const uint8_t *frame);

/* The callbacks that struct arp_ops and struct nd_ops share. ctx: a uint32_t, the next-hop number
 * of the table's neighbour 0. */
void adjacency_op_tx(void *ctx, unsigned interface, const uint8_t *frame, unsigned len);
void adjacency_op_down(void *ctx, unsigned index);
void adjacency_op_release(void *ctx, unsigned index, uint8_t *frame, unsigned len);
void adjacency_op_lost(void *ctx, unsigned index, uint8_t *frame, unsigned len);
void adjacency_op_count(void *ctx, enum counter counter, unsigned n);

#endif
