/* net/rib against an oracle that, after every step, recomputes from all routes where each prefix
 * leads. Its world is small, so that everything happens often: a few nested prefixes, gateways on
 * two links and inside the prefixes, links and addresses that come and go. */
#include "tests/unit/rig/host.h"

#include "net/ip4.h"
#include "net/ip6.h"
#include "net/rib/rib.h"

enum {
	LOCAL = 1, /* next-hop numbers: one that is no member of a group, */
	NULL0 = 4, /* one that leads nowhere, */
	DEAD_END = 5,
	LINK = 16, /* the links, */
	NEIGHBOUR = 20,  /* the neighbours, by kind of address (IPv4, IPv6, link-local, and these two for
	                  * IPv4 prefixes), interface and the last byte of their address, */
	OWN = 160, /* hosts, by the last byte of their address, */
	GROUP = 192,     /* and groups */
};
#define LINKS 3
#define HOSTS 8
#define KINDS 5
#define GROUPS_MAX 8192
#define PREFIXES_MAX 8400 /* of both families */

static bool link_up[LINKS], subnet_on[LINKS]; /* on: the interface is enabled */
static bool subnet_there[LINKS];              /* it has its address; otherwise its gateways are remote */
static bool subnet_full[LINKS];               /* there is no room for its neighbours */
static int held[NEIGHBOUR + KINDS * LINKS * HOSTS];
static bool known[NEIGHBOUR + KINDS * LINKS * HOSTS]; /* the neighbour has been resolved */
static bool asked[NEIGHBOUR + KINDS * LINKS * HOSTS]; /* by rib_ask */
_Static_assert(NEIGHBOUR + KINDS * LINKS * HOSTS <= OWN, "numbers");

static struct group {
	bool used;
	unsigned n;
	uint16_t member[ECMP_MEMBERS_MAX];
	uint8_t weight[ECMP_MEMBERS_MAX];
} groups[GROUPS_MAX];
static unsigned groups_max = GROUPS_MAX;

/* Stands for the forwarding table, and for the oracle's record of announced routes. */
static struct entry {
	struct rib_prefix p;
	uint32_t nh;
	unsigned n[RIB_SOURCES];
	uint16_t tag[RIB_SOURCES];
	unsigned session; /* of the engine, in which it has last stated the prefix; 0: it has not */
	struct rib_hop hop[RIB_SOURCES][RIB_ROUTES_MAX];
} entries[PREFIXES_MAX];
static unsigned entry_count, in_table, table_max;
static unsigned session; /* the engine's present one */
static unsigned long touched; /* changes of the forwarding table and of groups */

static bool same_prefix(const struct rib_prefix *a, const struct rib_prefix *b)
{
	return a->six == b->six && a->plen == b->plen && net_addr_equal(&a->addr, &b->addr);
}

static struct entry *entry_of(const struct rib_prefix *p)
{
	for (unsigned i = 0; i < entry_count; i++)
		if (same_prefix(&entries[i].p, p))
			return &entries[i];
	assert_true(entry_count < PREFIXES_MAX);
	entries[entry_count] = (struct entry){.p = *p};
	return &entries[entry_count++];
}

/* --- addresses --- */

static struct net_addr address(bool six, unsigned a, unsigned b, unsigned c)
{
	if (!six)
		return net_addr_ip4(IP4(10, a, b, c));
	return (struct net_addr){{be32_make(0x20010db8).raw, be32_make(a).raw, be32_make(b).raw,
	                          be32_make(c).raw}};
}

/* An address on a link, outside of all prefixes here: 10.200 + link. */
static struct net_addr on_link(bool six, unsigned link, unsigned host)
{
	return address(six, 200 + link, 0, host);
}

static bool link_of(const struct net_addr *via, unsigned *link, unsigned *host)
{
	const bool six = !net_addr_is_ip4(via);
	for (*link = 0; *link < LINKS; ++*link)
		for (*host = 0; *host < HOSTS; ++*host) {
			const struct net_addr a = on_link(six, *link, *host);
			if (net_addr_equal(&a, via))
				return true;
		}
	return false;
}

/* The same on each link: the hop says which one is meant. */
static struct net_addr link_local(unsigned host)
{
	return (struct net_addr){{be32_make(0xfe800000).raw, 0, 0, be32_make(host).raw}};
}

static struct rib_prefix random_prefix(void)
{
	static const uint8_t plen4[] = {0, 8, 16, 24, 32}, plen6[] = {0, 32, 64, 96, 128};
	const bool six = random_below(2);
	const unsigned deep = random_below(20) ? 1 + random_below(4) : 0;
	const struct net_addr a = address(six, random_below(3), random_below(3), random_below(3));
	const unsigned plen = six ? plen6[deep] : plen4[deep];
	return (struct rib_prefix){ip6_prefix_of(&a, six ? plen : 96 + plen), (uint8_t)plen, six};
}

static struct rib_hop random_hop(bool six)
{
	const uint8_t distance = (uint8_t)(1 + random_below(3));
	const unsigned kind = random_below(10);
	struct rib_hop h = {.interface = RIB_ANY_INTERFACE, .distance = distance};
	if (random_below(3) == 0)
		h.weight = (uint8_t)random_below(256);
	h.origin = (uint8_t)random_below(2);
	six |= random_below(6) == 0; /* IPv4 by IPv6 */
	if (kind == 0) {
		h.nh = NULL0;
		h.interface = RIB_NO_INTERFACE;
	} else if (kind == 1) {
		h.interface = (uint8_t)random_below(LINKS);
		h.nh = (uint16_t)(LINK + h.interface);
	} else if (kind == 2 && six) {
		h.via = link_local(random_below(HOSTS));
		h.interface = (uint8_t)random_below(LINKS);
	} else if (kind < 6) {
		h.via = on_link(six, random_below(LINKS), random_below(HOSTS));
	} else {
		h.via = address(six, random_below(3), random_below(3), random_below(3));
	}
	return h;
}

/* --- callbacks of the base --- */

static enum rib_reach where(const struct net_addr *via, bool six, uint8_t wanted, uint32_t *nh,
                            uint8_t *interface)
{
	unsigned link, host, kind = !net_addr_is_ip4(via);
	if (ip6_is_link_local(via)) {
		kind = 2;
		link = wanted;
		host = be32_load((const uint8_t *)&via->w[3]) % HOSTS;
	} else if (!link_of(via, &link, &host) || !subnet_there[link]) {
		return RIB_FAR;
	}
	if (!subnet_on[link])
		return RIB_CLOSED;
	if (subnet_full[link])
		return RIB_FULL;
	kind += !six && kind ? 2 : 0;
	*nh = NEIGHBOUR + (kind * LINKS + link) * HOSTS + host;
	*interface = (uint8_t)link;
	return RIB_NEIGHBOUR;
}

static enum rib_reach op_reach(const struct net_addr *via, bool six, uint8_t wanted, uint32_t *nh,
                               uint8_t *interface)
{
	assert_int_equal(wanted != RIB_ANY_INTERFACE, ip6_is_link_local(via));
	enum rib_reach r = where(via, six, wanted, nh, interface);
	if (r == RIB_NEIGHBOUR)
		held[*nh]++;
	return r;
}

static bool names(uint32_t nh, uint32_t wanted)
{
	if (nh < GROUP)
		return nh == wanted;
	const struct group *g = &groups[nh - GROUP];
	for (unsigned i = 0; g->used && i < g->n; i++)
		if (g->member[i] == wanted)
			return true;
	return false;
}

/* Invariant 3: nothing in the table names a neighbour that is not held. */
static void op_release(uint32_t nh)
{
	assert_true(held[nh] > 0);
	if (--held[nh])
		return;
	for (unsigned i = 0; i < entry_count; i++)
		assert_false(entries[i].nh && names(entries[i].nh, nh));
}

static bool op_up(unsigned interface) { return link_up[interface]; }
static bool op_resolved(uint32_t nh, unsigned interface)
{
	assert_true(interface < LINKS && link_up[interface]);
	return nh < NEIGHBOUR || known[nh];
}
static void op_ask(uint32_t nh)
{
	assert_true(nh >= NEIGHBOUR && held[nh] && !known[nh]);
	asked[nh] = true;
}
static bool op_nowhere(uint32_t nh) { return nh <= NULL0; }

