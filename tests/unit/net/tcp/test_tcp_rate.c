/*
 * The speed of net/tcp: over a bottleneck, beside another connection, from the first segment on,
 * after a loss, after an outage. Two instances on a wire in virtual time (tests/unit/rig/tcp_rig.h), so
 * the figures do not depend on the machine.
 */
#include "tests/unit/rig/tcp_flow.h"

#define ENDLESS (1ull << 40)

static const enum cc_algorithm algorithms[] = {CC_CUBIC, CC_NEWRENO};

static struct rig_host_params fast_host(enum cc_algorithm a)
{
	struct rig_host_params p = rig_host_default();
	p.tcp.congestion = a;
	p.tcp.rcv_buf = p.tcp.snd_buf = 8 << 20;
	p.tcp.reassembly_bufs = 8192;
	p.tcp.offload = TCP_TX_CSUM | TCP_TX_SG | TCP_TX_TSO;
	p.tcp.ecn = false;
	p.checked = true;
	p.bufs = 16384;
	p.ring = 8192;
	return p;
}

/* A connection that sends endlessly. */
static struct flow *bulk(struct flows *f, uint64_t start_us)
{
	struct flow_plan p = {.port = {0, 7}, .start_us = start_us};
	p.end[0].bytes = ENDLESS;
	return flow_add(f, &p);
}

static struct flows *bed(uint64_t seed, const struct rig_host_params *p, const struct wire *w)
{
	struct rig *r = rig_new(seed, SECOND);
	rig_host_add(r, p);
	rig_host_add(r, p);
	rig_wires(r, w);
	r->host[1].wire.rate_bps *= 10; /* the reverse path is wide enough */
	struct flows *f = flows_new(r);
	flows_listen(f, 1, 7, false);
	return f;
}

static void run_for(struct flows *f, uint64_t us) { rig_run(f->rig, f->rig->now_us + us); }

/* Ends all connections; how they end is not tested here. */
static void stop(struct flows *f)
{
	for (unsigned i = 0; i < f->count; i++) {
		f->flow[i]->plan.may_fail = true;
		for (unsigned s = 0; s < 2; s++) {
			struct end *e = &f->flow[i]->end[s];
			if (e->c) {
				tcp_abort(e->c);
				e->c = NULL;
				e->how = END_ABORTED;
				f->open--;
			}
		}
	}
	flows_finish(f, 3600ull * SECOND);
}

/* A wire of that rate and round-trip time, with a buffer of one product of the two. */
static struct wire bottleneck(uint64_t rate_bps, uint32_t rtt_us)
{
	return (struct wire){.rate_bps = rate_bps, .delay_us = rtt_us / 2, .jitter_us = 100,
	                     .queue_bytes = (uint32_t)(rate_bps / 8 * rtt_us / SECOND)};
}

/* Bytes per second delivered from now on, as a share of `rate_bps`, in percent. */
static unsigned percent_of(struct flows *f, const struct flow *flow, uint64_t rate_bps,
                           unsigned seconds)
{
	uint64_t before = flow->end[1].received;
	run_for(f, seconds * (uint64_t)SECOND);
	return (unsigned)((flow->end[1].received - before) * 800 / seconds / rate_bps);
}

/* With the windows of TCP_PARAMS_DEFAULT. */
static struct rig_host_params window_host(void)
{
	struct rig_host_params p = fast_host(CC_CUBIC);
	p.tcp.rcv_buf = TCP_PARAMS_DEFAULT.rcv_buf;
	p.tcp.rcv_buf_max = TCP_PARAMS_DEFAULT.rcv_buf_max;
	p.tcp.snd_buf = TCP_PARAMS_DEFAULT.snd_buf;
	return p;
}

/* The window that the receiver offers. */
static uint32_t window_of(const struct flow *flow)
{
	struct tcp_info i;
	if (!flow->end[1].c)
		return 0;
	tcp_info(flow->end[1].c, &i);
	return i.rcv_wnd;
}

