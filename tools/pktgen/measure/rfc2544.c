#include "tools/pktgen/measure/rfc2544.h"

#include "lib/mem.h"

#define LATENCY_REPEATS 20 /* RFC 2544 26.2 */
#define BURST_REPEATS 50   /* 26.4 */
#define BURST_EXACT 1024
/* Trials of a search for a burst. The first search begins at 2 s of frames: 28 halvings at 100
 * Gbit/s. */
#define BURST_FIRST 40
#define BURST_AGAIN 16

const char *trial_flaw_text(enum trial_flaw flaw)
{
	static const char *const text[TRIAL_FLAWS] = {
		[TRIAL_VALID] = "valid",
		[TRIAL_BEHIND] = "the generator fell behind",
		[TRIAL_LINK] = "a link was down",
		[TRIAL_FAULT] = "a core of the generator was started anew",
		[TRIAL_NOTHING] = "nothing was sent",
		[TRIAL_STOPPED] = "stopped",
		[TRIAL_IMPOSSIBLE] = "the test could not go on",
		[TRIAL_ROOM] = "no memory for more trials",
	};
	return (unsigned)flaw < TRIAL_FLAWS ? text[flaw] : "unknown";
}

static uint32_t repeats_of(const struct plan_rfc2544 *p, enum plan_test test)
{
	if (p->repeats)
		return p->repeats;
	return test == PLAN_LATENCY ? LATENCY_REPEATS : BURST_REPEATS;
}

/* The rates of the search are numbered: 0 is rate_min, the last is rate_max. */
static uint64_t last_step(const struct plan_rfc2544 *p)
{
	uint64_t step = p->resolution ? p->resolution : 1, span = p->rate_max - p->rate_min;
	return p->rate_max > p->rate_min ? (span + step - 1) / step : 0;
}

static uint32_t step_to_rate(const struct plan_rfc2544 *p, uint64_t k)
{
	uint64_t step = p->resolution ? p->resolution : 1, rate = p->rate_min + k * step;
	return (uint32_t)(rate < p->rate_max ? rate : p->rate_max);
}

static bool wants(const struct rfc2544 *s, enum plan_test test)
{
	uint32_t tests = s->plan.tests;
	if (tests & 1u << PLAN_LATENCY) /* 26.2: first determine the throughput */
		tests |= 1u << PLAN_THROUGHPUT;
	return tests & 1u << test;
}

uint32_t rfc2544_trials_max(const struct plan_rfc2544 *p)
{
	uint32_t searched = 2, each = 0;
	for (uint64_t k = last_step(p); k > 0; k /= 2)
		searched++;
	if (p->tests & (1u << PLAN_THROUGHPUT | 1u << PLAN_LATENCY))
		each += searched;
	if (p->tests & 1u << PLAN_LATENCY)
		each += repeats_of(p, PLAN_LATENCY);
	if (p->tests & 1u << PLAN_FRAME_LOSS)
		each += RFC2544_FULL / RFC2544_LOSS_STEP + 1;
	if (p->tests & 1u << PLAN_BACK_TO_BACK)
		each += BURST_FIRST + BURST_AGAIN * repeats_of(p, PLAN_BACK_TO_BACK);
	/* room for RFC2544_ATTEMPTS of every other trial; beyond it TRIAL_ROOM ends the tests */
	return p->sizes * (2 * each + RFC2544_ATTEMPTS);
}

static uint64_t wire_bits(unsigned size)
{
	return 8 * (uint64_t)(size + PLAN_FCS_BYTES + PLAN_WIRE_BYTES);
}

uint64_t rfc2544_fps(const struct rfc2544 *s, unsigned size, uint32_t rate)
{
	return wide_mul_div(s->line_bps, rate, RFC2544_FULL * wire_bits(size));
}

uint64_t rfc2544_l1_bps(const struct rfc2544 *s, uint32_t rate)
{
	return wide_mul_div(s->line_bps, rate, RFC2544_FULL);
}

uint64_t rfc2544_l2_bps(const struct rfc2544 *s, unsigned size, uint32_t rate)
{
	uint64_t l2_bits = 8 * (uint64_t)(size + PLAN_FCS_BYTES);
	return wide_mul_div(rfc2544_l1_bps(s, rate), l2_bits, wire_bits(size));
}

/* --- which test and size is next --- */

static struct rfc2544_outcome *current(struct rfc2544 *s)
{
	return &s->outcome[s->test][s->size];
}

