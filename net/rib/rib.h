/*
 * The routing information base: all routes of all sources, of both families, and what follows from
 * them for the forwarding table.
 *
 * A source has, for a prefix, some routes at once: rib_set says all of them. Of all routes to a
 * prefix those are used that can be, of the least distance; several share its flows (net/ecmp.h).
 * Where a route leads is a `hop`:
 *
 *     nowhere     a next-hop number of the caller's that needs no link: null0 and the like
 *     a link      a number that needs one: the connected subnet of an interface
 *     a gateway   an address. If it is on a subnet of ours, the neighbour there; if not, the route is
 *                 recursive: the gateway is looked up in this very base, and its hops are those of
 *                 the longest prefix that covers it
 *
 * A gateway is looked up among routes that lead to neighbours themselves. Recursive ones, and
 * default routes, are left out of that. So no route can hang on itself, by whatever detour, and what
 * is used never depends on the order in which routes came. (BIRD's tables have the same rule: a
 * recursive next hop does not resolve through another one.)
 *
 * Prefixes with the same routes share a set, and a set that has several routes, or a recursive one,
 * is a group in the forwarding table (a number whose members change). So when a link goes or a
 * gateway is reached another way, groups change, at once, and the table does not. It does where a
 * set begins or ends to have hops at all: its prefixes go in or out, in pieces (rib_work), and
 * packets take a shorter prefix, if there is one.
 *
 *     rib.c       what changes mean
 *     sets.c      routes that prefixes share
 *     gateway.c   hops, and how gateways are reached
 *     table.c     which prefix has which set
 *
 * Invariants
 * 1. A prefix that gets other routes is never without any: the table is changed by one store.
 * 2. What the table does not take is refused prefix by prefix, and counted (rib_refused); they
 *    are tried again when there may be room (rib_retry).
 * 3. A neighbour is held (rib_ops.reach, release) as long as the table may lead to it.
 *
 * No function waits or allocates; memory is lent. One writer; nobody else looks at a base.
 *
 * Deliberately missing: metrics beside the distance; weights.
 */
#ifndef NET_RIB_H
#define NET_RIB_H

#include "lib/types.h"
#include "net/addr.h"
#include "net/ecmp.h"

#define RIB_ROUTES_MAX ECMP_MEMBERS_MAX /* of a prefix, all sources together */
#define RIB_NO_INTERFACE 0xff  /* a hop that needs no link */
#define RIB_ANY_INTERFACE 0xfe /* of a gateway: whichever has it on its subnet */
#define RIB_NH_NONE 0u         /* no next hop: FIB_NH_NONE */

enum rib_source {
	RIB_CONNECTED, /* follows from an interface's address */
	RIB_STATIC,    /* the configuration */
	RIB_TEST,      /* who tries the table out */
	RIB_SOURCES,
};

struct rib_prefix {
	struct net_addr addr; /* of IPv4: net_addr_ip4; no bit behind plen is set */
	uint8_t plen;
	bool six;
};

/* Where a route leads. Of a gateway, nh is RIB_NH_NONE and interface the one that is meant, or
 * RIB_ANY_INTERFACE; else via is NET_ADDR_ANY, and interface the one that nh needs, or
 * RIB_NO_INTERFACE. */
struct rib_hop {
	struct net_addr via;
	uint16_t nh;
	uint8_t interface;
	uint8_t distance;
};

/* How a gateway is reached. */
enum rib_reach {
	RIB_NEIGHBOUR, /* on a subnet of ours */
	RIB_FAR,       /* on none */
	RIB_CLOSED,    /* on one whose interface takes no part */
	RIB_FULL,      /* no room for one more neighbour */
};

/* What the base asks of its user. Next-hop numbers are above RIB_NH_NONE and fit 16 bits. */
struct rib_ops {
	/* Where is that gateway? RIB_NEIGHBOUR: *nh and *interface say it, and it is held once. */
	enum rib_reach (*reach)(const struct net_addr *via, uint8_t wanted, uint32_t *nh,
	                        uint8_t *interface);
	void (*release)(uint32_t nh); /* it is held once less */
	bool (*up)(unsigned interface); /* its link is */
	/* Leads nowhere: a number that is no way for a gateway. */
	bool (*nowhere)(uint32_t nh);
	/* The forwarding table. put enters the prefix, or changes it; false: there is no room, and it
	 * is as it was. take: it is there. */
	bool (*put)(const struct rib_prefix *p, uint32_t nh);
	void (*take)(const struct rib_prefix *p);
	/* Groups of 1 to ECMP_MEMBERS_MAX numbers that are no groups (control/groups.h). RIB_NH_NONE:
	 * there are no more. */
	uint32_t (*group_make)(const uint16_t *member, unsigned n);
	void (*group_change)(uint32_t group, const uint16_t *member, unsigned n);
	void (*group_free)(uint32_t group);
	uint16_t dead_end; /* leads nowhere: of a group that has nobody left, until its prefixes are
	                    * out of the table */
};

