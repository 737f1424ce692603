/* Checks that need the whole script; see script_parse.h. */
#include "lib/fmt.h"
#include "tools/pktgen/frames/frames.h"
#include "tools/pktgen/script/script_parse.h"

/* The smallest size in which the stream's frames may be sent, without FCS. */
static unsigned smallest(const struct plan *plan, const struct plan_stream *s)
{
	const uint16_t *size = plan->has_rfc2544 ? plan->rfc2544.size : s->size;
	const unsigned sizes = plan->has_rfc2544 ? plan->rfc2544.sizes : s->sizes;
	unsigned least = PLAN_FRAME_MAX;
	for (unsigned i = 0; i < sizes; i++)
		least = size[i] < least ? size[i] : least;
	return least;
}

/* A stream without `no stamp` is stamped if its smallest frame has room, and must be if `stamp` or
 * rfc2544 asks for it. Without `size`, the size grows to the least that holds headers, stamp and
 * fields. */
static int check_sizes(struct script_parser *p, struct plan_stream *s,
                       const struct script_said *said)
{
	const struct plan *plan = p->out;
	const unsigned size = smallest(plan, s);
	s->stamped = said->no_stamp == 0;
	if (frames_least(s) <= size)
		return 0;
	if (said->size == 0 && !plan->has_rfc2544 && frames_least(s) <= PLAN_FRAME_MAX) {
		s->size[0] = (uint16_t)frames_least(s);
		return 0;
	}
	bool wanted = said->stamp || plan->has_rfc2544 || said->no_stamp != 0;
	if (!wanted) {
		s->stamped = false;
		if (frames_least(s) <= size)
			return 0;
	}
	char word[16];
	fmt_format(word, sizeof word, "%u", size + PLAN_FCS_BYTES);
	uint32_t line = plan->has_rfc2544 ? plan->rfc2544.line : said->size ? said->size : s->line;
	return text_fail(p->w.err, line, text_of(word), "a frame of this size has no room for "
	                 "headers%s and fields of stream %s; the least size is %u",
	                 s->stamped ? ", stamp" : "", s->name, frames_least(s) + PLAN_FCS_BYTES);
}

/* Refuses statements of a stream that rfc2544 decides, and `no stamp`. */
static int check_rfc2544(struct script_parser *p, const struct plan_stream *s,
                         const struct script_said *said)
{
	const struct {
		uint32_t line;
		const char *word;
	} own[] = {{said->rate, s->ramp_ns ? "ramp" : "rate"}, {said->size, "size"},
	           {said->burst, "burst"}, {said->limit, "limit"}};
	for (unsigned i = 0; i < ARRAY_LEN(own); i++)
		if (own[i].line != 0)
			return text_fail(p->w.err, own[i].line, text_of(own[i].word),
			                 "rfc2544 at line %u says how its streams are sent; a stream has no "
			                 "%s of its own then", p->out->rfc2544.line, own[i].word);
	if (said->no_stamp != 0)
		return text_fail(p->w.err, said->no_stamp, text_of("no"),
		                 "rfc2544 at line %u counts and times frames by their stamps",
		                 p->out->rfc2544.line);
	return 0;
}

/* Checks a stream that does not replay a capture. */
static int check_made(struct script_parser *p, struct plan_stream *s,
                      const struct script_said *said)
{
	const struct text name = text_of(s->name);
	if (said->replayed.line != 0)
		return text_fail(p->w.err, said->replayed.line, text_of(said->replayed.words),
		                 "the stream replays nothing; add a line \"replay FILE\"");
	if (said->addresses == 0)
		return text_fail(p->w.err, s->line, name, "the stream has no addresses; add a line such as "
		                 "\"udp 192.0.2.1 198.51.100.1\"");
	for (unsigned i = 0; i < s->fields; i++)
		if (s->field[i].where == PLAN_MAC_DST)
			s->resolve = false;
	int error = p->out->has_rfc2544 ? check_rfc2544(p, s, said) : 0;
	return error != 0 ? error : check_sizes(p, s, said);
}

static int check_stream(struct script_parser *p, struct plan_stream *s,
                        const struct script_said *said)
{
	if (s->port == PLAN_PORT_NONE)
		return text_fail(p->w.err, s->line, text_of(s->name),
		                 "the stream has no port; add a line \"port ethN\"");
	int error = s->replay.file[0] != 0 ? script_check_replay(p, s, said) : check_made(p, s, said);
	if (error != 0)
		return error;
	if (said->weight != 0 && s->rate.unit != PLAN_FLAT)
		return text_fail(p->w.err, said->weight, text_of("weight"),
		                 "weights divide a port among its flat streams; this one has a rate");
	if (said->burst != 0 && s->rate.unit == PLAN_FLAT)
		return text_fail(p->w.err, said->burst, text_of("burst"),
		                 "a flat stream has no gaps between bursts; give it a rate");
	return 0;
}

