/*
 * See congestion.h. Integers only, and no product can exceed 64 bits: windows are below 2^31,
 * segments below 2^16, and the time in W_cubic below 2^20 units of 1/1024 s.
 */
#include "net/tcp/congestion.h"

#include "lib/assert.h"
#include "lib/divide.h"
#include "lib/number.h"

#define NO_RTT       UINT32_MAX
#define NO_THRESHOLD UINT32_MAX /* ssthresh "arbitrarily high", RFC 5681 3.1 */

/* RFC 9406 4.3 */
#define HYSTART_MIN_RTT_THRESH_US  4000u
#define HYSTART_MAX_RTT_THRESH_US  16000u
#define HYSTART_MIN_RTT_DIVISOR    8u
#define HYSTART_RTT_SAMPLES        8u
#define HYSTART_CSS_GROWTH_DIVISOR 4u
#define HYSTART_CSS_ROUNDS         5u
#define HYSTART_L                  8u

static uint32_t add_saturating(uint32_t a, uint32_t b)
{
	return a + b < a ? UINT32_MAX : a + b;
}

/* RFC 6928 2: min(10 MSS, max(2 MSS, 14600)) */
static uint32_t initial_window(uint32_t mss)
{
	return u32_min(10 * mss, u32_max(2 * mss, 14600));
}

/* The caller's PRR may have set cwnd to any value, even 0 (RFC 6937). */
static void bound_window(struct cc *c)
{
	c->cwnd = u32_min(u32_max(c->cwnd, c->mss), CC_WINDOW_MAX);
}

static bool first_slow_start(const struct cc *c)
{
	return c->ssthresh == NO_THRESHOLD;
}

void cc_init(struct cc *c, enum cc_algorithm algorithm, uint32_t mss)
{
	assert(mss > 0 && mss <= 65535);
	*c = (struct cc){
		.cwnd = initial_window(mss),
		.ssthresh = NO_THRESHOLD,
		.mss = mss,
		.algorithm = (uint8_t)algorithm,
		.last_round_min_rtt_us = NO_RTT,
		.round_min_rtt_us = NO_RTT,
		.css_baseline_us = NO_RTT,
	};
}

/* --- growth --- */

/*
 * Adds step * acked / cwnd to *window: `step` bytes per cwnd of acknowledged bytes, that is, per
 * RTT. *rest keeps the fraction of a byte, without which a large window would never grow.
 */
static void grow(const struct cc *c, uint32_t *window, uint32_t *rest, uint32_t step,
                 uint32_t acked)
{
	/* cwnd may have shrunk since the last call; the rest is still less than a byte */
	uint64_t sum = (uint64_t)step * acked + u32_min(*rest, c->cwnd - 1);
	uint64_t bytes = divide(sum, c->cwnd);
	*rest = (uint32_t)(sum - bytes * c->cwnd);
	*window = bytes < CC_WINDOW_MAX - *window ? *window + (uint32_t)bytes : CC_WINDOW_MAX;
}

/* RFC 5681 3.1, RFC 9406 4.2; L: see congestion.h. */
static void slow_start(struct cc *c, uint32_t acked)
{
	uint32_t limit = c->flags & CC_AFTER_RTO ? 1 : 2, step;
	if (first_slow_start(c) && c->algorithm == CC_CUBIC)
		limit = HYSTART_L;
	step = u32_min(acked, limit * c->mss);
	if (c->flags & CC_CSS)
		step /= HYSTART_CSS_GROWTH_DIVISOR;
	c->cwnd = u32_min(c->cwnd + step, u32_min(c->ssthresh, CC_WINDOW_MAX));
}

/* --- CUBIC --- */

/* The largest x with x^3 <= n, for n < 2^62: bit by bit, once per epoch. */
static uint32_t cube_root(uint64_t n)
{
	uint64_t x = 0;
	for (uint64_t bit = 1u << 20; bit; bit >>= 1)
		if ((x | bit) * (x | bit) * (x | bit) <= n)
			x |= bit;
	return (uint32_t)x;
}

/* RFC 9438 4.2, K = cbrt((W_max - cwnd_epoch) / C), C = 0.4 segments / s^3. In 1/1024 s the
 * argument is 2.5 * 2^30 times the segments. */
static uint32_t cubic_k_us(const struct cc *c)
{
	uint64_t cube = divide((uint64_t)(c->w_max - c->cwnd) * 5 << 29, c->mss);
	return (uint32_t)((uint64_t)cube_root(cube) * 15625 >> 4);
}

/*
 * Congestion avoidance begins at the present cwnd. W_max is undefined after HyStart++ (4.10) and
 * after a timeout (4.8); the window then grows from here as from a plateau. It also does so if cwnd
 * is already above W_max, where the RFC's formula would give a negative K.
 */
