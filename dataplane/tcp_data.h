/*
 * The TCP of a data core: gives one instance (net/tcp/tcp.h) memory, key, output and time, for
 * applications with TCP services on their data cores. Each core has an instance of its own and
 * knows nothing of the others' (ARCHITECTURE.md, invariant 1). All have one key (core_secret) and
 * one clock, so a SYN cookie of one core is valid at another. An application
 *
 *     calls                 in its hook          and then
 *     tcp_data_bytes        data_bytes
 *     tcp_data_start        data_start           tcp_listen(tcp_data, ...)
 *     tcp_data_input        rx_vector
 *     tcp_data_timer        data_timer; its timer_slack_us is TCP_TIMER_SLACK_US
 *     tcp_data_msg          data_msg
 *
 * A connection belongs to the core that received its first segment. The device must deliver its
 * later segments to that core too:
 *
 *     NIC_RSS     a hash of addresses and ports selects the queue. If another queue gets a bucket
 *                 of the card's table, its connections move with it (dataplane/tcp_move.h).
 *     without     the device delivers a flow to the queue of the pair that sent the flow's answers
 *                 (VIRTIO 1.2 5.1.6.5.6, automatic receive steering). So all packets of a
 *                 connection leave by its own core's pair, even those that waited for a neighbour
 *                 (control/forwarding/neighbour.c). Linux's tun forgets a flow after three seconds
 *                 of silence and uses a hash of addresses and ports again. That hash also selected
 *                 the queue of the first segment, so incoming connections keep their queue. (A
 *                 connection opened from here would need tcp_ops.ours.)
 *
 * A core that receives a segment of another core's connection answers with a reset, as a host that does not know
 * the connection; while the connection's bucket moves, and for some seconds on the core that has given it, it drops
 * the segment (drop_tcp_elsewhere), and the peer sends it again. A device cannot steer ICMP errors by ports: the
 * control core passes each to all data cores (control/host/input.c).
 *
 * A restart of this core's program, or of all ports, loses its connections. A peer's next segment
 * is answered with a reset by the core that receives it.
 */
#ifndef DATAPLANE_TCP_DATA_H
#define DATAPLANE_TCP_DATA_H

#include "runtime/runtime.h"
#include "net/tcp/tcp.h"

extern struct tcp *tcp_data; /* this core's instance; NULL: it has none */

/*
 * Bytes of memory for as many connections as the configuration states, or, if it states none, as
 * fit into an eighth of `room`. Half of the room, or 96 MiB if that is less, is left for packet
 * buffers. wanted: the application has a TCP service; false: 0 bytes, and tcp_data_start makes no
 * instance. own: the application's bytes for each connection, a multiple of 64.
 */
size_t tcp_data_bytes(size_t room, bool wanted, size_t own);

/* The application's memory, `own` bytes for each of *connections; its contents are undefined. From tcp_data_start
 * on, while there is an instance. */
void *tcp_data_own(uint32_t *connections);

void tcp_data_start(void);

/* Passes n segments to our addresses, received by one interface, to tcp_input(), which defines their
 * form. Their buffers pass on. Counts their fates for the interface. */
void tcp_vector_input(struct tcp *t, struct pkt *v, unsigned n, unsigned interface);

static inline void tcp_data_input(struct pkt *v, unsigned n)
{
	tcp_vector_input(tcp_data, v, n, v[0].interface);
}

/* TCP counts in milliseconds. With 1 connection a call in each turn took 50 of 1050 TSC cycles a request. */
#define TCP_TIMER_SLACK_US 100

uint64_t tcp_data_timer(void);
void tcp_data_msg(struct pkt *p, uint32_t arg);

#endif
