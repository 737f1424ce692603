/* Packets to the machine itself. */
#ifndef CONTROL_HOST_INPUT_H
#define CONTROL_HOST_INPUT_H

#include "net/bfd/packet.h"
#include "net/counters.h"
#include "net/udp.h"
#include "runtime/runtime.h"

/* Starts the limits of ICMP errors. Called by control_plane_start. */
void local_start(void);

/* A packet to one of our addresses. Returns its fate for the caller to count, or CNT_NONE: it has
 * been counted, or is a fragment that waits for others. */
enum counter local_input(const struct core_msg *m);

/* Takes a correct datagram to one of our addresses and a BFD port, that was no fragment and came by
 * that interface with that TTL or hop limit. Returns its fate for the caller to count. NULL: nobody
 * does, and these ports are closed. Set by control/engine/bfd_sessions.c. */
extern enum counter (*local_bfd)(const struct udp_datagram *d, unsigned interface, uint8_t ttl);

static inline bool local_is_bfd(const struct udp_datagram *d)
{
	return local_bfd && (d->dst_port == BFD_PORT_SINGLE_HOP || d->dst_port == BFD_PORT_MULTIHOP);
}

/* Passes a message with an ICMP error of either family, which quotes a TCP segment, to all data
 * cores: one of them has the connection (RFC 1122 4.2.3.9). */
void local_tell_tcp(const struct core_msg *m);

#endif
