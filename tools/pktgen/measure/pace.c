#include "tools/pktgen/measure/pace.h"

#include "lib/mem.h"

#define NS_SHIFT 56
#define SCALE_COST_MAX (1ull << 54) /* so that PACE_MAX of them fit 64 bits */
#define SCALE_RATE_MAX (1ull << 44) /* so that ns_scale keeps 10 bits at least */

static uint64_t percent_of(uint64_t line_bps, uint64_t milli)
{
	return line_bps / 100000 * milli + line_bps % 100000 * milli / 100000;
}

/* Units a second. */
static uint64_t units(const struct plan_rate *rate, uint64_t line_bps)
{
	return rate->unit == PLAN_PERCENT ? percent_of(line_bps, rate->value) : rate->value;
}

static unsigned mean_len(const struct plan_stream *s)
{
	unsigned sum = 0;
	if (s->size_mode == PLAN_SIZES_RANDOM)
		return (unsigned)(s->size[0] + s->size[1]) / 2;
	for (unsigned i = 0; i < s->sizes; i++)
		sum += s->size[i];
	return s->sizes ? sum / s->sizes : PLAN_FRAME_MIN;
}

static inline uint64_t cost_of(const struct pace *p, unsigned len)
{
	return p->by_bytes ? p->unit * (len + p->overhead) : p->unit;
}

static void set_rate(struct pace *p, uint64_t rate)
{
	p->rate = rate;
	pace_parts two = (pace_parts)p->cost * p->burst * 2;
	p->limit = (pace_parts)p->owed_max * rate;
	p->limit = two > p->limit ? two : p->limit;
	/* 10^9 / (hz * rate), times 2^56 */
	struct wide scale = {1000000000ull >> (64 - NS_SHIFT), 1000000000ull << NS_SHIFT};
	p->ns_scale = rate ? wide_div(scale, p->hz) / rate : 0;
}

/* The rate of a step: that of the slope in the middle of the step, which is the mean. */
static uint64_t step_rate(const struct pace *p, uint32_t step)
{
	uint64_t at = 2 * (uint64_t)step + 1;
	return (p->rate_from * (2 * PACE_STEPS - at) + p->rate_to * at) / (2 * PACE_STEPS);
}

static uint64_t step_end(const struct pace *p, uint32_t step)
{
	return p->start + wide_mul_div(p->ramp_ticks, step + 1, PACE_STEPS);
}

/* Makes parts smaller: the steps of a slow ramp would differ too little as whole numbers. */
static void scale_up(struct pace *p, uint64_t dearest)
{
	uint64_t fastest = p->rate_to > p->rate_from ? p->rate_to : p->rate_from;
	while (dearest < SCALE_COST_MAX / 2 && fastest < SCALE_RATE_MAX / 2) {
		dearest *= 2;
		fastest *= 2;
		p->unit *= 2;
		p->rate_from *= 2;
		p->rate_to *= 2;
	}
}

static void ramp_start(struct pace *p, const struct plan_stream *s, const struct pace_rate *r)
{
	p->rate_from = units(&s->rate, r->line_bps);
	p->rate_to = units(&s->rate_end, r->line_bps);
	scale_up(p, p->by_bytes ? p->unit * (PLAN_FRAME_MAX + p->overhead) : p->unit);
	p->cost = cost_of(p, p->len_mean);
	p->ramp_ticks = wide_mul_div(s->ramp_ns, r->hz, 1000000000);
	p->step = 0;
	p->step_end = step_end(p, 0);
	set_rate(p, step_rate(p, 0));
}

/* A replay at `speed` thousandths of its recorded speed. Common factors of ten are removed, because
 * small numbers leave ns_scale more bits. */
static void replay_start(struct pace *p, uint64_t speed, uint64_t hz)
{
	uint64_t per_tick = 1000000000 * speed, per_ns = hz * PLAN_SPEED_ONE;
	while (per_tick % 10 == 0 && per_ns % 10 == 0) {
		per_tick /= 10;
		per_ns /= 10;
	}
	p->by_gap = true;
	p->unit = per_ns;
	p->cost = 0;
	set_rate(p, per_tick);
}

