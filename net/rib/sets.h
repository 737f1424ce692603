/* Shared by net/rib's files: sets and gateways. */
#ifndef NET_RIB_SETS_H
#define NET_RIB_SETS_H

#include "net/rib/rib.h"

#define RIB_NO_NUMBER 0xffffu
#define RIB_FEW 4 /* routes of a set that need no list; most sets have one or two */

/* A destination of routes, each hop stored once, and how it is reached. */
struct rib_gateway {
	struct rib_hop key; /* with distance, weight and origin 0 */
	uint32_t users;     /* routes of sets that use it; 0: the number is free */
	uint16_t next;      /* in its hash chain, or in the free list */
	uint8_t reach;      /* enum rib_reach; RIB_NEIGHBOUR if it is not a gateway */
	uint8_t link;       /* interface of the hop, or RIB_NO_INTERFACE */
	uint16_t nh;        /* RIB_NEIGHBOUR: its next-hop number */
	uint16_t was;       /* previous number that prefixes may still use, or RIB_NH_NONE */
	bool changed;       /* its hops have changed since sets_refresh */
	bool six;           /* it is a gateway of IPv6 prefixes */
	bool waiting;       /* its hops have not been resolved yet (rib.h), */
	bool wanted;        /* and in their place others have flows: rib_ask */
	uint32_t leaving[2]; /* of `users`: to be dropped at the end of this circle of the sweep, and of
	                      * the next one, as prefixes may still lead to it */
	uint8_t hops;       /* current number of hops; 0: unusable */
	uint8_t weight[RIB_FAR_HOPS];
	uint16_t hop[RIB_FAR_HOPS];
};

/* Hops and their weights, as sums of parts of weights. */
struct rib_hops {
	unsigned n;
	uint16_t nh[ECMP_MEMBERS_MAX];
	uint32_t share[ECMP_MEMBERS_MAX]; /* in units of 1 / RIB_SHARE: at most 64 * 255 of them */
};
#define RIB_SHARE 65536u

/* One of a set's routes. */
struct rib_member {
	uint16_t gateway;
	uint16_t tag;
	uint8_t distance;
	uint8_t source; /* enum rib_source */
	uint8_t weight; /* not 0 */
	uint8_t origin;
};
_Static_assert(sizeof(struct rib_member) == 8, "compared as bytes");

/* More than RIB_FEW routes of a set. There are fewer lists than sets (lists_for). */
struct rib_list {
	struct rib_member member[RIB_ROUTES_MAX]; /* [0].gateway of a free one: the next free one */
};

/* Routes shared by prefixes of one family. */
struct rib_set {
	struct rib_member few[RIB_FEW]; /* set_members */
	uint32_t users;   /* prefixes; 0: the number is free */
	uint16_t next;    /* in its hash chain, or in the free list */
	uint16_t list;    /* of its routes, or RIB_NO_NUMBER */
	uint16_t nh;      /* the table's next hop for its prefixes, or RIB_NH_NONE */
	uint16_t group;   /* its group if it needs one, or RIB_NH_NONE */
	uint8_t routes;
	uint8_t sources;  /* a bit for each that has a route */
	bool six;
	bool prepared;    /* its group has been made by a rib_replace that is not complete */
	uint8_t moved;    /* circles of the sweep until all prefixes have its nh, 0 to 2 */
};
_Static_assert(RIB_SOURCES <= 8, "bits of rib_set.sources");

/* The set of prefixes whose routes did not fit. It has no routes. Another set without routes, which
 * is in no chain, has lost them by rib_replace: the sweep removes its prefixes. */
#define RIB_SET_UNKNOWN 0u

#define SLOTS_A_CHANGE 64 /* slots examined that cost as much as one change in rib_work */

/* --- gateway.c --- */

/* True if the gateway has hops. waiting: hops that have not been resolved yet count as well. */
static inline bool gateway_is_usable(const struct rib_gateway *g, bool waiting)
{
	return g->hops && (waiting || !g->waiting);
}

/* Takes the gateway of a hop of a prefix, with one more user; RIB_NO_NUMBER: too many gateways. */
unsigned gateway_take(struct rib *r, const struct rib_hop *hop, bool six);

/* Drops one user. Without users the gateway is removed; by then nothing may lead to it. */
void gateway_release(struct rib *r, unsigned g);

/* Recomputes its hops, for a recursive gateway by a look-up; sets `changed` if they differ. */
void gateway_refresh(struct rib *r, struct rib_gateway *g);

/* Asks again where it is, then recomputes its hops. */
void gateway_reach(struct rib *r, struct rib_gateway *g);

/* Rebuilds the hash table after the numbers have grown. */
void gateways_chain(struct rib *r);

/* --- sets.c --- */

/* Rebuilds the hash table of sets after the numbers have grown. */
void sets_chain(struct rib *r);

/* Are two routes of one prefix of the same preference? */
static inline bool member_alike(const struct rib_member *a, const struct rib_member *b)
{
	return a->distance == b->distance && a->source == b->source;
}

/* Puts the lists from `from` on, which are unused, on the free list. */
void lists_free(struct rib *r, uint32_t from, uint32_t to);

