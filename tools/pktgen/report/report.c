#include "tools/pktgen/report/report.h"

#include "lib/mem.h"
#include "tools/pktgen/report/report_out.h"

typedef unsigned long long ull;

/* --- shared by all writers --- */

void report_flush(struct report_out *o)
{
	if (o->used)
		o->write(o->ctx, o->buf, o->used);
	o->used = 0;
}

void report_bytes(struct report_out *o, const char *text, size_t len)
{
	if (len > sizeof o->buf - o->used)
		report_flush(o);
	if (len > sizeof o->buf) {
		o->write(o->ctx, text, len);
		return;
	}
	memcpy(o->buf + o->used, text, len);
	o->used += (unsigned)len;
}

/* Cuts a text longer than half the buffer; no caller writes such a text. */
void report_put(struct report_out *o, const char *format, ...)
{
	char line[sizeof o->buf / 2];
	__builtin_va_list args;
	__builtin_va_start(args, format);
	size_t len = fmt_vformat(line, sizeof line, format, args);
	__builtin_va_end(args);
	report_bytes(o, line, len < sizeof line ? len : sizeof line - 1);
}

char *report_fixed(char buf[REPORT_NUMBER], uint64_t value, unsigned decimals)
{
	uint64_t one = 1;
	for (unsigned i = 0; i < decimals; i++)
		one *= 10;
	if (decimals == 0)
		fmt_format(buf, REPORT_NUMBER, "%llu", (unsigned long long)value);
	else
		fmt_format(buf, REPORT_NUMBER, "%llu.%0*llu", (unsigned long long)(value / one),
		           (int)decimals, (unsigned long long)(value % one));
	return buf;
}

const char *report_test(enum plan_test test)
{
	static const char *const name[PLAN_TESTS] = {
		[PLAN_RUN] = "run",
		[PLAN_THROUGHPUT] = "throughput",
		[PLAN_LATENCY] = "latency",
		[PLAN_FRAME_LOSS] = "frame_loss",
		[PLAN_BACK_TO_BACK] = "back_to_back",
	};
	return name[test];
}

const char *report_status(enum rfc2544_status status)
{
	static const char *const name[] = {
		[RFC2544_NOT_ASKED] = "not asked",
		[RFC2544_OPEN] = "not finished",
		[RFC2544_DONE] = "done",
		[RFC2544_NOTHING_PASSED] = "loss at every rate",
		[RFC2544_NO_THROUGHPUT] = "no throughput to measure it at",
		[RFC2544_NOT_MEASURABLE] = "not measurable",
	};
	return name[status];
}

const char *report_bound(const struct rfc2544_outcome *o)
{
	if (!o->bounded)
		return "";
	return o->flaw ? trial_flaw_text(o->flaw) : "a burst of 2 s passes";
}

uint64_t report_rate(uint64_t count, uint64_t ns)
{
	return ns ? wide_mul_div(count, 1000000000, ns) : 0;
}

uint64_t report_l2_bytes(const struct report_stream *s)
{
	return s->sent_bytes + s->sent * PLAN_FCS_BYTES;
}

uint64_t report_l1_bytes(const struct report_stream *s)
{
	return report_l2_bytes(s) + s->sent * PLAN_WIRE_BYTES;
}

/* --- text --- */

/* A number with decimals, right-aligned in a column. */
static void cell(struct report_out *o, int width, uint64_t value, unsigned decimals)
{
	char text[REPORT_NUMBER];
	report_put(o, "%*s", width, report_fixed(text, value, decimals));
}

/* Nanoseconds as microseconds. */
static void cell_us(struct report_out *o, uint64_t ns)
{
	cell(o, 11, ns, 3);
}

static void cell_us_of_ps(struct report_out *o, uint64_t ps)
{
	cell_us(o, (ps + 500) / 1000);
}

static void mega_bits(struct report_out *o, uint64_t bps)
{
	cell(o, 12, (bps + 500) / 1000, 3);
}

