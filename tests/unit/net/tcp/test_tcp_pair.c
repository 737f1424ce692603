/*
 * Properties of net/tcp: two instances and a bad wire between them, thousands of times.
 *
 * Whatever the wire does, short of being cut, each stream arrives exactly, in both directions, and
 * both ends close. Whatever the applications do, each end is told once what happened. Afterwards,
 * always, no buffer is missing, no connection is left, no timer is armed, and each packet has had
 * one fate (rig_end). tests/unit/rig/tcp_rig.h has the laboratory, tcp_flow.h the checks.
 *
 *     SEED=n          repeats one run of each test
 *     RUNS=n          runs that many seeds of each
 *     ONLY=name       runs one test
 *     TRACE=1         shows each segment
 */
#include "tests/unit/rig/tcp_flow.h"

#include "net/tcp/inside.h"

#define HOUR (3600ull * SECOND)

static bool one_in(struct chance *c, uint32_t n) { return chance_below(c, n) == 0; }

/* A number of any magnitude up to `max`. */
static uint32_t any_size(struct chance *c, uint32_t max)
{
	uint32_t bits = chance_below(c, 32);
	uint32_t n = (uint32_t)chance_next(c) >> bits;
	return n > max ? n % (max + 1) : n;
}

/* --- random parameters --- */

static struct wire random_wire(struct chance *c)
{
	struct wire w = {.delay_us = any_size(c, 200 * MS)};
	if (one_in(c, 2))
		w.jitter_us = any_size(c, 20 * MS);
	if (one_in(c, 2))
		w.loss_ppm = any_size(c, 80000);
	if (one_in(c, 4)) {
		w.burst_ppm = any_size(c, 5000);
		w.burst_segments = chance_range(c, 2, 20);
	}
	if (one_in(c, 3))
		w.dup_ppm = any_size(c, 100000);
	if (one_in(c, 3)) {
		w.reorder_ppm = any_size(c, 200000);
		w.reorder_us = any_size(c, 50 * MS);
	}
	if (one_in(c, 3))
		w.corrupt_ppm = any_size(c, 30000);
	if (one_in(c, 3))
		w.ce_ppm = any_size(c, 100000);
	if (one_in(c, 3)) {
		w.rate_bps = 200000 + any_size(c, 1000000000);
		w.queue_bytes = 5000 + any_size(c, 200000);
		w.mark_bytes = one_in(c, 2) ? w.queue_bytes / 3 : 0;
	}
	return w;
}

static void random_offload(struct chance *c, struct rig_host_params *p)
{
	static const uint32_t can[] = {0, TCP_TX_CSUM, TCP_TX_SG, TCP_TX_CSUM | TCP_TX_SG,
	                               TCP_TX_CSUM | TCP_TX_SG | TCP_TX_TSO,
	                               TCP_TX_CSUM | TCP_TX_SG | TCP_TX_TSO4,
	                               TCP_TX_CSUM | TCP_TX_SG | TCP_TX_TSO6};
	p->tcp.offload = can[chance_below(c, ARRAY_LEN(can))];
	p->checked = one_in(c, 2);
	p->device_us = one_in(c, 2) ? 0 : any_size(c, 2000);
	p->batch_us = one_in(c, 2) ? 0 : any_size(c, 2000);
	p->late_us = one_in(c, 2) ? 0 : any_size(c, 3000);
	p->device_room = one_in(c, 2) ? 0 : any_size(c, 64);
}

static struct rig_host_params random_host(struct chance *c)
{
	struct rig_host_params p = rig_host_default();
	random_offload(c, &p);
	p.tcp.congestion = one_in(c, 2) ? CC_CUBIC : CC_NEWRENO;
	p.tcp.sack = !one_in(c, 5);
	p.tcp.timestamps = !one_in(c, 5);
	p.tcp.window_scale = !one_in(c, 5);
	p.tcp.ecn = !one_in(c, 3);
	if (one_in(c, 3)) {
		p.tcp.mtu = chance_range(c, 576, 9000);
		p.stride = p.tcp.mtu > 1500 ? BUF_STRIDE_JUMBO : BUF_STRIDE_STANDARD;
	}
	if (one_in(c, 3))
		p.tcp.rcv_buf = 2000 + any_size(c, 1000000);
	if (one_in(c, 3))
		p.tcp.snd_buf = 2000 + any_size(c, 1000000);
	p.tcp.time_wait_ms = chance_range(c, 200000, 600000);
	p.tcp.delack_ms = chance_range(c, 1, 200);
	p.tcp.rto_min_ms = one_in(c, 2) ? 200 : chance_range(c, 20, 1000);
	p.tcp.reassembly_bufs = one_in(c, 4) ? chance_range(c, 1, 20) : 1024;
	return p;
}

static struct end_plan random_end(struct chance *c, uint32_t max_bytes)
{
	struct end_plan e = {.bytes = any_size(c, max_bytes)};
	e.write_max = one_in(c, 2) ? 0 : 1 + any_size(c, 20000);
	if (e.write_max && e.bytes / e.write_max > 20000)
		e.write_max = (uint32_t)(e.bytes / 10000);
	e.pkt_percent = one_in(c, 2) ? 0 : chance_range(c, 0, 100);
	e.outside_percent = one_in(c, 2) ? 0 : chance_range(c, 0, 100);
	if (one_in(c, 5) && e.bytes < 100000)
		e.pause_us = any_size(c, 300 * MS);
	e.reader = (enum reader)chance_below(c, 3);
	e.read_us = any_size(c, 20 * MS);
	e.read_max = 500 + any_size(c, 200000);
	e.wait_fin = one_in(c, 3);
	e.nodelay = one_in(c, 3);
	e.urgent = one_in(c, 5);
	return e;
}

