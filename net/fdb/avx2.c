/*
 * The look-up of a vector by AVX2: the eight slots of a bucket are compared by two instructions, without a
 * branch, because in a full table nothing predicts the slot. With the processor of docs/performance.md a
 * look-up of one of so many stations, in random order, took so many cycles of the TSC in a table with room
 * for a million:
 *
 *                1     16   16 thousand   a million
 *     scalar   4.9    9.2          11.5        47.9
 *     AVX2     5.2    9.9          13.1        19.0
 *     AVX-512  3.9    8.0           8.5        14.4
 */
#include "net/fdb/inside.h"

#if FDB_VECTORS

#define FDB_TARGET __attribute__((target("avx2")))

typedef int64_t lanes __attribute__((vector_size(32), may_alias));
typedef double doubles __attribute__((vector_size(32)));

/* Slots, one bit each, of the four at `slot` that hold the station. */
static inline __attribute__((always_inline)) FDB_TARGET uint32_t match4(const uint64_t *slot, lanes station)
{
	const lanes in = *(const lanes *)(const void *)slot & ~(int64_t)(FDB_PORTS - 1);
	return (uint32_t)__builtin_ia32_movmskpd256((doubles)(in == station));
}

/* The slot is loaded once more for its port. If it holds another station by then, the station has gone, or
 * has moved to its other bucket. */
static inline __attribute__((always_inline)) FDB_TARGET uint32_t find_avx2(const struct fdb *t,
                                                                          uint32_t bucket, uint64_t station)
{
	const uint64_t *slot = &t->slot[bucket * FDB_BUCKET];
	const lanes wanted = (lanes){0} + (int64_t)station;
	const uint32_t at = match4(slot, wanted) | match4(slot + 4, wanted) << 4;
	if (unlikely(at == 0))
		return FDB_NONE;
	const uint32_t i = bucket * FDB_BUCKET + (uint32_t)__builtin_ctz(at);
	const uint64_t word = slot_load(t, i);
	return likely(is_station(word, station)) ? i << 4 | (uint32_t)(word ^ station) : FDB_NONE;
}

#define BATCH_FN static inline __attribute__((always_inline)) FDB_TARGET
#define FIND find_avx2
#define HASH_ALL hash_each
#include "net/fdb/batch.h"

FDB_TARGET void fdb_batch_avx2(const struct fdb *t, const uint64_t *station, uint32_t *found, unsigned n)
{
	batch(t, station, found, n);
}

#endif
