/* net/ntp: packets, the clock filter, the selection and the discipline, each by itself. test_ntp_client.c has the whole. */
#include "tests/unit/rig/host.h"

#include <math.h>

#include "lib/bytes.h"
#include "net/ntp/discipline.h"
#include "net/ntp/filter.h"
#include "net/ntp/packet.h"
#include "net/ntp/select.h"

#define MS 1000000ll
#define S 1000000000ll
#define COOKIE 0x1122334455667788ull

/* --- packets --- */

static uint8_t wire[NTP_BYTES];

static void put_time(unsigned at, uint32_t seconds, uint32_t fraction)
{
	be32_store(wire + at, seconds);
	be32_store(wire + at + 4, fraction);
}

/* A good answer: stratum 2, root delay 0.5 s, dispersion 0.25 s, T2 and T3 1 ms apart in 2026. */
static void good(void)
{
	const uint64_t cookie = COOKIE;
	memset(wire, 0, sizeof wire);
	wire[0] = 0 << 6 | 4 << 3 | 4;
	wire[1] = 2;
	wire[2] = 6;
	wire[3] = (uint8_t)-20;
	be32_store(wire + 4, 0x8000);
	be32_store(wire + 8, 0x4000);
	be32_store(wire + 12, 0xc0000201);
	put_time(16, 4004977400u, 0);
	memcpy(wire + 24, &cookie, 8);
	put_time(32, 4004977445u, 0x80000000);
	put_time(40, 4004977445u, 0x80418937);
}

static enum counter read(struct ntp_packet *p)
{
	uint8_t *copy = malloc(NTP_BYTES); /* for ASan */
	memcpy(copy, wire, NTP_BYTES);
	const enum counter why = ntp_answer(copy, NTP_BYTES, COOKIE, p);
	free(copy);
	return why;
}

static void answers(void **state)
{
	(void)state;
	struct ntp_packet p;
	good();
	assert_int_equal(read(&p), CNT_NONE);
	assert_true(p.leap == 0 && p.version == 4 && p.stratum == 2 && p.poll == 6 && p.precision == -20 && !p.kiss);
	assert_int_equal(p.root_delay_ns, 500 * MS);
	assert_int_equal(p.root_dispersion_ns, 250 * MS);
	assert_int_equal(p.reference_id, 0xc0000201);
	assert_int_equal(p.receive_ns, 1795988645500000000ull); /* 4004977445 - 2208988800 */
	assert_int_equal(p.transmit_ns / 1000, 1795988645501000000ull / 1000 - 1);
	wire[0] = 3 << 3 | 4; /* version 3 */
	assert_int_equal(read(&p), CNT_NONE);
}

static void bad_answers(void **state)
{
	(void)state;
	static const struct {
		unsigned at;
		uint8_t value;
		enum counter why;
	} row[] = {
		{0, 4 << 3 | 3, CNT_drop_ntp_malformed},           /* a client */
		{0, 4 << 3 | 5, CNT_drop_ntp_malformed},           /* broadcast */
		{0, 2 << 3 | 4, CNT_drop_ntp_malformed},           /* versions */
		{0, 5 << 3 | 4, CNT_drop_ntp_malformed},
		{0, 0xc0 | 4 << 3 | 4, CNT_drop_ntp_unsynchronized}, /* leap 3 */
		{1, 16, CNT_drop_ntp_unsynchronized},
		{1, 255, CNT_drop_ntp_unsynchronized},
		{24, 0, CNT_drop_ntp_origin},                      /* another cookie */
		{31, 0, CNT_drop_ntp_origin},
		{9, 16, CNT_drop_ntp_unsynchronized},              /* root dispersion 16 s */
		{5, 32, CNT_drop_ntp_unsynchronized},              /* root delay 32 s */
		{16, 0xff, CNT_drop_ntp_unsynchronized},           /* the clock was set after it was read */
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		struct ntp_packet p;
		good();
		wire[row[i].at] = row[i].value;
		const enum counter why = read(&p);
		if (why != row[i].why)
			fail_msg("row %u: %d", i, why);
	}
	struct ntp_packet p;
	good();
	wire[5] = 20; /* a root delay of 20 s counts as 10 s (RFC 5905 A.5.1.1) */
	assert_int_equal(read(&p), CNT_NONE);
	good();
	for (unsigned n = 0; n < NTP_BYTES; n++) {
		uint8_t *copy = malloc(n ? n : 1);
		memcpy(copy, wire, n);
		assert_int_equal(ntp_answer(copy, n, COOKIE, &p), CNT_drop_ntp_malformed);
		free(copy);
	}
	good();
	put_time(32, 0, 0);
	assert_int_equal(read(&p), CNT_drop_ntp_malformed);
	good();
	put_time(40, 0, 0);
	assert_int_equal(read(&p), CNT_drop_ntp_malformed);
	good();
	put_time(40, 4004977445u, 0); /* T3 before T2 */
	assert_int_equal(read(&p), CNT_drop_ntp_malformed);
}

