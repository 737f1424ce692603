/* See probe.h. */
#include "tools/pktgen/probe.h"

#include "control/host/resolve.h"
#include "dataplane/state.h"
#include "lib/fmt.h"
#include "net/eth.h"
#include "net/udp.h"
#include "tools/pktgen/conduct.h"

#define MS 1000000ull
#define TURN_NS (1 * MS)
#define ASK_AGAIN_NS (200 * MS)
#define LOST_NS (300 * MS) /* less than a run waits for frames in flight */
#define COMPARISONS 8      /* of the clocks; the one with the least error counts */
#define TICK_NS 7          /* of a card's clock, rounded up */

/* IEEE 1588-2008, 13.3 and 13.6: a Sync message, which is an event. */
#define PTP_TYPE 0x88f7
#define PTP_PORT 319
#define PTP_BYTES 44
#define PTP_VERSION 2
#define PTP_DOMAIN 127 /* 7.1: a user-defined domain, so that no device sets its clock by a probe */
#define PTP_SEQUENCE 30
#define PROBE_TTL 64

/* How far the receiver's clock is ahead of the sender's when the sender's shows at_ns. */
struct comparison {
	uint64_t at_ns;
	int64_t ahead_ns;
	uint64_t error_ns;
};

static struct {
	enum { PROBE_OFF, PROBE_ASKS, PROBE_READY, PROBE_OUT } state;
	struct plan_probe plan;
	uint8_t mac_dst[ETH_ALEN];
	uint16_t number;   /* sequence number of the last probe */
	uint64_t next_tsc; /* when to ask or to send */
	uint64_t sent_tsc;
	struct comparison before;
	struct nic_stamps stamps; /* of the probe in flight */
	struct probe_result result;
} p;

const struct probe_result *probe_result(void)
{
	return &p.result;
}

/* --- the clocks --- */

static struct comparison compare(struct nic *out, struct nic *in)
{
	struct comparison best = {.error_ns = UINT64_MAX};
	if (out == in)
		return (struct comparison){.at_ns = out->ops->time_now(out)};
	for (unsigned i = 0; i < COMPARISONS; i++) {
		uint64_t first = out->ops->time_now(out);
		uint64_t there = in->ops->time_now(in);
		uint64_t half = (out->ops->time_now(out) - first) / 2;
		if (half < best.error_ns)
			best = (struct comparison){first + half, (int64_t)(there - first - half), half};
	}
	return best;
}

static int64_t ahead_at(const struct comparison *a, const struct comparison *b, uint64_t at_ns)
{
	int64_t between = (int64_t)(b->at_ns - a->at_ns), part = (int64_t)(at_ns - a->at_ns);
	return a->ahead_ns + (between ? (b->ahead_ns - a->ahead_ns) * part / between : 0);
}

/* --- one probe --- */

static unsigned make(uint8_t *frame, unsigned room, const uint8_t mac[ETH_ALEN])
{
	static const uint8_t ptp_group[ETH_ALEN] = {0x01, 0x1b, 0x19, 0, 0, 0}; /* annex F */
	uint8_t m[PTP_BYTES] = {[1] = PTP_VERSION, [3] = PTP_BYTES, [4] = PTP_DOMAIN};
	memcpy(m + 20, mac, 3); /* clockIdentity: EUI-64 of the MAC address (7.5.2.2.2) */
	m[23] = 0xff;
	m[24] = 0xfe;
	memcpy(m + 25, mac + 3, 3);
	m[29] = 1; /* portNumber */
	be16_store(m + PTP_SEQUENCE, p.number);
	m[33] = 0x7f; /* logMessageInterval: none (table 24) */
	if (!p.plan.ip) {
		eth_header_build(frame, ptp_group, mac, PTP_TYPE);
		memcpy(frame + ETH_HLEN, m, sizeof m);
		return eth_pad(frame, ETH_HLEN + sizeof m);
	}
	const struct udp_build b = {
		.src = p.plan.src, .dst = p.plan.dst, .src_port = PTP_PORT, .dst_port = PTP_PORT,
		.ttl = PROBE_TTL, .df = true};
	eth_header_build(frame, p.mac_dst, mac, net_addr_is_ip4(&b.dst) ? ETH_TYPE_IP4 : ETH_TYPE_IP6);
	return ETH_HLEN + udp_packet_build(frame + ETH_HLEN, room - ETH_HLEN, &b, m, sizeof m);
}

