/* For net/fdb alone: what readers see, and how they find a bucket. */
#ifndef NET_FDB_INSIDE_H
#define NET_FDB_INSIDE_H

#include "net/fdb/fdb.h"

struct fdb {
	uint64_t key[2];
	uint32_t buckets;
	uint32_t vector_bits; /* of look-ups of a vector: 512 (avx512.c), 256 (avx2.c), or less */
	uint32_t unused[10];
	uint64_t slot[];
};
_Static_assert(sizeof(struct fdb) == CACHE_LINE, "buckets begin with a cache line");
_Static_assert(FDB_BUCKET * sizeof(uint64_t) == CACHE_LINE, "a bucket is a cache line");

/* Both halves are used: each chooses a bucket. The final steps are those of SplitMix64 (Steele, Lea and
 * Flood, 2014), as in host6.c: stations that are numbered consecutively must not lie at equal distances. */
static inline uint64_t hash_of(const struct fdb *t, uint64_t station)
{
	uint64_t h = (station ^ t->key[0]) * t->key[1];
	h = (h ^ h >> 32) * (t->key[0] | 1);
	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
	return h ^ h >> 32;
}

/* The same for n stations. */
static inline void hash_each(const struct fdb *t, const uint64_t *station, uint64_t *hash, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		hash[i] = hash_of(t, station[i]);
}

static inline uint32_t first_of(const struct fdb *t, uint64_t hash)
{
	return (uint32_t)((hash >> 32) * t->buckets >> 32);
}

static inline uint32_t second_of(const struct fdb *t, uint64_t hash)
{
	return (uint32_t)((hash & 0xffffffff) * t->buckets >> 32);
}

static inline uint64_t slot_load(const struct fdb *t, uint32_t i)
{
	return __atomic_load_n(&t->slot[i], __ATOMIC_RELAXED);
}

static inline bool is_station(uint64_t word, uint64_t station) { return (word ^ station) < FDB_PORTS; }

#ifdef __x86_64__
#define FDB_VECTORS 1
#else
#define FDB_VECTORS 0 /* the function does not exist and is not called */
#endif

void fdb_batch_avx2(const struct fdb *t, const uint64_t *station, uint32_t *found, unsigned n);
void fdb_batch_avx512(const struct fdb *t, const uint64_t *station, uint32_t *found, unsigned n);

#endif
