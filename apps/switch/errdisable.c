/* See errdisable.h. */
#include "apps/switch/errdisable.h"

#include "apps/switch/spanning.h"
#include "apps/switch/tables.h"
#include "control/config/running.h"
#include "control/console/serial.h"
#include "lib/number.h"
#include "lib/siphash.h"

/* Outlives the control program and a restart of the ports. */
struct disabled {
	uint64_t seal;                    /* of all that follows */
	uint64_t ports;                   /* disabled ones, one bit each */
	uint64_t since_ns[NIC_PORTS_MAX]; /* valid for these */
};

static struct disabled without_memory; /* does not outlive the program */
static struct disabled *kept = &without_memory;
static uint64_t seen[NIC_PORTS_MAX][SWITCH_STORMS]; /* drops at the last look */
static uint64_t look_ns; /* when to look next; 0: no port has the action */

/* --- state that outlives the program --- */

static uint64_t seal_of(const struct disabled *d)
{
	static const struct siphash_key key = {0x6572726469736162, 0x6c656420706f7274};
	return siphash24(&key, &d->ports, sizeof *d - offsetof(struct disabled, ports));
}

static void forget_all(void)
{
	memset(kept, 0, sizeof *kept);
	kept->seal = seal_of(kept);
}

void errdisable_room(void)
{
	size_t bytes = 0;
	struct disabled *d = core_persist_find(CORE_PERSIST_ERRDISABLE, &bytes);
	if (d && bytes >= sizeof *d) {
		kept = d;
		return;
	}
	d = core_persist_alloc(CORE_PERSIST_ERRDISABLE, sizeof *d);
	kept = d ? d : &without_memory;
}

uint32_t errdisable_ports(void) { return (uint32_t)kept->ports; }

static bool is_disabled(unsigned port) { return errdisable_ports() >> port & 1; }

static void note(unsigned port, bool disabled)
{
	kept->ports = (kept->ports & ~(1ull << port)) | (uint64_t)disabled << port;
	kept->since_ns[port] = core_now_ns();
	kept->seal = seal_of(kept);
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
	console_log("%s: disabled by storm control: more than %u %s frames in a second", tables_port_name(port),
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
	return c->storm_recovers ? kept->since_ns[port] + (uint64_t)c->recovery_s * SECOND_NS : UINT64_MAX;
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
		console_log("%s: enabled again after storm control", tables_port_name(p));
		enable(p);
	}
	return due;
}

/* --- the machine's events --- */

void errdisable_start(void)
{
	look_ns = 0;
	if (kept->seal != seal_of(kept) || kept->ports >> core_port_count()) /* also if it is new memory */
		forget_all();
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
