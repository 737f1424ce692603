/*
 * A data core of the generator. It judges the test frames that it receives and sends those that are
 * due. It answers ARP and ND requests for the addresses of the script's `answer` statements, and
 * punts packets for the machine itself to the control core.
 *
 * A turn first judges received frames, then sends (runtime/data.c). During a run the core never
 * sleeps, because it would wake too late for a frame that is due.
 */
#include "dataplane/ingress.h"
#include "control/control.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "tools/pktgen/frames/answer.h"
#include "tools/pktgen/control.h"
#include "tools/pktgen/measure/judge.h"
#include "tools/pktgen/pktgen.h"
#include "tools/pktgen/send.h"

/* How long a run waits until the transmit rings hold no earlier packets, and how often it looks. */
#define OPEN_NS 3000000000ull
#define OPEN_AGAIN_NS 1000000

static const struct dp_state *dp;
static const struct run_order *order; /* in published memory; NULL: there was no memory for it */
static struct run_result *result;
static struct judge judge;
static uint32_t captured; /* ports that are captured in the present run, by bit */
static uint64_t waiting_since; /* when an order began to wait for empty rings; 0: none waits */
static uint64_t open_again;    /* when to check the rings again */
static bool ready;   /* an order is prepared and waits for the other cores */
static struct pkt probe; /* waits for room in the ring; data NULL: none waits */
static bool sending;
static bool judging; /* there was an order */
static bool received; /* packets in this turn */

/* Parts of core_data_memory(), in this order: frames to send, flows of the judge, captures. */
static struct {
	size_t send, judge, capture;
} parts;

/* Captures take half of the memory that frames and judge leave; packet buffers get the rest. */
static size_t data_bytes(size_t room)
{
	const struct run_order *o = dp_get()->plugin_data;
	parts.send = align_down(send_bytes(room), CACHE_LINE);
	parts.judge = align_up(judge_bytes(NIC_PAIRS_MAX), CACHE_LINE);
	size_t used = parts.send + parts.judge;
	bool any = o && room > used && plan_captured(&o->plan);
	parts.capture = any ? align_down((room - used) / 2, CACHE_LINE) : 0;
	return used + parts.capture;
}

static void data_start(void)
{
	size_t shared, bytes;
	core_shared_area(&shared);
	assert(DP_SHARED_BYTES + sizeof *result <= shared);
	dp = dp_get();
	order = dp->plugin_data;
	result = run_result();
	memset(result, 0, sizeof *result);
	judging = false;
	waiting_since = 0;
	ready = sending = false;
	captured = 0;
	probe.data = NULL;
	send_start(core_data_memory(&bytes), parts.send);
}

/* --- orders --- */

static void state(enum run_state s)
{
	__atomic_store_n(&result->state, s, __ATOMIC_RELEASE);
}

/* The order is to be stopped, or it is gone because the control program was restarted. */
static bool is_to_stop(void)
{
	return __atomic_load_n(&order->stop, __ATOMIC_RELAXED) == result->number ||
	       __atomic_load_n(&order->number, __ATOMIC_RELAXED) != result->number;
}

/* Prepares the order in force, or tries again later if a ring is not empty. Frames for all slots of all ports may be
 * made, so this may take longer than a turn of the data path. */
static void prepare(void)
{
	unsigned stream = 0;
	const enum core_pace pace = core_pace(PACE_LONG);
	enum run_why why = send_prepare(order, result, &stream);
	(void)core_pace(pace);
	bool late = self.now_tsc - waiting_since > clock_ticks(&self.clock, OPEN_NS);
	if (why == RUN_WHY_BUSY && !late && !is_to_stop()) {
		open_again = self.now_tsc + clock_ticks(&self.clock, OPEN_AGAIN_NS);
		return;
	}
	waiting_since = 0;
	ready = why == RUN_WHY_NOT;
	core_stay_awake(ready);
	result->why = why;
	result->refused_stream = stream;
	state(ready ? RUN_READY : RUN_REFUSED);
}

/* Begins once all cores are ready. A stopped order begins too, so that it ends as usual. */
static void begin(void)
{
	if (__atomic_load_n(&order->begin_tsc, __ATOMIC_ACQUIRE) == 0 && !is_to_stop())
		return;
	send_begin();
	ready = false;
	sending = true;
	state(RUN_ON);
}

static void send_probe(void)
{
	int error = core_tx_stamped(probe.interface, &probe);
	if (error == E_AGAIN)
		return;
	if (error != E_OK)
		core_drop(&probe, CNT_originated_drop_tx);
	probe.data = NULL;
}