static void kisses(void **state)
{
	(void)state;
	struct ntp_packet p;
	good();
	wire[0] |= 0xc0;
	wire[1] = 0;
	memcpy(wire + 12, "RATE", 4);
	assert_int_equal(read(&p), CNT_NONE);
	assert_true(p.kiss && p.reference_id == 0x52415445);
	wire[24]++; /* anybody may have sent it */
	assert_int_equal(read(&p), CNT_drop_ntp_origin);
}

static void requests(void **state)
{
	(void)state;
	uint8_t out[NTP_BYTES];
	const uint64_t cookie = COOKIE;
	memset(out, 0xff, sizeof out);
	ntp_request(out, cookie);
	assert_int_equal(out[0], 0x23); /* version 4, mode 3 */
	for (unsigned i = 1; i < 40; i++)
		assert_int_equal(out[i], 0);
	assert_memory_equal(out + 40, &cookie, 8);
}

static void eras(void **state)
{
	(void)state;
	assert_int_equal(ntp_time_ns(3913056000ull << 32), 1704067200 * S);         /* 2024-01-01 */
	assert_int_equal(ntp_time_ns(0xffffffffull << 32), 2085978495 * S);         /* 2036-02-07T06:28:15Z */
	assert_int_equal(ntp_time_ns(0), 2085978496 * S);                           /* and a second later */
	assert_int_equal(ntp_time_ns(3913055999ull << 32), (1704067199 + (1ll << 32)) * S); /* 2160 */
	assert_int_equal(ntp_time_ns(0xffffffff), 2085978496 * S + 999999999);
	assert_int_equal(ntp_precision_ns(0), S);
	assert_int_equal(ntp_precision_ns(127), S);
	assert_int_equal(ntp_precision_ns(-1), S / 2);
	assert_int_equal(ntp_precision_ns(-20), 953);
	assert_int_equal(ntp_precision_ns(-29), 1);
	assert_int_equal(ntp_precision_ns(-128), 1);
}

/* --- numbers --- */

static void numbers(void **state)
{
	(void)state;
	seed_random("numbers");
	assert_int_equal(ntp_root(0), 0);
	assert_int_equal(ntp_root(UINT64_MAX), UINT32_MAX);
	for (unsigned i = 0; i < 10000; i++) {
		const uint64_t square = random64() >> random_below(64);
		const uint64_t root = ntp_root(square);
		assert_true(root * root <= square && (root == UINT32_MAX || (root + 1) * (root + 1) > square));
	}
	assert_int_equal(ntp_square(-3), 9);
	assert_int_equal(ntp_square(-5 * S), (uint64_t)(S * S));
	assert_int_equal(ntp_drift_ns(1000 * S), 15 * MS);
	/* 100 ppm of 1000 s */
	assert_true(llabs(ntp_scaled(1000 * S, 429497) - 100 * MS) < 1000);
	assert_true(llabs(ntp_scaled(1000 * S, -429497) + 100 * MS) < 1000);
	assert_true(llabs(ntp_scaled(10000 * S, NTP_FREQUENCY_MAX) - 5 * S) < 10000);
}

