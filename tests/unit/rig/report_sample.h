/* Made-up results of a made-up router, always the same, for tests and for viewing a report: a run
 * of three streams, and RFC 2544 with everything that may go wrong in it. */
#ifndef TESTS_UNIT_RIG_REPORT_SAMPLE_H
#define TESTS_UNIT_RIG_REPORT_SAMPLE_H

#include "tools/pktgen/report/report.h"

enum sample { SAMPLE_RUN = 1, SAMPLE_RFC2544 = 2 };

/* `what` is one or both. Valid until the next call. */
const struct report *sample_report(unsigned what);

#endif
