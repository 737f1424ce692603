/* See commands.h. The form of `show` output is an interface, as in control/cli/show.c. */
#include "apps/switch/commands.h"

#include "apps/switch/spanning.h"
#include "apps/switch/monitor.h"
#include "apps/switch/snooping.h"
#include "apps/switch/tables.h"
#include "control/config/running.h"
#include "lib/fmt.h"
#include "lib/mem.h"

typedef unsigned long long ull;

/* --- show mac address-table --- */

static void show_entry(struct shell *sh, const struct fdb_entry *e)
{
	char text[FMT_MAC_MAX], age[24] = "-";
	uint8_t mac[ETH_ALEN];
	fdb_station_mac(e->station, mac);
	if (!e->fixed)
		fmt_format(age, sizeof age, "%llu", (ull)tables_idle_s(e));
	shell_print(sh, "%-5u %-18s %-8s " PORT_COLUMN " %6s\n", fdb_station_vid(e->station), fmt_mac(text, mac),
	            e->fixed ? "static" : "dynamic", tables_port_name(e->port), age);
}

#define ENTRIES_AT_ONCE 16 /* of a piece of output */

/* at: the next slot. A table that a restart of the ports has made smaller meanwhile ends the output. */
static bool more_entries(struct shell *sh, void *at)
{
	uint32_t *cursor = at;
	struct fdb_entry e;
	for (unsigned i = 0; i < ENTRIES_AT_ONCE; i++) {
		if (!tables.has_fdb || !fdb_next(&tables.fdb, cursor, &e))
			return false;
		show_entry(sh, &e);
	}
	return true;
}

static void show_head(struct shell *sh)
{
	shell_print(sh, "%-5s %-18s %-8s " PORT_COLUMN " %6s\n", "vlan", "mac", "type", "port", "age_s");
}

static void show_table(struct shell *sh)
{
	show_head(sh);
	shell_stream(sh, more_entries);
}

/* The entries of one address, in whatever VLANs. */
static void show_address(struct shell *sh)
{
	uint8_t mac[ETH_ALEN];
	struct fdb_entry e;
	if (text_parse_mac(text_of(sh->argv[0]), mac) != 0) {
		shell_print(sh, "expected a MAC address such as 00:11:22:33:44:55 or 0011.2233.4455\n");
		return;
	}
	show_head(sh);
	for (uint32_t cursor = 0; tables.has_fdb && fdb_next(&tables.fdb, &cursor, &e);)
		if (e.station >> 16 == fdb_station(mac, 0) >> 16)
			show_entry(sh, &e);
}

static void show_count(struct shell *sh)
{
	const struct fdb_writer *w = &tables.fdb;
	if (!tables.has_fdb) {
		shell_print(sh, "there is not enough memory for a table: all frames are flooded\n");
		return;
	}
	shell_print(sh, "room %u\nstatic %u\nlearned %u\n", w->entries_max, w->fixed, fdb_count(w) - w->fixed);
	for (unsigned p = 0; p < core_port_count(); p++) {
		if (!tables_is_logical(p))
			continue;
		shell_print(sh, "learned_%s %u", tables_port_name(p), w->learned[p]);
		if (w->limit[p])
			shell_print(sh, " of %u", w->limit[p]);
		shell_print(sh, "\n");
	}
	shell_print(sh, "aging_time_s %u\n", running.config.aging_s);
}

/* --- clear mac address-table --- */

/* A word and its value: `interface ethN`, `vlan N`. */
static bool read_option(struct shell *sh, const char *name, const char *value, uint32_t *port, uint32_t *vid)
{
	if (strcmp(name, "vlan") == 0) {
		if (value && text_parse_u32(text_of(value), 1, ETH_VID_MAX, vid) == 0)
			return true;
		shell_print(sh, "vlan takes a number from 1 to %u\n", ETH_VID_MAX);
	} else if (strcmp(name, "interface") == 0) {
		if (value && tables_read_port(text_of(value), port))
			return true;
		shell_print(sh, "interface takes the name of a port, such as eth0\n");
	} else {
		shell_print(sh, "%% unknown word \"%s\"\n", name);
	}
	return false;
}

