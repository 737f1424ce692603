/*
 * Latency by the cards' own time stamps. Beside the streams of a run the generator sends one probe
 * at a time. A probe is a PTP event message, because cards stamp no other frames
 * (nic_ops.time_stamps). Its latency, from the sending to the receiving MAC, includes no software
 * and no wait in a ring.
 *
 *     state         meaning                                    next
 *     PROBE_OFF     no run, or its script has no probe         ASKS, READY
 *     PROBE_ASKS    the next hop's MAC address is resolved     READY, OFF
 *     PROBE_READY   waits until the next probe is due          OUT, OFF
 *     PROBE_OUT     a probe is in flight                       READY, OFF
 *
 * Each port has its own clock. Before and after a probe one clock is read between two readings of
 * the other; in between, the clocks are assumed to drift linearly. Half the time between the two
 * readings bounds the error of the comparison, which is reported with the latency. A probe that
 * returns to the port that sent it needs no comparison.
 *
 * The receiver's stamp is matched to its probe by the sequence number in the message. The sender's
 * stamp has no number, so no probe is sent before the last one has been timed or given up.
 */
#ifndef PKTGEN_PROBE_H
#define PKTGEN_PROBE_H

#include "tools/pktgen/measure/histogram.h"
#include "tools/pktgen/plan.h"

struct probe_result {
	uint64_t sent;
	uint64_t clock_error_ns;  /* largest error that a comparison of the clocks may have had */
	struct histogram latency; /* ns; of the probes that were timed */
};

/* Prepares the probes of the run that is about to start. Returns NULL, also for a plan without
 * probes, or the reason why a port cannot time them. */
const char *probe_start(const struct plan *plan);

/* Does the work that is due. Returns the TSC of the next call; UINT64_MAX: none is needed. */
uint64_t probe_turn(void);

/* The probes of the present run, or of the last one. */
const struct probe_result *probe_result(void);

#endif