static void cubic_begin_epoch(struct cc *c)
{
	if (!c->cwnd_prior)
		c->cwnd_prior = c->cwnd;
	c->k_us = 0;
	if (c->w_max > c->cwnd)
		c->k_us = cubic_k_us(c);
	else
		c->w_max = c->cwnd;
	c->w_est = c->cwnd;
	c->w_est_rest = c->cwnd_rest = 0;
	c->elapsed_us = 0;
	c->flags |= CC_EPOCH;
}

/* RFC 9438 4.2, equation 1: W_cubic(t) = C (t - K)^3 + W_max, in bytes. */
static uint32_t cubic_window(const struct cc *c, uint32_t t_us)
{
	bool concave = t_us < c->k_us;
	uint32_t us = concave ? c->k_us - t_us : t_us - c->k_us;
	/* 68719 / 2^26 = 1024 / 10^6; after 1024 s any window has reached its limit */
	uint64_t d = (uint64_t)us * 68719 >> 26;
	if (d >= 1u << 20)
		d = (1u << 20) - 1;
	/* 6554 / 2^14 = 0.4; segments with 20 binary digits, then bytes */
	uint64_t segments = (d * d * d >> 10) * 6554 >> 14;
	if (segments >= (uint64_t)1 << 47)
		segments = (uint64_t)1 << 47;
	uint64_t bytes = segments * c->mss >> 20;
	if (concave)
		return bytes < c->w_max ? c->w_max - (uint32_t)bytes : 0;
	return bytes < CC_WINDOW_MAX - c->w_max ? c->w_max + (uint32_t)bytes : CC_WINDOW_MAX;
}

static void cubic_avoidance(struct cc *c, uint32_t acked, uint32_t srtt_us)
{
	if (!(c->flags & CC_EPOCH))
		cubic_begin_epoch(c);

	/* 4.3, equation 4: alpha_cubic = 3 (1 - 0.7) / (1 + 0.7) = 9/17 segments per RTT, and 1
	 * once the window before the reduction is reached */
	uint32_t alpha = c->w_est < c->cwnd_prior ? c->mss * 9 / 17 : c->mss;
	grow(c, &c->w_est, &c->w_est_rest, alpha, acked);

	if (cubic_window(c, c->elapsed_us) < c->w_est) {
		c->cwnd = u32_max(c->cwnd, c->w_est); /* 4.3, the Reno-friendly region */
		return;
	}
	/* 4.4 and 4.5, the concave and the convex region; target is bounded as in 4.2 */
	uint32_t target = cubic_window(c, add_saturating(c->elapsed_us, srtt_us));
	target = u32_min(target, c->cwnd + c->cwnd / 2);
	if (target > c->cwnd)
		grow(c, &c->cwnd, &c->cwnd_rest, target - c->cwnd, acked);
}

/*
 * The t of W_cubic(t) MUST NOT include times when the sender was not limited by cwnd (4.2). An
 * interval of more than one RTT between two ACKs counts as at most one RTT: cwnd did not prevent
 * sending in the rest.
 */
static void cubic_advance(struct cc *c, uint64_t now_us, uint32_t srtt_us, bool cwnd_limited)
{
	uint32_t step = (uint32_t)now_us - c->last_us;
	c->last_us = (uint32_t)now_us;
	if (srtt_us)
		step = u32_min(step, srtt_us);
	if (cwnd_limited)
		c->elapsed_us = add_saturating(c->elapsed_us, step);
}

void cc_on_ack(struct cc *c, uint64_t now_us, uint32_t acked, uint32_t srtt_us, bool cwnd_limited)
{
	cubic_advance(c, now_us, srtt_us, cwnd_limited);
	bound_window(c);
	if (!cwnd_limited)
		return;
	if (c->cwnd < c->ssthresh) {
		slow_start(c, acked);
		return;
	}
	c->flags &= (uint8_t)~CC_AFTER_RTO;
	acked = u32_min(acked, c->cwnd); /* data beyond one window was sent under a larger cwnd */
	if (c->algorithm == CC_CUBIC)
		cubic_avoidance(c, acked, srtt_us);
	else /* RFC 5681 3.1: one SMSS per RTT, by bytes acknowledged */
		grow(c, &c->cwnd, &c->cwnd_rest, c->mss, acked);
}

/* --- HyStart++ --- */

static void hystart_begin_round(struct cc *c, uint32_t snd_nxt)
{
	c->window_end = snd_nxt;
	c->last_round_min_rtt_us = c->round_min_rtt_us;
	c->round_min_rtt_us = NO_RTT;
	c->rtt_samples = 0;
	c->flags |= CC_ROUND;
}

