/*
 * Shared by the parsers of statements (script*.c).
 *
 * A parser of a statement gets the words of one line and the number of the first word after the
 * statement's own. If it fails, the plan is discarded (script.h, invariant 1).
 */
#ifndef PKTGEN_SCRIPT_SCRIPT_PARSE_H
#define PKTGEN_SCRIPT_SCRIPT_PARSE_H

#include "control/text/words.h"
#include "tools/pktgen/script/script.h"

#define SCRIPT_STATEMENTS_MAX 48
/* All values of a list are one word: 32 IPv6 addresses have 1279 characters. */
#define SCRIPT_LINE_MAX 2047

/* Where a statement stands; of a stream: any, one whose frames are made, one that replays. */
enum script_block { IN_SCRIPT, IN_STREAM, IN_MADE, IN_REPLAY, IN_RFC2544 };

/* The first statement of a kind. */
struct script_first {
	uint32_t line; /* 0: there was none */
	const char *words;
};

/* What the checks of a stream need beside the plan. A line is 0 if the script has no statement. */
struct script_said {
	uint32_t addresses, size, rate, burst, weight, limit, no_stamp, speed, loop;
	bool stamp;
	uint64_t times; /* the speed, in thousandths */
	struct script_first made, replayed; /* of IN_MADE, of IN_REPLAY */
};

struct script_parser {
	struct words w; /* of the line without the comment behind it */
	struct plan *out;
	enum script_block block;
	struct plan_stream *stream; /* of the open block */
	struct script_said *said;   /* of the same */
	uint32_t run_line;
	uint32_t vary_line[PLAN_FIELDS_MAX]; /* of the stream's fields */
	/* Line that held the statement; of those in a block, in this one. */
	uint32_t seen[SCRIPT_STATEMENTS_MAX];
	struct script_said of[PLAN_STREAMS_MAX];
};

struct script_statement {
	const char *words;
	const char *syntax;
	/* `first` is the number of the word after the statement's own. */
	int (*parse)(struct script_parser *p, unsigned first);
	enum script_block block;
	bool once;
};

/* --- words.c. All of these return 0, or fail --- */

/* Word i is that keyword. */
int script_expect(struct script_parser *p, unsigned i, const char *keyword);

/* Word i is ethN. */
int script_port(struct script_parser *p, unsigned i, uint8_t *port);

/* The tests of RFC 2544, by enum plan_test. */
extern const char *const script_tests[PLAN_TESTS];

/* --- script_value.c: numbers. `what` begins the error --- */

/* A decimal number with a fraction, times 10 to the power of exponent; it must come out whole. */
int script_decimal(struct text t, unsigned exponent, uint64_t *out);

#define SCRIPT_NUMBER_MAX 32

/* The opposite: value / 10^exponent, exponent up to 20, without zeros behind the point. Returns
 * buf. */
char *script_scaled(char buf[SCRIPT_NUMBER_MAX], uint64_t value, unsigned exponent);

/* "10s", "1.5ms": nanoseconds. */
int script_time(struct script_parser *p, unsigned i, const char *what, bool zero_too, uint64_t *ns);

/* "12.5%": times 10 to the power of exponent, from min to max. */
int script_percent(struct script_parser *p, unsigned i, const char *what, unsigned exponent,
                   uint64_t min, uint64_t max, uint64_t *out);

/* "1.5Mpps", "10Gbps", "8Gbps l2", "50%" from word *i on, which moves behind it. */
int script_rate(struct script_parser *p, unsigned *i, struct plan_rate *out);

/* "10s", "1000000 frames" or "10s or 1000000 frames" from word i on to the end of the line. */
int script_limit(struct script_parser *p, unsigned i, struct plan_limit *out);

/* "64/594/1518": up to PLAN_SIZES_MAX sizes with FCS, which come out without. */
int script_sizes(struct script_parser *p, unsigned i, uint16_t *size, uint8_t *sizes);

#define SCRIPT_TIME_MAX_NS 1000000000000000000ull /* some thirty years */
#define SCRIPT_RATE_MAX 100000000000000ull        /* 100 Tbit/s */
#define SCRIPT_PERCENT_EXPONENT 3                 /* plan.h counts in 1/1000 per cent */
#define SCRIPT_PERCENT_ALL 100000

/* The frame sizes of "imix", with FCS: 7 of 64, 4 of 594, 1 of 1518, spread. */
#define SCRIPT_IMIX "64/594/64/64/594/64/1518/64/594/64/64/594"

/* --- the statements of script_stream.c --- */

void script_stream_default(struct plan_stream *s);

int script_stream_port(struct script_parser *p, unsigned i);
int script_stream_cores(struct script_parser *p, unsigned i);
int script_stream_stamp(struct script_parser *p, unsigned i);
int script_stream_no_stamp(struct script_parser *p, unsigned i);
int script_stream_mac_source(struct script_parser *p, unsigned i);
int script_stream_mac_destination(struct script_parser *p, unsigned i);
int script_stream_udp(struct script_parser *p, unsigned i);
int script_stream_tcp(struct script_parser *p, unsigned i);
int script_stream_icmp(struct script_parser *p, unsigned i);
int script_stream_ip(struct script_parser *p, unsigned i);
int script_stream_ttl(struct script_parser *p, unsigned i);
int script_stream_tos(struct script_parser *p, unsigned i);
int script_stream_vlan(struct script_parser *p, unsigned i);
int script_stream_size(struct script_parser *p, unsigned i);
int script_stream_rate(struct script_parser *p, unsigned i);
int script_stream_ramp(struct script_parser *p, unsigned i);
int script_stream_burst(struct script_parser *p, unsigned i);
int script_stream_weight(struct script_parser *p, unsigned i);
int script_stream_limit(struct script_parser *p, unsigned i);
int script_stream_vary(struct script_parser *p, unsigned i); /* script_vary.c */

/* --- script_replay.c --- */

int script_stream_replay(struct script_parser *p, unsigned i);
int script_stream_speed(struct script_parser *p, unsigned i);
int script_stream_loop(struct script_parser *p, unsigned i);

/* The stream replays a file: what it may not say, and what it did not say. */
int script_check_replay(struct script_parser *p, struct plan_stream *s,
                        const struct script_said *said);

int script_probe(struct script_parser *p, unsigned i); /* script_probe.c, of the script */

/* The flags of TCP as a script names them, from bit 0 on. */
extern const char *const script_tcp_flags[8];

/* --- script_check.c --- */

/* Fills in defaults, and checks (script.h, invariant 2). */
int script_check(struct script_parser *p);

#endif
