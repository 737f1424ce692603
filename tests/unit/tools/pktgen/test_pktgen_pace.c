/* tools/pktgen/measure/pace.h in virtual time, against the formula with 128 bits: at any time the frames
 * sent are those that were due, no more and no less. */
#include "tests/unit/rig/host.h"

#include "tools/pktgen/measure/pace.h"

typedef unsigned __int128 u128;

#define HZ 2599998123ull /* a TSC that shares no factor with round numbers */
#define GBIT 1000000000ull
#define OWED (HZ / 1000)

static struct pace p, more[8];

static struct plan_stream stream_of(enum plan_rate_unit unit, uint64_t value, uint16_t len)
{
	struct plan_stream s = {.rate = {unit, value}, .burst = 1, .sizes = 1, .size = {len}};
	return s;
}

static struct pace_rate rate_of(uint64_t line_bps)
{
	return (struct pace_rate){.hz = HZ, .line_bps = line_bps, .senders = 1, .owed_max = OWED};
}

/* Frames of one length that are due `ticks` after the start: 1 + floor(ticks * rate / cost). */
static uint64_t should(uint64_t ticks, uint64_t rate, uint64_t cost)
{
	return (uint64_t)((u128)ticks * rate / cost) + 1;
}

/* Takes everything that is due, in batches of up to 32. */
static uint64_t take(struct pace *q, uint64_t now, const uint16_t *len, unsigned lens)
{
	uint64_t took = 0;
	unsigned n;
	while ((n = pace_due(q, now, len ? len + q->result.sent % lens : NULL, 32)) > 0) {
		pace_sent(q, len ? len + q->result.sent % lens : NULL, n);
		took += n;
	}
	return took;
}

static void check_exact(const struct plan_stream *s, uint64_t line_bps, uint64_t rate, uint64_t cost)
{
	struct pace_rate r = rate_of(line_bps);
	uint64_t start = random64() >> 8, now = start, turn = (uint64_t)((u128)cost * 20 / rate);
	pace_start(&p, s, &r, start);
	assert_int_equal(pace_due(&p, start - 1, NULL, 32), 0);
	turn = turn > OWED ? OWED : turn;
	for (unsigned i = 0; i < 20000; i++) {
		take(&p, now, NULL, 0);
		assert_true(p.result.sent == should(now - start, rate, cost));
		/* The next frame is due when pace_next says, and not one tick before. */
		uint64_t next = pace_next(&p);
		assert_true(should(next - start, rate, cost) == p.result.sent + 1);
		assert_true(should(next - 1 - start, rate, cost) == p.result.sent);
		now += i % 16 == 15 ? next - now : 1 + random64() % turn;
	}
	assert_true(pace_kept(&p) && p.result.forgiven == 0);
	assert_true(histogram_count(&p.result.error) == p.result.sent);
}

static void rates_are_exact(void **s)
{
	(void)s;
	static const uint64_t pps[] = {1, 3, 7, 1000, 999983, 14880952, 148809523};
	static const uint64_t gbit[] = {1, 10, 25, 40, 100, 400};
	for (unsigned i = 0; i < ARRAY_LEN(pps); i++) {
		struct plan_stream a = stream_of(PLAN_PPS, pps[i], 60);
		check_exact(&a, 0, pps[i], HZ);
	}
	for (unsigned i = 0; i < ARRAY_LEN(gbit); i++) {
		struct plan_stream a = stream_of(PLAN_L1_BPS, gbit[i] * GBIT, 60);
		check_exact(&a, 0, gbit[i] * GBIT, HZ * 84 * 8);
		a = stream_of(PLAN_L2_BPS, gbit[i] * GBIT - 17, 1514);
		check_exact(&a, 0, gbit[i] * GBIT - 17, HZ * 1518 * 8);
		a = stream_of(PLAN_PERCENT, 37123, 9216); /* 37.123 % */
		check_exact(&a, gbit[i] * GBIT, gbit[i] * GBIT / 100000 * 37123, HZ * 9240 * 8);
	}
}

/* A replay of `frames` frames, repeated without end: frame k is due at the sum of the gaps before
 * it. */
#define GAPS 37
static uint64_t gap[GAPS + 32];

static uint64_t take_gaps(uint64_t now)
{
	uint64_t took = 0;
	unsigned n;
	while ((n = pace_due_gaps(&p, now, gap + p.result.sent % GAPS, 32)) > 0) {
		pace_sent_gaps(&p, gap + p.result.sent % GAPS, n);
		took += n;
	}
	return took;
}

