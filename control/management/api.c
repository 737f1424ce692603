/*
 * The JSON pages under /api/v1/, which the page at / and programs read, and the pages /healthz and
 * /config. Each element of an array is an item of a page part (page.h); the part's first and last
 * item also write the brackets. Numbers are JSON numbers up to 2^64 - 1.
 */
#include "control/management/http.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/engine/engine.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/tables.h"
#include "dataplane/state.h"
#include "net/arp.h"
#include "net/nd.h"
#include "control/forwarding/routes.h"
#include "control/management/page.h"
#include "control/management/stats.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "net/ip6.h"
#include "net/vxlan.h"

typedef unsigned long long ull;

/* --- status --- */

static void status_engine(struct page_text *t)
{
	if (running.config.engine.line)
		page_print(t, "{\"connected\":%s,\"prefixes\":%u,\"stale\":%u}",
		           engine_stats.connection.up ? "true" : "false", rib_stated(routes_rib()),
		           rib_stale(routes_rib()));
	else
		page_print(t, "null");
}

static bool part_status(struct page_walk *w, struct page_text *t)
{
	const struct boot_info *b = self.info;
	if (w->item)
		return false;
	page_print(t, "{\"hostname\":");
	page_json(t, running.config.hostname);
	page_print(t, ",\"version\":\"%s\",\"build\":\"%s\",\"configuration\":\"%016llx\","
	              "\"application\":\"%s\",\"uptime_ms\":%llu,\"cpu\":",
	           HAYATE_VERSION, b->build_id, (ull)b->config_hash, core_app_word(core_app_number()),
	           (ull)(stats_uptime_ns() / 1000000u));
	page_json(t, b->cpu);
	page_print(t, ",\"cores\":%u,\"data_cores\":%u,\"tsc_hz\":%llu,\"idle\":\"%s\","
	              "\"memory_bytes\":%llu,\"memory_used_bytes\":%llu,\"image_bytes\":%llu,"
	              "\"routes\":%u,\"routes_refused\":%u,\"config_applied\":%s,"
	              "\"healthy\":%s,\"http_connections\":%u,\"routing_engine\":",
	           b->cores, b->data_cores, (ull)b->tsc_hz,
	           core_idle_mode() == CORE_IDLE_POLL ? "poll" : "sleep", (ull)b->ram_bytes,
	           (ull)b->ram_used_bytes, (ull)b->image_bytes,
	           forwarding.ready ? fib_count(&forwarding.fib) + fib_count(&forwarding.fib6) : 0,
	           routes_refused(), running.applied ? "true" : "false",
	           page_health_status() == 200 ? "true" : "false", http_stats.sessions);
	status_engine(t);
	page_print(t, "}\n");
	return true;
}

const page_part page_status[] = {part_status, NULL};

/* --- ports --- */

/* A port is three items: its addresses and errors together may be too long for one. */
#define PORT_ITEMS 3

static void interface_addresses(struct page_text *t, const struct dp_interface *ifp)
{
	char prefix[FMT_PREFIX_MAX];
	for (unsigned a = 0; a < ifp->addresses; a++)
		page_print(t, "%s\"%s\"", a ? "," : "", fmt_prefix(prefix, ifp->addr[a], ifp->plen[a]));
}

static void interface_addresses6(struct page_text *t, const struct dp_interface *ifp,
                                 const struct dp_interface6 *ifp6)
{
	char prefix[FMT_PREFIX6_MAX];
	for (unsigned a = 0; a < ifp6->count; a++)
		page_print(t, "%s\"%s\"", ifp->addresses + a ? "," : "",
		           fmt_prefix6(prefix, ifp6->addr[a].w, ifp6->plen[a]));
}

static void port_errors(struct page_text *t, unsigned port, const struct nic_counters *c)
{
	bool any = false;
	for (unsigned i = 0; i < stats_reason_count; i++) {
		const struct stats_reason *r = &stats_reasons[i];
		uint64_t n = r->device ? stats_word(core_port_stats(port), r->offset)
		                       : stats_word(c, r->offset);
		if (n)
			page_print(t, "%s\"%s_%s\":%llu", any ? "," : "", r->sent ? "tx" : "rx",
			           r->name, (ull)n);
		any |= n > 0;
	}
}