void pace_start(struct pace *p, const struct plan_stream *s, const struct pace_rate *r,
                uint64_t start_tsc)
{
	memset(p, 0, sizeof *p);
	pace_result_clear(&p->result);
	p->flat = s->rate.unit == PLAN_FLAT;
	p->by_bytes = s->rate.unit != PLAN_PPS;
	p->overhead = PLAN_FCS_BYTES + (s->rate.unit == PLAN_L2_BPS ? 0 : PLAN_WIRE_BYTES);
	p->one_len = s->size_mode == PLAN_SIZES_LIST && s->sizes <= 1 && r->len_mean == 0;
	p->len_mean = r->len_mean ? r->len_mean : (uint16_t)mean_len(s);
	p->burst = s->burst > 1 ? s->burst : 1;
	p->last = p->start = start_tsc;
	p->end = r->end_tsc ? r->end_tsc - 1 : UINT64_MAX;
	p->hz = r->hz;
	p->owed_max = r->owed_max;
	p->tolerance_ppm = r->tolerance_ppm;
	p->step = PACE_STEPS;
	/* this flow has its share of the stream's rate: its frames cost `senders` times as much */
	p->unit = r->hz * r->senders * (p->by_bytes ? 8 : 1);
	p->cost = cost_of(p, p->len_mean);
	if (s->rate.unit == PLAN_RECORDED)
		replay_start(p, s->rate.value, r->hz);
	else if (s->ramp_ns && !p->flat)
		ramp_start(p, s, r);
	else
		set_rate(p, units(&s->rate, r->line_bps));
	/* the senders before this one send first; cost / senders is exact for equal frames */
	p->balance = -(pace_parts)(p->cost / r->senders) * r->sender * p->burst;
}

static struct wide as_wide(unsigned __int128 n)
{
	return (struct wide){(uint64_t)(n >> 64), (uint64_t)n};
}

/* The flow owes more than it may: forgives whole frames. A replay keeps its frames and loses the
 * time. */
static COLD void forgive(struct pace *p)
{
	unsigned __int128 owed = (unsigned __int128)(p->balance + p->after);
	uint64_t ticks = wide_div(as_wide(owed), p->rate);
	uint64_t lag_ns = wide_mul_div(ticks, 1000000000, p->hz);
	if (p->by_gap) {
		p->balance = 0;
	} else {
		unsigned __int128 excess = owed - (unsigned __int128)p->limit + (p->cost - 1);
		uint64_t frames = wide_div(as_wide(excess), p->cost);
		uint64_t due = wide_div(as_wide((unsigned __int128)p->balance), p->cost) + 1;
		frames = frames < due ? frames : due;
		p->balance -= (pace_parts)p->cost * frames;
		p->result.forgiven += frames;
	}
	p->result.behind++;
	if (lag_ns > p->result.worst_lag_ns)
		p->result.worst_lag_ns = lag_ns;
}

/* Adds the parts for the time up to now, or to the end. */
static void pay(struct pace *p, uint64_t now)
{
	uint64_t late = now > p->end ? now - p->end : 0;
	now -= late;
	while (unlikely(p->step < PACE_STEPS) && now >= p->step_end) {
		p->balance += (pace_parts)(p->step_end - p->last) * p->rate;
		p->last = p->step_end;
		p->step++;
		set_rate(p, p->step < PACE_STEPS ? step_rate(p, p->step) : p->rate_to);
		p->step_end = step_end(p, p->step);
	}
	p->balance += (pace_parts)(now - p->last) * p->rate;
	p->last = now;
	p->after = (pace_parts)late * p->rate;
	if (unlikely(p->balance + p->after > p->limit) && p->balance >= 0 && p->rate)
		forgive(p);
}

/* pace_due for frames of several lengths, or in bursts. */
static unsigned due_each(const struct pace *p, const uint16_t *len, unsigned max)
{
	pace_parts balance = p->balance;
	uint32_t left = p->left;
	unsigned n = 0;
	for (; n < max; n++) {
		if (left == 0) {
			if (balance < 0)
				break;
			left = p->burst;
		}
		left--;
		balance -= len ? cost_of(p, len[n]) : p->cost;
	}
	return n;
}

unsigned pace_due(struct pace *p, uint64_t now, const uint16_t *len, unsigned max)
{
	if (p->flat)
		return max;
	if (now < p->last)
		return 0;
	max = max > PACE_MAX ? PACE_MAX : max;
	pay(p, now);
	if ((len && !p->one_len) || p->burst > 1)
		return due_each(p, p->one_len ? NULL : len, max);
	if (p->balance < 0)
		return 0;
	if (p->balance >= (pace_parts)p->cost * max)
		return max;
	return (unsigned)((uint64_t)p->balance / p->cost) + 1;
}

