/* See conduct.h. */
#include "tools/pktgen/conduct.h"

#include "dataplane/state.h"
#include "control/host/resolve.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "tools/pktgen/replay_files.h"
#include "tools/pktgen/wide.h"

#define MS 1000000ull
#define TURN_NS (5 * MS)
#define ASK_AGAIN_NS (200 * MS)
#define RESOLVE_NS (3000 * MS)
#define TELL_AGAIN_NS (50 * MS)
#define TELL_NS (5000 * MS)    /* the run fails if a core does not answer for so long */
#define LEAD_NS (10 * MS)      /* from all cores being ready to the first frame */
#define OVERDUE_NS (3000 * MS) /* wait after the end, beyond the time to drain full rings */

static struct {
	enum conduct_state state;
	struct conduct_request request;
	struct plan plan;
	struct run_stream stream[PLAN_STREAMS_MAX];
	uint32_t card_kbps[PLAN_STREAMS_MAX]; /* in force; 0: the cores pace the stream */
	uint32_t unresolved; /* streams, by bit */
	uint64_t number;     /* of the order; 0: none was written */
	uint64_t since_tsc;  /* when this state began */
	uint64_t again_tsc;  /* when to ask a neighbour or tell a core again */
	bool written;        /* the order has been written */
	bool stopping;
	bool link_lost;      /* a link that a stream uses was down since the run began */
	char error[160];
} c;

static struct run_order *order(void)
{
	return dp_get()->plugin_data;
}

const struct run_order *conduct_order(void)
{
	return c.number ? order() : NULL;
}

enum conduct_state conduct_state(void)
{
	return c.state;
}

const char *conduct_state_text(enum conduct_state state)
{
	static const char *const text[] = {
		[CONDUCT_IDLE] = "no run yet",
		[CONDUCT_RESOLVE] = "asking for neighbours",
		[CONDUCT_ORDER] = "preparing frames",
		[CONDUCT_RUN] = "sending",
		[CONDUCT_SETTLE] = "waiting for frames in flight",
		[CONDUCT_DONE] = "done",
		[CONDUCT_FAILED] = "failed",
	};
	return text[state];
}

bool conduct_busy(void)
{
	return c.state != CONDUCT_IDLE && c.state != CONDUCT_DONE && c.state != CONDUCT_FAILED;
}

const char *conduct_error(void)
{
	return c.error;
}

uint64_t conduct_begin_tsc(void)
{
	return c.state >= CONDUCT_RUN && c.number ? order()->begin_tsc : 0;
}

static void enter(enum conduct_state s)
{
	c.state = s;
	c.since_tsc = c.again_tsc = clock_tsc();
}

static bool past(uint64_t since_tsc, uint64_t ns)
{
	return clock_tsc() - since_tsc > clock_ticks(&self.clock, ns);
}

/* Lifts the cards' limits. card_kbps stays, because reports of the finished run show it. */
static void unlimit_streams(void)
{
	uint32_t none;
	for (unsigned i = 0; i < c.plan.streams; i++)
		if (c.card_kbps[i])
			core_port_rate(c.plan.stream[i].port, c.stream[i].first, 0, &none);
}

/* Frames received from now on do not belong to the run. */
static void finish(enum conduct_state s)
{
	if (c.number)
		__atomic_store_n(&order()->over, c.number, __ATOMIC_RELAXED);
	unlimit_streams();
	enter(s);
}

static void fail(const char *format, ...) PRINTF_LIKE(1, 2);

static void fail(const char *format, ...)
{
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(c.error, sizeof c.error, format, args);
	__builtin_va_end(args);
	if (c.number)
		__atomic_store_n(&order()->stop, c.number, __ATOMIC_RELAXED);
	finish(CONDUCT_FAILED);
}

/* --- rates that cards keep --- */

uint64_t conduct_card_bps(unsigned stream)
{
	return c.card_kbps[stream] * 1000ull;
}

static void limit_streams(void)
{
	for (unsigned i = 0; i < c.plan.streams; i++) {
		const struct plan_stream *s = &c.plan.stream[i];
		if (!s->card_rate)
			continue;
		int e = core_port_rate(s->port, c.stream[i].first, (uint32_t)(s->rate.value / 1000),
		                       &c.card_kbps[i]);
		if (e == E_OK)
			continue;
		c.card_kbps[i] = 0;
		fail("stream %s: eth%u does not keep this rate: %s", s->name, s->port,
		     e == E_NOTSUP ? "its card has no rate limiter" : core_port_nic(s->port)->error);
		return;
	}
}

