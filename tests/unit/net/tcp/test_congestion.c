/*
 * net/tcp/congestion: the rules of RFC 5681, 6928, 9406 and 9438 one by one, CUBIC's curve against
 * a floating-point model written from the formulas, and random events against the invariants.
 */
#include "tests/unit/rig/host.h"

#include <math.h>

#include "lib/divide.h"
#include "net/tcp/congestion.h"

#define MSS 1460u

/* --- a path: fixed RTT, the whole window acknowledged in each round trip --- */

struct path {
	struct cc c;
	uint64_t now_us;
	uint32_t rtt_us;
	uint32_t segs_per_ack;
};

static struct path path_make(enum cc_algorithm a, uint32_t rtt_us, uint32_t segs_per_ack)
{
	struct path p = {.now_us = 5000000, .rtt_us = rtt_us, .segs_per_ack = segs_per_ack};
	cc_init(&p.c, a, MSS);
	return p;
}

/* One RTT: evenly spaced ACKs acknowledge a window of data. */
static void round_trip(struct path *p)
{
	uint32_t window = p->c.cwnd, acked = 0, per_ack = p->segs_per_ack * MSS;
	uint64_t start = p->now_us;
	while (acked < window) {
		uint32_t n = window - acked < per_ack ? window - acked : per_ack;
		acked += n;
		p->now_us = start + (uint64_t)p->rtt_us * acked / window;
		cc_on_ack(&p->c, p->now_us, n, p->rtt_us, true);
	}
	p->now_us = start + p->rtt_us;
}

/* A loss with the window full, and the recovery by the caller. */
static void lose(struct path *p)
{
	cc_on_loss(&p->c, p->c.cwnd);
	p->c.cwnd = p->c.ssthresh;
	p->now_us += p->rtt_us;
}

/* A connection in congestion avoidance, its last loss at `segs` segments. */
static struct path after_loss(enum cc_algorithm a, uint32_t rtt_us, uint32_t segs)
{
	struct path p = path_make(a, rtt_us, 2);
	p.c.cwnd = segs * MSS;
	lose(&p);
	return p;
}

/* --- lib/divide.h --- */

static void division_by_steps(void **s)
{
	(void)s;
	seed_random("division_by_steps");
	for (unsigned i = 0; i < random_rounds(200000); i++) {
		uint64_t n = random64() >> random_below(64);
		uint32_t d = (uint32_t)(random64() >> (32 + random_below(32)));
		d += d == 0;
		assert_true(divide_by_steps(n, d) == n / d);
		assert_true(divide(n, d) == n / d);
	}
	assert_true(divide_by_steps(UINT64_MAX, 1) == UINT64_MAX);
	assert_true(divide_by_steps(UINT64_MAX, UINT32_MAX) == UINT64_MAX / UINT32_MAX);
}

/* --- slow start --- */

static void initial_window(void **s)
{
	(void)s;
	struct cc c;
	const struct {
		uint32_t mss, window;
	} rfc6928[] = {{536, 5360},   {1460, 14600}, {1461, 14600},
	               {4000, 14600}, {8960, 17920}, {65535, 131070}};
	for (unsigned i = 0; i < ARRAY_LEN(rfc6928); i++) {
		cc_init(&c, CC_CUBIC, rfc6928[i].mss);
		assert_int_equal(c.cwnd, rfc6928[i].window);
		assert_int_equal(c.ssthresh, UINT32_MAX);
	}
}

/* RFC 5681 3.1: cwnd grows at most by the acknowledged bytes. With ACKs of one or of two segments
 * it doubles in each RTT, and no ACK adds more than L. */
static void slow_start_doubles(void **s)
{
	(void)s;
	for (unsigned a = 0; a < 2; a++)
		for (uint32_t segs = 1; segs <= 2; segs++) {
			struct path p = path_make(a ? CC_NEWRENO : CC_CUBIC, 50000, segs);
			for (int i = 0; i < 8; i++) {
				uint32_t before = p.c.cwnd;
				round_trip(&p);
				assert_int_equal(p.c.cwnd, 2 * before);
			}
		}
}

