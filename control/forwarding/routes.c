/* See routes.h. */
#include "control/forwarding/routes.h"

#include "control/forwarding/groups.h"
#include "control/forwarding/persist.h"
#include "control/forwarding/subnets.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/console/log.h"
#include "control/forwarding/tables.h"
#include "dataplane/state.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/dhcp/client4.h"
#include "net/ip6.h"

#define PREFIXES_MORE 1024u  /* in addition to the configured ones, for interfaces */
#define TEST_PREFIXES 32768u /* in addition, at most, for `test churn` */
#define ENGINE_PREFIXES 1000000u /* of the routing engine, unless the configuration says otherwise */
#define ENGINE_SHARE 16 /* of the memory left, twice: persist.h */
#define SLOT4_BYTES 11 /* of net/rib/table.h, four for three prefixes */
#define SLOT6_BYTES 27
#define NUMBER_BYTES 400 /* of a set and a gateway of net/rib, about */
#define LOCAL_EACH 3         /* prefixes of an IPv4 address, with its broadcasts */
#define OWN6_EACH 2          /* an IPv6 address, and the anycast address of its subnet */
#define LEFT_RETIRED 256     /* blocks that rest in tables which nobody reads yet */
#define AHEAD 8              /* look_ahead: routes in the time that a load takes */
#define CHANGES_AT_ONCE 512  /* under a millisecond */
#define DISTANCE_LAST 255    /* the configuration takes precedence */
#define ASK_NS 1000000000u   /* between requests for neighbours that routes wait for */
#define LINKS_NS 3000000000u /* from the ports' start; a link not up by then is down */

_Static_assert((uint32_t)CONFIG_ROUTES_EACH_MAX <= RIB_ROUTES_MAX, "they fit the base");
_Static_assert(DP_INTERFACES_MAX <= RIB_ANY_INTERFACE, "RIB_ANY_INTERFACE is no interface");
_Static_assert((uint32_t)NH_NONE == RIB_NH_NONE && (uint32_t)NH_LIMIT <= 1u << 16, "numbers fit");
_Static_assert((int)NH_PROHIBIT - (int)NH_NULL0 ==
               (int)CONFIG_ROUTE_PROHIBIT - (int)CONFIG_ROUTE_NULL0, "in one order");

static struct rib rib;
static void *memory; /* lent to rib */
static struct rib_size size; /* of that memory */
static bool is_persistent;         /* it is persist_begin's */

/* An IPv6 address of ours (routes_own6). */
struct own6 {
	struct net_addr addr;
	uint8_t plen; /* of its subnet */
	uint8_t interface;
	bool advertised;
	bool apart; /* it has a prefix of its own */
};

static struct {
	struct own6 *at; /* private memory */
	uint32_t most;   /* entries there is room for */
	unsigned count;
	bool due; /* own6_all_changed: routes of unknown prefixes have changed */
} own6;

/* A link counts as up until its state is known: links come up shortly after the start, and by then
 * the table may have a million routes. */
static bool link_known[DP_INTERFACES_MAX];
/* When all become known; 0: the ports do not run yet; UINT64_MAX: all are known. */
static uint64_t links_ns;
static uint32_t refused_hosts; /* by hosts6 */
static struct rib_place left_at; /* routes_previous_next, */
static unsigned left_pass;       /* its pass, 0 or 1 */
static uint32_t left_refused;    /* prefixes that the base which is left had refused */
static bool ask_again;     /* for gateways: some found the neighbour table full */
static uint64_t ask_ns;    /* when to ask for neighbours that routes wait for; UINT64_MAX: for none */
static uint32_t reported;  /* refused prefixes that have been reported */
static bool tell;          /* report the others when no changes are pending */

/* --- callbacks of the base --- */

static const struct routes_reach *reach;

void routes_set_reach(const struct routes_reach *r) { reach = r; }
void routes_hold(uint32_t nh) { reach->hold(nh); }
void routes_release(uint32_t nh) { reach->release(nh); }