/* A message of the control core: a probe to be sent, or a new order. */
static void data_msg(struct pkt *p, uint32_t arg)
{
	if (arg == RUN_MSG_PROBE && !probe.data) {
		probe = *p;
		send_probe();
		return;
	}
	pkt_free(&self.pool, p);
	if (arg != RUN_MSG_ORDER || !order)
		return; /* an ICMP error for TCP: the generator's data cores have no connections */
	uint64_t number = __atomic_load_n(&order->number, __ATOMIC_ACQUIRE);
	if (number == result->number || number == 0 || ready || sending)
		return;
	const enum core_pace pace = core_pace(PACE_LONG); /* a judge's memory may be large */
	send_stop();
	memset(result, 0, sizeof *result);
	size_t bytes;
	uint8_t *memory = (uint8_t *)core_data_memory(&bytes) + parts.send;
	judge_init(&judge, &order->plan, order->cores, memory, result->judged);
	judge_begin(&judge, clock_ns(&self.clock, clock_tsc()));
	judging = true;
	result->captured.memory = memory + parts.judge;
	result->captured.bytes = parts.capture;
	captured = plan_captured(&order->plan);
	result->state = RUN_PREPARING; /* before the number: with it this core must not look idle */
	__atomic_store_n(&result->number, number, __ATOMIC_RELEASE);
	waiting_since = self.now_tsc;
	prepare();
	(void)core_pace(pace);
}

static uint64_t data_timer(void)
{
	if (probe.data)
		send_probe();
	if (waiting_since && self.now_tsc >= open_again)
		prepare();
	if (ready)
		begin();
	if (!sending)
		return ready ? self.now_tsc : waiting_since ? open_again : UINT64_MAX;
	if (is_to_stop())
		send_stop();
	/* The turn's own reading of the clock is recent enough unless frames were judged since. A
	 * reading costs as much as seven frames (70 cycles in a guest of a hypervisor). */
	uint64_t now = received ? clock_tsc() : self.now_tsc, next;
	received = false;
	if (send_turn(now, &next))
		return next;
	sending = false;
	core_stay_awake(false);
	state(RUN_SENT);
	return UINT64_MAX;
}

/* --- packets --- */

/* True: the packet was an ARP or ND request for an address of the plan, and is done with. */
static bool answered(const struct pkt *p)
{
	struct pkt reply;
	uint8_t answer[ANSWER_BYTES_MAX];
	unsigned len;
	if (!order ||
	    !(len = answer_make(&order->plan, p->interface, dp->interface[p->interface].mac,
	                        p->data, p->len, answer)))
		return false;
	bool arp = be16_load(p->data + 12) == ETH_TYPE_ARP;
	if (!pkt_alloc(&self.pool, &reply)) {
		core_drop(p, CNT_drop_no_buffer);
		return true;
	}
	memcpy(reply.data, answer, len);
	reply.len = (uint16_t)len;
	reply.flags = PKT_OWN;
	core_tx(p->interface, &reply);
	core_drop(p, arp ? CNT_delivered_arp : CNT_delivered_nd);
	return true;
}

static void host_input(struct pkt *p, const struct dp_interface *ifp)
{
	enum ingress ingress = ingress_classify(p, ifp);
	enum counter bad = CNT_NONE;
	enum punt_kind kind = PUNT_LOCAL;
	if (ingress == INGRESS_CONSUMED)
		return;
	if (ingress == INGRESS_IP4) {
		bad = ingress_host4(p, ifp);
		kind = bad == CNT_NONE ? ingress_punt_kind4(p) : kind;
	} else {
		bad = ip6_check(p->data + ETH_HLEN, p->len - ETH_HLEN);
		if (bad == CNT_NONE && !ingress_local6(dp, p))
			bad = CNT_drop_ip6_not_ours;
		kind = bad == CNT_NONE ? ingress_punt_kind6(p) : kind;
	}
	if (bad != CNT_NONE) {
		core_drop(p, bad);
		return;
	}
	pkt_csum_complete(&self.pool, p);
	core_punt(p, kind, NH_LOCAL);
}

static void capture(const struct pkt *v, unsigned n, unsigned port, uint64_t now_ns)
{
	if (__atomic_load_n(&order->over, __ATOMIC_RELAXED) == result->number)
		captured = 0;
	else
		capture_vector(&result->captured, &order->plan.capture[port], v, n, port, now_ns);
}

static void rx_vector(struct pkt *v, unsigned n, unsigned port)
{
	static struct pkt rest[PKT_VECTOR_MAX];
	const struct dp_interface *ifp = &dp->interface[port];
	const struct pkt *others = v;
	unsigned left = n;
	received = true;
	core_current_set(&v[0], n);
	if (judging) {
		uint64_t now_ns = clock_ns(&self.clock, clock_tsc());
		if (unlikely(captured >> port & 1))
			capture(v, n, port, now_ns);
		left = judge_vector(&judge, v, n, now_ns, rest);
		others = rest;
		for (unsigned i = 0, other = 0; i < n; i++) {
			if (other < left && rest[other].buf == v[i].buf)
				other++;
			else
				pkt_free(&self.pool, &v[i]);
		}
		count_n(CNT_judged, n - left);
		count_interface(port, CNT_judged, n - left);
	}
	for (unsigned i = 0; i < left; i++) {
		struct pkt p = others[i];
		core_current_set(&p, n);
		if (!answered(&p))
			host_input(&p, ifp);
	}
	core_current.data = 0;
}

const struct app pktgen_app = {
	.control = &control_plane_hooks,
	.plugin = &pktgen_plugin,
	.data_bytes = data_bytes,
	.data_start = data_start,
	.rx_vector = rx_vector,
	.data_timer = data_timer,
	.data_msg = data_msg,
};