/* --- the filter --- */

static void samples(void **state)
{
	(void)state;
	struct ntp_sample s;
	/* the server is 100 s ahead; 3 ms there, 1 ms back, 2 ms in between */
	assert_true(ntp_sample_make(&s, 50 * S, 150 * S + 3 * MS, 150 * S + 5 * MS, 50 * S + 6 * MS, 1000));
	assert_int_equal(s.offset_ns, 100 * S + 1 * MS);
	assert_int_equal(s.delay_ns, 4 * MS);
	assert_int_equal(s.dispersion_ns, 1000 + 90);
	assert_int_equal(s.at_ns, 50 * S + 6 * MS);
	/* the server is behind: modulo 2^64 */
	assert_true(ntp_sample_make(&s, 50 * S, 10 * S + 1 * MS, 10 * S + 1 * MS, 50 * S + 2 * MS, 1000));
	assert_int_equal((int64_t)s.offset_ns, -40 * S);
	/* a delay of 0 counts as the precision */
	assert_true(ntp_sample_make(&s, 50 * S, 60 * S, 60 * S, 50 * S, 1000));
	assert_int_equal(s.delay_ns, 1000);
	/* an answer before the request; times that cannot be */
	assert_false(ntp_sample_make(&s, 50 * S, 60 * S, 60 * S, 50 * S - 1, 1000));
	assert_false(ntp_sample_make(&s, 50 * S, 60 * S, 60 * S - 1, 51 * S, 1000));
	assert_false(ntp_sample_make(&s, 50 * S, 60 * S, 60 * S, 67 * S, 1000));
	assert_false(ntp_sample_make(&s, 50 * S, 60 * S, 62 * S, 50 * S + 1, 1000));
}

static void shortest_delay_counts(void **state)
{
	(void)state;
	static struct ntp_filter f;
	struct ntp_estimate e;
	ntp_filter_estimate(&f, 5 * S, 0, &e);
	assert_true(e.at_ns == 0 && e.dispersion_ns == NTP_MAXDISP_NS);
	for (unsigned i = 1; i <= NTP_STAGES; i++) {
		const struct ntp_sample s = {(uint64_t)(100 * S + (i == 3 ? 0 : 8 * MS)), i == 3 ? 1 * MS : 20 * MS, 0, i * S};
		ntp_filter_add(&f, &s);
		ntp_filter_estimate(&f, i * S, 0, &e);
		assert_int_equal(e.dispersion_ns / MS, (NTP_MAXDISP_NS >> i) / MS);
		assert_int_equal(e.at_ns, i < 3 ? i * S : 3 * S); /* the newest of several */
	}
	assert_int_equal(e.offset_ns, 100 * S);
	assert_int_equal(e.delay_ns, 1 * MS);
	assert_int_equal(e.jitter_ns, 8 * MS); /* all others are 8 ms away */
	/* the sample leaves after eight others */
	for (unsigned i = 0; i < 2; i++) {
		const struct ntp_sample s = {(uint64_t)(100 * S + 8 * MS), 20 * MS, 0, (9 + i) * S};
		ntp_filter_add(&f, &s);
	}
	ntp_filter_estimate(&f, 10 * S, 0, &e);
	assert_int_equal(e.at_ns, 3 * S);
	const struct ntp_sample last = {(uint64_t)(100 * S + 8 * MS), 20 * MS, 0, 11 * S};
	ntp_filter_add(&f, &last);
	ntp_filter_estimate(&f, 11 * S, 0, &e);
	assert_int_equal(e.delay_ns, 20 * MS);
	assert_int_equal(e.jitter_ns, 0);
	assert_int_equal(e.at_ns, 11 * S);
}