/* One of the two ends must not wait for the other. */
static struct flow_plan random_flow(struct chance *c, uint32_t max_bytes)
{
	struct flow_plan f = {.end = {random_end(c, max_bytes), random_end(c, max_bytes)}};
	f.port[1] = 7;
	if (f.end[0].wait_fin && f.end[1].wait_fin)
		f.end[chance_below(c, 2)].wait_fin = false;
	f.start_us = one_in(c, 2) ? 0 : any_size(c, SECOND);
	return f;
}

/* Two hosts with these parameters, and a listener on port 7 of the second. */
static struct flows *pair(uint64_t seed, const struct rig_host_params *a,
                          const struct rig_host_params *b)
{
	struct chance c = {seed ^ 0xabcdef};
	uint64_t since_boot_us = any_size(&c, 1u << 31) * (one_in(&c, 2) ? 1ull : 5000ull);
	struct rig *r = rig_new(seed, SECOND + since_boot_us);
	rig_host_add(r, a);
	rig_host_add(r, b);
	struct flows *f = flows_new(r);
	flows_listen(f, 1, 7, false);
	return f;
}

/* --- streams --- */

static void streams(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("streams", 600);
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		struct chance c = {seed};
		const struct rig_host_params a = random_host(&c), b = random_host(&c);
		struct flows *f = pair(seed, &a, &b);
		f->rig->host[0].wire = random_wire(&c);
		f->rig->host[1].wire = one_in(&c, 2) ? f->rig->host[0].wire : random_wire(&c);
		for (unsigned n = chance_range(&c, 1, 4); n; n--) {
			const struct flow_plan p = random_flow(&c, 200000);
			flow_add(f, &p);
		}
		flows_finish(f, 24 * HOUR);
	}
}

static void echoes(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("echoes", 200);
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		struct chance c = {seed};
		const struct rig_host_params a = random_host(&c);
		struct rig_host_params b = random_host(&c);
		if (b.tcp.snd_buf < b.tcp.rcv_buf)
			b.tcp.snd_buf = b.tcp.rcv_buf;
		struct flows *f = pair(seed, &a, &b);
		const struct wire w = random_wire(&c);
		rig_wires(f->rig, &w);
		for (unsigned n = chance_range(&c, 1, 8); n; n--) {
			struct flow_plan p = random_flow(&c, 100000);
			p.end[1] = (struct end_plan){.reader = READ_ECHO};
			p.end[0].wait_fin = false;
			flow_add(f, &p);
		}
		flows_finish(f, 24 * HOUR);
	}
}

/* Each feature off on one side or on both, each algorithm, each offload; a clean and a bad wire. */
static void features(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("features", 1);
	for (uint64_t seed = runs.first; seed < runs.end; seed++)
		for (unsigned k = 0; k < 5 * 3 * 2 * 2; k++) {
			unsigned feature = k % 5, side = k / 5 % 3 + 1;
			struct rig_host_params p[2] = {rig_host_default(), rig_host_default()};
			for (unsigned i = 0; i < 2; i++) {
				p[i].tcp.congestion = k / 15 % 2 ? CC_NEWRENO : CC_CUBIC;
				if (!(side >> i & 1))
					continue;
				p[i].tcp.sack = feature != 0;
				p[i].tcp.timestamps = feature != 1;
				p[i].tcp.window_scale = feature != 2;
				p[i].tcp.ecn = feature != 3;
				p[i].tcp.offload = feature != 4 ? 0 :
					TCP_TX_CSUM | TCP_TX_SG | TCP_TX_TSO;
			}
			struct flows *f = pair(seed * 1000 + k, &p[0], &p[1]);
			struct wire w = {.delay_us = 10 * MS, .rate_bps = 50000000};
			if (k >= 30) {
				w.loss_ppm = w.reorder_ppm = w.ce_ppm = 20000;
				w.reorder_us = 5 * MS;
			}
			rig_wires(f->rig, &w);
			struct flow_plan plan = {.port = {0, 7}};
			plan.end[0].bytes = plan.end[1].bytes = 150000;
			flow_add(f, &plan);
			flows_finish(f, HOUR);
		}
}

/* --- opening and closing --- */

static void simultaneous(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("simultaneous", 200);
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		struct chance c = {seed};
		const struct rig_host_params a = random_host(&c), b = random_host(&c);
		struct flows *f = pair(seed, &a, &b);
		struct wire w = random_wire(&c);
		if (w.delay_us < MS)
			w.delay_us = MS; /* so that the SYNs cross */
		w.loss_ppm /= 4;
		rig_wires(f->rig, &w);
		struct flow_plan p = random_flow(&c, one_in(&c, 2) ? 0 : 20000);
		p.simultaneous = true;
		p.port[0] = 4000;
		p.port[1] = 5000;
		flow_add(f, &p);
		flows_finish(f, 24 * HOUR);
	}
}

