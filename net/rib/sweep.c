/*
 * Deferred work. When the next hop of a set changes, its prefixes change in the forwarding table, piece
 * by piece: the sweep goes through all slots, in circles, as long as there is anything to do.
 *
 * A change made in the middle of a circle also concerns slots that the sweep has already passed. Such a
 * change has stage 2: it is complete at the end of the next circle. No change restarts the sweep, so
 * each slot is visited once a circle, however often the engine replaces its groups.
 */
#include "lib/assert.h"
#include "net/rib/sets.h"
#include "net/rib/table.h"

/* --- slots --- */

bool slot_is_dying(const struct rib *r, const struct rib_table *t, uint32_t slot)
{
	const unsigned set = slot_set(t, slot);
	return set != TABLE_NO_SET && set != RIB_SET_UNKNOWN && r->set[set].routes == 0;
}

/* Makes the forwarding table match a prefix's set; returns the slot's flags. If the table has no
 * room for the new next hop, the prefix is removed from it and refused. */
static unsigned settle(struct rib *r, const struct rib_table *t, uint32_t slot)
{
	const struct rib_prefix p = slot_prefix(t, slot);
	const uint32_t nh = r->set[slot_set(t, slot)].nh;
	const bool unknown = slot_set(t, slot) == RIB_SET_UNKNOWN;
	if (nh != RIB_NH_NONE && r->ops->put(&p, nh))
		return SLOT_IN_TABLE;
	if (nh != RIB_NH_NONE)
		r->room = 0;
	if (slot_flags(t, slot) & SLOT_IN_TABLE)
		host_uncover(r, &p);
	return nh != RIB_NH_NONE || unknown ? SLOT_REFUSED : 0;
}

/* Does the sweep have to change this slot? */
static bool unsettled(const struct rib *r, const struct rib_table *t, uint32_t slot)
{
	const bool out = (slot_flags(t, slot) & (SLOT_REFUSED | SLOT_IN_TABLE)) == SLOT_REFUSED;
	return slot_set(t, slot) != TABLE_NO_SET &&
	       (r->set[slot_set(t, slot)].moved ||
	        (r->room && out && slot_set(t, slot) != RIB_SET_UNKNOWN));
}

static void settle_slot(struct rib *r, struct rib_table *t, uint32_t slot)
{
	const unsigned set = slot_set(t, slot);
	slot_change(r, t, slot, set, settle(r, t, slot));
	if (set != RIB_SET_UNKNOWN && !(r->set[set].sources & 1u << RIB_ENGINE))
		slot_state(r, t, slot, 0); /* rib_replace has removed the engine's */
}

/* If a way through the slots has passed the new place before it saw the slot, it goes back. */
static void go_back(struct rib_place *p, const struct rib_table *t, uint32_t to, uint32_t from)
{
	if (t->six == p->table && to < p->at && from >= p->at)
		p->at = to;
}

void slot_moved(void *ctx, struct rib_table *t, uint32_t to, uint32_t from)
{
	struct rib *r = ctx;
	go_back(&r->sweep, t, to, from);
	go_back(&r->stale, t, to, from);
}

/* --- the sweep --- */

unsigned sweep_stage(const struct rib *r) { return r->sweep.table || r->sweep.at ? 2 : 1; }

void sweep_begin(struct rib *r, unsigned stage)
{
	if (r->sweeping < stage)
		r->sweeping = (uint8_t)stage;
}

/* Drops what prefixes had led to before this circle. */
static void end_circle(struct rib *r)
{
	r->sweep = (struct rib_place){0, 0};
	r->sweeping >>= 1;
	r->room >>= 1;
	for (uint32_t n = 0; n < r->numbers; n++) {
		struct rib_gateway *g = &r->gateway[n];
		r->set[n].moved >>= 1;
		if (g->users && g->was != RIB_NH_NONE) {
			r->ops->release(g->was);
			g->was = RIB_NH_NONE;
		}
		uint32_t leaving = g->leaving[0];
		g->leaving[0] = g->leaving[1];
		g->leaving[1] = 0;
		for (; leaving; leaving--)
			gateway_release(r, n);
	}
}

/* Changes one slot; another one may be in its place then. */
static void sweep_slot(struct rib *r, struct rib_table *t)
{
	const uint32_t at = r->sweep.at;
	if (t == &r->hosts)
		host_retry(r, at);
	else if (slot_is_dying(r, t, at))
		slot_forget(r, t, at);
	else
		settle_slot(r, t, at);
}

/* Changes what is due in the slots of one table from sweep.at on; false: the budget is used up. */
static bool sweep(struct rib *r, struct rib_table *t, uint64_t *budget)
{
	const bool hosts = t == &r->hosts;
	while (r->sweep.at < t->slots) {
		const bool due = hosts ? r->room && host_waits(r, r->sweep.at)
		                       : unsettled(r, t, r->sweep.at);
		const bool dying = due && !hosts && slot_is_dying(r, t, r->sweep.at);
		const unsigned cost = due ? SLOTS_A_CHANGE : 1;
		if (*budget < cost)
			return false;
		*budget -= cost;
		if (due)
			sweep_slot(r, t);
		r->sweep.at += !dying;
	}
	return true;
}

bool rib_work(struct rib *r, unsigned changes)
{
	uint64_t budget = (uint64_t)changes * SLOTS_A_CHANGE;
	if (r->resolve)
		gateways_resolve(r);
	if (!r->sweeping)
		r->room = r->room != 0; /* a whole circle is to come */
	sweep_begin(r, r->room);
	while (r->sweeping) {
		for (; r->sweep.table < 2; r->sweep.table++, r->sweep.at = 0)
			if (!sweep(r, &r->table[r->sweep.table], &budget))
				return true;
		if (r->room && r->hosts_refused && !sweep(r, &r->hosts, &budget))
			return true;
		end_circle(r);
	}
	return false;
}
