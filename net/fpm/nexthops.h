/*
 * The next-hop objects of an FPM stream, by id: single hops, blackholes, and groups of ids. Routes
 * with RTA_NH_ID refer to them.
 *
 * An object is replaced as a whole. Groups refer to ids, so a replaced member changes all its groups
 * at once. fpm_nexthops_next_group tells the caller which groups these are. zebra's order is not
 * guaranteed: a group may come before its members, and an object may be removed while groups contain
 * it. The members of a group are therefore looked up when it is resolved. A route may also refer to an
 * object that comes later: resolve it again when the object is set.
 *
 * Invariants
 * 1. No function waits or allocates; the caller lends the memory. One writer, no other readers.
 * 2. fpm_nexthops_set changes all or nothing.
 * 3. A group's members are not groups: in Linux groups do not nest (nexthop.h), and zebra flattens
 *    them. A member that is one is reported and not followed, so no cycle can be walked.
 * 4. The ids come from the network. Both hash tables are keyed (lib/siphash.h).
 * 5. Except for init and clear, no function takes time that grows with the number of objects: set,
 *    remove and resolve take it for the members of one group, next_group for the groups of one id.
 *
 * An id has a meaning only within one connection: a zebra that was restarted numbers anew. Use an
 * empty table for each connection. Routes that are kept over a restart need their hops resolved.
 *
 * Deliberately missing: which routes refer to an object (the caller knows its routes); resilient
 * groups (NHA_RES_GROUP): they are groups like others.
 */
#ifndef NET_FPM_NEXTHOPS_H
#define NET_FPM_NEXTHOPS_H

#include "lib/siphash.h"
#include "lib/types.h"
#include "net/fpm/fpm.h"

/* Capacity of a table. */
struct fpm_nexthops_size {
	uint32_t objects; /* at most FPM_NEXTHOPS_MAX */
	uint32_t members; /* of all groups together, at most FPM_NEXTHOPS_MAX */
};
#define FPM_NEXTHOPS_MAX (1u << 24)

struct fpm_object;
struct fpm_link;

/* A table. Private to nexthops.c, but for objects and members. */
struct fpm_nexthops {
	struct siphash_key key;
	struct fpm_nexthops_size size;
	uint32_t objects, members; /* in use */
	struct fpm_object *object; /* numbered from 1; 0: none. As all numbers below */
	struct fpm_link *link;
	uint32_t *object_chain; /* hash table of the objects, by id */
	uint32_t *link_chain;   /* hash table of memberships, by the member's id */
	uint32_t object_mask, link_mask;
	uint32_t object_free, link_free;
};

size_t fpm_nexthops_bytes(const struct fpm_nexthops_size *size);

/* Makes an empty table in the caller's memory: fpm_nexthops_bytes(size) bytes, aligned to 8. The key
 * is secret and random. */
void fpm_nexthops_init(struct fpm_nexthops *t, void *memory, const struct fpm_nexthops_size *size,
                       const struct siphash_key *key);

/* Removes all objects. */
void fpm_nexthops_clear(struct fpm_nexthops *t);

/* Adds an object as fpm_next returned it, in place of one with that id. E_NOMEM: no room, and nothing
 * has changed. The former object of the id is then still there, and obsolete. */
int fpm_nexthops_set(struct fpm_nexthops *t, const struct fpm_nexthop *nh);

/* Removes an object, whether or not groups contain it. False: there is none. */
bool fpm_nexthops_remove(struct fpm_nexthops *t, uint32_t id);

/* Copies the object; false: there is none. */
bool fpm_nexthops_find(const struct fpm_nexthops *t, uint32_t id, struct fpm_nexthop *out);

/* The final hops of an object. A group without hops and with a blackhole discards packets. */
struct fpm_hops {
	unsigned hops;
	unsigned blackholes; /* the object itself, or members */
	unsigned missing;    /* members without an object */
	unsigned nested;     /* members that are groups, not followed */
	struct fpm_hop hop[FPM_HOPS_MAX]; /* with the weights of the group */
};

/* Resolves an object; false, with *out empty: there is none of that id. */
bool fpm_nexthops_resolve(const struct fpm_nexthops *t, uint32_t id, struct fpm_hops *out);

/*
 * The groups that contain an id, whether or not the id has an object, each once and in no order.
 * *cursor is 0 at first. Returns a group's id, or 0 after the last. The table must not change
 * meanwhile.
 */
uint32_t fpm_nexthops_next_group(const struct fpm_nexthops *t, uint32_t id, uint32_t *cursor);

#endif