static bool op_put(const struct rib_prefix *p, uint32_t nh)
{
	struct entry *e = entry_of(p);
	assert_true(nh < GROUP || groups[nh - GROUP].used);
	if (e->nh == RIB_NH_NONE && in_table >= table_max)
		return false;
	in_table += e->nh == RIB_NH_NONE;
	e->nh = nh;
	touched++;
	return true;
}

static void op_take(const struct rib_prefix *p)
{
	struct entry *e = entry_of(p);
	assert_int_not_equal(e->nh, RIB_NH_NONE);
	e->nh = RIB_NH_NONE;
	in_table--;
	touched++;
}

static void op_group_change(uint32_t group, const uint16_t *member, const uint8_t *weight,
                            unsigned n)
{
	struct group *g = &groups[group - GROUP];
	touched++;
	assert_true(g->used);
	assert_in_range(n, 1, ECMP_MEMBERS_MAX);
	for (unsigned i = 0; i < n; i++)
		assert_true(member[i] >= NULL0 && weight[i] > 0);
	memcpy(g->member, member, n * sizeof *member);
	memcpy(g->weight, weight, n);
	g->n = n;
}

static uint32_t op_group_make(const uint16_t *member, const uint8_t *weight, unsigned n)
{
	for (unsigned i = 0; i < groups_max; i++)
		if (!groups[i].used) {
			groups[i].used = true;
			op_group_change(GROUP + i, member, weight, n);
			return GROUP + i;
		}
	return RIB_NH_NONE;
}

static void op_group_free(uint32_t group)
{
	assert_true(groups[group - GROUP].used);
	groups[group - GROUP].used = false;
	for (unsigned i = 0; i < entry_count; i++)
		assert_int_not_equal(entries[i].nh, group);
}

static const struct rib_ops ops = {
	.reach = op_reach,
	.release = op_release,
	.up = op_up,
	.resolved = op_resolved,
	.ask = op_ask,
	.nowhere = op_nowhere,
	.put = op_put,
	.take = op_take,
	.group_make = op_group_make,
	.group_change = op_group_change,
	.group_free = op_group_free,
	.dead_end = DEAD_END,
	.member_min = NULL0,
};

/* --- the oracle --- */

struct hops {
	unsigned n;
	bool divided; /* some weight is a part of one */
	bool waiting; /* all of them wait */
	double weight[GROUP];
};

static void add(struct hops *out, uint32_t nh, double weight)
{
	out->n += out->weight[nh] == 0;
	out->weight[nh] += weight;
}

static double weight_of(const struct rib_hop *h) { return h->weight ? h->weight : 1; }

/* Hops that have to be resolved count only if `waiting`. */
static void add_direct(struct hops *out, const struct rib_hop *h, bool six, bool waiting)
{
	uint32_t nh = h->nh;
	uint8_t interface = h->interface;
	if (nh == RIB_NH_NONE && where(&h->via, six, h->interface, &nh, &interface) != RIB_NEIGHBOUR)
		return;
	if (interface != RIB_NO_INTERFACE && !link_up[interface])
		return;
	if (waiting || nh < NEIGHBOUR || known[nh])
		add(out, nh, weight_of(h));
}

static bool is_far(const struct rib_hop *h)
{
	uint32_t nh;
	uint8_t interface;
	return h->nh == RIB_NH_NONE && where(&h->via, false, h->interface, &nh, &interface) == RIB_FAR;
}

static void expect_of(struct hops *out, const struct entry *e, bool neighbours);

/* A recursive route's hops: those of the longest prefix that covers its gateway and has any. */
static void add_far(struct hops *out, const struct rib_hop *h, bool waiting)
{
	struct hops best = {0};
	int longest = 0;
	double sum = 0;
	for (unsigned i = 0; i < entry_count; i++) {
		const struct rib_prefix *p = &entries[i].p;
		struct hops hops = {0};
		if (p->six == net_addr_is_ip4(&h->via) || p->plen <= longest)
			continue;
		if (!ip6_in_prefix(&h->via, &p->addr, p->six ? p->plen : 96u + p->plen))
			continue;
		expect_of(&hops, &entries[i], true);
		if (hops.n == 0)
			continue;
		longest = p->plen;
		best = hops;
	}
	if (best.weight[NULL0] > 0 || best.weight[LOCAL] > 0 || (best.waiting && !waiting))
		return;
	assert_true(best.n <= RIB_FAR_HOPS);
	out->divided |= best.n > 1;
	for (unsigned nh = 0; nh < GROUP; nh++)
		sum += best.weight[nh];
	for (unsigned nh = 0; nh < GROUP; nh++)
		if (best.weight[nh] > 0)
			add(out, nh, weight_of(h) * best.weight[nh] / sum);
}

static void expect_pass(struct hops *out, const struct entry *e, bool neighbours, bool waiting)
{
	for (unsigned distance = 0; distance < 16 && out->n == 0; distance++)
		for (unsigned s = 0; s < RIB_HOST && out->n == 0; s++)
			for (unsigned i = 0; i < e->n[s]; i++) {
				const struct rib_hop *h = &e->hop[s][i];
				if (h->distance != distance)
					continue;
				if (!is_far(h))
					add_direct(out, h, e->p.six, waiting);
				else if (!neighbours)
					add_far(out, h, waiting);
			}
}

/* What the routes of a prefix come down to, but for its host. */
static void expect_of(struct hops *out, const struct entry *e, bool neighbours)
{
	expect_pass(out, e, neighbours, false);
	if (out->n)
		return;
	*out = (struct hops){.waiting = true};
	expect_pass(out, e, neighbours, true);
}

/* A group's weights: as they are, or if they do not fit, scaled to at most 255, of which rounding takes
 * half at each of two steps, and as much of the sum at the first. */
static void compare_weights(const struct group *g, const struct hops *want)
{
	double most = 0;
	for (unsigned nh = 1; nh < GROUP; nh++)
		most = want->weight[nh] > most ? want->weight[nh] : most;
	const bool exact = most <= 255 && !want->divided;
	for (unsigned i = 0; i < g->n; i++) {
		const double w = want->weight[g->member[i]], got = g->weight[i];
		if (exact)
			assert_true(got == w);
		else
			assert_true(want->divided && most <= 255 && w == got ? true
			            : w * 255 / most <= got + 6 && w * 255 / most >= got - 6);
	}
}

static void compare(const struct entry *e)
{
	struct hops want = {0};
	expect_of(&want, e, false);
	if (want.n == 0) {
		assert_int_equal(e->nh, e->n[RIB_HOST] ? e->hop[RIB_HOST][0].nh : RIB_NH_NONE);
		return;
	}
	assert_int_not_equal(e->nh, RIB_NH_NONE);
	for (unsigned nh = 1; nh < GROUP; nh++)
		assert_int_equal(names(e->nh, nh), want.weight[nh] > 0);
	if (e->nh >= GROUP)
		compare_weights(&groups[e->nh - GROUP], &want);
}

/* --- steps --- */

static struct rib rib;
static void *memory;
static struct rib_size size;

static void start(uint32_t four, uint32_t six)
{
	memset(held, 0, sizeof held);
	memset(known, true, sizeof known);
	memset(groups, 0, sizeof groups);
	memset(link_up, true, sizeof link_up);
	memset(subnet_on, true, sizeof subnet_on);
	memset(subnet_there, true, sizeof subnet_there);
	memset(subnet_full, false, sizeof subnet_full);
	entry_count = in_table = 0;
	session = 1;
	table_max = UINT32_MAX;
	groups_max = GROUPS_MAX;
	free(memory);
	size = (struct rib_size){four, six, four + six, 30};
	memory = malloc(rib_bytes(&size));
	rib_init(&rib, &ops, memory, &size);
}

static void more_room(void)
{
	void *old = memory;
	size.four += random_below(50);
	size.six += random_below(50);
	size.routes += 1 + random_below(200);
	memory = malloc(rib_bytes(&size));
	rib_move(&rib, memory, &size);
	assert_true(rib_has_room(&rib, &size));
	size.hosts++;
	assert_false(rib_has_room(&rib, &size));
	size.hosts--;
	size.four++;
	assert_false(rib_has_room(&rib, &size));
	free(old);
}

/* How many routes a source announces. */
static unsigned random_count(void)
{
	if (random_below(3) == 0)
		return 0;
	return 1 + random_below(random_below(20) ? 3 : 12);
}

