/*
 * The results of a run or of the tests of RFC 2544 in three forms: text with aligned tables, JSON
 * (docs/pktgen.md), and one HTML page that contains the JSON, draws its plots from it and loads
 * nothing else. Each form is written in pieces to a function, so no buffer holds the whole.
 *
 * Reported frame sizes include the FCS. Each result of RFC 2544 names its trials, and all trials
 * are listed with their counts.
 */
#ifndef PKTGEN_REPORT_REPORT_H
#define PKTGEN_REPORT_REPORT_H

#include "tools/pktgen/measure/judge.h"
#include "tools/pktgen/measure/pace.h"
#include "tools/pktgen/measure/rfc2544.h"

struct report_port {
	const char *name, *driver;
	uint8_t mac[6];
	uint64_t bps;            /* line rate; 0: it has none */
	bool card_stamps;        /* the card times probes; software times the frames of streams */
};

/* One stream of a run, summed over its cores. */
struct report_stream {
	const char *name;
	uint8_t port, port_in;   /* port_in PLAN_PORT_NONE: any port */
	bool stamped;            /* false: its received frames are not judged */
	bool paced;
	uint64_t card_bps;       /* L2, of the card's rate limiter; 0: the cores pace the stream */
	uint64_t sent, sent_bytes; /* without FCS */
	uint64_t elapsed_ns;       /* from its first burst to its last */
	const struct judge_result *in;
	const struct pace_result *pace;
};

/* Frames timed by the cards (probe.h). */
struct report_probe {
	uint8_t port, port_in;
	uint64_t sent;
	uint64_t clock_error_ns; /* largest error of a comparison of the ports' clocks */
	const struct histogram *latency; /* of the timed frames */
};

struct report {
	const char *version;     /* of Hayate */
	const char *machine;     /* processor, hypervisor, ... one line */
	const char *started;     /* when, as text */
	const char *script;      /* the script's text */
	uint64_t catch_up_ns;    /* a run is invalid if a stream fell behind by more */
	const struct report_port *port;
	unsigned ports;
	/* a run; streams 0: none, or it could not start (`error`) */
	const struct report_stream *stream;
	unsigned streams;
	const struct report_probe *probe; /* NULL: none were sent */
	uint64_t elapsed_ns;
	enum trial_flaw flaw;
	const struct rfc2544 *rfc2544; /* NULL: none */
	const char *error;       /* why the run or the tests failed; "": they did not */
};

typedef void report_write(void *ctx, const char *text, size_t len);

void report_text(const struct report *r, report_write *write, void *ctx);
void report_json(const struct report *r, report_write *write, void *ctx);
void report_html(const struct report *r, report_write *write, void *ctx);

/* The parts of report_text for the progress of a run: its first line, a stream, the probes. */
void report_text_verdict(const struct report *r, report_write *write, void *ctx);
void report_text_stream(const struct report_stream *s, report_write *write, void *ctx);
void report_text_probe(const struct report_probe *p, report_write *write, void *ctx);

#endif
