/*
 * Lines and statements of the script; see script.h and docs/pktgen.md.
 *
 * The table `statements` defines the language. A line is cut into words, the statement with the
 * most matching words is looked up, and its parser takes the other words. A parser sees only lines
 * of printable ASCII with SCRIPT_LINE_MAX characters at most.
 *
 * At most one block is open between lines; none at the start.
 *
 *     statement                        effect on the open block
 *     `stream`, `rfc2544`              opens its own instead
 *     another statement of the script  closes it
 *     a statement of a block           none; an error if its block is not open
 */
#include "lib/fmt.h"
#include "lib/mem.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "tools/pktgen/script/script_parse.h"

/* --- statements of the script --- */

#define LINE_BPS_MIN 1000000
#define CATCH_UP_MAX_NS 10000000000u

/* Word i is an IPv4 or IPv6 prefix without host bits. *plen counts in the 128 bits of *prefix, so
 * IPv4's length comes out plus 96. */
static int parse_prefix(struct script_parser *p, unsigned i, struct net_addr *prefix, uint8_t *plen)
{
	char good[FMT_PREFIX6_MAX];
	unsigned n;
	uint32_t four;
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	if (text_parse_prefix(p->w.word[i], &four, &n) == 0) {
		uint32_t masked = four & ip4_prefix_mask(n);
		if (masked != four)
			return FAIL(p, i, "the prefix has host bits set; did you mean %s?",
			            fmt_prefix(good, masked, n));
		*prefix = net_addr_ip4(four);
		*plen = (uint8_t)(96 + n);
		return 0;
	}
	struct net_addr six;
	if (text_parse_prefix6(p->w.word[i], &six, &n) != 0)
		return FAIL(p, i, "expected a prefix such as 192.0.2.0/24 or 2001:db8::/64");
	struct net_addr masked = ip6_prefix_of(&six, n);
	if (!net_addr_equal(&masked, &six))
		return FAIL(p, i, "the prefix has host bits set; did you mean %s?",
		            fmt_prefix6(good, &masked, n));
	*prefix = six;
	*plen = (uint8_t)n;
	return 0;
}

static int parse_answer(struct script_parser *p, unsigned i)
{
	struct plan_answer a = {.line = p->w.line};
	int error = script_port(p, i, &a.port);
	if (error != 0 || (error = parse_prefix(p, i + 1, &a.prefix, &a.plen)) != 0 ||
	    (error = words_end(&p->w, i + 2)) != 0)
		return error;
	for (unsigned k = 0; k < p->out->answers; k++) {
		const struct plan_answer *b = &p->out->answer[k];
		if (b->port == a.port && b->plen == a.plen && net_addr_equal(&b->prefix, &a.prefix))
			return FAIL(p, i + 1, "this prefix stands already at line %u", b->line);
	}
	if (p->out->answers == PLAN_ANSWERS_MAX)
		return FAIL(p, i, "too many answers; at most %d", PLAN_ANSWERS_MAX);
	p->out->answer[p->out->answers++] = a;
	return 0;
}

static int parse_line_rate(struct script_parser *p, unsigned i)
{
	uint8_t port;
	unsigned next = i + 1;
	struct plan_rate rate;
	int error = script_port(p, i, &port);
	if (error != 0 || (error = script_rate(p, &next, &rate)) != 0 ||
	    (error = words_end(&p->w, next)) != 0)
		return error;
	if (p->out->line_bps[port] != 0)
		return FAIL(p, i, "the line rate of this port stands already at line %u",
		            p->out->line_line[port]);
	if (rate.unit != PLAN_L1_BPS || rate.value < LINE_BPS_MIN)
		return FAIL(p, i + 1, "a line rate is in bits a second on the wire, such as 10Gbps; "
		            "1Mbps at least");
	p->out->line_bps[port] = rate.value;
	p->out->line_line[port] = p->w.line;
	return 0;
}

static int parse_catch_up(struct script_parser *p, unsigned i)
{
	int error = script_time(p, i, "the catch-up", false, &p->out->catch_up_ns);
	if (error == 0 && p->out->catch_up_ns > CATCH_UP_MAX_NS)
		return FAIL(p, i, "more than 10s cannot be caught up");
	return error != 0 ? error : words_end(&p->w, i + 1);
}