/* The frames that are due: those whose time in the replay is not beyond `ticks` at that speed. */
static uint64_t due_gaps(uint64_t ticks, uint64_t speed, uint64_t *count, u128 *ns)
{
	for (; *ns * HZ * 1000 <= (u128)ticks * 1000000000 * speed; ++*count)
		*ns += gap[*count % GAPS];
	return *count;
}

static void traces_are_exact(void **s)
{
	(void)s;
	static const uint64_t speed[] = {1, 500, 1000, 2000, 2500, 1000000};
	for (unsigned k = 0; k < ARRAY_LEN(speed); k++) {
		struct plan_stream a = stream_of(PLAN_RECORDED, speed[k], 60);
		struct pace_rate r = rate_of(0);
		uint64_t start = random64() >> 8, now = start, should_be = 0;
		u128 ns = 0;
		for (unsigned i = 0; i < GAPS; i++) /* some leave together */
			gap[i] = random_below(4) ? random_below(2000) * speed[k] : 0;
		memcpy(gap + GAPS, gap, 32 * sizeof *gap);
		pace_start(&p, &a, &r, start);
		assert_int_equal(pace_due_gaps(&p, start - 1, gap, 32), 0);
		for (unsigned i = 0; i < 20000; i++) {
			take_gaps(now);
			assert_true(p.result.sent == due_gaps(now - start, speed[k], &should_be, &ns));
			uint64_t next = pace_next(&p);
			assert_true(next > now && ns * HZ * 1000 <= (u128)(next - start) * 1000000000 * speed[k]);
			assert_true(ns * HZ * 1000 > (u128)(next - 1 - start) * 1000000000 * speed[k]);
			now = i % 16 == 15 ? next : now + 1 + random_below(HZ / 100000);
		}
		assert_true(pace_kept(&p) && p.result.forgiven == 0 && p.result.behind == 0);
		assert_true(histogram_count(&p.result.error) == p.result.sent);
		assert_true(p.result.error.max <= 17000);
	}
}

/* Every frame of a replay is sent, later if necessary; the run is then not as requested. */
static void traces_lose_no_frame(void **s)
{
	(void)s;
	struct plan_stream a = stream_of(PLAN_RECORDED, 1000, 60);
	struct pace_rate r = rate_of(0);
	for (unsigned i = 0; i < ARRAY_LEN(gap); i++)
		gap[i] = 1000000;
	pace_start(&p, &a, &r, 0);
	assert_int_equal(take_gaps(0), 1);
	assert_int_equal(take_gaps(HZ / 1000 * 19 / 10), 1);
	assert_int_equal(take_gaps(HZ / 1000 * 21 / 10), 1);
	assert_true(pace_kept(&p));
	assert_int_equal(take_gaps(HZ), 1);
	assert_true(!pace_kept(&p) && p.result.behind == 1 && p.result.forgiven == 0);
	assert_true(p.result.worst_lag_ns > 996000000 && p.result.worst_lag_ns < 998000000);
	assert_int_equal(take_gaps(HZ + HZ / 1000 - 1000), 0); /* from there on as in the replay */
	assert_int_equal(take_gaps(HZ + HZ / 1000 + 1000), 1);
	/* an hour between two frames */
	gap[p.result.sent % GAPS] = gap[p.result.sent % GAPS + GAPS] = 3600 * GBIT;
	take_gaps(HZ + HZ / 500 + 1000);
	assert_int_equal(take_gaps(HZ * 3600), 0);
	assert_int_equal(take_gaps(HZ * 3601 + HZ / 500 + 2000), 1);
	assert_int_equal(p.result.behind, 1);
}

/* A year in turns of hours: no error accumulates. (One frame a second, so few are owed.) */
static void no_drift_in_a_year(void **s)
{
	(void)s;
	struct plan_stream a = stream_of(PLAN_PPS, 3, 60);
	struct pace_rate r = rate_of(0);
	uint64_t now = 12345, end = now + HZ * 86400 * 365;
	r.owed_max = HZ * 7200;
	pace_start(&p, &a, &r, now);
	for (; now < end; now += HZ * 3600 + random_below(1000)) {
		take(&p, now, NULL, 0);
		assert_true(p.result.sent == should(now - 12345, 3, HZ));
	}
	assert_true(p.result.sent > 3ull * 86400 * 364);
}