static void port_head(struct page_text *t, unsigned p, const struct dp_interface *ifp)
{
	char mac[FMT_MAC_MAX];
	struct nic_link link;
	const struct nic *nic = core_port_nic(p);
	bool polls = core_port_link(p, &link);
	page_print(t, "%s\n{\"name\":\"eth%u\",\"description\":", p ? "," : "", p);
	page_json(t, running.config.interface[p].description);
	page_print(t, ",\"link\":\"%s\",\"mbps\":%u,\"enabled\":%s,\"driver\":\"%s\",\"mac\":\"%s\","
	              "\"mtu\":%u,\"addresses\":[",
	           !polls ? "down" : link.gone ? "gone" : link.up ? "up" : "down",
	           polls && link.up ? link.mbps : 0, dp_in_use(ifp) ? "true" : "false",
	           nic->ops->name, fmt_mac(mac, nic->mac), ifp->mtu);
	interface_addresses(t, ifp);
}

static void port_counters(struct page_text *t, unsigned p)
{
	struct nic_counters c;
	core_port_counters(p, &c);
	page_print(t, "],\"rx_packets\":%llu,\"rx_bytes\":%llu,\"tx_packets\":%llu,\"tx_bytes\":%llu,"
	              "\"tx_ring_full\":%llu,\"mmio_reads\":%llu,\"mmio_writes\":%llu,\"errors\":{",
	           (ull)c.rx_pkts, (ull)c.rx_bytes, (ull)c.tx_pkts, (ull)c.tx_bytes, (ull)c.tx_full,
	           (ull)c.mmio_reads, (ull)c.mmio_writes);
	port_errors(t, p, &c);
	page_print(t, "}}");
}

static bool part_ports(struct page_walk *w, struct page_text *t)
{
	unsigned p = w->item / PORT_ITEMS, item = w->item % PORT_ITEMS;
	if (w->item == 0)
		page_print(t, "{\"ports\":[");
	if (p >= core_port_count()) {
		page_print(t, "]}\n");
		return false;
	}
	if (item == 0)
		port_head(t, p, &dp_get()->interface[p]);
	else if (item == 1)
		interface_addresses6(t, &dp_get()->interface[p], &dp_get()->interface6[p]);
	else
		port_counters(t, p);
	return true;
}

const page_part page_ports[] = {part_ports, NULL};

/* --- interfaces: VLANs and loopbacks too --- */

static void interface_head(struct page_text *t, unsigned n, const struct dp_interface *ifp)
{
	char mac[FMT_MAC_MAX];
	const bool loopback = dp_is_loopback(ifp);
	page_print(t, "\n{\"name\":\"%s\",\"kind\":\"%s\",\"description\":",
	           dp_name(dp_get(), n),
	           loopback ? "loopback" : ifp->vid ? "vlan" : ifp->bundle ? "port-channel" : "port");
	page_json(t, running.config.interface[n].description);
	page_print(t, ",\"link\":\"%s\",\"enabled\":%s", stats_link_is_up(n) ? "up" : "down",
	           dp_in_use(ifp) ? "true" : "false");
	if (ifp->vid && !dp_is_svi(ifp) && !ifp->bundle)
		page_print(t, ",\"port\":\"eth%u\"", ifp->port);
	if (ifp->vid)
		page_print(t, ",\"vlan\":%u", ifp->vid);
	if (!loopback)
		page_print(t, ",\"mac\":\"%s\",\"mtu\":%u", fmt_mac(mac, ifp->mac), ifp->mtu);
	page_print(t, ",\"addresses\":[");
	interface_addresses(t, ifp);
}

static void interface_counters(struct page_text *t, unsigned n, const struct dp_interface *ifp)
{
	struct nic_counters c;
	page_print(t, "]");
	if (!dp_is_loopback(ifp)) {
		const struct stats_packets p = stats_packets(n, false);
		stats_carried(n, &c);
		page_print(t, ",\"rx_packets\":%llu,\"rx_bytes\":%llu,\"tx_packets\":%llu,"
		              "\"tx_bytes\":%llu", (ull)c.rx_pkts, (ull)c.rx_bytes, (ull)c.tx_pkts,
		           (ull)c.tx_bytes);
		page_print(t, ",\"forwarded\":%llu,\"delivered\":%llu,\"dropped\":%llu", (ull)p.forwarded,
		           (ull)p.delivered, (ull)p.dropped);
	}
	page_print(t, "}");
}