#define CAPTURE_SIZE_MIN 14 /* an Ethernet header */
#define CAPTURE_FRAMES_MAX 1000000000000ull

static int parse_capture(struct script_parser *p, unsigned i)
{
	uint8_t port;
	uint64_t size = PLAN_FRAME_MAX, frames = 0;
	int error = script_port(p, i++, &port);
	if (error == 0 && words_is(&p->w, i, "size")) {
		error = words_number(&p->w, i + 1, "the bytes of a frame", CAPTURE_SIZE_MIN, PLAN_FRAME_MAX,
		                     &size);
		i += 2;
	}
	if (error == 0 && words_is(&p->w, i, "frames")) {
		error = words_number(&p->w, i + 1, "the number of frames", 1, CAPTURE_FRAMES_MAX, &frames);
		i += 2;
	}
	if (error != 0 || (error = words_end(&p->w, i)) != 0)
		return error;
	struct plan_capture *c = &p->out->capture[port];
	if (c->size != 0)
		return FAIL(p, 1, "this port is captured already, by line %u", c->line);
	*c = (struct plan_capture){p->w.line, (uint32_t)size, frames};
	return 0;
}

static int parse_verify(struct script_parser *p, unsigned i)
{
	p->out->verify = true;
	return words_end(&p->w, i);
}

static bool is_name(struct text w)
{
	if (w.len == 0 || w.len >= PLAN_NAME_BYTES)
		return false;
	for (size_t i = 0; i < w.len; i++) {
		char c = text_lower(w.at[i]);
		bool inner = c == '-' || c == '_' || c == '.';
		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && !(inner && i > 0))
			return false;
	}
	return true;
}

static int parse_stream(struct script_parser *p, unsigned i)
{
	int error = words_expect(&p->w, i);
	if (error != 0 || (error = words_end(&p->w, i + 1)) != 0)
		return error;
	struct text name = p->w.word[i];
	if (!is_name(name))
		return FAIL(p, i, "a stream's name has 1 to %d letters, digits and inner - _ .",
		            PLAN_NAME_BYTES - 1);
	for (unsigned k = 0; k < p->out->streams; k++)
		if (text_is_word(name, text_of(p->out->stream[k].name)))
			return FAIL(p, i, "a stream of this name stands already at line %u",
			            p->out->stream[k].line);
	if (p->out->streams == PLAN_STREAMS_MAX)
		return FAIL(p, i, "too many streams; at most %d", PLAN_STREAMS_MAX);
	p->said = &p->of[p->out->streams];
	p->stream = &p->out->stream[p->out->streams++];
	script_stream_default(p->stream);
	memcpy(p->stream->name, name.at, name.len);
	p->stream->line = p->w.line;
	return 0;
}

static int parse_run(struct script_parser *p, unsigned i)
{
	p->out->autostart = true;
	p->run_line = p->w.line;
	return i < p->w.n ? script_limit(p, i, &p->out->limit) : 0;
}

/* --- RFC 2544 --- */

static int parse_rfc2544(struct script_parser *p, unsigned i)
{
	struct plan_rfc2544 *r = &p->out->rfc2544;
	/* RFC 2544 9.1, 24, 23; RFC 1242 3.17 */
	*r = (struct plan_rfc2544){
		.line = p->w.line, .sizes = 7, .size = {60, 124, 252, 508, 1020, 1276, 1514},
		.duration_ns = 60000000000u, .settle_ns = 2000000000u,
		.learn_ns = 2000000000u, .rest_ns = 5000000000u,
		.resolution = 100, .rate_min = 100, .rate_max = SCRIPT_PERCENT_ALL,
	};
	p->out->has_rfc2544 = true;
	int error = words_expect(&p->w, i);
	for (; error == 0 && i < p->w.n; i++) {
		unsigned test = PLAN_THROUGHPUT;
		while (test < PLAN_TESTS && !words_is(&p->w, i, script_tests[test]))
			test++;
		if (test == PLAN_TESTS)
			return FAIL(p, i, "unknown test; expected throughput, latency, frame-loss or "
			            "back-to-back");
		if (r->tests & 1u << test)
			return FAIL(p, i, "this test stands twice");
		r->tests |= 1u << test;
	}
	return error;
}