/* Does rib_route tell what was announced? */
static void compare_routes(const struct entry *e)
{
	unsigned n = 0, announced = 0;
	struct rib_route r;
	for (unsigned s = 0; s < RIB_SOURCES; s++)
		announced += e->n[s];
	for (; rib_route(&rib, &e->p, n, &r); n++) {
		bool found = false;
		for (unsigned i = 0; i < e->n[r.source] && !found; i++) {
			const struct rib_hop *h = &e->hop[r.source][i];
			found = r.tag == e->tag[r.source] && r.hop.weight == weight_of(h) &&
			        r.hop.origin == h->origin && r.hop.distance == h->distance &&
			        r.hop.nh == h->nh && net_addr_equal(&r.hop.via, &h->via);
		}
		assert_true(found);
		assert_int_equal(r.stale, r.source == RIB_ENGINE && e->session != session);
	}
	assert_int_equal(n, announced);
}

/* Does rib_previous_next find what the engine has stated, and nothing else? */
static void compare_left(void)
{
	struct rib_place at = {0, 0};
	struct rib_previous left;
	unsigned found = 0, stated = 0;
	for (unsigned i = 0; i < entry_count; i++)
		stated += entries[i].n[RIB_ENGINE] != 0;
	for (; rib_previous_next(memory, &rib.size, &at, &left); found++) {
		const struct entry *e = entry_of(&left.prefix);
		assert_int_equal(left.n, e->n[RIB_ENGINE]);
		for (unsigned i = 0; i < left.n; i++) {
			bool same = false;
			for (unsigned k = 0; k < left.n && !same; k++) {
				const struct rib_hop *h = &e->hop[RIB_ENGINE][k];
				same = net_addr_equal(&h->via, &left.hop[i].via) && h->nh == left.hop[i].nh &&
				       h->interface == left.hop[i].interface && h->distance == left.hop[i].distance &&
				       weight_of(h) == left.hop[i].weight && h->origin == left.hop[i].origin;
			}
			assert_true(same);
		}
	}
	assert_int_equal(found, stated);
}

/* Returns what rib_set does. */
static int announce(const struct rib_prefix *p, enum rib_source source, unsigned n)
{
	struct entry *e = entry_of(p);
	struct rib_hop hop[RIB_ROUTES_MAX];
	if (source == RIB_HOST || source == RIB_LOCAL)
		n = n != 0;
	for (unsigned i = 0; i < n; i++)
		hop[i] = random_hop(p->six);
	const uint16_t tag = source == RIB_HOST ? 0 : (uint16_t)random_below(3);
	if (source == RIB_LOCAL)
		hop[0] = (struct rib_hop){.nh = LOCAL, .interface = RIB_NO_INTERFACE,
		                          .distance = random_below(2) ? 0 : (uint8_t)(1 + random_below(4))};
	if (source == RIB_HOST)
		hop[0] = (struct rib_hop){.nh = (uint16_t)(OWN + random_below(HOSTS)),
		                          .interface = RIB_NO_INTERFACE};
	int error = rib_set(&rib, p, source, tag, hop, n);
	if (error == E_OK) {
		e->tag[source] = tag;
		memcpy(e->hop[source], hop, n * sizeof hop[0]);
		e->n[source] = n;
		if (source == RIB_ENGINE)
			e->session = n ? session : 0;
	}
	return error;
}

/* Other hops for a tag, the same for both families. */
static int replace(enum rib_source source, uint16_t tag, const struct rib_hop *hop, unsigned n)
{
	const int error = rib_replace(&rib, source, tag, hop, n);
	for (unsigned i = 0; i < entry_count && error == E_OK; i++) {
		struct entry *e = &entries[i];
		if (e->n[source] == 0 || e->tag[source] != tag)
			continue;
		memcpy(e->hop[source], hop, n * sizeof *hop);
		e->n[source] = n;
		if (source == RIB_ENGINE && n == 0)
			e->session = 0;
	}
	return error;
}

static int replace_any(void)
{
	static const enum rib_source sources[] = {RIB_STATIC, RIB_ENGINE, RIB_ENGINE, RIB_ADVERTISED};
	struct rib_hop hop[RIB_ROUTES_MAX];
	const unsigned n = random_below(8) ? 1 + random_below(random_below(20) ? 3 : 12) : 0;
	for (unsigned i = 0; i < n; i++)
		hop[i] = random_hop(random_below(2));
	return replace(sources[random_below(4)], (uint16_t)(1 + random_below(2)), hop, n);
}

static bool has_engine(const struct rib_prefix *p)
{
	struct rib_route r;
	for (unsigned i = 0; rib_route(&rib, p, i, &r); i++)
		if (r.source == RIB_ENGINE)
			return true;
	return false;
}

/* Notes which stale prefixes have lost the engine's routes, at most `changes`. */
static void remove_stale(unsigned changes)
{
	unsigned removed = 0, left = 0;
	const bool more = rib_remove_stale(&rib, changes);
	for (unsigned i = 0; i < entry_count; i++) {
		struct entry *e = &entries[i];
		if (e->session == 0 || e->session == session)
			continue;
		if (has_engine(&e->p)) {
			left++;
			continue;
		}
		e->n[RIB_ENGINE] = e->session = 0;
		removed++;
	}
	assert_true(removed <= changes && (more || left == 0));
	assert_true(rib_stale(&rib) >= left); /* rib_replace may have removed more, by and by */
}

/* What the engine's session does. */
static void engine_step(void)
{
	if (random_below(4)) {
		remove_stale(random_below(5));
	} else {
		rib_epoch_next(&rib);
		session++;
	}
}

/* The neighbours of a link that is down are forgotten: by all kinds of addresses. */
static void forget_neighbours(unsigned link)
{
	for (unsigned kind = 0; kind < KINDS; kind++)
		for (unsigned host = 0; host < HOSTS; host++)
			known[NEIGHBOUR + (kind * LINKS + link) * HOSTS + host] = random_below(4) == 0;
}

/* Some neighbours that are not known, among them all that are asked for, answer. */
static void resolve_some(void)
{
	for (unsigned nh = NEIGHBOUR; nh < ARRAY_LEN(known); nh++) {
		if (known[nh] || (!asked[nh] && random_below(8)))
			continue;
		known[nh] = true;
		rib_resolved(&rib, nh);
	}
}

static void change_world(void)
{
	const unsigned link = random_below(LINKS);
	switch (random_below(7)) {
	case 0:
		subnet_full[link] = !subnet_full[link];
		rib_reach_again(&rib);
		break;
	case 1:
		subnet_on[link] = !subnet_on[link];
		rib_reach_again(&rib);
		break;
	case 2:
		subnet_there[link] = !subnet_there[link];
		rib_reach_again(&rib);
		break;
	case 3:
		resolve_some();
		break;
	case 4: /* some links, or none */
		for (unsigned n = 0; n < LINKS; n++) {
			link_up[n] ^= random_below(2) == 0;
			if (!link_up[n])
				forget_neighbours(n);
		}
		rib_links(&rib);
		break;
	default:
		link_up[link] = !link_up[link];
		rib_link(&rib, link);
		if (!link_up[link])
			forget_neighbours(link);
	}
}

static void work_to_the_end(void)
{
	while (rib_work(&rib, 1 + random_below(20)))
		;
}

/* Has it routes, its host apart, of which none can be used? */
static bool is_idle(const struct entry *e)
{
	struct hops want = {0};
	unsigned announced = 0;
	for (unsigned s = 0; s < RIB_HOST; s++)
		announced += e->n[s];
	expect_of(&want, e, false);
	return announced && want.n == 0;
}

/* A source that may have routes to that prefix. */
static enum rib_source random_source(const struct rib_prefix *p)
{
	return random_below(p->six || p->plen < 32 ? RIB_HOST : RIB_SOURCES);
}

/* Does rib_ask ask for each neighbour that would be a hop, and waits while others have its flows? */
static void compare_asked(void)
{
	memset(asked, false, sizeof asked);
	assert_true(rib_ask(&rib) || !rib.ask);
	assert_false(rib.ask);
	for (unsigned i = 0; i < entry_count; i++) {
		struct hops want = {0}, later = {0};
		expect_of(&want, &entries[i], false);
		if (want.n && !want.waiting)
			expect_pass(&later, &entries[i], false, true);
		for (unsigned nh = NEIGHBOUR; nh < ARRAY_LEN(known); nh++)
			assert_true(asked[nh] || known[nh] || later.weight[nh] == 0);
	}
}

