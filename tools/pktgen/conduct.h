/*
 * Conducts one run from the control core: resolves the MAC addresses, gives the data cores their
 * order (run.h), watches them, waits for frames in flight, and sums up the results. No function
 * waits: a timer calls conduct_turn.
 *
 *     state             meaning                                        next
 *     CONDUCT_IDLE      no run since the program started               RESOLVE
 *     CONDUCT_RESOLVE   neighbours are being resolved, 3 s at most     ORDER, FAILED
 *     CONDUCT_ORDER     all data cores prepare their frames            RUN, FAILED
 *     CONDUCT_RUN       data cores send                                SETTLE, FAILED
 *     CONDUCT_SETTLE    no core sends; frames may still arrive         DONE, FAILED
 *     CONDUCT_DONE      the totals are final                           RESOLVE
 *     CONDUCT_FAILED    no core sends; conduct_error() has the reason  RESOLVE
 */
#ifndef PKTGEN_CONDUCT_H
#define PKTGEN_CONDUCT_H

#include "tools/pktgen/measure/rfc2544.h"
#include "tools/pktgen/run.h"

enum conduct_state {
	CONDUCT_IDLE,
	CONDUCT_RESOLVE,
	CONDUCT_ORDER,
	CONDUCT_RUN,
	CONDUCT_SETTLE,
	CONDUCT_DONE,
	CONDUCT_FAILED,
};

struct conduct_request {
	const struct plan *plan;  /* copied */
	uint64_t frames;          /* limit for each stream, besides the plan's; 0: none */
	uint64_t ns;              /* duration; 0: until the streams' limits, or conduct_stop */
	uint64_t settle_ns;       /* wait for frames in flight */
	uint32_t burst;           /* frames for one doorbell */
	uint32_t tolerance_ppm;   /* struct pace_rate */
	uint32_t silent;          /* streams that send nothing, by bit */
};

/* The line rate of a port in bit/s: the plan's, else that of the link. 0: there is none. */
uint64_t conduct_line_bps(const struct plan *plan, unsigned port);

/* Are the links of all ports up by which streams leave or are expected? */
bool conduct_links_up(const struct plan *plan);

/* Begins a run. The previous one must be over (conduct_busy). */
void conduct_start(const struct conduct_request *r);

/* Ends the run. Once the order has been written the state becomes SETTLE and then DONE, as if the
 * time was up. Before that it becomes FAILED. */
void conduct_stop(void);

/* Does the work that is due. Returns the TSC of the next call; UINT64_MAX: none is needed. */
uint64_t conduct_turn(void);

/* The link of a port went down. */
void conduct_link_down(unsigned port);

/* The ports were stopped, or the control program was restarted. A run in progress fails; its order
 * and results are lost. */
void conduct_reset(void);

enum conduct_state conduct_state(void);
const char *conduct_state_text(enum conduct_state state);
bool conduct_busy(void); /* a run is in progress: RESOLVE to SETTLE */
const char *conduct_error(void);

/* The TSC at which the first frames are due; 0: not known yet. */
uint64_t conduct_begin_tsc(void);

/* The order in force; NULL: there is none. */
const struct run_order *conduct_order(void);

/* The result of the data core of that queue pair; NULL: it has not acted on the order. */
const struct run_result *conduct_result(unsigned pair);

/* Sums over all cores as of now: of a stream, and of all streams of the order. */
void conduct_sent(unsigned stream, struct run_sent *sum);
void conduct_judged(unsigned stream, struct judge_result *sum);
void conduct_sent_all(struct run_sent *sum);
void conduct_judged_all(struct judge_result *sum);
void conduct_pacing(unsigned stream, struct histogram *sum); /* complete in DONE */

/* Nanoseconds from the first burst to the last. */
uint64_t conduct_sent_ns(const struct run_sent *sum);

/* The flaw of the run, as far as is known now. */
enum trial_flaw conduct_flaw(void);

/* The stream's rate in L2 bit/s that the card's rate limiter keeps; 0: the cores pace it. */
uint64_t conduct_card_bps(unsigned stream);

#endif
