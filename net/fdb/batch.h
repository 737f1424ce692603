/*
 * A look-up of a vector in three passes, whose loads overlap. Included by fdb.c, avx2.c and avx512.c, which
 * define
 *
 *     BATCH_FN                           the prefix of each function
 *     HASH_ALL(t, station, hash, n)      hash_of for n stations
 *     FIND(t, bucket, station)           as fdb_lookup in one bucket
 *
 * Frames of one flow follow each other, so a station often equals the one before it and is not searched again.
 */
BATCH_FN void batch(const struct fdb *t, const uint64_t *station, uint32_t *found, unsigned n)
{
	uint64_t hash[FDB_BATCH_MAX];
	uint16_t miss[FDB_BATCH_MAX];
	unsigned misses = 0;
	HASH_ALL(t, station, hash, n);
	for (unsigned i = 0; i < n; i++)
		__builtin_prefetch(&t->slot[first_of(t, hash[i]) * FDB_BUCKET]);
	uint64_t last = 0; /* no station: its VLAN would be 0 */
	uint32_t last_found = FDB_NONE;
	for (unsigned i = 0; i < n; i++) {
		if (station[i] != last || last_found == FDB_NONE) {
			last = station[i];
			last_found = FIND(t, first_of(t, hash[i]), last);
			if (unlikely(last_found == FDB_NONE)) {
				__builtin_prefetch(&t->slot[second_of(t, hash[i]) * FDB_BUCKET]);
				miss[misses++] = (uint16_t)i;
			}
		}
		found[i] = last_found;
	}
	for (unsigned k = 0; k < misses; k++)
		found[miss[k]] = FIND(t, second_of(t, hash[miss[k]]), station[miss[k]]);
}
