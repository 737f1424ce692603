/*
 * What the last run or test found, for reports.
 */
#ifndef PKTGEN_RESULTS_H
#define PKTGEN_RESULTS_H

#include "tools/pktgen/report/report.h"

/* What is said of the present run, and of a stream of it, as of now; the latter into the memory of
 * the caller, which it points to then. */
void results_run(struct report *run);
void results_stream(unsigned i, struct report_stream *out, struct judge_result *judged,
                    struct pace_result *paced);
/* The probes of the run; false: none were sent. */
bool results_probe(struct report_probe *out);

/* Takes what the run that has ended found, or the test up to its last trial; what was kept before
 * is gone. */
void results_take(void);
const struct report *results(void);   /* of the last run or test; NULL: none, or no memory for it */
uint32_t results_number(void);        /* another one after each change */

#endif
