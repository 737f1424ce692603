/*
 * `show ip route`, `show ipv6 route`: the prefixes of the tables and their routes. docs/console.md
 * specifies the form.
 *
 * The prefixes come from the forwarding tables, the routes of each from the routing information
 * base.
 */
#include "control/cli/show.h"
#include "control/console/shell.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/tables.h"
#include "dataplane/state.h"
#include "net/fpm/fpm.h"
#include "net/nd.h"
#include "control/forwarding/routes.h"
#include "control/forwarding/subnets.h"
#include "lib/fmt.h"
#include "net/ip6.h"

#define PREFIX_WIDTH 18
#define PREFIX_WIDTH6 34
#define ROUTES_SHOWN_MAX 2000 /* more would block the console, and with one CPU the traffic */

static const char *prefix_text(char buf[FMT_PREFIX6_MAX], const struct rib_prefix *p)
{
	return p->six ? fmt_prefix6(buf, p->addr.w, p->plen)
	              : fmt_prefix(buf, net_addr_to_ip4(&p->addr), p->plen);
}

static void print_prefix(struct shell *sh, char source, const struct rib_prefix *p)
{
	char text[FMT_PREFIX6_MAX];
	if (p->six)
		shell_print(sh, "%c %-34s ", source, prefix_text(text, p));
	else
		shell_print(sh, "%c %-18s ", source, prefix_text(text, p));
}

/* Prints a next hop that is not a group. */
static void print_hop(struct shell *sh, const struct rib_prefix *p, uint32_t nh)
{
	char text[FMT_ADDR_MAX];
	const struct dp_state *v = dp_get();
	if (nh < NH_CONNECTED) {
		shell_print(sh, "%s", dp_special(nh));
		return;
	}
	if (nh < NH_NEIGHBOUR) {
		shell_print(sh, "connected %s", dp_name(v, nh - NH_CONNECTED));
		return;
	}
	const struct net_addr addr = neighbour_addr(nh);
	const bool host = !p->six && p->plen == 32 && net_addr_equal(&addr, &p->addr);
	shell_print(sh, "%s %s %s", host ? "neighbour" : "via", fmt_addr(text, addr.w),
	            dp_name(v, v->adj[nh].interface));
}

static const char *unresolved(uint32_t nh)
{
	return nh >= NH_NEIGHBOUR && dp_get()->adj[nh].state != ADJ_FORWARD ? " (unresolved)" : "";
}

/* --- the routes of a prefix --- */

/* Routes of the routing engine have the letters of FRRouting. */
static char letter(const struct rib_route *r)
{
	static const char of[RIB_SOURCES] = {
		[RIB_LOCAL] = 'L', [RIB_CONNECTED] = 'C', [RIB_STATIC] = 'S',
		[RIB_TEST] = 'T', [RIB_LEASED] = 'H', [RIB_ADVERTISED] = 'A', [RIB_HOST] = 'N'};
	return r->source == RIB_ENGINE ? fpm_protocol_letter((enum fpm_protocol)r->hop.origin)
	                               : of[r->source];
}

/* The distance of routes whose distance varies, "advertised", "engine" and "stale". */
static void print_distance(struct shell *sh, const struct rib_route *r)
{
	const bool engine = r->source == RIB_ENGINE;
	if (r->source == RIB_STATIC || r->source == RIB_TEST || r->source == RIB_LEASED || engine)
		shell_print(sh, " [%u]", r->hop.distance);
	if (engine || r->source == RIB_ADVERTISED)
		shell_print(sh, " %s%s", engine ? "engine" : "advertised", r->stale ? " stale" : "");
}

/* "[1] for 10.9.9.9": the distance, and the gateway if another route leads to it. */
static void print_origin(struct shell *sh, const struct rib_route *r)
{
	char text[FMT_ADDR_MAX];
	print_distance(sh, r);
	if (r->reach == RIB_FAR && r->hops)
		shell_print(sh, " for %s", fmt_addr(text, r->hop.via.w));
}

static const char *why_not(const struct rib_prefix *p, const struct rib_route *r)
{
	const struct net_addr *via = &r->hop.via;
	if (r->reach == RIB_CLOSED && !p->six && !net_addr_is_ip4(via) &&
	    r->hop.interface == RIB_ANY_INTERFACE && subnet_interface(via) < 0)
		return "IPv6 next hop on no subnet of ours";
	switch (r->reach) {
	case RIB_NEIGHBOUR:
		return "link down";
	case RIB_FAR:
		return "no route to it";
	case RIB_CLOSED:
		return "interface takes no part";
	case RIB_FULL:
		return "no room for its neighbour";
	}
	return "?";
}

/* Prints a route that is not used: it cannot be, not yet, or (`why`) another route is preferred. */
static void print_unused(struct shell *sh, const struct rib_prefix *p, const struct rib_route *r,
                         const char *why)
{
	char text[FMT_ADDR_MAX];
	print_prefix(sh, letter(r), p);
	if (r->hop.nh != NH_NONE)
		print_hop(sh, p, r->hop.nh);
	else
		shell_print(sh, "via %s", fmt_addr(text, r->hop.via.w));
	print_distance(sh, r);
	shell_print(sh, " (%s)\n", r->waiting ? "its neighbour has not answered"
	                           : r->hops  ? why
	                                      : why_not(p, r));
}