/* An interface is as many items as a port. w->cursor.n: interfaces written so far. */
static bool part_interfaces(struct page_walk *w, struct page_text *t)
{
	const struct dp_state *v = dp_get();
	unsigned n = w->item / PORT_ITEMS, item = w->item % PORT_ITEMS;
	if (w->item == 0)
		page_print(t, "{\"interfaces\":[");
	if (n >= v->ifs) {
		page_print(t, "]}\n");
		return false;
	}
	if (!dp_exists(v, n))
		return true;
	if (item == 0) {
		page_print(t, "%s", w->cursor.n++ ? "," : "");
		interface_head(t, n, &v->interface[n]);
	} else if (item == 1) {
		interface_addresses6(t, &v->interface[n], &v->interface6[n]);
	} else {
		interface_counters(t, n, &v->interface[n]);
	}
	return true;
}

const page_part page_interfaces[] = {part_interfaces, NULL};

/* --- what the routing engine's side needs to make its interfaces --- */

static void engine_head(struct page_text *t)
{
	char text[FMT_ADDR_MAX];
	const struct config *c = &running.config;
	const uint32_t source = config_engine_source_of(c);
	if (!c->engine.line) {
		page_print(t, "{\"address\":null,\"interfaces\":[");
		return;
	}
	page_print(t, "{\"address\":\"%s\"", fmt_addr(text, c->engine.addr.w));
	if (source)
		page_print(t, ",\"source\":\"%s\"", fmt_ip4(text, source));
	else
		page_print(t, ",\"source\":null");
	if (c->engine.bfd_port)
		page_print(t, ",\"bfd_port\":%u", c->engine.bfd_port);
	else
		page_print(t, ",\"bfd_port\":null");
	page_print(t, ",\"fpm_port\":%u,\"vxlan_port\":%u,\"connected\":%s,\"interfaces\":[",
	           c->engine.port, VXLAN_PORT, engine_stats.connection.up ? "true" : "false");
}

static void engine_interface(struct page_text *t, unsigned n)
{
	char text[FMT_PREFIX6_MAX], mac[FMT_MAC_MAX];
	const struct dp_interface *ifp = &dp_get()->interface[n];
	const struct dp_interface6 *six = &dp_get()->interface6[n];
	const struct config_interface *i = &running.config.interface[n];
	const struct net_addr *link_local = NULL;
	unsigned written = ifp->addresses;
	page_print(t, "\n{\"name\":\"%s\",\"index\":%u,\"vni\":%u,\"mac\":\"%s\",\"mtu\":%u,"
	              "\"carrier\":%s,\"addresses\":[", dp_name(dp_get(), n), config_engine_index_of(i),
	           i->engine_vni, fmt_mac(mac, ifp->mac), ifp->mtu,
	           dp_in_use(ifp) && stats_link_is_up(n) ? "true" : "false");
	interface_addresses(t, ifp);
	for (unsigned a = 0; a < six->count; a++)
		if (ip6_is_link_local(&six->addr[a]))
			link_local = &six->addr[a];
		else
			page_print(t, "%s\"%s\"", written++ ? "," : "",
			           fmt_prefix6(text, six->addr[a].w, six->plen[a]));
	page_print(t, "],\"link_local\":");
	if (link_local)
		page_print(t, "\"%s\"}", fmt_ip6(text, link_local));
	else
		page_print(t, "null}");
}

/* w->cursor.n: interfaces written so far. */
static bool part_engine(struct page_walk *w, struct page_text *t)
{
	const unsigned n = w->item;
	if (n == 0)
		engine_head(t);
	if (!running.config.engine.line || n >= dp_get()->ifs) {
		page_print(t, "]}\n");
		return false;
	}
	if (running.config.interface[n].engine_vni && dp_has_link(dp_get(), n)) {
		page_print(t, "%s", w->cursor.n++ ? "," : "");
		engine_interface(t, n);
	}
	return true;
}

const page_part page_engine[] = {part_engine, NULL};

/* --- counters --- */

