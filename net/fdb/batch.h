/*
 * A look-up of a vector in three passes, whose loads overlap. Included by fdb.c and avx2.c, which define
 * FIND(t, bucket, station), as fdb_lookup in one bucket, and BATCH_FN.
 */
BATCH_FN void batch(const struct fdb *t, const uint64_t *station, uint32_t *found, unsigned n)
{
	uint32_t bucket[FDB_BATCH_MAX], second[FDB_BATCH_MAX];
	uint16_t miss[FDB_BATCH_MAX];
	unsigned misses = 0;
	for (unsigned i = 0; i < n; i++) {
		const uint64_t h = hash_of(t, station[i]);
		bucket[i] = first_of(t, h);
		second[i] = second_of(t, h);
		__builtin_prefetch(&t->slot[bucket[i] * FDB_BUCKET]);
	}
	for (unsigned i = 0; i < n; i++) {
		found[i] = FIND(t, bucket[i], station[i]);
		if (unlikely(found[i] == FDB_NONE)) {
			__builtin_prefetch(&t->slot[second[i] * FDB_BUCKET]);
			miss[misses++] = (uint16_t)i;
		}
	}
	for (unsigned k = 0; k < misses; k++)
		found[miss[k]] = FIND(t, second[miss[k]], station[miss[k]]);
}
