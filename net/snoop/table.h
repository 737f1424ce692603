/*
 * The groups of a switch as its data cores read them: VLAN and group → the ports with listeners.
 *
 * One writer, any number of readers. An entry is one 64-bit word: 48 bits of a keyed hash of VLAN and group,
 * and a bit for each of 16 ports; 0 is a free slot. A reader loads it whole, so there is nothing half written
 * to be seen. Two groups whose hashes agree in 48 bits and in their bucket would share an entry. The key is
 * secret, so nobody outside can choose such groups, and by chance it happens to one pair in 2^59.
 *
 * An entry lies in one bucket of 8 slots, a cache line. A full bucket refuses further groups: with
 * SNOOP_GROUPS_MAX groups in SNOOP_BUCKETS buckets one in 500 tables has such a bucket.
 */
#ifndef NET_SNOOP_TABLE_H
#define NET_SNOOP_TABLE_H

#include "lib/siphash.h"
#include "lib/types.h"
#include "net/addr.h"

#define SNOOP_PORTS 16
#define SNOOP_GROUPS_MAX 2048 /* of both families and all VLANs together */
#define SNOOP_BUCKETS 2048
#define SNOOP_SLOTS 8

struct snoop_table {
	struct siphash_key key;
	_Alignas(64) uint64_t slot[SNOOP_BUCKETS][SNOOP_SLOTS];
};

/* The hash by which the functions below know a group. */
static inline uint64_t snoop_hash(const struct snoop_table *t, unsigned vid, const struct net_addr *group)
{
	const uint64_t w[3] = {vid, (uint64_t)group->w[0] << 32 | group->w[1],
	                       (uint64_t)group->w[2] << 32 | group->w[3]};
	const uint64_t h = siphash13_words(&t->key, w, 3);
	return h >> SNOOP_PORTS ? h : h | 1u << SNOOP_PORTS; /* an entry is not 0 */
}

/* An empty table. key: random and secret. */
void snoop_table_init(struct snoop_table *t, const uint64_t key[2]);

/* Its ports in *ports. False: the table does not have the group. */
static inline bool snoop_table_find(const struct snoop_table *t, uint64_t hash, uint32_t *ports)
{
	const uint64_t *slot = t->slot[hash % SNOOP_BUCKETS];
	for (unsigned i = 0; i < SNOOP_SLOTS; i++) {
		const uint64_t word = __atomic_load_n(&slot[i], __ATOMIC_RELAXED);
		if (word >> SNOOP_PORTS == hash >> SNOOP_PORTS) {
			*ports = word & 0xffff;
			return true;
		}
	}
	return false;
}
_Static_assert(SNOOP_PORTS == 16 && SNOOP_BUCKETS <= 1 << SNOOP_PORTS, "bits of the hash that an entry does not hold");

/* Adds a group, or changes its ports. False: its bucket is full. */
bool snoop_table_put(struct snoop_table *t, uint64_t hash, uint16_t ports);

/* No effect if the table does not have it. */
void snoop_table_remove(struct snoop_table *t, uint64_t hash);

#endif
