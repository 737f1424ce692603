/*
 * net/stp: a bridge of four ports with a clock. The first octet chooses the parameters, then
 * instructions follow, each an octet (operation in the low 3 bits, port in the next 2) and arguments:
 *     0, 1  a BPDU: type, flags, root, cost, bridge, port and times of few values each, so that
 *           comparisons come out both ways
 *     2     a frame of raw octets: length, octets
 *     3     time passes, in units of 100 ms, in one step; 4: tick by tick
 *     5     the link of the port changes
 *     6     parameters of the port, or of the bridge
 *     7     the last frame sent by the port comes back, or reaches another port
 * After each the invariants of stp.h must hold.
 */
#include "tests/fuzz/input.h"

#include "net/stp/stp.h"

#define PORTS 4u
#define TENTH 100000000ull

static struct stp bridge;
static uint64_t now;
static enum stp_state told[PORTS];
static uint8_t sent[PORTS][STP_FRAME_LEN];
static unsigned burst[PORTS]; /* frames sent since the last tick */

static void on_send(void *ctx, unsigned port, const uint8_t *frame)
{
	struct stp_bpdu b;
	(void)ctx;
	assert(port < PORTS && bridge.port[port].portEnabled);
	assert(stp_bpdu_read(frame, STP_FRAME_LEN, 0, 0, &b) != CNT_drop_stp_malformed);
	/* an agreement promises that all others discard, or have agreements of their own */
	if (b.type == STP_BPDU_RST && b.agreement && b.role != STP_BPDU_ROLE_DESIGNATED)
		assert(bridge.port[port].agree);
	memcpy(sent[port], frame, STP_FRAME_LEN);
	assert(++burst[port] <= 10);
}

static void on_state(void *ctx, unsigned port, enum stp_state state)
{
	(void)ctx;
	assert(port < PORTS && state <= STP_FORWARDING);
	assert(state != STP_FORWARDING || told[port] == STP_LEARNING); /* in order */
	told[port] = state;
}

static void on_flush(void *ctx, unsigned port)
{
	(void)ctx;
	assert(port < PORTS);
}

static const struct stp_ops ops = {on_send, on_state, on_flush, NULL};

static void check(void)
{
	unsigned roots = 0;
	for (unsigned i = 0; i < PORTS; i++) {
		const struct stp_port *p = &bridge.port[i];
		struct stp_port_status s;
		stp_port_status(&bridge, i, &s);
		assert(s.state == told[i]);
		assert(p->learning == (s.state != STP_DISCARDING) && p->learning == p->learn);
		assert(p->forwarding == (s.state == STP_FORWARDING) && p->forwarding == p->forward);
		assert(!p->learn || s.role == STP_ROLE_ROOT || s.role == STP_ROLE_DESIGNATED);
		assert(!p->rcvdMsg && !p->rcvdBPDU && !p->reselect && p->selected && !p->updtInfo);
		assert(p->role == p->selectedRole && (p->role == STP_ROLE_DISABLED) == !p->portEnabled);
		assert(p->txCount <= 10);
		roots += s.role == STP_ROLE_ROOT;
		assert((s.role == STP_ROLE_ROOT) == (bridge.rootPort == (int)i));
	}
	assert(roots <= 1);
	assert(bridge.rootPriority.RootBridgeID <= bridge.BridgeIdentifier);
	assert(stp_deadline(&bridge) > now);
}

static uint64_t id_of(uint8_t choice)
{
	return choice & 8 ? bridge.BridgeIdentifier ^ (uint64_t)(choice & 3) << 60
	                  : 0x7000020000000000ull + ((uint64_t)(choice & 1) << 60) + (choice & 7);
}

static uint16_t time_of(uint8_t choice)
{
	static const uint16_t times[] = {0, 1, 255, 256, 512, 1280, 2560, 3840, 5120, 5376, 0x7fff, 0xffff};
	return times[choice % ARRAY_LEN(times)];
}

static void hear_bpdu(struct input *in, unsigned port)
{
	static const enum stp_bpdu_type types[] = {STP_BPDU_RST, STP_BPDU_RST, STP_BPDU_CONFIG,
	                                           STP_BPDU_TCN};
	const uint8_t ids = take8(in), flags = take8(in), more = take8(in), ages = take8(in);
	const struct stp_bpdu b = {
		.type = types[more & 3],
		.role = flags & 3,
		.tc = flags & 4,
		.proposal = flags & 8,
		.learning = flags & 16,
		.forwarding = flags & 32,
		.agreement = flags & 64,
		.tcAck = flags & 128,
		.priority = {.RootBridgeID = id_of(ids & 15), .DesignatedBridgeID = id_of(ids >> 4),
		             .RootPathCost = more & 64 ? 0xffffffff : (more >> 2 & 7) * 20000u,
		             .DesignatedPortID = (uint16_t)(0x8001 + (more >> 5))},
		.times = {.MessageAge = time_of(ages & 15), .MaxAge = time_of(ages >> 4),
		          .HelloTime = time_of(flags ^ ids), .ForwardDelay = time_of(more ^ ages)},
	};
	uint8_t frame[STP_FRAME_LEN];
	stp_bpdu_write(frame, bridge.port[0].params.mac, &b);
	frame[19] = flags & 1 && b.type == STP_BPDU_RST ? 3 : frame[19];
	stp_input(&bridge, port, frame, sizeof frame, now);
}

