/* The report as JSON, with the members in docs/pktgen.md. Percentages and means have three
 * decimals, other numbers are integers. Times are in ns. Frame sizes are bytes with FCS. */
#include "lib/mem.h"
#include "tools/pktgen/report/report_out.h"

static void string(struct report_out *o, const char *text)
{
	char escape[FMT_JSON_MAX];
	report_bytes(o, "\"", 1);
	for (; *text; text++)
		report_put(o, "%s", fmt_json(escape, *text));
	report_bytes(o, "\"", 1);
}

/* ,"name": */
static void name(struct report_out *o, const char *what)
{
	report_put(o, ",\"%s\":", what);
}

static void number(struct report_out *o, const char *what, uint64_t value)
{
	report_put(o, ",\"%s\":%llu", what, (unsigned long long)value);
}

static void fixed(struct report_out *o, const char *what, uint64_t value, unsigned decimals)
{
	char text[REPORT_NUMBER];
	report_put(o, ",\"%s\":%s", what, report_fixed(text, value, decimals));
}

static void boolean(struct report_out *o, const char *what, bool value)
{
	report_put(o, ",\"%s\":%s", what, value ? "true" : "false");
}

/* The reason; null if there is none. */
static void reason(struct report_out *o, const char *what, const char *why)
{
	name(o, what);
	if (*why)
		string(o, why);
	else
		report_put(o, "null");
}

static void flaw(struct report_out *o, enum trial_flaw why)
{
	boolean(o, "valid", why == TRIAL_VALID);
	reason(o, "why", why == TRIAL_VALID ? "" : trial_flaw_text(why));
}

/* Begins an item of a list. Each item but the first follows a comma. */
static void open_item(struct report_out *o, bool first)
{
	report_put(o, "%s{", first ? "" : ",\n");
}

static const char *const rank_name[HISTOGRAM_RANKS] = {"p50_ns", "p90_ns", "p99_ns", "p99_9_ns",
                                                        "p99_99_ns"};

static void summary(struct report_out *o, const char *what, const struct histogram_summary *t)
{
	name(o, what);
	report_put(o, "{\"count\":%llu", (unsigned long long)t->count);
	number(o, "min_ns", t->min);
	fixed(o, "mean_ns", t->mean_ps, 3);
	for (unsigned k = 0; k < HISTOGRAM_RANKS; k++)
		number(o, rank_name[k], t->p[k]);
	number(o, "max_ns", t->max);
	report_put(o, "}");
}

/* Cells that have samples: [least value, greatest value, samples]. */
static void cells(struct report_out *o, const struct histogram *h)
{
	bool first = true;
	report_put(o, ",\"latency_cells\":[");
	for (unsigned i = 0; i < HISTOGRAM_CELLS; i++) {
		if (h->cell[i] == 0)
			continue;
		report_put(o, "%s[%llu,%llu,%llu]", first ? "" : ",",
		           (unsigned long long)histogram_cell_low(i),
		           (unsigned long long)histogram_cell_high(i),
		           (unsigned long long)h->cell[i]);
		first = false;
	}
	report_put(o, "]");
}

static uint64_t ipdv_mean_ps(const struct judge_result *in)
{
	struct wide sum = in->ipdv_sum_ns;
	return in->ipdv_count ? wide_mul_div(wide_div(sum, 1), 1000, in->ipdv_count) : 0;
}

static void received(struct report_out *o, uint64_t sent, const struct judge_result *in)
{
	struct histogram_summary t;
	number(o, "received", in->received);
	number(o, "received_bytes", in->bytes);
	number(o, "lost", judge_lost(sent, in));
	number(o, "reordered", in->reordered);
	number(o, "reorder_max", in->reorder_max);
	number(o, "unsure", in->unsure);
	number(o, "duplicates", in->duplicates);
	number(o, "corrupted", in->corrupted);
	number(o, "wrong_port", in->wrong_port);
	number(o, "stale", in->stale);
	number(o, "strange", in->strange);
	number(o, "early", in->early);
	histogram_summarize(&in->latency, &t);
	summary(o, "latency", &t);
	number(o, "pdv_ns", t.p[P99_9] - t.min);
	fixed(o, "ipdv_mean_ns", ipdv_mean_ps(in), 3);
	cells(o, &in->latency);
}