static void slow_start_limits_an_ack(void **s)
{
	(void)s;
	struct path reno = path_make(CC_NEWRENO, 50000, 2), cubic = path_make(CC_CUBIC, 50000, 2);
	cc_on_ack(&reno.c, 1, 10 * MSS, 50000, true);
	assert_int_equal(reno.c.cwnd, 12 * MSS);
	cc_on_ack(&cubic.c, 1, 10 * MSS, 50000, true);
	assert_int_equal(cubic.c.cwnd, 18 * MSS);
	cc_on_ack(&cubic.c, 1, 100, 50000, true); /* bytes, not ACKs: ACK division gains nothing */
	assert_int_equal(cubic.c.cwnd, 18 * MSS + 100);
	cc_on_rto(&cubic.c, 18 * MSS, true);
	cc_on_ack(&cubic.c, 3, 10 * MSS, 50000, true);
	assert_int_equal(cubic.c.cwnd, 2 * MSS);
}

static void slow_start_ends_at_ssthresh(void **s)
{
	(void)s;
	struct path p = after_loss(CC_NEWRENO, 50000, 100);
	cc_on_rto(&p.c, 40 * MSS, true);
	assert_int_equal(p.c.ssthresh, 20 * MSS);
	assert_int_equal(p.c.cwnd, MSS);
	p.segs_per_ack = 1;
	for (uint32_t want = 2; want <= 16; want *= 2) {
		round_trip(&p);
		assert_int_equal(p.c.cwnd, want * MSS);
	}
	for (uint32_t acked = 0; acked < 4; acked++)
		cc_on_ack(&p.c, p.now_us, MSS, p.rtt_us, true);
	assert_int_equal(p.c.cwnd, 20 * MSS);
	cc_on_ack(&p.c, p.now_us, MSS, p.rtt_us, true);
	assert_in_range(p.c.cwnd, 20 * MSS + 70, 20 * MSS + 76); /* now a twentieth of a segment */
}

/* --- NewReno --- */

static void newreno_adds_a_segment_per_rtt(void **s)
{
	(void)s;
	const uint32_t windows[] = {4, 10, 100, 5000, 100000};
	for (unsigned i = 0; i < ARRAY_LEN(windows); i++)
		for (uint32_t segs = 1; segs <= 64; segs *= 4) { /* however many ACKs there are */
			struct path p = path_make(CC_NEWRENO, 50000, segs);
			p.c.ssthresh = p.c.cwnd = windows[i] * MSS;
			for (uint32_t rtt = 1; rtt <= 20; rtt++) {
				uint32_t before = p.c.cwnd;
				round_trip(&p);
				assert_in_range(p.c.cwnd, before + MSS * 8 / 10, before + MSS);
			}
		}
}

/* The fraction of a byte due to a large window does not carry over to a small one. */
static void a_rest_stays_a_fraction(void **s)
{
	(void)s;
	for (uint32_t acked = 1; acked < 4000; acked += 13) {
		struct cc c;
		cc_init(&c, CC_NEWRENO, MSS);
		c.cwnd = c.ssthresh = CC_WINDOW_MAX / 2;
		cc_on_ack(&c, 1, acked, 1000, true);
		c.cwnd = c.ssthresh = 4 * MSS;
		cc_on_ack(&c, 2, MSS, 1000, true);
		assert_in_range(c.cwnd, 4 * MSS + MSS / 4, 4 * MSS + MSS / 4 + 1);
	}
}

static void newreno_halves(void **s)
{
	(void)s;
	struct path p = path_make(CC_NEWRENO, 50000, 2);
	p.c.cwnd = 100 * MSS;
	cc_on_loss(&p.c, 80 * MSS); /* FlightSize, not cwnd: equation (4) */
	assert_int_equal(p.c.ssthresh, 40 * MSS);
	assert_int_equal(p.c.cwnd, 100 * MSS);
	cc_on_ecn(&p.c, 60 * MSS);
	assert_int_equal(p.c.ssthresh, 30 * MSS);
	assert_int_equal(p.c.cwnd, 30 * MSS);
	cc_on_rto(&p.c, 20 * MSS, true);
	assert_int_equal(p.c.ssthresh, 10 * MSS);
	cc_on_rto(&p.c, 2 * MSS, false);
	assert_int_equal(p.c.ssthresh, 10 * MSS); /* kept: the segment had been retransmitted before */
	assert_int_equal(p.c.cwnd, MSS);
}

