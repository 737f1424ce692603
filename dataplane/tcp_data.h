/*
 * The TCP of a data core (net/tcp/tcp.h): memory, key, way out and time for one instance, for
 * applications that have TCP services on their data cores. Each core has an instance of its own and
 * knows nothing of the others' (ARCHITECTURE.md, invariant 1). An application
 *
 *     calls                 in its hook          and then
 *     tcp_data_bytes        data_bytes
 *     tcp_data_start        data_start           tcp_listen(tcp_data, ...)
 *     tcp_data_input        rx_vector
 *     tcp_data_timer        data_timer
 *     tcp_data_msg          data_msg
 *
 * A connection lives on the core that its first segment came to. The device has to bring the rest
 * there too:
 *
 *     NIC_RSS     a hash of addresses and ports decides: always the same queue.
 *     without     the device sends a flow to the queue by whose pair it saw the flow's answers
 *                 leave (VIRTIO 1.2 5.1.6.5.6, automatic receive steering). So all packets of a
 *                 connection leave by its own core's pair, those that waited for a neighbour too
 *                 (control/forwarding/neighbour.c). Linux' tun forgets a flow after three seconds of silence
 *                 and goes by a hash again, of addresses and ports; that hash had chosen the queue
 *                 of the first segment as well, so it stays the same for connections that came in.
 *                 (One opened from here would need tcp_ops.ours.)
 *
 * What comes to a wrong core nevertheless is answered there by a reset, as by a host that does not
 * know the connection. ICMP errors have no ports for a device to go by: the control core tells all
 * data cores of each (control/host/input.c).
 *
 * When this core's program is started anew, or all ports are, its connections are forgotten; peers
 * learn of it by a reset in answer to their next segment, from whichever core that comes to.
 */
#ifndef DATAPLANE_TCP_DATA_H
#define DATAPLANE_TCP_DATA_H

#include "runtime/runtime.h"
#include "net/tcp/tcp.h"

extern struct tcp *tcp_data; /* this core's instance; NULL: it has none */

/*
 * Bytes of memory for as many connections as the configuration says, or as an eighth of the `room`
 * holds; so many that half of the room, or 96 MiB of it, is left to the packet buffers. wanted: the
 * application has a TCP service; false: 0 bytes, and tcp_data_start makes no instance.
 */
size_t tcp_data_bytes(size_t room, bool wanted);

void tcp_data_start(void);

/* n received segments to addresses of ours, as tcp_input() wants them. Buffers pass on. */
static inline void tcp_data_input(struct pkt *v, unsigned n)
{
	tcp_input(tcp_data, v, n, core_now_us());
}

uint64_t tcp_data_timer(void);
void tcp_data_msg(struct pkt *p, uint32_t arg);

#endif