static inline uint64_t parts_to_ns(const struct pace *p, pace_parts parts)
{
	return (uint64_t)((unsigned __int128)parts * p->ns_scale >> NS_SHIFT);
}

/* The errors of the frames of one call, in ns. They are collected here and written once: at 148.8
 * million frames a second there are 17 cycles for a frame. */
struct errors {
	uint64_t sum, min, max;
};
#define NO_ERRORS {0, UINT64_MAX, 0}

static inline void note_error(struct pace *p, struct errors *e, pace_parts lag)
{
	lag += p->after;
	uint64_t ns = lag > 0 ? parts_to_ns(p, lag) : 0;
	p->result.error.cell[histogram_cell(ns)]++;
	e->sum += ns;
	e->min = ns < e->min ? ns : e->min;
	e->max = ns > e->max ? ns : e->max;
}

/* Frames of one length, not in bursts. */
static void sent_even(struct pace *p, struct errors *e, unsigned n)
{
	pace_parts lag = p->balance;
	for (unsigned i = 0; i < n; i++, lag -= p->cost)
		note_error(p, e, lag);
	p->balance = lag;
}

static void sent_each(struct pace *p, struct errors *e, const uint16_t *len, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t cost = len ? cost_of(p, len[i]) : p->cost;
		if (p->left == 0) {
			p->left = p->burst;
			p->taken = 0;
		}
		note_error(p, e, p->balance + p->taken);
		p->left--;
		p->taken += cost;
		p->balance -= cost;
	}
}

/* Counts n sent frames with these errors. */
static inline void book(struct pace *p, const struct errors *e, unsigned n)
{
	struct histogram *h = &p->result.error;
	p->result.sent += n;
	h->sum = wide_add(h->sum, e->sum);
	h->min = e->min < h->min ? e->min : h->min;
	h->max = e->max > h->max ? e->max : h->max;
	if (e->max > p->result.worst_lag_ns)
		p->result.worst_lag_ns = e->max;
}

void pace_sent(struct pace *p, const uint16_t *len, unsigned n)
{
	struct errors e = NO_ERRORS;
	if (p->flat || n == 0) {
		p->result.sent += n;
		return;
	}
	if (p->burst == 1 && (p->one_len || !len))
		sent_even(p, &e, n);
	else
		sent_each(p, &e, p->one_len ? NULL : len, n);
	book(p, &e, n);
}

unsigned pace_due_gaps(struct pace *p, uint64_t now, const uint64_t *gap_ns, unsigned max)
{
	if (now < p->last)
		return 0;
	pay(p, now);
	pace_parts balance = p->balance;
	unsigned n = 0;
	for (; n < max && balance >= 0; n++)
		balance -= (pace_parts)gap_ns[n] * p->unit;
	return n;
}

void pace_sent_gaps(struct pace *p, const uint64_t *gap_ns, unsigned n)
{
	struct errors e = NO_ERRORS;
	for (unsigned i = 0; i < n; i++) {
		note_error(p, &e, p->balance);
		p->balance -= (pace_parts)gap_ns[i] * p->unit;
	}
	book(p, &e, n);
}

uint64_t pace_next(const struct pace *p)
{
	if (p->flat || p->left > 0 || p->balance >= 0)
		return p->last;
	uint64_t until = p->step < PACE_STEPS ? p->step_end : UINT64_MAX;
	if (p->rate == 0)
		return until;
	unsigned __int128 missing = (unsigned __int128)-p->balance + (p->rate - 1);
	uint64_t ticks = wide_div(as_wide(missing), p->rate);
	uint64_t due = ticks > UINT64_MAX - p->last ? UINT64_MAX : p->last + ticks;
	return due < until ? due : until;
}

bool pace_kept(const struct pace *p)
{
	const struct pace_result *r = &p->result;
	if (r->forgiven == 0)
		return !p->by_gap || r->behind == 0;
	uint64_t owed_ns = parts_to_ns(p, p->limit);
	uint64_t allowed = wide_mul_div(r->sent + r->forgiven, p->tolerance_ppm, 1000000);
	return r->forgiven <= allowed && r->worst_lag_ns <= 2 * owed_ns;
}

void pace_result_clear(struct pace_result *r)
{
	memset(r, 0, sizeof *r);
	histogram_clear(&r->error);
}