static void small_windows(void **s)
{
	(void)s;
	for (unsigned a = 0; a < 2; a++)
		for (uint32_t flight = 0; flight <= 3 * MSS; flight += 73) {
			struct cc c;
			cc_init(&c, a ? CC_NEWRENO : CC_CUBIC, MSS);
			c.cwnd = 3 * MSS;
			cc_on_loss(&c, flight);
			assert_in_range(c.ssthresh, 2 * MSS, 3 * MSS);
			cc_on_ecn(&c, flight);
			assert_in_range(c.ssthresh, 2 * MSS, 3 * MSS);
			assert_in_range(c.cwnd, MSS, 3 * MSS);
			cc_on_ecn(&c, MSS); /* RFC 9438 4.6: down to one segment */
			assert_int_equal(c.cwnd, MSS);
		}
}

/* --- CUBIC --- */

/* RFC 9438 4.2 to 4.7 literally: in segments and seconds. */
struct model {
	double cwnd, cwnd_prior, w_max, w_est, k, t;
};

static void model_lose(struct model *m, double cwnd)
{
	m->w_max = cwnd < m->w_max ? cwnd * (1 + 0.7) / 2 : cwnd;
	m->cwnd_prior = cwnd;
	m->cwnd = m->w_est = cwnd * 0.7;
	m->k = cbrt((m->w_max - m->cwnd) / 0.4);
	m->t = 0;
}

static double model_window(const struct model *m, double t)
{
	return 0.4 * pow(t - m->k, 3) + m->w_max;
}

static void model_ack(struct model *m, double segs, double rtt)
{
	m->w_est += (m->w_est < m->cwnd_prior ? 3 * 0.3 / 1.7 : 1) * segs / m->cwnd;
	if (model_window(m, m->t) < m->w_est) {
		m->cwnd = fmax(m->cwnd, m->w_est);
		return;
	}
	double target = fmin(fmax(model_window(m, m->t + rtt), m->cwnd), 1.5 * m->cwnd);
	m->cwnd += (target - m->cwnd) / m->cwnd * segs;
}

static void assert_near(double have, double want, double share)
{
	if (fabs(have - want) > want * share)
		fail_msg("%f, should be %f", have, want);
}

/* One RTT of both, with the same ACKs. */
static void both_round_trip(struct path *p, struct model *m, bool *epoch)
{
	uint32_t window = p->c.cwnd, acked = 0;
	uint64_t start = p->now_us, before = start;
	while (acked < window) {
		uint32_t n = window - acked < 2 * MSS ? window - acked : 2 * MSS;
		acked += n;
		p->now_us = start + (uint64_t)p->rtt_us * acked / window;
		cc_on_ack(&p->c, p->now_us, n, p->rtt_us, true);
		/* the epoch begins with the first ACK */
		m->t += *epoch ? (double)(p->now_us - before) / 1e6 : 0;
		*epoch = true;
		before = p->now_us;
		model_ack(m, (double)n / MSS, (double)p->rtt_us / 1e6);
	}
	p->now_us = start + p->rtt_us;
}

/* From a loss at `segs` on, beyond the plateau or for most_rtts. before: an earlier, larger
 * maximum, so that fast convergence applies (0: none). */
static void follow_the_model(uint32_t rtt_us, uint32_t segs, uint32_t before, uint32_t most_rtts)
{
	struct path p = path_make(CC_CUBIC, rtt_us, 2);
	struct model m = {0};
	bool epoch = false;
	if (before) {
		p.c.cwnd = before * MSS;
		lose(&p);
		model_lose(&m, before);
	}
	p.c.cwnd = segs * MSS;
	lose(&p);
	model_lose(&m, segs);
	assert_near(p.c.cwnd, m.cwnd * MSS, 0.0001);
	uint64_t end = p.now_us + (uint64_t)(m.k * 1.8e6);
	for (uint32_t n = 0; n < most_rtts && p.now_us < end; n++) {
		both_round_trip(&p, &m, &epoch);
		assert_near(p.c.cwnd, m.cwnd * MSS, 0.002);
		assert_near(p.c.w_est, m.w_est * MSS, 0.002);
	}
	assert_near(p.c.k_us, m.k * 1e6, 0.002);
}

