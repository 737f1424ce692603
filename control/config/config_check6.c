/*
 * Checks of IPv6 in the configuration as a whole; see config.h, invariant 2. The rules are those of
 * config_check.c; link-local addresses are added.
 */
#include "control/config/config.h"
#include "lib/assert.h"
#include "lib/fmt.h"
#include "net/ip6.h"

/* The name of an interface, for an error. */
#define NAME(c, n) config_name((char[CONFIG_IF_NAME_SIZE]){0}, (c), (n))

/* An address or prefix as the word of an error. */
#define WORD_IP6(addr) text_of(fmt_ip6((char[FMT_IP6_MAX]){0}, (addr)))
#define WORD_PREFIX6(prefix, plen) \
	text_of(fmt_prefix6((char[FMT_PREFIX6_MAX]){0}, (prefix), (plen)))

/* Our address whose subnet contains addr, and in *interface its interface; NULL: there is none. */
static const struct config_address6 *subnet_of(const struct config *c, const struct net_addr *addr,
                                               unsigned *interface)
{
	for (unsigned i = 0; i < c->interfaces; i++) {
		const struct config_interface *on = &c->interface[i];
		for (unsigned k = 0; k < on->address6_count; k++) {
			const struct config_address6 *a = &on->address6[k];
			if (ip6_in_prefix(addr, &a->addr, a->plen)) {
				*interface = i;
				return a;
			}
		}
	}
	return NULL;
}

