/* show ip igmp snooping, show ipv6 mld snooping. See commands.h. */
#include "apps/switch/commands.h"

#include "apps/switch/snooping.h"
#include "apps/switch/tables.h"
#include "lib/fmt.h"

/* The rest of a time in seconds, rounded up. */
static unsigned left_s(uint64_t until)
{
	const uint64_t now = core_now_ns();
	return until > now ? (unsigned)((until - now + SECOND_NS - 1) / SECOND_NS) : 0;
}

/* --- VLANs --- */

static void show_vlan(struct shell *sh, const struct snoop_vlan *v)
{
	char querier[FMT_ADDR_MAX] = "-", version[4] = "-";
	const bool other = left_s(v->querier_until) > 0;
	if (other) {
		fmt_addr(querier, v->querier.w);
		fmt_format(version, sizeof version, "%u", v->querier_version);
	}
	shell_print(sh, "%-5u %-10s %-26s " PORT_COLUMN " %-8s %6u\n", v->vid, v->restricts ? "restricts" : "floods",
	            v->querying ? "self" : querier, other ? tables_port_name(v->querier_port) : "-", version, v->groups);
}

static void show(struct shell *sh, enum snoop_family family)
{
	shell_print(sh, "%-5s %-10s %-26s " PORT_COLUMN " %-8s %6s\n", "vlan", "state", "querier", "port", "version",
	            "groups");
	for (unsigned i = 0; snooping && i < SNOOP_VLANS_MAX; i++)
		if (snooping->vlan[i].vid && snooping->vlan[i].family == (unsigned)family)
			show_vlan(sh, &snooping->vlan[i]);
}

/* --- groups --- */

static void show_group(struct shell *sh, const struct snoop_group *g)
{
	char addr[FMT_ADDR_MAX];
	for (unsigned p = 0; p < SNOOP_PORTS; p++)
		if (g->ports >> p & 1)
			shell_print(sh, "%-5u %-39s " PORT_COLUMN " %9u\n", snooping->vlan[g->vlan].vid, fmt_addr(addr, g->addr.w),
			            tables_port_name(p), left_s(g->until[p]));
}

/* *at: the next group. One a piece: each may have a line for each port. */
static bool more_groups(struct shell *sh, uint32_t *at, enum snoop_family family)
{
	for (; snooping && *at < SNOOP_GROUPS_MAX; ++*at) {
		const struct snoop_group *g = &snooping->group[*at];
		if (g->ports && snooping->vlan[g->vlan].family == (unsigned)family) {
			show_group(sh, g);
			++*at;
			return true;
		}
	}
	return false;
}

static bool more_groups4(struct shell *sh, void *at) { return more_groups(sh, at, SNOOP_IP4); }
static bool more_groups6(struct shell *sh, void *at) { return more_groups(sh, at, SNOOP_IP6); }

static void show_groups(struct shell *sh, bool (*more)(struct shell *sh, void *at))
{
	shell_print(sh, "%-5s %-39s " PORT_COLUMN " %9s\n", "vlan", "group", "port", "expires_s");
	shell_stream(sh, more);
}

/* --- ports of routers --- */

static void show_routers(struct shell *sh, const struct snoop_vlan *v)
{
	for (unsigned p = 0; p < SNOOP_PORTS; p++) {
		char rest[16] = "-";
		const bool fixed = v->set.routers >> p & 1;
		if (!(v->routers >> p & 1))
			continue;
		if (!fixed)
			fmt_format(rest, sizeof rest, "%u", left_s(v->router_until[p]));
		shell_print(sh, "%-5u " PORT_COLUMN " %-8s %9s\n", v->vid, tables_port_name(p), fixed ? "static" : "dynamic", rest);
	}
}

static void show_mrouter(struct shell *sh, enum snoop_family family)
{
	shell_print(sh, "%-5s " PORT_COLUMN " %-8s %9s\n", "vlan", "port", "type", "expires_s");
	for (unsigned i = 0; snooping && i < SNOOP_VLANS_MAX; i++)
		if (snooping->vlan[i].vid && snooping->vlan[i].family == (unsigned)family)
			show_routers(sh, &snooping->vlan[i]);
}

void show_igmp_snooping(struct shell *sh) { show(sh, SNOOP_IP4); }
void show_igmp_groups(struct shell *sh) { show_groups(sh, more_groups4); }
void show_igmp_mrouter(struct shell *sh) { show_mrouter(sh, SNOOP_IP4); }
void show_mld_snooping(struct shell *sh) { show(sh, SNOOP_IP6); }
void show_mld_groups(struct shell *sh) { show_groups(sh, more_groups6); }
void show_mld_mrouter(struct shell *sh) { show_mrouter(sh, SNOOP_IP6); }