/* UTC runs 100 ppm faster than the local clock: old samples are carried forward. */
static void frequency_of_samples(void **state)
{
	(void)state;
	struct ntp_filter f = {.next = 0};
	struct ntp_estimate e;
	for (unsigned i = 1; i <= NTP_STAGES; i++) {
		const struct ntp_sample s = {(uint64_t)(100 * S + i * 64 * S / 10000), i == 1 ? 1 * MS : 2 * MS, 0, (uint64_t)(i * 64 * S)};
		ntp_filter_add(&f, &s);
	}
	ntp_filter_estimate(&f, 8 * 64 * S, 429497, &e);
	assert_true(llabs((int64_t)(e.offset_ns - (100 * S + 8 * 64 * S / 10000))) < 1000 && e.jitter_ns < 1000);
	ntp_filter_estimate(&f, 8 * 64 * S, 0, &e); /* not known: they are far apart */
	assert_true(e.jitter_ns > 20 * MS);
}

/* --- the selection --- */

static struct ntp_candidate candidate(int64_t offset, int64_t distance)
{
	return (struct ntp_candidate){.offset_ns = (uint64_t)(1795988645 * S + offset), .distance_ns = distance, .jitter_ns = 10000,
	                              .stratum = 2, .fit = true};
}

static int64_t off(const struct ntp_selection *r) { return (int64_t)(r->offset_ns - (uint64_t)(1795988645 * S)); }

static void falsetickers(void **state)
{
	(void)state;
	struct ntp_selection r;
	struct ntp_candidate three[] = {candidate(0, 10 * MS), candidate(5 * S, 10 * MS), candidate(2 * MS, 10 * MS)};
	ntp_select(three, 3, &r);
	assert_true(r.survivors == 2 && three[1].verdict == NTP_FALSETICKER);
	assert_true(three[0].verdict >= NTP_COMBINED && three[2].verdict >= NTP_COMBINED);
	assert_true(off(&r) >= 0 && off(&r) <= 2 * MS);
	/* two that differ: nobody knows which one is right */
	struct ntp_candidate two[] = {candidate(0, 10 * MS), candidate(5 * S, 10 * MS)};
	ntp_select(two, 2, &r);
	assert_true(r.survivors == 0 && two[0].verdict == NTP_FALSETICKER && two[1].verdict == NTP_FALSETICKER);
	/* one alone is believed; one that is not fit is nothing */
	ntp_select(two, 1, &r);
	assert_true(r.survivors == 1 && two[0].verdict == NTP_SYSTEM_PEER && off(&r) == 0);
	two[0].fit = false;
	ntp_select(two, 1, &r);
	assert_true(r.survivors == 0 && two[0].verdict == NTP_REJECTED);
	ntp_select(two, 0, &r);
	assert_int_equal(r.survivors, 0);
	/* a century away, in both directions */
	struct ntp_candidate far[] = {candidate(100ll * 31556952 * S, 10 * MS), candidate(0, 10 * MS), candidate(MS, 10 * MS),
	                              candidate(-50ll * 31556952 * S, 10 * MS), candidate(-MS, 10 * MS)};
	ntp_select(far, 5, &r);
	assert_true(r.survivors == 3 && far[0].verdict == NTP_FALSETICKER && far[3].verdict == NTP_FALSETICKER);
}