static void cubic_follows_the_model(void **s)
{
	(void)s;
	const uint32_t windows[] = {10, 40, 300, 3000, 40000, 400000};
	const uint32_t rtts[] = {200, 5000, 30000, 100000, 400000};
	for (unsigned i = 0; i < ARRAY_LEN(windows); i++)
		for (unsigned j = 0; j < ARRAY_LEN(rtts); j++) {
			uint32_t most_rtts = windows[i] > 10000 ? 15 : 500;
			follow_the_model(rtts[j], windows[i], 0, most_rtts);
			follow_the_model(rtts[j], windows[i], windows[i] * 6 / 5, most_rtts);
		}
}

/* After K seconds the window is W_max again, and T later C T^3 above it. */
static void cubic_reaches_w_max_after_k(void **s)
{
	(void)s;
	struct path p = after_loss(CC_CUBIC, 20000, 10000);
	double k = cbrt(10000 * 0.3 / 0.4);
	uint64_t epoch = p.now_us;
	while (p.now_us < epoch + (uint64_t)(k * 1e6))
		round_trip(&p);
	assert_near(p.c.cwnd, 10000.0 * MSS, 0.01);
	uint32_t at_k = p.c.cwnd;
	while (p.now_us < epoch + (uint64_t)((k + 5) * 1e6))
		round_trip(&p);
	assert_near(p.c.cwnd - at_k, 0.4 * 125 * MSS, 0.015);
}

static void cubic_reduces_to_seven_tenths(void **s)
{
	(void)s;
	struct cc c;
	cc_init(&c, CC_CUBIC, MSS);
	c.cwnd = 1000 * MSS;
	cc_on_loss(&c, 900 * MSS);
	assert_int_equal(c.ssthresh, 630 * MSS);
	assert_int_equal(c.cwnd, 1000 * MSS);
	assert_int_equal(c.w_max, 1000 * MSS);
	c.cwnd = 500 * MSS; /* 4.7: below W_max, so further down */
	cc_on_ecn(&c, 500 * MSS);
	assert_int_equal(c.w_max, 425 * MSS);
	assert_int_equal(c.cwnd, 350 * MSS);
	assert_int_equal(c.ssthresh, 350 * MSS);
	c.cwnd = 425 * MSS;
	cc_on_loss(&c, 425 * MSS); /* not below */
	assert_int_equal(c.w_max, 425 * MSS);
}

/* 4.3: at a short RTT it equals Reno with alpha 9/17, and 1 once the old window is reached. */
static void cubic_is_no_slower_than_reno(void **s)
{
	(void)s;
	struct path p = after_loss(CC_CUBIC, 500, 60);
	for (int rtt = 0; rtt < 10; rtt++)
		round_trip(&p);
	uint32_t before = p.c.cwnd;
	for (int rtt = 0; rtt < 10; rtt++)
		round_trip(&p);
	assert_near(p.c.cwnd - before, 10 * MSS * 9 / 17.0, 0.03);
	while (p.c.cwnd < 61 * MSS)
		round_trip(&p);
	before = p.c.cwnd;
	for (int rtt = 0; rtt < 10; rtt++)
		round_trip(&p);
	assert_near(p.c.cwnd - before, 10 * MSS, 0.03);
}

/* 4.8: after a timeout slow start to 0.7 of FlightSize, from there a plateau. */
static void cubic_after_timeout(void **s)
{
	(void)s;
	struct path p = after_loss(CC_CUBIC, 100000, 1000);
	round_trip(&p);
	cc_on_rto(&p.c, 600 * MSS, true);
	assert_int_equal(p.c.ssthresh, 420 * MSS);
	assert_int_equal(p.c.cwnd, MSS);
	p.segs_per_ack = 1;
	while (p.c.cwnd < p.c.ssthresh)
		round_trip(&p);
	cc_on_ack(&p.c, p.now_us, MSS, p.rtt_us, true);
	assert_int_equal(p.c.k_us, 0);
	assert_near(p.c.w_max, 420 * MSS, 0.01);
	uint64_t epoch = p.now_us;
	while (p.now_us < epoch + 10000000)
		round_trip(&p);
	assert_near(p.c.cwnd, (420 + 0.4 * 1000) * MSS, 0.04); /* C t^3 above it */
}

/* 4.2: growth of at most one half per RTT. */
static void cubic_is_slower_than_slow_start(void **s)
{
	(void)s;
	struct path p = after_loss(CC_CUBIC, 1000000, 10);
	for (int rtt = 0; rtt < 40; rtt++) {
		uint32_t before = p.c.cwnd;
		round_trip(&p);
		assert_in_range(p.c.cwnd, before, before + before * 13ull / 20 + MSS);
	}
	assert_true(p.c.cwnd > 5000 * MSS);
}

