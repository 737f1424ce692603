/* tools/pktgen/measure/rfc2544.h with made-up devices under test: one that forwards a given rate and has a
 * buffer, one that always loses frames, generators that fall behind. */
#include "tests/unit/rig/host.h"

#include "tools/pktgen/measure/rfc2544.h"

#define GBIT 1000000000ull

static struct rfc2544 m;
static struct rfc2544_trial *trials;
static uint32_t room;

struct device {
	uint64_t fps;      /* forwarded; 0: all that arrive */
	uint64_t buffer;   /* frames */
	uint32_t behind_above; /* the generator cannot exceed this rate */
	uint64_t behind_frames; /* nor this burst length; 0: any length */
	bool unplugged;
	uint32_t flaky;    /* one of this many trials is invalid; 0: none */
	bool lossy;        /* loses one frame of each trial */
};

static struct plan_rfc2544 plan_of(uint32_t tests)
{
	struct plan_rfc2544 p = {.tests = tests, .sizes = 3, .size = {60, 508, 1514},
	                         .duration_ns = 60000000000, .settle_ns = 2000000000,
	                         .resolution = 100, .rate_min = 1000, .rate_max = 100000, .repeats = 4};
	return p;
}

static uint64_t lowest(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The result of a trial: frames arrive at `fps`, leave at the device's own rate, and wait in its
 * buffer. */
static void play(const struct device *d, const struct trial *t, unsigned number,
                 struct trial_result *r)
{
	uint64_t fps = rfc2544_fps(&m, t->size, t->rate);
	memset(r, 0, sizeof *r);
	r->sent = t->frames ? t->frames : fps * (t->duration_ns / 1000000000);
	r->received = r->sent;
	if (d->fps && fps > d->fps) {
		uint64_t piled = r->sent - wide_mul_div(r->sent, d->fps, fps);
		r->received -= piled > d->buffer ? piled - d->buffer : 0;
	}
	r->received -= d->lossy;
	r->latency = (struct histogram_summary){.count = r->received, .min = 1000 + number,
	                                        .max = 9000 + number, .mean_ps = 2000000 + number};
	for (unsigned i = 0; i < HISTOGRAM_RANKS; i++)
		r->latency.p[i] = 3000 + 100 * i + number * 7 % 5;
	if ((d->behind_above && t->rate > d->behind_above) || (d->flaky && number % d->flaky == 0))
		r->flaw = TRIAL_BEHIND;
	if (d->behind_frames && t->frames > d->behind_frames)
		r->flaw = TRIAL_BEHIND;
	if (d->unplugged)
		r->flaw = TRIAL_LINK;
}

static unsigned run(const struct plan_rfc2544 *p, const struct device *d)
{
	struct trial t;
	struct trial_result r;
	unsigned made = 0;
	free(trials);
	room = rfc2544_trials_max(p);
	trials = calloc(room, sizeof *trials);
	rfc2544_begin(&m, p, 10 * GBIT, trials, room);
	while (rfc2544_next(&m, &t)) {
		assert_true(made < room);
		play(d, &t, ++made, &r);
		assert_true(t.test == PLAN_BACK_TO_BACK || (t.rate >= p->rate_min && t.rate <= p->rate_max));
		assert_true(t.settle_ns == p->settle_ns && t.attempt <= RFC2544_ATTEMPTS);
		rfc2544_done(&m, &r);
		assert_memory_equal(&trials[made - 1].what, &t, sizeof t);
	}
	assert_int_equal(m.trials, made);
	assert_false(rfc2544_next(&m, &t));
	return made;
}

#define BIT(test) (1u << (test))
#define ALL (BIT(PLAN_THROUGHPUT) | BIT(PLAN_LATENCY) | BIT(PLAN_FRAME_LOSS) | BIT(PLAN_BACK_TO_BACK))

/* The highest rate of the grid at which nothing is lost, whatever the device's rate. */
static void throughput_is_found(void **s)
{
	(void)s;
	struct plan_rfc2544 p = plan_of(BIT(PLAN_THROUGHPUT));
	static const uint64_t resolution[] = {1, 7, 100, 5000, 99000, 200000};
	for (unsigned round = 0; round < 300; round++) {
		struct device d = {.fps = 10000 + random64() % 20000000, .buffer = random_below(2) * 100};
		p.resolution = resolution[round % ARRAY_LEN(resolution)];
		run(&p, &d);
		for (unsigned i = 0; i < p.sizes; i++) {
			const struct rfc2544_outcome *o = &m.outcome[PLAN_THROUGHPUT][i];
			uint32_t best = 0;
			for (uint64_t rate = p.rate_min;; rate = lowest(rate + p.resolution, p.rate_max)) {
				struct trial t = {.size = p.size[i], .rate = (uint32_t)rate,
				                  .duration_ns = p.duration_ns};
				struct trial_result r;
				play(&d, &t, 0, &r);
				if (trial_lost(&r) > 0)
					break;
				best = (uint32_t)rate;
				if (rate == p.rate_max)
					break;
			}
			assert_int_equal(o->status, best ? RFC2544_DONE : RFC2544_NOTHING_PASSED);
			assert_int_equal(o->rate, best);
			assert_true(!best || trials[o->trial].what.rate == best);
			assert_true(!best || trial_lost(&trials[o->trial].result) == 0);
			assert_true(o->end - o->first <= 19);
		}
	}
}

static void line_rate_is_one_trial(void **s)
{
	(void)s;
	struct plan_rfc2544 p = plan_of(ALL);
	struct device d = {0};
	/* Throughput 1, latency 4, frame loss 2, back-to-back 1, for each size. */
	assert_int_equal(run(&p, &d), 3 * (1 + 4 + 2 + 1));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(m.outcome[PLAN_THROUGHPUT][i].rate, 100000);
		assert_true(m.outcome[PLAN_BACK_TO_BACK][i].bounded);
		assert_int_equal(m.outcome[PLAN_BACK_TO_BACK][i].burst_min,
		                 2 * rfc2544_fps(&m, p.size[i], 100000));
	}
	assert_int_equal(rfc2544_fps(&m, 60, 100000), 14880952);
	assert_int_equal(rfc2544_l2_bps(&m, 60, 50000), 5 * GBIT * 64 / 84);
}