/* Which prefix has which set. Open addressing; a slot is the words of the prefix, and one more: set,
 * length, flags (table.c). */
struct rib_table {
	uint32_t *slot;
	uint32_t slots, used;
	bool six;
};

#define RIB_NUMBERS_MAX 8192u /* sets, and as many gateways */

/* What a base is to hold. */
struct rib_size {
	uint32_t four, six; /* prefixes of each family */
	uint32_t routes;    /* of which all may be different, as long as there are few */
};

struct rib_set;
struct rib_gateway;

/* A base. Read by nobody but net/rib. */
struct rib {
	const struct rib_ops *ops;
	struct rib_size size;
	struct rib_table table[2]; /* of IPv4, of IPv6 */
	struct rib_set *set;
	struct rib_gateway *gateway;
	uint16_t *set_chain, *gateway_chain; /* hash tables: the first number of each chain */
	uint16_t set_free, gateway_free;     /* lists of numbers not in use */
	uint32_t numbers;   /* sets, and gateways, that there is memory for: a power of two */
	uint32_t recursive; /* gateways that are RIB_FAR, */
	uint32_t full;      /* and RIB_FULL */
	bool resolve;       /* what they are reached by may have changed */
	bool sweeping;      /* rib_work is on its way through the slots: it has seen those of tables */
	unsigned sweep_six; /* before this one, */
	uint32_t sweep_at;  /* and of this one as many */
	bool room;          /* the forwarding table may have room for who was refused */
	uint32_t refused; /* prefixes that are not in the table, or not as they should be, for it is
	                   * full; */
	uint32_t unknown; /* those that there is not even a slot for; */
	uint32_t idle;    /* and those none of whose routes can be used */
	uint32_t prefixes[RIB_SOURCES]; /* that have routes of that source */
};

/* What a prefix has, one route at a time (rib_route). */
struct rib_route {
	struct rib_hop hop;
	enum rib_source source;
	enum rib_reach reach; /* of a gateway */
	bool used;            /* it is one of those of the least distance that can be used */
	unsigned hops;        /* 0: it cannot be used */
	uint16_t nh[ECMP_MEMBERS_MAX]; /* of each: a number that is no group */
};

size_t rib_bytes(const struct rib_size *size);

/* An empty base in the caller's memory, of rib_bytes(size) bytes, aligned to 8. */
void rib_init(struct rib *r, const struct rib_ops *ops, void *memory, const struct rib_size *size);

/* Is it large enough for that? */
bool rib_has_room(const struct rib *r, const struct rib_size *size);

/* Moves it into other memory, of rib_bytes(size), of nothing less than it has; the old memory is the
 * caller's again. */
void rib_move(struct rib *r, void *memory, const struct rib_size *size);

/*
 * The source has these n routes to the prefix, at most RIB_ROUTES_MAX, and no others; 0: none. No
 * two of them are the same. E_NOMEM: a table is full, and the prefix is refused. It then leads where
 * it led; if it led nowhere, its routes are remembered where that is possible, to be tried again.
 */
int rib_set(struct rib *r, const struct rib_prefix *p, enum rib_source source,
            const struct rib_hop *hop, unsigned n);

/* An interface's link went up or down (ops->up knows). */
void rib_link(struct rib *r, unsigned interface);

/* Addresses of ours, or which interfaces take part, have changed, or there is room for neighbours:
 * all gateways are asked for. */
void rib_reach_again(struct rib *r);

/* Does what has been put off: gateways are looked up, prefixes of sets go into the table or out of
 * it, `changes` of these at most. True: there is more to do. */
bool rib_work(struct rib *r, unsigned changes);

/* Prefixes that are refused. */
static inline uint32_t rib_refused(const struct rib *r) { return r->refused + r->unknown; }

/* The forwarding table may have got room: rib_work is to try them again. */
static inline void rib_retry(struct rib *r) { r->room = r->refused != 0; }

/* The i-th route of a prefix in the order of distance; false: it has no more. */
bool rib_route(const struct rib *r, const struct rib_prefix *p, unsigned i, struct rib_route *out);

/* Walks the prefixes that are announced and not in the table, in no order, from *cursor, 0 at
 * first; of one family. False after the last. What changes meanwhile may be met twice or missed. */
bool rib_next_idle(const struct rib *r, bool six, uint32_t *cursor, struct rib_prefix *out);

#endif