static void compare_all(void)
{
	unsigned of[RIB_SOURCES] = {0}, idle = 0, walked = 0, stale = 0;
	struct rib_prefix p;
	for (unsigned i = 0; i < entry_count; i++) {
		compare(&entries[i]);
		compare_routes(&entries[i]);
		for (unsigned s = 0; s < RIB_SOURCES; s++)
			of[s] += entries[i].n[s] != 0;
		idle += is_idle(&entries[i]);
		stale += entries[i].session != 0 && entries[i].session != session;
	}
	assert_int_equal(rib_stale(&rib), stale);
	assert_int_equal(rib_stated(&rib), of[RIB_ENGINE]);
	for (unsigned six = 0; six < 2; six++)
		for (uint32_t cursor = 0; rib_next_idle(&rib, six, &cursor, &p); walked++) {
			const struct entry *e = entry_of(&p);
			assert_true(is_idle(e));
		}
	for (unsigned s = 0; s < RIB_SOURCES; s++)
		assert_int_equal(rib.prefixes[s], of[s]);
	assert_int_equal(rib_refused(&rib), 0);
	assert_int_equal(rib.idle, idle);
	assert_int_equal(walked, idle);
	compare_asked();
}

/* Withdraws everything: nothing may then be held, in the table, or counted. */
static void withdraw_all(void)
{
	for (unsigned i = 0; i < entry_count; i++)
		for (unsigned s = 0; s < RIB_SOURCES; s++)
			if (s != RIB_HOST || (!entries[i].p.six && entries[i].p.plen == 32))
				assert_int_equal(rib_set(&rib, &entries[i].p, s, 0, NULL, 0), E_OK);
	work_to_the_end();
	for (unsigned i = 0; i < sizeof held / sizeof held[0]; i++)
		assert_int_equal(held[i], 0);
	for (unsigned i = 0; i < GROUPS_MAX; i++)
		assert_false(groups[i].used);
	assert_int_equal(in_table, 0);
	assert_int_equal(rib_refused(&rib), 0);
	assert_int_equal(rib.idle, 0);
	assert_int_equal(rib.hosts_refused, 0);
	assert_int_equal(rib_stated(&rib), 0);
	assert_int_equal(rib.unknown_engine, 0);
	assert_int_equal(rib.recursive, 0);
	assert_int_equal(rib.full, 0);
	assert_int_equal(rib.waiting, 0);
}

/* --- tests --- */

static void against_the_oracle(void **state)
{
	(void)state;
	seed_random("against_the_oracle");
	for (unsigned round = 0; round < 12; round++) {
		start(300, 300);
		for (unsigned step = 0; step < 600; step++) {
			const struct rib_prefix p = random_prefix();
			if (random_below(12) == 0)
				change_world();
			else if (random_below(10) == 0)
				engine_step();
			else if (random_below(10) == 0)
				assert_int_equal(replace_any(), E_OK);
			else if (random_below(100) == 0)
				more_room();
			else
				assert_int_equal(announce(&p, random_source(&p),
				                          random_count()), E_OK);
			if (random_below(3) == 0)
				(void)rib_work(&rib, random_below(4));
			if (random_below(4) == 0) {
				work_to_the_end();
				compare_all();
				compare_left();
			}
		}
		withdraw_all();
	}
}

/* The memory of a base has been overwritten anywhere, by anything: what is read are prefixes and counts
 * in range, and the walk ends. */
static void left_by_a_broken_program(void **state)
{
	(void)state;
	seed_random("left_by_a_broken_program");
	for (unsigned round = 0; round < 200; round++) {
		unsigned found = 0;
		struct rib_place at = {0, 0};
		struct rib_previous left;
		start(100, 100);
		for (unsigned i = 0; i < 60; i++) {
			const struct rib_prefix p = random_prefix();
			announce(&p, RIB_ENGINE, random_count());
		}
		const size_t bytes = rib_bytes(&rib.size);
		for (unsigned i = 0, n = random_below(round % 4 ? 30 : 20000); i < n; i++)
			((uint8_t *)memory)[random_below((unsigned)bytes)] = (uint8_t)random_below(256);
		for (; rib_previous_next(memory, &rib.size, &at, &left); found++) {
			const unsigned shift = left.prefix.six ? 0 : 96;
			const struct net_addr masked = ip6_prefix_of(&left.prefix.addr, shift + left.prefix.plen);
			assert_in_range(left.prefix.plen, 0, 128 - shift);
			assert_true(net_addr_equal(&masked, &left.prefix.addr));
			assert_in_range(left.n, 1, RIB_ROUTES_MAX);
		}
		assert_in_range(found, 0, 300);
	}
}

/* Two prefixes, one that has a host and one that cannot: every source comes and goes, and links, in
 * every mix. The forwarding table is right after each step, and counts are. */
static void every_mix_of_sources(void **state)
{
	bool met[1 << (RIB_SOURCES + 1)] = {false};
	unsigned mixes = 0;
	(void)state;
	seed_random("every_mix_of_sources");
	start(10, 10);
	const struct rib_prefix p[2] = {{net_addr_ip4(IP4(10, 1, 1, 1)), 32, false},
	                                {address(true, 1, 1, 1), 128, true}};
	for (unsigned step = 0; step < random_rounds(40000); step++) {
		const struct rib_prefix *q = &p[random_below(2)];
		const struct entry *e = entry_of(&p[0]);
		const enum rib_source s = random_source(q);
		if (random_below(8) == 0)
			change_world();
		else
			assert_int_equal(announce(q, s, entry_of(q)->n[s] ? 0 : 1 + random_below(2)), E_OK);
		work_to_the_end();
		compare_all();
		unsigned mix = e->n[RIB_STATIC] && !is_idle(e) ? 1 << RIB_SOURCES : 0;
		for (unsigned i = 0; i < RIB_SOURCES; i++)
			mix |= e->n[i] ? 1u << i : 0;
		mixes += !met[mix];
		met[mix] = true;
	}
	/* of 128 without static routes and twice as many with them, used or not; LOCAL is always used */
	assert_in_range(mixes, 300, 320);
	withdraw_all();
}

/* The same routes lead to the same table, in whatever order they come. */
static void order_does_not_matter(void **state)
{
	(void)state;
	seed_random("order_does_not_matter");
	for (unsigned round = 0; round < 20; round++) {
		static struct entry first[PREFIXES_MAX];
		start(300, 300);
		for (unsigned i = 0; i < 150; i++) {
			const struct rib_prefix p = random_prefix();
			announce(&p, RIB_STATIC, 1 + random_below(3));
		}
		work_to_the_end();
		const unsigned n = entry_count;
		memcpy(first, entries, n * sizeof first[0]);
		start(300, 300);
		for (unsigned i = n; i > 0; i--) {
			const unsigned k = random_below(i);
			const struct entry swap = first[k];
			first[k] = first[i - 1];
			first[i - 1] = swap;
			struct entry *e = entry_of(&swap.p);
			memcpy(e->hop, swap.hop, sizeof e->hop);
			memcpy(e->n, swap.n, sizeof e->n);
			memcpy(e->tag, swap.tag, sizeof e->tag);
			rib_set(&rib, &e->p, RIB_STATIC, e->tag[RIB_STATIC], e->hop[RIB_STATIC], e->n[RIB_STATIC]);
		}
		work_to_the_end();
		compare_all();
		withdraw_all();
	}
}

/* Tables that fill up: refusals are counted, and retried when there is room again. */
static void full_tables(void **state)
{
	(void)state;
	seed_random("full_tables");
	for (unsigned round = 0; round < 20; round++) {
		start(300, 300);
		table_max = random_below(60);
		groups_max = random_below(10);
		for (unsigned step = 0; step < 300; step++) {
			const struct rib_prefix p = random_prefix();
			if (random_below(12) == 0)
				change_world();
			else if (random_below(10) == 0)
				session++, rib_epoch_next(&rib);
			else if (random_below(10) == 0)
				(void)rib_remove_stale(&rib, random_below(20));
			else if (random_below(6) == 0)
				(void)replace_any();
			else
				announce(&p, random_source(&p), random_count());
			if (random_below(3) == 0)
				(void)rib_work(&rib, random_below(4));
			if (random_below(8) == 0)
				rib_retry(&rib);
			assert_true(in_table <= table_max);
		}
		table_max = UINT32_MAX;
		groups_max = GROUPS_MAX;
		withdraw_all();
	}
}