/* The loss in 1/10000 of a per cent, at least 1 if any frame is lost. */
static uint64_t loss_of(uint64_t lost, uint64_t sent)
{
	uint64_t loss = sent ? wide_mul_div(lost, 1000000, sent) : 0;
	return loss == 0 && lost ? 1 : loss;
}

static void text_head(struct report_out *o, const struct report *r)
{
	char mac[FMT_MAC_MAX], s[REPORT_NUMBER];
	report_put(o, "pktgen of Hayate %s, %s\n%s\n", r->version, r->started, r->machine);
	report_put(o, "valid if no stream fell behind by more than %s ms\n",
	           report_fixed(s, r->catch_up_ns / 1000, 3));
	for (unsigned i = 0; i < r->ports; i++) {
		const struct report_port *p = &r->port[i];
		report_put(o, "%-8s %-12s %s", p->name, p->driver, fmt_mac(mac, p->mac));
		if (p->bps)
			mega_bits(o, p->bps);
		report_put(o, "%s  %s\n", p->bps ? " Mbit/s" : "  no line rate",
		           p->card_stamps ? "stamps by software; probes are timed by the card"
		                          : "stamps by software");
	}
}

/* A summary in one line; the mean has three decimals. */
static void text_summary(struct report_out *o, const char *what, const struct histogram *h)
{
	static const char *const rank[HISTOGRAM_RANKS] = {"p50", "p90", "p99", "p99.9", "p99.99"};
	char mean[REPORT_NUMBER];
	struct histogram_summary t;
	histogram_summarize(h, &t);
	if (t.count == 0)
		return;
	report_put(o, "  %s ns: min %llu mean %s", what, (ull)t.min,
	           report_fixed(mean, t.mean_ps, 3));
	for (unsigned k = 0; k < HISTOGRAM_RANKS; k++)
		report_put(o, " %s %llu", rank[k], (ull)t.p[k]);
	report_put(o, " max %llu\n", (ull)t.max);
}

static void text_received(struct report_out *o, uint64_t sent, const struct judge_result *in)
{
	char loss[REPORT_NUMBER];
	uint64_t lost = judge_lost(sent, in);
	report_put(o, "  received %llu, lost %llu (%s %%), reordered %llu, duplicates %llu, "
	           "corrupted %llu", (ull)in->received, (ull)lost,
	           report_fixed(loss, loss_of(lost, sent), 4), (ull)in->reordered,
	           (ull)in->duplicates, (ull)in->corrupted);
	if (in->wrong_port | in->stale | in->strange | in->early)
		report_put(o, ", wrong port %llu, stale %llu, strange %llu, early %llu",
		           (ull)in->wrong_port, (ull)in->stale, (ull)in->strange, (ull)in->early);
	report_put(o, "\n");
	text_summary(o, "latency", &in->latency);
}

static void text_stream(struct report_out *o, const struct report_stream *s)
{
	char mpps[REPORT_NUMBER], mbps[REPORT_NUMBER];
	const struct pace_result *pace = s->pace;
	report_put(o, "stream %s: eth%u sent %llu frames, %llu bytes", s->name, s->port,
	           (ull)s->sent, (ull)report_l2_bytes(s));
	if (s->elapsed_ns) {
		uint64_t fps = report_rate(s->sent, s->elapsed_ns);
		uint64_t bps = report_rate(report_l1_bytes(s) * 8, s->elapsed_ns);
		report_put(o, ", %s Mpps, %s Mbit/s", report_fixed(mpps, (fps + 500) / 1000, 3),
		           report_fixed(mbps, (bps + 500) / 1000, 3));
	}
	report_put(o, "\n");
	if (s->card_bps)
		report_put(o, "  paced by the card, %s Mbit/s of frames and FCS\n",
		           report_fixed(mbps, s->card_bps / 1000, 3));
	if (pace->behind)
		report_put(o, "  fell behind %llu times, %llu ns at most; %llu frames were never "
		           "sent\n", (ull)pace->behind, (ull)pace->worst_lag_ns,
		           (ull)pace->forgiven);
	if (s->stamped)
		text_received(o, s->sent, s->in);
	else
		report_put(o, "  no stamps: not judged\n");
	if (s->paced)
		text_summary(o, "pacing error", &pace->error);
}