static uint64_t burst_most(const struct rfc2544 *s)
{
	uint64_t fps = rfc2544_fps(s, s->plan.size[s->size], RFC2544_FULL);
	uint64_t frames = wide_mul_div(fps, RFC2544_BURST_NS, 1000000000);
	return frames ? frames : 1;
}

static void search_burst(struct rfc2544 *s, uint64_t hint)
{
	s->has_low = s->has_high = false;
	s->high_flaw = TRIAL_VALID;
	s->low = s->high = 0;
	s->hint = hint;
	s->step = hint / 16 ? hint / 16 : 1;
}

/* Begins the present test with the present size; false: it needs no trial. */
static bool begin_size(struct rfc2544 *s)
{
	struct rfc2544_outcome *o = current(s);
	o->first = o->end = s->trials;
	s->attempt = s->repeat = 1;
	s->has_low = s->has_high = false;
	s->high_flaw = TRIAL_VALID;
	s->low = s->high = 0;
	s->clean = 0;
	s->rate = (uint32_t)s->plan.rate_max;
	if (s->test == PLAN_BACK_TO_BACK)
		search_burst(s, burst_most(s));
	if (s->test == PLAN_LATENCY) {
		const struct rfc2544_outcome *t = &s->outcome[PLAN_THROUGHPUT][s->size];
		o->rate = t->rate;
		if (t->status != RFC2544_DONE) {
			o->status = RFC2544_NO_THROUGHPUT;
			return false;
		}
	}
	return true;
}

/* The next size, or the next test that is wanted. */
static void advance(struct rfc2544 *s)
{
	do {
		if (++s->size >= s->plan.sizes) {
			s->size = 0;
			do {
				if (++s->test >= PLAN_TESTS) {
					s->over = true;
					return;
				}
			} while (!wants(s, s->test));
		}
	} while (!begin_size(s));
}

static void finish(struct rfc2544 *s, enum rfc2544_status status, enum trial_flaw flaw)
{
	struct rfc2544_outcome *o = current(s);
	o->status = status;
	o->flaw = flaw;
	advance(s);
}

void rfc2544_begin(struct rfc2544 *s, const struct plan_rfc2544 *plan, uint64_t line_bps,
                   struct rfc2544_trial *trials, uint32_t room)
{
	memset(s, 0, sizeof *s);
	s->plan = *plan;
	s->line_bps = line_bps;
	s->trial = trials;
	s->room = room;
	for (unsigned test = PLAN_THROUGHPUT; test < PLAN_TESTS; test++)
		for (unsigned i = 0; i < plan->sizes; i++)
			s->outcome[test][i].status =
				wants(s, test) ? RFC2544_OPEN : RFC2544_NOT_ASKED;
	s->test = PLAN_RUN;
	s->size = plan->sizes;
	s->over = plan->sizes == 0;
	if (!s->over)
		advance(s);
}

/* --- the next trial --- */

/* The rate between the bounds. done_throughput ends the search. */
static uint64_t next_step(const struct rfc2544 *s)
{
	uint64_t last = last_step(&s->plan);
	if (!s->has_high)
		return last;
	/* no rate has passed yet: halve the way to rate_min */
	return s->has_low ? s->low + (s->high - s->low) / 2 : s->high / 2;
}

static uint64_t next_burst(const struct rfc2544 *s)
{
	uint64_t most = burst_most(s);
	if (s->has_low && s->has_high)
		return s->low + (s->high - s->low) / 2;
	if (s->has_low)
		return s->low + s->step < most ? s->low + s->step : most;
	if (s->has_high)
		return s->high > s->step ? s->high - s->step : 1;
	return s->hint;
}

void rfc2544_bounds(const struct rfc2544 *s, struct rfc2544_bounds *out)
{
	bool rates = s->test == PLAN_THROUGHPUT;
	*out = (struct rfc2544_bounds){s->has_low, s->has_high, s->low, s->high};
	if (rates && s->has_low)
		out->low = step_to_rate(&s->plan, s->low);
	if (rates && s->has_high)
		out->high = step_to_rate(&s->plan, s->high);
}

