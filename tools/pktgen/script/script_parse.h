/*
 * Declarations that the parsers of statements (script*.c) share.
 *
 * The parser of a statement gets the words of one line and the number of the first word after the
 * statement's own. If it fails, the plan is discarded (script.h, invariant 1).
 */
#ifndef PKTGEN_SCRIPT_SCRIPT_PARSE_H
#define PKTGEN_SCRIPT_SCRIPT_PARSE_H

#include "control/text/words.h"
#include "tools/pktgen/script/script.h"

#define SCRIPT_STATEMENTS_MAX 48
/* All values of a list are one word: 32 IPv6 addresses have 1279 characters. */
#define SCRIPT_LINE_MAX 2047

/* Where a statement may stand: outside of blocks, in any stream, in a stream with generated frames,
 * in a stream that replays a capture, or in rfc2544. */
enum script_block { IN_SCRIPT, IN_STREAM, IN_MADE, IN_REPLAY, IN_RFC2544 };

/* The first statement of a kind. */
struct script_first {
	uint32_t line; /* 0: none so far */
	const char *words;
};

/* What the checks of a stream need besides the plan. Each uint32_t is the line of a statement; 0:
 * the stream does not have this statement. */
struct script_said {
	uint32_t addresses, size, rate, burst, weight, limit, no_stamp, speed, loop;
	bool stamp;
	uint64_t times; /* the speed, in thousandths */
	struct script_first made, replayed; /* first statement of IN_MADE, of IN_REPLAY */
};

struct script_parser {
	struct words w; /* of the present line, without its comment */
	struct plan *out;
	enum script_block block;
	struct plan_stream *stream; /* of the open block */
	struct script_said *said;   /* of `stream` */
	uint32_t run_line;
	uint32_t vary_line[PLAN_FIELDS_MAX]; /* by field of `stream` */
	/* The line of each statement, by its row in the table; 0: none. A new block clears the
	 * lines of statements that stand in blocks. */
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

/* Parses a decimal number, which may have a fraction: *out = number * 10^exponent. E_INVAL: it is
 * no number, or the product is not whole or does not fit. */
int script_decimal(struct text t, unsigned exponent, uint64_t *out);

#define SCRIPT_NUMBER_MAX 32

/* Writes value / 10^exponent (exponent up to 20) without trailing zeros behind the point. Returns
 * buf. */
char *script_scaled(char buf[SCRIPT_NUMBER_MAX], uint64_t value, unsigned exponent);

/* "10s", "1.5ms": nanoseconds. */
int script_time(struct script_parser *p, unsigned i, const char *what, bool zero_too, uint64_t *ns);

/* "12.5%": *out = number * 10^exponent, from min to max. */
int script_percent(struct script_parser *p, unsigned i, const char *what, unsigned exponent,
                   uint64_t min, uint64_t max, uint64_t *out);

/* "1.5Mpps", "10Gbps", "8Gbps l2", "50%" from word *i on. *i moves behind the rate. */
int script_rate(struct script_parser *p, unsigned *i, struct plan_rate *out);

/* "10s", "1000000 frames" or "10s or 1000000 frames" from word i on to the end of the line. */
int script_limit(struct script_parser *p, unsigned i, struct plan_limit *out);

/* "64/594/1518": up to PLAN_SIZES_MAX sizes, in the script with FCS, in size[] without. */
int script_sizes(struct script_parser *p, unsigned i, uint16_t *size, uint8_t *sizes);

#define SCRIPT_TIME_MAX_NS 1000000000000000000ull /* some thirty years */
#define SCRIPT_RATE_MAX 100000000000000ull        /* 100 Tbit/s */
#define SCRIPT_PERCENT_EXPONENT 3                 /* plan.h counts in 1/1000 per cent */
#define SCRIPT_PERCENT_ALL 100000

/* The frame sizes of "imix", with FCS: 7 of 64, 4 of 594 and 1 of 1518 bytes, in mixed order. */
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

/* Checks a stream that replays a capture, and fills in its defaults. */
int script_check_replay(struct script_parser *p, struct plan_stream *s,
                        const struct script_said *said);

int script_probe(struct script_parser *p, unsigned i); /* script_probe.c */

/* The flags of TCP as a script names them, from bit 0 on. */
extern const char *const script_tcp_flags[8];

/* --- script_check.c --- */

/* Fills in defaults and checks the whole script (script.h, invariant 2). */
int script_check(struct script_parser *p);

#endif