static bool part_counters(struct page_walk *w, struct page_text *t)
{
	static const char *const kinds[] = {"fate", "drop", "info"};
	static struct counters sum;
	if (w->item == 0) {
		core_counters(&sum);
		page_print(t, "{\"waiting\":%llu,\"counters\":[", (ull)stats_waiting(&sum));
	}
	if (w->item == CNT_MAX) {
		page_print(t, "]}\n");
		return false;
	}
	const struct counter_desc *d = &counter_desc[w->item];
	page_print(t, "%s\n{\"name\":\"%s\",\"kind\":\"%s\",\"value\":%llu,\"help\":", page_comma(w), d->name,
	           kinds[d->kind], (ull)sum.v[w->item]);
	page_json(t, d->help);
	page_print(t, "}");
	return true;
}

const page_part page_counters[] = {part_counters, NULL};

/* --- drops by interface --- */

/* w->cursor.n is 1 once an element has been written. */
static bool part_drops(struct page_walk *w, struct page_text *t)
{
	struct stats_fate d;
	if (w->item == 0)
		page_print(t, "{\"drops\":[");
	if (!stats_fate_next(w->item, COUNTER_DROP, &d)) {
		page_print(t, "]}\n");
		return false;
	}
	if (d.count) {
		page_print(t, "%s\n{\"interface\":\"%s\",\"reason\":\"%s\",\"value\":%llu}",
		           w->cursor.n ? "," : "", d.interface, d.name, (ull)d.count);
		w->cursor.n = 1;
	}
	return true;
}

const page_part page_drops[] = {part_drops, NULL};

/* --- cores --- */

static bool part_cores(struct page_walk *w, struct page_text *t)
{
	unsigned i = w->item;
	if (i == 0)
		page_print(t, "{\"cores\":[");
	if (i >= self.info->cores) {
		page_print(t, "]}\n");
		return false;
	}
	const struct core_stats *s = core_stats_of(i);
	const struct core_status *status = &self.info->status[i];
	page_print(t, "%s\n{\"core\":%u,\"role\":\"%s\",\"state\":\"%s\",\"faults\":%u,\"turns\":%llu,"
	              "\"busy_turns\":%llu,\"busy_cycles\":%llu,\"rx_packets\":%llu,\"sleeps\":%llu,"
	              "\"buffers\":%llu,\"buffers_free\":%llu}",
	           page_comma(w), i, stats_role(i), stats_core_state(i), status->faults,
	           (ull)s->turns, (ull)s->busy_turns, (ull)s->busy_cycles, (ull)s->rx_pkts,
	           (ull)s->sleeps, (ull)s->pool_count, (ull)s->pool_free);
	return true;
}

const page_part page_cores[] = {part_cores, NULL};

/* --- routes: /api/v1/routes.json?limit=N --- */

#define MEMBERS_LISTED 16 /* next hops of a route */

/* The interface and address of a next hop that is an IPv4 or IPv6 neighbour. */
static void route_via(struct page_text *t, uint32_t nh)
{
	const struct net_addr addr = neighbour_addr(nh);
	const struct adj *adj = &dp_get()->adj[nh];
	char via[FMT_ADDR_MAX];
	page_print(t, "\"port\":\"%s\",\"via\":\"%s\"", dp_name(dp_get(), adj->interface),
	           fmt_addr(via, addr.w));
}

/* The members after the prefix: at most 16, which fit into an item; of the others the number. `host`:
 * the prefix is the address of the neighbour itself. */
static void route_to(struct page_text *t, uint32_t nh, bool host)
{
	uint32_t member;
	unsigned i = 0;
	if (dp_is_group(nh)) {
		page_print(t, "\"kind\":\"static\",\"members\":[");
		for (; (member = dp_member_at(dp_get(), nh, i)) != NH_NONE; i++) {
			if (i >= MEMBERS_LISTED)
				continue;
			page_print(t, "%s{", i ? "," : "");
			if (member >= NH_NEIGHBOUR)
				route_via(t, member);
			else
				page_print(t, "\"kind\":\"%s\"", dp_special(member));
			page_print(t, "}");
		}
		page_print(t, "]");
		if (i > MEMBERS_LISTED)
			page_print(t, ",\"more\":%u", i - MEMBERS_LISTED);
		page_print(t, "}");
	} else if (nh < NH_CONNECTED) {
		page_print(t, "\"kind\":\"%s\"}", dp_special(nh));
	} else if (nh < NH_NEIGHBOUR) {
		page_print(t, "\"kind\":\"connected\",\"port\":\"%s\"}",
		           dp_name(dp_get(), nh - NH_CONNECTED));
	} else {
		page_print(t, "\"kind\":\"%s\",", host ? "neighbour" : "static");
		route_via(t, nh);
		page_print(t, ",\"resolved\":%s}",
		           dp_get()->adj[nh].state == ADJ_FORWARD ? "true" : "false");
	}
}