static void clusters(void **state)
{
	(void)state;
	struct ntp_selection r;
	struct ntp_candidate c[] = {candidate(0, 100 * MS), candidate(1 * MS, 100 * MS), candidate(40 * MS, 100 * MS),
	                            candidate(-1 * MS, 100 * MS)};
	ntp_select(c, 4, &r);
	assert_true(r.survivors == 3 && c[2].verdict == NTP_OUTLIER);
	assert_int_equal(off(&r), 0);
	/* one that is preferred stays, and decides */
	c[2].prefer = true;
	ntp_select(c, 4, &r);
	assert_true(c[2].verdict == NTP_SYSTEM_PEER && off(&r) == 40 * MS);
	/* not if it is wrong */
	c[2] = candidate(5 * S, 100 * MS);
	c[2].prefer = true;
	ntp_select(c, 4, &r);
	assert_true(c[2].verdict == NTP_FALSETICKER && r.survivors == 3);
	/* of two that are preferred the better one */
	struct ntp_candidate both[] = {candidate(0, 10 * MS), candidate(MS, 20 * MS)};
	both[0].prefer = both[1].prefer = true;
	ntp_select(both, 2, &r);
	assert_true(both[0].verdict == NTP_SYSTEM_PEER && both[1].verdict == NTP_COMBINED && off(&r) == 0);
	/* the lower stratum is the system peer, however far */
	struct ntp_candidate s[] = {candidate(0, 10 * MS), candidate(MS, 500 * MS)};
	s[1].stratum = 1;
	ntp_select(s, 2, &r);
	assert_true(r.peer == 1 && s[1].verdict == NTP_SYSTEM_PEER && s[0].verdict == NTP_COMBINED);
	/* weights: the near one counts 50 times as much */
	assert_true(off(&r) > 15000 && off(&r) < 25000);
}

/* Any candidates: a result is within the survivors, and they are a majority. */
static void any_candidates(void **state)
{
	(void)state;
	seed_random("any_candidates");
	for (unsigned round = 0; round < 20000; round++) {
		struct ntp_candidate c[NTP_SERVERS_MAX];
		struct ntp_selection r;
		const unsigned n = random_below(NTP_SERVERS_MAX + 1);
		unsigned fit = 0, alive = 0;
		for (unsigned i = 0; i < n; i++) {
			c[i] = candidate((int64_t)(random64() >> (random_below(40) + 4)), 1 + (int64_t)random_below(1000000000));
			c[i].fit = random_below(5);
			c[i].prefer = !random_below(5);
			c[i].stratum = (uint8_t)random_below(16);
			c[i].jitter_ns = random_below(1000000000);
			fit += c[i].fit;
		}
		ntp_select(c, n, &r);
		int64_t low = INT64_MAX, high = INT64_MIN;
		unsigned true_ones = 0;
		for (unsigned i = 0; i < n; i++) {
			assert_int_equal(c[i].verdict == NTP_REJECTED, !c[i].fit);
			true_ones += c[i].verdict >= NTP_OUTLIER;
			if (c[i].verdict < NTP_COMBINED)
				continue;
			alive++;
			const int64_t at = (int64_t)(c[i].offset_ns - (uint64_t)(1795988645 * S));
			low = at < low ? at : low;
			high = at > high ? at : high;
		}
		assert_int_equal(alive, r.survivors);
		if (r.survivors == 0)
			continue;
		assert_true(2 * true_ones > fit);
		assert_true(c[r.peer].verdict == NTP_SYSTEM_PEER);
		assert_true(off(&r) >= low && off(&r) <= high);
	}
}

/* --- the discipline --- */

