/* See nexthops.h. Both tables use chaining. Chains and lists are linked by numbers; 0 ends them. */
#include "net/fpm/nexthops.h"

#include "lib/assert.h"
#include "lib/mem.h"
#include "lib/number.h"

/* An object in use is in the chain of its id, others are in the free list. */
struct fpm_object {
	uint32_t id;
	uint32_t next;
	uint32_t first, last; /* links to the members, in the group's order; 0: no group */
	struct fpm_hop hop;
	uint8_t protocol; /* enum fpm_protocol */
	bool blackhole;
};

/* One membership. It is in the list of its group, and in the chain of the member's id. */
struct fpm_link {
	uint32_t id, weight;    /* of the member */
	uint32_t group;         /* the group's object */
	uint32_t next_of_group; /* or of the free list */
	uint32_t next, prev;    /* in the chain */
};

/* At least one bucket for each entry, on average half filled or more. */
static uint32_t buckets(uint32_t entries)
{
	uint32_t n = 1;
	while (n < entries)
		n *= 2;
	return n;
}

size_t fpm_nexthops_bytes(const struct fpm_nexthops_size *size)
{
	return size->objects * sizeof(struct fpm_object) + size->members * sizeof(struct fpm_link) +
	       (buckets(size->objects) + (size_t)buckets(size->members)) * sizeof(uint32_t);
}

void fpm_nexthops_init(struct fpm_nexthops *t, void *memory, const struct fpm_nexthops_size *size,
                       const struct siphash_key *key)
{
	assert(size->objects <= FPM_NEXTHOPS_MAX && size->members <= FPM_NEXTHOPS_MAX);
	t->key = *key;
	t->size = *size;
	t->object_mask = buckets(size->objects) - 1;
	t->link_mask = buckets(size->members) - 1;
	t->object = memory;
	t->link = (struct fpm_link *)(t->object + size->objects);
	t->object_chain = (uint32_t *)(t->link + size->members);
	t->link_chain = t->object_chain + t->object_mask + 1;
	fpm_nexthops_clear(t);
}

static struct fpm_object *object_at(const struct fpm_nexthops *t, uint32_t number)
{
	return &t->object[number - 1];
}

static struct fpm_link *link_at(const struct fpm_nexthops *t, uint32_t number)
{
	return &t->link[number - 1];
}

void fpm_nexthops_clear(struct fpm_nexthops *t)
{
	memset(t->object_chain, 0, (t->object_mask + 1) * sizeof(uint32_t));
	memset(t->link_chain, 0, (t->link_mask + 1) * sizeof(uint32_t));
	t->objects = t->members = t->object_free = t->link_free = 0;
	for (uint32_t i = t->size.objects; i > 0; i--) {
		object_at(t, i)->next = t->object_free;
		t->object_free = i;
	}
	for (uint32_t i = t->size.members; i > 0; i--) {
		link_at(t, i)->next_of_group = t->link_free;
		t->link_free = i;
	}
}

static uint32_t hash(const struct fpm_nexthops *t, uint32_t id)
{
	const uint64_t word = id;
	return (uint32_t)siphash13_words(&t->key, &word, 1);
}

/* Where the number of the object with that id is stored, or the end of its chain. */
static uint32_t *object_slot(const struct fpm_nexthops *t, uint32_t id)
{
	uint32_t *slot = &t->object_chain[hash(t, id) & t->object_mask];
	while (*slot && object_at(t, *slot)->id != id)
		slot = &object_at(t, *slot)->next;
	return slot;
}

/* --- memberships --- */

/* Appends a member to a group. There is room. */
static void link_add(struct fpm_nexthops *t, uint32_t group, const struct fpm_member *m)
{
	const uint32_t number = t->link_free;
	struct fpm_link *l = link_at(t, number);
	struct fpm_object *o = object_at(t, group);
	uint32_t *chain = &t->link_chain[hash(t, m->id) & t->link_mask];
	t->link_free = l->next_of_group;
	*l = (struct fpm_link){.id = m->id, .weight = m->weight, .group = group, .next = *chain};
	if (*chain)
		link_at(t, *chain)->prev = number;
	*chain = number;
	if (o->last)
		link_at(t, o->last)->next_of_group = number;
	else
		o->first = number;
	o->last = number;
	t->members++;
}

/* Takes a link out of its chain. */
static void link_unchain(struct fpm_nexthops *t, const struct fpm_link *l)
{
	if (l->next)
		link_at(t, l->next)->prev = l->prev;
	if (l->prev)
		link_at(t, l->prev)->next = l->next;
	else
		t->link_chain[hash(t, l->id) & t->link_mask] = l->next;
}

