/* The same as input.h for IPv6. */
#ifndef CONTROL_HOST_INPUT6_H
#define CONTROL_HOST_INPUT6_H

#include "control/forwarding/neighbour.h"
#include "net/counters.h"
#include "runtime/runtime.h"

/* As local_input. */
enum counter local6_input(const struct core_msg *m);
/* Sends a packet that a data core punted because its neighbour is not known. Its fate is counted
 * when it leaves the neighbour's queue. */
void local6_resolve(const struct core_msg *m, enum frame_origin origin);

#endif