/* Two hosts, and flows that abort at any moment and do anything in each callback. */
static struct flows *chaos(uint64_t seed, bool ecn)
{
	struct chance c = {seed};
	struct rig_host_params a = random_host(&c), b = random_host(&c);
	a.tcp.keepalive_ms = b.tcp.keepalive_ms = 20000; /* a lost RST */
	a.tcp.keepalive_interval_ms = b.tcp.keepalive_interval_ms = 5000;
	a.tcp.ecn &= ecn;
	b.tcp.ecn &= ecn;
	struct flows *f = pair(seed, &a, &b);
	const struct wire w = random_wire(&c);
	rig_wires(f->rig, &w);
	for (unsigned n = chance_range(&c, 1, 12); n; n--) {
		struct flow_plan p = random_flow(&c, 60000);
		for (unsigned i = 0; i < 2; i++) {
			struct end_plan *e = &p.end[i];
			e->chaos_ppm = one_in(&c, 3) ? 0 : any_size(&c, 300000);
			e->keepalive = true;
			e->abort_us = one_in(&c, 4) ? 1 + any_size(&c, 3 * SECOND) : 0;
			e->abort_bytes = one_in(&c, 6) ? 1 + any_size(&c, 20000) : 0;
			e->close_in_data = one_in(&c, 6);
			e->refuse = one_in(&c, 12);
			e->abort_in_accept = one_in(&c, 12);
		}
		flow_add(f, &p);
	}
	return f;
}

static void chaos_of_callbacks(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("chaos_of_callbacks", 400);
	for (uint64_t seed = runs.first; seed < runs.end; seed++)
		flows_finish(chaos(seed, true), 24 * HOUR);
}

/* --- header prediction and plain segments --- */

/* All that both hosts have sent, and when. */
struct sum {
	uint64_t value, segments;
	uint8_t marks;    /* flags that each segment gets on its way */
	bool path_is_low; /* connections believe that their path MTU may rise */
};

static void path_is_low(struct rig_host *h)
{
	struct tcp_conn *c;
	for (uint32_t cursor = 0; (c = tcp_next(h->tcp, &cursor, UINT32_MAX)) != NULL;)
		if (c->path_raise_ms == 0)
			c->path_raise_ms = (h->tcp->now_ms + (1u << 30)) | 1;
}

static bool sum_and_mark(struct rig_host *h, uint8_t *ip, unsigned len)
{
	struct sum *x = h->filter_arg;
	x->value = (x->value ^ h->rig->now_us ^ h->index) * 0x100000001b3;
	for (unsigned i = 0; i < len; i++)
		x->value = (x->value ^ ip[i]) * 0x100000001b3; /* FNV-1a */
	x->segments++;
	if (x->path_is_low)
		for (unsigned i = 0; i < 2; i++)
			path_is_low(&h->rig->host[i]);
	if (x->marks && !(seg_flags(ip) & SYN)) {
		seg_tcp(ip)[13] |= x->marks;
		wire_csum_set(ip);
	}
	return true;
}

static struct sum sum_of(struct flows *f, uint8_t marks, bool path_is_low)
{
	struct sum x = {.marks = marks, .path_is_low = path_is_low};
	for (unsigned i = 0; i < 2; i++) {
		f->rig->host[i].filter = sum_and_mark;
		f->rig->host[i].filter_arg = &x;
	}
	flows_finish(f, 24 * HOUR);
	return x;
}

static void check_same(uint64_t seed, struct sum quick, struct sum slow)
{
	if (quick.segments != slow.segments || quick.value != slow.value)
		fail_msg("SEED=%llu: %llu segments, %llu the long way, or others", (unsigned long long)seed,
		         (unsigned long long)quick.segments, (unsigned long long)slow.segments);
}

/*
 * A connection without ECN ignores ECE and CWR, but neither is_predicted (input.c) nor is_answer (ack.c)
 * takes a segment that has them. So with them on all segments the hosts do everything the long way, and
 * must send the same bytes at the same times.
 */
static void predicted_or_not(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("predicted_or_not", 300);
	for (uint64_t seed = runs.first; seed < runs.end; seed++)
		check_same(seed, sum_of(chaos(seed, false), 0, false), sum_of(chaos(seed, false), ECE | CWR, false));
}

/*
 * Neither send_answer nor send_plain (output.c) sends for a connection whose path MTU may rise again. So
 * with a time for that on all connections, which does not come, the hosts build all segments the long way.
 */
static void plain_or_not(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("plain_or_not", 300);
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		const bool ecn = seed % 2;
		check_same(seed, sum_of(chaos(seed, ecn), 0, false), sum_of(chaos(seed, ecn), 0, true));
	}
}

static void refused(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("refused", 1);
	const struct rig_host_params p = rig_host_default();
	struct flows *f = pair(runs.first, &p, &p);
	struct flow_plan plan = {.port = {0, 8}, .may_fail = true};
	struct flow *flow = flow_add(f, &plan);
	rig_run_until(f->rig, HOUR * 1000000, flows_done, f);
	rig_check_equal(-flow->end[0].how, -E_REFUSED);
	rig_check_equal(f->rig->host[1].cnt.v[CNT_drop_tcp_port], 1);
	flows_finish(f, HOUR);
}

/* tcp_unlisten: new connections are refused, existing ones go on, and the port can be used
 * again. */