static struct rib_prefix prefix4(uint32_t addr, unsigned plen)
{
	return (struct rib_prefix){net_addr_ip4(addr), (uint8_t)plen, false};
}

static struct rib_hop via(unsigned link, unsigned host)
{
	return (struct rib_hop){.via = on_link(false, link, host),
	                        .interface = RIB_ANY_INTERFACE, .distance = 1};
}

static void refused_ones_are_tried_again(void **state)
{
	(void)state;
	const struct rib_hop hop = via(0, 1);
	start(300, 0);
	table_max = 10;
	for (uint32_t i = 0; i < 200; i++) {
		const struct rib_prefix p = prefix4(i << 8, 24);
		assert_int_equal(rib_set(&rib, &p, RIB_STATIC, 0, &hop, 1), i < 10 ? E_OK : E_NOMEM);
	}
	assert_int_equal(rib_refused(&rib), 190);
	table_max = 60;
	work_to_the_end();
	assert_int_equal(in_table, 10); /* room has not been announced */
	rib_retry(&rib);
	work_to_the_end();
	assert_int_equal(in_table, 60);
	assert_int_equal(rib_refused(&rib), 140);
	table_max = 1000;
	rib_retry(&rib);
	work_to_the_end();
	assert_int_equal(rib_refused(&rib), 0);
	assert_int_equal(in_table, 200);
}

static struct rib_hop host_hop(unsigned n)
{
	return (struct rib_hop){.nh = (uint16_t)(OWN + n), .interface = RIB_NO_INTERFACE};
}

/* What a host gets that the forwarding table has no room for, or whose table is full, and that nobody
 * counts it as refused: its subnet's entry leads to it. */
static void hosts_without_room(void **state)
{
	const struct rib_hop hop[2] = {host_hop(0), host_hop(1)}, gone = via(0, 1);
	const struct rib_prefix p = prefix4(IP4(10, 0, 0, 1), 32), q = prefix4(IP4(10, 0, 0, 2), 32);
	(void)state;
	start(300, 0);
	table_max = 1;
	assert_int_equal(rib_set(&rib, &p, RIB_HOST, 0, hop, 1), E_OK);
	assert_int_equal(rib_set(&rib, &q, RIB_HOST, 0, hop + 1, 1), E_NOMEM);
	assert_int_equal(rib_refused(&rib), 0);
	assert_int_equal(rib.hosts_refused, 1);
	rib_retry(&rib);
	work_to_the_end();
	assert_int_equal(entry_of(&q)->nh, RIB_NH_NONE);
	/* one that is covered does not wait, and does when it is uncovered */
	table_max = 2;
	assert_int_equal(rib_set(&rib, &q, RIB_STATIC, 0, &gone, 1), E_OK);
	rib_retry(&rib);
	work_to_the_end();
	assert_int_equal(entry_of(&q)->nh, NEIGHBOUR + 1);
	assert_int_equal(rib_set(&rib, &q, RIB_STATIC, 0, NULL, 0), E_OK);
	assert_int_equal(entry_of(&q)->nh, OWN + 1);
	assert_int_equal(rib.hosts_refused, 0);
	assert_int_equal(rib_set(&rib, &q, RIB_HOST, 0, NULL, 0), E_OK);
	table_max = 1;
	assert_int_equal(rib_set(&rib, &q, RIB_HOST, 0, hop + 1, 1), E_NOMEM);
	table_max = 2;
	work_to_the_end();
	assert_int_equal(entry_of(&q)->nh, RIB_NH_NONE); /* nobody has said that there is room */
	rib_retry(&rib);
	work_to_the_end();
	assert_int_equal(entry_of(&q)->nh, OWN + 1);
	assert_int_equal(rib_set(&rib, &p, RIB_HOST, 0, NULL, 0), E_OK);
	assert_int_equal(rib_set(&rib, &p, RIB_HOST, 0, NULL, 0), E_OK); /* it is not there */
	assert_int_equal(rib_set(&rib, &q, RIB_HOST, 0, NULL, 0), E_OK);
	table_max = UINT32_MAX;
	unsigned in = 0;
	for (unsigned i = 0; i < 100; i++) {
		const struct rib_prefix many = prefix4(IP4(10, 0, 1, 0) + i, 32);
		in += rib_set(&rib, &many, RIB_HOST, 0, hop, 1) == E_OK;
	}
	assert_in_range(in, 30, 50);
	assert_int_equal(in_table, in);
	assert_int_equal(rib.prefixes[RIB_HOST], in);
	withdraw_all();
}

/* A host with a route to its very address: the route tells of itself first, and who is used. */
static void a_route_over_a_host(void **state)
{
	const struct rib_prefix p = prefix4(IP4(10, 1, 1, 1), 32);
	const struct rib_hop hop = host_hop(3), near = via(1, 2);
	struct rib_route r;
	(void)state;
	start(10, 0);
	assert_int_equal(rib_set(&rib, &p, RIB_HOST, 0, &hop, 1), E_OK);
	assert_true(rib_route(&rib, &p, 0, &r));
	assert_true(r.source == RIB_HOST && r.used && r.hops == 1 && r.nh[0] == OWN + 3);
	assert_false(rib_route(&rib, &p, 1, &r));
	assert_int_equal(rib_set(&rib, &p, RIB_STATIC, 0, &near, 1), E_OK);
	assert_true(rib_route(&rib, &p, 0, &r) && r.source == RIB_STATIC && r.used);
	assert_true(rib_route(&rib, &p, 1, &r) && r.source == RIB_HOST && !r.used);
	link_up[1] = false;
	rib_link(&rib, 1);
	work_to_the_end();
	assert_int_equal(entry_of(&p)->nh, OWN + 3);
	assert_int_equal(rib.idle, 1);
	assert_true(rib_route(&rib, &p, 0, &r) && r.source == RIB_STATIC && !r.used);
	assert_true(rib_route(&rib, &p, 1, &r) && r.source == RIB_HOST && r.used);
	link_up[1] = true;
	rib_link(&rib, 1);
	work_to_the_end();
	assert_int_equal(entry_of(&p)->nh, NEIGHBOUR + HOSTS + 2);
	assert_int_equal(rib_set(&rib, &p, RIB_HOST, 0, NULL, 0), E_OK);
	assert_int_equal(entry_of(&p)->nh, NEIGHBOUR + HOSTS + 2);
	withdraw_all();
}

static void set_links(bool up)
{
	for (unsigned link = 0; link < LINKS; link++) {
		link_up[link] = up;
		rib_link(&rib, link);
	}
}

/* Two hops whose links return together, and a prefix that has one of them alone: all are used at once;
 * as soon as one is known, the other one waits. */
static void hops_that_wait(void **state)
{
	const struct rib_prefix both = prefix4(IP4(10, 1, 0, 0), 16), one = prefix4(IP4(10, 2, 0, 0), 16);
	const struct rib_hop hop[] = {via(0, 1), via(1, 2)};
	const uint32_t first = NEIGHBOUR + 1, second = NEIGHBOUR + HOSTS + 2;
	struct rib_route r;
	(void)state;
	start(10, 0);
	assert_int_equal(rib_set(&rib, &both, RIB_STATIC, 0, hop, 2), E_OK);
	assert_int_equal(rib_set(&rib, &one, RIB_STATIC, 0, hop, 1), E_OK);
	set_links(false);
	memset(known, false, sizeof known);
	set_links(true);
	work_to_the_end();
	assert_true(names(entry_of(&both)->nh, first) && names(entry_of(&both)->nh, second));
	assert_true(names(entry_of(&one)->nh, first));
	assert_false(rib_ask(&rib)); /* their packets will */
	assert_int_equal(rib.waiting, 2);
	known[second] = true;
	rib_resolved(&rib, second);
	assert_false(names(entry_of(&both)->nh, first));
	assert_true(names(entry_of(&both)->nh, second) && names(entry_of(&one)->nh, first));
	assert_true(rib_route(&rib, &both, 0, &r) && r.waiting != r.used);
	assert_true(rib_route(&rib, &both, 1, &r) && r.waiting != r.used);
	assert_true(rib_route(&rib, &one, 0, &r) && r.waiting && r.used);
	memset(asked, false, sizeof asked);
	assert_true(rib.ask && rib_ask(&rib) && asked[first] && !asked[second]);
	known[first] = true;
	rib_resolved(&rib, first);
	assert_true(names(entry_of(&both)->nh, first) && names(entry_of(&both)->nh, second));
	assert_false(rib_ask(&rib));
	known[first] = false; /* it stays as long as its link does */
	rib_resolved(&rib, second);
	rib_link(&rib, 1);
	assert_true(names(entry_of(&both)->nh, first));
	withdraw_all();
}