/* 5.8: an application that does not fill the window does not get a larger one, and its pauses do
 * not count in t. */
static void application_limited(void **s)
{
	(void)s;
	struct path p = after_loss(CC_CUBIC, 50000, 500), q = p;
	for (int rtt = 0; rtt < 20; rtt++) {
		round_trip(&p);
		round_trip(&q);
	}
	uint32_t window = q.c.cwnd;
	for (int rtt = 0; rtt < 400; rtt++) {
		q.now_us += q.rtt_us;
		cc_on_ack(&q.c, q.now_us, 3 * MSS, q.rtt_us, false);
		assert_int_equal(q.c.cwnd, window);
	}
	q.now_us += 100000000; /* and a pause that is not reported */
	for (int rtt = 0; rtt < 20; rtt++) {
		round_trip(&p);
		round_trip(&q);
		assert_near(q.c.cwnd, p.c.cwnd, 0.02);
	}
	struct cc c;
	cc_init(&c, CC_NEWRENO, MSS);
	cc_on_ack(&c, 1, MSS, 50000, false);
	assert_int_equal(c.cwnd, 10 * MSS);
}

static void after_idle(void **s)
{
	(void)s;
	struct path p = after_loss(CC_CUBIC, 50000, 500);
	for (unsigned i = 0; i < 40; i++) /* two seconds of an epoch, whose window is then far above ssthresh */
		round_trip(&p);
	uint32_t threshold = p.c.ssthresh, maximum = p.c.w_max;
	p.now_us += 7000000;
	cc_after_idle(&p.c);
	assert_int_equal(p.c.cwnd, 10 * MSS); /* RFC 5681 4.1: the restart window */
	assert_int_equal(p.c.ssthresh, threshold);
	while (p.c.cwnd < threshold) {
		uint32_t before = p.c.cwnd;
		round_trip(&p);
		assert_true(p.c.cwnd <= 2 * before);
	}
	assert_true(p.c.cwnd < threshold + threshold / 20);
	uint32_t before = p.c.cwnd;
	round_trip(&p); /* a new epoch with the same W_max: no jump */
	assert_true(p.c.cwnd < before + before / 20);
	assert_int_equal(p.c.w_max, maximum);
	p.c.cwnd = 4 * MSS; /* and never larger than before */
	cc_after_idle(&p.c);
	assert_int_equal(p.c.cwnd, 4 * MSS);
}

static void mss_changes(void **s)
{
	(void)s;
	struct cc c;
	cc_init(&c, CC_CUBIC, 1460);
	cc_set_mss(&c, 536); /* RFC 5681 3.1: as many segments, not as many bytes */
	assert_int_equal(c.cwnd, 5360);
	cc_on_loss(&c, 1000);
	assert_int_equal(c.ssthresh, 1072);
	cc_set_mss(&c, 9000);
	assert_int_equal(c.cwnd, 9000);
	assert_int_equal(c.ssthresh, 18000);

	struct path p = after_loss(CC_CUBIC, 50000, 1000); /* K depends on segments: recomputed */
	round_trip(&p);
	assert_near(p.c.k_us, cbrt(300 / 0.4) * 1e6, 0.002);
	cc_set_mss(&p.c, 730);
	p.c.cwnd = p.c.ssthresh;
	round_trip(&p);
	assert_near(p.c.k_us, cbrt(600 / 0.4) * 1e6, 0.002);
}

/* RFC 9438 4.9: after a copy is restored, it is as if nothing had happened. */
static void a_copy_undoes(void **s)
{
	(void)s;
	struct path p = after_loss(CC_CUBIC, 50000, 500), q;
	for (int rtt = 0; rtt < 20; rtt++)
		round_trip(&p);
	q = p;
	struct cc saved = q.c;
	cc_on_rto(&q.c, 100 * MSS, true);
	q.c = saved;
	for (int rtt = 0; rtt < 100; rtt++) {
		round_trip(&p);
		round_trip(&q);
		assert_int_equal(p.c.cwnd, q.c.cwnd);
	}
}

/* --- HyStart++ --- */

struct hystart {
	struct cc c;
	uint32_t una;
	uint64_t now_us;
};

