/*
 * What only the whole configuration can tell of IPv6; see config.h, invariant 2. It is
 * config_check.c once more: the same rules, other addresses, and those of links beside them.
 */
#include "control/config/config.h"
#include "lib/assert.h"
#include "lib/fmt.h"
#include "net/ip6.h"

/* An interface in the text of an error. */
#define NAME(c, n) config_name((char[CONFIG_IF_NAME_SIZE]){0}, (c), (n))

/* An address as the word of an error. */
#define WORD_IP6(addr) text_of(fmt_ip6((char[FMT_IP6_MAX]){0}, (addr)))
#define WORD_PREFIX6(prefix, plen) \
	text_of(fmt_prefix6((char[FMT_PREFIX6_MAX]){0}, (prefix), (plen)))

/* The address of ours whose subnet holds addr, or NULL; *port says whose it is. */
static const struct config_address6 *subnet_of(const struct config *c, const struct net_addr *addr,
                                               unsigned *port)
{
	for (unsigned i = 0; i < c->interfaces; i++) {
		const struct config_interface *interface = &c->interface[i];
		for (unsigned k = 0; k < interface->address6_count; k++) {
			const struct config_address6 *a = &interface->address6[k];
			if (ip6_in_prefix(addr, &a->addr, a->plen)) {
				*port = i;
				return a;
			}
		}
	}
	return NULL;
}

int config_connected6(const struct config *c, const struct net_addr *addr)
{
	unsigned port;
	return subnet_of(c, addr, &port) != NULL ? (int)port : -1;
}

static bool is_own(const struct config *c, const struct net_addr *addr)
{
	for (unsigned i = 0; i < c->interfaces; i++)
		for (unsigned k = 0; k < c->interface[i].address6_count; k++)
			if (net_addr_equal(&c->interface[i].address6[k].addr, addr))
				return true;
	return false;
}

/* --- interfaces --- */

static int check_interface(const struct config *c, unsigned number, struct text_error *err)
{
	const struct config_interface *i = &c->interface[number];
	char word[16];
	if (i->ipv6 && i->mtu != 0 && i->mtu < CONFIG_MTU_IP6_MIN) {
		fmt_format(word, sizeof word, "%u", i->mtu);
		return text_fail(err, i->mtu_line, text_of(word),
		                 "IPv6, which line %u wants of %s, needs an MTU of %d (RFC 8200 5)",
		                 i->ipv6_line, NAME(c, number), CONFIG_MTU_IP6_MIN);
	}
	/* RFC 4861 6.2.1: zero, or no less than the time to the next one */
	uint32_t interval = i->ra_interval_s ? i->ra_interval_s : CONFIG_RA_INTERVAL_DEFAULT_S;
	if (i->ra_lifetime_s != 0 && i->ra_lifetime_s < interval) {
		fmt_format(word, sizeof word, "%u", i->ra_lifetime_s);
		return text_fail(err, i->ra_lifetime_line, text_of(word),
		                 "the lifetime must be 0, or no less than the interval of %u seconds "
		                 "at which %s is advertised", interval, NAME(c, number));
	}
	return 0;
}

/* Two addresses, b the later one: may both be configured? Two of one subnet only on one port. */
static int check_pair(const struct config *c, unsigned port_a, const struct config_address6 *a,
                      unsigned port_b, const struct config_address6 *b, struct text_error *err)
{
	if (b->line < a->line) {
		const struct config_address6 *t = a;
		unsigned port = port_a;
		a = b, b = t;
		port_a = port_b, port_b = port;
	}
	if (net_addr_equal(&a->addr, &b->addr))
		return text_fail(err, b->line, WORD_IP6(&b->addr),
		                 "this address is already that of %s, at line %u", NAME(c, port_a),
		                 a->line);
	unsigned shorter = a->plen < b->plen ? a->plen : b->plen;
	if (!ip6_in_prefix(&a->addr, &b->addr, shorter) || (port_a == port_b && a->plen == b->plen))
		return 0;
	char text[FMT_PREFIX6_MAX];
	const struct net_addr subnet = ip6_prefix_of(&a->addr, a->plen);
	return text_fail(err, b->line, WORD_PREFIX6(&b->addr, b->plen),
	                 "the subnet overlaps %s of %s, at line %u",
	                 fmt_prefix6(text, &subnet, a->plen), NAME(c, port_a), a->line);
}

