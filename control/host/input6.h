/* The same as input.h for IPv6. */
#ifndef CONTROL_HOST_INPUT6_H
#define CONTROL_HOST_INPUT6_H

#include "control/forwarding/neighbour.h"
#include "net/counters.h"
#include "runtime/runtime.h"

/* CNT_NONE: a fragment that waits for others. */
enum counter local6_input(const struct core_msg *m);
/* A packet from a data core whose neighbour is not known yet. Its fate comes when it leaves the
 * neighbour's queue. */
void local6_resolve(const struct core_msg *m, enum frame_origin origin);

#endif