static enum rib_reach op_reach(const struct net_addr *via, bool six, uint8_t wanted, uint32_t *nh,
                               uint8_t *interface)
{
	const struct dp_state *v = dp_get();
	const bool four = net_addr_is_ip4(via);
	const struct dp_interface *ifp;
	int n = wanted;
	if (four || wanted == RIB_ANY_INTERFACE)
		n = subnet_interface(via);
	if (n < 0) /* the hops of an IPv6 route have IPv6's EtherType */
		return four == !six ? RIB_FAR : RIB_CLOSED;
	*interface = (uint8_t)n;
	ifp = &v->interface[n];
	if (!dp_has_link(v, (unsigned)n) || !(four ? ifp->enabled : ifp->enabled6) ||
	    !(six ? ifp->enabled6 : ifp->enabled))
		return RIB_CLOSED;
	*nh = reach->next_hop((unsigned)n, via, six);
	if (*nh < NH_NEIGHBOUR)
		return RIB_FULL;
	routes_hold(*nh);
	return RIB_NEIGHBOUR;
}

static bool op_up(unsigned interface)
{
	return dp_link_is_up(dp_get(), interface) || !link_known[interface];
}

/* Before a link is known its neighbours count as resolved too: after a restart of this program flows
 * have their next hops at once, as before. */
static bool op_resolved(uint32_t nh, unsigned interface)
{
	return nh < NH_NEIGHBOUR || !link_known[interface] || dp_get()->adj[nh].state == ADJ_FORWARD;
}

static void op_ask(uint32_t nh) { reach->resolve(nh); }

static bool op_nowhere(uint32_t nh) { return nh < NH_CONNECTED; }

static bool op_put(const struct rib_prefix *p, uint32_t nh)
{
	int error = p->six ? fib6_insert(&forwarding.fib6, &p->addr, p->plen, nh)
	                   : fib4_insert(&forwarding.fib, net_addr_to_ip4(&p->addr), p->plen, nh);
	return error == E_OK;
}

static void op_take(const struct rib_prefix *p)
{
	if (p->six)
		fib6_remove(&forwarding.fib6, &p->addr, p->plen);
	else
		fib4_remove(&forwarding.fib, net_addr_to_ip4(&p->addr), p->plen);
}

static const struct rib_ops rib_ops = {
	.reach = op_reach,
	.release = routes_release,
	.up = op_up,
	.resolved = op_resolved,
	.ask = op_ask,
	.nowhere = op_nowhere,
	.put = op_put,
	.take = op_take,
	.group_make = group_make,
	.group_change = group_change,
	.group_free = group_free,
	.dead_end = NH_UNREACHABLE,
	.member_min = NH_NULL0,
};

/* --- memory --- */

/* Prefixes of the routing engine, of a family, that a part of the memory left has slots for. */
static uint32_t engine_prefixes(const struct config *c, bool six)
{
	const uint32_t most = c->engine.routes_max ? c->engine.routes_max : ENGINE_PREFIXES;
	const size_t room = core_private_left() / ENGINE_SHARE / (six ? SLOT6_BYTES : SLOT4_BYTES);
	return c->engine.line ? (uint32_t)u64_min(six ? most / 4 : most, room) : 0;
}

/* Its different routes, that half as much has sets and gateways for. */
static uint32_t engine_routes(const struct config *c)
{
	const size_t room = core_private_left() / (2 * ENGINE_SHARE) / NUMBER_BYTES;
	return c->engine.line ? (uint32_t)u64_min(RIB_NUMBERS_MAX, room) : 0;
}

static struct rib_size size_for(const struct config *c)
{
	struct rib_size s = {.four = c->route_count,
	                     .six = c->route6_count,
	                     .routes = c->route_count + c->route6_count,
	                     .hosts = DP_NEIGHBOURS};
	for (unsigned n = 0; n < c->interfaces; n++) {
		const struct config_interface *i = &c->interface[n];
		s.routes += i->address_count + i->address6_count;
		s.four += LOCAL_EACH * i->address_count;
		s.six += OWN6_EACH * i->address6_count + (i->autoconfig ? 2 * DP_ADDRESSES6_MAX : 0);
	}
	s.routes += (1 + DHCP_LEASE_ROUTES) * c->dhcp.clients;
	s.four += (LOCAL_EACH + DHCP_LEASE_ROUTES) * c->dhcp.clients;
	s.four += u32_min(s.four / 2, TEST_PREFIXES) + PREFIXES_MORE;
	s.six += s.six / 8 + PREFIXES_MORE / 4;
	s.four += engine_prefixes(c, false);
	s.six += engine_prefixes(c, true);
	s.routes += engine_routes(c);
	return s;
}

