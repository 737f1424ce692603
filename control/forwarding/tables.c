/*
 * The forwarding tables: how large they are, and their memory. Data cores' parts lie in published
 * memory behind the data-plane state, IPv6's first; the writers' parts are private memory, which is
 * never given back.
 */
#include "control/config/candidate.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/neighbour6.h"
#include "control/forwarding/tables.h"
#include "dataplane/state.h"
#include "control/forwarding/routes.h"

#include "lib/mem.h"
#include "lib/number.h"

#define ROUTES_LEAST 1024
#define ROUTES_MORE CANDIDATE_ROUTES_MAX /* beside those of the text, where memory is scarce: then */
#define LEFT_EACH 24                     /* stays so much for what else a route takes, */
#define LEFT_ALL (4u << 20)              /* and so much for neighbours, fragments, the management */
#define ROUTES6_MORE 64 /* IPv6 routes that commits may add before fib6 has to be made anew */
#define HOSTS6_EACH (4 * DP_ADDRESSES6_MAX) /* of an interface, beside neighbours */

struct forwarding forwarding;

static void *fib_private, *fib6_private, *hosts6_private;
static size_t fib_private_bytes, fib_shared_bytes;
static const struct config *sized = &running.config; /* what the tables are to be large enough for */
static uint32_t hosts6_room, fib6_room; /* bytes of their private parts */
static uint32_t routes6_room;           /* prefixes that fib6 has been made for */
static size_t tables_at;                /* bytes of published memory before them */

/* IPv6 prefixes that there may be: those configured, each address' subnet, what routes_own6 adds, and
 * what routers may tell an interface that listens to them. No more: each may cost 14 KiB. */
static uint32_t routes6(void)
{
	uint32_t n = sized->route6_count + ROUTES6_MORE;
	for (unsigned p = 0; p < sized->interfaces; p++) {
		const struct config_interface *i = &sized->interface[p];
		n += 3u * i->address6_count + (i->autoconfig ? DP_ADDRESSES6_MAX + 1 : 0);
	}
	return n;
}

/* IPv6 hosts that there may be: their table takes 1 MiB, and a few KiB where nobody speaks IPv6. */
static uint32_t hosts6(void)
{
	uint32_t n = 0;
	for (unsigned p = 0; p < sized->interfaces; p++)
		n += sized->interface[p].ipv6;
	return n ? DP_NEIGHBOURS + u32_max(n, NIC_PORTS_MAX) * HOSTS6_EACH : 0;
}

/* The private parts of IPv6's tables. */
static bool take_memory6(void)
{
	const size_t fib6 = fib6_private_bytes(routes6(), fib6_shared_bytes(routes6()));
	return core_private_grow(&hosts6_private, &hosts6_room, host6_private_bytes(hosts6()), 1) &&
	       core_private_grow(&fib6_private, &fib6_room, fib6, 1);
}

/* Bytes of published memory that IPv6's tables take, and what IPv4's loses to alignment. */
static size_t shared6(void)
{
	return host6_shared_bytes(hosts6()) + fib6_shared_bytes(routes6()) + 2 * CACHE_LINE;
}

/* Finds the most routes from `least` to `most` whose table, behind the `used` bytes of published
 * memory, takes no more than so much of the memory that is left. How much of the shared part
 * prefixes take depends on how they lie: it is as large as for four times as many of the usual
 * ones, or, where there is little memory, as for a quarter. Either may fill up first: routes are
 * then refused. In steps of an eighth, for what a step leaves over is lost to routes. */
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

/* Memory of all tables, once, for as many routes as there is memory for: half of what is left, or,
 * when the text has more, most of it. used: bytes of published memory. */
static bool take_memory(size_t used)
{
	if (!take_memory6())
		return false;
	const uint32_t wanted = u32_min(ROUTES_MAX, running.config.route_count + ROUTES_MORE);
	const size_t left = core_private_left(), others = LEFT_ALL + (size_t)LEFT_EACH * wanted;
	const size_t some = left / 2, most = left > others ? left - others : 0;
	const uint32_t least = core_takes_over() ? wanted : ROUTES_LEAST; /* or it gives up */
	if (choose_tables(ROUTES_MAX, wanted, used, some) ||
	    choose_tables(wanted, least, used, u64_max(some, most)))
		fib_private = core_private_alloc(fib_private_bytes);
	return fib_private != NULL;
}

/* Tables for the routes that there are, and a few more, would do. */
static void tell_spare(void)
{
	const uint32_t wanted = u32_min(ROUTES_MAX, running.config.route_count + ROUTES_MORE);
	const size_t shared = u64_min(fib_shared_bytes, fib4_shared_bytes(wanted));
	const size_t private = u64_min(fib_private_bytes, fib4_private_bytes(wanted, shared));
	core_set_spare(fib_private_bytes - private, fib_shared_bytes - shared);
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

/* The tables that data cores read, behind the data-plane state: IPv6's as large as need be, IPv4's
 * has the rest, as far as it has memory for that (take_memory). */
static bool make_tables(struct dp_state *v, size_t used)
{
	uint8_t *at = (uint8_t *)v + used;
	const size_t bytes = u64_min(core_published_most(), used + shared6() + fib_shared_bytes);
	if (bytes < used || core_published_take(bytes) != E_OK)
		return false;
	const size_t room = bytes - used;
	const size_t hosts = host6_shared_bytes(hosts6()), six = fib6_shared_bytes(routes6());
	uint64_t key[2];
	if (room < shared6())
		return false;
	core_random(key, sizeof key);
	host6_init(&forwarding.hosts6, hosts6(), at, hosts6_private, key);
	at += align_up(hosts, CACHE_LINE);
	if (fib6_init(&forwarding.fib6, at, six, fib6_private, fib6_private_bytes(routes6(), six)) != E_OK)
		return false;
	at += align_up(six, CACHE_LINE);
	routes6_room = routes6();
	if (fib4_init(&forwarding.fib, at, u64_min(room - shared6(), fib_shared_bytes), fib_private,
	              fib_private_bytes) != E_OK)
		return false;
	fib_use(&forwarding.fib, fib_path_for(vector_bits()));
	fib_use(&forwarding.fib6, fib_path_for(vector_bits()));
	v->hosts6 = forwarding.hosts6.table;
	v->fib6 = forwarding.fib6.fib;
	v->fib = forwarding.fib.fib;
	return true;
}

bool forwarding_start(struct dp_state *v, size_t used)
{
	static bool have_memory;
	have_memory = have_memory || take_memory(used);
	tables_at = used;
	bool made = have_memory && make_tables(v, used);
	tell_spare();
	return made;
}

void forwarding_published_used(size_t *before, size_t *tables)
{
	*before = tables_at;
	*tables = forwarding.ready ? shared6() + fib_shared_bytes : 0;
}
