/* Packets to the machine itself. */
#ifndef CONTROL_HOST_INPUT_H
#define CONTROL_HOST_INPUT_H

#include "net/counters.h"
#include "runtime/runtime.h"

void local_start(void);

/* A packet to one of our addresses. Returns its fate for the caller to count, or CNT_NONE: it has
 * been counted, or is a fragment that waits for others. */
enum counter local_input(const struct core_msg *m);

/* A message with an ICMP error, of either version, that quotes a TCP segment: to the data cores, of
 * which one has the connection (RFC 1122 4.2.3.9). */
void local_tell_tcp(const struct core_msg *m);

#endif