/* One round of 16 ACKs at this RTT; cwnd grows by 16 segments, or by a quarter of that in CSS. */
static void hystart_round(struct hystart *h, uint32_t rtt_us)
{
	uint32_t end = h->una + 16 * MSS;
	for (int i = 0; i < 16; i++) {
		h->una += MSS;
		h->now_us += rtt_us / 16;
		cc_on_rtt(&h->c, rtt_us, h->una, end + (uint32_t)(i + 1) * MSS);
		cc_on_ack(&h->c, h->now_us, MSS, rtt_us, true);
	}
}

static struct hystart hystart_make(void)
{
	struct hystart h = {.una = UINT32_MAX - 40 * MSS, .now_us = 1000000}; /* numbers wrap */
	cc_init(&h.c, CC_CUBIC, MSS);
	return h;
}

static void hystart_leaves_a_steady_path_alone(void **s)
{
	(void)s;
	struct hystart h = hystart_make();
	for (int round = 0; round < 50; round++) {
		uint32_t before = h.c.cwnd;
		/* the threshold is 5 ms */
		hystart_round(&h, 40000 + (uint32_t)(round % 3) * 1500);
		assert_int_equal(h.c.cwnd, before + 16 * MSS);
	}
	assert_int_equal(h.c.ssthresh, UINT32_MAX);
}

static void hystart_ends_slow_start(void **s)
{
	(void)s;
	struct hystart h = hystart_make();
	for (int round = 0; round < 4; round++)
		hystart_round(&h, 40000);
	hystart_round(&h, 45000);
	assert_true(h.c.flags & CC_CSS);
	unsigned rounds = 1;
	for (; h.c.ssthresh == UINT32_MAX; rounds++) {
		uint32_t before = h.c.cwnd;
		hystart_round(&h, 45000);
		if (h.c.ssthresh == UINT32_MAX)
			assert_int_equal(h.c.cwnd, before + 4 * MSS);
		assert_true(rounds < 8);
	}
	assert_in_range(rounds, 5, 6); /* CSS_ROUNDS, including the one it began in */
	assert_true(h.c.cwnd <= h.c.ssthresh + MSS);
	/* RFC 9438 4.10: continues from here as from a plateau. */
	assert_int_equal(h.c.k_us, 0);
	assert_in_range(h.c.w_max, h.c.ssthresh, h.c.ssthresh + MSS);
	assert_in_range(h.c.cwnd_prior, h.c.ssthresh, h.c.ssthresh + MSS);
}

static void hystart_forgives_jitter(void **s)
{
	(void)s;
	struct hystart h = hystart_make();
	for (int round = 0; round < 4; round++)
		hystart_round(&h, 40000);
	hystart_round(&h, 60000);
	assert_true(h.c.flags & CC_CSS);
	hystart_round(&h, 60000);
	hystart_round(&h, 41000);
	hystart_round(&h, 41000);
	assert_false(h.c.flags & CC_CSS);
	uint32_t before = h.c.cwnd;
	hystart_round(&h, 41000);
	assert_int_equal(h.c.cwnd, before + 16 * MSS);
	assert_int_equal(h.c.ssthresh, UINT32_MAX);
}

/* Seven samples in a round are not enough for a decision. */
static void hystart_wants_samples(void **s)
{
	(void)s;
	struct cc c;
	uint32_t una = 0;
	cc_init(&c, CC_CUBIC, MSS);
	for (uint32_t round = 0; round < 50; round++, una += 10 * MSS)
		for (int i = 0; i < 7; i++)
			cc_on_rtt(&c, 10000 + round * 10000, una, una + 10 * MSS);
	assert_false(c.flags & CC_CSS);
	assert_int_equal(c.ssthresh, UINT32_MAX);
}

static void hystart_is_for_the_first_slow_start(void **s)
{
	(void)s;
	struct hystart h = hystart_make();
	cc_on_rto(&h.c, 1000 * MSS, true);
	for (int round = 0; round < 5; round++)
		hystart_round(&h, 40000 + (uint32_t)round * 20000);
	assert_false(h.c.flags & CC_CSS);
	assert_int_equal(h.c.ssthresh, 700 * MSS);
	h = hystart_make();
	cc_init(&h.c, CC_NEWRENO, MSS);
	for (int round = 0; round < 5; round++)
		hystart_round(&h, 40000 + (uint32_t)round * 20000);
	assert_int_equal(h.c.ssthresh, UINT32_MAX);
}