static void text_verdict(struct report_out *o, const struct report *r)
{
	char s[REPORT_NUMBER];
	report_put(o, "Run of %s s: %s%s\n", report_fixed(s, r->elapsed_ns / 1000000, 3),
	           *r->error ? "FAILED: " : r->flaw ? "INVALID: " : "",
	           *r->error ? r->error : trial_flaw_text(r->flaw));
}

void report_text_verdict(const struct report *r, report_write *write, void *ctx)
{
	struct report_out o = {.write = write, .ctx = ctx};
	text_verdict(&o, r);
	report_flush(&o);
}

void report_text_stream(const struct report_stream *s, report_write *write, void *ctx)
{
	struct report_out o = {.write = write, .ctx = ctx};
	text_stream(&o, s);
	report_flush(&o);
}

static void text_probe(struct report_out *o, const struct report_probe *p)
{
	report_put(o, "probe: eth%u to eth%u sent %llu, timed by the cards %llu, clock error at "
	           "most %llu ns\n", p->port, p->port_in, (ull)p->sent,
	           (ull)histogram_count(p->latency), (ull)p->clock_error_ns);
	text_summary(o, "latency", p->latency);
}

void report_text_probe(const struct report_probe *p, report_write *write, void *ctx)
{
	struct report_out o = {.write = write, .ctx = ctx};
	text_probe(&o, p);
	report_flush(&o);
}

static void text_run(struct report_out *o, const struct report *r)
{
	report_put(o, "\n");
	text_verdict(o, r);
	for (unsigned i = 0; i < r->streams; i++)
		text_stream(o, &r->stream[i]);
	if (r->probe)
		text_probe(o, r->probe);
}

/* The first columns of each test. True: the caller writes the result. False: there is none, and
 * the reason was written. */
static bool text_outcome(struct report_out *o, const struct rfc2544 *m, enum plan_test test,
                         unsigned i)
{
	const struct rfc2544_outcome *c = &m->outcome[test][i];
	cell(o, 6, m->plan.size[i] + PLAN_FCS_BYTES, 0);
	if (c->status == RFC2544_DONE)
		return true;
	report_put(o, "  %s%s%s\n", report_status(c->status), c->flaw ? ": " : "",
	           c->flaw ? trial_flaw_text(c->flaw) : "");
	return false;
}

static void text_trials(struct report_out *o, const struct rfc2544_outcome *c)
{
	report_put(o, " %u to %u%s%s\n", c->first + 1, c->end, c->bounded ? "   at least: " : "",
	           report_bound(c));
}

static void text_throughput(struct report_out *o, const struct rfc2544 *m)
{
	report_put(o, "\nThroughput (RFC 2544 26.1)\n  size    rate %%      frames/s   Mbit/s L1"
	              "   Mbit/s L2   trial\n");
	for (unsigned i = 0; i < m->plan.sizes; i++) {
		const struct rfc2544_outcome *c = &m->outcome[PLAN_THROUGHPUT][i];
		if (!text_outcome(o, m, PLAN_THROUGHPUT, i))
			continue;
		cell(o, 10, c->rate, 3);
		cell(o, 14, rfc2544_fps(m, m->plan.size[i], c->rate), 0);
		mega_bits(o, rfc2544_l1_bps(m, c->rate));
		mega_bits(o, rfc2544_l2_bps(m, m->plan.size[i], c->rate));
		report_put(o, "   %u of", c->trial + 1);
		text_trials(o, c);
	}
}

static void text_latency(struct report_out *o, const struct rfc2544 *m)
{
	struct rfc2544_latency l;
	report_put(o, "\nLatency (26.2), us, from stamp to reception\n"
	              "  size    rate %%        min       mean        p50        p90        p99"
	              "      p99.9     p99.99        max\n");
	for (unsigned i = 0; i < m->plan.sizes; i++) {
		const struct rfc2544_outcome *c = &m->outcome[PLAN_LATENCY][i];
		if (!text_outcome(o, m, PLAN_LATENCY, i))
			continue;
		rfc2544_latency(m, i, &l);
		cell(o, 10, c->rate, 3);
		cell_us(o, l.min);
		cell_us_of_ps(o, l.mean_ps);
		for (unsigned k = 0; k < HISTOGRAM_RANKS; k++)
			cell_us(o, l.p[k]);
		cell_us(o, l.max);
		report_put(o, "  ");
		text_trials(o, c);
	}
}