/* Makes room for all addresses of ours that c may bring; keeps the present ones. */
static bool own6_room(const struct config *c)
{
	const struct own6 *was = own6.at;
	unsigned n = 0;
	for (unsigned k = 0; k < c->interfaces; k++)
		n += OWN6_EACH * c->interface[k].address6_count +
		     (c->interface[k].autoconfig ? DP_ADDRESSES6_MAX : 0);
	if (!core_private_grow((void **)&own6.at, &own6.most, n, sizeof *own6.at))
		return false;
	if (was && was != own6.at)
		memcpy(own6.at, was, own6.count * sizeof *own6.at);
	return true;
}

static struct rib_size larger(const struct rib_size *a, const struct rib_size *b)
{
	return (struct rib_size){u32_max(a->four, b->four), u32_max(a->six, b->six),
	                         u32_max(a->routes, b->routes), u32_max(a->hosts, b->hosts)};
}

bool routes_room(const struct config *c)
{
	struct rib_size s = size_for(c);
	if (!own6_room(c))
		return false;
	const bool keep = c->engine.line != 0;
	if (rib_has_room(&rib, &s) && (is_persistent || !keep))
		return true;
	s = larger(&s, &size);
	void *more = keep ? persist_begin(&s) : core_private_alloc(rib_bytes(&s));
	if (!more)
		return false;
	rib_move(&rib, more, &s);
	memory = more;
	size = s;
	is_persistent = keep;
	if (keep)
		persist_commit(memory, &size, forwarding_engine6());
	else
		persist_forget();
	return true;
}

/* Takes memory for as many prefixes as possible; the others are then refused one by one. With a routing
 * engine it is other memory than that of the base which is left. */
static bool take_memory(void)
{
	const bool keep = running.config.engine.line != 0;
	struct rib_size s = size_for(&running.config);
	void *more = NULL;
	if (memory && !keep)
		return own6_room(&running.config);
	s = keep ? larger(&s, &persist_previous()->size) : s;
	for (; !more && s.four >= PREFIXES_MORE; s.four -= s.four / 8) {
		more = keep ? persist_begin(&s) : core_private_alloc(rib_bytes(&s));
		size = more ? s : size;
	}
	memory = more ? more : memory;
	is_persistent = more ? keep : is_persistent;
	return memory && own6_room(&running.config);
}

bool routes_start(void)
{
	if (!take_memory())
		return false;
	rib_init(&rib, &rib_ops, memory, &size);
	own6.count = 0;
	own6.due = false;
	refused_hosts = 0;
	left_at = (struct rib_place){0, 0};
	left_pass = 0;
	left_refused = 0;
	memset(link_known, 0, sizeof link_known);
	links_ns = 0;
	ask_ns = UINT64_MAX;
	reported = 0;
	return true;
}

/* --- addresses of ours that routes cover (routes_own6) --- */

static enum rib_source own6_source(const struct own6 *o)
{
	return o->advertised ? RIB_ADVERTISED : RIB_CONNECTED;
}

/* True if the longest prefix that covers it, except its own, leads to its link. */
static bool is_on_link(const struct own6 *o)
{
	struct rib_route r;
	for (unsigned plen = 129; plen-- > 0;) {
		const struct rib_prefix p = {ip6_prefix_of(&o->addr, plen), (uint8_t)plen, true};
		for (unsigned i = 0; rib_route(&rib, &p, i, &r); i++)
			if (plen < 128 || r.source != own6_source(o))
				return r.hop.nh == NH_CONNECTED + o->interface;
	}
	return false;
}

static void own6_set_apart(struct own6 *o, bool apart)
{
	const struct rib_prefix p = {o->addr, 128, true};
	const uint32_t nh = o->advertised ? NH_LOCAL : NH_CONNECTED + o->interface;
	const struct rib_hop hop = {.nh = (uint16_t)nh,
	                            .interface = RIB_NO_INTERFACE,
	                            .distance = o->advertised ? DISTANCE_LAST : 0};
	if (apart != o->apart)
		(void)rib_set(&rib, &p, own6_source(o), 0, &hop, apart);
	o->apart = apart;
}