static void closed_port(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("closed_port", 2);
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		const struct rig_host_params p = rig_host_default();
		struct flows *f = pair(seed, &p, &p);
		struct flow_plan plan = {.port = {0, 7}};
		plan.end[0].bytes = plan.end[1].bytes = 100000;
		plan.end[0].write_max = 100;
		plan.end[0].pause_us = 1000;
		struct flow *early = flow_add(f, &plan);
		rig_run(f->rig, f->rig->now_us + 100 * MS);
		rig_check_equal(f->accepts, 1);
		rig_check_equal(f->open, 2);
		tcp_unlisten(f->rig->host[1].tcp, 8); /* which nobody uses */
		tcp_unlisten(f->rig->host[1].tcp, 7);
		plan.may_fail = true;
		struct flow *late = flow_add(f, &plan);
		rig_run_until(f->rig, f->rig->now_us + HOUR, flows_done, f);
		rig_check_equal(early->end[0].how, E_OK);
		rig_check_equal(-late->end[0].how, -E_REFUSED);
		rig_check_equal(f->rig->host[1].cnt.v[CNT_drop_tcp_port], 1);
		flows_listen(f, 1, 7, false);
		plan.may_fail = false;
		struct flow *again = flow_add(f, &plan);
		rig_run_until(f->rig, f->rig->now_us + HOUR, flows_done, f);
		rig_check_equal(again->end[0].how, E_OK);
		flows_finish(f, HOUR);
	}
}

/* --- scarcity --- */

struct thief {
	struct rig_host *h;
	struct chance c;
	struct pkt *taken;
	unsigned n, left;
};

/* Takes most of the pool, or returns it; in the end returns all. */
static void steal(void *arg)
{
	struct thief *t = arg;
	struct bufpool *pool = &t->h->pool;
	while (t->n)
		pkt_free(pool, &t->taken[--t->n]);
	if (t->left-- == 0)
		return;
	unsigned want = one_in(&t->c, 2) ? 0 : pool->count - chance_below(&t->c, 5);
	while (t->n < want && pkt_alloc(pool, &t->taken[t->n]))
		t->n++;
	rig_at(t->h->rig, t->h->rig->now_us + 1 + any_size(&t->c, 3 * SECOND), steal, t);
}

static void small_pools(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("small_pools", 200);
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		struct chance c = {seed};
		struct rig_host_params p[2] = {random_host(&c), random_host(&c)};
		struct thief thief[2];
		for (unsigned i = 0; i < 2; i++) {
			p[i].bufs = chance_range(&c, 24, 200);
			p[i].tcp.pool_reserve = p[i].bufs / 3;
			p[i].tcp.reassembly_bufs = p[i].bufs / 4;
		}
		struct flows *f = pair(seed, &p[0], &p[1]);
		const struct wire w = random_wire(&c);
		rig_wires(f->rig, &w);
		for (unsigned n = chance_range(&c, 1, 4); n; n--) {
			struct flow_plan plan = random_flow(&c, 30000);
			for (unsigned i = 0; i < 2; i++)
				if (plan.end[i].reader == READ_LATE) /* keeps buffers of the pool */
					plan.end[i].reader = READ_ODD;
			flow_add(f, &plan);
		}
		for (unsigned i = 0; i < 2; i++) {
			thief[i] = (struct thief){.h = &f->rig->host[i], .c = {seed + i}, .left = 10};
			thief[i].taken = calloc(p[i].bufs, sizeof(struct pkt));
			if (one_in(&c, 2))
				steal(&thief[i]);
		}
		flows_finish(f, 24 * HOUR);
		free(thief[0].taken);
		free(thief[1].taken);
	}
}

static void tiny_windows(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("tiny_windows", 200);
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		struct chance c = {seed};
		struct rig_host_params a = random_host(&c), b = random_host(&c);
		a.tcp.rcv_buf = 1 + any_size(&c, 2000);
		b.tcp.rcv_buf = 1 + any_size(&c, 2000);
		a.tcp.snd_buf = 1 + any_size(&c, 5000);
		b.tcp.snd_buf = 1 + any_size(&c, 5000);
		struct flows *f = pair(seed, &a, &b);
		struct wire w = random_wire(&c);
		w.loss_ppm /= 4; /* a window of 1 byte takes a round trip for each */
		w.burst_ppm /= 4;
		rig_wires(f->rig, &w);
		struct flow_plan p = random_flow(&c, 300);
		p.end[0].read_max = p.end[1].read_max = 1 + any_size(&c, 1500);
		flow_add(f, &p);
		flows_finish(f, 100 * HOUR);
	}
}

/* A reader that pauses for minutes: probes keep the connection, and it continues (RFC 9293
 * 3.8.6.1). */
static void closed_window(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("closed_window", 10);
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		struct rig_host_params p = rig_host_default();
		p.tcp.user_timeout_ms = 30000;
		p.tcp.rto_max_ms = 5000; /* several probes within that time, because some are lost */
		p.tcp.rcv_buf = 20000;
		struct flows *f = pair(seed, &p, &p);
		const struct wire w = {.delay_us = 20 * MS, .loss_ppm = 20000};
		rig_wires(f->rig, &w);
		struct flow_plan plan = {.port = {0, 7}};
		plan.end[0].bytes = 100000;
		plan.end[1].reader = READ_ODD;
		plan.end[1].read_us = 600 * SECOND;
		plan.end[1].read_max = 20000;
		struct rig_host *client = &f->rig->host[0];
		flow_add(f, &plan);
		rig_run_until(f->rig, f->rig->now_us + 24 * HOUR, flows_done, f);
		rig_check(client->cnt.v[CNT_tcp_window_probes] > 3);
		flows_finish(f, 24 * HOUR);
	}
}

/* --- nobody answers --- */

static void cut(void *arg)
{
	struct rig *r = arg;
	r->host[0].wire.cut = r->host[1].wire.cut = true;
}

