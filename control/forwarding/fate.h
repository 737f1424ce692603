/* What becomes of the received packet that is being served. */
#ifndef CONTROL_FORWARDING_FATE_H
#define CONTROL_FORWARDING_FATE_H

#include "net/counters.h"
#include "runtime/runtime.h"

extern unsigned fate_interface; /* that it came by; DP_INTERFACES_MAX: none is being served */

/* Counts its fate. */
static inline void fate_count(enum counter c) { count_at(fate_interface, c); }

#endif