/* Routes that cover it have changed. */
static void own6_settle(struct own6 *o) { own6_set_apart(o, !is_on_link(o)); }

/* The routes of a prefix have changed. */
static void own6_changed(const struct rib_prefix *p)
{
	for (unsigned i = 0; i < own6.count; i++)
		if (p->plen > own6.at[i].plen && ip6_in_prefix(&own6.at[i].addr, &p->addr, p->plen))
			own6_settle(&own6.at[i]);
}

/* The routes of many prefixes have changed. */
static void own6_all_changed(void)
{
	own6.due = false;
	for (unsigned i = 0; i < own6.count; i++)
		own6_settle(&own6.at[i]);
}

static struct own6 *find_own6(unsigned interface, const struct net_addr *addr)
{
	for (unsigned i = 0; i < own6.count; i++)
		if (own6.at[i].interface == interface && net_addr_equal(&own6.at[i].addr, addr))
			return &own6.at[i];
	return NULL;
}

static struct own6 *own6_add(void)
{
	assert(own6.count < own6.most);
	return &own6.at[own6.count++];
}

void routes_own6(unsigned interface, const struct net_addr *addr, unsigned plen)
{
	struct own6 *o = find_own6(interface, addr);
	if (plen == 128 || (o && !o->advertised)) /* its subnet is its own prefix, or it is known */
		return;
	if (o)
		own6_set_apart(o, false);
	else
		o = own6_add();
	*o = (struct own6){.addr = *addr, .plen = (uint8_t)plen, .interface = (uint8_t)interface};
	own6_settle(o);
}

void routes_own6_advertised(unsigned interface, const struct net_addr *addr, bool up)
{
	struct own6 *o = find_own6(interface, addr);
	if (up && !o) {
		o = own6_add();
		*o = (struct own6){.addr = *addr, .interface = (uint8_t)interface, .advertised = true};
		own6_settle(o);
	} else if (!up && o && o->advertised) {
		own6_set_apart(o, false);
		*o = own6.at[--own6.count];
	}
}

/* --- where routes come from --- */

/* rib_set, then own6_changed. own6_set_apart alone calls rib_set itself. */
static int set(const struct rib_prefix *p, enum rib_source source, uint16_t tag,
               const struct rib_hop *hop, unsigned n)
{
	const int error = rib_set(&rib, p, source, tag, hop, n); /* the base counts refused prefixes */
	if (p->six)
		own6_changed(p);
	return error;
}

void routes_connected(const struct net_addr *addr, unsigned plen, bool six, uint32_t nh)
{
	const struct rib_prefix p = {ip6_prefix_of(addr, six ? plen : 96 + plen), (uint8_t)plen, six};
	const struct rib_hop hop = {.nh = (uint16_t)nh, .interface = RIB_NO_INTERFACE};
	set(&p, RIB_CONNECTED, 0, &hop, 1);
}

void routes_local(const struct net_addr *addr, unsigned plen, bool six, uint32_t nh)
{
	const struct rib_prefix p = {ip6_prefix_of(addr, six ? plen : 96 + plen), (uint8_t)plen, six};
	const struct rib_hop hop = {.nh = (uint16_t)nh,
	                            .interface = RIB_NO_INTERFACE,
	                            .distance = nh == NH_LOCAL ? 0 : DISTANCE_LAST};
	set(&p, RIB_LOCAL, 0, &hop, 1);
}

void routes_withdrawn(const struct net_addr *addr, unsigned plen, bool local)
{
	const struct rib_prefix p = {ip6_prefix_of(addr, 96 + plen), (uint8_t)plen, false};
	set(&p, local ? RIB_LOCAL : RIB_CONNECTED, 0, NULL, 0);
}

void routes_leased(uint32_t prefix, unsigned plen, const struct rib_hop *hop, unsigned n)
{
	const struct rib_prefix p = {net_addr_ip4(prefix), (uint8_t)plen, false};
	set(&p, RIB_LEASED, 0, hop, n);
}

void routes_reach_again(void)
{
	rib_reach_again(&rib);
	routes_settle();
}

