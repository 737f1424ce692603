/*
 * The switch on the control core: links, reports of stations, ages. The files of apps/switch:
 *
 *     shared.h    what both sides know of each other
 *     switch.c    a data core: the passes over a vector
 *     access.c    access lists of the ports
 *     mirror.c    frames of source ports, sent by the destination of a monitor session
 *     monitor.c   the same on the control core
 *     send.c      sending, by one port or several
 *     host.c      frames to the machine itself
 *     learn.c     uses and reports of stations
 *     storm.c     storm control
 *     snoop.c     groups by their listeners, and messages for snooping
 *     tables.c    the control core: VLANs, ports and forwarding database, from the configuration
 *     control.c   its turns
 *     snooping.c  IGMP and MLD snooping: listeners, routers, queries
 *     errdisable.c  ports that storm control has disabled
 *     spanning.h  the spanning tree, in files of its own
 *     commands.c  console and metrics; show_*.c: some of them
 *     pages.c     JSON
 */
#include "apps/switch/commands.h"
#include "apps/switch/errdisable.h"
#include "apps/switch/pages.h"
#include "apps/switch/plugin.h"
#include "apps/switch/snooping.h"
#include "apps/switch/spanning.h"
#include "apps/switch/tables.h"
#include "control/config/running.h"
#include "lib/number.h"

#define AGE_SLICES 512 /* slices of the database in an ageing time: a station is forgotten that much late */
#define AGE_TURNS 8    /* rounds through the database in an ageing time */

static uint64_t age_due_ns;

static size_t published_more(void)
{
	spanning_keep_room();
	errdisable_room();
	snooping_room();
	return tables_more();
}

static void start(void)
{
	tables_start();
	errdisable_start();
	snooping_start();
	spanning_start();
	age_due_ns = 0;
}

static void link_changed(unsigned port, bool up)
{
	tables_link(port, up);
	spanning_link(port);
}

static void changed(void)
{
	tables_changed();
	errdisable_changed();
	snooping_changed();
	spanning_changed();
}

/* --- reports --- */

static void count_result(enum fdb_result r)
{
	if (r == FDB_NEW)
		count(CNT_switch_learned);
	else if (r == FDB_MOVED)
		count(CNT_switch_moved);
	else if (r == FDB_FULL || r == FDB_LIMIT)
		count(CNT_switch_refused);
}

/* A report of a data core, which may be anything. A station whose port has gone down, or carries the VLAN no
 * more, since the report is not learned. */
static void learn(uint64_t report)
{
	const unsigned port = report & (FDB_PORTS - 1), vid = fdb_station_vid(report);
	const uint64_t station = report - port;
	uint8_t mac[ETH_ALEN];
	fdb_station_mac(station, mac);
	const bool may = port < core_port_count() && vid >= 1 && vid <= ETH_VID_MAX && eth_is_station(mac) &&
	                 tables.state[port] >= SWITCH_LEARNING &&
	                 tables.shared->vlan[vid].member >> port & 1;
	if (may)
		count_result(fdb_learn(&tables.fdb, station, port, tables_mark()));
}

/* Takes reports of data core d. True: there may be more. */
static bool take(unsigned core)
{
	const struct switch_core *o = dp_plugin_shared_of(core);
	uint64_t tail = tables.shared->taken[core], head = shared_load(&o->head);
	if (head - tail > SWITCH_REPORTS) /* its program has restarted, or writes nonsense */
		tail = head;
	const uint64_t end = tail + u64_min(head - tail, SWITCH_LEARN_MAX);
	for (; tail != end; tail++)
		learn(o->report[tail % SWITCH_REPORTS]);
	shared_store(&tables.shared->taken[core], tail);
	return tail != head;
}

static bool take_all(void)
{
	bool more = false;
	for (unsigned d = 0; d < self.info->data_cores; d++)
		more |= take(self.info->first_data_core + d);
	return more;
}

/* --- ages --- */

/* Looks at a slice of the database. Returns when to look at the next; never if there is nothing to age. */
static uint64_t age(void)
{
	const uint16_t *used[CORES_MAX];
	const unsigned n = self.info->data_cores;
	const uint64_t ns = (uint64_t)running.config.aging_s * SECOND_NS, now = core_now_ns();
	if (ns == 0 || fdb_count(&tables.fdb) == tables.fdb.fixed) {
		age_due_ns = 0;
		return UINT64_MAX;
	}
	if (now < age_due_ns)
		return age_due_ns;
	tables_marks(used);
	const uint32_t slice = fdb_slots(tables.fdb.table) / (AGE_SLICES / AGE_TURNS) + 1;
	count_n(CNT_switch_aged, fdb_age(&tables.fdb, slice, tables_mark(), tables_age(), used, n));
	age_due_ns = now + ns / AGE_SLICES;
	return age_due_ns;
}

static uint64_t timer(void)
{
	if (!tables.shared || !core_ports_running())
		return UINT64_MAX;
	uint64_t first = errdisable_timer();
	first = u64_min(first, spanning_timer());
	first = u64_min(first, snooping_timer());
	if (!tables.has_fdb)
		return first;
	if (take_all())
		return self.now_tsc;
	const uint64_t due = age(), now = core_now_ns();
	return due == UINT64_MAX ? first : u64_min(first, core_tsc_after(due > now ? due - now : 0));
}

const struct app_plugin switch_plugin = {
	.start = start,
	.ports = spanning_ports,
	.link = link_changed,
	.changed = changed,
	.timer = timer,
	.published_bytes = sizeof(struct switch_shared),
	.published_more = published_more,
	.shared_bytes = sizeof(struct switch_core),
	.commands = switch_commands,
	.command_count = SWITCH_COMMANDS,
	.pages = switch_pages,
	.page_count = SWITCH_PAGES,
	.metrics = switch_metrics,
};