static void stream(struct report_out *o, const struct report_stream *s)
{
	struct histogram_summary t;
	report_put(o, "\"name\":");
	string(o, s->name);
	number(o, "port", s->port);
	name(o, "port_in");
	if (s->port_in == PLAN_PORT_NONE)
		report_put(o, "null");
	else
		report_put(o, "%u", s->port_in);
	number(o, "sent", s->sent);
	number(o, "sent_bytes", s->sent_bytes);
	number(o, "elapsed_ns", s->elapsed_ns);
	number(o, "fps", report_rate(s->sent, s->elapsed_ns));
	number(o, "l1_bps", report_rate(report_l1_bytes(s) * 8, s->elapsed_ns));
	number(o, "l2_bps", report_rate(report_l2_bytes(s) * 8, s->elapsed_ns));
	boolean(o, "stamped", s->stamped);
	if (s->stamped)
		received(o, s->sent, s->in);
	if (s->card_bps)
		number(o, "card_l2_bps", s->card_bps);
	if (s->paced) {
		histogram_summarize(&s->pace->error, &t);
		summary(o, "pacing_error", &t);
		number(o, "forgiven", s->pace->forgiven);
		number(o, "behind", s->pace->behind);
		number(o, "worst_lag_ns", s->pace->worst_lag_ns);
	}
}

static void probe(struct report_out *o, const struct report_probe *p)
{
	struct histogram_summary t;
	histogram_summarize(p->latency, &t);
	report_put(o, ",\n\"probe\":{\"port\":%u", p->port);
	number(o, "port_in", p->port_in);
	number(o, "sent", p->sent);
	number(o, "clock_error_ns", p->clock_error_ns);
	summary(o, "latency", &t);
	report_put(o, "}");
}

static void run(struct report_out *o, const struct report *r)
{
	report_put(o, ",\n\"run\":{\"elapsed_ns\":%llu", (unsigned long long)r->elapsed_ns);
	if (*r->error) {
		boolean(o, "valid", false);
		reason(o, "why", r->error);
	} else {
		flaw(o, r->flaw);
	}
	if (r->probe)
		probe(o, r->probe);
	report_put(o, ",\"streams\":[\n");
	for (unsigned i = 0; i < r->streams; i++) {
		open_item(o, i == 0);
		stream(o, &r->stream[i]);
		report_put(o, "}");
	}
	report_put(o, "]}");
}

/* --- RFC 2544 --- */

/* The first members of each result. "trials" has its first and its last trial, counted from 1. */
static void outcome(struct report_out *o, const struct rfc2544 *m, enum plan_test test, unsigned i)
{
	const struct rfc2544_outcome *c = &m->outcome[test][i];
	report_put(o, "\"size\":%u,\"status\":\"%s\"", m->plan.size[i] + PLAN_FCS_BYTES,
	           report_status(c->status));
	flaw(o, c->status == RFC2544_DONE ? TRIAL_VALID : c->flaw);
	report_put(o, ",\"trials\":");
	if (c->end > c->first)
		report_put(o, "[%u,%u]", c->first + 1, c->end);
	else
		report_put(o, "null");
}

static void throughput(struct report_out *o, const struct rfc2544 *m, unsigned i)
{
	const struct rfc2544_outcome *c = &m->outcome[PLAN_THROUGHPUT][i];
	number(o, "trial", c->trial + 1);
	reason(o, "bounded_by", report_bound(c));
	fixed(o, "rate_percent", c->rate, 3);
	number(o, "fps", rfc2544_fps(m, m->plan.size[i], c->rate));
	number(o, "l1_bps", rfc2544_l1_bps(m, c->rate));
	number(o, "l2_bps", rfc2544_l2_bps(m, m->plan.size[i], c->rate));
}

static void latency(struct report_out *o, const struct rfc2544 *m, unsigned i)
{
	const struct rfc2544_outcome *c = &m->outcome[PLAN_LATENCY][i];
	struct rfc2544_latency l;
	rfc2544_latency(m, i, &l);
	fixed(o, "rate_percent", c->rate, 3);
	number(o, "repeats", l.trials);
	number(o, "min_ns", l.min);
	fixed(o, "mean_ns", l.mean_ps, 3);
	for (unsigned k = 0; k < HISTOGRAM_RANKS; k++)
		number(o, rank_name[k], l.p[k]);
	number(o, "max_ns", l.max);
	number(o, "pdv_ns", l.pdv);
	fixed(o, "ipdv_mean_ns", l.ipdv_mean_ps, 3);
}

static void back_to_back(struct report_out *o, const struct rfc2544 *m, unsigned i)
{
	const struct rfc2544_outcome *c = &m->outcome[PLAN_BACK_TO_BACK][i];
	number(o, "repeats", c->repeats);
	reason(o, "bounded_by", report_bound(c));
	number(o, "min", c->burst_min);
	fixed(o, "mean", wide_mul_div(c->burst_sum, 1000, c->repeats), 3);
	number(o, "max", c->burst_max);
}

