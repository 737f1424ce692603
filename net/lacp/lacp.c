/* The calls of lacp.h. Each changes its variables and then lets all machines run (run_all). */
#include "net/lacp/inside.h"

#include "lib/assert.h"

/* Runs all machines until none has a transition, then transmits: one PDU has the result of all. Selection
 * changes Selected only after a change elsewhere, and Mux follows it, so passes end. */
static void run_all(struct lacp *l, uint64_t now_ns)
{
	bool any;
	l->now_ns = u64_max(l->now_ns, now_ns);
	do {
		any = false;
		FOR_EACH_PORT(l, p)
			any |= lacp_receive_run(l, p);
		FOR_EACH_PORT(l, p)
			any |= lacp_mux_run(l, p); /* an unselected port is detached before it is selected again */
		any |= lacp_select_run(l);
		FOR_EACH_PORT(l, p) {
			any |= lacp_mux_run(l, p);
			any |= lacp_periodic_run(l, p);
		}
	} while (any);
	FOR_EACH_PORT(l, p) {
		lacp_churn_run(l, p);
		lacp_transmit_run(l, p);
	}
}

static void set_enabled(struct lacp_port *p)
{
	p->port_enabled = p->linkUp && p->params.group;
	p->LACP_Enabled = p->params.group && !is_on(p) && p->fullDuplex; /* 6.4.8: not on a half-duplex link */
	end_set(&p->actor, LACP_AGGREGATION, p->fullDuplex);
}

static void set_actor(const struct lacp *l, struct lacp_port *p)
{
	p->actor.system_priority = l->system_priority;
	eth_copy(p->actor.system, l->system);
	p->actor.key = p->params.group;
	p->actor.port_priority = p->params.priority;
	p->actor.port = (uint16_t)(p->number + 1);
	end_set(&p->actor, LACP_ACTIVITY, p->params.mode == LACP_ACTIVE);
	end_set(&p->actor, LACP_TIMEOUT, p->params.fast);
	set_enabled(p);
}

static void begin(struct lacp *l, struct lacp_port *p)
{
	lacp_mux_begin(p);
	if (p->told_collecting || p->told_distributing)
		l->ops->state(l->ctx, p->number, false, false);
	p->told_collecting = p->told_distributing = false;
	lacp_receive_begin(p);
	lacp_churn_begin(p);
	lacp_transmit_begin(p);
}

void lacp_init(struct lacp *l, const uint8_t *system, uint16_t system_priority, unsigned ports,
               const struct lacp_ops *ops, void *ctx, uint64_t now_ns)
{
	assert(ports <= LACP_PORTS_MAX && eth_is_station(system));
	*l = (struct lacp){.ops = ops, .ctx = ctx, .ports = ports, .now_ns = now_ns,
	                   .system_priority = system_priority};
	eth_copy(l->system, system);
	for (unsigned i = 0; i < ports; i++) {
		struct lacp_port *p = &l->port[i];
		p->number = (uint8_t)i;
		p->params.priority = LACP_PRIORITY_DEFAULT;
		p->fullDuplex = true;
		set_actor(l, p);
		begin(l, p);
	}
}

void lacp_set_priority(struct lacp *l, uint16_t system_priority, uint64_t now_ns)
{
	if (l->system_priority == system_priority)
		return;
	l->system_priority = system_priority;
	FOR_EACH_PORT(l, p) {
		set_actor(l, p);
		p->NTT = true;
	}
	run_all(l, now_ns);
}

void lacp_set_min_links(struct lacp *l, unsigned group, unsigned min_links, uint64_t now_ns)
{
	assert(group >= 1 && group <= LACP_GROUPS_MAX);
	l->min_links[group] = (uint8_t)u32_min(min_links, LACP_PORTS_MAX);
	run_all(l, now_ns);
}

void lacp_port_set_params(struct lacp *l, unsigned port, const struct lacp_port_params *params, uint64_t now_ns)
{
	assert(port < l->ports && params->group <= LACP_GROUPS_MAX);
	struct lacp_port *p = &l->port[port];
	const struct lacp_port_params was = p->params;
	p->params = *params;
	set_actor(l, p);
	if (was.group != params->group || (was.mode == LACP_ON) != (params->mode == LACP_ON))
		begin(l, p);
	else if (was.mode != params->mode || was.fast != params->fast || was.priority != params->priority)
		p->NTT = true;
	run_all(l, now_ns);
}