/* A card limits the rate of a queue: of all that one core sends by one port. */
static int check_card_rate(struct script_parser *p, unsigned stream)
{
	struct plan_stream *s = &p->out->stream[stream];
	const struct script_said *said = &p->of[stream];
	if (!s->card_rate)
		return 0;
	if (said->burst != 0)
		return text_fail(p->w.err, said->burst, text_of("burst"),
		                 "the card keeps the rate of line %u and spaces frames evenly",
		                 said->rate);
	if (s->cores > 1)
		return text_fail(p->w.err, said->rate, text_of(s->name),
		                 "a stream whose rate the card keeps is sent by one core");
	s->cores = 1;
	for (unsigned i = 0; i < p->out->streams; i++)
		if (i != stream && p->out->stream[i].port == s->port)
			return text_fail(p->w.err, said->rate, text_of(s->name), "a stream whose rate the card "
			                 "keeps has its port for itself; stream %s at line %u is sent by "
			                 "eth%u, too", p->out->stream[i].name, p->out->stream[i].line, s->port);
	return 0;
}

/* Percentages of one port add up to 100 at most. */
static int check_percents(struct script_parser *p)
{
	uint64_t sum[SCRIPT_PORTS_MAX] = {0};
	for (unsigned i = 0; i < p->out->streams; i++) {
		const struct plan_stream *s = &p->out->stream[i];
		if (s->rate.unit != PLAN_PERCENT)
			continue;
		sum[s->port] += s->ramp_ns != 0 && s->rate_end.value > s->rate.value ? s->rate_end.value
		                                                                     : s->rate.value;
		if (sum[s->port] > SCRIPT_PERCENT_ALL)
			return text_fail(p->w.err, p->of[i].rate, text_of(s->name),
			                 "the streams of eth%u ask for more than 100%% of it together",
			                 s->port);
	}
	return 0;
}

static int check_run(struct script_parser *p)
{
	const struct plan *plan = p->out;
	if (plan->autostart && plan->streams == 0)
		return text_fail(p->w.err, p->run_line, text_of("run"), "there is no stream to run");
	if (plan->has_rfc2544 && plan->streams == 0)
		return text_fail(p->w.err, plan->rfc2544.line, text_of("rfc2544"),
		                 "there is no stream to test with");
	if (plan->has_rfc2544 && plan->probe.every_ns != 0)
		return text_fail(p->w.err, plan->probe.line, text_of("probe"),
		                 "probes go with a run, not with the trials of rfc2544 at line %u",
		                 plan->rfc2544.line);
	if (plan->has_rfc2544 && (plan->limit.ns != 0 || plan->limit.frames != 0))
		return text_fail(p->w.err, p->run_line, text_of("run"),
		                 "rfc2544 at line %u says how long its trials are; write \"run\" alone",
		                 plan->rfc2544.line);
	return 0;
}

int script_check(struct script_parser *p)
{
	struct plan *plan = p->out;
	int error = check_run(p);
	for (unsigned i = 0; i < plan->streams && error == 0; i++)
		error = check_stream(p, &plan->stream[i], &p->of[i]);
	for (unsigned i = 0; i < plan->streams && error == 0; i++)
		error = check_card_rate(p, i);
	if (error == 0)
		error = check_percents(p);
	/* so that frames can be prepared before a test chooses their size */
	for (unsigned i = 0; i < plan->streams && plan->has_rfc2544; i++)
		plan->stream[i].size[0] = plan->rfc2544.size[0];
	return error;
}

static int fail_port(struct text_error *err, uint32_t line, unsigned port, unsigned ports)
{
	char word[16];
	fmt_format(word, sizeof word, "eth%u", port);
	return text_fail(err, line, text_of(word), "there is no such port; the machine has %u",
	                 ports);
}

int script_check_ports(const struct plan *p, unsigned ports, struct text_error *err)
{
	for (unsigned i = 0; i < p->answers; i++)
		if (p->answer[i].port >= ports)
			return fail_port(err, p->answer[i].line, p->answer[i].port, ports);
	for (unsigned port = ports; port < PLAN_PORTS_MAX; port++)
		if (p->line_bps[port] != 0)
			return fail_port(err, p->line_line[port], port, ports);
	for (unsigned port = ports; port < PLAN_PORTS_MAX; port++)
		if (p->capture[port].size != 0)
			return fail_port(err, p->capture[port].line, port, ports);
	const struct plan_probe *q = &p->probe;
	if (q->every_ns != 0 && (q->port >= ports || q->port_in >= ports))
		return fail_port(err, q->line, q->port >= ports ? q->port : q->port_in, ports);
	for (unsigned i = 0; i < p->streams; i++) {
		const struct plan_stream *s = &p->stream[i];
		if (s->port >= ports)
			return fail_port(err, s->line, s->port, ports);
		if (s->port_in != PLAN_PORT_NONE && s->port_in >= ports)
			return fail_port(err, s->line, s->port_in, ports);
	}
	return 0;
}
