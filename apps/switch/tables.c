/* See tables.h. */
#include "apps/switch/tables.h"

#include "apps/switch/monitor.h"
#include "control/config/running.h"
#include "control/forwarding/interfaces.h"
#include "lib/mem.h"
#include "lib/number.h"

_Static_assert((unsigned)SWITCH_STORMS == CONFIG_STORMS, "the configuration has the same classes");

#define MEMORY_SHARE 8 /* of published and of private memory, at most, for the forwarding database */
#define ENTRIES_LEAST 64
#define MARK_SHIFT 30      /* a mark is a second or so */
#define AGE_MARKS_MAX 16384 /* or more, if the ageing time would be more marks */

struct switch_tables tables;
static void *own;             /* private part, never given back */
static uint32_t own_entries;  /* that it is for */

static bool lowered; /* data cores may still do with frames of some port what is not allowed any more */

/* --- memory --- */

static uint32_t entries_for(size_t shared, size_t private)
{
	uint32_t n = FDB_ENTRIES_MAX;
	while (n >= ENTRIES_LEAST && (fdb_shared_bytes(n) > shared || fdb_private_bytes(n) > private))
		n -= n / 8 + 1;
	return n >= ENTRIES_LEAST ? n : 0;
}

size_t tables_more(void)
{
	if (!own) {
		own_entries = entries_for(core_published_most() / MEMORY_SHARE, core_private_left() / MEMORY_SHARE);
		own = own_entries ? core_private_alloc(fdb_private_bytes(own_entries)) : NULL;
	}
	return own ? fdb_shared_bytes(own_entries) : 0;
}

/* --- from the configuration --- */

uint16_t tables_mark(void) { return (uint16_t)(core_now_ns() >> tables.shared->mark_shift); }

static unsigned mark_shift(void)
{
	unsigned shift = MARK_SHIFT;
	while ((uint64_t)running.config.aging_s * SECOND_NS >> shift > AGE_MARKS_MAX)
		shift++;
	return shift;
}

uint16_t tables_age(void)
{
	const uint64_t ns = (uint64_t)running.config.aging_s * SECOND_NS;
	return ns ? (uint16_t)u64_max(ns >> tables.shared->mark_shift, 1) : 0;
}

/* Does the logical port switch? A port of a bundle does so by the bundle's number. The destination of a monitor
 * session does not (mirror.c). A bad configuration is not applied, so no port does: frames of one VLAN would
 * otherwise reach another. */
static bool is_used(unsigned port)
{
	const struct config *c = &running.config;
	return running.applied && port < core_port_count() && config_logical(c, port) == port &&
	       !config_logical_shut(c, port) && !config_monitor_sends(c, port);
}

static struct switch_vlan vlan_of(unsigned vid)
{
	const struct config *c = &running.config;
	const int n = config_number(c, vid | CONFIG_KEY_SVI);
	struct switch_vlan v = {.interface = n < 0 || !dp_exists(dp_get(), (unsigned)n) ? 0 : (uint8_t)n};
	for (unsigned p = 0; p < core_port_count(); p++) {
		if (!is_used(p) || !config_switch_carries(c, p, vid))
			continue;
		v.member |= (uint16_t)(1u << p);
		if (config_switch_untagged(c, p) != vid)
			v.tagged |= (uint16_t)(1u << p);
	}
	return v;
}

static void store_vlan(unsigned vid, struct switch_vlan v)
{
	uint64_t word;
	memcpy(&word, &v, sizeof word);
	__atomic_store_n((uint64_t *)(void *)&tables.shared->vlan[vid], word, __ATOMIC_RELAXED);
}

/* Ports in a state, one bit each. */
static uint16_t ports_in(enum switch_state state)
{
	unsigned ports = 0;
	for (unsigned p = 0; p < NIC_PORTS_MAX; p++)
		ports |= (unsigned)(tables.state[p] == state) << p;
	return (uint16_t)ports;
}

bool tables_is_up(unsigned port) { return is_used(port) && (tables.up & ~tables.disabled) >> port & 1; }