/* --- random events --- */

static uint32_t any32(void)
{
	return (uint32_t)(random64() >> (32 + random_below(32)));
}

static uint32_t any_mss(void)
{
	return 1 + (random_below(3) ? 500 + random_below(9000) : random_below(65535));
}

/* One ACK adds at most L, or half of the window, or what W_est has gained while the curve was above
 * it. */
static void some_ack(struct cc *c, uint64_t *now)
{
	uint32_t acked = random_below(2) ? 1 + random_below(4 * c->mss) : any32(), was = c->cwnd;
	*now += random_below(1000000);
	cc_on_ack(c, *now, acked, random_below(1000000), true);
	assert_true(c->cwnd >= was);
	assert_true(c->cwnd - was <= was / 2 + 8 * c->mss || c->cwnd == c->w_est);
}

static void event(struct cc *c, uint64_t *now)
{
	struct cc before = *c;
	uint32_t flight = random_below(3) ? c->cwnd : any32();
	*now += random64() >> (24 + random_below(40));
	switch (random_below(12)) {
	case 0:
		cc_on_loss(c, flight);
		assert_int_equal(c->cwnd, before.cwnd);
		break;
	case 1:
		cc_on_ecn(c, flight);
		assert_true(c->cwnd <= before.cwnd);
		break;
	case 2:
		cc_on_rto(c, flight, random_below(2));
		assert_int_equal(c->cwnd, c->mss);
		break;
	case 3:
		cc_after_idle(c);
		assert_true(c->cwnd <= before.cwnd);
		break;
	case 4:
		cc_set_mss(c, any_mss());
		break;
	case 5:
		cc_on_rtt(c, any32(), any32(), any32());
		assert_int_equal(c->cwnd, before.cwnd);
		break;
	case 6: /* a recovery that ends somewhere */
		c->cwnd = random_below(4) ? c->ssthresh : any32();
		cc_on_ack(c, *now, 1, any32(), false);
		break;
	default:
		for (int n = 0; n < 20; n++)
			some_ack(c, now);
	}
	assert_in_range(c->cwnd, c->mss, CC_WINDOW_MAX);
	assert_true(c->ssthresh >= 2 * c->mss);
	assert_true(c->w_est <= CC_WINDOW_MAX && c->w_max <= CC_WINDOW_MAX);
}

static void random_events(void **s)
{
	(void)s;
	seed_random("random_events");
	for (unsigned life = 0; life < random_rounds(3000); life++) {
		struct cc c;
		uint64_t now = random64() >> random_below(64);
		cc_init(&c, random_below(4) ? CC_CUBIC : CC_NEWRENO, any_mss());
		if (random_below(2))
			c.cwnd = c.mss + random_below(CC_WINDOW_MAX - c.mss);
		for (int step = 0; step < 100; step++)
			event(&c, &now);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(division_by_steps),
		cmocka_unit_test(initial_window),
		cmocka_unit_test(slow_start_doubles),
		cmocka_unit_test(slow_start_limits_an_ack),
		cmocka_unit_test(slow_start_ends_at_ssthresh),
		cmocka_unit_test(newreno_adds_a_segment_per_rtt),
		cmocka_unit_test(a_rest_stays_a_fraction),
		cmocka_unit_test(newreno_halves),
		cmocka_unit_test(small_windows),
		cmocka_unit_test(cubic_follows_the_model),
		cmocka_unit_test(cubic_reaches_w_max_after_k),
		cmocka_unit_test(cubic_reduces_to_seven_tenths),
		cmocka_unit_test(cubic_is_no_slower_than_reno),
		cmocka_unit_test(cubic_after_timeout),
		cmocka_unit_test(cubic_is_slower_than_slow_start),
		cmocka_unit_test(application_limited),
		cmocka_unit_test(after_idle),
		cmocka_unit_test(mss_changes),
		cmocka_unit_test(a_copy_undoes),
		cmocka_unit_test(hystart_leaves_a_steady_path_alone),
		cmocka_unit_test(hystart_ends_slow_start),
		cmocka_unit_test(hystart_forgives_jitter),
		cmocka_unit_test(hystart_wants_samples),
		cmocka_unit_test(hystart_is_for_the_first_slow_start),
		cmocka_unit_test(random_events),
	};
	return cmocka_run_group_tests_name("congestion", tests, NULL, NULL);
}
