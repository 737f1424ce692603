/* See pages.h, and docs/http.md. The JSON has what `show switchport`, `show vlan` and `show mac address-table`
 * print. */
#include "apps/switch/pages.h"

#include "apps/switch/commands.h"
#include "apps/switch/spanning.h"
#include "apps/switch/tables.h"
#include "control/config/running.h"
#include "lib/fmt.h"

typedef unsigned long long ull;

/* --- /api/v1/switch.json --- */

/* The cursor is the first port that has not been looked at. */
static bool part_ports(struct page_walk *w, struct page_text *t)
{
	uint32_t p = (uint32_t)w->cursor.n;
	while (p < core_port_count() && !tables_is_logical(p))
		p++;
	w->cursor.n = p + 1;
	if (w->item == 0)
		page_print(t, "{\"ports\":[");
	if (!tables.shared || p >= core_port_count()) {
		page_print(t, "]");
		return false;
	}
	page_print(t, "%s\n{\"name\":\"%s\",\"state\":\"%s\",\"mode\":\"%s\",\"untagged\":%u,\"stations\":%u", page_comma(w),
	           tables_port_name(p), switch_state_word(p),
	           config_switchport(&running.config, p)->trunk ? "trunk" : "access",
	           tables.shared->untagged[p], tables.fdb.learned[p]);
	spanning_json_port(p, t);
	page_print(t, "}");
	return true;
}

static bool part_tree(struct page_walk *w, struct page_text *t)
{
	if (w->item)
		return false;
	page_print(t, ",\"spanning_tree\":");
	spanning_json_root(t);
	return true;
}

static void print_ports(struct page_text *t, const char *name, uint32_t ports)
{
	page_print(t, ",\"%s\":[", name);
	for (uint32_t left = ports; left; left &= left - 1)
		page_print(t, "%s\"%s\"", left == ports ? "" : ",", tables_port_name((unsigned)__builtin_ctz(left)));
	page_print(t, "]");
}

/* The cursor is the first VLAN that has not been looked at, less 1. */
static bool part_vlans(struct page_walk *w, struct page_text *t)
{
	unsigned first = 0, last = (unsigned)w->cursor.n;
	if (w->item == 0)
		page_print(t, ",\"vlans\":[");
	if (!tables.shared || !tables_next_vlans(last, &first, &last)) {
		page_print(t, "]}\n");
		return false;
	}
	w->cursor.n = last;
	const struct switch_vlan v = tables.shared->vlan[first];
	page_print(t, "%s\n{\"first\":%u,\"last\":%u", page_comma(w), first, last);
	print_ports(t, "untagged", v.member & ~(uint32_t)v.tagged);
	print_ports(t, "tagged", v.tagged);
	if (v.interface)
		page_print(t, ",\"interface\":\"%s\"}", dp_name(dp_get(), v.interface));
	else
		page_print(t, ",\"interface\":null}");
	return true;
}

/* --- /api/v1/stations.json --- */

static bool part_stations(struct page_walk *w, struct page_text *t)
{
	uint32_t cursor = (uint32_t)w->cursor.n;
	char text[FMT_MAC_MAX];
	uint8_t mac[ETH_ALEN];
	struct fdb_entry e;
	if (w->item == 0)
		page_print(t, "{\"room\":%u,\"total\":%u,\"stations\":[", tables.has_fdb ? tables.fdb.entries_max : 0,
		           tables.has_fdb ? fdb_count(&tables.fdb) : 0);
	if (!tables.has_fdb || w->item >= page_number(w->query, "limit", UINT32_MAX) ||
	    !fdb_next(&tables.fdb, &cursor, &e)) {
		page_print(t, "]}\n");
		return false;
	}
	w->cursor.n = cursor;
	fdb_station_mac(e.station, mac);
	page_print(t, "%s\n{\"vlan\":%u,\"mac\":\"%s\",\"port\":\"%s\"", page_comma(w), fdb_station_vid(e.station),
	           fmt_mac(text, mac), tables_port_name(e.port));
	if (e.fixed)
		page_print(t, ",\"type\":\"static\",\"age_s\":null}");
	else
		page_print(t, ",\"type\":\"dynamic\",\"age_s\":%llu}", (ull)tables_idle_s(&e));
	return true;
}

static const page_part page_switch[] = {part_ports, part_tree, part_vlans, NULL};
static const page_part page_stations[] = {part_stations, NULL};

const struct page switch_pages[SWITCH_PAGES] = {
	{.path = "/api/v1/switch.json", .type = "application/json", .parts = page_switch},
	{.path = "/api/v1/stations.json", .type = "application/json", .parts = page_stations},
};