/* Alternating sizes: the k-th frame is due when the bytes before it have been paid for. */
static void imix_is_exact(void **s)
{
	(void)s;
	static const uint64_t gbit[] = {10, 25, 40, 100};
	static const uint16_t sizes[12] = {60, 590, 60, 60, 590, 60, 1514, 60, 590, 60, 60, 590};
	uint16_t len[64];
	for (unsigned i = 0; i < ARRAY_LEN(len); i++)
		len[i] = sizes[i % 12];
	for (unsigned g = 0; g < ARRAY_LEN(gbit); g++) {
		struct plan_stream a = stream_of(PLAN_L1_BPS, gbit[g] * GBIT, 0);
		struct pace_rate r = rate_of(0);
		uint64_t now = 99, k = 0;
		u128 before = 0; /* bits of the frames before frame k, times HZ */
		a.sizes = 12;
		memcpy(a.size, sizes, sizeof sizes);
		pace_start(&p, &a, &r, 99);
		for (unsigned i = 0; i < 20000; i++, now += random_below(20000)) {
			take(&p, now, len, 12);
			while (before <= (u128)(now - 99) * gbit[g] * GBIT)
				before += (u128)(sizes[k++ % 12] + 24) * 8 * HZ;
			assert_true(p.result.sent == k);
		}
	}
}

/* Several cores: at every moment they have sent together what one core would have sent. */
static void senders_share_the_rate(void **s)
{
	(void)s;
	struct plan_stream a = stream_of(PLAN_PPS, 14880952, 60);
	for (unsigned senders = 2; senders <= ARRAY_LEN(more); senders++) {
		struct pace_rate r = rate_of(0);
		uint64_t now = 77;
		r.senders = senders;
		for (r.sender = 0; r.sender < senders; r.sender++)
			pace_start(&more[r.sender], &a, &r, 77);
		for (unsigned i = 0; i < 5000; i++, now += random_below(50000)) {
			uint64_t sum = 0;
			for (unsigned k = 0; k < senders; k++) {
				take(&more[k], now, NULL, 0);
				sum += more[k].result.sent;
				assert_true(k == 0 || more[k].result.sent <= more[k - 1].result.sent);
			}
			assert_true(sum == should(now - 77, 14880952, HZ));
		}
	}
}

/* k frames at a time, with the bursts spaced as the rate requires. */
static void bursts_go_as_one(void **s)
{
	(void)s;
	struct plan_stream a = stream_of(PLAN_PPS, 1000000, 60);
	struct pace_rate r = rate_of(0);
	uint64_t start = 5, now = start;
	a.burst = 10;
	pace_start(&p, &a, &r, start);
	for (unsigned i = 0; i < 10000; i++) {
		assert_int_equal(pace_due(&p, now, NULL, 256), 10);
		pace_sent(&p, NULL, 10);
		assert_int_equal(pace_due(&p, now, NULL, 256), 0);
		uint64_t next = pace_next(&p);
		assert_true(next == start + (uint64_t)(((u128)(i + 1) * 10 * HZ + 999999) / 1000000));
		assert_int_equal(pace_due(&p, next - 1, NULL, 256), 0);
		now = next;
	}
	assert_true(p.result.error.max <= 1); /* all ten are due with the first */
	/* A ring with room for four: the rest of the burst leaves as soon as there is room. */
	assert_int_equal(pace_due(&p, now, NULL, 4), 4);
	pace_sent(&p, NULL, 4);
	assert_true(pace_next(&p) <= now);
	assert_int_equal(pace_due(&p, now + 100, NULL, 256), 6);
}

/* Errors are counted per frame: frames that waited for the turn were late by the time they
 * waited. */
static void errors_are_measured(void **s)
{
	(void)s;
	struct plan_stream a = stream_of(PLAN_PPS, 1000000, 60);
	struct pace_rate r = rate_of(0);
	r.hz = 1000000000; /* a tick is a ns */
	r.owed_max = 1000000;
	pace_start(&p, &a, &r, 1000);
	for (uint64_t now = 1000; now < 1000 + 100 * 10000; now += 10000)
		take(&p, now, NULL, 0);
	struct histogram_summary e;
	histogram_summarize(&p.result.error, &e);
	/* After the first, ten a turn: 0, 1000 ... 9000 ns late. */
	assert_int_equal(e.count, 1 + 99 * 10);
	assert_int_equal(e.min, 0);
	assert_in_range(e.max, 8999, 9000);
	assert_in_range(e.mean_ps, 4490000, 4500000);
	assert_in_range(e.p[P50], 3960, 4040);
	assert_int_equal(p.result.worst_lag_ns, e.max);
}

/* The core was away for longer than it may owe: the excess is forgiven and counted, and all frames
 * are accounted for: sent + forgiven + owed = due. */
