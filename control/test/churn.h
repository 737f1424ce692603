/* The console's `test churn`: routes change under load. See churn.c. */
#ifndef CONTROL_TEST_CHURN_H
#define CONTROL_TEST_CHURN_H

#include "lib/types.h"

struct shell;

#define CHURN_RATE_MAX 10000000
#define CHURN_SECONDS_MAX 3600

/* Begins, and marks the shell busy, or says why not. */
void churn_start(struct shell *sh, uint32_t rate, uint32_t seconds);

/* Does what is due; returns core_now_ns() of the next step, UINT64_MAX for none. */
uint64_t churn_timer(void);

/* The configuration is about to change: the table is as it was when this returns. */
void churn_end(void);

/* The tables are made anew: there is nothing to restore. */
void churn_forget(void);

#endif
