/*
 * The forwarding tables: their sizes and their memory. The parts that data cores read lie in
 * published memory behind the data-plane state, IPv6's first. The writers' parts are private
 * memory, which is never freed.
 */
#include "control/config/candidate.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/forwarding/persist.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/neighbour6.h"
#include "control/forwarding/tables.h"
#include "dataplane/state.h"
#include "control/forwarding/routes.h"

#include "lib/mem.h"
#include "lib/number.h"

#define ROUTES_LEAST 1024
#define ROUTES_MORE CANDIDATE_ROUTES_MAX /* besides the configured ones, if memory is scarce */
#define LEFT_EACH 24                     /* then these bytes are left per route for other tables, */
#define LEFT_ALL (4u << 20)              /* and these for neighbours, fragments, management */
#define ROUTES6_MORE 64 /* IPv6 routes that commits may add before fib6 has to be made anew */
#define ENGINE6_MAX 262144 /* IPv6 routes of a routing engine that is configured at boot, */
#define ENGINE6_UNIT 4096u /* blocks of nodes are smaller */
#define ENGINE6_SHARE 8    /* whose table takes this part of the memory left, */
#define ENGINE6_SPARED (32u << 20) /* less this, which a small machine needs for other things */
#define HOSTS6_EACH (4 * DP_ADDRESSES6_MAX) /* of an interface, besides neighbours */

struct forwarding forwarding;

static void *fib_private, *fib6_private, *hosts6_private;
static size_t fib_private_bytes, fib_shared_bytes;
static const struct config *sized = &running.config; /* the tables must be large enough for it */
static uint32_t hosts6_room, fib6_room; /* bytes of their private parts */
static struct persist_six engine6;         /* of the routing engine */
static uint32_t routes6_room;           /* prefixes that fib6 has been made for */
static size_t tables_at;                /* bytes of published memory before them */

/* Maximum of IPv6 prefixes: configured routes, the subnet of each address, those that routes_own6
 * adds, and those that routers may advertise to an autoconfigured interface. No more, because each
 * may take 14 KiB. The routing engine's come on top. */
static uint32_t routes6(void)
{
	uint32_t n = sized->route6_count + ROUTES6_MORE;
	for (unsigned interface = 0; interface < sized->interfaces; interface++) {
		const struct config_interface *i = &sized->interface[interface];
		n += 3u * i->address6_count + (i->autoconfig ? DP_ADDRESSES6_MAX + 1 : 0);
	}
	return n;
}

/* Maximum of IPv6 hosts. Their table takes 1 MiB, or a few KiB if no interface takes part in
 * IPv6. */
static uint32_t hosts6(void)
{
	uint32_t n = 0;
	for (unsigned interface = 0; interface < sized->interfaces; interface++)
		n += sized->interface[interface].ipv6;
	return n ? DP_NEIGHBOURS + u32_max(n, NIC_PORTS_MAX) * HOSTS6_EACH : 0;
}

/* The shared part of IPv6's FIB, and its private part. */
static size_t shared_fib6(void) { return fib6_shared_bytes(routes6()) + (size_t)engine6.bytes; }
static size_t private_fib6(void)
{
	return fib6_private_bytes(routes6() + engine6.routes, shared_fib6());
}

/* Takes the private parts of IPv6's tables. */
static bool take_memory6(void)
{
	const size_t fib6 = private_fib6();
	return core_private_grow(&hosts6_private, &hosts6_room, host6_private_bytes(hosts6()), 1) &&
	       core_private_grow(&fib6_private, &fib6_room, fib6, 1);
}

/* Bytes of published memory that IPv6's tables take, and that IPv4's loses to alignment. */
static size_t shared6(void)
{
	return host6_shared_bytes(hosts6()) + shared_fib6() + 2 * CACHE_LINE;
}

/* Chooses the size of the IPv4 table: for the most routes, from `most` down to `least`, whose table
 * takes at most `bytes` of the memory left, behind the `used` bytes of published memory. How much
 * of the shared part a route takes depends on the distribution of prefixes. The shared part is made
 * for four times as many usual routes or, if memory is scarce, for fewer, down to a quarter. Routes
 * are refused when either part is full. The steps are an eighth: memory left over by a step is lost
 * to routes. */
static bool choose_tables(uint32_t most, uint32_t least, size_t used, size_t bytes)
{
	const size_t room = core_published_most();
	size_t have;
	core_published_area(&have);
	used += shared6();
	for (uint32_t routes = most; routes >= least && used < room; routes -= routes / 8)
		for (uint32_t usual = 4 * routes; usual >= routes / 4; usual /= 2) {
			fib_shared_bytes = (size_t)u64_min(fib4_shared_bytes(usual), room - used);
			if (fib_shared_bytes < fib4_shared_bytes(0))
				return false;
			fib_private_bytes = fib4_private_bytes(routes, fib_shared_bytes);
			const size_t end = used + fib_shared_bytes;
			if (fib_private_bytes + (end > have ? end - have : 0) <= bytes)
				return true;
		}
	return false;
}

/* What the routing engine's prefixes get: a third of that part of the memory for nodes, as far as the
 * global table needs them, and as many prefixes as the rest allows; at least what they had in the base
 * that is left. How many find nodes depends on their distribution. */
