/*
 * The look-up of a vector by AVX-512 (F and DQ), as avx2.c without branches: eight stations are hashed at once,
 * and the eight slots of a bucket are one register.
 */
#include "net/fdb/inside.h"

#if FDB_VECTORS

#define FDB_TARGET __attribute__((target("avx512f,avx512dq")))
#define BATCH_FN static inline __attribute__((always_inline)) FDB_TARGET
#define LANES 8

typedef uint64_t lanes __attribute__((vector_size(64), may_alias));
typedef uint64_t any_lanes __attribute__((vector_size(64), aligned(8), may_alias));
typedef long long signed_lanes __attribute__((vector_size(64)));
_Static_assert(FDB_BUCKET == LANES, "a bucket is a register");

/* As find_avx2. */
BATCH_FN uint32_t find_avx512(const struct fdb *t, uint32_t bucket, uint64_t station)
{
	const uint64_t *slot = &t->slot[bucket * FDB_BUCKET];
	const lanes in = *(const lanes *)(const void *)slot & ~(uint64_t)(FDB_PORTS - 1);
	const lanes wanted = (lanes){0} + station;
	const uint32_t at = (uint8_t)__builtin_ia32_cmpq512_mask((signed_lanes)in, (signed_lanes)wanted, 0, 0xff);
	if (unlikely(at == 0))
		return FDB_NONE;
	const uint32_t i = bucket * FDB_BUCKET + (uint32_t)__builtin_ctz(at);
	const uint64_t word = slot_load(t, i);
	return likely(is_station(word, station)) ? i << 4 | (uint32_t)(word ^ station) : FDB_NONE;
}

/* hash_of for n stations. */
BATCH_FN void hash_all(const struct fdb *t, const uint64_t *station, uint64_t *hash, unsigned n)
{
	unsigned i = 0;
	for (; i + LANES <= n; i += LANES) {
		lanes h = (*(const any_lanes *)&station[i] ^ t->key[0]) * t->key[1];
		h = (h ^ h >> 32) * (t->key[0] | 1);
		h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
		*(any_lanes *)&hash[i] = h ^ h >> 32;
	}
	for (; i < n; i++)
		hash[i] = hash_of(t, station[i]);
}

#define HASH_ALL hash_all
#define FIND find_avx512
#include "net/fdb/batch.h"

FDB_TARGET void fdb_batch_avx512(const struct fdb *t, const uint64_t *station, uint32_t *found, unsigned n)
{
	batch(t, station, found, n);
}

#endif