bool rfc2544_next(struct rfc2544 *s, struct trial *out)
{
	if (s->over)
		return false;
	if (s->trials == s->room) {
		while (!s->over)
			finish(s, RFC2544_NOT_MEASURABLE, TRIAL_ROOM);
		return false;
	}
	struct rfc2544_outcome *o = current(s);
	struct trial *t = &s->trial[s->trials].what;
	*t = (struct trial){.test = s->test, .size = s->plan.size[s->size], .rate = s->rate,
	                    .duration_ns = s->plan.duration_ns, .settle_ns = s->plan.settle_ns,
	                    .repeat = s->repeat, .attempt = s->attempt};
	if (s->test == PLAN_THROUGHPUT)
		t->rate = step_to_rate(&s->plan, next_step(s));
	else if (s->test == PLAN_LATENCY)
		t->rate = o->rate;
	else if (s->test == PLAN_BACK_TO_BACK) {
		t->rate = RFC2544_FULL;
		t->duration_ns = 0;
		t->frames = next_burst(s);
	}
	s->running = true;
	*out = *t;
	return true;
}

/* --- the result of a trial --- */

static bool passes(const struct rfc2544 *s, const struct trial_result *r)
{
	struct wide lost = wide_mul(trial_lost(r), 1000000);
	struct wide may = wide_mul(r->sent, s->plan.loss_ppm);
	return lost.high < may.high || (lost.high == may.high && lost.low <= may.low);
}

/* The search is over. If the generator could not send more, its result is a lower bound. */
static void found(struct rfc2544 *s)
{
	current(s)->bounded = s->high_flaw != TRIAL_VALID;
	finish(s, RFC2544_DONE, s->high_flaw);
}

/* flaw: why all trials at this rate were invalid, so that it does not pass; or TRIAL_VALID. */
static void done_throughput(struct rfc2544 *s, bool passed, enum trial_flaw flaw)
{
	struct rfc2544_outcome *o = current(s);
	uint64_t step = next_step(s);
	if (passed) {
		s->has_low = true;
		s->low = step;
		o->rate = s->trial[s->trials - 1].what.rate;
		o->trial = s->trials - 1;
	} else {
		s->has_high = true;
		s->high = step;
		s->high_flaw = flaw;
	}
	if (s->has_low && (!s->has_high || s->high - s->low == 1))
		found(s);
	else if (!s->has_low && s->high == 0)
		finish(s, flaw ? RFC2544_NOT_MEASURABLE : RFC2544_NOTHING_PASSED, flaw);
}

static void done_latency(struct rfc2544 *s)
{
	if (++current(s)->repeats == repeats_of(&s->plan, PLAN_LATENCY))
		finish(s, RFC2544_DONE, TRIAL_VALID);
	else
		s->repeat++;
}

/* Two trials in succession without any loss end the test (26.3), whatever loss_ppm says. */
static void done_loss(struct rfc2544 *s, bool clean)
{
	uint64_t least = s->plan.rate_min + RFC2544_LOSS_STEP;
	s->clean = clean ? s->clean + 1 : 0;
	if (s->clean == 2 || s->rate <= RFC2544_LOSS_STEP || s->rate < least)
		finish(s, RFC2544_DONE, TRIAL_VALID);
	else
		s->rate -= RFC2544_LOSS_STEP;
}

static void end_burst(struct rfc2544 *s, uint64_t burst)
{
	struct rfc2544_outcome *o = current(s);
	bool bounded = s->high_flaw != TRIAL_VALID || burst == burst_most(s);
	o->burst_min = o->repeats == 0 || burst < o->burst_min ? burst : o->burst_min;
	o->burst_max = burst > o->burst_max ? burst : o->burst_max;
	o->burst_sum += burst;
	o->bounded = bounded;
	if (++o->repeats == repeats_of(&s->plan, PLAN_BACK_TO_BACK) || bounded) {
		finish(s, RFC2544_DONE, s->high_flaw);
		return;
	}
	s->repeat++;
	search_burst(s, burst ? burst : 1);
}

/* flaw: as in done_throughput. */
static void done_burst(struct rfc2544 *s, bool passed, enum trial_flaw flaw)
{
	uint64_t burst = next_burst(s);
	if (passed) {
		s->has_low = true;
		s->low = burst;
	} else {
		s->has_high = true;
		s->high = burst;
		s->high_flaw = flaw;
		if (burst == 1) /* then the longest burst that passes has 0 frames */
			s->has_low = true;
	}
	s->step *= 2;
	if (burst == 1 && flaw)
		finish(s, RFC2544_NOT_MEASURABLE, flaw);
	else if (s->has_low && (s->low == burst_most(s) || (s->has_high &&
	         s->high - s->low <= (s->low < BURST_EXACT ? 1 : s->low / BURST_EXACT))))
		end_burst(s, s->low);
}