static void clear_table(struct shell *sh)
{
	uint32_t port = FDB_ANY, vid = FDB_ANY;
	for (unsigned i = 0; i < sh->argc; i += 2)
		if (!read_option(sh, sh->argv[i], sh->argv[i + 1], &port, &vid))
			return;
	shell_print(sh, "%u stations forgotten\n", tables_forget(port, vid));
}

/* --- show vlan --- */

#define PORT_LIST_MAX (NIC_PORTS_MAX * sizeof "port-channel16") /* a comma, or the end, follows each */

static const char *port_list(char *text, size_t size, uint32_t ports)
{
	struct fmt_buf b = {text, size, 0, false};
	text[0] = 0;
	for (; ports; ports &= ports - 1)
		fmt_put(&b, "%s%s", text[0] ? "," : "", tables_port_name((unsigned)__builtin_ctz(ports)));
	return text[0] ? text : "-";
}

static void show_range(struct shell *sh, unsigned first, unsigned last)
{
	const struct switch_vlan v = tables.shared->vlan[first];
	char untagged[PORT_LIST_MAX], tagged[PORT_LIST_MAX], range[16];
	fmt_format(range, sizeof range, first == last ? "%u" : "%u-%u", first, last);
	shell_print(sh, "%-10s %-10s %-24s %s\n", range, v.interface ? dp_name(dp_get(), v.interface) : "-",
	            port_list(untagged, sizeof untagged, v.member & ~(uint32_t)v.tagged),
	            port_list(tagged, sizeof tagged, v.tagged));
}

/* A trunk carries thousands of VLANs, so VLANs of the same ports share a line. */
static void show_vlan(struct shell *sh)
{
	shell_print(sh, "%-10s %-10s %-24s %s\n", "vlan", "interface", "untagged", "tagged");
	for (unsigned first, last = 0; tables.shared && tables_next_vlans(last, &first, &last);)
		show_range(sh, first, last);
}

/* --- show switchport --- */

const char *switch_state_word(unsigned port)
{
	static const char *const words[] = {
		[SWITCH_DOWN] = "down", [SWITCH_BLOCKING] = "blocking", [SWITCH_LEARNING] = "learning",
		[SWITCH_FORWARDING] = "forwarding"};
	const bool disabled = switch_disabled(port, SWITCH_CAUSE_GUARD) || switch_disabled(port, SWITCH_CAUSE_STORM);
	return disabled ? "err-disabled" : words[tables.state[port]];
}

static void show_port(struct shell *sh, unsigned port)
{
	char list[CONFIG_VID_LIST + 1], untagged[8] = "-";
	const struct config_switchport *c = config_switchport(&running.config, port);
	if (tables.shared->untagged[port])
		fmt_format(untagged, sizeof untagged, "%u", tables.shared->untagged[port]);
	shell_print(sh, PORT_COLUMN " %-12s %-7s %-9s %9u  %s\n", tables_port_name(port), switch_state_word(port),
	            c->trunk ? "trunk" : "access", untagged, tables.fdb.learned[port],
	            !c->trunk                              ? untagged
	            : !c->lists                              ? "all"
	            : config_vid_list(list, c->allowed)[0] ? list
	                                           : "none");
}

static void show_switchport(struct shell *sh)
{
	shell_print(sh, PORT_COLUMN " %-12s %-7s %-9s %9s  %s\n", "port", "state", "mode", "untagged", "stations",
	            "vlans");
	for (unsigned p = 0; tables.shared && p < core_port_count(); p++)
		if (tables_is_logical(p))
			show_port(sh, p);
}