void routes_advertised(const struct net_addr *prefix, unsigned plen, const struct rib_hop *hop)
{
	const struct rib_prefix p = {*prefix, (uint8_t)plen, true};
	struct rib_hop last = hop ? *hop : (struct rib_hop){.nh = NH_NONE};
	last.distance = DISTANCE_LAST;
	set(&p, RIB_ADVERTISED, 0, &last, hop != NULL);
}

bool routes_advertisement(const struct net_addr *prefix, unsigned plen, struct rib_hop *out)
{
	const struct rib_prefix p = {*prefix, (uint8_t)plen, true};
	struct rib_route r;
	for (unsigned i = 0; rib_route(&rib, &p, i, &r); i++)
		if (r.source == RIB_ADVERTISED) {
			*out = r.hop;
			return true;
		}
	return false;
}

bool routes_is_advertised(const struct net_addr *prefix, unsigned plen)
{
	const struct rib_prefix p = {*prefix, (uint8_t)plen, true};
	struct rib_route r;
	for (unsigned i = 0; rib_route(&rib, &p, i, &r); i++)
		if (r.used)
			return r.source == RIB_ADVERTISED;
	return false;
}

/* hosts6 refuses about one host in a hundred thousand. The control core then sends its packets. */
void routes_host6(unsigned interface, const struct net_addr *addr, uint32_t nh)
{
	if (host6_insert(&forwarding.hosts6, interface, addr, nh) != E_OK)
		refused_hosts++;
}

/* An address of ours may have replaced the entry of a neighbour that claimed it. */
void routes_host6_gone(unsigned interface, const struct net_addr *addr, uint32_t nh)
{
	if (host6_lookup(forwarding.hosts6.table, interface, (const uint8_t *)addr->w) == nh)
		host6_remove(&forwarding.hosts6, interface, addr);
}

void routes_host(uint32_t ip, uint32_t nh)
{
	const struct rib_prefix p = {net_addr_ip4(ip), 32, false};
	const struct rib_hop hop = {.nh = (uint16_t)nh, .interface = RIB_NO_INTERFACE};
	set(&p, RIB_HOST, 0, &hop, nh != NH_NONE); /* if refused, the control core sends its packets */
}

static struct rib_hop nowhere(unsigned kind, uint8_t distance)
{
	return (struct rib_hop){.nh = (uint16_t)(NH_NULL0 + kind - CONFIG_ROUTE_NULL0),
	                        .interface = RIB_NO_INTERFACE, .distance = distance};
}

static void set_chain(const struct rib_prefix *p, const struct config *c, uint32_t first)
{
	struct rib_hop hop[CONFIG_ROUTES_EACH_MAX];
	unsigned n = 0;
	for (uint32_t i = first; i != CONFIG_ROUTE_NONE; i = c->routes[i].more - 1, n++) {
		const struct config_route *r = &c->routes[i];
		hop[n] = nowhere(r->kind, r->distance);
		if (r->kind == CONFIG_ROUTE_VIA)
			hop[n] = (struct rib_hop){.via = net_addr_ip4(r->next_hop),
			                          .interface = RIB_ANY_INTERFACE,
			                          .distance = r->distance};
	}
	set(p, RIB_STATIC, 0, hop, n);
}

static void set_chain6(const struct rib_prefix *p, const struct config *c, uint32_t first)
{
	struct rib_hop hop[CONFIG_ROUTES_EACH_MAX];
	unsigned n = 0;
	for (uint32_t i = first; i != CONFIG_ROUTE_NONE; i = c->routes6[i].more - 1, n++) {
		const struct config_route6 *r = &c->routes6[i];
		const bool any = r->interface == CONFIG_INTERFACE_ANY;
		hop[n] = nowhere(r->kind, r->distance);
		if (r->kind == CONFIG_ROUTE_VIA)
			hop[n] = (struct rib_hop){
				.via = r->next_hop,
				.interface = any ? RIB_ANY_INTERFACE : (uint8_t)config_number(c, r->interface),
				.distance = r->distance};
	}
	set(p, RIB_STATIC, 0, hop, n);
}

void routes_change(const struct config_route *r, const struct config *next, uint32_t first)
{
	const struct rib_prefix p = {net_addr_ip4(r->prefix), r->plen, false};
	set_chain(&p, next, first);
}