int config_connected6(const struct config *c, const struct net_addr *addr)
{
	unsigned interface;
	return subnet_of(c, addr, &interface) != NULL ? (int)interface : -1;
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

static int check_interface(const struct config *c, unsigned interface, struct text_error *err)
{
	const struct config_interface *i = &c->interface[interface];
	char word[16];
	if (i->ipv6 && i->mtu != 0 && i->mtu < CONFIG_MTU_IP6_MIN) {
		fmt_format(word, sizeof word, "%u", i->mtu);
		return text_fail(err, i->mtu_line, text_of(word),
		                 "IPv6, enabled at line %u on %s, needs an MTU of at least %d "
		                 "(RFC 8200 5)",
		                 i->ipv6_line, NAME(c, interface), CONFIG_MTU_IP6_MIN);
	}
	/* RFC 4861 6.2.1: AdvDefaultLifetime MUST be zero, or at least MaxRtrAdvInterval */
	uint32_t interval = i->ra_interval_s ? i->ra_interval_s : CONFIG_RA_INTERVAL_DEFAULT_S;
	if (i->ra_lifetime_s != 0 && i->ra_lifetime_s < interval) {
		fmt_format(word, sizeof word, "%u", i->ra_lifetime_s);
		return text_fail(err, i->ra_lifetime_line, text_of(word),
		                 "the lifetime must be 0, or no less than the interval of %u seconds "
		                 "at which %s is advertised", interval, NAME(c, interface));
	}
	return 0;
}

/* Checks two addresses against each other. Both may be of one subnet only on one interface. The
 * error is reported at the later line. */
static int check_pair(const struct config *c, unsigned interface_a, const struct config_address6 *a,
                      unsigned interface_b, const struct config_address6 *b, struct text_error *err)
{
	if (b->line < a->line) {
		const struct config_address6 *t = a;
		unsigned interface = interface_a;
		a = b, b = t;
		interface_a = interface_b, interface_b = interface;
	}
	if (net_addr_equal(&a->addr, &b->addr))
		return text_fail(err, b->line, WORD_IP6(&b->addr),
		                 "this address is already that of %s, at line %u",
		                 NAME(c, interface_a), a->line);
	unsigned shorter = a->plen < b->plen ? a->plen : b->plen;
	if (!ip6_in_prefix(&a->addr, &b->addr, shorter) ||
	    (interface_a == interface_b && a->plen == b->plen))
		return 0;
	char text[FMT_PREFIX6_MAX];
	const struct net_addr subnet = ip6_prefix_of(&a->addr, a->plen);
	return text_fail(err, b->line, WORD_PREFIX6(&b->addr, b->plen),
	                 "the subnet overlaps %s of %s, at line %u",
	                 fmt_prefix6(text, &subnet, a->plen), NAME(c, interface_a), a->line);
}

static int check_interfaces(const struct config *c, struct text_error *err)
{
	/* n and m number all possible addresses: at most 512, so a check of all pairs is cheap. */
	const unsigned all = c->interfaces * CONFIG_ADDRESSES_MAX;
	int error = 0;
	for (unsigned interface = 0; error == 0 && interface < c->interfaces; interface++)
		error = check_interface(c, interface, err);
	for (unsigned n = 0; error == 0 && n < all; n++) {
		unsigned interface_a = n / CONFIG_ADDRESSES_MAX, a = n % CONFIG_ADDRESSES_MAX;
		if (a >= c->interface[interface_a].address6_count)
			continue;
		for (unsigned m = n + 1; error == 0 && m < all; m++) {
			unsigned interface_b = m / CONFIG_ADDRESSES_MAX;
			unsigned b = m % CONFIG_ADDRESSES_MAX;
			if (b < c->interface[interface_b].address6_count)
				error = check_pair(
					c, interface_a, &c->interface[interface_a].address6[a],
					interface_b, &c->interface[interface_b].address6[b], err);
		}
	}
	return error;
}

/* --- neighbours --- */

/* Checks a next hop or static neighbour on the link of the interface with that key. It must be on
 * that link and not be an address of ours. Only a next hop may have the key CONFIG_INTERFACE_ANY: the
 * text names no interface, and no subnet contains the next hop. */
static int check_neighbour(const struct config *c, const struct net_addr *addr, uint32_t key,
                           uint32_t line, const char *what, struct text_error *err)
{
	char name[CONFIG_IF_NAME_SIZE];
	const int interface = key == CONFIG_INTERFACE_ANY ? -1 : config_number(c, key);
	unsigned at;
	if (is_own(c, addr))
		return text_fail(err, line, WORD_IP6(addr), "%s is this machine's own address", what);
	if (key != CONFIG_INTERFACE_ANY && (interface < 0 || !c->interface[interface].ipv6))
		return text_fail(err, line, WORD_IP6(addr), "%s is on %s, which takes no part in IPv6",
		                 what, config_key_name(name, key));
	if (interface >= 0 && config_is_loopback(&c->interface[interface]))
		return text_fail(err, line, WORD_IP6(addr),
		                 "%s is on %s, a loopback, which has no neighbours", what,
		                 config_key_name(name, key));
	if (ip6_is_link_local(addr)) {
		if (net_addr_equal(addr, &c->interface[interface].link_local6))
			return text_fail(err, line, WORD_IP6(addr), "%s is this machine's own address",
			                 what);
		return 0;
	}
	if (key == CONFIG_INTERFACE_ANY)
		return 0; /* another route leads to it */
	const struct config_address6 *own = subnet_of(c, addr, &at);
	if (own == NULL)
		return text_fail(err, line, WORD_IP6(addr),
		                 "%s does not lie on the subnet of any interface", what);
	if ((int)at != interface)
		return text_fail(err, line, WORD_IP6(addr), "%s lies on a subnet of %s, not of %s",
		                 what, NAME(c, at), config_key_name(name, key));
	if (ip6_is_subnet_router(addr, &own->addr, own->plen))
		return text_fail(err, line, WORD_IP6(addr),
		                 "%s is the Subnet-Router anycast address of a subnet of %s "
		                 "(RFC 4291 2.6.1)", what, NAME(c, at));
	return 0;
}

static int check_neighbours(const struct config *c, struct text_error *err)
{
	for (unsigned i = 0; i < c->neighbour6_count; i++) {
		const struct config_neighbour6 *n = &c->neighbour6[i];
		for (unsigned k = 0; k < i; k++)
			if (c->neighbour6[k].interface == n->interface &&
			    net_addr_equal(&c->neighbour6[k].addr, &n->addr))
				return text_fail(err, n->line, WORD_IP6(&n->addr),
				                 "this neighbour already stands at line %u",
				                 c->neighbour6[k].line);
		int error = check_neighbour(c, &n->addr, n->interface, n->line, "the neighbour", err);
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

/* The slot of prefix/plen, or the free slot for it. */
static const uint32_t *route_slot(const struct route_table *t, const struct net_addr *prefix,
                                  unsigned plen)
{
	/* A Fibonacci hashing step for each half: the upper bits depend on all earlier bits. The
	 * operator writes the text, so collisions are not an attack. */
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

/* Refuses a static route of the same prefix as a connected route of the address. */
static int check_route_hides(const struct config *c, const struct route_table *t,
                             const struct config_address6 *a, unsigned interface,
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
	                 "%s reaches this prefix itself, by its address at line %u",
	                 NAME(c, interface), a->line);
}

uint32_t config_route6_first(const struct config *c, const uint32_t *scratch,
                             const struct net_addr *prefix, unsigned plen)
{
	const uint32_t *mine = scratch + config_scratch_words(c->route_count);
	const struct route_table t = {c->routes6, mine, config_scratch_words(c->route6_count) - 1};
	return *route_slot(&t, prefix, plen) - 1; /* a free slot gives CONFIG_ROUTE_NONE */
}

/* Refuses b if it conflicts with a, an earlier route of the same prefix. */
static int check_beside(const struct config_route6 *a, const struct config_route6 *b,
                        struct text_error *err)
{
	const struct text word = WORD_PREFIX6(&b->prefix, b->plen);
	if (a->kind == b->kind && a->interface == b->interface && net_addr_equal(&a->next_hop, &b->next_hop))
		return text_fail(err, b->line, word, "this prefix has this route already, at line %u",
		                 a->line);
	if (a->distance == b->distance && (a->kind || b->kind))
		return text_fail(err, b->line, word,
		                 "the prefix already has a route of this distance, at line %u, and "
		                 "one of the two has no next hop", a->line);
	return 0;
}

/* Adds route i to the chain of route `first`, which has the same prefix. */
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
		if (r->kind != CONFIG_ROUTE_VIA || (good != NULL && good->interface == r->interface &&
		                 net_addr_equal(&good->next_hop, &r->next_hop)))
			continue;
		int error = check_neighbour(c, &r->next_hop, r->interface, r->line, "the next hop", err);
		if (error != 0)
			return error;
		good = r;
	}
	for (unsigned n = 0; n < c->interfaces; n++) {
		for (unsigned k = 0; k < c->interface[n].address6_count; k++) {
			int error = check_route_hides(c, t, &c->interface[n].address6[k], n, err);
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
