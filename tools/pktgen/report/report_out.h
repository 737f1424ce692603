/* Shared by the writers of reports: text in pieces, fixed-point numbers, names. */
#ifndef PKTGEN_REPORT_REPORT_OUT_H
#define PKTGEN_REPORT_REPORT_OUT_H

#include "lib/fmt.h"
#include "tools/pktgen/report/report.h"

struct report_out {
	report_write *write;
	void *ctx;
	unsigned used;
	char buf[1024];
};

void report_put(struct report_out *o, const char *format, ...) PRINTF_LIKE(2, 3);
void report_bytes(struct report_out *o, const char *text, size_t len);
void report_flush(struct report_out *o);

/* value / 10^decimals with all its decimals, 0 to 9, as text in buf. */
#define REPORT_NUMBER 32
char *report_fixed(char buf[REPORT_NUMBER], uint64_t value, unsigned decimals);

const char *report_test(enum plan_test test);
const char *report_status(enum rfc2544_status status);
/* Why the outcome is a lower bound; "": it is not one. */
const char *report_bound(const struct rfc2544_outcome *o);

/* count * 10^9 / ns, a rate per second; 0 if ns is 0. */
uint64_t report_rate(uint64_t count, uint64_t ns);

/* Bytes sent: L2 is frames with FCS, L1 adds preamble and gap. */
uint64_t report_l2_bytes(const struct report_stream *s);
uint64_t report_l1_bytes(const struct report_stream *s);

/* Is this the report of a run? A run that could not start has no streams, but an error. */
static inline bool report_has_run(const struct report *r)
{
	return r->streams || (*r->error && !r->rfc2544);
}

/* The whole report as JSON. The caller flushes. */
void report_json_to(struct report_out *o, const struct report *r);

#endif
