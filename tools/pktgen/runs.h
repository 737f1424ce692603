/*
 * A run, or a test of RFC 2544, begins and is ended; one at a time.
 */
#ifndef PKTGEN_RUNS_H
#define PKTGEN_RUNS_H

#include "lib/types.h"

/* Begins to send the streams, for ns nanoseconds, 0: as the script says. NULL, or why not. */
const char *generator_start(uint64_t ns);

/* The same for the script's tests of RFC 2544. */
const char *generator_test(void);

/* Ends what is on, if anything is, and what was to start by itself. */
void generator_stop(void);

/* A run or a test is on. */
bool generator_busy(void);

/* The script is to start by itself as soon as its links are up, after 10 s at the latest; not any
 * more. */
void runs_autostart(void);
void runs_no_autostart(void);

/* Starts it then. Returns the TSC of the next call. */
uint64_t runs_turn(void);

#endif