/* More prefixes than there are slots, and more different routes than there are sets. */
static void too_many(void **state)
{
	(void)state;
	const struct rib_hop hop = via(0, 1);
	start(8, 0);
	unsigned in = 0;
	for (uint32_t i = 0; i < 100; i++) {
		const struct rib_prefix p = prefix4(i << 8, 24);
		in += rib_set(&rib, &p, RIB_STATIC, 0, &hop, 1) == E_OK;
	}
	assert_in_range(in, 8, 20);
	assert_int_equal(rib_refused(&rib), 100 - in);
	for (uint32_t i = 0; i < 100; i++) {
		const struct rib_prefix p = prefix4(i << 8, 24);
		assert_int_equal(rib_set(&rib, &p, RIB_STATIC, 0, NULL, 0), E_OK);
	}
	assert_int_equal(rib_refused(&rib), 0);
	start(10000, 0); /* of sets there are RIB_NUMBERS_MAX, less one */
	for (uint32_t i = 0; i < RIB_NUMBERS_MAX + 100; i++) {
		const struct rib_prefix p = prefix4(IP4(100, 0, 0, 0) + (i << 8), 24);
		const struct rib_hop far = {.via = net_addr_ip4(IP4(20, 0, 0, 0) + i),
		                            .interface = RIB_ANY_INTERFACE, .distance = 1};
		assert_int_equal(rib_set(&rib, &p, RIB_STATIC, 0, &far, 1),
		                 i < RIB_NUMBERS_MAX - 1 ? E_OK : E_NOMEM);
	}
	assert_int_equal(rib_refused(&rib), 101);
	assert_int_equal(rib.idle, RIB_NUMBERS_MAX - 1);
	for (uint32_t i = 0; i < RIB_NUMBERS_MAX + 100; i++) {
		const struct rib_prefix p = prefix4(IP4(100, 0, 0, 0) + (i << 8), 24);
		assert_int_equal(rib_set(&rib, &p, RIB_STATIC, 0, NULL, 0), E_OK);
	}
	assert_int_equal(rib_refused(&rib) + rib.idle, 0);
}

/* What has no slot is counted by source, and holds nothing. */
static void refused_without_a_slot(void **state)
{
	const struct rib_hop hop = via(0, 1), other = via(1, 2);
	(void)state;
	start(8, 0);
	for (uint32_t i = 0; i < 100; i++) {
		const struct rib_prefix p = prefix4(i << 8, 24);
		(void)rib_set(&rib, &p, RIB_ENGINE, 0, &hop, 1);
	}
	const struct rib_prefix p = prefix4(100 << 8, 24);
	const unsigned refused = rib_refused(&rib), neighbour = NEIGHBOUR + HOSTS + 2;
	assert_int_equal(rib_set(&rib, &p, RIB_STATIC, 0, NULL, 0), E_OK); /* it has never been there */
	assert_int_equal(rib_refused(&rib), refused);
	assert_int_equal(rib_set(&rib, &p, RIB_STATIC, 0, &other, 1), E_NOMEM);
	assert_int_equal(rib_refused(&rib), refused + 1);
	assert_int_equal(held[neighbour], 0);
	assert_int_equal(rib_set(&rib, &p, RIB_STATIC, 0, NULL, 0), E_OK);
	assert_int_equal(rib_refused(&rib), refused);
	const struct rib_prefix q = prefix4(0, 24);
	assert_int_equal(rib_set(&rib, &q, RIB_STATIC, 0, &other, 1), E_OK); /* it has a slot */
	assert_true(held[neighbour] > 0);
}

/* A link-local gateway belongs to its link alone, even if the base keeps it in one chain with that
 * of another link, as it does for a few of so many addresses. */
static void one_address_on_two_links(void **state)
{
	struct rib_prefix p[2];
	(void)state;
	start(8, 8);
	for (unsigned i = 0; i < 2; i++)
		p[i] = (struct rib_prefix){address(true, 0, 0, i), 128, true};
	for (unsigned host = 0; host < 20000; host++) {
		for (unsigned i = 0; i < 2; i++) {
			const struct rib_hop hop = {.via = link_local(host), .interface = (uint8_t)i, .distance = 1};
			assert_int_equal(rib_set(&rib, &p[i], RIB_STATIC, 0, &hop, 1), E_OK);
			assert_int_equal(entry_of(&p[i])->nh, NEIGHBOUR + (2 * LINKS + i) * HOSTS + host % HOSTS);
		}
		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(rib_set(&rib, &p[i], RIB_STATIC, 0, NULL, 0), E_OK);
		work_to_the_end();
	}
}

/* What rib_route returns for a prefix with a recursive route and a less preferred one. */
static void tells_of_routes(void **state)
{
	(void)state;
	const struct rib_prefix p = prefix4(IP4(10, 1, 0, 0), 16), q = prefix4(IP4(10, 2, 0, 0), 16);
	const struct rib_hop far = {.via = net_addr_ip4(IP4(10, 2, 3, 4)),
	                            .interface = RIB_ANY_INTERFACE, .distance = 5};
	struct rib_hop two[2] = {via(1, 2), far}, near = via(0, 3);
	struct rib_route r;
	start(10, 0);
	two[0].distance = 9;
	assert_int_equal(rib_set(&rib, &p, RIB_STATIC, 0, two, 2), E_OK);
	assert_true(rib_route(&rib, &p, 0, &r));
	assert_true(r.hop.distance == 5 && r.reach == RIB_FAR && r.hops == 0 && !r.used);
	assert_true(rib_route(&rib, &p, 1, &r));
	assert_true(r.hop.distance == 9 && r.reach == RIB_NEIGHBOUR && r.hops == 1 && r.used);
	assert_int_equal(rib_set(&rib, &q, RIB_TEST, 0, &near, 1), E_OK);
	work_to_the_end();
	assert_true(rib_route(&rib, &p, 0, &r));
	assert_true(r.used && r.hops == 1 && r.nh[0] == NEIGHBOUR + 3 && r.source == RIB_STATIC);
	assert_true(rib_route(&rib, &p, 1, &r));
	assert_false(r.used);
	assert_false(rib_route(&rib, &p, 2, &r));
	assert_true(rib_route(&rib, &q, 0, &r));
	assert_true(r.source == RIB_TEST);
}

/* Weights of equal hops add up, a recursive route's is divided, and what does not fit is scaled. */
static void weights(void **state)
{
	(void)state;
	const struct rib_prefix p = prefix4(IP4(10, 1, 0, 0), 16), q = prefix4(IP4(10, 2, 0, 0), 16);
	struct rib_hop two[2] = {via(0, 1), via(1, 2)}, some[3] = {via(0, 1), via(0, 1), via(1, 2)};
	struct rib_hop far = {.via = net_addr_ip4(IP4(10, 1, 3, 4)), .interface = RIB_ANY_INTERFACE,
	                      .distance = 1, .weight = 12};
	start(10, 0);
	two[1].weight = 5;
	assert_int_equal(rib_set(&rib, &p, RIB_ENGINE, 7, two, 2), E_OK);
	const struct group *g = &groups[entry_of(&p)->nh - GROUP];
	assert_true(g->n == 2 && g->weight[0] == 1 && g->weight[1] == 5);
	assert_int_equal(rib_set(&rib, &q, RIB_ENGINE, 8, &far, 1), E_OK);
	g = &groups[entry_of(&q)->nh - GROUP];
	assert_true(g->n == 2 && g->weight[0] == 2 && g->weight[1] == 10); /* of 12, 1 and 5 parts */
	some[0].weight = 200;
	some[1].weight = 100;
	some[2].weight = 100;
	some[1].origin = 9; /* another route */
	assert_int_equal(rib_set(&rib, &p, RIB_ENGINE, 7, some, 3), E_OK);
	g = &groups[entry_of(&p)->nh - GROUP];
	assert_true(g->n == 2 && g->weight[0] == 255 && g->weight[1] == 85);
	withdraw_all();
}