static void states(void **state)
{
	(void)state;
	struct ntp_discipline d;
	ntp_discipline_init(&d, 0, 6, 10);
	assert_int_equal(ntp_discipline_update(&d, 1 * MS, MS, 10 * S).action, NTP_STEP); /* the first */
	struct ntp_order o = ntp_discipline_update(&d, 1 * MS, MS, 74 * S);
	assert_true(o.action == NTP_SLEW && o.offset_ns == 1 * MS && o.over_ns == 128 * S);
	assert_true(llabs(o.frequency - 4194) < 20); /* 1 ms / 64 s / 16: 0.98 ppm */
	/* a spike is ignored */
	assert_int_equal(ntp_discipline_update(&d, 200 * MS, MS, 138 * S).action, NTP_NOTHING);
	assert_int_equal(ntp_discipline_update(&d, 1 * MS, MS, 202 * S).action, NTP_SLEW);
	/* one that stays is believed after 900 s */
	for (unsigned t = 0; t < 900; t += 64)
		assert_int_equal(ntp_discipline_update(&d, -200 * MS, MS, (uint64_t)(300 + t) * S).action, NTP_NOTHING);
	o = ntp_discipline_update(&d, -200 * MS, MS, 1200 * S);
	assert_true(o.action == NTP_STEP && o.offset_ns == -200 * MS && d.state == NTP_SYNC);
	/* far beyond: never */
	for (unsigned t = 0; t < 5000; t += 64)
		assert_int_equal(ntp_discipline_update(&d, 1001 * S, MS, (uint64_t)(2000 + t) * S).action, NTP_PANIC);
}

static void poll_intervals(void **state)
{
	(void)state;
	struct ntp_discipline d;
	uint64_t now = 100 * S;
	ntp_discipline_init(&d, 0, 6, 10);
	ntp_discipline_update(&d, 0, MS, now);
	for (unsigned i = 0; i < 100; i++)
		ntp_discipline_update(&d, 10000, MS, now += 64 * S); /* noise */
	assert_int_equal(d.poll, 10);
	for (unsigned i = 0; i < 100; i++)
		ntp_discipline_update(&d, 20 * MS, MS, now += 64 * S);
	assert_int_equal(d.poll, 6);
}

/* A local clock that is 120 ppm slow, and noise of up to a millisecond: the offset becomes small and stays so, and the frequency is
 * found. With an update in each interval, and with one in eight. */
static void converges(void **state)
{
	(void)state;
	seed_random("converges");
	for (unsigned each = 1; each <= 8; each *= 8) {
		struct ntp_discipline d;
		double offset = 0, frequency = 0, rate = 0, left_s = 0, worst = 0; /* of the clock, in ns and s/s */
		const double drift = 120e-6;
		uint64_t now = 100 * S;
		ntp_discipline_init(&d, 0, 6, 6);
		ntp_discipline_update(&d, 0, MS, now);
		for (unsigned i = 1; i <= 400; i++) {
			const double slewed = left_s < 64 ? left_s : 64;
			now += 64 * S;
			offset += (drift - frequency) * 64e9 - rate * slewed * 1e9;
			left_s -= slewed;
			if (i % each)
				continue;
			const int64_t seen = (int64_t)offset + (int64_t)random_below(2000000) - 1000000;
			const struct ntp_order o = ntp_discipline_update(&d, seen, MS, now);
			if (o.action == NTP_SLEW) {
				frequency = o.frequency / 4294967296.0;
				rate = (double)o.offset_ns / (double)o.over_ns;
				left_s = (double)o.over_ns / 1e9;
			}
			if (i > 200 && fabs(offset) > worst)
				worst = fabs(offset);
		}
		print_message("an update in %u intervals: at most %.0f us, %.1f ppm\n", each, worst / 1e3, frequency * 1e6);
		assert_true(worst < 3e6);
		assert_true(fabs(frequency - drift) < 3e-6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),
		cmocka_unit_test(bad_answers),
		cmocka_unit_test(kisses),
		cmocka_unit_test(requests),
		cmocka_unit_test(eras),
		cmocka_unit_test(numbers),
		cmocka_unit_test(samples),
		cmocka_unit_test(shortest_delay_counts),
		cmocka_unit_test(frequency_of_samples),
		cmocka_unit_test(falsetickers),
		cmocka_unit_test(clusters),
		cmocka_unit_test(any_candidates),
		cmocka_unit_test(states),
		cmocka_unit_test(poll_intervals),
		cmocka_unit_test(converges),
	};
	return cmocka_run_group_tests_name("ntp", tests, NULL, NULL);
}