/* Compares the RTT of this round with that of the last one, or of the one in which CSS began. */
static void hystart_judge(struct cc *c)
{
	if (c->flags & CC_CSS) {
		/* the increase was jitter: back to slow start */
		if (c->round_min_rtt_us < c->css_baseline_us) {
			c->css_baseline_us = NO_RTT;
			c->flags &= (uint8_t)~CC_CSS;
		}
		return;
	}
	if (c->last_round_min_rtt_us == NO_RTT)
		return;
	uint32_t thresh = c->last_round_min_rtt_us / HYSTART_MIN_RTT_DIVISOR;
	thresh = u32_max(HYSTART_MIN_RTT_THRESH_US, u32_min(thresh, HYSTART_MAX_RTT_THRESH_US));
	if (c->round_min_rtt_us >= add_saturating(c->last_round_min_rtt_us, thresh)) {
		c->css_baseline_us = c->round_min_rtt_us;
		c->css_rounds = 0;
		c->flags |= CC_CSS;
	}
}

void cc_on_rtt(struct cc *c, uint32_t rtt_us, uint32_t snd_una, uint32_t snd_nxt)
{
	/* RFC 9406 4.3: only in the first slow start; later ones have an ssthresh */
	if (c->algorithm != CC_CUBIC || !first_slow_start(c))
		return;
	if (!(c->flags & CC_ROUND)) {
		hystart_begin_round(c, snd_nxt);
	} else if ((int32_t)(snd_una - c->window_end) >= 0) {
		hystart_begin_round(c, snd_nxt);
		if (c->flags & CC_CSS && ++c->css_rounds >= HYSTART_CSS_ROUNDS) {
			c->ssthresh = u32_max(c->cwnd, 2 * c->mss);
			c->flags &= (uint8_t)~CC_CSS;
			return;
		}
	}
	c->round_min_rtt_us = u32_min(c->round_min_rtt_us, rtt_us);
	if (c->rtt_samples < HYSTART_RTT_SAMPLES)
		c->rtt_samples++;
	if (c->rtt_samples == HYSTART_RTT_SAMPLES)
		hystart_judge(c);
}

/* --- congestion --- */

/* The window after a congestion event: RFC 5681 equation (4) halves the data in flight, RFC 9438
 * 4.6 keeps 0.7. */
static uint32_t reduced(const struct cc *c, uint32_t flight)
{
	flight = u32_min(flight, CC_WINDOW_MAX);
	return c->algorithm == CC_CUBIC ? flight - flight * 3 / 10 : flight / 2;
}

static void set_threshold(struct cc *c, uint32_t flight)
{
	bound_window(c);
	c->ssthresh = u32_max(reduced(c, flight), 2 * c->mss);
	c->cwnd_prior = c->cwnd;
	c->flags &= (uint8_t)~(CC_EPOCH | CC_CSS);
}

/* RFC 9438 4.7, fast convergence: a flow reduced below its last maximum releases bandwidth. */
static void set_maximum(struct cc *c)
{
	bound_window(c);
	c->w_max = c->cwnd < c->w_max ? c->cwnd - c->cwnd * 3 / 20 : c->cwnd;
}

void cc_on_loss(struct cc *c, uint32_t flight)
{
	set_maximum(c);
	set_threshold(c, flight);
}

void cc_on_ecn(struct cc *c, uint32_t flight)
{
	set_maximum(c);
	set_threshold(c, flight);
	/* RFC 9438 4.6: cwnd may fall to one segment, ssthresh may not */
	c->cwnd = u32_min(c->cwnd, u32_max(reduced(c, flight), c->mss));
}

void cc_on_rto(struct cc *c, uint32_t flight, bool first)
{
	if (first)
		set_threshold(c, flight);
	c->w_max = 0; /* RFC 9438 4.8: W_max becomes the window that slow start will reach */
	c->cwnd = c->mss;
	c->flags &= (uint8_t)~(CC_EPOCH | CC_CSS);
	c->flags |= CC_AFTER_RTO;
}

void cc_after_idle(struct cc *c)
{
	uint32_t restart = initial_window(c->mss);
	/* samples from before the pause say nothing about the present queues */
	c->round_min_rtt_us = c->last_round_min_rtt_us = c->css_baseline_us = NO_RTT;
	c->flags &= (uint8_t)~(CC_ROUND | CC_CSS);
	if (c->cwnd > restart) {
		c->cwnd = restart;
		/* A new epoch, to the same W_max, follows the slow start to ssthresh. The old
		 * epoch's W_est would be reached in one step. */
		c->flags &= (uint8_t)~CC_EPOCH;
	}
}

void cc_set_mss(struct cc *c, uint32_t mss)
{
	assert(mss > 0 && mss <= 65535);
	if (mss < c->mss)
		c->cwnd = (uint32_t)divide((uint64_t)c->cwnd * mss, c->mss);
	c->mss = mss;
	c->cwnd = u32_max(c->cwnd, mss);
	c->ssthresh = u32_max(c->ssthresh, 2 * mss);
	c->flags &= (uint8_t)~CC_EPOCH; /* K was computed for segments of the old size */
}
