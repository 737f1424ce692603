/*
 * Checks of the configuration as a whole; see config.h, invariant 2.
 *
 * Routes are hashed by (prefix, length) into the caller's scratch: open addressing, linear probing,
 * at most half full. A slot holds the number of the first route of a prefix plus one; 0: free. The
 * table of IPv6 follows that of IPv4.
 */
#include "control/config/config.h"
#include "lib/assert.h"
#include "lib/fmt.h"
#include "net/ip4.h"

#define GOOD_HOPS 256u

/* The name of an interface, for an error. */
#define NAME(c, n) config_name((char[CONFIG_IF_NAME_SIZE]){0}, (c), (n))

/* An address or prefix as the word of an error. */
#define WORD_IP4(addr) text_of(fmt_ip4((char[FMT_IP4_MAX]){0}, (addr)))
#define WORD_PREFIX(prefix, plen) \
	text_of(fmt_prefix((char[FMT_PREFIX_MAX]){0}, (prefix), (plen)))

/* Our address whose subnet contains addr, and in *interface its interface; NULL: there is none. */
static const struct config_address *subnet_of(const struct config *c, uint32_t addr, int *interface)
{
	for (unsigned i = 0; i < c->interfaces; i++) {
		const struct config_interface *on = &c->interface[i];
		for (unsigned k = 0; k < on->address_count; k++) {
			const struct config_address *a = &on->address[k];
			if (ip4_in_prefix(addr, a->addr, a->plen)) {
				*interface = (int)i;
				return a;
			}
		}
	}
	return NULL;
}

static bool is_own(const struct config *c, uint32_t addr)
{
	for (unsigned i = 0; i < c->interfaces; i++)
		for (unsigned k = 0; k < c->interface[i].address_count; k++)
			if (c->interface[i].address[k].addr == addr)
				return true;
	return false;
}

/* Checks two addresses against each other. Both may be of one subnet only on one interface. The
 * error is reported at the later line. */
static int check_pair(const struct config *c, unsigned interface_a, const struct config_address *a,
                      unsigned interface_b, const struct config_address *b, struct text_error *err)
{
	if (b->line < a->line) {
		const struct config_address *t = a;
		unsigned interface = interface_a;
		a = b, b = t;
		interface_a = interface_b, interface_b = interface;
	}
	if (a->addr == b->addr)
		return text_fail(err, b->line, WORD_IP4(b->addr),
		                 "this address is already that of %s, at line %u",
		                 NAME(c, interface_a), a->line);
	unsigned shorter = a->plen < b->plen ? a->plen : b->plen;
	if (!ip4_in_prefix(a->addr, b->addr, shorter) ||
	    (interface_a == interface_b && a->plen == b->plen))
		return 0;
	char subnet[FMT_PREFIX_MAX];
	return text_fail(err, b->line, WORD_PREFIX(b->addr, b->plen),
	                 "the subnet overlaps %s of %s, at line %u",
	                 fmt_prefix(subnet, a->addr & ip4_prefix_mask(a->plen), a->plen),
	                 NAME(c, interface_a), a->line);
}

static int check_addresses(const struct config *c, struct text_error *err)
{
	/* n and m number all possible addresses: at most 512, so a check of all pairs is cheap. */
	const unsigned all = c->interfaces * CONFIG_ADDRESSES_MAX;
	for (unsigned n = 0; n < all; n++) {
		unsigned interface_a = n / CONFIG_ADDRESSES_MAX, a = n % CONFIG_ADDRESSES_MAX;
		if (a >= c->interface[interface_a].address_count)
			continue;
		for (unsigned m = n + 1; m < all; m++) {
			unsigned interface_b = m / CONFIG_ADDRESSES_MAX;
			unsigned b = m % CONFIG_ADDRESSES_MAX;
			if (b >= c->interface[interface_b].address_count)
				continue;
			int error = check_pair(
				c, interface_a, &c->interface[interface_a].address[a],
				interface_b, &c->interface[interface_b].address[b], err);
			if (error != 0)
				return error;
		}
	}
	return 0;
}

/* Checks a next hop or static ARP entry. It must be the address of a host that is not ours, on a
 * connected subnet. `far` permits other subnets too: another route leads to the next hop. */