static void results(struct report_out *o, const struct rfc2544 *m, enum plan_test test)
{
	report_put(o, ",\n\"%s\":[", report_test(test));
	for (unsigned i = 0; i < m->plan.sizes; i++) {
		enum rfc2544_status status = m->outcome[test][i].status;
		if (status == RFC2544_NOT_ASKED)
			continue;
		open_item(o, i == 0);
		outcome(o, m, test, i);
		if (status == RFC2544_DONE && test == PLAN_THROUGHPUT)
			throughput(o, m, i);
		else if (status == RFC2544_DONE && test == PLAN_LATENCY)
			latency(o, m, i);
		else if (status == RFC2544_DONE && test == PLAN_BACK_TO_BACK)
			back_to_back(o, m, i);
		report_put(o, "}");
	}
	report_put(o, "]");
}

static void trial(struct report_out *o, const struct rfc2544_trial *t, unsigned i)
{
	const struct trial_result *r = &t->result;
	report_put(o, "\"trial\":%u,\"test\":\"%s\",\"size\":%u", i + 1, report_test(t->what.test),
	           t->what.size + PLAN_FCS_BYTES);
	fixed(o, "rate_percent", t->what.rate, 3);
	if (t->what.frames)
		number(o, "frames", t->what.frames);
	else
		number(o, "duration_ns", t->what.duration_ns);
	number(o, "repeat", t->what.repeat);
	number(o, "attempt", t->what.attempt);
	flaw(o, r->flaw);
	number(o, "sent", r->sent);
	number(o, "received", r->received);
	number(o, "lost", trial_lost(r));
	number(o, "duplicates", r->duplicates);
	number(o, "reordered", r->reordered);
	number(o, "corrupted", r->corrupted);
	number(o, "elapsed_ns", r->elapsed_ns);
	number(o, "forgiven", r->forgiven);
	number(o, "worst_lag_ns", r->worst_lag_ns);
	if (r->latency.count) {
		summary(o, "latency", &r->latency);
		fixed(o, "ipdv_mean_ns", r->ipdv_mean_ps, 3);
	}
}

static void rfc2544(struct report_out *o, const struct report *r)
{
	const struct rfc2544 *m = r->rfc2544;
	const struct plan_rfc2544 *p = &m->plan;
	report_put(o, ",\n\"rfc2544\":{\"finished\":%s", m->over ? "true" : "false");
	reason(o, "error", r->error);
	number(o, "line_bps", m->line_bps);
	number(o, "duration_ns", p->duration_ns);
	number(o, "settle_ns", p->settle_ns);
	number(o, "learn_ns", p->learn_ns);
	number(o, "rest_ns", p->rest_ns);
	number(o, "loss_ppm", p->loss_ppm);
	fixed(o, "resolution_percent", p->resolution, 3);
	fixed(o, "rate_min_percent", p->rate_min, 3);
	fixed(o, "rate_max_percent", p->rate_max, 3);
	report_put(o, ",\"sizes\":[");
	for (unsigned i = 0; i < p->sizes; i++) {
		open_item(o, i == 0);
		report_put(o, "\"size\":%u", p->size[i] + PLAN_FCS_BYTES);
		number(o, "line_fps", rfc2544_fps(m, p->size[i], RFC2544_FULL));
		report_put(o, "}");
	}
	report_put(o, "]");
	for (unsigned test = PLAN_THROUGHPUT; test < PLAN_TESTS; test++)
		results(o, m, test);
	report_put(o, ",\n\"trials\":[\n");
	for (uint32_t i = 0; i < m->trials; i++) {
		open_item(o, i == 0);
		trial(o, &m->trial[i], i);
		report_put(o, "}");
	}
	report_put(o, "]}");
}

static void ports(struct report_out *o, const struct report *r)
{
	char mac[FMT_MAC_MAX];
	report_put(o, ",\n\"ports\":[");
	for (unsigned i = 0; i < r->ports; i++) {
		const struct report_port *p = &r->port[i];
		open_item(o, i == 0);
		report_put(o, "\"name\":");
		string(o, p->name);
		name(o, "driver");
		string(o, p->driver);
		report_put(o, ",\"mac\":\"%s\"", fmt_mac(mac, p->mac));
		number(o, "bps", p->bps);
		report_put(o, ",\"stamps\":\"%s\"}",
		           p->card_stamps ? "software, of probes by the card" : "software");
	}
	report_put(o, "]");
}

void report_json_to(struct report_out *o, const struct report *r)
{
	report_put(o, "{\"pktgen\":1,\"version\":");
	string(o, r->version);
	name(o, "machine");
	string(o, r->machine);
	name(o, "started");
	string(o, r->started);
	number(o, "catch_up_ns", r->catch_up_ns);
	ports(o, r);
	if (report_has_run(r))
		run(o, r);
	if (r->rfc2544)
		rfc2544(o, r);
	report_put(o, ",\n\"script\":");
	string(o, r->script);
	report_put(o, "}\n");
}

void report_json(const struct report *r, report_write *write, void *ctx)
{
	struct report_out o = {.write = write, .ctx = ctx};
	report_json_to(&o, r);
	report_flush(&o);
}