static void hear_octets(struct input *in, unsigned port)
{
	const size_t n = take8(in) % 80;
	uint8_t *frame = exactly(in->p, n < in->n ? n : in->n);
	const unsigned have = (unsigned)(n < in->n ? n : in->n);
	in->p += have;
	in->n -= have;
	stp_input(&bridge, port, frame, have, now);
	free(frame);
}

static void tick(void)
{
	memset(burst, 0, sizeof burst);
	stp_tick(&bridge, now);
}

static void wait(struct input *in, bool each)
{
	const uint64_t end = now + take8(in) * TENTH;
	while (each && stp_deadline(&bridge) <= end) {
		now = stp_deadline(&bridge);
		tick();
		check();
	}
	now = end;
	if (stp_deadline(&bridge) <= now)
		tick();
}

static void change_port(struct input *in, unsigned port)
{
	struct stp_port_params p = bridge.port[port].params;
	const uint8_t how = take8(in);
	p.priority = how & 0xf0;
	p.admin_edge = how & 1;
	p.auto_edge = how & 2;
	p.bpdu_guard = (how & 12) == 12;
	p.link_type = take8(in) % 4;
	p.path_cost = take8(in) * 1000u;
	assert((stp_port_set_params(&bridge, port, &p, now) == E_OK) == (p.link_type <= STP_LINK_SHARED));
}

static void change_bridge(struct input *in)
{
	struct stp_params p = bridge.params;
	const uint8_t how = take8(in);
	const struct stp_params before = p;
	p.priority = (uint16_t)((how & 15) << 12);
	p.version = how & 16 ? STP_VERSION_STP : STP_VERSION_RSTP;
	p.forward_delay_s = how & 32 ? 4 : 15; /* wrong with the max age */
	p.tx_hold = how & 64 ? 1 : 10;
	const bool right = stp_params_wrong(&p) == NULL;
	assert((stp_set_params(&bridge, &p, now) == E_OK) == right);
	assert(right || memcmp(&bridge.params, &before, sizeof before) == 0);
}

static void change(struct input *in, unsigned port)
{
	const uint8_t what = take8(in);
	memset(burst, 0, sizeof burst); /* a port that is enabled again begins to count anew */
	if (what & 1)
		change_port(in, port);
	else if (what & 2)
		change_bridge(in);
	else if (what & 4)
		stp_port_migrate(&bridge, port, now);
	else
		stp_port_recover(&bridge, port, now);
}

static void set_link(struct input *in, unsigned port)
{
	const uint8_t how = take8(in);
	burst[port] = 0;
	stp_port_link(&bridge, port, how & 1, how & 2 ? 1000 : how * 100u, how & 4, now);
}

static void step(struct input *in)
{
	const uint8_t op = take8(in);
	const unsigned port = op >> 3 & 3;
	switch (op & 7) {
	case 2:
		hear_octets(in, port);
		break;
	case 3:
	case 4:
		wait(in, (op & 7) == 4);
		break;
	case 5:
		set_link(in, port);
		break;
	case 6:
		change(in, port);
		break;
	case 7:
		stp_input(&bridge, op >> 5 & 3, sent[port], STP_FRAME_LEN, now);
		break;
	default:
		hear_bpdu(in, port);
	}
	check();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t mac[ETH_ALEN] = {2, 0, 0, 0, 0, 3};
	struct input in = {data, size};
	struct stp_params p = STP_PARAMS_DEFAULT;
	const uint8_t how = take8(&in);
	p.version = how & 1 ? STP_VERSION_STP : STP_VERSION_RSTP;
	p.tx_hold = 1 + (how >> 1) % 10;
	now = 10 * TENTH;
	memset(sent, 0, sizeof sent);
	memset(burst, 0, sizeof burst);
	memset(told, 0, sizeof told);
	assert(stp_init(&bridge, &p, mac, PORTS, &ops, NULL, now) == E_OK);
	check();
	while (in.n)
		step(&in);
	return 0;
}
