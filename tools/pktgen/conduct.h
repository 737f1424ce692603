/*
 * Conducts one run from the control core: finds the station addresses, orders (run.h), watches,
 * waits for what is still under way, adds up. Never waits itself: conduct_turn is called by a
 * timer.
 *
 *     state             what goes on                                   next
 *     CONDUCT_IDLE      nothing yet
 *     CONDUCT_RESOLVE   neighbours are asked for, 3 s at most          ORDER, FAILED
 *     CONDUCT_ORDER     data cores prepare their frames, all of them   RUN, FAILED
 *     CONDUCT_RUN       they send                                      SETTLE, FAILED
 *     CONDUCT_SETTLE    nobody sends; frames may still come            DONE
 *     CONDUCT_DONE      the totals are final
 *     CONDUCT_FAILED    conduct_error() says why; nobody sends
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
	const struct plan *plan;  /* copied; its streams are sent, all of them */
	uint64_t frames;          /* of each stream, at most; 0: as the plan says */
	uint64_t ns;              /* how long; 0: until the streams' limits, or conduct_stop */
	uint64_t settle_ns;
	uint32_t burst;           /* frames for one doorbell */
	uint32_t tolerance_ppm;   /* struct pace_rate */
	uint32_t silent;          /* streams that send nothing, by bit */
};

/* The line rate of a port that the plan sends by: what it says, else that of the link. 0: it has
 * none. */
uint64_t conduct_line_bps(const struct plan *plan, unsigned port);

/* Are those of all its streams up, where they are sent and where they are expected? */
bool conduct_links_up(const struct plan *plan);

/* Begins; what went on before has to be over (conduct_busy). */
void conduct_start(const struct conduct_request *r);

/* Ends the sending; the state becomes SETTLE and then DONE as if time was up. */
void conduct_stop(void);

/* Does what is due. Returns the TSC of the next call, UINT64_MAX: none is needed. */
uint64_t conduct_turn(void);

/* A link went down. */
void conduct_link_down(unsigned port);

/* The ports have been stopped, or the program came up anew: what was going on is lost. */
void conduct_reset(void);

enum conduct_state conduct_state(void);
const char *conduct_state_text(enum conduct_state state);
bool conduct_busy(void); /* neither idle nor at an end */
const char *conduct_error(void);

/* TSC from which on frames were due; 0: not yet. */
uint64_t conduct_begin_tsc(void);

/* The order in force, NULL: there was none. */
const struct run_order *conduct_order(void);

/* What the data core of that queue pair tells of the order; NULL: nothing. */
const struct run_result *conduct_result(unsigned pair);

/* Of a stream over all cores, as of now, and of all streams of the order together. */
void conduct_sent(unsigned stream, struct run_sent *sum);
void conduct_judged(unsigned stream, struct judge_result *sum);
void conduct_sent_all(struct run_sent *sum);
void conduct_judged_all(struct judge_result *sum);
void conduct_pacing(unsigned stream, struct histogram *sum); /* in DONE */

/* From the first burst to the last, ns. */
uint64_t conduct_sent_ns(const struct run_sent *sum);

/* Whether what was sent is what was asked for, as far as is known now. */
enum trial_flaw conduct_flaw(void);

/* L2 bits a second that the card of the stream's port keeps it to; 0: the cores pace it. */
uint64_t conduct_card_bps(unsigned stream);

#endif
