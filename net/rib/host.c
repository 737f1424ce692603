/*
 * See sets.h, and rib.h for why hosts take no sets. A route covers a host while the slot of the route's
 * prefix has SLOT_IN_TABLE; the host's own slot does not record it. A host's slot has SLOT_REFUSED if
 * the forwarding table had no room for the host.
 */
#include "lib/assert.h"
#include "net/rib/sets.h"
#include "net/rib/table.h"

static bool is_covered(const struct rib *r, const struct rib_prefix *p)
{
	const struct rib_table *t = &r->table[0];
	const uint32_t slot = table_find(t, p);
	return slot != TABLE_NO_SLOT && slot_flags(t, slot) & SLOT_IN_TABLE;
}

static void write(struct rib *r, uint32_t slot, uint32_t nh, unsigned flags)
{
	const bool was = slot_flags(&r->hosts, slot) & SLOT_REFUSED, is = flags & SLOT_REFUSED;
	r->hosts_refused += (uint32_t)is - (uint32_t)was;
	slot_write(&r->hosts, slot, nh, flags);
}

uint32_t host_find(const struct rib *r, const struct rib_prefix *p, uint32_t *slot)
{
	*slot = p->six || p->plen != 32 ? TABLE_NO_SLOT : table_find(&r->hosts, p);
	return *slot == TABLE_NO_SLOT ? RIB_NH_NONE : slot_set(&r->hosts, *slot);
}

static void withdraw(struct rib *r, const struct rib_prefix *p, uint32_t slot)
{
	const bool in = !is_covered(r, p) && !(slot_flags(&r->hosts, slot) & SLOT_REFUSED);
	write(r, slot, slot_set(&r->hosts, slot), 0);
	table_remove(&r->hosts, slot, NULL, NULL); /* a slot that the sweep misses thereby waits for the next one */
	r->prefixes[RIB_HOST]--;
	if (in)
		r->ops->take(p);
}

int host_set(struct rib *r, const struct rib_prefix *p, uint32_t nh)
{
	uint32_t slot;
	const uint32_t was = host_find(r, p, &slot);
	assert(!p->six && p->plen == 32 && nh < TABLE_NO_SET);
	if (nh == RIB_NH_NONE) {
		if (was != RIB_NH_NONE)
			withdraw(r, p, slot);
		return E_OK;
	}
	if (slot == TABLE_NO_SLOT && table_is_full(&r->hosts))
		return E_NOMEM;
	if (slot == TABLE_NO_SLOT) {
		slot = table_add(&r->hosts, p);
		r->prefixes[RIB_HOST]++;
	}
	write(r, slot, nh, slot_flags(&r->hosts, slot));
	if (is_covered(r, p))
		return E_OK;
	if (r->ops->put(p, nh)) {
		write(r, slot, nh, 0);
		return E_OK;
	}
	if (was != RIB_NH_NONE && !(slot_flags(&r->hosts, slot) & SLOT_REFUSED))
		r->ops->take(p); /* it must not lead to the one before */
	write(r, slot, nh, SLOT_REFUSED);
	return E_NOMEM;
}

void host_uncover(struct rib *r, const struct rib_prefix *p)
{
	uint32_t slot;
	const uint32_t nh = host_find(r, p, &slot);
	const bool entered = nh != RIB_NH_NONE && r->ops->put(p, nh);
	if (!entered)
		r->ops->take(p);
	if (nh != RIB_NH_NONE)
		write(r, slot, nh, entered ? 0 : SLOT_REFUSED);
}

bool host_waits(const struct rib *r, uint32_t slot)
{
	const struct rib_table *t = &r->hosts;
	if (slot_set(t, slot) == TABLE_NO_SET || !(slot_flags(t, slot) & SLOT_REFUSED))
		return false;
	const struct rib_prefix p = slot_prefix(t, slot);
	return !is_covered(r, &p);
}

void host_retry(struct rib *r, uint32_t slot)
{
	const struct rib_prefix p = slot_prefix(&r->hosts, slot);
	const uint32_t nh = slot_set(&r->hosts, slot);
	if (r->ops->put(&p, nh))
		write(r, slot, nh, 0);
	else
		r->room = 0;
}
