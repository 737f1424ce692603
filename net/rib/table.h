/* Which prefix has which set (for net/rib alone): a hash table for each family, as small as can be,
 * for there may be a million prefixes: 8 bytes a slot for IPv4, 20 for IPv6. */
#ifndef NET_RIB_TABLE_H
#define NET_RIB_TABLE_H

#include "net/rib/rib.h"

#define TABLE_NO_SLOT UINT32_MAX
#define TABLE_NO_SET 0xffffu

enum slot_flag {
	SLOT_IN_TABLE = 1, /* the forwarding table has the prefix */
	SLOT_REFUSED = 2,  /* it should have, and is full */
};

static inline unsigned table_words(const struct rib_table *t) { return t->six ? 4 : 1; }

/* Slots for so many prefixes: three of four are in use at most. */
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
	return *slot_tail(t, i) >> 24;
}

static inline void slot_write(struct rib_table *t, uint32_t i, unsigned set, unsigned flags)
{
	uint32_t *tail = slot_tail(t, i);
	*tail = (*tail & 0xff0000) | set | flags << 24;
}

struct rib_prefix slot_prefix(const struct rib_table *t, uint32_t i);

/* Empty, in so many bytes of memory. */
void table_init(struct rib_table *t, void *memory, uint32_t slots, bool six);

/* The slot of a prefix; TABLE_NO_SLOT: it is not there. */
uint32_t table_find(const struct rib_table *t, const struct rib_prefix *p);

/* A slot for a prefix that is not there; the table is not full. Its set is to be written. */
uint32_t table_add(struct rib_table *t, const struct rib_prefix *p);

/* The slot is free. Those behind it move up: moved(ctx, table, to, from) is told of
 * each. */
void table_remove(struct rib_table *t, uint32_t slot,
                  void (*moved)(void *ctx, struct rib_table *t, uint32_t to, uint32_t from),
                  void *ctx);

#endif