static void set_state(unsigned port)
{
	uint32_t word;
	const enum switch_state was = tables.state[port];
	tables.state[port] = tables_is_up(port) ? tables.allowed[port] : SWITCH_DOWN;
	lowered |= tables.state[port] < was;
	const struct switch_ports p = {ports_in(SWITCH_FORWARDING), ports_in(SWITCH_LEARNING)};
	memcpy(&word, &p, sizeof word);
	__atomic_store_n((uint32_t *)(void *)&tables.shared->ports, word, __ATOMIC_RELAXED);
}

static void set_port(unsigned port)
{
	const struct config *c = &running.config;
	struct switch_shared *s = tables.shared;
	const unsigned vid = is_used(port) ? config_switch_untagged(c, port) : 0;
	const unsigned len = core_port_nic(port) ? interface_mtu(c, port) + (unsigned)ETH_HLEN : 0;
	__atomic_store_n(&s->untagged[port], (uint16_t)vid, __ATOMIC_RELAXED);
	__atomic_store_n(&s->len_max[port], (uint16_t)len, __ATOMIC_RELAXED);
	for (unsigned k = 0; k < SWITCH_STORMS; k++)
		__atomic_store_n(&s->storm[port][k], config_switchport(c, port)->storm[k], __ATOMIC_RELAXED);
	tables.fdb.limit[port] = config_switchport(c, port)->limit;
	set_state(port);
}

/* On return data cores do no more than the port's state allows. */
static void set_state_now(unsigned port)
{
	set_state(port);
	if (lowered)
		(void)core_quiesce(); /* if it fails, the ports restart */
	lowered = false;
}

void tables_allow(unsigned port, enum switch_state state)
{
	tables.allowed[port] = state;
	set_state_now(port);
}

void tables_disable(unsigned port, bool disabled)
{
	tables.disabled = (tables.disabled & ~(1u << port)) | (uint32_t)disabled << port;
	set_state_now(port);
	if (disabled)
		(void)tables_forget(port, FDB_ANY);
}

void tables_settle(void)
{
	const struct dp_state *v = dp_get();
	const uint32_t forwarding = ports_in(SWITCH_FORWARDING);
	for (unsigned n = NIC_PORTS_MAX; n < v->ifs; n++)
		if (dp_exists(v, n) && dp_is_svi(&v->interface[n]))
			interfaces_link_svi(n, tables.shared->vlan[v->interface[n].vid].member & forwarding);
}

static uint64_t own_mac(void)
{
	const struct dp_state *v = dp_get();
	for (unsigned n = NIC_PORTS_MAX; n < v->ifs; n++)
		if (dp_exists(v, n) && dp_is_svi(&v->interface[n]))
			return raw64_load(v->interface[n].mac) & 0xffffffffffff;
	return 0;
}

static void fix_stations(void)
{
	const struct config *c = &running.config;
	for (unsigned k = 0; running.applied && tables.has_fdb && k < c->mac_count; k++)
		(void)fdb_fix(&tables.fdb, fdb_station(c->mac[k].mac, c->mac[k].vid),
		              (uint32_t)config_mac_port(c, &c->mac[k]));
}

void tables_start(void)
{
	uint64_t key[2];
	tables = (struct switch_tables){.shared = dp_get()->plugin_data};
	if (!tables.shared)
		return;
	tables.has_fdb = own && dp_get()->plugin_more;
	core_random(key, sizeof key);
	if (tables.has_fdb) {
		fdb_init(&tables.fdb, own_entries, dp_get()->plugin_more, own, key);
		fdb_use(&tables.fdb, vector_bits());
	}
	tables.shared->mark_shift = mark_shift();
	tables.shared->mac = own_mac();
	for (unsigned p = 0; p < core_port_count(); p++)
		set_port(p);
	for (unsigned vid = 1; vid <= ETH_VID_MAX; vid++)
		store_vlan(vid, vlan_of(vid));
	monitor_publish();
	fix_stations();
}