static void fills_the_bottleneck(void **s)
{
	(void)s;
	static const struct { uint64_t rate; uint32_t rtt_us; } path[] = {
		{5000000, 10 * MS}, {10000000, 40 * MS}, {50000000, 20 * MS}, {20000000, 100 * MS}};
	rig_runs("fills_the_bottleneck", 1);
	for (unsigned a = 0; a < 2; a++)
		for (unsigned i = 0; i < ARRAY_LEN(path); i++) {
			const struct rig_host_params p = fast_host(algorithms[a]);
			const struct wire w = bottleneck(path[i].rate, path[i].rtt_us);
			struct flows *f = bed(1 + i, &p, &w);
			struct flow *flow = bulk(f, 0);
			run_for(f, 5 * SECOND);
			unsigned percent = percent_of(f, flow, path[i].rate, 20);
			printf("  %s, %u Mbit/s, %u ms: %u %%, %llu lost\n", a ? "NewReno" : "CUBIC",
			       (unsigned)(path[i].rate / MILLION), path[i].rtt_us / MS, percent,
			       (unsigned long long)f->rig->host[0].way.dropped_full);
			assert_in_range(percent, 85, 100);
			stop(f);
		}
}

static void shares(void **s)
{
	(void)s;
	rig_runs("shares", 1);
	for (unsigned a = 0; a < 2; a++) {
		const struct rig_host_params p = fast_host(algorithms[a]);
		const struct wire w = bottleneck(20000000, 40 * MS);
		struct flows *f = bed(1, &p, &w);
		struct flow *one = bulk(f, 0), *two = bulk(f, 5 * SECOND);
		run_for(f, 20 * SECOND);
		uint64_t first = one->end[1].received, second = two->end[1].received;
		run_for(f, 40 * SECOND);
		first = one->end[1].received - first;
		second = two->end[1].received - second;
		printf("  %s: %llu and %llu kbit/s\n", a ? "NewReno" : "CUBIC",
		       (unsigned long long)first / 5000, (unsigned long long)second / 5000);
		assert_true(first < 2 * second && second < 2 * first);
		assert_in_range((first + second) * 8 / 40 / 200000, 85, 100);
		stop(f);
	}
}

/* RFC 5681 3.1, 6928: 10 segments at first, and at most twice as much in each round trip. */
static void slow_start(void **s)
{
	(void)s;
	rig_runs("slow_start", 1);
	for (unsigned a = 0; a < 2; a++) {
		const struct rig_host_params p = fast_host(algorithms[a]);
		/* Segments arrive one by one and are acknowledged in pairs: RFC 3465 and 9406 limit
		 * the effect of one ACK for many. */
		const struct wire w = {.delay_us = 50 * MS, .rate_bps = 1000000000};
		struct flows *f = bed(1, &p, &w);
		const struct flow *flow = bulk(f, 0);
		const struct wire_state *way = &f->rig->host[0].way;
		run_for(f, 90 * MS); /* the SYN-ACK arrives at 100 ms */
		uint64_t before = 0, sent = way->segments;
		for (unsigned round = 0; round < 7; round++) {
			struct tcp_info i;
			run_for(f, 100 * MS);
			uint64_t now = way->segments - sent; /* in this round trip */
			sent = way->segments;
			tcp_info(flow->end[0].c, &i);
			printf("  %s: round %u, %llu segments, cwnd %u\n", a ? "NewReno" : "CUBIC", round,
			       (unsigned long long)now, i.cwnd / i.mss);
			assert_in_range(now, before + before / 3, round ? 2 * before + 1 : 11);
			before = now;
		}
		stop(f);
	}
}

/* Drops the next segment with new data, once. */
static bool drop_one(struct rig_host *h, uint8_t *ip, unsigned len)
{
	bool *armed = h->filter_arg;
	(void)len;
	if (!*armed || seg_len(ip) < 1000)
		return true;
	*armed = false;
	return false;
}

/* Runs until recovery is over; returns cwnd after it in percent of that before it. */
static unsigned through_recovery(struct flows *f, const struct flow *flow)
{
	struct tcp_info i;
	uint32_t before = 0;
	for (unsigned t = 0;; t++) {
		tcp_info(flow->end[0].c, &i);
		if (i.in_recovery)
			break;
		before = i.cwnd;
		run_for(f, MS);
		assert_true(t < 1000);
	}
	for (unsigned t = 0; i.in_recovery; t++) {
		run_for(f, MS);
		tcp_info(flow->end[0].c, &i);
		assert_true(t < 1000);
	}
	return (unsigned)((uint64_t)i.cwnd * 100 / before);
}