static int check_neighbour(const struct config *c, uint32_t addr, bool far, uint32_t line,
                           const char *what, struct text_error *err)
{
	int interface;
	if (is_own(c, addr))
		return text_fail(err, line, WORD_IP4(addr), "%s is this router's own address", what);
	const struct config_address *own = subnet_of(c, addr, &interface);
	if (own == NULL && far && ip4_src_is_martian(addr))
		return text_fail(err, line, WORD_IP4(addr), "%s is not the address of a host",
		                 what);
	if (own == NULL && far)
		return 0;
	if (own == NULL)
		return text_fail(err, line, WORD_IP4(addr),
		                 "%s does not lie on the subnet of any interface", what);
	if (config_is_loopback(&c->interface[interface]))
		return text_fail(err, line, WORD_IP4(addr),
		                 "%s lies on the subnet of %s, a loopback, which has no neighbours",
		                 what, NAME(c, (unsigned)interface));
	if (!ip4_is_subnet_host(addr, own->plen))
		return text_fail(err, line, WORD_IP4(addr),
		                 "%s is the network or broadcast address of a subnet of %s", what,
		                 NAME(c, (unsigned)interface));
	return 0;
}

struct route_table {
	struct config_route *routes;
	const uint32_t *slot;
	uint32_t mask; /* slots - 1 */
};

/* The slot of prefix/plen, or the free slot for it. */
static const uint32_t *route_slot(const struct route_table *t, uint32_t prefix, unsigned plen)
{
	/* Fibonacci hashing: the upper bits of the product depend on all bits of the key. */
	uint64_t key = ((uint64_t)prefix << 6 | plen) * 0x9e3779b97f4a7c15u;
	for (uint32_t i = (uint32_t)(key >> 32);; i++) {
		const uint32_t *slot = &t->slot[i & t->mask];
		if (*slot == 0)
			return slot;
		const struct config_route *r = &t->routes[*slot - 1];
		if (r->prefix == prefix && r->plen == plen)
			return slot;
	}
}

/* Refuses a static route of the same prefix as a connected route of the address. */
static int check_route_hides(const struct config *c, const struct route_table *t,
                             const struct config_address *a, unsigned interface,
                             struct text_error *err)
{
	uint32_t n = *route_slot(t, a->addr & ip4_prefix_mask(a->plen), a->plen);
	if (n == 0)
		n = *route_slot(t, a->addr, 32);
	if (n == 0)
		return 0;
	const struct config_route *r = &t->routes[n - 1];
	return text_fail(err, r->line, WORD_PREFIX(r->prefix, r->plen),
	                 "%s reaches this prefix itself, by its address at line %u",
	                 NAME(c, interface), a->line);
}

uint32_t config_route_first(const struct config *c, const uint32_t *scratch, uint32_t prefix,
                            unsigned plen)
{
	const struct route_table t = {c->routes, scratch, config_scratch_words(c->route_count) - 1};
	return *route_slot(&t, prefix, plen) - 1; /* a free slot gives CONFIG_ROUTE_NONE */
}

const uint32_t *config_routes_near(const struct config *c, uint32_t *scratch, uint32_t scratch_words)
{
	uint32_t *const next = scratch, *const order = scratch + CONFIG_NEAR, sum = 0;
	if (c->route_count < CONFIG_NEAR)
		return NULL;
	assert(scratch_words >= CONFIG_NEAR + c->route_count); /* config_scratch_words gives twice the routes */
	memset(next, 0, CONFIG_NEAR * sizeof *next);
	for (uint32_t i = 0; i < c->route_count; i++)
		next[c->routes[i].prefix >> 16]++;
	for (uint32_t k = 0; k < CONFIG_NEAR; k++) {
		const uint32_t n = next[k];
		next[k] = sum;
		sum += n;
	}
	for (uint32_t i = 0; i < c->route_count; i++)
		order[next[c->routes[i].prefix >> 16]++] = i;
	return order;
}

/* Refuses b if it conflicts with a, an earlier route of the same prefix. */
static int check_beside(const struct config_route *a, const struct config_route *b,
                        struct text_error *err)
{
	const struct text word = WORD_PREFIX(b->prefix, b->plen);
	if (a->kind == b->kind && a->next_hop == b->next_hop)
		return text_fail(err, b->line, word, "this prefix has this route already, at line %u",
		                 a->line);
	if (a->distance == b->distance && (a->kind || b->kind))
		return text_fail(err, b->line, word,
		                 "the prefix already has a route of this distance, at line %u, and "
		                 "one of the two has no next hop", a->line);
	return 0;
}