/* Loss is allowed as far as the script says, to the frame. */
static void some_loss_may_pass(void **s)
{
	(void)s;
	struct plan_rfc2544 p = plan_of(BIT(PLAN_THROUGHPUT));
	struct device d = {.lossy = true};
	run(&p, &d);
	assert_int_equal(m.outcome[PLAN_THROUGHPUT][0].status, RFC2544_NOTHING_PASSED);
	p.loss_ppm = 1;
	run(&p, &d);
	assert_int_equal(m.outcome[PLAN_THROUGHPUT][0].rate, 100000);
	struct trial t;
	struct trial_result r = {.sent = 1000000, .received = 999998};
	rfc2544_begin(&m, &p, 10 * GBIT, trials, room);
	rfc2544_next(&m, &t);
	rfc2544_done(&m, &r);
	assert_int_equal(m.outcome[PLAN_THROUGHPUT][0].status, RFC2544_OPEN);
	r.received = 999999;
	rfc2544_next(&m, &t);
	rfc2544_done(&m, &r);
	assert_int_equal(m.outcome[PLAN_THROUGHPUT][0].rate, t.rate);
}

static void latency_is_at_throughput(void **s)
{
	(void)s;
	struct plan_rfc2544 p = plan_of(BIT(PLAN_LATENCY));
	struct device d = {.fps = 5000000};
	struct rfc2544_latency l;
	run(&p, &d);
	for (unsigned i = 0; i < 3; i++) {
		const struct rfc2544_outcome *o = &m.outcome[PLAN_LATENCY][i];
		assert_int_equal(o->status, RFC2544_DONE);
		assert_int_equal(o->rate, m.outcome[PLAN_THROUGHPUT][i].rate);
		assert_true(o->repeats == 4 && o->end - o->first == 4);
		for (uint32_t k = o->first; k < o->end; k++)
			assert_true(trials[k].what.rate == o->rate && trials[k].what.repeat == k - o->first + 1);
		rfc2544_latency(&m, i, &l);
		assert_int_equal(l.trials, 4);
		assert_int_equal(l.min, trials[o->first].result.latency.min);
		assert_int_equal(l.max, trials[o->end - 1].result.latency.max);
		assert_int_equal(l.mean_ps, 2000000 + o->first + (1 + 2 + 3 + 4) / 4);
		uint64_t sorted[4];
		for (unsigned k = 0; k < 4; k++)
			sorted[k] = trials[o->first + k].result.latency.p[P99];
		for (unsigned a = 0; a < 3; a++)
			for (unsigned b = a + 1; b < 4; b++)
				if (sorted[b] < sorted[a]) {
					uint64_t swap = sorted[a];
					sorted[a] = sorted[b];
					sorted[b] = swap;
				}
		assert_int_equal(l.p[P99], sorted[1]);
	}
	d.lossy = true;
	run(&p, &d);
	assert_int_equal(m.outcome[PLAN_LATENCY][0].status, RFC2544_NO_THROUGHPUT);
	rfc2544_latency(&m, 0, &l);
	assert_true(l.trials == 0 && l.min == 0 && l.p[P50] == 0);
	p.repeats = 0;
	d.lossy = false;
	run(&p, &d);
	assert_int_equal(m.outcome[PLAN_LATENCY][0].repeats, 20);
}