static void after_a_loss(void **s)
{
	(void)s;
	rig_runs("after_a_loss", 1);
	for (unsigned a = 0; a < 4; a++) {
		struct rig_host_params p = fast_host(algorithms[a & 1]);
		p.tcp.sack = a < 2; /* without SACK: RFC 6582 */
		const struct wire w = {.delay_us = 25 * MS, .rate_bps = 1000000000};
		struct flows *f = bed(1, &p, &w);
		const struct flow *flow = bulk(f, 0);
		bool armed = false;
		f->rig->host[0].filter = drop_one;
		f->rig->host[0].filter_arg = &armed;
		run_for(f, 300 * MS);
		for (unsigned n = 0; n < 3; n++) {
			armed = true;
			unsigned percent = through_recovery(f, flow);
			printf("  %s%s: cwnd is %u %% of before\n", a & 1 ? "NewReno" : "CUBIC",
			       a < 2 ? "" : " without SACK", percent);
			unsigned beta = a & 1 ? 50 : 70; /* RFC 5681 (4), RFC 9438 4.6 */
			if (n) /* after slow start the window has already grown for a round trip */
				assert_in_range(percent, beta - 6, beta + 6);
			run_for(f, SECOND);
		}
		assert_int_equal(f->rig->host[0].cnt.v[CNT_tcp_retransmits], 3);
		assert_int_equal(f->rig->host[0].cnt.v[CNT_tcp_rto], 0);
		stop(f);
	}
}

static void after_an_outage(void **s)
{
	(void)s;
	rig_runs("after_an_outage", 1);
	for (unsigned a = 0; a < 2; a++) {
		const struct rig_host_params p = fast_host(algorithms[a]);
		struct wire w = bottleneck(10000000, 40 * MS);
		struct flows *f = bed(1, &p, &w);
		struct flow *flow = bulk(f, 0);
		run_for(f, 5 * SECOND);
		f->rig->host[0].wire.cut = f->rig->host[1].wire.cut = true;
		run_for(f, SECOND);
		uint64_t before = flow->end[1].received;
		f->rig->host[0].wire.cut = f->rig->host[1].wire.cut = false;
		run_for(f, 2 * SECOND);
		assert_true(flow->end[1].received > before);
		unsigned percent = percent_of(f, flow, 10000000, 10);
		printf("  %s: %u %%\n", a ? "NewReno" : "CUBIC", percent);
		assert_in_range(percent, 70, 100);
		stop(f);
	}
}

/* RFC 3168: marks instead of losses. */
static void marked(void **s)
{
	(void)s;
	rig_runs("marked", 1);
	for (unsigned a = 0; a < 2; a++) {
		struct rig_host_params p = fast_host(algorithms[a]);
		p.tcp.ecn = true;
		struct wire w = bottleneck(10000000, 40 * MS);
		w.mark_bytes = w.queue_bytes / 2;
		w.queue_bytes *= 4; /* room for slow start's last round */
		struct flows *f = bed(1, &p, &w);
		struct flow *flow = bulk(f, 0);
		run_for(f, 5 * SECOND);
		unsigned percent = percent_of(f, flow, 10000000, 20);
		const uint64_t *v = f->rig->host[0].cnt.v;
		printf("  %s: %u %%, %llu reductions\n", a ? "NewReno" : "CUBIC", percent,
		       (unsigned long long)v[CNT_tcp_ecn]);
		assert_in_range(percent, 80, 100);
		assert_true(v[CNT_tcp_ecn] >= 2);
		assert_int_equal(v[CNT_tcp_retransmits], 0);
		stop(f);
	}
}

/* RFC 8985 3.3.2: reordering within a quarter of the round trip is soon no longer mistaken for
 * loss. */