/* Removes all members of a group. */
static void links_free(struct fpm_nexthops *t, struct fpm_object *o)
{
	for (uint32_t number = o->first; number; t->members--) {
		struct fpm_link *l = link_at(t, number);
		const uint32_t next = l->next_of_group;
		link_unchain(t, l);
		l->next_of_group = t->link_free;
		t->link_free = number;
		number = next;
	}
	o->first = o->last = 0;
}

static uint32_t links_count(const struct fpm_nexthops *t, const struct fpm_object *o)
{
	uint32_t n = 0;
	for (uint32_t number = o->first; number; number = link_at(t, number)->next_of_group)
		n++;
	return n;
}

/* --- objects --- */

/* Puts a free object at the end of a chain. */
static void object_new(struct fpm_nexthops *t, uint32_t *slot, uint32_t id)
{
	*slot = t->object_free;
	struct fpm_object *o = object_at(t, *slot);
	t->object_free = o->next;
	*o = (struct fpm_object){.id = id};
	t->objects++;
}

int fpm_nexthops_set(struct fpm_nexthops *t, const struct fpm_nexthop *nh)
{
	uint32_t *slot = object_slot(t, nh->id);
	const uint32_t former = *slot ? links_count(t, object_at(t, *slot)) : 0;
	assert(nh->id && nh->members <= FPM_HOPS_MAX);
	if ((!*slot && !t->object_free) || t->members - former + nh->members > t->size.members)
		return E_NOMEM;
	if (!*slot)
		object_new(t, slot, nh->id);
	struct fpm_object *o = object_at(t, *slot);
	links_free(t, o);
	o->hop = nh->hop;
	o->protocol = (uint8_t)nh->protocol;
	o->blackhole = nh->blackhole;
	for (unsigned i = 0; i < nh->members; i++)
		link_add(t, *slot, &nh->member[i]);
	return E_OK;
}

bool fpm_nexthops_remove(struct fpm_nexthops *t, uint32_t id)
{
	uint32_t *slot = object_slot(t, id);
	const uint32_t number = *slot;
	if (!number)
		return false;
	struct fpm_object *o = object_at(t, number);
	links_free(t, o);
	*slot = o->next;
	o->next = t->object_free;
	t->object_free = number;
	t->objects--;
	return true;
}

bool fpm_nexthops_find(const struct fpm_nexthops *t, uint32_t id, struct fpm_nexthop *out)
{
	const uint32_t number = *object_slot(t, id);
	if (!number)
		return false;
	const struct fpm_object *o = object_at(t, number);
	out->id = id;
	out->protocol = (enum fpm_protocol)o->protocol;
	out->blackhole = o->blackhole;
	out->hop = o->hop;
	out->members = 0;
	for (uint32_t i = o->first; i; i = link_at(t, i)->next_of_group)
		out->member[out->members++] = (struct fpm_member){
			.id = link_at(t, i)->id,
			.weight = link_at(t, i)->weight,
		};
	return true;
}

/* --- what an object means --- */

/* Adds an object that is no group. */
static void hops_add(struct fpm_hops *out, const struct fpm_object *o, uint32_t weight)
{
	if (o->blackhole) {
		out->blackholes++;
		return;
	}
	struct fpm_hop *hop = &out->hop[out->hops++];
	*hop = o->hop;
	hop->weight = weight;
}

bool fpm_nexthops_resolve(const struct fpm_nexthops *t, uint32_t id, struct fpm_hops *out)
{
	const uint32_t number = *object_slot(t, id);
	out->hops = out->blackholes = out->missing = out->nested = 0;
	if (!number)
		return false;
	const struct fpm_object *o = object_at(t, number);
	if (!o->first)
		hops_add(out, o, o->hop.weight);
	/* A group has at most FPM_HOPS_MAX members. */
	for (uint32_t i = o->first; i; i = link_at(t, i)->next_of_group) {
		const struct fpm_link *l = link_at(t, i);
		const uint32_t member = *object_slot(t, l->id);
		if (!member)
			out->missing++;
		else if (object_at(t, member)->first)
			out->nested++;
		else
			hops_add(out, object_at(t, member), l->weight);
	}
	return true;
}

uint32_t fpm_nexthops_next_group(const struct fpm_nexthops *t, uint32_t id, uint32_t *cursor)
{
	uint32_t number = t->link_chain[hash(t, id) & t->link_mask], before = 0;
	if (*cursor) {
		number = link_at(t, *cursor)->next;
		before = link_at(t, *cursor)->group;
	}
	for (; number; number = link_at(t, number)->next) {
		const struct fpm_link *l = link_at(t, number);
		/* Links of one group were added together: with the same id, they are neighbours. */
		if (l->id != id || l->group == before)
			continue;
		*cursor = number;
		return object_at(t, l->group)->id;
	}
	return 0;
}
