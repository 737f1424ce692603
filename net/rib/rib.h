/*
 * The routing information base: all routes of all sources, of both families, and the forwarding
 * table entries derived from them.
 *
 * rib_set states all routes that a source has for a prefix. Among all routes to a prefix, the
 * usable ones with the least distance are used; of several sources with that distance, the first in
 * enum rib_source. Several routes of one source share the flows by weight (net/ecmp.h). A route leads
 * to a `hop`:
 *
 *     nowhere     a next-hop number of the caller that needs no link: null0 and the like
 *     a link      a number that needs one: the connected subnet of an interface
 *     a gateway   an address. On one of our subnets it is the neighbour there. Otherwise the route
 *                 is recursive: the gateway is looked up in this base, and has the hops of the
 *                 longest prefix that covers it
 *
 * A gateway is looked up only among routes that lead directly to neighbours, not among recursive
 * and default routes. No route can thus depend on itself, even indirectly, and the result never
 * depends on the order in which routes came. (BIRD's tables have the same rule: a recursive next
 * hop does not resolve through another one.)
 *
 * The weight of a recursive route is divided among its gateway's hops in proportion to their weights
 * there. Equal hops of several routes add up. If the sums are no whole numbers, or above 255, they are
 * scaled so that the largest is 255, and rounded, to 1 at least.
 *
 * An IPv4 prefix may have an IPv6 gateway (RFC 8950). This is another gateway than the same address
 * for IPv6 prefixes: ops->reach is told the family of the prefix, and may return another number, whose
 * adjacency has IPv4's EtherType. If the gateway is recursive, its hops are those that IPv6 routes
 * have. A caller whose numbers differ by family returns RIB_CLOSED instead of RIB_FAR.
 *
 * Prefixes with the same routes share a set. A set with several routes, or a recursive one, is a
 * group in the forwarding table: a number whose members change. When a link goes down or a gateway
 * is reached differently, the groups change at once and the table does not. The table changes only
 * when a set gains its first hop or loses its last one. Its prefixes are then added or removed in
 * pieces (rib_work); meanwhile packets use a shorter prefix, if there is one.
 *
 * A neighbour that becomes a hop, as its link returns or it is new, has to be resolved first. Until then
 * the hop waits: other hops of the prefix keep its flows, even those of less preferred routes. If all hops
 * of a prefix wait, they are used at once, and packets wait for the resolution. rib_ask asks for the
 * neighbours in whose place others have the flows, since no packet would. A hop that is ready stays so
 * until its link goes down.
 *
 * A routing engine (RIB_ENGINE) that begins a new session states its routes anew. Until it has, the old
 * ones stay in use, as stale routes (RFC 4724 does the same for BGP): a prefix has the number of the
 * session, the epoch, in which the engine last stated it. rib_set gives it the present one, which
 * changes nothing else if the routes are the same; rib_epoch_next begins the next one;
 * rib_remove_stale removes what has not been stated again.
 *
 * The engine names a next-hop group by the tag of its routes. rib_replace gives the group other hops:
 * each set with the tag gets them in place, and its prefixes need not be stated again. If the set has
 * a group in the forwarding table, that changes at once, and no prefix does: several hops to several,
 * and several to one, for which the group stays, with one member. Otherwise, from one hop to one or
 * several, to none that can be used, or to none at all, the prefixes change in pieces, by one store
 * each; those that follow still lead to the old hop, which is held until the last one has left.
 *
 * A neighbour's own address (RIB_HOST) is the last choice for its prefix. There may be thousands of
 * hosts, each with a next hop of its own, so they take no sets: a separate table has their next
 * hops, 8 bytes a slot. When the routes of such a prefix leave the forwarding table, the host takes
 * their place by the same store, and the other way round.
 *
 *     rib.c       the effects of changes
 *     replace.c   another content of a next-hop group
 *     epoch.c     sessions of the engine, stale routes
 *     sweep.c     deferred work
 *     sets.c      routes that prefixes share
 *     gateway.c   hops, and how gateways are reached
 *     host.c      neighbours' own addresses
 *     table.c     the set of each prefix
 *     previous.c  the engine's routes in the memory of a base whose program has ended
 *
 * Invariants
 * 1. A prefix whose routes change is never without any: the table is changed by one store.
 * 2. What the table cannot take is refused prefix by prefix and counted (rib_refused). Refused
 *    prefixes are tried again when there may be room (rib_retry). Hosts are tried again too, but
 *    not counted: without its own entry a host is reached by its subnet's.
 * 3. A neighbour is held (rib_ops.reach, release) as long as the table may lead to it.
 *
 * No function waits or allocates; the caller lends the memory. One writer; nobody else reads a
 * base.
 *
 * Deliberately missing: metrics beside the distance; more than RIB_FAR_HOPS hops of one recursive
 * gateway (the first ones are used); an index of sets by tag (rib_replace looks at all of them); a merger
 * of two sets whose routes become the same by rib_replace (each keeps its number and group until its
 * prefixes leave).
 */
