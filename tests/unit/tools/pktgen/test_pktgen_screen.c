/* tools/pktgen/report/screen.h: the rows of the live screen, byte by byte. */
#include "tests/unit/rig/host.h"

#include "tools/pktgen/report/screen.h"

static char line[SCREEN_LINE];

static const struct screen_row voice = {
	.name = "voice", .stamped = true, .sent = 100, .tx_fps = 14880952, .tx_bps = 10000000000,
	.rx_fps = 14880000, .rx_bps = 9999360000, .missing = 12, .reordered = 3,
	.latency = {.count = 5, .p = {[P50] = 999, [P99] = 12345}, .max = 1234567},
};

static void is(unsigned len, const char *want)
{
	assert_string_equal(line, want);
	assert_int_equal(len, strlen(want));
}

static void rows(void **s)
{
	(void)s;
	is(screen_titles(line),
	   "stream      tx pps   bit/s  rx pps   bit/s  missing  reord    p50    p99    max");
	is(screen_row(line, &voice),
	   "voice       14.88M  10.00G  14.88M  9.999G       12      3  999ns 12.3us 1.23ms");
	struct screen_row r = voice;
	r.name = "a-name-that-is-long";
	r.latency.count = 0;
	is(screen_row(line, &r), "a-name-tha  14.88M  10.00G  14.88M  9.999G       12      3");
	r.stamped = false;
	is(screen_row(line, &r), "a-name-tha  14.88M  10.00G");
	is(screen_more(line, 14), "and 14 more");
}

/* Whatever the figures, a column keeps its position and a row its width. */
static void large_figures(void **s)
{
	(void)s;
	static const struct {
		uint64_t n;
		const char *text;
	} counts[] = {{0, "0"}, {999999, "999999"}, {1000000, "1.00M"}, {123456789, "123M"},
	              {12345678901, "12.3G"}, {999999999999, "999G"}, {1000000000000, "1.00T"}};
	char want[32];
	for (unsigned i = 0; i < ARRAY_LEN(counts); i++) {
		struct screen_row r = voice;
		r.missing = counts[i].n;
		screen_row(line, &r);
		snprintf(want, sizeof want, "%9s", counts[i].text);
		assert_memory_equal(line + 42, want, 9);
	}
	static const struct {
		uint64_t n;
		const char *text;
	} rates[] = {{0, "0"}, {999, "999"}, {1000, "1.000k"}, {148809523, "148.8M"},
	             {100000000000, "100.0G"}, {1600000000000, "1600G"}};
	for (unsigned i = 0; i < ARRAY_LEN(rates); i++) {
		struct screen_row r = voice;
		r.tx_bps = rates[i].n;
		screen_row(line, &r);
		snprintf(want, sizeof want, "%8s", rates[i].text);
		assert_memory_equal(line + 18, want, 8);
	}
	struct screen_row r = voice;
	r.latency.p[P50] = 100000;
	r.latency.p[P99] = 4290000000;
	r.latency.max = 1000;
	screen_row(line, &r);
	assert_string_equal(line + 58, "  100us  4.29s 1.00us");
	memset(&r.sent, 0xff,
	       offsetof(struct screen_row, latency) - offsetof(struct screen_row, sent));
	assert_int_equal(screen_row(line, &r), SCREEN_COLUMNS - 1);
	assert_int_equal(strlen(line), SCREEN_COLUMNS - 1);
}

static void heads(void **s)
{
	(void)s;
	struct screen_progress p = {"sending", 12340000000, 204};
	is(screen_head(line, &p), "  12.3 s   20 %  49 s left  sending");
	p.permille = SCREEN_UNKNOWN;
	is(screen_head(line, &p), "  12.3 s  sending");
	p = (struct screen_progress){"asking for neighbours", 0, 0};
	is(screen_head(line, &p), "   0.0 s    0 %  asking for neighbours");
	p = (struct screen_progress){"done", 600000000000, 1000};
	is(screen_head(line, &p), " 600.0 s  100 %  done");
}

static void trials_of_a_search(void **s)
{
	(void)s;
	struct trial t = {.test = PLAN_THROUGHPUT, .size = 60, .rate = 75000, .attempt = 1};
	struct rfc2544_bounds b = {0};
	is(screen_trial(line, 1, &t, &b), "trial 1: throughput, 64 bytes, at 75.000 %");
	b = (struct rfc2544_bounds){true, true, 50000, 100000};
	is(screen_trial(line, 12, &t, &b),
	   "trial 12: throughput, 64 bytes, at 75.000 %, passes 50.000 %, fails 100.000 %");
	t = (struct trial){.test = PLAN_BACK_TO_BACK, .size = 1514, .rate = 100000, .frames = 4096,
	                   .attempt = 2};
	b = (struct rfc2544_bounds){.has_high = true, .high = 8192};
	is(screen_trial(line, 7, &t, &b),
	   "trial 7: back_to_back, 1518 bytes, burst 4096, attempt 2, fails 8192");
}

static void lines(void **s)
{
	(void)s;
	struct screen_progress p = {"sending", 1000000000, 500};
	is(screen_line(line, &p, &voice),
	   "   1.0 s   50 %  1 s left  sent 14.88Mpps 10.00Gbit/s  received 14.88Mpps "
	   "9.999Gbit/s  missing 12 reordered 3  p50 999ns p99 12.3us max 1.23ms");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows),
		cmocka_unit_test(large_figures),
		cmocka_unit_test(heads),
		cmocka_unit_test(trials_of_a_search),
		cmocka_unit_test(lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