static int check_interfaces(const struct config *c, struct text_error *err)
{
	/* Number n of the flat list of all possible addresses; at most 512, so pairs are cheap. */
	const unsigned all = c->interfaces * CONFIG_ADDRESSES_MAX;
	int error = 0;
	for (unsigned port = 0; error == 0 && port < c->interfaces; port++)
		error = check_interface(c, port, err);
	for (unsigned n = 0; error == 0 && n < all; n++) {
		unsigned port_a = n / CONFIG_ADDRESSES_MAX, a = n % CONFIG_ADDRESSES_MAX;
		if (a >= c->interface[port_a].address6_count)
			continue;
		for (unsigned m = n + 1; error == 0 && m < all; m++) {
			unsigned port_b = m / CONFIG_ADDRESSES_MAX, b = m % CONFIG_ADDRESSES_MAX;
			if (b < c->interface[port_b].address6_count)
				error = check_pair(c, port_a, &c->interface[port_a].address6[a], port_b,
				                   &c->interface[port_b].address6[b], err);
		}
	}
	return error;
}

/* --- neighbours --- */

/* A next hop or static neighbour on the link of the interface with that key, CONFIG_PORT_ANY when
 * the text named none and no subnet holds it, which is good for a next hop alone: on the link
 * indeed, and not ourselves. */
static int check_neighbour(const struct config *c, const struct net_addr *addr, uint32_t key,
                           uint32_t line, const char *what, struct text_error *err)
{
	char name[CONFIG_IF_NAME_SIZE];
	const int port = key == CONFIG_PORT_ANY ? -1 : config_number(c, key);
	unsigned at;
	if (is_own(c, addr))
		return text_fail(err, line, WORD_IP6(addr), "%s is this machine's own address", what);
	if (key != CONFIG_PORT_ANY && (port < 0 || !c->interface[port].ipv6))
		return text_fail(err, line, WORD_IP6(addr), "%s is on %s, which takes no part in IPv6",
		                 what, config_key_name(name, key));
	if (port >= 0 && config_is_loopback(&c->interface[port]))
		return text_fail(err, line, WORD_IP6(addr), "%s is on %s, where nobody is", what,
		                 config_key_name(name, key));
	if (ip6_is_link_local(addr)) {
		if (net_addr_equal(addr, &c->interface[port].link_local6))
			return text_fail(err, line, WORD_IP6(addr), "%s is this machine's own address",
			                 what);
		return 0;
	}
	if (key == CONFIG_PORT_ANY)
		return 0; /* another route leads to it */
	const struct config_address6 *own = subnet_of(c, addr, &at);
	if (own == NULL)
		return text_fail(err, line, WORD_IP6(addr),
		                 "%s does not lie on the subnet of any interface", what);
	if ((int)at != port)
		return text_fail(err, line, WORD_IP6(addr), "%s lies on a subnet of %s, not of %s",
		                 what, NAME(c, at), config_key_name(name, key));
	if (ip6_is_subnet_router(addr, &own->addr, own->plen))
		return text_fail(err, line, WORD_IP6(addr),
		                 "%s is the address of any router on a subnet of %s (RFC 4291 2.6.1)",
		                 what, NAME(c, at));
	return 0;
}

static int check_neighbours(const struct config *c, struct text_error *err)
{
	for (unsigned i = 0; i < c->neighbour6_count; i++) {
		const struct config_neighbour6 *n = &c->neighbour6[i];
		for (unsigned k = 0; k < i; k++)
			if (c->neighbour6[k].port == n->port &&
			    net_addr_equal(&c->neighbour6[k].addr, &n->addr))
				return text_fail(err, n->line, WORD_IP6(&n->addr),
				                 "this neighbour already stands at line %u",
				                 c->neighbour6[k].line);
		int error = check_neighbour(c, &n->addr, n->port, n->line, "the neighbour", err);
		if (error != 0)
			return error;
	}
	return 0;
}

/* --- routes: hashed as in config_check.c --- */

struct route_table {
	struct config_route6 *routes;
	const uint32_t *slot;
	uint32_t mask; /* slots - 1 */
};

/* The slot that holds prefix/plen, or the free one where it belongs. */
static const uint32_t *route_slot(const struct route_table *t, const struct net_addr *prefix,
                                  unsigned plen)
{
	/* A Fibonacci step for each half: the upper bits depend on all bits before. The text is the
	 * operator's own, so nobody aims at collisions. */
	uint64_t key = plen;
	for (unsigned i = 0; i < 4; i += 2) {
		key = (key ^ ((uint64_t)prefix->w[i] << 32 | prefix->w[i + 1])) * 0x9e3779b97f4a7c15u;
		key ^= key >> 32;
	}
	for (uint32_t i = (uint32_t)(key >> 16);; i++) {
		const uint32_t *slot = &t->slot[i & t->mask];
		if (*slot == 0)
			return slot;
		const struct config_route6 *r = &t->routes[*slot - 1];
		if (net_addr_equal(&r->prefix, prefix) && r->plen == plen)
			return slot;
	}
}

