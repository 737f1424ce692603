/* The fate of the received packet that the control core is processing. */
#ifndef CONTROL_FORWARDING_FATE_H
#define CONTROL_FORWARDING_FATE_H

#include "net/counters.h"
#include "runtime/runtime.h"

extern unsigned fate_interface; /* of its arrival; DP_INTERFACES_MAX: no packet is being processed */

/* Counts its fate. */
static inline void fate_count(enum counter c) { count_at(fate_interface, c); }

#endif
