/*
 * See spanning.h.
 *
 *     event                                    calls
 *     a link, `shutdown`                       stp_port_link
 *     a BPDU, punted by a data core            stp_input     (control/link, LINK_STP)
 *     a second has passed                      stp_tick
 *     a commit                                 stp_set_params, stp_port_set_params
 *
 *     the protocol says                        the switch does
 *     discarding, learning, forwarding         tables_allow, which waits for the data cores
 *     flush                                    forgets the stations of the port when the call has returned
 *     send                                     link_send, whatever the state of the port
 *
 * Edges. A port behind which no bridge speaks for three seconds forwards (AutoEdge, 17.25). A bridge that only
 * speaks STP and listens to us is silent as well, but it speaks when its port gets a link. So silence
 * counts only since a link came up while we were watching: the ports are `cautious` for CAUTION_NS if the
 * protocol begins anew beside links that stay up.
 *
 * Neighbours cause events as often as they like. The console reports changes once a second (report).
 */
#include "apps/switch/spanning.h"

#include "apps/switch/tables.h"
#include "control/config/running.h"
#include "control/console/log.h"
#include "control/link/bundle.h"
#include "control/link/link.h"
#include "lib/number.h"

#define CAUTION_NS 42000000000ull /* a max age, at most 40 s (table 17-1), and a hello time of 2 s */

struct spanning spanning;

static uint32_t told_mbps[NIC_PORTS_MAX]; /* the speed of each link that net/stp was told; 0: unknown */

/* Of the call of net/stp in progress. */
static uint32_t to_flush; /* ports, one bit each */

/* --- ops of net/stp --- */

static void op_send(void *ctx, unsigned port, const uint8_t *frame)
{
	(void)ctx;
	if (link_send(bundle_sender(port), frame, STP_FRAME_LEN))
		count(CNT_stp_tx);
}

static enum switch_state allowed_in(enum stp_state state)
{
	return state == STP_FORWARDING ? SWITCH_FORWARDING : state == STP_LEARNING ? SWITCH_LEARNING : SWITCH_BLOCKING;
}

static void op_state(void *ctx, unsigned port, enum stp_state state)
{
	(void)ctx;
	tables_allow(port, allowed_in(state));
}

static void op_flush(void *ctx, unsigned port)
{
	(void)ctx;
	to_flush |= 1u << port;
}

static void op_guarded(void *ctx, unsigned port)
{
	(void)ctx;
	spanning.guarded_ns[port] = core_now_ns();
	log_event(LOG_WARNING, "PORT-DISABLED", "%s: disabled by BPDU guard: a bridge is there", tables_port_name(port));
}

static const struct stp_ops ops = {op_send, op_state, op_flush, op_guarded};

/* To be called when net/stp has returned. */
static void settle(void)
{
	for (; to_flush; to_flush &= to_flush - 1)
		(void)tables_forget((unsigned)__builtin_ctz(to_flush), FDB_ANY);
	tables_settle();
	spanning_keep();
}

/* --- BPDUs --- */

static enum counter receive(unsigned port, const uint8_t *frame, unsigned len)
{
	const unsigned logical = dp_get()->logical[port];
	if (logical == DP_LOGICAL_NONE) /* of a port channel that does not use it */
		return CNT_drop_switch_blocked;
	if (!spanning.runs)
		return CNT_drop_switch_reserved;
	const enum counter fate = stp_input(&spanning.bridge, logical, frame, len, core_now_ns());
	settle();
	return fate;
}

static void take_bpdus(bool on)
{
	link_receive(LINK_STP, receive);
	for (unsigned p = 0; p < core_port_count(); p++)
		link_enable(p, LINK_STP, on);
}

/* --- events for the console --- */

/* What the console has been told. */
static struct said {
	uint64_t root_id;
	int root_port;
	uint32_t blocks, looped; /* ports, one bit each */
} said;

