/*
 * Begins and ends a run or a test of RFC 2544, one at a time.
 */
#ifndef PKTGEN_RUNS_H
#define PKTGEN_RUNS_H

#include "lib/types.h"

/* Begins a run of the script's streams, for ns nanoseconds; 0: with the limits of the script.
 * Returns NULL, or the reason why it cannot begin. */
const char *generator_start(uint64_t ns);

/* The same for the script's tests of RFC 2544. */
const char *generator_test(void);

/* Ends the present run or test, if any, and cancels the automatic start. */
void generator_stop(void);

/* A run or a test is in progress. */
bool generator_busy(void);

/* Requests the automatic start of the script: once its links are up, or after 10 s. The second
 * function cancels it. */
void runs_autostart(void);
void runs_no_autostart(void);

/* Makes the automatic start when it is due. Returns the TSC of the next call. */
uint64_t runs_turn(void);

#endif
