/* `show ipv6`: in the form of show.c, which has the rules. */
#include "control/inside.h"

#include "lib/fmt.h"
#include "net/ip6.h"

typedef unsigned long long ull;

/* --- show ipv6 route --- */

/* One of its next hops. */
static void show_way(struct shell *sh, const struct fib6_route *r, uint32_t nh)
{
	char prefix[FMT_PREFIX6_MAX], via[FMT_IP6_MAX], name[VIEW_NAME_MAX];
	const struct view *v = view_get();
	const char *how = autoconfig_made(&r->prefix, r->plen) ? " advertised" : "";
	fmt_prefix6(prefix, r->prefix.w, r->plen);
	if (nh < NH_CONNECTED) {
		shell_print(sh, "%-34s %s%s\n", prefix, view_special(nh), how);
	} else if (nh < NH_NEIGHBOUR) {
		shell_print(sh, "%-34s connected %s%s\n", prefix,
		            view_name(name, v, nh - NH_CONNECTED), how);
	} else {
		const struct net_addr addr = nd_neigh_addr(&plane.nd, nh - NH_NEIGHBOUR6);
		const struct adj *adj = &v->adj[nh];
		shell_print(sh, "%-34s via %s %s%s%s\n", prefix, fmt_ip6(via, addr.w),
		            view_name(name, v, adj->interface), how,
		            adj->state == ADJ_FORWARD ? "" : " (unresolved)");
	}
}

/* A line for each next hop. */
static void show_one_route(struct shell *sh, const struct fib6_route *r)
{
	uint32_t member;
	if (!view_is_group(r->nh))
		show_way(sh, r, r->nh);
	else
		for (unsigned i = 0; (member = view_member_at(view_get(), r->nh, i)) != NH_NONE; i++)
			show_way(sh, r, member);
}

/* The longest prefix that covers addr. */
static bool covering_route(const struct net_addr *addr, struct fib6_route *r)
{
	for (unsigned plen = 129; plen-- > 0;) {
		const struct net_addr prefix = ip6_prefix_of(addr, plen);
		uint32_t nh = fib6_get(&plane.fib6, &prefix, plen);
		*r = (struct fib6_route){prefix, nh, (uint8_t)plen};
		if (nh != FIB_NH_NONE)
			return true;
	}
	return false;
}

static void show_route_to(struct shell *sh, const char *text)
{
	struct fib6_route r;
	struct net_addr addr;
	unsigned plen;
	if (text_parse_ip6(text_of(text), &addr) != E_OK &&
	    text_parse_prefix6(text_of(text), &addr, &plen) != E_OK)
		shell_print(sh, "%s is neither an IPv6 address nor a prefix\n", text);
	else if (covering_route(&addr, &r))
		show_one_route(sh, &r);
	else
		shell_print(sh, "no route\n");
}

static bool show_next_route(struct shell *sh, struct fib_cursor *cursor)
{
	struct fib6_route r;
	if (!fib6_next(&plane.fib6, cursor, &r))
		return false;
	show_one_route(sh, &r);
	return true;
}

void show_route6(struct shell *sh, int argc, char **argv)
{
	static const struct show_routes ip6 = {&plane.fib6, show_next_route, show_route_to};
	show_routes(&ip6, sh, argc, argv);
}

/* --- show ipv6 neighbors --- */

void show_neighbours6(struct shell *sh, int argc, char **argv)
{
	char addr[FMT_IP6_MAX], mac[FMT_MAC_MAX], name[VIEW_NAME_MAX];
	struct nd_entry e;
	(void)argc;
	(void)argv;
	shell_print(sh, "%-30s %-17s %-10s %-11s %-6s %8s %7s\n", "address", "mac", "port", "state",
	            "router", "age_s", "waiting");
	for (unsigned cursor = 0;
	     plane.fib_ready && nd_next(&plane.nd, &cursor, core_now_ns(), &e);)
		shell_print(sh, "%-30s %-17s %-10s %-11s %-6s %8llu %7u\n", fmt_ip6(addr, e.addr.w),
		            eth_is_zero(e.mac) ? "-" : fmt_mac(mac, e.mac),
		            view_name(name, view_get(), e.port), nd_state_name(e.state), e.role == ND_ROLE_ROUTER ? "yes" : "no",
		            (ull)(e.age_ns / 1000000000u), e.pending);
}