/* --- data cores, by queue pair --- */

static unsigned cores(void)
{
	return core_data_count();
}

static const struct run_result *result_of_pair(unsigned pair)
{
	for (unsigned core = 0; core < self.info->cores; core++)
		if (core_pair_of(core) == (int)pair)
			return run_result_of(core);
	return NULL;
}

static bool has_acted(const struct run_result *r)
{
	return __atomic_load_n(&r->number, __ATOMIC_ACQUIRE) == c.number;
}

/* The data core's word is not trusted: anything unknown counts as no state. */
static enum run_state state_of(const struct run_result *r)
{
	const uint64_t state = __atomic_load_n(&r->state, __ATOMIC_ACQUIRE);
	return state <= RUN_REFUSED ? (enum run_state)state : RUN_NONE;
}

/* --- resolving --- */

static const char *name_of(unsigned stream)
{
	return c.plan.stream[stream].name;
}

static void resolve(void)
{
	char text[FMT_ADDR_MAX];
	bool ask = clock_tsc() >= c.again_tsc;
	for (unsigned i = 0; i < c.plan.streams && ask; i++) {
		const struct plan_stream *s = &c.plan.stream[i];
		unsigned interface = s->port; /* a port's own interface has its number */
		if (!(c.unresolved >> i & 1))
			continue;
		switch (resolve_station(&s->dst, &interface, c.stream[i].mac_dst)) {
		case RESOLVE_KNOWN:
			c.unresolved &= ~(1u << i);
			break;
		case RESOLVE_ASKED:
			break;
		case RESOLVE_NO_ROUTE:
			fail("stream %s: there is no route to %s: give eth%u an address next to "
			     "it, or the stream a destination MAC address", name_of(i),
			     fmt_addr(text, s->dst.w), s->port);
			return;
		case RESOLVE_OTHER_INTERFACE:
			fail("stream %s: the route to %s leaves by %s, the stream by eth%u",
			     name_of(i), fmt_addr(text, s->dst.w), dp_name(dp_get(), interface), s->port);
			return;
		}
	}
	if (ask)
		c.again_tsc = clock_tsc() + clock_ticks(&self.clock, ASK_AGAIN_NS);
	if (c.unresolved == 0) {
		enter(CONDUCT_ORDER);
	} else if (past(c.since_tsc, RESOLVE_NS)) {
		unsigned i = (unsigned)__builtin_ctz(c.unresolved);
		fail("stream %s: nobody answers for %s on eth%u", name_of(i),
		     fmt_addr(text, c.plan.stream[i].dst.w), c.plan.stream[i].port);
	}
}

/* --- ordering --- */

/* Assigns the streams to the cores, round robin. */
static void assign(void)
{
	unsigned next = 0;
	for (unsigned i = 0; i < c.plan.streams; i++) {
		const struct plan_stream *s = &c.plan.stream[i];
		struct run_stream *rs = &c.stream[i];
		rs->send = !(c.request.silent >> i & 1);
		rs->replay = *replay_files_of(i);
		rs->senders = (uint8_t)(s->cores && s->cores < cores() ? s->cores : cores());
		rs->first = (uint8_t)(next % cores());
		next += rs->senders;
		memcpy(rs->mac_src, s->mac_src, sizeof rs->mac_src);
		static const uint8_t none[6];
		if (memcmp(s->mac_src, none, sizeof none) == 0)
			memcpy(rs->mac_src, core_port_nic(s->port)->mac, sizeof rs->mac_src);
		if (s->resolve)
			c.unresolved |= 1u << i;
		else
			memcpy(rs->mac_dst, s->mac_dst, sizeof rs->mac_dst);
	}
}

static void tell(void)
{
	static const uint8_t frame[60];
	c.again_tsc = clock_tsc() + clock_ticks(&self.clock, TELL_AGAIN_NS);
	for (unsigned pair = 0; pair < cores(); pair++) {
		const struct run_result *r = result_of_pair(pair);
		if (r && !has_acted(r))
			core_inject(pair, 0, frame, sizeof frame, INJECT_APP, RUN_MSG_ORDER);
	}
}

