/*
 * The tests of RFC 2544: the trials, one after another.
 */
#ifndef PKTGEN_TRIALS_H
#define PKTGEN_TRIALS_H

#include "tools/pktgen/measure/rfc2544.h"

const struct rfc2544 *trials(void); /* the last test; NULL: none yet */
const char *trials_start(void);     /* those of generator.plan; NULL, or why they cannot start */
void trials_stop(void);
bool trials_on(void);

/* The present trial, its number from 1, and the bounds of its search so far. False: there is no
 * trial now. */
bool trials_now(uint32_t *number, struct trial *trial, struct rfc2544_bounds *bounds);
const char *trials_pause(void);     /* the present step between trials; NULL: there is none */
const char *trials_error(void);     /* why the last test ended early; "": it did not */

/* Calls of trials_turn. */
struct trials_events {
	void (*trial)(const struct rfc2544 *tests, uint32_t i); /* trial i has ended */
	void (*over)(void); /* the test has ended */
};

/* Does the work that is due. Returns the TSC of the next call. */
uint64_t trials_turn(const struct trials_events *events);

#endif