static void debts_are_forgiven(void **s)
{
	(void)s;
	struct plan_stream a = stream_of(PLAN_PPS, 1000000, 60);
	struct pace_rate r = rate_of(0);
	r.hz = 1000000000;
	r.owed_max = 1000000; /* 1000 frames */
	pace_start(&p, &a, &r, 0);
	take(&p, 0, NULL, 0);
	take(&p, 900000, NULL, 0);
	assert_true(pace_kept(&p) && p.result.sent == 901);
	assert_int_equal(pace_due(&p, 900000 + 5000000, NULL, 32), 32);
	assert_int_equal(p.result.forgiven, 5000 - 1 - 1000);
	assert_int_equal(p.result.behind, 1);
	assert_in_range(p.result.worst_lag_ns, 4998990, 4999010);
	assert_false(pace_kept(&p));
	take(&p, 900000 + 5000000, NULL, 0);
	assert_int_equal(p.result.sent + p.result.forgiven, 5901);
	/* For weeks. */
	uint64_t now = 1000000000ull * 86400 * 30;
	take(&p, now, NULL, 0);
	assert_true(p.result.sent + p.result.forgiven == should(now, 1000000, 1000000000));
	assert_int_equal(p.result.behind, 2);
	assert_true(histogram_count(&p.result.error) == p.result.sent);
}

/* Slow flows may owe two frames, however long these take. */
static void slow_frames_may_wait(void **s)
{
	(void)s;
	struct plan_stream a = stream_of(PLAN_PPS, 10, 60);
	struct pace_rate r = rate_of(0);
	pace_start(&p, &a, &r, 0);
	take(&p, 0, NULL, 0);
	assert_int_equal(take(&p, HZ / 10 + HZ / 20, NULL, 0), 1);
	assert_int_equal(take(&p, HZ * 3 / 10 + 1, NULL, 0), 2);
	assert_true(pace_kept(&p));
	take(&p, HZ * 6 / 10 + HZ / 20, NULL, 0);
	assert_int_equal(p.result.forgiven, 1);
	assert_false(pace_kept(&p));
}

/* The same in bits, with different lengths, at the highest rate. */
static void long_stalls_do_not_overflow(void **s)
{
	(void)s;
	struct plan_stream a = stream_of(PLAN_L1_BPS, 400 * GBIT, 60);
	uint16_t len[64] = {0};
	struct pace_rate r = rate_of(0);
	a.sizes = 2;
	a.size[1] = 9216;
	for (unsigned i = 0; i < ARRAY_LEN(len); i++)
		len[i] = i % 2 ? 9216 : 60;
	pace_start(&p, &a, &r, 0);
	uint64_t now = HZ * 86400 * 365;
	assert_int_equal(pace_due(&p, now, len, 32), 32);
	pace_sent(&p, len, 32);
	u128 mean_bits = (4638 + 24) * 8;
	u128 due = (u128)now * 400 * GBIT / HZ / mean_bits;
	assert_in_range(p.result.forgiven, (uint64_t)(due - due / 10000), (uint64_t)due);
	assert_false(pace_kept(&p));
	take(&p, now, len, 2);
	assert_true(pace_next(&p) > now && pace_next(&p) < now + 1000);
}

/* A cable 80 ppm slower than requested is within a tolerance of 200 ppm; a stall is not. */
static void check_slow_cable(uint64_t stall_at, uint32_t tolerance_ppm, bool kept)
{
	struct plan_stream a = stream_of(PLAN_PERCENT, 100000, 60);
	struct pace_rate r = rate_of(GBIT);
	r.tolerance_ppm = tolerance_ppm;
	r.owed_max = HZ / 10000;
	pace_start(&p, &a, &r, 0);
	uint64_t stalled = 0, now = 0;
	while (now < 4 * HZ) {
		now += HZ / 20000;
		if (now > stall_at && !stalled)
			now += stalled = HZ / 1000;
		uint64_t fits = (uint64_t)((u128)(now - stalled) * 1488095 * 999920 / 1000000 / HZ);
		while (p.result.sent < fits) {
			uint64_t room = fits - p.result.sent;
			unsigned n = pace_due(&p, now, NULL, room < 32 ? (unsigned)room : 32);
			if (n == 0)
				break;
			pace_sent(&p, NULL, n);
		}
	}
	pace_due(&p, now, NULL, 32);
	assert_true(p.result.forgiven > 0);
	assert_true(pace_kept(&p) == kept);
}

static void tolerance_is_for_clocks_only(void **s)
{
	(void)s;
	check_slow_cable(UINT64_MAX, 200, true);
	check_slow_cable(UINT64_MAX, 0, false);
	check_slow_cable(HZ, 200, false);
}

