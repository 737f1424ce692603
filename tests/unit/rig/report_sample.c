#include "tests/unit/rig/report_sample.h"

#include <stdlib.h>
#include <string.h>

#define LINE_BPS 10000000000ull
#define STREAMS 3
#define TRIALS 2000

static struct rfc2544 tests;
static struct rfc2544_trial trials[TRIALS];
static struct judge_result judged[STREAMS];
static struct pace_result paced[STREAMS];
static struct report_stream streams[STREAMS];
static struct histogram probed;
static const struct report_probe probe = {.port_in = 1, .sent = 1000, .clock_error_ns = 1300,
                                          .latency = &probed};
static struct report report;
static uint64_t state;

static const struct report_port ports[] = {
	{"eth0", "ixgbe", {0x52, 0x54, 0, 0, 0, 1}, LINE_BPS, true},
	{"eth1", "virtio-net", {0x52, 0x54, 0, 0, 0, 2}, 0, false},
};

static uint64_t noise(uint64_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % below;
}

/* A skewed time: mostly near `least`, sometimes far above. */
static uint64_t skewed(uint64_t least)
{
	uint64_t value = least + noise(least / 4);
	for (uint64_t scale = least; noise(6) == 0; scale *= 3)
		value += noise(scale);
	return value;
}

/* The router forwards 7.4 million frames a second, whatever their size, and has space for 900. The
 * generator cannot send 1280 bytes at line rate, and with 1024 the cable was out. */
static void play(const struct trial *t, struct trial_result *r)
{
	static struct histogram h;
	uint64_t fps = rfc2544_fps(&tests, t->size, t->rate), can = 7400000;
	memset(r, 0, sizeof *r);
	r->elapsed_ns = t->frames ? wide_mul_div(t->frames, 1000000000, fps) : t->duration_ns;
	r->sent = t->frames ? t->frames : wide_mul_div(fps, t->duration_ns, 1000000000);
	uint64_t piled = fps > can ? wide_mul_div(r->sent, fps - can, fps) : 0;
	uint64_t room = 900 + noise(60);
	r->received = r->sent - (piled > room ? piled - room : 0);
	r->worst_lag_ns = 600 + noise(4000);
	if (t->size == 1276 && t->rate > 95000 && t->test != PLAN_BACK_TO_BACK) {
		r->flaw = TRIAL_BEHIND;
		r->worst_lag_ns = 3200000;
		r->forgiven = 4711;
	} else if (t->test == PLAN_THROUGHPUT && (t->size == 1020 || noise(25) == 0)) {
		r->flaw = TRIAL_LINK;
	}
	histogram_clear(&h);
	for (unsigned i = 0; i < 5000; i++)
		histogram_add(&h, skewed(4000 + t->size * 8 / 10));
	histogram_summarize(&h, &r->latency);
	r->ipdv_mean_ps = 310000 + noise(90000);
}

static void make_tests(void)
{
	struct plan_rfc2544 p = {.tests = 0x1e, .sizes = 7, .duration_ns = 60000000000,
	                         .size = {60, 124, 252, 508, 1020, 1276, 1514},
	                         .settle_ns = 2000000000, .learn_ns = 2000000000,
	                         .rest_ns = 5000000000, .resolution = 100, .rate_min = 1000,
	                         .rate_max = 100000, .repeats = 5};
	struct trial t;
	struct trial_result r;
	rfc2544_begin(&tests, &p, LINE_BPS, trials, TRIALS);
	while (rfc2544_next(&tests, &t)) {
		play(&t, &r);
		rfc2544_done(&tests, &r);
	}
}

static void make_stream(unsigned i, const char *name, uint64_t sent, unsigned bytes)
{
	struct judge_result *in = &judged[i];
	struct pace_result *pace = &paced[i];
	judge_result_clear(in);
	pace_result_clear(pace);
	for (unsigned k = 0; k < 200000; k++) {
		histogram_add(&in->latency, skewed(3000 + 900 * i));
		histogram_add(&pace->error, noise(150));
	}
	in->received = sent - i * 137;
	in->bytes = in->received * bytes;
	in->reordered = i * 12;
	in->reorder_max = i * 40;
	in->duplicates = i;
	in->ipdv_count = 1000;
	in->ipdv_sum_ns.low = 412345;
	pace->sent = sent;
	streams[i] = (struct report_stream){.name = name, .port = i & 1, .port_in = PLAN_PORT_NONE,
	                                    .stamped = i < 2, .paced = i < 2, .sent = sent,
	                                    .sent_bytes = sent * bytes, .elapsed_ns = 10000000000,
	                                    .in = in, .pace = pace};
}

const struct report *sample_report(unsigned what)
{
	state = 1;
	report = (struct report){.version = "1.0",
	                         .machine = "a made-up machine, 2 cores, 2.60 GHz",
	                         .started = "1970-01-01 00:00 UTC", .error = "",
	                         .catch_up_ns = 20000000, .port = ports, .ports = 2};
	report.script = "# \"quotes\", tabs\tand </script> do no harm\nrfc2544\n";
	if (what & SAMPLE_RUN) {
		make_stream(0, "small", 29761904, 60);
		make_stream(1, "imix <v6>", 4000000, 353);
		make_stream(2, "background", 1000000, 1514);
		histogram_clear(&probed);
		for (unsigned i = 0; i < 998; i++)
			histogram_add(&probed, skewed(2400));
		report.probe = &probe;
		report.stream = streams;
		report.streams = STREAMS;
		report.elapsed_ns = 10000000000;
	}
	if (what & SAMPLE_RFC2544) {
		make_tests();
		report.rfc2544 = &tests;
	}
	return &report;
}