static const uint16_t *marks_of(unsigned core)
{
	const struct switch_core *o = dp_plugin_shared_of(core);
	const uint16_t *marks = (const uint16_t *)(uintptr_t)shared_load(&o->marks);
	const uint64_t bytes = (uint64_t)fdb_slots(tables.fdb.table) * sizeof *marks;
	const bool good = marks && (uintptr_t)marks % sizeof *marks == 0 && core_arena_has(core, marks, bytes);
	return good ? marks : NULL;
}

void tables_marks(const uint16_t *used[CORES_MAX])
{
	for (unsigned d = 0; d < self.info->data_cores; d++)
		used[d] = marks_of(self.info->first_data_core + d);
}

/* --- to be shown --- */

uint64_t tables_idle_s(const struct fdb_entry *e)
{
	const uint16_t *used[CORES_MAX];
	tables_marks(used);
	const uint64_t marks = fdb_idle(&tables.fdb, e->slot, tables_mark(), used, self.info->data_cores);
	return (marks << tables.shared->mark_shift) / SECOND_NS;
}

bool tables_next_vlans(unsigned after, unsigned *first, unsigned *last)
{
	const struct switch_vlan *vlan = tables.shared->vlan;
	unsigned vid = after + 1;
	while (vid <= ETH_VID_MAX && !vlan[vid].member && !vlan[vid].interface)
		vid++;
	*first = vid;
	while (vid < ETH_VID_MAX && memcmp(&vlan[*first], &vlan[vid + 1], sizeof *vlan) == 0)
		vid++;
	*last = vid;
	return vid <= ETH_VID_MAX;
}

bool tables_is_logical(unsigned port) { return config_logical(&running.config, port) == port; }

const char *tables_port_name(unsigned port)
{
	const struct dp_state *v = dp_get();
	const unsigned bundle = tables_is_logical(port) ? v->bundle_interface[port] : 0;
	return dp_name(v, bundle ? bundle : port);
}

bool tables_read_port(struct text name, uint32_t *port)
{
	if (config_key_parse(name, port) != 0)
		return false;
	if ((*port & ~0xffu) == CONFIG_KEY_CHANNEL)
		*port = (uint32_t)config_channel_port(&running.config, *port & 0xff);
	return *port < core_port_count();
}

/* --- changes --- */

uint32_t tables_forget(uint32_t port, uint32_t vid)
{
	return tables.has_fdb ? fdb_flush(&tables.fdb, port, vid) : 0;
}

void tables_link(unsigned port, bool up)
{
	if (!tables.shared)
		return;
	tables.up = (tables.up & ~(1u << port)) | (uint32_t)up << port;
	set_state(port);
	if (!up)
		(void)tables_forget(port, FDB_ANY); /* 802.1Q 8.8.3: its stations may be elsewhere */
	tables_settle();
}

/* A station of the old configuration that is not static any more is learned anew. */
static void fix_anew(void)
{
	struct fdb_entry e;
	for (uint32_t cursor = 0; tables.fdb.fixed && fdb_next(&tables.fdb, &cursor, &e);)
		if (e.fixed)
			(void)fdb_remove(&tables.fdb, e.station);
	fix_stations();
}

void tables_changed(void)
{
	struct switch_shared *s = tables.shared;
	uint32_t less = 0; /* ports that carry fewer VLANs than before */
	if (!s)
		return;
	monitor_publish();
	for (unsigned vid = 1; vid <= ETH_VID_MAX; vid++) {
		const struct switch_vlan was = s->vlan[vid], now = vlan_of(vid);
		less |= was.member & ~(uint32_t)now.member;
		store_vlan(vid, now);
	}
	for (unsigned p = 0; p < core_port_count(); p++) {
		set_port(p);
		if (less >> p & 1)
			(void)tables_forget(p, FDB_ANY);
	}
	if (s->mark_shift != mark_shift()) { /* the marks of before mean other times */
		__atomic_store_n(&s->mark_shift, mark_shift(), __ATOMIC_RELAXED);
		(void)tables_forget(FDB_ANY, FDB_ANY);
	}
	if (tables.has_fdb)
		fix_anew();
	tables_settle();
}