#ifndef NET_RIB_H
#define NET_RIB_H

#include "lib/types.h"
#include "net/addr.h"
#include "net/ecmp.h"

#define RIB_ROUTES_MAX ECMP_MEMBERS_MAX /* per prefix, over all sources */
#define RIB_FAR_HOPS 16        /* of a recursive gateway */
#define RIB_NO_INTERFACE 0xff  /* a hop that needs no link */
#define RIB_ANY_INTERFACE 0xfe /* for a gateway: any interface with the gateway on its subnet */
#define RIB_NH_NONE 0u         /* no next hop, as FIB_NH_NONE */

/* Of equal distance, the first is preferred. */
enum rib_source {
	RIB_LOCAL,      /* our addresses, broadcast and multicast */
	RIB_CONNECTED,  /* subnets of our interfaces */
	RIB_STATIC,     /* the configuration */
	RIB_TEST,       /* tests of the table: before the engine, whose routes may have distance 0 too */
	RIB_ENGINE,     /* a routing engine */
	RIB_LEASED,     /* a DHCP server, by way of the client */
	RIB_ADVERTISED, /* routers' advertisements */
	RIB_HOST,       /* IPv4 neighbours: after all others, whatever the distance */
	RIB_SOURCES,
};

struct rib_prefix {
	struct net_addr addr; /* IPv4: as net_addr_ip4; no bit after plen is set */
	uint8_t plen;
	bool six;
};

/* Where a route leads. For a gateway, nh is RIB_NH_NONE, and interface is the requested one or
 * RIB_ANY_INTERFACE. Otherwise via is NET_ADDR_ANY, and interface is the one that nh needs or
 * RIB_NO_INTERFACE. */
struct rib_hop {
	struct net_addr via;
	uint16_t nh;
	uint8_t interface;
	uint8_t distance;
	uint8_t weight; /* its part of the flows; 0 is 1 */
	uint8_t origin; /* for display alone: the source's own number, such as a routing protocol */
};

/* How a gateway is reached. */
enum rib_reach {
	RIB_NEIGHBOUR, /* on a subnet of ours */
	RIB_FAR,       /* not on a subnet of ours */
	RIB_CLOSED,    /* on a subnet whose interface does not take part */
	RIB_FULL,      /* no room for another neighbour */
};

/* Callbacks of the base's user. Next-hop numbers are above RIB_NH_NONE and fit 16 bits. */
struct rib_ops {
	/* Locates a gateway of prefixes of one family; six: IPv6. For RIB_NEIGHBOUR it sets *nh and
	 * *interface and adds one hold on the neighbour. */
	enum rib_reach (*reach)(const struct net_addr *via, bool six, uint8_t wanted, uint32_t *nh,
	                        uint8_t *interface);
	void (*release)(uint32_t nh); /* drops one hold */
	bool (*up)(unsigned interface); /* is the link up? */
	/* Can packets be sent by that next hop, which needs this link, without waiting? */
	bool (*resolved)(uint32_t nh, unsigned interface);
	void (*ask)(uint32_t nh); /* begins to resolve the neighbour; may call rib_resolved */
	/* True for a number that leads nowhere, and thus cannot reach a gateway. */
	bool (*nowhere)(uint32_t nh);
	/* The forwarding table. put adds or changes the prefix; false: no room, and it is
	 * unchanged. take removes a prefix that is in the table. */
	bool (*put)(const struct rib_prefix *p, uint32_t nh);
	void (*take)(const struct rib_prefix *p);
	/* Groups of 1 to ECMP_MEMBERS_MAX numbers that are not groups themselves, with weights as
	 * ecmp_set has them (control/forwarding/groups.h). RIB_NH_NONE: no more groups. */
	uint32_t (*group_make)(const uint16_t *member, const uint8_t *weight, unsigned n);
	void (*group_change)(uint32_t group, const uint16_t *member, const uint8_t *weight,
	                     unsigned n);
	void (*group_free)(uint32_t group);
	uint16_t dead_end; /* a number that leads nowhere: the only member of a group without hops,
	                    * until its prefixes have left the table */
	uint16_t member_min; /* numbers below this one are no members of groups */
};