uint64_t conduct_line_bps(const struct plan *plan, unsigned port)
{
	struct nic_link link;
	if (port < PLAN_PORTS_MAX && plan->line_bps[port])
		return plan->line_bps[port];
	if (!core_port_link(port, &link) || !link.up || link.mbps == 0)
		return 0;
	return link.mbps * 1000000ull;
}

static bool uses(const struct plan_stream *s, unsigned port)
{
	return s->port == port || s->port_in == port;
}

bool conduct_links_up(const struct plan *plan)
{
	for (unsigned port = 0; port < core_port_count(); port++)
		for (unsigned i = 0; i < plan->streams && !dp_link_is_up(dp_get(), port); i++)
			if (uses(&plan->stream[i], port))
				return false;
	return true;
}

void conduct_link_down(unsigned port)
{
	for (unsigned i = 0; i < c.plan.streams && conduct_busy(); i++)
		c.link_lost |= uses(&c.plan.stream[i], port);
}

static void write_order(void)
{
	struct run_order *o = order();
	o->stop = 0;
	o->begin_tsc = 0;
	o->owed_max = clock_ticks(&self.clock, plan_catch_up_ns(&c.plan));
	o->tolerance_ppm = c.request.tolerance_ppm;
	o->cores = cores();
	o->burst = c.request.burst;
	for (unsigned p = 0; p < core_port_count(); p++)
		o->line_bps[p] = conduct_line_bps(&c.plan, p);
	memcpy(o->stream, c.stream, sizeof o->stream);
	memcpy(&o->plan, &c.plan, sizeof o->plan);
	for (unsigned i = 0; i < o->plan.streams; i++)
		if (c.card_kbps[i]) /* the card takes frames no faster */
			o->plan.stream[i].rate.unit = PLAN_FLAT;
	/* not a number of an earlier control program: data cores survive its restart */
	c.number = c.number ? c.number + 1 : clock_tsc() | 1;
	__atomic_store_n(&o->number, c.number, __ATOMIC_RELEASE);
	c.written = true;
	tell();
}

/* Checks the results of all cores. False: a core refused, and the run has failed. *acted: all cores
 * have acted on the order. *states: the states of those that have, by bit. */
static bool look(bool *acted, unsigned *states)
{
	static const char *const why[] = {
		[RUN_WHY_NOT] = "no reason",
		[RUN_WHY_FRAMES] = "its frames cannot be made",
		[RUN_WHY_MEMORY] = "there is not enough memory for its frames",
		[RUN_WHY_LENGTH] = "its card sends no frames of this length: give its interface a "
		                   "larger mtu",
		[RUN_WHY_SLOTS] = "its port cannot send prepared frames",
		[RUN_WHY_BUSY] = "earlier frames have been in its port's transmit ring for 3 s, "
		                 "because the device sends none: start again when it does",
	};
	*acted = true;
	*states = 0;
	for (unsigned pair = 0; pair < cores(); pair++) {
		const struct run_result *r = result_of_pair(pair);
		if (!r || !has_acted(r)) {
			*acted = false;
			continue;
		}
		enum run_state s = state_of(r);
		*states |= 1u << s;
		if (s != RUN_REFUSED)
			continue;
		unsigned stream = (unsigned)r->refused_stream;
		if (c.stopping)
			fail("stopped");
		else
			fail("stream %s: %s", stream < c.plan.streams ? name_of(stream) : "?",
			     r->why < ARRAY_LEN(why) ? why[r->why] : why[0]);
		return false;
	}
	return true;
}

/* States in which a core needs its order. */
#define BUSY (1u << RUN_PREPARING | 1u << RUN_READY | 1u << RUN_ON)

/* A core still acts on an earlier order, which must not be overwritten. */
static bool is_order_in_use(void)
{
	for (unsigned pair = 0; pair < cores(); pair++) {
		const struct run_result *r = result_of_pair(pair);
		if (r && r->number && BUSY >> state_of(r) & 1)
			return true;
	}
	return false;
}