static struct said present(void)
{
	struct stp_bridge_status b;
	stp_bridge_status(&spanning.bridge, &b);
	struct said now = {.root_id = b.root_id, .root_port = b.root_port};
	for (unsigned n = 0; n < core_port_count(); n++) {
		struct stp_port_status p;
		stp_port_status(&spanning.bridge, n, &p);
		now.blocks |= (uint32_t)(p.role == STP_ROLE_ALTERNATE || p.role == STP_ROLE_BACKUP) << n;
		now.looped |= (uint32_t)p.looped << n;
	}
	return now;
}

static void report_root(const struct said *now)
{
	char text[SPANNING_ID_MAX];
	if (said.root_id == now->root_id && said.root_port == now->root_port)
		return;
	if (now->root_port < 0)
		log_event(LOG_NOTICE, "STP-ROOT", "spanning tree: this switch is the root");
	else
		log_event(LOG_NOTICE, "STP-ROOT", "spanning tree: the root is %s, by %s", spanning_id(text, now->root_id),
		            tables_port_name((unsigned)now->root_port));
}

static void report_port(unsigned port, const struct said *now)
{
	const uint32_t bit = 1u << port;
	if ((now->blocks ^ said.blocks) & bit)
		log_event(LOG_NOTICE, "STP-BLOCK", "spanning tree: %s %s", tables_port_name(port),
		          now->blocks & bit ? "blocks: another path leads to the root" : "does not block any more");
	if ((now->looped ^ said.looped) & bit)
		log_event(LOG_WARNING, "STP-LOOP", "spanning tree: %s %s", tables_port_name(port),
		          now->looped & bit ? "blocks: it receives what it sends" : "does not receive any more what it sends");
}

static void report(void)
{
	const struct said now = present();
	report_root(&now);
	for (unsigned p = 0; p < core_port_count(); p++)
		report_port(p, &now);
	said = now;
}

/* --- from the configuration --- */

/* The least address of the ports (7.12.5). */
static const uint8_t *bridge_address(void)
{
	const uint8_t *least = core_port_nic(0)->mac;
	for (unsigned p = 1; p < core_port_count(); p++)
		if (memcmp(core_port_nic(p)->mac, least, ETH_ALEN) < 0)
			least = core_port_nic(p)->mac;
	return least;
}

static void set_port_params(unsigned port)
{
	const struct config_stp_port *c = &config_switchport(&running.config, port)->stp;
	struct stp_port_params p = {
		.priority = c->priority,
		.path_cost = c->cost,
		.link_type = c->link_type,
		.admin_edge = c->portfast == CONFIG_PORTFAST_EDGE,
		.auto_edge = c->portfast == CONFIG_PORTFAST_AUTO && !(spanning.cautious >> port & 1),
		.bpdu_guard = c->guard,
	};
	const uint8_t *mac = core_port_nic(port)->mac;
	eth_copy(p.mac, eth_is_station(mac) ? mac : bridge_address());
	(void)stp_port_set_params(&spanning.bridge, port, &p, core_now_ns());
}

/* The port from its configuration and its link. No driver has half duplex. */
static void set_port(unsigned port)
{
	const bool up = tables_is_up(port);
	struct nic_link link;
	(void)core_port_link(port, &link);
	if (!up)
		spanning.cautious &= ~(1u << port);
	set_port_params(port);
	told_mbps[port] = link.mbps;
	stp_port_link(&spanning.bridge, port, up, link.mbps, true, core_now_ns());
}

/* A card may report its speed after its link, and without an event: the cost of the path follows it. */
static void follow_speeds(void)
{
	for (unsigned p = 0; p < core_port_count(); p++) {
		struct nic_link link;
		if (core_port_link(p, &link) && tables_is_up(p) && link.mbps != told_mbps[p])
			set_port(p);
	}
}

static bool wanted(void)
{
	return running.applied && !running.config.stp.off && core_port_count() > 0;
}

static void allow_all(void)
{
	for (unsigned p = 0; p < core_port_count(); p++)
		tables_allow(p, SWITCH_FORWARDING);
}