void lacp_port_link(struct lacp *l, unsigned port, bool up, bool full_duplex, uint64_t now_ns)
{
	assert(port < l->ports);
	struct lacp_port *p = &l->port[port];
	const bool was_enabled = p->LACP_Enabled;
	p->linkUp = up;
	p->fullDuplex = full_duplex;
	set_enabled(p);
	if (p->LACP_Enabled != was_enabled)
		begin(l, p);
	run_all(l, now_ns);
}

/* port_moved (6.4.8): the port at the other end of a link that is down has been heard on port p. What is known
 * of it there is forgotten. */
static void forget_moved(struct lacp *l, const struct lacp_port *p, const struct lacp_end *heard)
{
	FOR_EACH_PORT(l, q)
		if (q != p && q->receiveState == LACP_RX_PORT_DISABLED && q->partner.port == heard->port &&
		    eth_equal(q->partner.system, heard->system))
			lacp_receive_begin(q);
}

enum counter lacp_input(struct lacp *l, unsigned port, const uint8_t *frame, unsigned n, uint64_t now_ns)
{
	assert(port < l->ports);
	struct lacp_port *p = &l->port[port];
	struct lacp_pdu pdu;
	l->now_ns = u64_max(l->now_ns, now_ns);
	enum counter fate = lacp_pdu_read(frame, n, &pdu);
	if (fate == CNT_NONE && !(p->port_enabled && p->LACP_Enabled))
		fate = CNT_drop_port_down;
	if (fate == CNT_NONE && pdu.kind == LACP_KIND_MARKER && !lacp_transmit_marker(l, p, frame))
		fate = CNT_drop_lacp_marker_rate;
	if (fate != CNT_NONE) {
		p->counters.rx_dropped++;
		return fate;
	}
	p->counters.rx_lacp += pdu.kind == LACP_KIND_LACPDU;
	p->counters.rx_marker += pdu.kind != LACP_KIND_LACPDU;
	if (pdu.kind != LACP_KIND_LACPDU) /* a response is taken and asks for nothing */
		return CNT_delivered_lacp;
	p->heard_ns = u64_max(l->now_ns, 1);
	forget_moved(l, p, &pdu.actor);
	lacp_receive_pdu(l, p, &pdu);
	run_all(l, now_ns);
	return CNT_delivered_lacp;
}

uint64_t lacp_tick(struct lacp *l, uint64_t now_ns)
{
	run_all(l, now_ns);
	return lacp_deadline(l);
}

uint64_t lacp_deadline(const struct lacp *l)
{
	uint64_t due = LACP_NEVER;
	for (unsigned i = 0; i < l->ports; i++) {
		const struct lacp_port *p = &l->port[i];
		due = u64_min(due, u64_min(p->current_while, p->periodic));
		due = u64_min(due, u64_min(p->wait_while, u64_min(p->actor_churn_timer, p->partner_churn_timer)));
		if (p->NTT)
			due = u64_min(due, lacp_transmit_allowed(p));
	}
	return due;
}

void lacp_port_status(const struct lacp *l, unsigned port, struct lacp_port_status *out)
{
	assert(port < l->ports);
	const struct lacp_port *p = &l->port[port];
	*out = (struct lacp_port_status){
		.group = p->params.group,
		.mode = p->params.mode,
		.enabled = p->port_enabled,
		.individual = !is_on(p) && lacp_select_is_individual(p),
		.looped = lacp_select_is_looped(p),
		.selected = p->Selected,
		.receive = p->receiveState,
		.mux = p->muxState,
		.actor_churn = p->actorChurn,
		.partner_churn = p->partnerChurn,
		.actor = p->actor,
		.partner = p->partner,
		.heard_ns = p->heard_ns,
		.counters = p->counters,
	};
}

const char *lacp_receive_name(enum lacp_receive state)
{
	static const char *const names[] = {"port-disabled", "expired", "lacp-disabled", "defaulted", "current"};
	return state < ARRAY_LEN(names) ? names[state] : "unknown";
}

const char *lacp_mux_name(enum lacp_mux state)
{
	static const char *const names[] = {"detached", "waiting", "attached", "collecting", "distributing"};
	return state < ARRAY_LEN(names) ? names[state] : "unknown";
}