static void loss_goes_down_to_two_clean_trials(void **s)
{
	(void)s;
	struct plan_rfc2544 p = plan_of(BIT(PLAN_FRAME_LOSS));
	struct device d = {.fps = 10000000}; /* 64-byte frames: between 60 and 70 % */
	run(&p, &d);
	const struct rfc2544_outcome *o = &m.outcome[PLAN_FRAME_LOSS][0];
	assert_int_equal(o->status, RFC2544_DONE);
	assert_int_equal(o->end - o->first, 6); /* 100, 90, 80, 70: loss; 60, 50 */
	for (uint32_t k = o->first; k < o->end; k++) {
		assert_int_equal(trials[k].what.rate, 100000 - 10000 * (k - o->first));
		assert_true((trial_lost(&trials[k].result) > 0) == (k < o->end - 2));
	}
	assert_int_equal(m.outcome[PLAN_FRAME_LOSS][1].end - o->end, 2);
	/* A device that always loses is tested down to the lowest rate. */
	d.lossy = true;
	run(&p, &d);
	assert_int_equal(m.outcome[PLAN_FRAME_LOSS][0].end, 10);
	p.rate_min = 45000;
	run(&p, &d);
	assert_int_equal(trials[m.outcome[PLAN_FRAME_LOSS][0].end - 1].what.rate, 50000);
	p.rate_max = 5000;
	p.rate_min = 1000;
	run(&p, &d);
	assert_int_equal(m.outcome[PLAN_FRAME_LOSS][0].end, 1);
}

/* To one frame below 1024, to a thousandth above; later searches begin where the previous one
 * ended. */