/* All cores are ready: the run begins. */
static void give_begin(void)
{
	struct run_order *o = order();
	uint64_t begin = clock_tsc() + clock_ticks(&self.clock, LEAD_NS);
	o->end_tsc = c.request.ns ? begin + clock_ticks(&self.clock, c.request.ns) : UINT64_MAX;
	__atomic_store_n(&o->begin_tsc, begin, __ATOMIC_RELEASE);
	enter(CONDUCT_RUN);
}

static void turn_order(void)
{
	bool acted;
	unsigned states;
	if (!c.written && c.stopping) {
		fail("stopped");
	} else if (!c.written) {
		if (!is_order_in_use())
			write_order();
		else if (past(c.since_tsc, TELL_NS))
			fail("a data core does not end its last run");
	} else if (!look(&acted, &states)) {
		return;
	} else if (acted && !(states >> RUN_PREPARING & 1)) {
		give_begin();
	} else if (!acted && past(c.since_tsc, TELL_NS)) {
		fail("a data core does not answer");
	} else if (clock_tsc() >= c.again_tsc) {
		tell();
	}
}

static unsigned longest_frame(const struct plan_stream *s)
{
	unsigned len = s->replay.file[0] ? PLAN_FRAME_MAX : 0;
	for (unsigned i = 0; i < s->sizes; i++)
		len = u32_max(len, s->size[i]);
	return len;
}

/* The time to drain the full rings of the slowest stream: one ring at the rate of the card's
 * limiter, or the rings of all cores at line rate. At 10 Mbit/s a ring of jumbo frames takes
 * 7.5 s. */
static uint64_t drain_ns(void)
{
	uint64_t most = 0;
	for (unsigned i = 0; i < c.plan.streams; i++) {
		const struct plan_stream *s = &c.plan.stream[i];
		uint64_t bps = c.card_kbps[i] ? conduct_card_bps(i) : order()->line_bps[s->port];
		uint64_t frames = NIC_SLOTS_MAX * (c.card_kbps[i] ? 1ull : cores());
		uint64_t bits = 8 * frames * (longest_frame(s) + PLAN_FCS_BYTES + PLAN_WIRE_BYTES);
		uint64_t ns = bps ? wide_mul_div(bits, 1000 * MS, bps) : 0;
		most = ns > most ? ns : most;
	}
	return most;
}

static void turn_run(void)
{
	bool acted;
	unsigned states;
	const struct run_order *o = order();
	if (!look(&acted, &states))
		return;
	if (acted && !(states & BUSY)) {
		enter(CONDUCT_SETTLE);
	} else if (o->end_tsc != UINT64_MAX && clock_tsc() > o->end_tsc &&
	           past(o->end_tsc, OVERDUE_NS + drain_ns())) {
		fail("a data core does not come to an end: does a port stand still?");
	} else if (!acted) {
		fail("a data core was restarted");
	}
}

uint64_t conduct_turn(void)
{
	switch (c.state) {
	case CONDUCT_RESOLVE:
		resolve();
		break;
	case CONDUCT_ORDER:
		turn_order();
		break;
	case CONDUCT_RUN:
		turn_run();
		break;
	case CONDUCT_SETTLE:
		if (past(c.since_tsc, c.request.settle_ns))
			finish(CONDUCT_DONE);
		break;
	default:
		break;
	}
	return conduct_busy() ? self.now_tsc + clock_ticks(&self.clock, TURN_NS) : UINT64_MAX;
}

/* A rate in per cent needs a line rate; without one the stream would never send. */
static void check_rates(void)
{
	for (unsigned i = 0; i < c.plan.streams; i++) {
		const struct plan_stream *s = &c.plan.stream[i];
		if (s->rate.unit == PLAN_PERCENT && conduct_line_bps(&c.plan, s->port) == 0) {
			fail("stream %s: eth%u has no line rate, or no link; in the former "
			     "case add a line such as \"line eth%u 10Gbps\"",
			     name_of(i), s->port, s->port);
			return;
		}
	}
}