/* Adds route i to the chain of route `first`, which has the same prefix. */
static int chain(struct config_route *routes, uint32_t first, uint32_t i, struct text_error *err)
{
	struct config_route *r = &routes[i];
	unsigned n = 1;
	for (uint32_t k = first; k != CONFIG_ROUTE_NONE; k = routes[k].more - 1, n++) {
		int error = check_beside(&routes[k], r, err);
		if (error != 0)
			return error;
	}
	if (n > CONFIG_ROUTES_EACH_MAX)
		return text_fail(err, r->line, WORD_PREFIX(r->prefix, r->plen),
		                 "a prefix has at most %d routes", CONFIG_ROUTES_EACH_MAX);
	r->follows = true;
	r->more = routes[first].more;
	routes[first].more = i + 1;
	return 0;
}

static int check_routes(const struct config *c, const struct route_table *t, uint32_t *slots,
                        struct text_error *err)
{
	uint32_t good[GOOD_HOPS] = {0}; /* next hops that have passed: most routes share a few */
	for (uint32_t i = 0; i < c->route_count; i++) {
		struct config_route *r = &c->routes[i];
		const uint32_t *slot = route_slot(t, r->prefix, r->plen);
		r->more = 0;
		r->follows = false;
		if (*slot == 0)
			slots[slot - t->slot] = i + 1;
		else if (chain(c->routes, *slot - 1, i, err) != 0)
			return E_INVAL;
		uint32_t *const known = &good[r->next_hop % GOOD_HOPS];
		if (r->kind != CONFIG_ROUTE_VIA || (*known != 0 && r->next_hop == *known))
			continue;
		int error = check_neighbour(c, r->next_hop, true, r->line, "the next hop", err);
		if (error != 0)
			return error;
		*known = r->next_hop;
	}
	for (unsigned n = 0; n < c->interfaces; n++) {
		for (unsigned k = 0; k < c->interface[n].address_count; k++) {
			int error = check_route_hides(c, t, &c->interface[n].address[k], n, err);
			if (error != 0)
				return error;
		}
	}
	return 0;
}

static int check_arps(const struct config *c, struct text_error *err)
{
	for (unsigned i = 0; i < c->arp_count; i++) {
		const struct config_arp *arp = &c->arp[i];
		for (unsigned k = 0; k < i; k++)
			if (c->arp[k].addr == arp->addr)
				return text_fail(err, arp->line, WORD_IP4(arp->addr),
				                 "this address already has an ARP entry, at line %u",
				                 c->arp[k].line);
		int error = check_neighbour(c, arp->addr, false, arp->line, "the ARP address", err);
		if (error != 0)
			return error;
	}
	return 0;
}

int config_check(const struct config *c, uint32_t *scratch, uint32_t scratch_words,
                 struct text_error *err)
{
	uint32_t slots = config_scratch_words(c->route_count);
	assert(slots + config_scratch_words(c->route6_count) <= scratch_words);
	memset(scratch, 0, slots * sizeof *scratch);
	struct route_table t = {c->routes, scratch, slots - 1};
	int error = config_check_interfaces(c, err);
	if (error == 0)
		error = check_addresses(c, err);
	if (error == 0)
		error = check_routes(c, &t, scratch, err);
	if (error == 0)
		error = check_arps(c, err);
	if (error == 0)
		error = config_check_acl(c, err);
	if (error == 0)
		error = config_check_management(c, err);
	if (error == 0)
		error = config_check_xdp(c, err);
	if (error == 0)
		error = config_check_steer(c, err);
	if (error == 0)
		error = config_check_lacp(c, err);
	if (error == 0)
		error = config_check_switch(c, err);
	if (error == 0)
		error = config_check_monitor(c, err);
	if (error == 0)
		error = config_check_stp(c, err);
	if (error == 0)
		error = config_check_lldp(c, err);
	if (error == 0)
		error = config_check_logging(c, err);
	if (error == 0)
		error = config_check_time(c, err);
	if (error == 0)
		error = config_check_snoop(c, err);
	if (error == 0)
		error = config_check_dhcp(c, err);
	return error != 0 ? error : config_check6(c, scratch + slots, scratch_words - slots, err);
}
