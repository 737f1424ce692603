/* The bridge: order of the machines, calls from outside. See stp.h. */
#include "net/stp/stp.h"

#include "lib/assert.h"
#include "net/stp/inside.h"

#define PASSES_MAX 1000u
#define NEVER UINT64_MAX

/* --- order of execution --- */

static bool link_machines_run(struct stp *b, struct stp_port *p)
{
	bool moved = false;
	while (receive_run(p) || migration_run(b, p) || detection_run(p) || information_run(b, p))
		moved = true;
	return moved;
}

static bool pass(struct stp *b)
{
	bool moved = false;
	FOR_EACH_PORT(b, p)
		moved |= link_machines_run(b, p);
	moved |= selection_run(b);
	FOR_EACH_PORT(b, p)
		moved |= roles_run(b, p);
	FOR_EACH_PORT(b, p) /* no port begins to forward before others have stopped */
		if (!p->learn)
			moved |= state_run(b, p);
	FOR_EACH_PORT(b, p) {
		moved |= state_run(b, p);
		moved |= topology_run(b, p);
	}
	return moved;
}

/* 14.8.1.1.3: the bridge has a topology change while tcWhile of any port runs. */
static void note_topology_change(struct stp *b)
{
	bool active = false;
	FOR_EACH_PORT(b, p)
		active |= p->tcWhile != 0;
	if (active && !b->tcActive) {
		b->tcCount++;
		b->tcSince_ns = b->now_ns;
	}
	b->tcActive = active;
}

static void machines_run(struct stp *b)
{
	for (unsigned passes = 0; pass(b); passes++)
		assert(passes < PASSES_MAX);
	note_topology_change(b);
	FOR_EACH_PORT(b, p)
		transmit_run(b, p);
}

static void machines_begin(struct stp *b)
{
	FOR_EACH_PORT(b, p) {
		p->designatedTimes = p->portTimes = b->BridgeTimes;
		p->updtInfo = p->disputed = p->tcProp = p->rcvdTc = p->rcvdTcn = p->rcvdTcAck = false;
		p->loopedWhile = 0;
		receive_begin(p);
		migration_begin(b, p);
		detection_begin(p);
		information_begin(p);
	}
	selection_begin(b);
	FOR_EACH_PORT(b, p) {
		roles_begin(p);
		state_begin(b, p);
		topology_begin(b, p);
		transmit_begin(p);
	}
	machines_run(b);
}

/* --- what is derived --- */

static bool is_point_to_point(const struct stp_port *p)
{
	return p->params.link_type == STP_LINK_AUTO ? p->fullDuplex
	                                            : p->params.link_type == STP_LINK_POINT_TO_POINT;
}

/* The identifiers and costs that vectors are made of have changed (17.13). */
static void reselect_all(struct stp *b)
{
	FOR_EACH_PORT(b, p) {
		p->reselect = true;
		p->selected = false;
	}
}

/* The port from its parameters and link: portEnabled, portId, PortPathCost, operPointToPointMAC. */
static void port_derive(struct stp *b, struct stp_port *p)
{
	const uint16_t id = (uint16_t)(p->params.priority << 8 | (p->number + 1));
	const uint32_t cost = p->params.path_cost ? p->params.path_cost : stp_path_cost(p->speedMbps);
	if (id != p->portId || cost != p->PortPathCost)
		reselect_all(b);
	p->portId = id;
	p->PortPathCost = cost;
	p->operPointToPointMAC = is_point_to_point(p);
	p->portEnabled = p->linkUp && !p->guarded;
}

static void bridge_derive(struct stp *b)
{
	const struct stp_params *q = &b->params;
	b->BridgeIdentifier = (uint64_t)q->priority << 48 | STP_BRIDGE_ADDRESS(b->BridgeIdentifier);
	b->BridgeTimes = (struct stp_times){
		.MaxAge = (uint16_t)(q->max_age_s * STP_TIME_UNIT),
		.HelloTime = (uint16_t)(q->hello_s * STP_TIME_UNIT),
		.ForwardDelay = (uint16_t)(q->forward_delay_s * STP_TIME_UNIT),
	};
	reselect_all(b);
}

/* Starts or stops the ticks: they are needed while a port is enabled. */
static void schedule(struct stp *b)
{
	bool enabled = false;
	FOR_EACH_PORT(b, p)
		enabled |= p->portEnabled;
	if (!enabled)
		b->tick_ns = NEVER;
	else if (b->tick_ns == NEVER)
		b->tick_ns = b->now_ns + STP_TICK_NS;
}

static void port_changed(struct stp *b, struct stp_port *p, uint64_t now_ns)
{
	b->now_ns = now_ns;
	port_derive(b, p);
	schedule(b);
	machines_run(b);
}

static struct stp_port *port_at(struct stp *b, unsigned port)
{
	assert(port < b->ports);
	return &b->port[port];
}

/* --- parameters --- */