void routes_change6(const struct config_route6 *r, const struct config *next, uint32_t first)
{
	const struct rib_prefix p = {r->prefix, r->plen, true};
	set_chain6(&p, next, first);
}

/* Of a table that nobody reads yet. */
static void reclaim_unread(void)
{
	if (fib_retired(&forwarding.fib) > LEFT_RETIRED || fib_retired(&forwarding.fib6) > LEFT_RETIRED) {
		fib_reclaim(&forwarding.fib);
		fib_reclaim(&forwarding.fib6);
	}
}

/* Loads what the routes at AHEAD and twice that behind number i will need. */
static void look_ahead(const struct config *c, const uint32_t *order, uint32_t i)
{
	if (!order || i + 2 * AHEAD >= c->route_count)
		return;
	const struct config_route *r = &c->routes[order[i + AHEAD]];
	const struct rib_prefix p = {net_addr_ip4(r->prefix), r->plen, false};
	__builtin_prefetch(&c->routes[order[i + 2 * AHEAD]]);
	rib_prefetch(&rib, &p);
}

/* Logs once a second how many routes have been entered. */
static void say_entered(uint32_t routes, uint32_t all, uint64_t *said_tsc)
{
	if (routes % CONFIG_PROGRESS_LINES == 0 && log_is_due(said_tsc))
		log_event(LOG_INFO, "CONFIG", "configuration: %u of %u routes entered", routes, all);
}

void routes_configured(void)
{
	const struct config *c = &running.config;
	const uint32_t *order = config_routes_near(c, running.memory.scratch, running.memory.scratch_words);
	const uint32_t all = c->route_count + c->route6_count;
	uint64_t said_tsc = clock_tsc();
	for (uint32_t k = 0; k < c->route_count; k++) {
		const uint32_t i = order ? order[k] : k;
		say_entered(k, all, &said_tsc);
		look_ahead(c, order, k);
		if (c->routes[i].follows)
			continue;
		routes_change(&c->routes[i], c, i);
		reclaim_unread();
		core_alive();
	}
	for (uint32_t i = 0; i < c->route6_count; i++) {
		say_entered(c->route_count + i, all, &said_tsc);
		if (c->routes6[i].follows)
			continue;
		routes_change6(&c->routes6[i], c, i);
		reclaim_unread();
		core_alive();
	}
	tell = true;
	while (routes_work())
		core_alive();
}

/* --- the routing engine --- */

int routes_engine_set(const struct rib_prefix *p, uint16_t tag, const struct rib_hop *hop, unsigned n)
{
	return set(p, RIB_ENGINE, tag, hop, n);
}

bool routes_engine_has(const struct rib_prefix *p)
{
	struct rib_route r;
	for (unsigned i = 0; rib_route(&rib, p, i, &r); i++)
		if (r.source == RIB_ENGINE)
			return true;
	return false;
}

int routes_engine_replace(uint16_t tag, const struct rib_hop *hop, unsigned n)
{
	own6.due = true; /* once for all tags of a frame */
	return rib_replace(&rib, RIB_ENGINE, tag, hop, n);
}

void routes_engine_session(void) { rib_epoch_next(&rib); }

bool routes_engine_remove_stale(unsigned changes)
{
	const bool more = rib_remove_stale(&rib, changes);
	own6.due |= !more;
	return more;
}

/* The present number of the interface that had number n in the base that is left; E_NOENT. */
static int interface_now(const struct persist_base *left, unsigned n)
{
	const struct dp_state *v = dp_get();
	for (unsigned i = 0; n < DP_INTERFACES_MAX && i < v->ifs; i++)
		if (dp_exists(v, i) && v->interface[i].key == left->key[n])
			return (int)i;
	return E_NOENT;
}

/* Gives a hop the present number of its interface; false: there is none. */
static bool renumber(const struct persist_base *left, struct rib_hop *hop)
{
	if (hop->interface == RIB_NO_INTERFACE || hop->interface == RIB_ANY_INTERFACE)
		return true;
	const int n = interface_now(left, hop->interface);
	if (n < 0)
		return false;
	if (hop->nh == NH_CONNECTED + hop->interface)
		hop->nh = (uint16_t)(NH_CONNECTED + n);
	hop->interface = (uint8_t)n;
	return true;
}