/* A static route must not stand for what an interface address says. */
static int check_route_hides(const struct config *c, const struct route_table *t,
                             const struct config_address6 *a, unsigned port,
                             struct text_error *err)
{
	const struct net_addr subnet = ip6_prefix_of(&a->addr, a->plen);
	uint32_t n = *route_slot(t, &subnet, a->plen);
	if (n == 0)
		n = *route_slot(t, &a->addr, 128);
	if (n == 0)
		return 0;
	const struct config_route6 *r = &t->routes[n - 1];
	return text_fail(err, r->line, WORD_PREFIX6(&r->prefix, r->plen),
	                 "%s reaches this prefix itself, by its address at line %u", NAME(c, port),
	                 a->line);
}

uint32_t config_route6_first(const struct config *c, const uint32_t *scratch,
                             const struct net_addr *prefix, unsigned plen)
{
	const uint32_t *mine = scratch + config_scratch_words(c->route_count);
	const struct route_table t = {c->routes6, mine, config_scratch_words(c->route6_count) - 1};
	return *route_slot(&t, prefix, plen) - 1; /* CONFIG_ROUTE_NONE where there is none */
}

/* May b, of the same prefix, stand beside a, which comes before it? */
static int check_beside(const struct config_route6 *a, const struct config_route6 *b,
                        struct text_error *err)
{
	const struct text word = WORD_PREFIX6(&b->prefix, b->plen);
	if (a->kind == b->kind && a->port == b->port && net_addr_equal(&a->next_hop, &b->next_hop))
		return text_fail(err, b->line, word, "this prefix has this route already, at line %u",
		                 a->line);
	if (a->distance == b->distance && (a->kind || b->kind))
		return text_fail(err, b->line, word,
		                 "of this distance the prefix has a route at line %u, and one of the two "
		                 "leads nowhere", a->line);
	return 0;
}

/* Puts route i, of the prefix of route `first`, into its chain. */
static int chain(struct config_route6 *routes, uint32_t first, uint32_t i, struct text_error *err)
{
	struct config_route6 *r = &routes[i];
	unsigned n = 1;
	for (uint32_t k = first; k != CONFIG_ROUTE_NONE; k = routes[k].more - 1, n++) {
		int error = check_beside(&routes[k], r, err);
		if (error != 0)
			return error;
	}
	if (n > CONFIG_ROUTES_EACH_MAX)
		return text_fail(err, r->line, WORD_PREFIX6(&r->prefix, r->plen),
		                 "a prefix has at most %d routes", CONFIG_ROUTES_EACH_MAX);
	r->follows = true;
	r->more = routes[first].more;
	routes[first].more = i + 1;
	return 0;
}

static int check_routes(const struct config *c, const struct route_table *t, uint32_t *slots,
                        struct text_error *err)
{
	const struct config_route6 *good = NULL; /* checked last: most routes share a few next hops */
	for (uint32_t i = 0; i < c->route6_count; i++) {
		struct config_route6 *r = &c->routes6[i];
		const uint32_t *slot = route_slot(t, &r->prefix, r->plen);
		r->more = 0;
		r->follows = false;
		if (*slot == 0)
			slots[slot - t->slot] = i + 1;
		else if (chain(c->routes6, *slot - 1, i, err) != 0)
			return E_INVAL;
		if (r->kind != CONFIG_ROUTE_VIA || (good != NULL && good->port == r->port &&
		                 net_addr_equal(&good->next_hop, &r->next_hop)))
			continue;
		int error = check_neighbour(c, &r->next_hop, r->port, r->line, "the next hop", err);
		if (error != 0)
			return error;
		good = r;
	}
	for (unsigned port = 0; port < c->interfaces; port++) {
		for (unsigned k = 0; k < c->interface[port].address6_count; k++) {
			int error = check_route_hides(c, t, &c->interface[port].address6[k], port, err);
			if (error != 0)
				return error;
		}
	}
	return 0;
}

int config_check6(const struct config *c, uint32_t *scratch, uint32_t scratch_words,
                  struct text_error *err)
{
	uint32_t slots = config_scratch_words(c->route6_count);
	assert(slots <= scratch_words);
	memset(scratch, 0, slots * sizeof *scratch);
	struct route_table t = {c->routes6, scratch, slots - 1};
	int error = check_interfaces(c, err);
	if (error == 0)
		error = check_routes(c, &t, scratch, err);
	if (error == 0)
		error = check_neighbours(c, err);
	return error;
}