static int parse_sizes(struct script_parser *p, unsigned i)
{
	struct plan_rfc2544 *r = &p->out->rfc2544;
	memset(r->size, 0, sizeof r->size);
	int error = script_sizes(p, i, r->size, &r->sizes);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

static int parse_trial(struct script_parser *p, unsigned i)
{
	int error = script_time(p, i, "a trial", false, &p->out->rfc2544.duration_ns);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

static int parse_pause(struct script_parser *p, unsigned i, uint64_t *ns)
{
	int error = script_time(p, i, "the pause", true, ns);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

static int parse_settle(struct script_parser *p, unsigned i)
{
	return parse_pause(p, i, &p->out->rfc2544.settle_ns);
}

static int parse_learn(struct script_parser *p, unsigned i)
{
	return parse_pause(p, i, &p->out->rfc2544.learn_ns);
}

static int parse_rest(struct script_parser *p, unsigned i)
{
	return parse_pause(p, i, &p->out->rfc2544.rest_ns);
}

static int parse_loss(struct script_parser *p, unsigned i)
{
	/* a millionth is 10^-4 per cent */
	int error = script_percent(p, i, "the loss", 4, 0, 999999, &p->out->rfc2544.loss_ppm);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

static int parse_resolution(struct script_parser *p, unsigned i)
{
	int error = script_percent(p, i, "the resolution", SCRIPT_PERCENT_EXPONENT, 1,
	                           SCRIPT_PERCENT_ALL, &p->out->rfc2544.resolution);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

static int parse_search(struct script_parser *p, unsigned i)
{
	struct plan_rfc2544 *r = &p->out->rfc2544;
	int error = script_percent(p, i, "a rate", SCRIPT_PERCENT_EXPONENT, 1, SCRIPT_PERCENT_ALL,
	                           &r->rate_min);
	if (error != 0 || (error = script_expect(p, i + 1, "to")) != 0 ||
	    (error = script_percent(p, i + 2, "a rate", SCRIPT_PERCENT_EXPONENT, 1,
	                            SCRIPT_PERCENT_ALL, &r->rate_max)) != 0)
		return error;
	if (r->rate_max < r->rate_min)
		return FAIL(p, i + 2, "the upper rate is below the lower");
	return words_end(&p->w, i + 3);
}

static int parse_repeat(struct script_parser *p, unsigned i)
{
	uint64_t n = 0;
	int error = words_number(&p->w, i, "the number of trials", 1, 1000, &n);
	p->out->rfc2544.repeats = (uint32_t)n;
	return error != 0 ? error : words_end(&p->w, i + 1);
}

/* --- the table --- */

#define FIELD "(source | destination) (mac | address | port) | vlan | identifier | sequence | " \
	"payload offset N bytes N"
#define MODE "increment A B [step N] | random A B [seed N] | list A/B/C..."
static const struct script_statement statements[] = {
	/* words, syntax, parser, where, once */
	{"answer", "answer ethN PREFIX", parse_answer, IN_SCRIPT, false},
	{"line", "line ethN RATE", parse_line_rate, IN_SCRIPT, false},
	{"catch-up", "catch-up TIME", parse_catch_up, IN_SCRIPT, true},
	{"verify", "verify", parse_verify, IN_SCRIPT, true},
	{"probe", "probe ethN to ethN [ADDRESS ADDRESS] [every TIME]", script_probe, IN_SCRIPT, true},
	{"capture", "capture ethN [size BYTES] [frames N]", parse_capture, IN_SCRIPT, false},
	{"stream", "stream NAME", parse_stream, IN_SCRIPT, false},
	{"port", "port ethN [to ethN]", script_stream_port, IN_STREAM, true},
	{"cores", "cores (N | all)", script_stream_cores, IN_MADE, true},
	{"mac source", "mac source MAC", script_stream_mac_source, IN_STREAM, true},
	{"mac destination", "mac destination MAC", script_stream_mac_destination, IN_STREAM, true},
	{"vlan", "vlan ID [priority N] [dei]", script_stream_vlan, IN_MADE, false},
	{"udp", "udp ADDRESS [port N] ADDRESS [port N]", script_stream_udp, IN_MADE, false},
	{"tcp", "tcp ADDRESS [port N] ADDRESS [port N] [flags FLAG/FLAG...]", script_stream_tcp,
	 IN_MADE, false},
	{"icmp", "icmp ADDRESS ADDRESS [identifier N] [sequence N]", script_stream_icmp, IN_MADE,
	 false},
	{"ip", "ip ADDRESS ADDRESS", script_stream_ip, IN_MADE, false},
	{"ttl", "ttl N", script_stream_ttl, IN_MADE, true},
	{"tos", "tos N", script_stream_tos, IN_MADE, true},
	{"size", "size (BYTES | BYTES/BYTES... | imix | random BYTES BYTES [seed N])",
	 script_stream_size, IN_MADE, true},
	{"stamp", "stamp", script_stream_stamp, IN_MADE, true},
	{"no stamp", "no stamp", script_stream_no_stamp, IN_MADE, true},
	{"rate", "rate (flat | RATE [hardware])", script_stream_rate, IN_STREAM, true},
	{"ramp", "ramp RATE to RATE over TIME", script_stream_ramp, IN_STREAM, true},
	{"burst", "burst FRAMES", script_stream_burst, IN_STREAM, true},
	{"weight", "weight N", script_stream_weight, IN_STREAM, true},
	{"limit", "limit (TIME | N frames | TIME or N frames)", script_stream_limit, IN_STREAM, true},
	{"vary", "vary (" FIELD ") (" MODE ")", script_stream_vary, IN_MADE, false},
	{"replay", "replay FILE", script_stream_replay, IN_REPLAY, true},
	{"speed", "speed N", script_stream_speed, IN_REPLAY, true},
	{"loop", "loop (N | forever)", script_stream_loop, IN_REPLAY, true},
	{"run", "run [TIME | N frames | TIME or N frames]", parse_run, IN_SCRIPT, true},
	{"rfc2544", "rfc2544 (throughput | latency | frame-loss | back-to-back)...", parse_rfc2544,
	 IN_SCRIPT, true},
	{"sizes", "sizes BYTES/BYTES...", parse_sizes, IN_RFC2544, true},
	{"trial", "trial TIME", parse_trial, IN_RFC2544, true},
	{"settle", "settle TIME", parse_settle, IN_RFC2544, true},
	{"learn", "learn TIME", parse_learn, IN_RFC2544, true},
	{"rest", "rest TIME", parse_rest, IN_RFC2544, true},
	{"loss", "loss PERCENT", parse_loss, IN_RFC2544, true},
	{"resolution", "resolution PERCENT", parse_resolution, IN_RFC2544, true},
	{"search", "search PERCENT to PERCENT", parse_search, IN_RFC2544, true},
	{"repeat", "repeat N", parse_repeat, IN_RFC2544, true},
};
_Static_assert(ARRAY_LEN(statements) <= SCRIPT_STATEMENTS_MAX, "parser.seen has a slot for each");

/* No statement matches the line, but the first `matched` words begin one. */
static int fail_unknown(struct script_parser *p, unsigned matched)
{
	if (matched == 0 && p->block == IN_STREAM)
		return FAIL(p, 0, "unknown statement; in a stream there are port, cores, mac, vlan, udp, "
		            "tcp, icmp, ip, ttl, tos, size, stamp, no stamp, rate, ramp, burst, weight, "
		            "limit, vary, replay, speed and loop");
	if (matched == 0 && p->block == IN_RFC2544)
		return FAIL(p, 0, "unknown statement; in rfc2544 there are sizes, trial, settle, learn, "
		            "rest, loss, resolution, search and repeat");
	if (matched == 0)
		return FAIL(p, 0, "unknown statement; expected answer, line, catch-up, verify, probe, "
		            "capture, stream, run or rfc2544");
	/* only the statements that begin with "mac" or "no" have two words */
	return FAIL(p, matched, words_is(&p->w, 0, "mac") ? "expected source or destination after "
	            "\"mac\"" : "expected stamp after \"no\"");
}

/* The block in which the statement stands: IN_SCRIPT, IN_STREAM or IN_RFC2544. */
static enum script_block block_of(const struct script_statement *s)
{
	return s->block == IN_MADE || s->block == IN_REPLAY ? IN_STREAM : s->block;
}

static int fail_place(struct script_parser *p, const struct script_statement *s)
{
	return FAIL(p, 0, "\"%s\" belongs into a block of %s; write \"%s\" before it", s->words,
	            block_of(s) == IN_STREAM ? "a stream" : "rfc2544",
	            block_of(s) == IN_STREAM ? "stream NAME" : "rfc2544 TEST");
}

static void open_block(struct script_parser *p, enum script_block block)
{
	p->block = block;
	for (unsigned s = 0; s < ARRAY_LEN(statements); s++)
		if (statements[s].block != IN_SCRIPT)
			p->seen[s] = 0;
}

/* Notes the first statement of a kind, for errors: a stream cannot have statements of both IN_MADE
 * and IN_REPLAY. */
static void note_first(struct script_first *first, const struct script_parser *p,
                       const struct script_statement *s)
{
	if (first->line == 0)
		*first = (struct script_first){p->w.line, s->words};
}

static int parse_statement(struct script_parser *p)
{
	unsigned best = 0, partial = 0;
	const struct script_statement *found = NULL;
	for (unsigned s = 0; s < ARRAY_LEN(statements); s++) {
		bool all;
		struct text next;
		unsigned n = words_match(p->w.word, p->w.n, statements[s].words, &all, &next);
		if (all && n > best) {
			best = n;
			found = &statements[s];
		}
		if (!all && n > partial)
			partial = n;
	}
	if (found == NULL)
		return fail_unknown(p, partial);
	p->w.syntax = found->syntax;
	if (found->block != IN_SCRIPT && block_of(found) != p->block)
		return fail_place(p, found);
	uint32_t *seen = &p->seen[found - statements];
	if (found->once && *seen != 0)
		return FAIL(p, 0, "\"%s\" stands already at line %u", found->words, *seen);
	if (found->block == IN_SCRIPT)
		open_block(p, found->parse == parse_stream ? IN_STREAM :
		              found->parse == parse_rfc2544 ? IN_RFC2544 : IN_SCRIPT);
	*seen = p->w.line;
	if (found->block == IN_MADE)
		note_first(&p->said->made, p, found);
	if (found->block == IN_REPLAY)
		note_first(&p->said->replayed, p, found);
	return found->parse(p, best);
}

/* The line without its comment, which begins at a word that starts with ! or #. */
static struct text without_comment(struct text line)
{
	for (size_t i = 0; i < line.len; i++)
		if ((line.at[i] == '!' || line.at[i] == '#') && (i == 0 || text_is_blank(line.at[i - 1])))
			return (struct text){line.at, i};
	return line;
}

/* `line` has no newline, but may end in a carriage return. */
static int parse_line(struct script_parser *p, struct text line)
{
	if (line.len > 0 && line.at[line.len - 1] == '\r')
		line.len--;
	struct text rest = without_comment(line), word;
	p->w.body = text_trim_end(rest);
	p->w.n = 0;
	if (!text_next_word(&rest, &word))
		return 0;
	p->w.body.len -= (size_t)(word.at - p->w.body.at);
	p->w.body.at = word.at;
	if (p->w.body.len > SCRIPT_LINE_MAX)
		return text_fail(p->w.err, p->w.line, word, "the line has %u characters; at most %d",
		                 (unsigned)p->w.body.len, SCRIPT_LINE_MAX);
	int error = words_cut(&p->w, line.at);
	return error != 0 ? error : parse_statement(p);
}

static int parse_lines(struct script_parser *p, struct text text)
{
	/* Editors on Windows put a byte-order mark in front of UTF-8. */
	if (text.len >= 3 && memcmp(text.at, "\xef\xbb\xbf", 3) == 0)
		text = (struct text){text.at + 3, text.len - 3};
	while (text.len > 0) {
		size_t n = text_find(text, '\n');
		p->w.line++;
		int error = parse_line(p, (struct text){text.at, n});
		if (error != 0)
			return error;
		size_t used = n < text.len ? n + 1 : n;
		text = (struct text){text.at + used, text.len - used};
	}
	return 0;
}

int script_parse(const char *text, size_t len, struct plan *out, struct text_error *err)
{
	struct script_parser p = {.w.err = err, .out = out};
	/* not by assignment: a compiler may build the whole plan on the stack first */
	memset(out, 0, sizeof *out);
	memset(err, 0, sizeof *err);
	int error = parse_lines(&p, (struct text){text, len});
	if (error == 0)
		error = script_check(&p);
	if (error != 0)
		memset(out, 0, sizeof *out);
	return error;
}
