/* The set of each prefix (for net/rib alone): one hash table per family. There may be a million
 * prefixes, so slots are small: 8 bytes for IPv4, 20 for IPv6. */
#ifndef NET_RIB_TABLE_H
#define NET_RIB_TABLE_H

#include "net/rib/rib.h"

#define TABLE_NO_SLOT UINT32_MAX
#define TABLE_NO_SET 0xffffu

enum slot_flag {
	SLOT_IN_TABLE = 1, /* the forwarding table has the prefix */
	SLOT_REFUSED = 2,  /* the forwarding table has no room for it */
	SLOT_FLAGS = 3,
};

static inline unsigned table_words(const struct rib_table *t) { return t->six ? 4 : 1; }

/* Slots for `prefixes` prefixes: at most three of four are in use. */
static inline uint32_t table_slots(uint32_t prefixes) { return prefixes + prefixes / 3 + 8; }
static inline size_t table_bytes(uint32_t slots, bool six) { return (size_t)slots * (six ? 20 : 8); }
static inline bool table_is_full(const struct rib_table *t)
{
	return t->used >= t->slots - t->slots / 4 - 1;
}

static inline uint32_t *slot_tail(const struct rib_table *t, uint32_t i)
{
	return t->slot + (size_t)i * (table_words(t) + 1) + table_words(t);
}

static inline unsigned slot_set(const struct rib_table *t, uint32_t i)
{
	return *slot_tail(t, i) & 0xffff;
}

static inline unsigned slot_flags(const struct rib_table *t, uint32_t i)
{
	return *slot_tail(t, i) >> 24 & SLOT_FLAGS;
}

/* The epoch in which the routing engine last stated the prefix, 1 to RIB_EPOCHS; 0: it has not. */
static inline unsigned slot_epoch(const struct rib_table *t, uint32_t i)
{
	return *slot_tail(t, i) >> 26;
}

static inline void slot_write(struct rib_table *t, uint32_t i, unsigned set, unsigned flags)
{
	uint32_t *tail = slot_tail(t, i);
	*tail = (*tail & 0xfcff0000) | set | flags << 24;
}

static inline void slot_epoch_write(struct rib_table *t, uint32_t i, unsigned epoch)
{
	uint32_t *tail = slot_tail(t, i);
	*tail = (*tail & 0x03ffffff) | (uint32_t)epoch << 26;
}

static inline bool slot_is_stale(const struct rib *r, const struct rib_table *t, uint32_t i)
{
	return slot_set(t, i) != TABLE_NO_SET && slot_epoch(t, i) != 0 && slot_epoch(t, i) != r->epoch;
}

/* Counts a slot with these flags that is added (by: 1) or removed (by: UINT32_MAX, minus one). */
static inline void count_flags(struct rib *r, unsigned flags, uint32_t by)
{
	r->refused += flags & SLOT_REFUSED ? by : 0;
	r->idle += flags == 0 ? by : 0;
}

/* Gives a slot another set or other flags. */
static inline void slot_change(struct rib *r, struct rib_table *t, uint32_t slot, unsigned set,
                               unsigned flags)
{
	const unsigned old = slot_flags(t, slot);
	slot_write(t, slot, set, flags);
	if (flags == old)
		return;
	count_flags(r, old, UINT32_MAX); /* minus one */
	count_flags(r, flags, 1);
}

/* Gives a slot another epoch. */
static inline void slot_state(struct rib *r, struct rib_table *t, uint32_t slot, unsigned epoch)
{
	const unsigned old = slot_epoch(t, slot);
	if (old == epoch)
		return;
	r->stated[old]--; /* [0] means nothing */
	r->stated[epoch]++;
	r->stated_all += (uint32_t)(epoch != 0) - (uint32_t)(old != 0);
	slot_epoch_write(t, slot, epoch);
}

/* `by` prefixes have routes of the sources `new` instead of `old`; bits as in rib_set.sources. */
static inline void count_sources(struct rib *r, unsigned old, unsigned new, uint32_t by)
{
	for (unsigned bits = old ^ new; bits; bits &= bits - 1)
		r->prefixes[__builtin_ctz(bits)] += bits & -bits & new ? by : 0 - by;
}

struct rib_prefix slot_prefix(const struct rib_table *t, uint32_t i);

/* Empties a table, whose memory may have any content. */
void table_clear(struct rib_table *t);

/* The slot of a prefix; TABLE_NO_SLOT: not found. */
uint32_t table_find(const struct rib_table *t, const struct rib_prefix *p);

/* Begins to load the slot of a prefix. */
void table_prefetch(const struct rib_table *t, const struct rib_prefix *p);

/* Adds a slot for a prefix that has none; the table must not be full. The caller then writes its
 * set. */
uint32_t table_add(struct rib_table *t, const struct rib_prefix *p);

/* Frees the slot. Slots behind it move up; moved(ctx, table, to, from) is called for each, unless it
 * is NULL. */
void table_remove(struct rib_table *t, uint32_t slot,
                  void (*moved)(void *ctx, struct rib_table *t, uint32_t to, uint32_t from),
                  void *ctx);

#endif
