/*
 * The tests of RFC 2544 on the control core: rfc2544.h chooses the next trial, conduct.h runs it,
 * and its counts go back to rfc2544.h.
 *
 * A trial is a run of the script's streams with one size for all. Each port sends the trial's rate;
 * streams of a port divide it by their weights, to the bit. The frames of a burst are divided in
 * the same way, to the frame.
 *
 * Section 23: before a trial the device gets learning frames and time to learn; after it there is a
 * pause to settle and one to rest. Learning frames are the first frames of each stream, enough for
 * all its destination addresses, at a low rate. A router that does not know an address sends a
 * request, which is answered (answer.h). Learning is a run of its own, and its frames are not
 * counted.
 *
 * A trial waits for its links. If a trial fails before its first frame was due, the next one would
 * fail for the same reason (a neighbour that does not answer, no memory). The test then ends and
 * reports the reason.
 */
#include "tools/pktgen/trials.h"

#include "control/console/serial.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "tools/pktgen/conduct.h"
#include "tools/pktgen/state.h"

#define MS 1000000ull
#define LINKS_NS (10000 * MS)
#define LEARN_MIN 2 /* frames of a stream: a router may drop the first while it resolves */
#define LEARN_MAX 4096
#define LEARN_FPS 1000
#define LEARN_RATE (RFC2544_FULL / 10) /* the most, in 1/1000 per cent of line rate */
#define LINE_TOLERANCE_PPM 200 /* struct pace_rate: two clocks of 100 ppm each */

static struct {
	struct rfc2544 tests;
	bool any, on;
	bool under_way; /* conduct.c runs the trial, or has ended it */
	bool learning;  /* conduct.c runs the learning frames before the trial */
	bool sent;      /* the trial has begun to send */
	bool stopping;
	uint64_t rest_tsc;  /* end of the rest */
	uint64_t links_tsc; /* end of the wait for links; 0: no wait has begun */
	struct trial trial;
	struct plan plan;   /* of the trial */
	char error[160];    /* why the test ended early */
	struct rfc2544_trial *memory;
	uint32_t room;
} t;

const struct rfc2544 *trials(void)
{
	return t.any ? &t.tests : NULL;
}

bool trials_on(void)
{
	return t.on;
}

const char *trials_error(void)
{
	return t.error;
}

bool trials_now(uint32_t *number, struct trial *trial, struct rfc2544_bounds *bounds)
{
	if (!t.on || !t.under_way)
		return false;
	*number = t.tests.trials + 1;
	*trial = t.trial;
	rfc2544_bounds(&t.tests, bounds);
	return true;
}

const char *trials_pause(void)
{
	if (!t.on || (t.under_way && !t.learning))
		return NULL;
	return t.under_way ? "the device learns" : "the device rests";
}

/* --- the plan of a trial --- */

static uint32_t weight_of(const struct plan_stream *s)
{
	return s->weight ? s->weight : 1;
}

static bool is_sender(const struct plan *p, unsigned port)
{
	for (unsigned i = 0; i < p->streams; i++)
		if (p->stream[i].port == port)
			return true;
	return false;
}

/* The sum of the line rates of all ports that send; 0: port *without has none. */
static uint64_t line_bps(const struct plan *p, unsigned *without)
{
	uint64_t sum = 0;
	for (unsigned port = 0; port < core_port_count(); port++) {
		if (!is_sender(p, port))
			continue;
		uint64_t bps = conduct_line_bps(p, port);
		*without = port;
		if (bps == 0)
			return 0;
		sum += bps;
	}
	return sum;
}

/* Divides the rate of each port among its streams, in bit/s. The division is by sums of weights, so
 * that rounding loses nothing. */
static void divide_rates(struct plan *p, uint32_t milli_percent)
{
	uint32_t all[PLAN_PORTS_MAX] = {0}, before[PLAN_PORTS_MAX] = {0};
	for (unsigned i = 0; i < p->streams; i++)
		all[p->stream[i].port] += weight_of(&p->stream[i]);
	for (unsigned i = 0; i < p->streams; i++) {
		struct plan_stream *s = &p->stream[i];
		uint64_t bps = wide_mul_div(conduct_line_bps(p, s->port), milli_percent,
		                            RFC2544_FULL);
		uint64_t from = wide_mul_div(bps, before[s->port], all[s->port]);
		before[s->port] += weight_of(s);
		s->rate = (struct plan_rate){
			PLAN_L1_BPS, wide_mul_div(bps, before[s->port], all[s->port]) - from};
		if (s->rate.value == 0)
			s->rate.value = 1;
	}
}