static struct persist_six choose_engine6(void)
{
	const struct config_engine *c = &running.config.engine;
	const struct persist_six *left = &persist_previous()->six;
	const size_t have = u64_min(core_private_left(), core_published_most());
	const size_t room = have > ENGINE6_SPARED ? (have - ENGINE6_SPARED) / ENGINE6_SHARE : 0;
	struct persist_six six = {.routes = c->routes_max ? u32_min(c->routes_max, ENGINE6_MAX) : ENGINE6_MAX};
	if (!c->line)
		return (struct persist_six){0};
	six.bytes = u64_min(fib6_shared_bytes(six.routes), align_down(room / 3, ENGINE6_UNIT));
	while (six.routes > 8 && six.bytes + fib6_private_bytes(six.routes, fib6_shared_bytes(0) + six.bytes) >
	                                 room)
		six.routes -= six.routes / 8;
	if (six.bytes == 0 || six.routes <= 8)
		six = (struct persist_six){0};
	return (struct persist_six){u32_max(six.routes, left->routes), u64_max(six.bytes, left->bytes)};
}

/* The routes that a table is to hold at least: the configured ones, more by commits, the engine's. */
static uint32_t routes4(uint32_t engine)
{
	const uint32_t n = running.config.route_count + ROUTES_MORE;
	return u32_min(ROUTES_MAX, n + u32_min(engine, ROUTES_MAX));
}

/* Takes the memory of all tables, for as many routes as fit into half of the memory left or, if the
 * configuration has more, into most of it. An application with content gets no larger table than the
 * configuration needs. used: bytes of published memory in use; engine: routes of
 * the routing engine that the previous program has left. */
static bool take_memory(size_t used, uint32_t engine)
{
	engine6 = choose_engine6();
	if (!take_memory6())
		return false;
	const uint32_t wanted = routes4(engine);
	const size_t left = core_private_left(), others = LEFT_ALL + (size_t)LEFT_EACH * wanted;
	const size_t some = left / 2, most = left > others ? left - others : 0;
	const uint32_t least = core_takes_over() ? wanted : ROUTES_LEAST; /* or it gives up */
	if (choose_tables(core_app()->content ? wanted : ROUTES_MAX, wanted, used, some) ||
	    choose_tables(wanted, least, used, u64_max(some, most)))
		fib_private = core_private_alloc(fib_private_bytes);
	return fib_private != NULL;
}

static uint32_t spare_engine; /* forwarding_tell_spare's */
static size_t spare_more;

void forwarding_tell_spare(uint32_t engine)
{
	const uint32_t wanted = routes4(engine);
	const size_t shared = u64_min(fib_shared_bytes, fib4_shared_bytes(wanted));
	const size_t private = u64_min(fib_private_bytes, fib4_private_bytes(wanted, shared));
	spare_engine = engine;
	core_set_spare(fib_private_bytes - private + spare_more, fib_shared_bytes - shared);
}

void forwarding_spare_more(size_t bytes)
{
	spare_more += bytes;
	forwarding_tell_spare(spare_engine);
}

bool forwarding_room(const struct config *c, bool *as_it_is)
{
	sized = c;
	*as_it_is = routes6() - ROUTES6_MORE <= routes6_room;
	bool fits = take_memory6() &&
	            core_published_most() >= tables_at + shared6() + TABLES_LEAST && routes_room(c) &&
	            neighbour_room(c) && neighbour6_room(c);
	sized = &running.config;
	return fits;
}

/* Makes the tables, which data cores read, behind the data-plane state: IPv6's as large as
 * necessary, IPv4's in the rest, up to the size that take_memory chose. */
static bool make_tables(struct dp_state *v, size_t used)
{
	uint8_t *at = (uint8_t *)v + used;
	const size_t bytes = u64_min(core_published_most(), used + shared6() + fib_shared_bytes);
	if (bytes < used || core_published_take(bytes) != E_OK)
		return false;
	const size_t room = bytes - used;
	const size_t hosts = host6_shared_bytes(hosts6()), six = shared_fib6();
	uint64_t key[2];
	if (room < shared6())
		return false;
	core_random(key, sizeof key);
	host6_init(&forwarding.hosts6, hosts6(), at, hosts6_private, key);
	at += align_up(hosts, CACHE_LINE);
	if (fib6_init(&forwarding.fib6, at, six, fib6_private, private_fib6()) != E_OK)
		return false;
	fib6_favour(&forwarding.fib6, NH_NEIGHBOUR, NH_NEIGHBOUR6);
	at += align_up(six, CACHE_LINE);
	routes6_room = routes6();
	if (fib4_init(&forwarding.fib, at, u64_min(room - shared6(), fib_shared_bytes), fib_private,
	              fib_private_bytes) != E_OK)
		return false;
	fib_use(&forwarding.fib, fib_path_for(vector_bits()));
	fib_use(&forwarding.fib6, fib_path_for(vector_bits()));
	v->avx2 = vector_bits() >= 256;
	v->hosts6 = forwarding.hosts6.table;
	v->fib6 = forwarding.fib6.fib;
	v->fib = forwarding.fib.fib;
	return true;
}

bool forwarding_start(struct dp_state *v, size_t used)
{
	static bool have_memory;
	const uint32_t engine = routes_previous_count(); /* it reads the whole base */
	have_memory = have_memory || take_memory(used, engine);
	tables_at = used;
	bool made = have_memory && make_tables(v, used);
	forwarding_tell_spare(engine);
	return made;
}

struct persist_six forwarding_engine6(void) { return engine6; }

void forwarding_published_used(size_t *before, size_t *tables)
{
	*before = tables_at;
	*tables = forwarding.ready ? shared6() + fib_shared_bytes : 0;
}
