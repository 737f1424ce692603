/* The console's `test churn`: routes change under load. See churn.c. */
#ifndef CONTROL_TEST_CHURN_H
#define CONTROL_TEST_CHURN_H

#include "lib/types.h"

struct shell;

#define CHURN_RATE_MAX 10000000
#define CHURN_SECONDS_MAX 3600

/* Begins, and marks the shell busy; or prints why not. */
void churn_start(struct shell *sh, uint32_t rate, uint32_t seconds);

/* Does the work that is due; returns core_now_ns() of the next call, UINT64_MAX for none. */
uint64_t churn_timer(void);

/* Called before the configuration changes: restores the table before it returns. */
void churn_end(void);

/* Called when the tables are rebuilt: ends without restoring. */
void churn_forget(void);

#endif
