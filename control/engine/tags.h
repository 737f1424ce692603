/*
 * Tags of next-hop objects: the numbers by which the routing information base knows which routes
 * use an object (rib_set, net/rib/rib.h). Routes of one tag have the same next hops there. Distance
 * and origin are parts of those, so an object has a tag for each family and protocol of its routes.
 *
 * Invariants
 * 1. A tag in use belongs to one object, family and protocol. A forgotten tag is given again only
 *    after all others: routes that an earlier session of the engine has left may still have it.
 * 2. No function waits or allocates. Ids come from the network, so the hash is keyed.
 */
#ifndef CONTROL_ENGINE_TAGS_H
#define CONTROL_ENGINE_TAGS_H

#include "lib/siphash.h"
#include "lib/types.h"
#include "net/fpm/fpm.h"

#define TAGS_SLOTS 8192u
#define TAGS_MAX (TAGS_SLOTS / 2) /* in use at the same time */
#define TAG_NONE 0

struct tags {
	struct siphash_key key;
	uint32_t used;
	uint16_t last; /* the tag given last */
	uint32_t taken[65536 / 32]; /* a bit for each tag in use */
	struct tag_slot {
		uint32_t id;
		uint16_t tag; /* TAG_NONE: the slot is free */
		uint8_t kind; /* protocol and family */
	} slot[TAGS_SLOTS];
};

/* Begins without tags. The key is secret and random. */
void tags_init(struct tags *t, const struct siphash_key *key);

/* Forgets all tags. */
void tags_clear(struct tags *t);

/* The tag of an object for routes of that family and protocol; TAG_NONE: it has none. */
uint16_t tags_find(const struct tags *t, uint32_t id, enum fpm_protocol protocol, bool six);

/* The same; gives it a tag if it has none. TAG_NONE: all are in use. */
uint16_t tags_take(struct tags *t, uint32_t id, enum fpm_protocol protocol, bool six);

/* Forgets one. */
void tags_forget(struct tags *t, uint32_t id, enum fpm_protocol protocol, bool six);

#endif