/* An IPv6 gateway of IPv4 prefixes is another one than of IPv6 prefixes, on one link and recursive. */
static void ip4_by_ip6(void **state)
{
	(void)state;
	const struct rib_prefix four = prefix4(IP4(10, 1, 0, 0), 16), far4 = prefix4(IP4(10, 2, 0, 0), 16);
	const struct net_addr a = address(true, 1, 0, 0);
	const struct rib_prefix six = {a, 64, true};
	const struct rib_hop hop = {.via = link_local(3), .interface = 1, .distance = 1};
	const struct rib_hop far = {.via = address(true, 1, 0, 7), .interface = RIB_ANY_INTERFACE,
	                            .distance = 1};
	start(10, 10);
	assert_int_equal(rib_set(&rib, &four, RIB_ENGINE, 1, &hop, 1), E_OK);
	assert_int_equal(rib_set(&rib, &six, RIB_ENGINE, 1, &hop, 1), E_OK);
	assert_int_equal(entry_of(&six)->nh, NEIGHBOUR + (2 * LINKS + 1) * HOSTS + 3);
	assert_int_equal(entry_of(&four)->nh, NEIGHBOUR + (4 * LINKS + 1) * HOSTS + 3);
	assert_int_equal(rib_set(&rib, &far4, RIB_ENGINE, 2, &far, 1), E_OK);
	assert_true(names(entry_of(&far4)->nh, entry_of(&six)->nh));
	withdraw_all();
}

/* A session that ends: restated prefixes stay untouched, the others go, by one store to another
 * source's route if there is one. */
static void sessions(void **state)
{
	const struct rib_hop hop[2] = {via(0, 1), via(1, 2)}, other = via(1, 3);
	struct rib_prefix p;
	struct rib_route r;
	(void)state;
	start(300, 0);
	for (uint32_t i = 0; i < 200; i++) {
		p = prefix4(i << 8, 24);
		assert_int_equal(rib_set(&rib, &p, RIB_ENGINE, 1, hop, 1 + i % 2), E_OK);
		if (i % 4 == 0)
			assert_int_equal(rib_set(&rib, &p, RIB_ADVERTISED, 0, &other, 1), E_OK);
	}
	rib_epoch_next(&rib);
	assert_int_equal(rib_stale(&rib), 200);
	unsigned long before = touched;
	for (uint32_t i = 0; i < 100; i++) {
		p = prefix4(i << 8, 24);
		assert_true(rib_route(&rib, &p, 0, &r) && r.stale);
		assert_int_equal(rib_set(&rib, &p, RIB_ENGINE, 1, hop, 1 + i % 2), E_OK);
		assert_true(rib_route(&rib, &p, 0, &r) && !r.stale);
	}
	assert_int_equal(touched, before);
	assert_int_equal(rib_stale(&rib), 100);
	for (unsigned calls = 1; rib_remove_stale(&rib, 10); calls++)
		assert_true(rib_stale(&rib) < 100 && rib_stale(&rib) + 10 * calls >= 100);
	assert_int_equal(rib_stale(&rib), 0);
	assert_int_equal(rib_stated(&rib), 100);
	assert_int_equal(touched, before + 100); /* one store each */
	assert_int_equal(in_table, 125);
	assert_int_equal(rib.prefixes[RIB_ENGINE], 100);
	withdraw_all();
}

/* Epochs are numbered in a circle: a number that comes round does not make old prefixes new ones. */
static void epochs_come_round(void **state)
{
	const struct rib_prefix p = prefix4(IP4(10, 1, 0, 0), 16), q = prefix4(IP4(10, 2, 0, 0), 16);
	const struct rib_hop hop = via(0, 1);
	(void)state;
	start(10, 0);
	assert_int_equal(rib_set(&rib, &p, RIB_ENGINE, 0, &hop, 1), E_OK);
	for (unsigned i = 1; i < RIB_EPOCHS; i++)
		rib_epoch_next(&rib);
	for (unsigned i = 0; i < 3 * RIB_EPOCHS; i++) {
		assert_int_equal(rib_set(&rib, &q, RIB_ENGINE, 0, &hop, 1), E_OK);
		assert_int_equal(rib_stale(&rib), 1); /* p */
		rib_epoch_next(&rib);
		assert_int_equal(rib_stale(&rib), 2);
		assert_int_equal(rib_stated(&rib), 2);
	}
	assert_int_equal(rib_set(&rib, &q, RIB_ENGINE, 0, &hop, 1), E_OK);
	assert_false(rib_remove_stale(&rib, 100));
	assert_int_equal(rib_stated(&rib), 1); /* q */
	withdraw_all();
}

/* What was refused in a session does not stay refused beyond it, with a slot or without. */
static void refused_in_a_session(void **state)
{
	const struct rib_hop hop = via(0, 1), more[2] = {via(0, 1), via(1, 2)};
	const struct rib_prefix p = prefix4(0, 24);
	(void)state;
	start(8, 0);
	groups_max = 0;
	assert_int_equal(rib_set(&rib, &p, RIB_STATIC, 0, &hop, 1), E_OK);
	assert_int_equal(rib_set(&rib, &p, RIB_ENGINE, 0, more, 2), E_NOMEM);
	for (uint32_t i = 1; i < 100; i++) {
		const struct rib_prefix q = prefix4(i << 8, 24);
		assert_int_equal(rib_set(&rib, &q, RIB_ENGINE, 0, more, 2), E_NOMEM);
	}
	assert_int_equal(rib_refused(&rib), 100);
	rib_epoch_next(&rib);
	while (rib_remove_stale(&rib, 3))
		;
	assert_int_equal(rib_refused(&rib), 0);
	assert_int_equal(rib_stated(&rib), 0);
	assert_int_equal(entry_of(&p)->nh, NEIGHBOUR + 1);
	withdraw_all();
}

static void state_one(uint32_t number, uint16_t tag, bool there)
{
	const struct rib_prefix p = prefix4(IP4(60, 0, 0, 0) + (number << 8), 24);
	const struct rib_hop hop = via(tag, number % HOSTS); /* tag 0 or 1, as links */
	struct entry *e = entry_of(&p);
	assert_int_equal(rib_set(&rib, &p, RIB_ENGINE, tag, &hop, there), E_OK);
	e->hop[RIB_ENGINE][0] = hop;
	e->n[RIB_ENGINE] = there;
	e->tag[RIB_ENGINE] = tag;
	e->session = there ? session : 0;
}

/* Full slots, so that removals move others, while work and the removal of stale prefixes are on their
 * way: neither misses any, nor after a move of the base. */
static void slots_that_move(void **state)
{
	(void)state;
	seed_random("slots_that_move");
	for (unsigned round = 0; round < 400; round++) {
		const struct rib_hop hop = via(2, round % HOSTS);
		bool move = random_below(3) == 0;
		start(40, 0);
		const unsigned most = rib.table[0].slots - rib.table[0].slots / 4 - 1;
		for (unsigned i = 0; i < most; i++)
			state_one(i, i % 2, true);
		if (random_below(2)) {
			rib_epoch_next(&rib);
			session++;
		}
		for (unsigned i = 0; i < most; i++)
			if (random_below(2))
				state_one(i, i % 2, true);
		assert_int_equal(replace(RIB_ENGINE, 1, &hop, random_below(3) != 0), E_OK);
		for (bool more = true; more; more = rib_work(&rib, 1)) {
			const unsigned i = random_below(most);
			state_one(i, 0, random_below(2));
			if (random_below(2))
				remove_stale(1);
			if (move && random_below(10) == 0) {
				more_room();
				move = false;
			}
		}
		for (unsigned i = 0; i < entry_count; i++)
			compare(&entries[i]);
		while (rib_stale(&rib)) {
			state_one(random_below(most), 0, false);
			remove_stale(1);
		}
		compare_all();
		withdraw_all();
	}
}

static unsigned groups_used(void)
{
	unsigned n = 0;
	for (unsigned i = 0; i < GROUPS_MAX; i++)
		n += groups[i].used;
	return n;
}