static void check_ramp(uint64_t from, uint64_t to, enum plan_rate_unit unit, uint64_t cost)
{
	struct plan_stream a = stream_of(unit, from, 60);
	struct pace_rate r = rate_of(0);
	uint64_t start = 1000, now = start, length = HZ * 10;
	r.owed_max = HZ / 50;
	a.rate_end = (struct plan_rate){unit, to};
	a.ramp_ns = 10000000000;
	pace_start(&p, &a, &r, start);
	while (now < start + 2 * length) {
		take(&p, now, NULL, 0);
		/* The integral of the slope, then of the rate at its end. */
		double t = (double)(now - start) / HZ, x = t < 10 ? t : 10, rest = t - x;
		double exact = (double)from * x + ((double)to - (double)from) * x * x / 20;
		exact = (exact + (double)to * rest) * HZ / (double)cost + 1;
		double off = (double)p.result.sent - exact;
		/* Within a step: at most an eighth of its change of rate times its length. */
		double step = (from > to ? from - to : to - from) / 1024.0 * (10 / 1024.0) / 8 * HZ / (double)cost;
		assert_true(off > -1.5 - step && off < 1.5 + step);
		uint64_t next = pace_next(&p);
		assert_true(next > now);
		uint64_t away = now + length / 1000;
		now = next < away && random_below(4) == 0 ? next : away;
	}
	assert_true(pace_kept(&p));
}

static void ramps_are_even(void **s)
{
	(void)s;
	check_ramp(1, 10, PLAN_PPS, HZ);
	check_ramp(1000, 100000, PLAN_PPS, HZ);
	check_ramp(100000, 10, PLAN_PPS, HZ);
	check_ramp(1000000, 0, PLAN_L1_BPS, HZ * 84 * 8);
	check_ramp(0, 500000000, PLAN_L2_BPS, HZ * 64 * 8);
}

static void flat_is_always_due(void **s)
{
	(void)s;
	struct plan_stream a = stream_of(PLAN_FLAT, 0, 60);
	struct pace_rate r = rate_of(0);
	pace_start(&p, &a, &r, 100);
	assert_int_equal(pace_due(&p, 100, NULL, 64), 64);
	pace_sent(&p, NULL, 64);
	assert_int_equal(pace_due(&p, HZ * 1000, NULL, 64), 64);
	assert_int_equal(p.result.sent, 64);
	assert_true(pace_kept(&p) && pace_next(&p) <= 100);
}

#define MS(n) (((uint64_t)HZ * (n) + 999) / 1000)

/* Frames due before the end are sent after it, however late; those due later never are. */
static void ends_are_kept(void **s)
{
	(void)s;
	struct plan_stream a = {.rate = {PLAN_PPS, 1000}, .sizes = 1, .size = {60}, .burst = 1};
	struct pace_rate r = rate_of(0);
	r.end_tsc = MS(10); /* when the eleventh is due */
	r.owed_max = HZ;
	pace_start(&p, &a, &r, 0);
	assert_int_equal(take(&p, MS(4), NULL, 0), 5);
	assert_true(pace_next(&p) < r.end_tsc);
	assert_int_equal(take(&p, MS(20), NULL, 0), 5);
	assert_true(pace_next(&p) >= r.end_tsc && pace_kept(&p));
	assert_true(p.result.error.max > 14990000 && p.result.error.max < 15010000);
	assert_int_equal(take(&p, MS(30), NULL, 0), 0);
	/* Too late: everything that was due is forgiven, and no more. */
	r.owed_max = HZ / 1000;
	pace_start(&p, &a, &r, 0);
	assert_int_equal(take(&p, MS(1), NULL, 0), 2);
	assert_int_equal(take(&p, HZ, NULL, 0), 0);
	assert_true(p.result.forgiven == 8 && p.result.behind == 1 && !pace_kept(&p));
	assert_true(pace_next(&p) >= r.end_tsc);
}

int main(void)
{
	seed_random("test_pktgen_pace");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_exact),
		cmocka_unit_test(traces_are_exact),
		cmocka_unit_test(traces_lose_no_frame),
		cmocka_unit_test(no_drift_in_a_year),
		cmocka_unit_test(imix_is_exact),
		cmocka_unit_test(senders_share_the_rate),
		cmocka_unit_test(bursts_go_as_one),
		cmocka_unit_test(errors_are_measured),
		cmocka_unit_test(debts_are_forgiven),
		cmocka_unit_test(ends_are_kept),
		cmocka_unit_test(slow_frames_may_wait),
		cmocka_unit_test(long_stalls_do_not_overflow),
		cmocka_unit_test(tolerance_is_for_clocks_only),
		cmocka_unit_test(ramps_are_even),
		cmocka_unit_test(flat_is_always_due),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