static void route(struct page_text *t, const struct fib4_route *r)
{
	const bool neighbour = r->nh >= NH_NEIGHBOUR && r->nh < NH_NEIGHBOUR6 && r->plen == 32;
	char prefix[FMT_PREFIX_MAX];
	page_print(t, "\n{\"prefix\":\"%s\",", fmt_prefix(prefix, r->prefix, r->plen));
	route_to(t, r->nh,
	         neighbour && arp_neigh_ip(&neighbours.arp, r->nh - NH_NEIGHBOUR) == r->prefix);
}

/* The walk is in order of prefix. A route that is added or removed during the walk may be listed or
 * not; all others are listed. */
static bool part_routes(struct page_walk *w, struct page_text *t)
{
	struct fib4_route r;
	if (w->item == 0)
		page_print(t, "{\"total\":%u,\"routes\":[",
		           forwarding.ready ? fib_count(&forwarding.fib) : 0);
	if (!forwarding.ready || w->item >= page_number(w->query, "limit", UINT32_MAX) ||
	    !fib4_next(&forwarding.fib, &w->cursor.fib, &r)) {
		page_print(t, "]");
		return false;
	}
	page_print(t, "%s", page_comma(w));
	route(t, &r);
	return true;
}

static void route6(struct page_text *t, const struct fib6_route *r)
{
	char prefix[FMT_PREFIX6_MAX];
	page_print(t, "\n{\"prefix\":\"%s\",\"advertised\":%s,",
	           fmt_prefix6(prefix, r->prefix.w, r->plen),
	           routes_is_advertised(&r->prefix, r->plen) ? "true" : "false");
	route_to(t, r->nh, false);
}

static bool part_routes6(struct page_walk *w, struct page_text *t)
{
	struct fib6_route r;
	if (w->item == 0)
		page_print(t, ",\"total6\":%u,\"routes6\":[",
		           forwarding.ready ? fib_count(&forwarding.fib6) : 0);
	if (!forwarding.ready || w->item >= page_number(w->query, "limit", UINT32_MAX) ||
	    !fib6_next(&forwarding.fib6, &w->cursor.fib, &r)) {
		page_print(t, "]}\n");
		return false;
	}
	page_print(t, "%s", page_comma(w));
	route6(t, &r);
	return true;
}

const page_part page_routes[] = {part_routes, part_routes6, NULL};

/* --- neighbours: /api/v1/neighbours.json?limit=N --- */

static void neighbour_mac(struct page_text *t, const uint8_t *mac)
{
	char text[FMT_MAC_MAX];
	if (eth_is_zero(mac))
		page_print(t, "null");
	else
		page_print(t, "\"%s\"", fmt_mac(text, mac));
}

static bool part_neighbours(struct page_walk *w, struct page_text *t)
{
	char ip[FMT_IP4_MAX];
	struct arp_entry e;
	unsigned cursor = (unsigned)w->cursor.n;
	if (w->item == 0)
		page_print(t, "{\"neighbours\":[");
	if (!forwarding.ready || w->item >= page_number(w->query, "limit", UINT32_MAX) ||
	    !arp_next(&neighbours.arp, &cursor, core_now_ns(), &e)) {
		page_print(t, "]");
		return false;
	}
	w->cursor.n = cursor;
	page_print(t, "%s\n{\"address\":\"%s\",\"mac\":", page_comma(w), fmt_ip4(ip, e.ip));
	neighbour_mac(t, e.mac);
	page_print(t, ",\"port\":\"%s\",\"state\":\"%s\",\"age_s\":%llu,\"waiting\":%u}",
	           dp_name(dp_get(), e.interface), arp_state_name(e.state),
	           (ull)(e.age_ns / 1000000000u), e.pending);
	return true;
}