/* Divides `frames` among all streams by their rates. Returns the streams that get none, by bit. */
static uint32_t divide_frames(struct plan *p, uint64_t frames)
{
	uint64_t all = 0, before = 0;
	uint32_t silent = 0;
	for (unsigned i = 0; i < p->streams; i++)
		all += p->stream[i].rate.value;
	for (unsigned i = 0; i < p->streams; i++) {
		uint64_t from = wide_mul_div(frames, before, all);
		before += p->stream[i].rate.value;
		p->stream[i].limit.frames = wide_mul_div(frames, before, all) - from;
		if (p->stream[i].limit.frames == 0)
			silent |= 1u << i;
	}
	return silent;
}

/* Makes the plan of a trial, with a rate in 1/1000 per cent of line rate. */
static void make_plan(uint32_t rate)
{
	struct plan *p = &t.plan;
	memcpy(p, &generator.plan, sizeof *p);
	for (unsigned i = 0; i < p->streams; i++) {
		struct plan_stream *s = &p->stream[i];
		s->size_mode = PLAN_SIZES_LIST;
		s->sizes = 1;
		s->size[0] = t.trial.size;
		s->burst = 1;
		s->ramp_ns = 0;
		s->limit = (struct plan_limit){0, 0};
	}
	divide_rates(p, rate);
}

static uint64_t learning_frames(const struct plan_stream *s)
{
	uint64_t n = LEARN_MIN;
	for (unsigned i = 0; i < s->fields; i++)
		if (s->field[i].where == PLAN_IP_DST && s->field[i].count > n)
			n = s->field[i].count;
	return n < LEARN_MAX ? n : LEARN_MAX;
}

static void start_learning(void)
{
	const uint64_t most = LEARN_FPS * 8ull * (t.trial.size + PLAN_FCS_BYTES + PLAN_WIRE_BYTES);
	make_plan(LEARN_RATE);
	for (unsigned i = 0; i < t.plan.streams; i++) {
		struct plan_stream *s = &t.plan.stream[i];
		s->rate.value = s->rate.value < most ? s->rate.value : most;
		s->limit.frames = learning_frames(s);
	}
	const struct conduct_request r = {
		.plan = &t.plan,
		.settle_ns = t.tests.plan.learn_ns,
		.burst = generator_burst(),
	};
	t.under_way = t.learning = true;
	t.sent = false;
	conduct_start(&r);
}

static void start_trial(void)
{
	uint32_t silent = 0;
	make_plan(t.trial.rate);
	if (t.trial.frames)
		silent = divide_frames(&t.plan, t.trial.frames);
	const struct conduct_request r = {
		.plan = &t.plan,
		.ns = t.trial.duration_ns,
		.settle_ns = t.trial.settle_ns,
		.burst = generator_burst(),
		.tolerance_ppm = t.trial.rate == RFC2544_FULL ? LINE_TOLERANCE_PPM : 0,
		.silent = silent,
	};
	t.under_way = true;
	t.learning = t.sent = false;
	conduct_start(&r);
}

/* --- the result of a trial --- */

static void collect(struct trial_result *r)
{
	static struct judge_result all;
	struct run_sent sent;
	memset(r, 0, sizeof *r);
	r->flaw = t.stopping ? TRIAL_STOPPED : conduct_flaw();
	if (!t.sent)
		return;
	conduct_sent_all(&sent);
	conduct_judged_all(&all);
	r->sent = sent.frames;
	r->forgiven = sent.forgiven;
	r->worst_lag_ns = sent.worst_lag_ns;
	r->elapsed_ns = conduct_sent_ns(&sent);
	r->received = all.received;
	r->duplicates = all.duplicates;
	r->reordered = all.reordered;
	r->corrupted = all.corrupted;
	if (all.ipdv_count)
		r->ipdv_mean_ps = wide_mul_div(wide_div(all.ipdv_sum_ns, 1), 1000, all.ipdv_count);
	histogram_summarize(&all.latency, &r->latency);
}

