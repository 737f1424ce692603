/*
 * Hash maps: after the death of a core in the middle of an operation. Its journal, struct hash_core, names the
 * locks that it may hold and the one or two entries that it may have taken out of their places. While the dead
 * core holds a lock, nobody else changes that bucket or list, so what stands there tells how far it came.
 *
 * Everything here may be done again: the control core, too, may die in it.
 */
#include "bpf/maps/hash.h"

/* Is the entry in the bucket of its key? The core owned it, so no other links it elsewhere meanwhile. While its key
 * is incomplete it is in no bucket, and the search in a wrong one finds nothing. */
static bool linked(const struct bpf_map *map, uint32_t index)
{
	const uint64_t hash = hash_of(map, hash_entry(map, index)->key, map->key_bytes);
	return hash_place_of(map, hash_bucket(map, hash_bucket_of(map, hash)), index).link;
}

/*
 * The free list that the core may have locked. Its first entry is `other` if the core had not yet taken it, or if
 * it had already given it: in both cases it belongs to the list.
 */
static void recover_list(const struct bpf_map *map, struct hash_core *journal, unsigned core)
{
	const uint32_t list = journal->list - 1;
	if (list < map->cores && get(&hash_core(map, list)->lock) == core + 1) {
		if (journal->other && get(&hash_core(map, list)->head) == journal->other)
			put(&journal->other, 0);
		lock_drop(&hash_core(map, list)->lock);
	}
	put(&journal->list, 0);
}

static void recover_entries(const struct bpf_map *map, struct hash_core *journal, unsigned core)
{
	const uint32_t spare = hash_index(journal->spare), other = hash_index(journal->other);
	if (other >= map->pool_entries || other == spare) { /* nothing, or only the journal was not yet cleared */
		put(&journal->other, 0);
	} else if (spare < map->pool_entries && linked(map, spare)) {
		/* an insertion or a replacement that had taken place */
		put(&journal->spare, other + 1);
		put(&journal->other, 0);
	} else if (linked(map, other)) { /* a replacement, deletion or eviction that had not */
		put(&journal->other, 0);
	} else { /* taken for an insertion that had not taken place; deleted or evicted */
		hash_push(map, core);
	}
}

static void recover_bucket(const struct bpf_map *map, uint32_t *number, unsigned core)
{
	const uint32_t bucket = *number - 1;
	if (bucket <= map->buckets_mask) {
		struct hash_bucket *b = hash_bucket(map, bucket);
		if (get(&b->lock) == core + 1) {
			put(&b->version, b->version + 1);
			lock_drop(&b->lock);
		}
	}
	put(number, 0);
}

void hash_recover(const struct bpf_map *map, unsigned core)
{
	struct hash_core *journal = hash_core(map, core);
	recover_list(map, journal, core);
	recover_entries(map, journal, core);
	recover_bucket(map, &journal->bucket[0], core);
	recover_bucket(map, &journal->bucket[1], core);
}
