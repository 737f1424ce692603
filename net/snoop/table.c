/* See table.h. */
#include "net/snoop/table.h"

#include "lib/mem.h"

void snoop_table_init(struct snoop_table *t, const uint64_t key[2])
{
	memset(t, 0, sizeof *t);
	t->key = (struct siphash_key){key[0], key[1]};
}

/* The slot of the group, or a free one if there is none; NULL: neither. */
static uint64_t *slot_for(struct snoop_table *t, uint64_t hash)
{
	uint64_t *slot = t->slot[hash % SNOOP_BUCKETS], *free = NULL;
	for (unsigned i = 0; i < SNOOP_SLOTS; i++) {
		if (slot[i] >> SNOOP_PORTS == hash >> SNOOP_PORTS)
			return &slot[i];
		if (!free && slot[i] == 0)
			free = &slot[i];
	}
	return free;
}

bool snoop_table_put(struct snoop_table *t, uint64_t hash, uint16_t ports)
{
	uint64_t *slot = slot_for(t, hash);
	if (slot)
		__atomic_store_n(slot, hash >> SNOOP_PORTS << SNOOP_PORTS | ports, __ATOMIC_RELAXED);
	return slot;
}

void snoop_table_remove(struct snoop_table *t, uint64_t hash)
{
	uint64_t *slot = slot_for(t, hash);
	if (slot && *slot)
		__atomic_store_n(slot, 0, __ATOMIC_RELAXED);
}
