/* See bundle.h. */
#include "control/link/bundle.h"

#include "control/config/running.h"
#include "control/console/log.h"
#include "control/forwarding/tables.h"
#include "control/link/link.h"

_Static_assert(NIC_PORTS_MAX <= LACP_PORTS_MAX && CONFIG_CHANNELS_MAX <= LACP_GROUPS_MAX,
               "LACP has all ports and port channels");

static struct lacp lacp;
static bool used; /* some port is in a port channel */
static uint32_t distributing[CONFIG_CHANNELS_MAX + 1]; /* by port channel: ports, one bit each */
static bundle_changed_fn changed;

const struct lacp *bundle_lacp(void) { return used ? &lacp : NULL; }

uint32_t bundle_ports(unsigned channel) { return channel <= CONFIG_CHANNELS_MAX ? distributing[channel] : 0; }

unsigned bundle_sender(unsigned port)
{
	const uint32_t ports = bundle_ports(config_channel_of(&running.config, port));
	return ports ? (unsigned)__builtin_ctz(ports) : port;
}

static void on_send(void *ctx, unsigned port, const uint8_t *frame, bool marker)
{
	(void)ctx;
	if (link_send(port, frame, LACP_FRAME_LEN))
		count(marker ? CNT_lacp_marker_tx : CNT_lacp_tx);
}

/* Other ports of the bundle take over before it loses one. */
static void set_distributing(unsigned channel, unsigned bundle, uint32_t ports)
{
	const uint32_t was = distributing[channel];
	distributing[channel] = ports;
	if (ports)
		core_bundle(bundle, ports);
	if (!was == !ports)
		return;
	log_event(ports ? LOG_NOTICE : LOG_WARNING, "LINK-CHANNEL", "port-channel%u: link %s", channel,
	          ports ? "up" : "down");
	changed(bundle, ports != 0);
}

static void on_state(void *ctx, unsigned port, bool collects, bool distributes)
{
	const unsigned channel = config_channel_of(&running.config, port);
	const unsigned bundle = config_logical(&running.config, port);
	const uint32_t ports = distributing[channel];
	(void)ctx;
	__atomic_store_n(&dp_get()->logical[port], (uint8_t)(collects ? bundle : DP_LOGICAL_NONE), __ATOMIC_RELAXED);
	if (distributes == (ports >> port & 1))
		return;
	log_event(LOG_NOTICE, "LINK-CHANNEL", "eth%u: %s port-channel%u", port,
	          distributes ? "sends for" : "sends no more for", channel);
	set_distributing(channel, bundle, ports ^ 1u << port);
}

static const struct lacp_ops ops = {on_send, on_state};

static enum counter input(unsigned port, const uint8_t *frame, unsigned len)
{
	return used ? lacp_input(&lacp, port, frame, len, core_now_ns()) : CNT_drop_port_down;
}

static void configure_port(unsigned port)
{
	const struct config_member *m = &running.config.member[port];
	struct lacp_port_params p = {
		.group = m->channel,
		.mode = (enum lacp_mode)m->mode,
		.fast = m->fast,
		.priority = m->has_priority ? m->priority : LACP_PRIORITY_DEFAULT};
	eth_copy(p.mac, core_port_nic(port)->mac);
	lacp_port_set_params(&lacp, port, &p, core_now_ns());
}

static uint16_t system_priority(void)
{
	const struct config *c = &running.config;
	return (uint16_t)(c->lacp_priority_line ? c->lacp_priority : LACP_PRIORITY_DEFAULT);
}

void bundle_configure(void)
{
	if (!used)
		return;
	lacp_set_priority(&lacp, system_priority(), core_now_ns());
	for (unsigned k = 1; k <= CONFIG_CHANNELS_MAX; k++)
		lacp_set_min_links(&lacp, k, running.config.min_links[k], core_now_ns());
	for (unsigned p = 0; p < core_port_count(); p++)
		configure_port(p);
}

/* Data cores take nothing from a port in a port channel until it collects. core_tx() to a bundle that is
 * configured goes on as before until LACP knows more: after a failure of the control program data cores use
 * the old tables meanwhile. */
static void start_port(struct dp_state *v, unsigned port)
{
	const struct config *c = &running.config;
	const bool member = config_channel_of(c, port);
	v->logical[port] = (uint8_t)(member ? DP_LOGICAL_NONE : port);
	v->bundled |= (uint32_t)member << port;
	if (!member || config_logical(c, port) != port)
		core_bundle(port, 0);
	link_enable(port, LINK_SLOW, member && c->member[port].mode != LACP_ON);
}

void bundle_start(struct dp_state *v, bundle_changed_fn f)
{
	const unsigned ports = core_port_count();
	changed = f;
	memset(distributing, 0, sizeof distributing);
	link_receive(LINK_SLOW, input);
	for (unsigned p = 0; p < ports; p++)
		start_port(v, p);
	core_set_promiscuous(v->bundled); /* frames to the bundle's address, that of its first port */
	used = v->bundled;
	if (!used)
		return;
	lacp_init(&lacp, core_port_nic(0)->mac, system_priority(), ports, &ops, NULL, core_now_ns());
	bundle_configure();
}

void bundle_link(unsigned port, bool up)
{
	const struct config *c = &running.config;
	const bool may = !c->interface[port].shutdown && !config_logical_shut(c, port);
	lacp_port_link(&lacp, port, up && may, true, core_now_ns());
}

uint64_t bundle_timer(void)
{
	if (!used || !forwarding.ready || !core_ports_running())
		return UINT64_MAX;
	return lacp_deadline(&lacp) <= core_now_ns() ? lacp_tick(&lacp, core_now_ns()) : lacp_deadline(&lacp);
}