static void end_test(enum trial_flaw flaw, const struct trials_events *e)
{
	rfc2544_stop(&t.tests, flaw); /* open results become not measurable */
	t.on = false;
	e->over();
}

static void end_trial(const struct trials_events *e)
{
	struct trial_result r;
	t.under_way = false;
	if (conduct_flaw() == TRIAL_FAULT && !t.sent && !t.stopping) {
		fmt_format(t.error, sizeof t.error, "%s", conduct_error());
		end_test(TRIAL_IMPOSSIBLE, e);
		return;
	}
	collect(&r);
	rfc2544_done(&t.tests, &r);
	e->trial(&t.tests, t.tests.trials - 1);
	t.rest_tsc = clock_tsc() + clock_ticks(&self.clock, t.tests.plan.rest_ns);
	if (t.stopping)
		end_test(TRIAL_STOPPED, e);
}

/* All learning frames have been sent, in time or late. */
static bool has_learnt(void)
{
	enum trial_flaw flaw = conduct_flaw();
	return t.learning && !t.stopping && flaw != TRIAL_LINK && flaw != TRIAL_FAULT;
}

/* --- the sequence of trials --- */

/* True also after LINKS_NS without all links: the trial then finds the flaw. False: ask again. */
static bool links_are_up(void)
{
	if (conduct_links_up(&generator.plan))
		return true;
	if (t.links_tsc == 0)
		t.links_tsc = clock_tsc() + clock_ticks(&self.clock, LINKS_NS);
	return clock_tsc() >= t.links_tsc;
}

static void next_trial(const struct trials_events *e)
{
	if (!t.tests.over && (clock_tsc() < t.rest_tsc || !links_are_up()))
		return;
	t.links_tsc = 0;
	if (!rfc2544_next(&t.tests, &t.trial))
		end_test(TRIAL_VALID, e); /* no result is open */
	else if (t.tests.plan.learn_ns)
		start_learning();
	else
		start_trial();
}

uint64_t trials_turn(const struct trials_events *e)
{
	if (!t.on)
		return UINT64_MAX;
	if (t.under_way && conduct_busy()) {
		t.sent |= !t.learning && (conduct_state() == CONDUCT_RUN ||
		                          conduct_state() == CONDUCT_SETTLE);
		return UINT64_MAX; /* conduct_turn has returned the time of the next call */
	}
	if (t.under_way && has_learnt())
		start_trial();
	else if (t.under_way)
		end_trial(e);
	else if (t.stopping)
		end_test(TRIAL_STOPPED, e);
	else
		next_trial(e);
	return t.on ? self.now_tsc + clock_ticks(&self.clock, 5 * MS) : UINT64_MAX;
}

/* Allocates memory for the trials of the script, once: at most a quarter of the free memory, and no
 * more than the plan needs. */
static bool take_memory(const struct plan_rfc2544 *p)
{
	uint32_t most = rfc2544_trials_max(p);
	if (t.memory)
		return true;
	size_t room = core_private_left() / 4 / sizeof *t.memory;
	t.room = room < most ? (uint32_t)room : most;
	t.memory = t.room ? core_private_alloc(t.room * sizeof *t.memory) : NULL;
	if (t.memory && t.room < most)
		console_log("there is memory for %u trials; the tests may need %u", t.room, most);
	return t.memory != NULL;
}

const char *trials_start(void)
{
	static char why[120];
	unsigned without = 0;
	const struct plan *p = &generator.plan;
	if (!p->has_rfc2544)
		return "the script has no rfc2544";
	uint64_t bps = line_bps(p, &without);
	if (bps == 0) {
		fmt_format(why, sizeof why, "eth%u has no line rate, or no link; in the former "
		           "case add a line such as \"line eth%u 10Gbps\"", without, without);
		return why;
	}
	if (!take_memory(&p->rfc2544))
		return "there is not enough memory for trials";
	rfc2544_begin(&t.tests, &p->rfc2544, bps, t.memory, t.room);
	t.any = t.on = true;
	t.under_way = t.stopping = false;
	t.links_tsc = t.rest_tsc = 0;
	t.error[0] = 0;
	return NULL;
}

void trials_stop(void)
{
	if (t.on)
		t.stopping = true;
}
