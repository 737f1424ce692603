/*
 * Latency by the cards' own time stamps: beside the streams of a run goes one frame at a time, a
 * PTP event message, for cards stamp these alone (nic_ops.time_stamps). What it needed from the MAC
 * that sent it to the MAC that received it has no software in it, and no wait in a ring.
 *
 *     state         what goes on                               next
 *     PROBE_OFF     no run, or its script has no probe         ASKS, READY
 *     PROBE_ASKS    the next hop's MAC address is asked for    READY
 *     PROBE_READY   waits until the next one is due            OUT, OFF
 *     PROBE_OUT     one is under way                           READY
 *
 * Each port has a clock of its own. Before and after a probe one of them is read between two
 * readings of the other; in between, they are taken to drift evenly. How far apart the two readings
 * were is how far wrong the comparison can be at most: it is reported beside the latency. A probe
 * that comes back to the port that sent it needs no comparison.
 *
 * The number in the message tells which probe the receiver's stamp is of. The sender's stamp has
 * none, so nothing is sent before the last probe has been timed or given up.
 */
#ifndef PKTGEN_PROBE_H
#define PKTGEN_PROBE_H

#include "tools/pktgen/measure/histogram.h"
#include "tools/pktgen/plan.h"

struct probe_result {
	uint64_t sent;
	uint64_t clock_error_ns;  /* the most that a comparison of clocks may have been wrong */
	struct histogram latency; /* ns; of those that were timed */
};

/* Begins with the run that is being started. NULL, or why it cannot. A plan without a probe:
 * nothing. */
const char *probe_start(const struct plan *plan);

/* Does what is due; the TSC of the next call, UINT64_MAX: none is needed. */
uint64_t probe_turn(void);

/* Of the present run, or the last. */
const struct probe_result *probe_result(void);

#endif