static void text_loss(struct report_out *o, const struct rfc2544 *m)
{
	report_put(o, "\nFrame loss (26.3), %%\n  size  at rate: loss\n");
	for (unsigned i = 0; i < m->plan.sizes; i++) {
		const struct rfc2544_outcome *c = &m->outcome[PLAN_FRAME_LOSS][i];
		char rate[REPORT_NUMBER], loss[REPORT_NUMBER];
		if (!text_outcome(o, m, PLAN_FRAME_LOSS, i))
			continue;
		for (uint32_t k = c->first; k < c->end; k++) {
			const struct rfc2544_trial *t = &m->trial[k];
			uint64_t lost = loss_of(trial_lost(&t->result), t->result.sent);
			report_put(o, "  %s: %s", report_fixed(rate, t->what.rate, 3),
			           t->result.flaw ? "invalid" : report_fixed(loss, lost, 4));
		}
		report_put(o, "  ");
		text_trials(o, c);
	}
}

static void text_bursts(struct report_out *o, const struct rfc2544 *m)
{
	report_put(o, "\nBack-to-back frames (26.4)\n"
	              "  size           min          mean           max   repeats\n");
	for (unsigned i = 0; i < m->plan.sizes; i++) {
		const struct rfc2544_outcome *c = &m->outcome[PLAN_BACK_TO_BACK][i];
		if (!text_outcome(o, m, PLAN_BACK_TO_BACK, i))
			continue;
		cell(o, 14, c->burst_min, 0);
		cell(o, 14, c->burst_sum / c->repeats, 0);
		cell(o, 14, c->burst_max, 0);
		cell(o, 10, c->repeats, 0);
		report_put(o, "  ");
		text_trials(o, c);
	}
}

static void text_trial_list(struct report_out *o, const struct rfc2544 *m)
{
	report_put(o, "\nTrials\n     #  test          size    rate %%          sent      received"
	              "        lost\n");
	for (uint32_t i = 0; i < m->trials; i++) {
		const struct trial *t = &m->trial[i].what;
		const struct trial_result *x = &m->trial[i].result;
		report_put(o, "%6u  %-12s%6u", i + 1, report_test(t->test),
		           t->size + PLAN_FCS_BYTES);
		cell(o, 10, t->rate, 3);
		cell(o, 14, x->sent, 0);
		cell(o, 14, x->received, 0);
		cell(o, 12, trial_lost(x), 0);
		report_put(o, "%s%s\n", x->flaw ? "  invalid: " : "",
		           x->flaw ? trial_flaw_text(x->flaw) : "");
	}
}

void report_text(const struct report *r, report_write *write, void *ctx)
{
	struct report_out o = {.write = write, .ctx = ctx};
	static void (*const tables[PLAN_TESTS])(struct report_out *, const struct rfc2544 *) = {
		[PLAN_THROUGHPUT] = text_throughput,
		[PLAN_LATENCY] = text_latency,
		[PLAN_FRAME_LOSS] = text_loss,
		[PLAN_BACK_TO_BACK] = text_bursts,
	};
	text_head(&o, r);
	if (report_has_run(r))
		text_run(&o, r);
	for (unsigned test = PLAN_THROUGHPUT; r->rfc2544 && test < PLAN_TESTS; test++)
		if (r->rfc2544->outcome[test][0].status != RFC2544_NOT_ASKED)
			tables[test](&o, r->rfc2544);
	if (r->rfc2544)
		text_trial_list(&o, r->rfc2544);
	if (r->rfc2544 && *r->error)
		report_put(&o, "The test failed: %s\n", r->error);
	report_flush(&o);
}