/* Repeats an invalid trial. After RFC2544_ATTEMPTS of them frame loss goes on with the next rate,
 * and a search goes on below if the generator fell behind. Otherwise there is no result. */
static void done_invalid(struct rfc2544 *s, enum trial_flaw flaw)
{
	if (flaw != TRIAL_STOPPED && s->attempt < RFC2544_ATTEMPTS) {
		s->attempt++;
		return;
	}
	s->attempt = 1;
	if (s->test == PLAN_FRAME_LOSS && flaw != TRIAL_STOPPED)
		done_loss(s, false);
	else if (s->test == PLAN_THROUGHPUT && flaw == TRIAL_BEHIND)
		done_throughput(s, false, flaw);
	else if (s->test == PLAN_BACK_TO_BACK && flaw == TRIAL_BEHIND)
		done_burst(s, false, flaw);
	else
		finish(s, RFC2544_NOT_MEASURABLE, flaw);
}

void rfc2544_done(struct rfc2544 *s, const struct trial_result *result)
{
	if (!s->running)
		return;
	s->running = false;
	struct trial_result *r = &s->trial[s->trials++].result;
	*r = *result;
	if (r->flaw == TRIAL_VALID && r->sent == 0)
		r->flaw = TRIAL_NOTHING;
	current(s)->end = s->trials;
	if (r->flaw != TRIAL_VALID) {
		done_invalid(s, r->flaw);
		return;
	}
	s->attempt = 1;
	switch (s->test) {
	case PLAN_THROUGHPUT: done_throughput(s, passes(s, r), TRIAL_VALID); break;
	case PLAN_LATENCY: done_latency(s); break;
	case PLAN_FRAME_LOSS: done_loss(s, trial_lost(r) == 0); break;
	default: done_burst(s, trial_lost(r) == 0, TRIAL_VALID); break;
	}
}

void rfc2544_stop(struct rfc2544 *s, enum trial_flaw flaw)
{
	s->running = false;
	while (!s->over)
		finish(s, RFC2544_NOT_MEASURABLE, flaw);
}

/* --- latency --- */

typedef uint64_t value_of(const struct trial_result *r, unsigned which);

static bool is_timed(const struct trial_result *r)
{
	return r->flaw == TRIAL_VALID && r->latency.count > 0;
}

/* The median of one value of the timed trials [first, end): the lower of two in the middle. It is
 * found by counting, because there is no memory for a sorted list. There are some tens of
 * trials. */
static uint64_t median(const struct rfc2544 *s, const struct rfc2544_outcome *o, uint32_t timed,
                       value_of *value, unsigned which)
{
	uint64_t best = UINT64_MAX;
	for (uint32_t i = o->first; i < o->end; i++) {
		uint32_t not_above = 0;
		uint64_t v = value(&s->trial[i].result, which);
		if (!is_timed(&s->trial[i].result) || v >= best)
			continue;
		for (uint32_t k = o->first; k < o->end; k++)
			not_above += is_timed(&s->trial[k].result) &&
			             value(&s->trial[k].result, which) <= v;
		if (not_above >= (timed + 1) / 2)
			best = v;
	}
	return best;
}

static uint64_t percentile(const struct trial_result *r, unsigned which)
{
	return r->latency.p[which];
}

static uint64_t delay_variation(const struct trial_result *r, unsigned which)
{
	return r->latency.p[which] - r->latency.min;
}

void rfc2544_latency(const struct rfc2544 *s, unsigned i, struct rfc2544_latency *out)
{
	const struct rfc2544_outcome *o = &s->outcome[PLAN_LATENCY][i];
	uint64_t means = 0, ipdvs = 0;
	*out = (struct rfc2544_latency){.min = UINT64_MAX};
	for (uint32_t k = o->first; k < o->end; k++) {
		const struct trial_result *r = &s->trial[k].result;
		if (!is_timed(r))
			continue;
		out->trials++;
		out->min = r->latency.min < out->min ? r->latency.min : out->min;
		out->max = r->latency.max > out->max ? r->latency.max : out->max;
		means += r->latency.mean_ps;
		ipdvs += r->ipdv_mean_ps;
	}
	if (out->trials == 0) {
		out->min = 0;
		return;
	}
	out->mean_ps = means / out->trials;
	out->ipdv_mean_ps = ipdvs / out->trials;
	for (unsigned k = 0; k < HISTOGRAM_RANKS; k++)
		out->p[k] = median(s, o, out->trials, percentile, k);
	out->pdv = median(s, o, out->trials, delay_variation, P99_9);
}
