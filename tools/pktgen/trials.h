/*
 * The tests of RFC 2544: the trials, one after another.
 */
#ifndef PKTGEN_TRIALS_H
#define PKTGEN_TRIALS_H

#include "tools/pktgen/measure/rfc2544.h"

const struct rfc2544 *trials(void); /* the last test, NULL: none yet */
const char *trials_start(void);     /* of generator.plan; NULL, or why not */
void trials_stop(void);
bool trials_on(void);

/* The trial that is under way, what its search has found so far, and its number, from 1. False:
 * none. */
bool trials_now(uint32_t *number, struct trial *trial, struct rfc2544_bounds *bounds);
const char *trials_pause(void);     /* what goes on between trials; NULL: one is under way */
const char *trials_error(void);     /* why the last test ended early; "" */

/* What trials_turn tells. Trial i of tests has ended; the test has. */
struct trials_events {
	void (*trial)(const struct rfc2544 *tests, uint32_t i);
	void (*over)(void);
};

/* Does what is due. Returns the TSC of the next call. */
uint64_t trials_turn(const struct trials_events *events);

#endif