/* Prints the routes that are used, a line for each next hop; `all`: then the others. */
static void print_routes(struct shell *sh, const struct rib_prefix *p, bool all)
{
	struct rib_route r;
	for (unsigned i = 0; rib_route(routes_rib(), p, i, &r); i++)
		for (unsigned k = 0; r.used && k < r.hops; k++) {
			print_prefix(sh, letter(&r), p);
			print_hop(sh, p, r.nh[k]);
			print_origin(sh, &r);
			shell_print(sh, "%s\n", unresolved(r.nh[k]));
		}
	for (unsigned i = 0; all && rib_route(routes_rib(), p, i, &r); i++)
		if (!r.used)
			print_unused(sh, p, &r, "not used");
}

/* --- routes in the tables --- */

static uint32_t table_get(const struct rib_prefix *p)
{
	return p->six ? fib6_get(&forwarding.fib6, &p->addr, p->plen)
	              : fib4_get(&forwarding.fib, net_addr_to_ip4(&p->addr), p->plen);
}

static bool table_next(bool six, struct fib_cursor *cursor, struct rib_prefix *p)
{
	struct fib4_route r;
	struct fib6_route r6;
	if (six ? !fib6_next(&forwarding.fib6, cursor, &r6) : !fib4_next(&forwarding.fib, cursor, &r))
		return false;
	*p = six ? (struct rib_prefix){r6.prefix, r6.plen, true}
	         : (struct rib_prefix){net_addr_ip4(r.prefix), r.plen, false};
	return true;
}

/* The longest prefix that covers this one, with all its routes. */
static void show_to(struct shell *sh, const struct net_addr *addr, unsigned longest, bool six)
{
	for (unsigned plen = longest + 1; plen-- > 0;) {
		const struct rib_prefix p = {ip6_prefix_of(addr, six ? plen : 96 + plen), (uint8_t)plen,
		                             six};
		if (table_get(&p) != FIB_NH_NONE) {
			print_routes(sh, &p, true);
			return;
		}
	}
	shell_print(sh, "no route\n");
}

/* An address, which is a prefix of all its bits, or a prefix. */
static bool parse(const char *word, bool six, struct net_addr *addr, unsigned *plen)
{
	const struct text text = text_of(word);
	uint32_t four;
	*plen = six ? 128 : 32;
	if (six)
		return text_parse_ip6(text, addr) == E_OK || text_parse_prefix6(text, addr, plen) == E_OK;
	if (text_parse_ip4(text, &four) != E_OK && text_parse_prefix(text, &four, plen) != E_OK)
		return false;
	*addr = net_addr_ip4(four);
	return true;
}

static void show(struct shell *sh, bool six)
{
	const uint32_t count = fib_count(six ? &forwarding.fib6 : &forwarding.fib);
	struct fib_cursor cursor = {0};
	struct rib_prefix p;
	struct net_addr addr;
	unsigned n = 0, plen;
	if (sh->argc == 1 && !parse(sh->argv[0], six, &addr, &plen)) {
		shell_print(sh, "%s is neither an %saddress nor a prefix\n", sh->argv[0], six ? "IPv6 " : "");
		return;
	}
	if (sh->argc == 1) {
		show_to(sh, &addr, plen, six);
		return;
	}
	for (; n < ROUTES_SHOWN_MAX && table_next(six, &cursor, &p); n++)
		print_routes(sh, &p, false);
	if (n < count)
		shell_print(sh, "... %u more\n", count - n);
	shell_print(sh, "%u prefixes", count);
	if (routes_refused())
		shell_print(sh, ", %u refused: table full", routes_refused());
	if (routes_rib()->idle)
		shell_print(sh, ", %u inactive", routes_rib()->idle);
	shell_print(sh, "\n");
}

/* --- inactive routes --- */

static void print_idle(struct shell *sh, const struct rib_prefix *p)
{
	struct rib_route r;
	unsigned i = 0;
	for (; rib_route(routes_rib(), p, i, &r); i++)
		if (!r.used || r.source != RIB_HOST) /* a host's route may be in their place */
			print_unused(sh, p, &r, "table full");
	if (i)
		return;
	print_prefix(sh, '?', p);
	shell_print(sh, "too many different routes\n");
}

static void show_idle(struct shell *sh, bool six)
{
	struct rib_prefix p;
	uint32_t cursor = 0;
	unsigned n = 0;
	while (n < ROUTES_SHOWN_MAX && rib_next_idle(routes_rib(), six, &cursor, &p)) {
		print_idle(sh, &p);
		n++;
	}
	shell_print(sh, "%s%u prefixes\n", n == ROUTES_SHOWN_MAX ? "... no fewer than " : "", n);
}

/* --- commands --- */

void show_route(struct shell *sh)
{
	if (forwarding.ready)
		show(sh, false);
	else
		shell_print(sh, "no table\n");
}

void show_route6(struct shell *sh)
{
	if (forwarding.ready)
		show(sh, true);
	else
		shell_print(sh, "no table\n");
}

void show_route_idle(struct shell *sh)
{
	if (forwarding.ready)
		show_idle(sh, false);
	else
		shell_print(sh, "no table\n");
}

void show_route6_idle(struct shell *sh)
{
	if (forwarding.ready)
		show_idle(sh, true);
	else
		shell_print(sh, "no table\n");
}
