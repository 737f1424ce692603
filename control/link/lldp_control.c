/* See lldp_control.h. */
#include "control/link/lldp_control.h"

#include "control/config/running.h"
#include "control/console/log.h"
#include "control/link/link.h"
#include "dataplane/state.h"
#include "dataplane/to_engine.h"
#include "net/routing.h"

_Static_assert(LLDP_PORTS_MAX >= NIC_PORTS_MAX, "the agent has all ports");

static struct lldp *agent; /* behind it the table of neighbours; NULL: no memory has been taken yet */
static bool on;

bool lldp_control_room(const struct config *c)
{
	if (agent || !c->lldp.run)
		return true;
	agent = core_private_alloc(sizeof *agent + lldp_table_bytes(core_port_count()));
	return agent != NULL;
}

const struct lldp *lldp_control_agent(void)
{
	return on ? agent : NULL;
}

void lldp_control_clear_neighbours(void)
{
	if (on)
		lldp_clear_neighbours(agent);
}

void lldp_control_clear_counters(void)
{
	if (on)
		lldp_clear_counters(agent);
}

bool lldp_control_is_engines(unsigned port)
{
	return to_engine_protocols(port) >> ROUTING_LLDP & 1;
}

static void describe(void *ctx, unsigned port, struct lldp_pdu *out)
{
	(void)ctx;
	lldp_describe(port, out);
}

static void send(void *ctx, unsigned port, uint8_t *frame, unsigned len)
{
	(void)ctx;
	eth_copy(frame + ETH_ALEN, dp_get()->interface[port].mac); /* 802.1AB 7.2 */
	count(link_send(port, frame, len) ? CNT_lldp_tx : CNT_originated_drop_tx);
}

static const struct lldp_ops ops = {describe, send};

static enum counter receive(unsigned port, const uint8_t *frame, unsigned len)
{
	return on ? lldp_input(agent, port, frame, len, core_now_ns()) : CNT_drop_lldp_off;
}

static struct lldp_params params(void)
{
	return (struct lldp_params){config_lldp_timer_s(&running.config), config_lldp_hold_s(&running.config)};
}

/* A port that is shut down, or that no data core serves, has no link. */
static bool has_link(unsigned port)
{
	return core_ports_running() && dp_link_is_up(dp_get(), port) && !running.config.interface[port].shutdown;
}

/* Turns the directions of each port on and off, all off if `run` is false. */
static void set_ports(bool run)
{
	for (unsigned port = 0; port < core_port_count(); port++) {
		const struct config_interface *i = &running.config.interface[port];
		const bool may = run && !lldp_control_is_engines(port);
		const bool in = may && !i->lldp_no_receive;
		link_enable(port, LINK_LLDP, in);
		lldp_port_admin(agent, port, may && !i->lldp_no_transmit, in, core_now_ns());
	}
}

static void begin(void)
{
	const struct lldp_params p = params();
	lldp_init(agent, (struct lldp_neighbour *)(agent + 1), core_port_count(), &p, &ops, NULL);
	on = true;
}

void lldp_control_stop(void)
{
	on = false;
}

void lldp_control_start(void)
{
	link_receive(LINK_LLDP, receive);
	if (!running.config.lldp.run)
		return;
	if (!lldp_control_room(&running.config)) {
		log_event(LOG_ERR, "SYSTEM-MEMORY", "not enough memory for LLDP: there is none");
		return;
	}
	begin();
	set_ports(true);
}

void lldp_control_changed(void)
{
	const bool run = running.config.lldp.run && agent; /* lldp_control_room was true, if a commit runs it */
	const struct lldp_params p = params();
	if (run && !on)
		begin();
	if (!on)
		return;
	lldp_set_params(agent, &p, core_now_ns());
	set_ports(run); /* ports that end tell their neighbours */
	for (unsigned port = 0; run && port < core_port_count(); port++)
		lldp_port_changed(agent, port, core_now_ns());
	on = run;
}

uint64_t lldp_control_timer(void)
{
	uint64_t aged = 0;
	if (!on)
		return UINT64_MAX;
	for (unsigned port = 0; port < core_port_count(); port++)
		lldp_port_link(agent, port, has_link(port), core_now_ns());
	lldp_tick(agent, core_now_ns(), &aged);
	count_n(CNT_lldp_aged, aged);
	return lldp_deadline(agent);
}
