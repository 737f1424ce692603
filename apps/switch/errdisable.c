/* See errdisable.h. */
#include "apps/switch/errdisable.h"

#include "apps/switch/spanning.h"
#include "apps/switch/tables.h"
#include "control/config/running.h"
#include "control/console/log.h"
#include "lib/number.h"
#include "runtime/sealed.h"

/* Outlives the control program, and a restart of the ports. */
static struct disabled {
	uint64_t ports;                   /* disabled ones, one bit each */
	uint64_t since_ns[NIC_PORTS_MAX]; /* valid for these */
} disabled_now;
/* One version: by an older one a port would be disabled without a reason. */
static struct sealed kept = SEALED(CORE_PERSIST_ERRDISABLE, 1, struct disabled);
static uint64_t seen[NIC_PORTS_MAX][SWITCH_STORMS]; /* drops at the last look */
static uint64_t look_ns; /* when to look next; 0: no port has the action */

/* --- state that outlives the program --- */

void errdisable_room(void)
{
	(void)sealed_take(&kept); /* without memory the state does not outlive the program */
}

uint32_t errdisable_ports(void) { return (uint32_t)disabled_now.ports; }

static bool is_disabled(unsigned port) { return errdisable_ports() >> port & 1; }

static void note(unsigned port, bool disabled)
{
	disabled_now.ports = (disabled_now.ports & ~(1ull << port)) | (uint64_t)disabled << port;
	disabled_now.since_ns[port] = core_now_ns();
	struct disabled *next = sealed_begin(&kept);
	if (!next)
		return;
	*next = disabled_now;
	sealed_end(&kept);
}

/* --- storms --- */

/* Has the port the action, and is it in use? */
static bool has_action(unsigned port)
{
	const struct config *c = &running.config;
	return running.applied && tables_is_logical(port) && !config_logical_shut(c, port) &&
	       config_switchport(c, port)->storm_shutdown;
}

void errdisable_drops(unsigned port, uint64_t drops[SWITCH_STORMS])
{
	static const enum counter fate[SWITCH_STORMS] = {
		[SWITCH_STORM_BROADCAST] = CNT_drop_switch_storm_broadcast,
		[SWITCH_STORM_MULTICAST] = CNT_drop_switch_storm_multicast,
		[SWITCH_STORM_UNICAST] = CNT_drop_switch_storm_unicast,
	};
	uint64_t fates[CNT_FATES];
	memset(drops, 0, SWITCH_STORMS * sizeof *drops);
	for (unsigned p = 0; p < core_port_count(); p++) {
		if (config_logical(&running.config, p) != port)
			continue;
		core_fates(p, fates);
		for (unsigned k = 0; k < SWITCH_STORMS; k++)
			drops[k] += fates[fate[k]];
	}
}

/* The class that has been dropped since the last look; SWITCH_STORMS: none. Drops from now on count for the next. */
static unsigned storm_of(unsigned port)
{
	uint64_t drops[SWITCH_STORMS];
	unsigned class = SWITCH_STORMS;
	errdisable_drops(port, drops);
	for (unsigned k = SWITCH_STORMS; k-- > 0;)
		if (drops[k] > seen[port][k])
			class = k;
	memcpy(seen[port], drops, sizeof drops);
	return class;
}

/* Drops of before do not count. */
static void watch_from_now(void)
{
	bool any = false;
	for (unsigned p = 0; p < core_port_count(); p++) {
		(void)storm_of(p);
		any |= has_action(p);
	}
	look_ns = any ? (core_now_ns() / SECOND_NS + 1) * SECOND_NS : 0;
}

static void set_port(unsigned port, bool disabled)
{
	tables_disable(port, disabled);
	spanning_link(port);
	tables_settle();
}

static void disable(unsigned port, unsigned class)
{
	static const char *const words[SWITCH_STORMS] = {"broadcast", "multicast", "unknown unicast"};
	note(port, true);
	log_event(LOG_WARNING, "PORT-DISABLED", "%s: disabled by storm control: more than %u %s frames in a second",
	          tables_port_name(port),
	            config_switchport(&running.config, port)->storm[class], words[class]);
	set_port(port, true);
}

static void enable(unsigned port)
{
	note(port, false);
	(void)storm_of(port);
	set_port(port, false);
}

static void look(void)
{
	for (unsigned p = 0; p < core_port_count(); p++) {
		const unsigned class = storm_of(p);
		if (class < SWITCH_STORMS && has_action(p) && !is_disabled(p))
			disable(p, class);
	}
}

/* --- recovery --- */

uint64_t errdisable_recovery_ns(unsigned port)
{
	const struct config_stp *c = &running.config.stp;
	return c->storm_recovers ? disabled_now.since_ns[port] + (uint64_t)c->recovery_s * SECOND_NS : UINT64_MAX;
}

/* Returns when the next port is enabled. */
static uint64_t recover(uint64_t now)
{
	uint64_t due = UINT64_MAX;
	for (unsigned p = 0; p < core_port_count(); p++) {
		const uint64_t at = is_disabled(p) ? errdisable_recovery_ns(p) : UINT64_MAX;
		if (at > now) {
			due = u64_min(due, at);
			continue;
		}
		log_event(LOG_NOTICE, "PORT-ENABLED", "%s: enabled again after storm control", tables_port_name(p));
		enable(p);
	}
	return due;
}

/* --- the machine's events --- */

void errdisable_start(void)
{
	look_ns = 0;
	const struct disabled *left = sealed_newest(&kept);
	if (left)
		disabled_now = *left;
	if (disabled_now.ports >> core_port_count())
		disabled_now = (struct disabled){0};
	if (!tables.shared)
		return;
	for (unsigned p = 0; p < core_port_count(); p++) {
		if (is_disabled(p) && has_action(p))
			tables_disable(p, true);
		else if (is_disabled(p))
			note(p, false);
	}
	watch_from_now();
}

void errdisable_changed(void)
{
	if (!tables.shared)
		return;
	for (unsigned p = 0; p < core_port_count(); p++)
		if (is_disabled(p) && !has_action(p))
			enable(p);
	watch_from_now();
}

uint64_t errdisable_timer(void)
{
	const uint64_t now = core_now_ns();
	if (!look_ns)
		return UINT64_MAX;
	uint64_t due = recover(now);
	if (now >= look_ns) {
		look();
		look_ns = (now / SECOND_NS + 1) * SECOND_NS;
	}
	due = u64_min(due, look_ns);
	return core_tsc_after(due > now ? due - now : 0);
}
