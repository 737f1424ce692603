/* See table.h. Linear probing; any number of slots is possible, so that none are wasted. */
#include "net/rib/table.h"

#include "lib/assert.h"
#include "lib/mem.h"

/* The words of a prefix in a slot: one for IPv4, four for IPv6. */
static const uint32_t *words_of(const struct rib_table *t, const struct rib_prefix *p)
{
	return t->six ? p->addr.w : &p->addr.w[3];
}

static uint32_t home_of(const struct rib_table *t, const uint32_t *word, unsigned plen)
{
	uint64_t key = plen;
	for (unsigned i = 0; i < table_words(t); i++) {
		key = (key ^ word[i]) * 0x9e3779b97f4a7c15u;
		key ^= key >> 32;
	}
	return (uint32_t)((key & UINT32_MAX) * t->slots >> 32);
}

static uint32_t behind(const struct rib_table *t, uint32_t i)
{
	return i + 1 == t->slots ? 0 : i + 1;
}

/* Distance from one slot to another. */
static uint32_t steps(const struct rib_table *t, uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + t->slots - from;
}

static unsigned plen_at(const struct rib_table *t, uint32_t i)
{
	return *slot_tail(t, i) >> 16 & 0xff;
}

static const uint32_t *words_at(const struct rib_table *t, uint32_t i)
{
	return t->slot + (size_t)i * (table_words(t) + 1);
}

struct rib_prefix slot_prefix(const struct rib_table *t, uint32_t i)
{
	struct rib_prefix p = {.addr = net_addr_ip4(0), .plen = (uint8_t)plen_at(t, i), .six = t->six};
	memcpy(t->six ? p.addr.w : &p.addr.w[3], words_at(t, i), table_words(t) * sizeof(uint32_t));
	return p;
}

void table_clear(struct rib_table *t)
{
	t->used = 0;
	memset(t->slot, 0xff, table_bytes(t->slots, t->six)); /* TABLE_NO_SET */
}

/* One word as a rule: a call of memcmp would be a tenth of rib_set. */
static bool same_words(const struct rib_table *t, const uint32_t *a, const uint32_t *b)
{
	for (unsigned i = 0; i < table_words(t); i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/* The slot of the prefix, or the free slot where it belongs. */
static uint32_t search(const struct rib_table *t, const struct rib_prefix *p)
{
	const uint32_t *word = words_of(t, p);
	uint32_t i = home_of(t, word, p->plen);
	while (slot_set(t, i) != TABLE_NO_SET &&
	       (plen_at(t, i) != p->plen || !same_words(t, words_at(t, i), word)))
		i = behind(t, i);
	return i;
}

uint32_t table_find(const struct rib_table *t, const struct rib_prefix *p)
{
	uint32_t i = search(t, p);
	return slot_set(t, i) == TABLE_NO_SET ? TABLE_NO_SLOT : i;
}

void table_prefetch(const struct rib_table *t, const struct rib_prefix *p)
{
	__builtin_prefetch(words_at(t, home_of(t, words_of(t, p), p->plen)));
}

uint32_t table_add(struct rib_table *t, const struct rib_prefix *p)
{
	uint32_t i = search(t, p);
	assert(!table_is_full(t) && slot_set(t, i) == TABLE_NO_SET);
	memcpy(t->slot + (size_t)i * (table_words(t) + 1), words_of(t, p),
	       table_words(t) * sizeof(uint32_t));
	*slot_tail(t, i) = (uint32_t)p->plen << 16;
	t->used++;
	return i;
}

void table_remove(struct rib_table *t, uint32_t slot,
                  void (*moved)(void *ctx, struct rib_table *t, uint32_t to, uint32_t from),
                  void *ctx)
{
	const unsigned words = table_words(t) + 1;
	uint32_t hole = slot;
	for (uint32_t i = behind(t, slot); slot_set(t, i) != TABLE_NO_SET; i = behind(t, i)) {
		uint32_t home = home_of(t, words_at(t, i), plen_at(t, i));
		if (steps(t, home, i) < steps(t, hole, i))
			continue;
		memcpy(t->slot + (size_t)hole * words, t->slot + (size_t)i * words,
		       words * sizeof(uint32_t));
		*slot_tail(t, i) = UINT32_MAX; /* clears the old copy before `moved` looks at the
		                                  table */
		if (moved)
			moved(ctx, t, hole, i);
		hole = i;
	}
	*slot_tail(t, hole) = UINT32_MAX;
	t->used--;
}