/* The set of each prefix. Open addressing; a slot has the words of the prefix and one more: set,
 * length, flags, epoch (table.c). */
struct rib_table {
	uint32_t *slot;
	uint32_t slots, used;
	bool six;
};

/* A place on a way through the slots: tables before `table` (IPv4, IPv6, hosts) have been seen, and of
 * this one as many slots as `at`. */
struct rib_place {
	uint32_t table, at;
};

#define RIB_EPOCHS 63 /* 6 bits of a slot; 0 is none */
#define RIB_NUMBERS_MAX 8192u /* maximum of sets, and of gateways */

/* Capacity of a base. */
struct rib_size {
	uint32_t four, six; /* prefixes of each family */
	uint32_t routes;    /* of which all may be different, as long as there are few */
	uint32_t hosts;     /* prefixes of RIB_HOST, beside the others */
};

struct rib_set;
struct rib_gateway;
struct rib_list;

/* A base. Private to net/rib. */
struct rib {
	const struct rib_ops *ops;
	struct rib_size size;
	struct rib_table table[2]; /* of IPv4, of IPv6 */
	struct rib_table hosts;    /* the prefixes of RIB_HOST: their next hops in place of sets */
	struct rib_set *set;
	struct rib_gateway *gateway;
	struct rib_list *list; /* the routes of sets that have many */
	uint16_t *set_chain, *gateway_chain; /* hash tables: the first number of each chain */
	uint16_t set_free, gateway_free, list_free; /* lists of numbers not in use */
	uint32_t numbers;   /* sets, and gateways, that there is memory for: a power of two */
	uint32_t recursive; /* gateways that are RIB_FAR, */
	uint32_t full;      /* and RIB_FULL */
	uint32_t waiting;   /* those whose hops have not been resolved yet */
	bool ask;           /* a gateway that waits has been passed over since rib_ask */
	bool resolve;       /* what they are reached by may have changed */
	uint8_t sweeping;   /* circles through the slots that rib_work has to end, 0 to 2 (sweep.c) */
	uint8_t room;       /* the forwarding table may have room for refused prefixes: for as many circles */
	struct rib_place sweep; /* where rib_work goes on */
	uint32_t refused; /* prefixes with a slot for which a table is full: they are not in the
	                   * forwarding table, or lead where they led before */
	uint32_t unknown; /* refused prefixes without a slot */
	uint32_t hosts_refused; /* hosts that are not in the forwarding table because it is full */
	uint32_t idle;    /* prefixes none of whose routes can be used */
	uint32_t prefixes[RIB_SOURCES]; /* prefixes with routes of each source */
	unsigned epoch;                 /* the present one, from 1 */
	uint32_t stated[RIB_EPOCHS + 1]; /* prefixes by the epoch of their slots */
	uint32_t stated_all;            /* those of all epochs but 0 */
	uint32_t unknown_engine;        /* of `unknown`: stated by the engine in this epoch */
	struct rib_place stale;         /* where rib_remove_stale goes on */
};

/* One route of a prefix (rib_route). */
struct rib_route {
	struct rib_hop hop;
	enum rib_source source;
	uint16_t tag;         /* as rib_set was given */
	enum rib_reach reach; /* of a gateway */
	bool stale;           /* the engine has not stated it in this epoch */
	bool used;            /* it is one of those that are preferred and can be used */
	bool waiting;         /* its hops have not been resolved yet */
	unsigned hops;        /* 0: it cannot be used */
	uint16_t nh[ECMP_MEMBERS_MAX]; /* of each: a number that is no group */
};

size_t rib_bytes(const struct rib_size *size);

/* Makes an empty base in the caller's memory: rib_bytes(size) bytes, aligned to 8. */
void rib_init(struct rib *r, const struct rib_ops *ops, void *memory, const struct rib_size *size);

/* Is the base large enough for `size`? */
bool rib_has_room(const struct rib *r, const struct rib_size *size);

/* Moves the base into other memory of rib_bytes(size), with `size` at least the present one. The
 * old memory returns to the caller. */
void rib_move(struct rib *r, void *memory, const struct rib_size *size);

/*
 * The source has these n routes to the prefix, at most RIB_ROUTES_MAX, and no others; 0: none. No
 * two of them are the same. The tag is a number of the source for all of them, 0: none; the engine's is
 * that of its next-hop group. E_NOMEM: a table is full, and the prefix is refused. It then leads where
 * it led; if it led nowhere, its routes are remembered where that is possible, to be tried again.
 *
 * RIB_ENGINE: the prefix is no longer stale, even if it is refused. If nothing else changes, neither the
 * forwarding table nor a group is touched.
 *
 * RIB_HOST has one route at most, to all 32 bits of an IPv4 address, whose hop is a number that needs
 * no link. ops->reach may call rib_set for this source, and for no other.
 */
