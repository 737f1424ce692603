/* See rib.h: the engine's routes in the memory of a base whose program has ended. */
#include "net/ip6.h"
#include "net/rib/sets.h"
#include "net/rib/table.h"

/* True if the family has prefixes of that length, and no bit after it is set. */
static bool is_prefix(const struct rib_prefix *p)
{
	const unsigned shift = p->six ? 0 : 96;
	if (p->plen > 128 - shift)
		return false;
	const struct net_addr masked = ip6_prefix_of(&p->addr, shift + p->plen);
	return net_addr_equal(&masked, &p->addr);
}

/* The routes of a set; NULL: the memory holds no valid set. */
static const struct rib_member *members_of(const struct rib *r, const struct rib_set *s)
{
	if (s->routes > RIB_ROUTES_MAX)
		return NULL;
	if (s->list == RIB_NO_NUMBER)
		return s->routes <= RIB_FEW ? s->few : NULL;
	return s->list < lists_for(r->numbers) ? r->list[s->list].member : NULL;
}

/* Reads the engine's routes of a set; false: it has none. */
static bool read_set(const struct rib *r, unsigned set, struct rib_previous *out)
{
	out->n = 0;
	if (set == RIB_SET_UNKNOWN || set >= r->numbers)
		return false;
	const struct rib_set *s = &r->set[set];
	const struct rib_member *m = members_of(r, s);
	for (unsigned i = 0; m && i < s->routes; i++) {
		if (m[i].source != RIB_ENGINE || m[i].gateway >= r->numbers)
			continue;
		struct rib_hop *h = &out->hop[out->n++];
		*h = r->gateway[m[i].gateway].key;
		h->distance = m[i].distance;
		h->weight = m[i].weight;
		h->origin = m[i].origin;
	}
	return out->n != 0;
}

static bool read_slot(const struct rib *r, const struct rib_table *t, uint32_t slot,
                      struct rib_previous *out)
{
	if (slot_set(t, slot) == TABLE_NO_SET || slot_epoch(t, slot) == 0)
		return false;
	out->prefix = slot_prefix(t, slot);
	out->refused = slot_flags(t, slot) & SLOT_REFUSED;
	return is_prefix(&out->prefix) && read_set(r, slot_set(t, slot), out);
}

bool rib_previous_next(void *memory, const struct rib_size *size, struct rib_place *at,
                       struct rib_previous *out)
{
	struct rib r;
	rib_divide(&r, memory, size);
	for (; at->table < 2; at->table++, at->at = 0)
		while (at->at < r.table[at->table].slots)
			if (read_slot(&r, &r.table[at->table], at->at++, out))
				return true;
	return false;
}