static void send(struct nic *out, struct nic *in)
{
	uint8_t frame[160];
	struct nic_stamps old;
	out->ops->time_stamps(out, &old); /* discards stamps of a lost probe or another frame */
	in->ops->time_stamps(in, &old);
	p.before = compare(out, in);
	p.number++;
	unsigned len = make(frame, sizeof frame, out->mac);
	if (core_inject(0, p.plan.port, frame, len, INJECT_APP, RUN_MSG_PROBE) != E_OK)
		return; /* the message ring is full: try again in the next turn */
	p.result.sent++;
	p.sent_tsc = clock_tsc();
	p.stamps = (struct nic_stamps){0};
	p.next_tsc += clock_ticks(&self.clock, p.plan.every_ns);
	if (p.next_tsc < p.sent_tsc)
		p.next_tsc = p.sent_tsc;
	p.state = PROBE_OUT;
}

static void note(struct nic *out, struct nic *in)
{
	const struct comparison after = compare(out, in);
	int64_t ahead = ahead_at(&p.before, &after, p.stamps.sent_ns);
	int64_t latency = (int64_t)(p.stamps.received_ns - p.stamps.sent_ns) - ahead;
	uint64_t error = after.error_ns > p.before.error_ns ? after.error_ns : p.before.error_ns;
	histogram_add(&p.result.latency, latency > 0 ? (uint64_t)latency : 0);
	if (p.result.clock_error_ns < error + TICK_NS)
		p.result.clock_error_ns = error + TICK_NS;
}

static void look(struct nic *out, struct nic *in)
{
	struct nic_stamps got;
	for (unsigned i = 0; i < 2; i++) {
		struct nic *nic = i ? in : out;
		if (i && in == out)
			break;
		nic->ops->time_stamps(nic, &got);
		if (nic == out && got.sent) {
			p.stamps.sent = true;
			p.stamps.sent_ns = got.sent_ns;
		}
		if (nic == in && got.received && got.number == p.number) {
			p.stamps.received = true;
			p.stamps.received_ns = got.received_ns;
		}
	}
	if (p.stamps.sent && p.stamps.received)
		note(out, in);
	else if (clock_tsc() - p.sent_tsc < clock_ticks(&self.clock, LOST_NS))
		return;
	p.state = PROBE_READY;
}

/* --- the run --- */

static void ask(void)
{
	unsigned interface = p.plan.port; /* a port's own interface has its number */
	if (clock_tsc() < p.next_tsc)
		return;
	p.next_tsc = clock_tsc() + clock_ticks(&self.clock, ASK_AGAIN_NS);
	if (resolve_station(&p.plan.dst, &interface, p.mac_dst) == RESOLVE_KNOWN)
		p.state = PROBE_READY;
}

const char *probe_start(const struct plan *plan)
{
	static char why[120];
	p.state = PROBE_OFF;
	p.plan = plan->probe;
	p.result.sent = p.result.clock_error_ns = 0;
	histogram_clear(&p.result.latency);
	if (p.plan.every_ns == 0)
		return NULL;
	const uint8_t ports[2] = {p.plan.port, p.plan.port_in};
	for (unsigned i = 0; i < (ports[0] == ports[1] ? 1 : 2); i++) {
		struct nic *nic = core_port_clock(ports[i]);
		if (nic && nic->ops->time_start(nic) == E_OK)
			continue;
		fmt_format(why, sizeof why, "eth%u times no probes: %s", ports[i],
		           nic ? nic->error : "its card has no clock");
		return why;
	}
	p.state = p.plan.ip ? PROBE_ASKS : PROBE_READY;
	p.next_tsc = clock_tsc();
	return NULL;
}

uint64_t probe_turn(void)
{
	struct nic *out = core_port_clock(p.plan.port), *in = core_port_clock(p.plan.port_in);
	if (!conduct_busy() || !out || !in)
		p.state = PROBE_OFF;
	if (p.state == PROBE_OFF)
		return UINT64_MAX;
	if (p.state == PROBE_OUT)
		look(out, in);
	else if (p.state == PROBE_ASKS)
		ask();
	else if (conduct_state() == CONDUCT_RUN && clock_tsc() >= p.next_tsc)
		send(out, in);
	return self.now_tsc + clock_ticks(&self.clock, TURN_NS);
}