/* How long after the cut the client was told, in ms. */
static uint64_t time_to_give_up(uint64_t seed, const struct rig_host_params *p,
                                const struct flow_plan *plan, uint64_t cut_us)
{
	struct flows *f = pair(seed, p, p);
	const struct wire w = {.delay_us = 10 * MS};
	rig_wires(f->rig, &w);
	uint64_t begin = f->rig->now_us;
	struct flow *flow = flow_add(f, plan);
	rig_at(f->rig, begin + cut_us, cut, f->rig);
	rig_run_until(f->rig, begin + 24 * HOUR, flows_done, f);
	rig_check_equal(-flow->end[0].how, -E_TIMEOUT);
	rig_check_equal(f->rig->host[0].cnt.v[CNT_tcp_timeouts], 1);
	uint64_t took = (flow->end[0].ended_us - begin - cut_us) / MS;
	flows_finish(f, 24 * HOUR);
	return took;
}

static void give_up(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("give_up", 5);
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		struct rig_host_params p = rig_host_default();
		p.tcp.syn_timeout_ms = 30000;
		p.tcp.user_timeout_ms = 20000;
		p.tcp.keepalive_ms = 40000;
		p.tcp.keepalive_interval_ms = 1000;
		p.tcp.keepalive_probes = 5;
		struct flow_plan plan = {.port = {0, 7}, .may_fail = true};
		plan.end[0].keepalive = plan.end[1].keepalive = true;
		plan.end[0].bytes = plan.end[1].bytes = 1000;
		assert_in_range(time_to_give_up(seed, &p, &plan, 0), 29000, 33000);
		/* While it sends. The lower bound allows 1 s for pauses, the upper one for a
		 * back-off that passes the timeout. */
		plan.end[0].bytes = plan.end[1].bytes = 100000000;
		plan.end[0].pause_us = plan.end[1].pause_us = 100 * MS;
		plan.end[0].write_max = plan.end[1].write_max = 2000;
		assert_in_range(time_to_give_up(seed, &p, &plan, 2 * SECOND), 19000, 48000);
		/* Idle: keep-alive. */
		plan.end[0].bytes = plan.end[1].bytes = 1;
		plan.end[0].wait_fin = plan.end[1].wait_fin = true;
		assert_in_range(time_to_give_up(seed, &p, &plan, 5 * SECOND), 38000, 48000);
	}
}

/* --- numbers --- */

static uint32_t seen_iss;

static bool note_iss(struct rig_host *h, uint8_t *ip, unsigned len)
{
	(void)h, (void)len;
	if (seg_flags(ip) & SYN)
		seen_iss = seg_seq(ip);
	return true;
}

/* The first sequence number of a connection at that time, on a wire that is cut. */
static uint32_t iss_at(struct flows *f, uint64_t t_us)
{
	struct rig *r = f->rig;
	rig_run(r, t_us);
	const struct wire w = {.cut = true};
	rig_wires(r, &w);
	r->host[0].filter = note_iss;
	struct flow_plan p = {.port = {3333, 7}, .may_fail = true};
	p.end[0].abort_us = MS;
	flow_add(f, &p);
	rig_run_until(r, t_us + HOUR, flows_done, f);
	rig_run_dry(r, t_us + HOUR);
	return seen_iss;
}

/* Sequence numbers that pass 2^32 within a stream: the test observes the clock from which they
 * start (RFC 6528), and opens the connection at the right time. */
static void wrap(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("wrap", 30);
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		struct chance c = {seed};
		const struct rig_host_params a = random_host(&c), b = random_host(&c);
		struct flows *f = pair(seed, &a, &b);
		struct rig *r = f->rig;
		uint64_t t0 = r->now_us;
		uint32_t first = iss_at(f, t0), second = iss_at(f, t0 + 4 * SECOND);
		uint32_t per_second = (second - first) / 4;
		assert_in_range(per_second, 200000, 2000000); /* RFC 9293 3.4.1: 250000 */
		uint32_t missing = (uint32_t)(0 - chance_below(&c, 60000)) - second;
		rig_run(r, t0 + 4 * SECOND + (uint64_t)missing * SECOND / per_second);
		struct wire w = random_wire(&c);
		w.cut = false;
		rig_wires(r, &w);
		struct flow_plan p = random_flow(&c, 0);
		p.port[0] = 3333;
		p.start_us = 0;
		p.end[0].bytes = p.end[1].bytes = 150000;
		flow_add(f, &p);
		rig_run_until(r, r->now_us + 24 * HOUR, flows_done, f);
		rig_check(seen_iss > UINT32_MAX - 149000);
		flows_finish(f, 24 * HOUR);
	}
}

/* --- paths --- */

static void path_mtu(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("path_mtu", 40);
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		struct chance c = {seed};
		struct rig_host_params a = rig_host_default(), b = rig_host_default();
		random_offload(&c, &a);
		random_offload(&c, &b);
		bool icmp = one_in(&c, 2);
		struct flows *f = pair(seed, &a, &b);
		struct wire w = {.delay_us = 5 * MS, .icmp = icmp};
		w.mtu = icmp && !rig_is_ip6(seed) ? chance_range(&c, 576, 1499) : chance_range(&c, 1280, 1499);
		f->rig->host[0].wire = f->rig->host[1].wire = w;
		struct flow_plan p = {.port = {0, 7}};
		p.end[0].bytes = 50000 + any_size(&c, 100000);
		p.end[1].bytes = any_size(&c, 100000);
		p.end[0].pkt_percent = chance_range(&c, 0, 100);
		struct rig_host *h = &f->rig->host[0];
		flow_add(f, &p);
		rig_run_until(f->rig, f->rig->now_us + HOUR, flows_done, f);
		rig_check(h->cnt.v[icmp ? CNT_tcp_pmtu : CNT_tcp_black_hole] >= 1);
		flows_finish(f, HOUR);
	}
}