static void reordered(void **s)
{
	(void)s;
	rig_runs("reordered", 1);
	for (unsigned a = 0; a < 2; a++) {
		const struct rig_host_params p = fast_host(algorithms[a]);
		struct wire w = bottleneck(20000000, 40 * MS);
		w.reorder_ppm = 20000;
		w.reorder_us = 6 * MS;
		struct flows *f = bed(1, &p, &w);
		struct flow *flow = bulk(f, 0);
		run_for(f, 5 * SECOND);
		unsigned percent = percent_of(f, flow, 20000000, 20);
		printf("  %s: %u %%, %llu sent again\n", a ? "NewReno" : "CUBIC", percent,
		       (unsigned long long)f->rig->host[0].cnt.v[CNT_tcp_retransmits]);
		assert_in_range(percent, 80, 100);
		stop(f);
	}
}

/* Short distance: what arrives within 100 us is processed together, at both ends, as by polling
 * cores. A window of one such vector would always be half filled and half acknowledged. */
static void near_by(void **s)
{
	(void)s;
	rig_runs("near_by", 1);
	struct rig_host_params p = window_host();
	p.batch_us = 100;
	const struct wire w = {.delay_us = 5, .rate_bps = 100000000000};
	struct flows *f = bed(1, &p, &w);
	const struct flow *flow = bulk(f, 0);
	run_for(f, 50 * MS);
	uint64_t before = flow->end[1].received;
	run_for(f, 50 * MS);
	uint64_t bytes = flow->end[1].received - before;
	printf("  %llu Mbit/s, window %u\n", (unsigned long long)bytes * 8 / (50 * MS),
	       window_of(flow));
	/* A round trip takes two batches and the path's delay: 256 KiB in each are 10 Gbit/s. */
	assert_true(bytes * 8 / (50 * MS) > 30000);
	assert_in_range(window_of(flow), 1 << 20, p.tcp.rcv_buf_max);
	stop(f);
}

/* Long distance: a path that holds ten times rcv_buf is filled all the same. */
static void far_away(void **s)
{
	(void)s;
	rig_runs("far_away", 1);
	for (unsigned a = 0; a < 2; a++) {
		struct rig_host_params p = window_host();
		p.tcp.congestion = algorithms[a];
		const struct wire w = bottleneck(200000000, 100 * MS);
		struct flows *f = bed(1, &p, &w);
		const struct flow *flow = bulk(f, 0);
		run_for(f, 5 * SECOND);
		unsigned percent = percent_of(f, flow, 200000000, 5);
		printf("  %s: %u %%, window %u\n", a ? "NewReno" : "CUBIC", percent,
		       window_of(flow));
		assert_in_range(percent, 85, 100);
		assert_in_range(window_of(flow), 2500000, p.tcp.rcv_buf_max);
		stop(f);
	}
}

/* Window memory is granted only where it is needed: not to a slow path, nor to a slow
 * application. */
static void window_stays(void **s)
{
	(void)s;
	rig_runs("window_stays", 1);
	for (unsigned i = 0; i < 2; i++) {
		struct rig_host_params p = window_host();
		const struct wire w = {.delay_us = 10 * MS, .rate_bps = i ? 1000000000 : 20000000};
		struct flows *f = bed(1, &p, &w);
		struct flow_plan plan = {.port = {0, 7}};
		plan.end[0].bytes = ENDLESS;
		plan.end[1].reader = i ? READ_ODD : READ_NOW;
		plan.end[1].read_us = 200 * MS;
		plan.end[1].read_max = 20000;
		const struct flow *flow = flow_add(f, &plan);
		uint32_t largest = 0;
		for (unsigned t = 0; t < 300; t++) {
			run_for(f, 10 * MS);
			largest = window_of(flow) > largest ? window_of(flow) : largest;
		}
		printf("  largest window %u, %llu bytes\n", largest,
		       (unsigned long long)flow->end[1].received);
		assert_in_range(largest, 200000, p.tcp.rcv_buf);
		stop(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_the_bottleneck),
		cmocka_unit_test(shares),
		cmocka_unit_test(slow_start),
		cmocka_unit_test(after_a_loss),
		cmocka_unit_test(after_an_outage),
		cmocka_unit_test(marked),
		cmocka_unit_test(reordered),
		cmocka_unit_test(near_by),
		cmocka_unit_test(far_away),
		cmocka_unit_test(window_stays),
	};
	if (getenv("ONLY"))
		cmocka_set_test_filter(getenv("ONLY"));
	return cmocka_run_group_tests_name("tcp_rate", tests, NULL, NULL);
}
