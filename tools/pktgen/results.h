/*
 * The results of the last run or test, for reports.
 */
#ifndef PKTGEN_RESULTS_H
#define PKTGEN_RESULTS_H

#include "tools/pktgen/report/report.h"

/* Fills in the members of a report about the present run, and about one of its streams, as of now.
 * *out points to *judged and *paced, which are the caller's. */
void results_run(struct report *run);
void results_stream(unsigned i, struct report_stream *out, struct judge_result *judged,
                    struct pace_result *paced);
/* The probes of the run; false: none were sent. */
bool results_probe(struct report_probe *out);

/* Keeps the results of the run that has ended, or of the test up to its last trial, in place of the
 * previous ones. */
void results_take(void);
const struct report *results(void);   /* of the last run or test; NULL: none, or no memory for it */
uint32_t results_number(void);        /* changes whenever the results change */

#endif