/* The routes of a set, by distance, source, gateway and the rest. */
static inline struct rib_member *set_members(const struct rib *r, struct rib_set *s)
{
	return s->list == RIB_NO_NUMBER ? s->few : r->list[s->list].member;
}

/* The hops of a set's preferred routes among those that can be used, each once; `neighbours`: of
 * those routes alone that are not recursive. Those that wait are left out, unless all do: *waiting.
 * Returns how many. */
unsigned set_hops(const struct rib *r, unsigned set, bool neighbours, struct rib_hops *out,
                  bool *waiting);

/* The weights of hops, for ecmp_set (rib.h says how). */
void hops_weigh(const struct rib_hops *h, uint8_t weight[ECMP_MEMBERS_MAX]);

/* Sorts routes as sets have them. */
void members_sort(struct rib_member *member, unsigned n);

/* Does the set have these routes? */
bool set_has(const struct rib *r, unsigned set, const struct rib_member *member, unsigned n, bool six);

/* Releases the gateways of n routes. */
void members_release(struct rib *r, const struct rib_member *member, unsigned n);

/* Takes the set of these routes (at least one, sorted, gateways taken), with one more user.
 * RIB_NO_NUMBER: too many sets; the gateways are released. */
unsigned set_take(struct rib *r, struct rib_member *member, unsigned n, bool six);

/* Drops one user. If it was the last, no prefix may lead to the set. */
void set_release(struct rib *r, unsigned set);

/* Updates the groups of all sets with changed gateways. Sets `moved` to the stage in those whose
 * prefixes must be added, changed or removed; returns whether there is any. Clears `changed` in all
 * gateways. */
bool sets_refresh(struct rib *r, unsigned stage);

/* Prepares a set for these sorted routes in place of its own: makes the group that it will need, and adds
 * the lists that it will need to *lists. False: there are no more groups. */
bool set_prepare(struct rib *r, unsigned set, const struct rib_member *member, unsigned n,
                 uint32_t *lists);

/* Frees the group that set_prepare has made, if it has made one. */
void set_unprepare(struct rib *r, unsigned set);

/* Gives a prepared set these routes, gateways taken. Its old gateways are dropped when the sweep has
 * passed all slots. False: it had them, and nothing changes. */
bool set_become(struct rib *r, unsigned set, const struct rib_member *member, unsigned n,
                unsigned stage);

/* True if n lists are unused. */
bool lists_left(const struct rib *r, uint32_t n);

/* --- rib.c --- */

/* Divides the memory of a base among its tables, and writes nothing to it. */
void rib_divide(struct rib *r, uint8_t *memory, const struct rib_size *size);

/* The number of lists (struct rib_list) for a base of `numbers` sets. */
uint32_t lists_for(uint32_t numbers);

/* A source's routes to prefixes of one family. */
struct routes {
	enum rib_source source;
	uint16_t tag;
	bool six;
	const struct rib_hop *hop;
	unsigned n;
};

/* Resolves all recursive gateways. */
void gateways_resolve(struct rib *r);

/* Collects the routes of a set except those of one source, plus the new ones, sorted, and takes their
 * gateways. Returns how many, or E_NOMEM with no gateway taken. */
int routes_compose(struct rib *r, unsigned set, const struct routes *new,
                   struct rib_member member[RIB_ROUTES_MAX]);

/* rib_set. *slot: the prefix's slot, or TABLE_NO_SLOT, before and after. */
int routes_set(struct rib *r, struct rib_table *t, const struct rib_prefix *p, uint32_t *slot,
               const struct routes *new);

/* Removes a prefix that has no routes left. */
void slot_forget(struct rib *r, struct rib_table *t, uint32_t slot);

/* --- sweep.c --- */

/* The number of circles of the sweep, 1 or 2, after which a change made now has reached all slots. */
unsigned sweep_stage(const struct rib *r);

/* The sweep has work for at least `stage` circles. */
void sweep_begin(struct rib *r, unsigned stage);

/* True if the prefix in the slot has lost all its routes by rib_replace. */
bool slot_is_dying(const struct rib *r, const struct rib_table *t, uint32_t slot);

/* For table_remove: a slot has moved. */
void slot_moved(void *rib, struct rib_table *t, uint32_t to, uint32_t from);

/* --- host.c --- */

/* rib_set of RIB_HOST: the prefix's next hop, or RIB_NH_NONE. */
int host_set(struct rib *r, const struct rib_prefix *p, uint32_t nh);

/* The next hop of a host, or RIB_NH_NONE; *slot: its slot. */
uint32_t host_find(const struct rib *r, const struct rib_prefix *p, uint32_t *slot);

/* The routes of a prefix leave the forwarding table: its host takes their place if there is one and the
 * table has room; else the prefix is removed. */
void host_uncover(struct rib *r, const struct rib_prefix *p);

/* True if the slot has a host that the forwarding table has refused and that no route covers. */
bool host_waits(const struct rib *r, uint32_t slot);

/* Tries again to enter the host of that slot. If the table refuses it, r->room becomes 0. */
void host_retry(struct rib *r, uint32_t slot);

#endif