static void bursts_are_found(void **s)
{
	(void)s;
	struct plan_rfc2544 p = plan_of(BIT(PLAN_BACK_TO_BACK));
	for (unsigned round = 0; round < 200; round++) {
		struct device d = {.fps = 1 + random64() % 14000000, .buffer = random64() % 100000 >> round % 17};
		p.sizes = 1;
		run(&p, &d);
		const struct rfc2544_outcome *o = &m.outcome[PLAN_BACK_TO_BACK][0];
		struct trial t = {.size = 60, .rate = 100000};
		struct trial_result r;
		assert_int_equal(o->status, RFC2544_DONE);
		if (o->bounded) {
			assert_int_equal(o->repeats, 1);
			continue;
		}
		assert_true(o->repeats == 4 && o->burst_min == o->burst_max);
		assert_int_equal(o->burst_sum, 4 * o->burst_min);
		t.frames = o->burst_min;
		if (t.frames) {
			play(&d, &t, 0, &r);
			assert_true(trial_lost(&r) == 0);
		}
		t.frames += o->burst_min < 1024 ? 1 : o->burst_min / 1024;
		play(&d, &t, 0, &r);
		assert_true(trial_lost(&r) > 0);
		assert_true(o->end <= 40 + 3 * 6);
	}
	struct device d = {.lossy = true};
	run(&p, &d);
	assert_true(m.outcome[PLAN_BACK_TO_BACK][0].status == RFC2544_DONE);
	assert_int_equal(m.outcome[PLAN_BACK_TO_BACK][0].burst_max, 0);
}

/* The generator's own limit bounds the result; a device with a lower limit is measured all the
 * same. */
static void generators_have_limits(void **s)
{
	(void)s;
	struct plan_rfc2544 p = plan_of(ALL);
	struct device d = {.behind_above = 80000, .fps = 11160714}; /* 64-byte frames: 75 % */
	run(&p, &d);
	for (unsigned i = 0; i < 3; i++) {
		const struct rfc2544_outcome *o = &m.outcome[PLAN_THROUGHPUT][i];
		assert_int_equal(o->status, RFC2544_DONE);
		assert_int_equal(o->rate, i == 0 ? 75000 : 80000);
		assert_true(o->bounded == (i > 0) && o->flaw == (i ? TRIAL_BEHIND : TRIAL_VALID));
		assert_int_equal(trials[o->first + 2].what.attempt, 3);
		assert_int_equal(m.outcome[PLAN_LATENCY][i].status, RFC2544_DONE);
		assert_int_equal(m.outcome[PLAN_LATENCY][i].rate, o->rate);
		/* 100 and 90 % three times each, then 80 and the clean ones. */
		o = &m.outcome[PLAN_FRAME_LOSS][i];
		assert_true(o->status == RFC2544_DONE && o->end - o->first == (i == 0 ? 9 : 8));
		/* Bursts are at line rate, which the generator cannot do at all. */
		assert_int_equal(m.outcome[PLAN_BACK_TO_BACK][i].status, RFC2544_NOT_MEASURABLE);
		assert_int_equal(m.outcome[PLAN_BACK_TO_BACK][i].flaw, TRIAL_BEHIND);
	}
	d = (struct device){.behind_frames = 5000};
	run(&p, &d);
	const struct rfc2544_outcome *o = &m.outcome[PLAN_BACK_TO_BACK][0];
	assert_true(o->status == RFC2544_DONE && o->bounded && o->flaw == TRIAL_BEHIND);
	assert_true(o->burst_min <= 5000 && o->burst_min >= 5000 - 5000 / 1024 && o->repeats == 1);
	/* Less than the lowest rate. */
	d = (struct device){.behind_above = 500};
	run(&p, &d);
	o = m.outcome[PLAN_THROUGHPUT];
	assert_true(o->status == RFC2544_NOT_MEASURABLE && o->flaw == TRIAL_BEHIND);
	assert_string_equal(trial_flaw_text(o->flaw), "the generator fell behind");
	assert_int_equal(m.outcome[PLAN_LATENCY][0].status, RFC2544_NO_THROUGHPUT);
}