/* --- many --- */

static void many_connections(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("many_connections", 1);
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		const unsigned count = 5000;
		struct rig_host_params p = rig_host_default();
		p.tcp.connections = count + 100;
		p.tcp.syn_max = count;
		p.bufs = 30000;
		p.ring = 30000;
		struct flows *f = pair(seed, &p, &p);
		const struct wire w = {.delay_us = 20 * MS, .loss_ppm = 10000, .jitter_us = 5 * MS};
		rig_wires(f->rig, &w);
		struct chance c = {seed};
		for (unsigned i = 0; i < count; i++) {
			struct flow_plan plan = {.port = {(uint16_t)(10000 + i), 7}};
			plan.start_us = chance_below(&c, SECOND);
			plan.end[0].bytes = 2 + any_size(&c, 5000);
			plan.end[0].write_max = (uint32_t)plan.end[0].bytes / 2;
			plan.end[0].pause_us = 3 * SECOND;
			plan.end[1].reader = READ_ECHO;
			flow_add(f, &plan);
		}
		rig_run(f->rig, f->rig->now_us + 1200 * MS);
		rig_check(f->open > count);
		flows_finish(f, HOUR);
	}
}

/*
 * More requests at once than buffers for their echoes. Each echo is kept until it is acknowledged,
 * which the client does late: acknowledgements must still find buffers to be received in.
 */
static void more_echoes_than_buffers(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("more_echoes_than_buffers", 10);
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		struct rig_host_params p[2] = {rig_host_default(), rig_host_default()};
		p[0].tcp.connections = p[1].tcp.connections = p[1].tcp.syn_max = 1000;
		p[0].tcp.delack_ms = 200;
		p[1].bufs = 200;
		p[1].tcp.pool_reserve = 50;
		struct flows *f = pair(seed, &p[0], &p[1]);
		const struct wire w = {.delay_us = 5 * MS, .jitter_us = 5 * MS};
		rig_wires(f->rig, &w);
		for (unsigned i = 0; i < 800; i++) {
			struct flow_plan plan = {.port = {(uint16_t)(10000 + i), 7}};
			plan.start_us = i * 50;
			plan.end[0].bytes = 600;
			plan.end[0].write_max = 300;
			plan.end[0].pause_us = 3 * SECOND;
			plan.end[0].nodelay = plan.end[1].nodelay = true;
			plan.end[1].reader = READ_ECHO;
			flow_add(f, &plan);
		}
		rig_run_until(f->rig, f->rig->now_us + 30 * SECOND, flows_done, f);
		flows_finish(f, HOUR);
	}
}

/* One after the other, with few records and few ports: connections in TIME-WAIT are reused. */
static void one_after_the_other(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("one_after_the_other", 2);
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		struct rig_host_params p = rig_host_default();
		p.tcp.connections = 30;
		p.tcp.port_first = 40000;
		p.tcp.port_last = 40099;
		struct flows *f = pair(seed, &p, &p);
		const struct wire w = {.delay_us = 100};
		rig_wires(f->rig, &w);
		for (unsigned i = 0; i < 2000; i++) {
			struct flow_plan plan = {.port = {0, 7}, .start_us = i * 5 * MS};
			plan.end[0].bytes = plan.end[1].bytes = i % 100;
			plan.end[i & 1].wait_fin = true;
			flow_add(f, &plan);
		}
		rig_run_until(f->rig, f->rig->now_us + HOUR, flows_done, f);
		rig_check_equal(f->accepts, 2000);
		rig_check(f->rig->host[0].cnt.v[CNT_tcp_time_wait_recycled] > 100);
		flows_finish(f, HOUR);
	}
}

/* A flood of SYNs from addresses that do not answer. */
struct flood {
	struct rig_host *victim;
	struct chance c;
	unsigned left;
	uint32_t gap_us;
};

static void flood_one(void *arg)
{
	struct flood *fl = arg;
	struct rig *r = fl->victim->rig;
	uint8_t ip[64] = {0};
	uint32_t src = 0xc6120000u + chance_below(&fl->c, 65536);
	uint8_t *tcp = wire_ip_put(r, ip, src, fl->victim->addr, 24);
	set16(tcp, chance_range(&fl->c, 1024, 65535));
	set16(tcp + 2, 7);
	set32(tcp + 4, (uint32_t)chance_next(&fl->c));
	tcp[12] = 6 << 4;
	tcp[13] = SYN;
	set16(tcp + 14, 65535);
	set32(tcp + 20, 0x020405b4);
	wire_csum_set(ip);
	rig_inject(fl->victim, ip, ip_len(ip));
	if (--fl->left)
		rig_at(r, r->now_us + 1 + chance_below(&fl->c, fl->gap_us), flood_one, fl);
}

static void syn_flood(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("syn_flood", 10);
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		struct chance c = {seed};
		struct rig_host_params a = random_host(&c), b = random_host(&c);
		b.tcp.syn_max = 16;
		b.tcp.syn_timeout_ms = 10000;
		struct flows *f = pair(seed, &a, &b);
		const struct wire w = {.delay_us = 10 * MS, .loss_ppm = 5000};
		rig_wires(f->rig, &w);
		for (unsigned i = 0; i < 20; i++) {
			struct flow_plan p = random_flow(&c, 50000);
			p.start_us = chance_below(&c, 4 * SECOND);
			p.end[0].bytes += 10; /* speaks first: a cookie's ACK may be lost */
			flow_add(f, &p);
		}
		struct rig_host *victim = &f->rig->host[1];
		struct flood flood = {.victim = victim, .c = {seed}, .left = 5000, .gap_us = 2 * MS};
		flood_one(&flood);
		rig_run_until(f->rig, f->rig->now_us + HOUR, flows_done, f);
		rig_check(victim->cnt.v[CNT_tcp_cookies_tx] > 100);
		rig_check(victim->cnt.v[CNT_tcp_cookies_good] > 3);
		flows_finish(f, HOUR);
	}
}

