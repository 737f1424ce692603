/* See rib.h: sessions of the routing engine, and its stale routes. */
#include "net/rib/sets.h"
#include "net/rib/table.h"

/* All prefixes that have been stated get the first number: among stale ones the session is of no
 * interest. */
static void renumber(struct rib *r)
{
	for (unsigned six = 0; six < 2; six++) {
		struct rib_table *t = &r->table[six];
		for (uint32_t i = 0; i < t->slots; i++)
			if (slot_set(t, i) != TABLE_NO_SET && slot_epoch(t, i) != 0)
				slot_state(r, t, i, 1);
	}
}

void rib_epoch_next(struct rib *r)
{
	unsigned next = r->epoch % RIB_EPOCHS + 1;
	if (r->stated[next]) {
		renumber(r);
		next = 2;
	}
	r->epoch = next;
	r->stale = (struct rib_place){0, 0};
	r->unknown -= r->unknown_engine; /* they are not here to be stale */
	r->unknown_engine = 0;
}

/* Removes the engine's routes of the prefix in a slot. */
static int withdraw(struct rib *r, struct rib_table *t, uint32_t slot)
{
	const struct rib_prefix p = slot_prefix(t, slot);
	const struct routes none = {.source = RIB_ENGINE, .six = p.six};
	const int error = routes_set(r, t, &p, &slot, &none);
	if (slot != TABLE_NO_SLOT && error == E_OK)
		slot_state(r, t, slot, 0);
	return error;
}

/* Those of one table from stale.at on; false: the budget is used up. */
static bool remove_stale(struct rib *r, struct rib_table *t, uint64_t *budget)
{
	while (r->stale.at < t->slots && rib_stale(r)) {
		const bool due = slot_is_stale(r, t, r->stale.at);
		const unsigned cost = due ? SLOTS_A_CHANGE : 1;
		if (*budget < cost)
			return false;
		*budget -= cost;
		if (!due || withdraw(r, t, r->stale.at) != E_OK)
			r->stale.at++; /* or another prefix may be in the slot now */
	}
	return true;
}

bool rib_remove_stale(struct rib *r, unsigned changes)
{
	uint64_t budget = (uint64_t)changes * SLOTS_A_CHANGE;
	for (; r->stale.table < 2; r->stale.table++, r->stale.at = 0)
		if (!remove_stale(r, &r->table[r->stale.table], &budget))
			return true;
	r->stale = (struct rib_place){0, 0};
	return false;
}