/* A trial is made at most three times; a test without a valid one says why. */
static void invalid_trials_are_made_again(void **s)
{
	(void)s;
	struct plan_rfc2544 p = plan_of(ALL);
	struct device d = {.unplugged = true};
	assert_int_equal(run(&p, &d), 3 * (3 + 3 * 10 + 3));
	for (unsigned i = 0; i < 3; i++) {
		const struct rfc2544_outcome *o = &m.outcome[PLAN_THROUGHPUT][i];
		assert_true(o->status == RFC2544_NOT_MEASURABLE && o->flaw == TRIAL_LINK && !o->bounded);
		assert_int_equal(trials[o->end - 1].what.attempt, 3);
		assert_int_equal(m.outcome[PLAN_LATENCY][i].status, RFC2544_NO_THROUGHPUT);
		assert_int_equal(m.outcome[PLAN_BACK_TO_BACK][i].flaw, TRIAL_LINK);
	}
	/* One of three is invalid: everything is measured all the same. */
	d = (struct device){.fps = 5000000, .buffer = 300, .flaky = 3};
	run(&p, &d);
	for (unsigned test = PLAN_THROUGHPUT; test < PLAN_TESTS; test++)
		assert_int_equal(m.outcome[test][0].status, RFC2544_DONE);
	assert_int_equal(m.outcome[PLAN_LATENCY][0].repeats, 4);
	assert_int_equal(m.outcome[PLAN_LATENCY][0].rate, m.outcome[PLAN_THROUGHPUT][0].rate);
	struct rfc2544_latency l;
	rfc2544_latency(&m, 0, &l);
	assert_int_equal(l.trials, 4);
}

static void stops_and_ends_of_memory(void **s)
{
	(void)s;
	struct plan_rfc2544 p = plan_of(ALL);
	struct device d = {.fps = 5000000};
	struct trial t;
	struct trial_result r;
	run(&p, &d);
	rfc2544_begin(&m, &p, 10 * GBIT, trials, room);
	for (unsigned i = 1; i < 30; i++) {
		assert_true(rfc2544_next(&m, &t));
		play(&d, &t, i, &r);
		rfc2544_done(&m, &r);
	}
	assert_int_equal(m.outcome[PLAN_THROUGHPUT][0].status, RFC2544_DONE);
	assert_true(rfc2544_next(&m, &t));
	rfc2544_stop(&m, TRIAL_STOPPED);
	rfc2544_done(&m, &r); /* of an abandoned trial */
	assert_true(!rfc2544_next(&m, &t) && m.trials == 29);
	assert_int_equal(m.outcome[PLAN_FRAME_LOSS][2].flaw, TRIAL_STOPPED);
	rfc2544_begin(&m, &p, 10 * GBIT, trials, 2);
	for (unsigned i = 1; rfc2544_next(&m, &t); i++) {
		play(&d, &t, i, &r);
		rfc2544_done(&m, &r);
	}
	assert_int_equal(m.trials, 2);
	assert_int_equal(m.outcome[PLAN_THROUGHPUT][0].flaw, TRIAL_ROOM);
	/* No test, or no size. */
	p.tests = 0;
	rfc2544_begin(&m, &p, 10 * GBIT, trials, room);
	assert_false(rfc2544_next(&m, &t));
	p = plan_of(ALL);
	p.sizes = 0;
	rfc2544_begin(&m, &p, 10 * GBIT, trials, room);
	assert_false(rfc2544_next(&m, &t));
	p = plan_of(ALL);
	/* Nothing was sent: that is not a success. */
	rfc2544_begin(&m, &p, 10 * GBIT, trials, room);
	memset(&r, 0, sizeof r);
	for (unsigned i = 0; i < 3; i++) {
		rfc2544_next(&m, &t);
		rfc2544_done(&m, &r);
	}
	assert_int_equal(m.outcome[PLAN_THROUGHPUT][0].flaw, TRIAL_NOTHING);
}

int main(void)
{
	seed_random("test_pktgen_rfc2544");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(throughput_is_found),
		cmocka_unit_test(line_rate_is_one_trial),
		cmocka_unit_test(some_loss_may_pass),
		cmocka_unit_test(latency_is_at_throughput),
		cmocka_unit_test(loss_goes_down_to_two_clean_trials),
		cmocka_unit_test(bursts_are_found),
		cmocka_unit_test(generators_have_limits),
		cmocka_unit_test(invalid_trials_are_made_again),
		cmocka_unit_test(stops_and_ends_of_memory),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(trials);
	return failed;
}
