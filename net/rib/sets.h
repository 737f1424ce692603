/* What net/rib's files share: sets and gateways. */
#ifndef NET_RIB_SETS_H
#define NET_RIB_SETS_H

#include "net/rib/rib.h"

#define RIB_NO_NUMBER 0xffffu

/* Where routes lead, each hop once, and how it is reached. */
struct rib_gateway {
	struct rib_hop key; /* its distance is 0 */
	uint32_t users;     /* routes of sets; 0: the number is free */
	uint16_t next;      /* of its hash chain, or of the free ones */
	uint8_t reach;      /* enum rib_reach; of what is no gateway RIB_NEIGHBOUR */
	uint8_t link;       /* that it is on, or RIB_NO_INTERFACE */
	uint16_t nh;        /* RIB_NEIGHBOUR: its number */
	uint16_t was;       /* another one that prefixes may still lead to, or RIB_NH_NONE */
	bool changed;       /* its hops have, and sets do not know yet */
	uint8_t hops;       /* that it is reached by now; 0: it cannot be used */
	uint16_t hop[ECMP_MEMBERS_MAX];
};

/* One of a set's routes. */
struct rib_member {
	uint16_t gateway;
	uint8_t distance;
	uint8_t source; /* enum rib_source */
};

/* Routes that prefixes share. */
struct rib_set {
	struct rib_member member[RIB_ROUTES_MAX]; /* by distance, gateway, source */
	uint32_t users;   /* prefixes; 0: the number is free */
	uint16_t next;    /* of its hash chain, or of the free ones */
	uint8_t routes;
	bool moved;       /* nh has changed, and prefixes may not know yet */
	uint16_t nh;      /* what the table is to say for its prefixes, or RIB_NH_NONE */
	uint16_t group;   /* if it needs one, or RIB_NH_NONE */
};

/* The set of prefixes whose routes there is no room for. It has none. */
#define RIB_SET_UNKNOWN 0u

/* --- gateway.c --- */

/* The gateway of a hop, with one more user; RIB_NO_NUMBER: there are too many. */
unsigned gateway_take(struct rib *r, const struct rib_hop *hop);

/* One user less; without any it is forgotten, and nothing leads to it any more. */
void gateway_release(struct rib *r, unsigned g);

/* Finds its hops anew, of a recursive one by a look-up; `changed` when they are others. */
void gateway_refresh(struct rib *r, struct rib_gateway *g);

/* Asks anew where it is, and then for its hops. */
void gateway_reach(struct rib *r, struct rib_gateway *g);

/* The numbers have got more room: makes the hash table anew. */
void gateways_chain(struct rib *r);

/* --- sets.c --- */

/* As gateways_chain. */
void sets_chain(struct rib *r);

/* The hops of a set's usable routes of the least distance, each once; `neighbours`: of those routes
 * alone that are not recursive. Returns how many. */
unsigned set_hops(const struct rib *r, unsigned set, bool neighbours,
                  uint16_t hop[ECMP_MEMBERS_MAX]);

/* The set of these routes, whose gateways are taken, in any order, one at least, with one more
 * user; RIB_NO_NUMBER: there are too many, and the gateways are released. */
unsigned set_take(struct rib *r, struct rib_member *member, unsigned n);

/* One user less; no prefix leads there any more if it was the last. */
void set_release(struct rib *r, unsigned set);

/* Of all sets that have changed gateways: their groups get other hops, and `moved` says that
 * prefixes have to go in or out. Returns if any is. No gateway is `changed` any more. */
bool sets_refresh(struct rib *r);

#endif