/* First those that the forwarding table had, so that they find room, then those that it had refused. */
static bool left_next(const struct persist_base *left, struct rib_previous *out)
{
	for (; left->memory && left_pass < 2; left_pass++, left_at = (struct rib_place){0, 0})
		while (rib_previous_next(left->memory, &left->size, &left_at, out))
			if (out->refused == left_pass)
				return true;
	return false;
}

bool routes_previous_next(struct rib_previous *out)
{
	const struct persist_base *left = persist_previous();
	unsigned n = 0;
	if (!left_next(left, out))
		return false;
	reclaim_unread(); /* no data core has these tables yet */
	for (unsigned i = 0; i < out->n; i++)
		if (renumber(left, &out->hop[i]))
			out->hop[n++] = out->hop[i];
	out->n = n;
	left_refused += out->refused;
	return true;
}

uint32_t routes_previous_count(void)
{
	const struct persist_base *left = persist_previous();
	struct rib_place at = {0, 0};
	struct rib_previous unused;
	uint32_t n = 0;
	while (left->memory && rib_previous_next(left->memory, &left->size, &at, &unused))
		n++;
	return n;
}

void routes_keep(void)
{
	if (is_persistent)
		persist_commit(memory, &size, forwarding_engine6());
}

/* A full table refuses somewhat more or fewer, by the order in which prefixes come. */
bool routes_lack(void)
{
	return routes_refused() > left_refused + left_refused / 4 || refused_hosts;
}

bool routes_test_set(const struct net_addr *prefix, unsigned plen, bool six, uint32_t nh)
{
	const struct rib_prefix p = {*prefix, (uint8_t)plen, six};
	const struct rib_hop hop = {.nh = (uint16_t)nh, .interface = RIB_NO_INTERFACE};
	if (set(&p, RIB_TEST, 0, &hop, nh != NH_NONE) == E_OK)
		return true;
	set(&p, RIB_TEST, 0, NULL, 0); /* routes_retry must not try it again */
	return false;
}

/* --- links, neighbours, pending changes --- */

void routes_link(unsigned interface)
{
	link_known[interface] = true;
	rib_link(&rib, interface);
	routes_settle();
}

void routes_resolved(uint32_t nh) { rib_resolved(&rib, nh); }

void routes_neighbour_gone(void) { ask_again = rib.full != 0; }

void routes_retry(void) { rib_retry(&rib); }

/* After LINKS_NS, a link whose state is unknown and that is not up counts as down. */
static void know_links(void)
{
	if (links_ns == 0 && core_ports_running())
		links_ns = core_now_ns() + LINKS_NS;
	if (links_ns == 0 || core_now_ns() < links_ns)
		return;
	links_ns = UINT64_MAX;
	bool any = false;
	for (unsigned n = 0; n < DP_INTERFACES_MAX; n++)
		if (!link_known[n] && !dp_link_is_up(dp_get(), n))
			any = link_known[n] = true;
	if (!any)
		return;
	rib_links(&rib); /* once for all: rib_link for each would take too long for one turn */
	routes_settle();
}

static void ask_for_neighbours(void)
{
	const uint64_t now = core_now_ns();
	if (rib.ask || now >= ask_ns)
		ask_ns = rib_ask(&rib) ? now + ASK_NS : UINT64_MAX;
}

uint64_t routes_deadline(void) { return ask_ns; }

bool routes_work(void)
{
	if (links_ns != UINT64_MAX)
		know_links();
	if (ask_again) {
		ask_again = false;
		rib_reach_again(&rib);
	}
	if (own6.due)
		own6_all_changed();
	ask_for_neighbours();
	if (rib_work(&rib, CHANGES_AT_ONCE))
		return true;
	if (tell && routes_refused() > reported)
		log_event(LOG_ERR, "FIB-FULL", "%u routes do not fit into the forwarding table and were refused",
		          routes_refused() - reported);
	if (tell)
		reported = routes_refused();
	tell = false;
	return false;
}

void routes_settle(void)
{
	tell = true;
	routes_work();
}

uint32_t routes_refused(void) { return rib_refused(&rib); }

const struct rib *routes_rib(void) { return &rib; }