/* Begins anew. watched: no port has a link yet, or only since it was seen to come up. */
static void begin(bool watched)
{
	struct stp *b = &spanning.bridge;
	spanning.runs = stp_init(b, &running.config.stp.bridge, bridge_address(), core_port_count(), &ops, NULL,
	                         core_now_ns()) == E_OK;
	if (!spanning.runs) {
		log_event(LOG_ERR, "STP", "spanning tree: off: the address of a port is not a station's");
		allow_all();
		return;
	}
	said = present();
	spanning.cautious = watched ? 0 : (1u << core_port_count()) - 1;
	spanning.cautious_ns = core_now_ns() + CAUTION_NS;
	for (unsigned p = 0; p < core_port_count(); p++)
		set_port_params(p);
}

static void end(void)
{
	spanning.runs = false;
	spanning_forget();
	allow_all();
}

/* Goes on where an earlier program was. What has changed since is told by spanning_ports. */
static void resume(void)
{
	stp_resume(&spanning.bridge, &ops, NULL);
	said = present();
}

/* --- the machine's events --- */

void spanning_start(void)
{
	spanning = (struct spanning){0};
	if (!tables.shared)
		return;
	const enum spanning_kept found = spanning_resume();
	if (!wanted()) {
		spanning = (struct spanning){0};
		allow_all();
		return;
	}
	if (found == SPANNING_RESUMED)
		resume();
	else
		begin(found == SPANNING_NEW);
	take_bpdus(spanning.runs);
}

void spanning_ports(void)
{
	if (!spanning.runs || !core_ports_running())
		return;
	spanning_changed();
}

void spanning_link(unsigned port)
{
	if (!spanning.runs)
		return;
	set_port(port);
	settle();
}

void spanning_changed(void)
{
	if (!tables.shared || (!spanning.runs && !wanted()))
		return;
	if (!wanted()) {
		end();
		take_bpdus(false);
		tables_settle();
		return;
	}
	if (!spanning.runs) {
		begin(false);
		take_bpdus(spanning.runs);
	}
	if (!spanning.runs)
		return;
	(void)stp_set_params(&spanning.bridge, &running.config.stp.bridge, core_now_ns());
	for (unsigned p = 0; p < core_port_count(); p++) {
		set_port(p);
		if (config_logical_shut(&running.config, p)) /* ends BPDU guard */
			stp_port_recover(&spanning.bridge, p, core_now_ns());
	}
	settle();
}

/* --- time --- */

bool spanning_is_guarded(unsigned port)
{
	struct stp_port_status p;
	if (!spanning.runs)
		return false;
	stp_port_status(&spanning.bridge, port, &p);
	return p.guarded;
}

uint64_t spanning_recovery_ns(unsigned port)
{
	const struct config_stp *c = &running.config.stp;
	if (!c->recovers || !spanning_is_guarded(port))
		return UINT64_MAX;
	return spanning.guarded_ns[port] + (uint64_t)c->recovery_s * SECOND_NS;
}

static uint64_t recover(uint64_t now)
{
	uint64_t due = UINT64_MAX;
	for (unsigned p = 0; p < core_port_count(); p++) {
		const uint64_t at = spanning_recovery_ns(p);
		if (at > now) {
			due = u64_min(due, at);
			continue;
		}
		log_event(LOG_NOTICE, "PORT-ENABLED", "%s: enabled again after BPDU guard", tables_port_name(p));
		stp_port_recover(&spanning.bridge, p, now);
		due = now;
	}
	return due;
}

static uint64_t end_caution(uint64_t now)
{
	uint32_t ports = spanning.cautious;
	if (ports == 0 || now < spanning.cautious_ns)
		return ports ? spanning.cautious_ns : UINT64_MAX;
	for (spanning.cautious = 0; ports; ports &= ports - 1)
		set_port_params((unsigned)__builtin_ctz(ports));
	return now;
}

uint64_t spanning_timer(void)
{
	const uint64_t now = core_now_ns();
	if (!spanning.runs)
		return UINT64_MAX;
	uint64_t due = u64_min(recover(now), end_caution(now));
	const bool tick = now >= stp_deadline(&spanning.bridge);
	if (tick)
		follow_speeds();
	(void)stp_tick(&spanning.bridge, now);
	if (tick || due == now)
		settle();
	if (tick)
		report();
	due = u64_min(due, stp_deadline(&spanning.bridge));
	return due == UINT64_MAX ? due : core_tsc_after(due > now ? due - now : 0);
}
