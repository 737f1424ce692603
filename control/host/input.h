/* Packets to the machine itself. */
#ifndef CONTROL_HOST_INPUT_H
#define CONTROL_HOST_INPUT_H

#include "net/counters.h"
#include "runtime/runtime.h"

/* Starts the limits of ICMP errors. Called by control_plane_start. */
void local_start(void);

/* A packet to one of our addresses. Returns its fate for the caller to count, or CNT_NONE: it has
 * been counted, or is a fragment that waits for others. */
enum counter local_input(const struct core_msg *m);

/* Passes a message with an ICMP error of either family, which quotes a TCP segment, to all data
 * cores: one of them has the connection (RFC 1122 4.2.3.9). */
void local_tell_tcp(const struct core_msg *m);

#endif