int stp_init(struct stp *b, const struct stp_params *params, const uint8_t *address, unsigned ports,
             const struct stp_ops *ops, void *ctx, uint64_t now_ns)
{
	if (stp_params_wrong(params) || ports == 0 || ports > STP_PORTS_MAX || !eth_is_station(address))
		return E_INVAL;
	memset(b, 0, sizeof *b);
	b->params = *params;
	b->ops = ops;
	b->ctx = ctx;
	b->ports = ports;
	b->now_ns = now_ns;
	b->tick_ns = NEVER;
	b->rootPort = b->tcPort = -1;
	b->BridgeIdentifier = (uint64_t)be16_load(address) << 32 | be32_load(address + 2);
	bridge_derive(b);
	for (unsigned i = 0; i < ports; i++) {
		struct stp_port *p = &b->port[i];
		p->number = (uint8_t)i;
		p->params = STP_PORT_PARAMS_DEFAULT;
		eth_copy(p->params.mac, address);
		port_derive(b, p);
	}
	machines_begin(b);
	return E_OK;
}

void stp_resume(struct stp *b, const struct stp_ops *ops, void *ctx)
{
	b->ops = ops;
	b->ctx = ctx;
	FOR_EACH_PORT(b, p)
		ops->state(ctx, p->number, p->portState);
}

int stp_set_params(struct stp *b, const struct stp_params *params, uint64_t now_ns)
{
	if (stp_params_wrong(params))
		return E_INVAL;
	const bool restart = params->version != b->params.version;
	if (params->tx_hold != b->params.tx_hold)
		FOR_EACH_PORT(b, p)
			p->txCount = 0; /* 17.14 */
	b->now_ns = now_ns;
	b->params = *params;
	bridge_derive(b);
	if (restart)
		machines_begin(b);
	else
		machines_run(b);
	return E_OK;
}

int stp_port_set_params(struct stp *b, unsigned port, const struct stp_port_params *params,
                        uint64_t now_ns)
{
	struct stp_port *p = port_at(b, port);
	if (stp_port_params_wrong(params))
		return E_INVAL;
	p->params = *params;
	p->guarded = p->guarded && params->bpdu_guard;
	port_changed(b, p, now_ns);
	return E_OK;
}

/* --- events --- */

void stp_port_link(struct stp *b, unsigned port, bool up, uint32_t speed_mbps, bool full_duplex,
                   uint64_t now_ns)
{
	struct stp_port *p = port_at(b, port);
	p->linkUp = up;
	p->speedMbps = speed_mbps;
	p->fullDuplex = full_duplex;
	if (!up)
		p->loopedWhile = 0;
	port_changed(b, p, now_ns);
}

void stp_port_migrate(struct stp *b, unsigned port, uint64_t now_ns)
{
	struct stp_port *p = port_at(b, port);
	p->mcheck = rstpVersion(b);
	port_changed(b, p, now_ns);
}

void stp_port_recover(struct stp *b, unsigned port, uint64_t now_ns)
{
	struct stp_port *p = port_at(b, port);
	p->guarded = false;
	port_changed(b, p, now_ns);
}

static enum counter guard(struct stp *b, struct stp_port *p, uint64_t now_ns)
{
	p->guarded = true;
	port_changed(b, p, now_ns);
	if (b->ops->guarded)
		b->ops->guarded(b->ctx, p->number);
	return CNT_drop_stp_guard;
}

/* A BPDU of our own: the port is looped, and no edge. */
static void looped(struct stp *b, struct stp_port *p)
{
	p->loopedWhile = (uint16_t)(3u * HelloTime(p));
	p->edgeDelayWhile = MIGRATE_TIME;
	p->operEdge = false;
	machines_run(b);
}

/* 17.21.13: the hello time of a message is at least 1 s. Table 17-1: at most 10 s. */
static void limit_times(struct stp_times *t)
{
	t->HelloTime = (uint16_t)u32_min(u32_max(t->HelloTime, STP_TIME_UNIT), 10 * STP_TIME_UNIT);
}

static void take(struct stp *b, struct stp_port *p)
{
	p->counters.rx_config += p->msg.type == STP_BPDU_CONFIG;
	p->counters.rx_rst += p->msg.type == STP_BPDU_RST;
	p->counters.rx_tcn += p->msg.type == STP_BPDU_TCN;
	limit_times(&p->msg.times);
	p->msg.priority.BridgePortID = p->portId;
	p->rcvdBPDU = true;
	machines_run(b);
}

enum counter stp_input(struct stp *b, unsigned port, const uint8_t *frame, unsigned n, uint64_t now_ns)
{
	struct stp_port *p = port_at(b, port);
	if (!p->portEnabled)
		return CNT_drop_port_down;
	b->now_ns = now_ns;
	struct stp_bpdu message;
	const enum counter fate = stp_bpdu_read(frame, n, b->BridgeIdentifier, p->portId, &message);
	if (fate != CNT_NONE) {
		p->counters.rx_dropped++;
		if (fate == CNT_drop_stp_own)
			looped(b, p);
		return fate;
	}
	if (p->params.bpdu_guard) {
		p->counters.rx_dropped++;
		return guard(b, p, now_ns);
	}
	p->msg = message;
	take(b, p);
	return CNT_delivered_stp;
}

uint64_t stp_tick(struct stp *b, uint64_t now_ns)
{
	b->now_ns = now_ns;
	if (now_ns < b->tick_ns)
		return b->tick_ns;
	b->tick_ns += STP_TICK_NS;
	if (b->tick_ns <= now_ns)
		b->tick_ns = now_ns + STP_TICK_NS; /* a late tick counts once: stp.h */
	FOR_EACH_PORT(b, p) {
		p->tick = true;
		timers_run(p);
	}
	machines_run(b);
	return b->tick_ns;
}

uint64_t stp_deadline(const struct stp *b)
{
	return b->tick_ns;
}