int rib_set(struct rib *r, const struct rib_prefix *p, enum rib_source source, uint16_t tag,
            const struct rib_hop *hop, unsigned n);

/* Begins to load what rib_set needs of the base for that prefix. */
void rib_prefetch(const struct rib *r, const struct rib_prefix *p);

/*
 * The routes of the source (not RIB_HOST) with that tag, not 0, have these n hops now, at most
 * RIB_ROUTES_MAX; 0: the prefixes lose them. E_NOMEM: no more gateways, sets' lists or groups, or a
 * prefix would have too many routes; then nothing has changed. Prefixes change by rib_work; rib_route
 * tells of the new routes at once. Refused prefixes whose routes are unknown stay refused.
 */
int rib_replace(struct rib *r, enum rib_source source, uint16_t tag, const struct rib_hop *hop,
                unsigned n);

/* A new session of the engine has begun: the prefixes it has stated are stale until it states them
 * again. If some are stale from RIB_EPOCHS sessions ago, it looks at all slots: 10 ms for a million. */
void rib_epoch_next(struct rib *r);

/* The number of stale prefixes, and of all that the engine has stated, refused ones included. */
static inline uint32_t rib_stale(const struct rib *r) { return r->stated_all - r->stated[r->epoch]; }
static inline uint32_t rib_stated(const struct rib *r) { return r->stated_all; }

/*
 * Removes the engine's routes of stale prefixes, at most `changes` at a call. True: call again. False:
 * all slots have been looked at. If some prefixes are still stale then, there was no room for the
 * sets of the routes that they keep (E_NOMEM); the next call begins anew. Other functions may be
 * called in between.
 */
bool rib_remove_stale(struct rib *r, unsigned changes);

/* An interface's link went up or down; ops->up tells which. */
void rib_link(struct rib *r, unsigned interface);

/* The same for several links at once. */
void rib_links(struct rib *r);

/* The neighbour has been resolved: routes by it that wait are used. */
void rib_resolved(struct rib *r, uint32_t nh);

/* Calls ops->ask for each neighbour whose flows other hops have meanwhile. False: there are none. The
 * caller repeats it from time to time, and calls it soon if r->ask is set. */
bool rib_ask(struct rib *r);

/* Our addresses or the participating interfaces have changed, or there is room for neighbours: asks
 * again for all gateways. */
void rib_reach_again(struct rib *r);

/* Does deferred work: resolves gateways, and adds or removes at most `changes` prefixes of sets.
 * True: more work remains. */
bool rib_work(struct rib *r, unsigned changes);

/* The number of refused prefixes. */
static inline uint32_t rib_refused(const struct rib *r) { return r->refused + r->unknown; }

/* The forwarding table may have got room: rib_work is to try them again. */
static inline void rib_retry(struct rib *r) { r->room = r->refused || r->hosts_refused ? 2 : 0; }

/* The i-th route of a prefix in the order of preference; false: it has no more. */
bool rib_route(const struct rib *r, const struct rib_prefix *p, unsigned i, struct rib_route *out);

/* Walks one family's prefixes that have a slot and are not in the table, in no order, from *cursor,
 * 0 at first. False after the last. Changes meanwhile may cause repeats or omissions. */
bool rib_next_idle(const struct rib *r, bool six, uint32_t *cursor, struct rib_prefix *out);

/* What the engine had stated for a prefix, in a base whose program has ended. */
struct rib_previous {
	struct rib_prefix prefix;
	bool refused; /* the forwarding table had no room for it */
	unsigned n;   /* 1 to RIB_ROUTES_MAX, */
	struct rib_hop hop[RIB_ROUTES_MAX]; /* with distance, weight and origin */
};

/*
 * Walks the engine's prefixes in the memory of a base of that size, from *at on, {0, 0} at first. False
 * after the last. For a program that replaces a failed one: the base may be in the middle of a change,
 * and nothing in its memory is trusted. Prefixes that are none, and numbers out of range, are left out;
 * a prefix may come twice. The hops are for the caller to check: their numbers and addresses may be any,
 * and some may be equal.
 */
bool rib_previous_next(void *memory, const struct rib_size *size, struct rib_place *at,
                       struct rib_previous *out);

#endif