/* 200 prefixes with the tag. */
static void announce_tagged(uint16_t tag, const struct rib_hop *hop, unsigned n)
{
	for (uint32_t i = 0; i < 200; i++) {
		const struct rib_prefix p = prefix4(IP4(50, tag, 0, 0) + (i << 8), 24);
		assert_int_equal(rib_set(&rib, &p, RIB_ENGINE, tag, hop, n), E_OK);
	}
}

/* How many of them lead to that number. */
static unsigned lead_to(uint16_t tag, uint32_t nh)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < 200; i++) {
		const struct rib_prefix p = prefix4(IP4(50, tag, 0, 0) + (i << 8), 24);
		n += entry_of(&p)->nh == nh;
	}
	return n;
}

/* What another content of a next-hop group costs, and what happens meanwhile. */
static void another_content(void **state)
{
	const struct rib_hop hop[3] = {via(0, 1), via(1, 2), via(2, 3)};
	const uint32_t first = NEIGHBOUR + 1, second = NEIGHBOUR + HOSTS + 2;
	(void)state;
	start(300, 300);
	announce_tagged(1, hop, 1);
	assert_int_equal(rib_replace(&rib, RIB_ENGINE, 9, hop, 3), E_OK); /* nobody has it */
	assert_int_equal(rib_replace(&rib, RIB_ENGINE, 1, hop, 1), E_OK); /* the same */
	assert_false(rib.sweeping);
	/* one hop to another: in pieces, and the old one is held until the end */
	unsigned long before = touched;
	assert_int_equal(rib_replace(&rib, RIB_ENGINE, 1, hop + 1, 1), E_OK);
	assert_int_equal(touched, before);
	while (rib_work(&rib, 10)) {
		assert_int_equal(lead_to(1, first) + lead_to(1, second), 200);
		assert_int_equal(held[first], 1);
	}
	assert_int_equal(touched, before + 200);
	assert_int_equal(lead_to(1, second), 200);
	assert_int_equal(held[first], 0);
	/* to several: one store each; between several, and to one: none but the group's */
	assert_int_equal(rib_replace(&rib, RIB_ENGINE, 1, hop, 2), E_OK);
	work_to_the_end();
	assert_int_equal(lead_to(1, GROUP), 200);
	before = touched;
	assert_int_equal(rib_replace(&rib, RIB_ENGINE, 1, hop + 1, 2), E_OK);
	assert_true(names(GROUP, second) && !names(GROUP, first));
	assert_int_equal(rib_replace(&rib, RIB_ENGINE, 1, hop, 1), E_OK);
	assert_true(names(GROUP, first) && !names(GROUP, second));
	work_to_the_end();
	assert_int_equal(touched, before + 2);
	assert_int_equal(held[second], 0);
	/* to none that can be used, and back */
	link_up[1] = false;
	rib_link(&rib, 1);
	assert_int_equal(rib_replace(&rib, RIB_ENGINE, 1, hop + 1, 1), E_OK);
	work_to_the_end();
	assert_int_equal(in_table, 0);
	assert_int_equal(rib.idle, 200);
	assert_int_equal(rib_replace(&rib, RIB_ENGINE, 1, hop + 2, 1), E_OK);
	work_to_the_end();
	assert_int_equal(in_table, 200);
	/* to none at all */
	assert_int_equal(rib_replace(&rib, RIB_ENGINE, 1, NULL, 0), E_OK);
	assert_int_equal(rib.prefixes[RIB_ENGINE], 0);
	work_to_the_end();
	assert_int_equal(in_table, 0);
	assert_int_equal(rib_stated(&rib), 0);
	assert_int_equal(rib.table[0].used, 0);
	assert_int_equal(groups_used(), 0);
	withdraw_all();
}

/* Two sets need a group, and there is one. Nothing has changed then. */
static void another_content_without_room(void **state)
{
	struct rib_hop hop[2] = {via(0, 1), via(1, 2)}, many[RIB_ROUTES_MAX];
	const struct rib_hop other = {.nh = NULL0, .interface = RIB_NO_INTERFACE, .distance = 9};
	const struct rib_prefix p = prefix4(IP4(10, 1, 0, 0), 16), q = prefix4(IP4(10, 2, 0, 0), 16);
	struct rib_route r;
	(void)state;
	start(100, 0);
	hop[1].origin = 7;
	assert_int_equal(rib_set(&rib, &p, RIB_ENGINE, 1, hop, 1), E_OK);
	assert_int_equal(rib_set(&rib, &q, RIB_ENGINE, 1, hop, 1), E_OK);
	assert_int_equal(rib_set(&rib, &q, RIB_ADVERTISED, 1, &other, 1), E_OK);
	groups_max = groups_used() + 1;
	const unsigned used = groups_used();
	assert_int_equal(used, 1); /* q's, which has two routes */
	groups_max = 1;
	assert_int_equal(rib_replace(&rib, RIB_ENGINE, 1, hop, 2), E_NOMEM);
	assert_int_equal(groups_used(), used);
	assert_int_equal(held[NEIGHBOUR + HOSTS + 2], 0);
	work_to_the_end();
	assert_int_equal(entry_of(&p)->nh, NEIGHBOUR + 1);
	assert_true(names(entry_of(&q)->nh, NEIGHBOUR + 1));
	assert_true(rib_route(&rib, &p, 0, &r) && r.hop.origin == 0 && !rib_route(&rib, &p, 1, &r));
	for (unsigned i = 0; i < RIB_ROUTES_MAX; i++) {
		many[i] = via(i % LINKS, i / LINKS % HOSTS);
		many[i].origin = (uint8_t)i;
	}
	groups_max = GROUPS_MAX;
	assert_int_equal(rib_replace(&rib, RIB_ENGINE, 1, many, RIB_ROUTES_MAX), E_NOMEM); /* q has one */
	assert_int_equal(rib_replace(&rib, RIB_ENGINE, 1, many, RIB_ROUTES_MAX - 1), E_OK);
	work_to_the_end();
	assert_true(rib_route(&rib, &q, RIB_ROUTES_MAX - 1, &r) && r.source == RIB_ADVERTISED);
	assert_int_equal(groups[entry_of(&p)->nh - GROUP].n, LINKS * HOSTS);
	withdraw_all();
}

/* An engine that replaces groups before each piece of work does not keep the work from its end. */
static void replaced_again_and_again(void **state)
{
	const struct rib_hop hop[3] = {via(0, 1), via(1, 2), via(2, 3)};
	(void)state;
	start(500, 300);
	announce_tagged(1, hop, 1);
	announce_tagged(2, hop, 1);
	unsigned calls = 0;
	assert_int_equal(rib_replace(&rib, RIB_ENGINE, 1, hop + 2, 1), E_OK);
	for (; lead_to(1, NEIGHBOUR + 2 * HOSTS + 3) < 200; calls++) {
		assert_int_equal(rib_replace(&rib, RIB_ENGINE, 2, hop + calls % 2, 1), E_OK);
		(void)rib_work(&rib, 10);
		assert_true(calls < 100);
	}
	for (calls = 0; rib_work(&rib, 10); calls++)
		assert_true(calls < 150);
	assert_int_equal(held[NEIGHBOUR + 1] + held[NEIGHBOUR + HOSTS + 2], 1);
	withdraw_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_the_oracle),
		cmocka_unit_test(left_by_a_broken_program),
		cmocka_unit_test(every_mix_of_sources),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(full_tables),
		cmocka_unit_test(refused_ones_are_tried_again),
		cmocka_unit_test(hosts_without_room),
		cmocka_unit_test(a_route_over_a_host),
		cmocka_unit_test(hops_that_wait),
		cmocka_unit_test(too_many),
		cmocka_unit_test(refused_without_a_slot),
		cmocka_unit_test(one_address_on_two_links),
		cmocka_unit_test(tells_of_routes),
		cmocka_unit_test(weights),
		cmocka_unit_test(ip4_by_ip6),
		cmocka_unit_test(sessions),
		cmocka_unit_test(epochs_come_round),
		cmocka_unit_test(refused_in_a_session),
		cmocka_unit_test(slots_that_move),
		cmocka_unit_test(another_content),
		cmocka_unit_test(another_content_without_room),
		cmocka_unit_test(replaced_again_and_again),
	};
	int failed = cmocka_run_group_tests_name("rib", tests, NULL, NULL);
	free(memory);
	return failed;
}