/*
 * An attacker who knows addresses and ports, and guesses the rest (RFC 5961): SYN, RST, data, ACK.
 * Not before a connection is established, when a SYN makes a simultaneous open (RFC 9293 3.5), nor
 * while it is being closed, because then a SYN may end TIME-WAIT (3.6.1): neither can be
 * distinguished from a genuine segment.
 */
struct intruder {
	struct flows *f;
	struct chance c;
};

static void intrude(void *arg)
{
	static const uint8_t flags[] = {RST, RST | ACK, SYN, SYN | ACK, ACK, FIN | ACK, PSH | ACK};
	struct intruder *in = arg;
	struct rig *r = in->f->rig;
	if (flows_done(in->f))
		return;
	const struct flow *flow = in->f->flow[chance_below(&in->c, in->f->count)];
	struct rig_host *victim = &r->host[chance_below(&in->c, 2)];
	uint16_t port = flow->plan.port[0];
	rig_at(r, r->now_us + 1 + chance_below(&in->c, 3 * MS), intrude, in);
	if (!flow->end[0].established || !flow->end[1].established || flow->end[0].closing ||
	    flow->end[1].closing)
		return;
	uint8_t ip[110] = {0};
	uint8_t *tcp = wire_ip_put(r, ip, r->host[1 - victim->index].addr, victim->addr, 70);
	set16(tcp, victim->index ? port : 7);
	set16(tcp + 2, victim->index ? 7 : port);
	set32(tcp + 4, (uint32_t)chance_next(&in->c));
	set32(tcp + 8, (uint32_t)chance_next(&in->c));
	tcp[12] = 5 << 4;
	tcp[13] = flags[chance_below(&in->c, ARRAY_LEN(flags))];
	set16(tcp + 14, chance_below(&in->c, 65536));
	wire_csum_set(ip);
	rig_inject(victim, ip, ip_len(ip));
}

static void intruders(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("intruders", 40);
	uint64_t seen = 0;
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		struct chance c = {seed};
		struct rig_host_params a = random_host(&c), b = random_host(&c);
		a.tcp.rcv_buf = b.tcp.rcv_buf = 20000; /* not one guess in 200000 is within the window */
		a.tcp.snd_buf = b.tcp.snd_buf = 5000;  /* so that closing is late */
		struct flows *f = pair(seed, &a, &b);
		const struct wire w = {.delay_us = 5 * MS + any_size(&c, 50 * MS), .loss_ppm = 5000};
		rig_wires(f->rig, &w);
		for (unsigned i = 0; i < 4; i++) {
			struct flow_plan p = random_flow(&c, 100000);
			p.end[0].bytes += 50000; /* some round trips long */
			p.port[0] = (uint16_t)(20000 + i);
			flow_add(f, &p);
		}
		struct intruder in = {f, {seed}};
		intrude(&in);
		rig_run_until(f->rig, f->rig->now_us + 24 * HOUR, flows_done, f);
		seen += f->rig->host[1].cnt.v[CNT_drop_tcp_seq];
		flows_finish(f, 24 * HOUR);
	}
	assert_true(seen > 10 * (runs.end - runs.first));
}

/* --- Fast Open --- */

enum cookie_fate { COOKIE_RIGHT, COOKIE_WRONG, COOKIE_MISSING };

/* Changes the cookie in a SYN, or removes its option. */
static bool spoil_cookie(struct rig_host *h, uint8_t *ip, unsigned len)
{
	const enum cookie_fate *what = h->filter_arg;
	(void)len;
	uint8_t *o = seg_option(ip, 34);
	if (!(seg_flags(ip) & SYN) || !o || o[1] <= 2)
		return true;
	if (*what == COOKIE_WRONG)
		o[2] ^= 1;
	else if (*what == COOKIE_MISSING)
		memset(o, 1, o[1]);
	wire_csum_set(ip);
	return true;
}

static void fast_open(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("fast_open", 60);
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		struct chance c = {seed};
		enum cookie_fate what = (enum cookie_fate)(seed % 3);
		const struct rig_host_params a = random_host(&c), b = random_host(&c);
		struct rig *r = rig_new(seed, SECOND);
		struct rig_host *client = rig_host_add(r, &a), *server = rig_host_add(r, &b);
		struct flows *f = flows_new(r);
		struct wire w = random_wire(&c);
		w.dup_ppm = w.reorder_ppm = 0; /* RFC 7413 2.1: a SYN's data may then come twice */
		rig_wires(r, &w);
		flows_listen(f, 1, 7, true);
		client->filter = spoil_cookie;
		client->filter_arg = &what;
		for (unsigned i = 0; i < 6; i++) {
			struct flow_plan p = random_flow(&c, 20000);
			p.fastopen = true;
			p.first_bytes = any_size(&c, one_in(&c, 2) ? 1000 : 1999);
			p.end[0].bytes += p.first_bytes;
			p.start_us = i ? i * 100 * SECOND : 0; /* the first gets the cookie */
			flow_add(f, &p);
		}
		rig_run_until(r, r->now_us + 24 * HOUR, flows_done, f);
		const uint64_t *v = server->cnt.v;
		rig_check(what == COOKIE_RIGHT || v[CNT_tcp_fastopen] == 0);
		rig_check(what != COOKIE_RIGHT || w.loss_ppm || w.burst_ppm || w.corrupt_ppm ||
		          v[CNT_tcp_fastopen] >= 1);
		rig_check(what != COOKIE_WRONG || w.loss_ppm || w.burst_ppm || w.corrupt_ppm ||
		          v[CNT_tcp_fastopen_refused] >= 1);
		flows_finish(f, 24 * HOUR);
	}
}