static bool part_neighbours6(struct page_walk *w, struct page_text *t)
{
	char addr[FMT_IP6_MAX];
	struct nd_entry e;
	unsigned cursor = (unsigned)w->cursor.n;
	if (w->item == 0)
		page_print(t, ",\"neighbours6\":[");
	if (!forwarding.ready || w->item >= page_number(w->query, "limit", UINT32_MAX) ||
	    !nd_next(&neighbours.nd, &cursor, core_now_ns(), &e)) {
		page_print(t, "]}\n");
		return false;
	}
	w->cursor.n = cursor;
	page_print(t, "%s\n{\"address\":\"%s\",\"mac\":", page_comma(w), fmt_ip6(addr, e.addr.w));
	neighbour_mac(t, e.mac);
	page_print(t, ",\"port\":\"%s\",\"state\":\"%s\",\"router\":%s,\"age_s\":%llu,"
	              "\"waiting\":%u}", dp_name(dp_get(), e.interface), nd_state_name(e.state),
	           e.role == ND_ROLE_ROUTER ? "true" : "false", (ull)(e.age_ns / 1000000000u),
	           e.pending);
	return true;
}

const page_part page_neighbours[] = {part_neighbours, part_neighbours6, NULL};

/* --- TCP connections by core and state --- */

static bool part_tcp(struct page_walk *w, struct page_text *t)
{
	uint32_t n;
	if (w->item == 0)
		page_print(t, "{\"cores\":[");
	if (w->item >= self.info->cores) {
		page_print(t, "]}\n");
		return false;
	}
	page_print(t, "%s\n{\"core\":%u", page_comma(w), w->item);
	for (unsigned s = TCP_SYN_SENT; s < DP_TCP_STATES; s++)
		if (stats_tcp(w->item, (enum tcp_state)s, &n))
			page_print(t, ",\"%s\":%u", stats_tcp_state((enum tcp_state)s), n);
	page_print(t, "}");
	return true;
}

const page_part page_tcp[] = {part_tcp, NULL};

/* --- health: ok, or a line for each fault --- */

static bool port_is_down(unsigned p)
{
	return dp_in_use(&dp_get()->interface[p]) && !dp_link_is_up(dp_get(), p);
}

unsigned page_health_status(void)
{
	bool bad = !running.applied || !forwarding.ready || routes_refused();
	for (unsigned p = 0; p < core_port_count(); p++)
		bad |= port_is_down(p);
	for (unsigned c = 0; c < self.info->cores; c++)
		bad |= self.info->status[c].state == CORE_DEAD;
	return bad ? 503 : 200;
}

static bool part_health(struct page_walk *w, struct page_text *t)
{
	if (w->item)
		return false;
	if (page_health_status() == 200)
		page_print(t, "ok\n");
	if (!running.applied)
		page_print(t, "the configuration is not applied\n");
	if (!forwarding.ready)
		page_print(t, "there are no forwarding tables\n");
	if (routes_refused())
		page_print(t, "%u routes did not fit\n", routes_refused());
	for (unsigned p = 0; p < core_port_count(); p++)
		if (port_is_down(p))
			page_print(t, "eth%u is down\n", p);
	for (unsigned c = 0, reported = 0; c < self.info->cores && reported < 16; c++)
		if (self.info->status[c].state == CORE_DEAD) {
			page_print(t, "core %u is dead\n", c);
			reported++;
		}
	return true;
}

const page_part page_health[] = {part_health, NULL};

/* --- /config --- */

void page_write_public(void *ctx, const char *text, size_t len)
{
	struct page_text *t = ctx;
	struct text public;
	if (config_hides((struct text){text, len}, &public))
		page_print(t, "! %.*s: not shown\n", (int)public.len, public.at);
	else
		fmt_put_bytes(&t->out, text, len);
}

static bool part_config(struct page_walk *w, struct page_text *t)
{
	if (w->item == 0)
		w->cursor.config.number = running.number;
	t->broken = w->cursor.config.number != running.number;
	return !t->broken &&
	       config_print_next(&running.config, &w->cursor.config.at, page_write_public, t);
}

const page_part page_config[] = {part_config, NULL};