void conduct_start(const struct conduct_request *r)
{
	assert(!conduct_busy());
	c.request = *r;
	c.plan = *r->plan;
	for (unsigned i = 0; i < c.plan.streams && r->frames; i++) {
		uint64_t *limit = &c.plan.stream[i].limit.frames;
		*limit = *limit && *limit < r->frames ? *limit : r->frames;
	}
	c.request.plan = &c.plan;
	c.error[0] = 0;
	c.unresolved = 0;
	c.number = 0; /* the data cores' results are those of an earlier run */
	c.stopping = c.written = false;
	c.link_lost = !conduct_links_up(&c.plan);
	memset(c.stream, 0, sizeof c.stream);
	memset(c.card_kbps, 0, sizeof c.card_kbps);
	enter(CONDUCT_RESOLVE);
	if (!order())
		fail("there is not enough memory for the generator's orders");
	else if (!core_ports_running() || cores() == 0)
		fail("the ports do not run");
	else
		check_rates();
	if (c.state == CONDUCT_RESOLVE)
		assign();
	if (c.state == CONDUCT_RESOLVE)
		limit_streams();
}

void conduct_stop(void)
{
	if (!conduct_busy())
		return;
	c.stopping = true;
	if (c.state == CONDUCT_RESOLVE)
		fail("stopped");
	else if (c.written)
		__atomic_store_n(&order()->stop, c.number, __ATOMIC_RELAXED);
}

void conduct_reset(void)
{
	bool was_busy = conduct_busy();
	c.number = 0;
	if (was_busy)
		fail("the ports were restarted");
}

/* --- adding up --- */

const struct run_result *conduct_result(unsigned pair)
{
	const struct run_result *r = result_of_pair(pair);
	return r && has_acted(r) ? r : NULL;
}

static void add_sent(struct run_sent *sum, unsigned stream)
{
	for (unsigned pair = 0; pair < cores(); pair++) {
		const struct run_result *r = conduct_result(pair);
		if (!r)
			continue;
		const struct run_sent *s = &r->sent[stream];
		sum->frames += s->frames;
		sum->bytes += s->bytes;
		sum->forgiven += s->forgiven;
		sum->behind += s->behind;
		sum->unkept += s->unkept;
		if (s->worst_lag_ns > sum->worst_lag_ns)
			sum->worst_lag_ns = s->worst_lag_ns;
		if (s->first_tsc && (sum->first_tsc == 0 || s->first_tsc < sum->first_tsc))
			sum->first_tsc = s->first_tsc;
		if (s->last_tsc > sum->last_tsc)
			sum->last_tsc = s->last_tsc;
	}
}

static void add_judged(struct judge_result *sum, unsigned stream)
{
	static struct histogram scratch;
	for (unsigned pair = 0; pair < cores(); pair++) {
		const struct run_result *r = conduct_result(pair);
		if (r)
			judge_collect(sum, &r->judged[stream], &scratch);
	}
}

void conduct_sent(unsigned stream, struct run_sent *sum)
{
	memset(sum, 0, sizeof *sum);
	add_sent(sum, stream);
}

void conduct_judged(unsigned stream, struct judge_result *sum)
{
	judge_result_clear(sum);
	add_judged(sum, stream);
}

void conduct_sent_all(struct run_sent *sum)
{
	memset(sum, 0, sizeof *sum);
	for (unsigned i = 0; i < c.plan.streams; i++)
		add_sent(sum, i);
}

void conduct_judged_all(struct judge_result *sum)
{
	judge_result_clear(sum);
	for (unsigned i = 0; i < c.plan.streams; i++)
		add_judged(sum, i);
}

uint64_t conduct_sent_ns(const struct run_sent *sum)
{
	return sum->last_tsc > sum->first_tsc
	               ? clock_ns(&self.clock, sum->last_tsc - sum->first_tsc) : 0;
}

void conduct_pacing(unsigned stream, struct histogram *sum)
{
	histogram_clear(sum);
	for (unsigned pair = 0; pair < cores(); pair++) {
		const struct run_result *r = conduct_result(pair);
		if (r)
			histogram_merge(sum, &r->pacing[stream]);
	}
}

enum trial_flaw conduct_flaw(void)
{
	struct run_sent sum;
	if (c.link_lost)
		return TRIAL_LINK; /* first, because it may be the cause of the other flaws */
	if (c.state == CONDUCT_FAILED)
		return TRIAL_FAULT;
	conduct_sent_all(&sum);
	if (sum.unkept)
		return TRIAL_BEHIND;
	return c.state == CONDUCT_DONE && sum.frames == 0 ? TRIAL_NOTHING : TRIAL_VALID;
}