/* --- tcp_set_snd_buf --- */

struct full {
	struct tcp_conn *c[2];
	unsigned n;
};

static bool full_accept(struct tcp_conn *c)
{
	struct full *f = tcp_arg(c);
	f->c[f->n++] = c;
	return true;
}

static void full_data(struct tcp_conn *c, struct pkt *p)
{
	(void)c, (void)p;
	rig_check(false); /* the wire is cut */
}

/* Of two connections whose peer is gone, one has the larger snd_buf: each takes exactly its own. The bound on
 * buffers is each connection's own too: 256 bytes of snd_buf for each. */
static void given_room(void **s)
{
	(void)s;
	static uint8_t bytes[200001];
	static const struct tcp_app app = {.accept = full_accept, .data = full_data};
	struct full full = {.n = 0};
	struct tcp_conn *opened[2];
	struct rig_host_params p = rig_host_default();
	p.tcp.snd_buf = 5000;
	p.tcp.snd_buf_given = 200000;
	struct rig *r = rig_new(1, 0);
	struct rig_host *server = rig_host_add(r, &p), *client = rig_host_add(r, &p);
	const struct tcp_listen l = {.addr = NET_ADDR_ANY, .port = 7, .app = &app, .arg = &full};
	rig_check(tcp_listen(server->tcp, &l) == E_OK);
	for (unsigned i = 0; i < 2; i++) {
		const struct tcp_open o = {.remote = rig_addr(r, server->addr), .local = rig_addr(r, client->addr),
		                           .remote_port = 7, .app = &app, .arg = &full};
		opened[i] = tcp_connect(client->tcp, &o, r->now_us, NULL);
		rig_check(opened[i] != NULL);
	}
	rig_run(r, r->now_us + SECOND);
	rig_check(full.n == 2);
	const struct wire cut = {.cut = true};
	rig_wires(r, &cut);
	tcp_set_snd_buf(full.c[1]);
	rig_check(tcp_send_room(full.c[0]) == 5000 && tcp_send_room(full.c[1]) == 200000);
	rig_check(tcp_send(full.c[0], bytes, sizeof bytes) == 5000 && tcp_send_room(full.c[0]) == 0);
	rig_check(tcp_send(full.c[1], bytes, sizeof bytes) == 200000 && tcp_send_room(full.c[1]) == 0);
	rig_check(tcp_unacked(full.c[1]) == 200000);
	for (unsigned i = 0; i < 2; i++) {
		tcp_abort(full.c[i]);
		tcp_abort(opened[i]);
	}
	rig_run_dry(r, r->now_us + HOUR);
	rig_end(r);
}

/* --- very long --- */

/* More than 2^32 bytes over one connection. It takes some seconds, so only on request: LONG=1. */
static void very_long(void **s)
{
	(void)s;
	struct rig_runs runs = rig_runs("very_long", 1);
	if (!getenv("LONG"))
		skip();
	struct rig_host_params p = rig_host_default();
	p.tcp.offload = TCP_TX_CSUM | TCP_TX_SG | TCP_TX_TSO;
	p.tcp.mtu = 9000;
	p.tcp.rcv_buf = p.tcp.snd_buf = 1 << 20;
	p.stride = BUF_STRIDE_JUMBO;
	p.checked = true;
	p.bufs = 4096;
	struct flows *f = pair(runs.first, &p, &p);
	const struct wire w = {.delay_us = 50, .rate_bps = 10000000000, .loss_ppm = 10};
	rig_wires(f->rig, &w);
	struct flow_plan plan = {.port = {0, 7}};
	plan.end[0].bytes = (1ull << 32) + 123457;
	plan.end[0].pkt_percent = 90;
	flow_add(f, &plan);
	flows_finish(f, HOUR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams),
		cmocka_unit_test(echoes),
		cmocka_unit_test(features),
		cmocka_unit_test(simultaneous),
		cmocka_unit_test(chaos_of_callbacks),
		cmocka_unit_test(predicted_or_not),
		cmocka_unit_test(plain_or_not),
		cmocka_unit_test(refused),
		cmocka_unit_test(closed_port),
		cmocka_unit_test(small_pools),
		cmocka_unit_test(tiny_windows),
		cmocka_unit_test(closed_window),
		cmocka_unit_test(give_up),
		cmocka_unit_test(wrap),
		cmocka_unit_test(path_mtu),
		cmocka_unit_test(many_connections),
		cmocka_unit_test(more_echoes_than_buffers),
		cmocka_unit_test(one_after_the_other),
		cmocka_unit_test(syn_flood),
		cmocka_unit_test(intruders),
		cmocka_unit_test(fast_open),
		cmocka_unit_test(given_room),
		cmocka_unit_test(very_long),
	};
	if (getenv("ONLY"))
		cmocka_set_test_filter(getenv("ONLY"));
	return cmocka_run_group_tests_name("tcp_pair", tests, NULL, NULL);
}