const struct shell_command switch_commands[SWITCH_COMMANDS] = {
	{"show mac", NULL, "stations of the switch", NULL},
	{"show mac address-table", NULL, "the stations of the switch: VLAN, port, age", show_table},
	{"show mac address-table address", "MAC", "the entries of one station", show_address},
	{"show mac address-table count", NULL, "numbers of stations", show_count},
	{"show vlan", NULL, "the VLANs of the switch and their ports", show_vlan},
	{"clear mac", NULL, "forgets stations of the switch", NULL},
	{"clear mac address-table", "[interface ethN] [vlan N]", "forgets learned stations", clear_table},
	{"show ip igmp", NULL, "multicast groups of the switch", NULL},
	{"show ip igmp snooping", NULL, "VLANs with IGMP: their queriers", show_igmp_snooping},
	{"show ip igmp snooping groups", NULL, "groups and the ports of their listeners", show_igmp_groups},
	{"show ip igmp snooping mrouter", NULL, "ports that lead to multicast routers", show_igmp_mrouter},
	{"show ipv6 mld", NULL, "IPv6 multicast groups of the switch", NULL},
	{"show ipv6 mld snooping", NULL, "VLANs with MLD: their queriers", show_mld_snooping},
	{"show ipv6 mld snooping groups", NULL, "groups and the ports of their listeners", show_mld_groups},
	{"show ipv6 mld snooping mrouter", NULL, "ports that lead to multicast routers", show_mld_mrouter},
	{"show storm-control", NULL, "limits of flooded frames, and what they dropped", show_storm_control},
	{"show errdisable", NULL, "ports that BPDU guard or storm control has disabled", show_errdisable},
	{"show switchport", NULL, "the ports of the switch: mode, VLANs, state", show_switchport},
	{"show monitor", NULL, "port mirroring", NULL},
	{"show monitor session", NULL, "port mirroring: the sources and the destination of each session",
	 show_monitor_session},
	{"show spanning-tree", NULL, "the spanning tree: root, and roles and states of the ports", spanning_show},
	{"show spanning-tree interface", "ethN", "a port in the spanning tree", spanning_show_port},
	{"clear spanning-tree", NULL, "forgets what the spanning tree knows of neighbours", NULL},
	{"clear spanning-tree detected-protocols", "[ethN]", "asks whether STP neighbours speak RSTP now",
	 spanning_clear_protocols},
};

/* --- /metrics --- */

/* Items: the head of the family, and for each port one of each cause. False: that is all. */
static bool disabled_metrics(uint32_t i, struct page_text *t)
{
	static const char name[] = "hayate_switch_errdisabled";
	if (i == 0) {
		page_print(t, "# HELP %s 1: the port is disabled, for this cause.\n# TYPE %s gauge\n", name, name);
		return true;
	}
	const uint32_t port = (i - 1) / SWITCH_CAUSES, cause = (i - 1) % SWITCH_CAUSES;
	if (port >= core_port_count())
		return false;
	page_print(t, "%s{port=\"%s\",cause=\"%s\"} %u\n", name, tables_port_name(port), switch_causes[cause],
	           switch_disabled(port, (enum switch_cause)cause));
	return true;
}

/* Items: the head of a family, one for each port, static ones, room, groups; then those of disabled_metrics, then
 * those of the spanning tree. */
bool switch_metrics(struct page_walk *w, struct page_text *t)
{
	static const char name[] = "hayate_switch_stations", groups[] = "hayate_switch_multicast_groups";
	const unsigned ports = core_port_count();
	const uint32_t i = w->item;
	if (!tables.has_fdb)
		return spanning_metrics(i, t);
	if (i == 0)
		page_print(t, "# HELP %s Stations in the switch's table.\n# TYPE %s gauge\n", name, name);
	else if (i <= ports)
		page_print(t, "%s{type=\"dynamic\",port=\"%s\"} %u\n", name,
		           tables_port_name(i - 1), tables.fdb.learned[i - 1]);
	else if (i == ports + 1)
		page_print(t, "%s{type=\"static\"} %u\n", name, tables.fdb.fixed);
	else if (i == ports + 2)
		page_print(t, "# HELP %s_max Stations that the table has room for.\n# TYPE %s_max gauge\n"
		              "%s_max %u\n", name, name, name, tables.fdb.entries_max);
	else if (i == ports + 3)
		page_print(t, "# HELP %s Groups that IGMP and MLD snooping know.\n# TYPE %s gauge\n%s %u\n", groups,
		           groups, groups, snooping ? snooping->groups : 0);
	else
		return disabled_metrics(i - (ports + 4), t) ||
		       spanning_metrics(i - (ports + 5 + ports * SWITCH_CAUSES), t);
	return true;
}
