/*
 * Hash maps: shape, look-ups, and walks. hash.h describes the memory.
 */
#include "bpf/maps/hash.h"

/* 2 to 4 entries a bucket, when the map is full. */
uint32_t hash_buckets(uint32_t entries)
{
	uint32_t buckets = 1;
	while (buckets < (entries + 3) / 4)
		buckets *= 2;
	return buckets;
}

uint64_t hash_shared_bytes(const struct bpf_map *map)
{
	return map->cores * sizeof(struct hash_core) + (uint64_t)hash_buckets(map->entries) * sizeof(struct hash_bucket) +
	       (uint64_t)map->pool_entries * map->entry_stride;
}

/* Each core gets a spare entry and its part of the others. */
void hash_init(struct bpf_map *map)
{
	map->buckets_mask = hash_buckets(map->entries) - 1;
	map->buckets = map->shared + map->cores * sizeof(struct hash_core);
	map->pool = map->buckets + ((size_t)map->buckets_mask + 1) * sizeof(struct hash_bucket);
	for (unsigned c = 0; c < map->cores; c++) {
		struct hash_core *core = hash_core(map, c);
		const uint32_t from = (uint32_t)((uint64_t)map->entries * c / map->cores);
		const uint32_t to = (uint32_t)((uint64_t)map->entries * (c + 1) / map->cores);
		core->spare = map->entries + c + 1;
		core->hand = from;
		for (uint32_t i = to; i-- > from;) {
			hash_entry(map, i)->free_next = core->head;
			core->head = i + 1;
		}
	}
}

/* --- look-ups --- */

static inline __attribute__((always_inline)) void *lookup(const struct bpf_map *map, const void *key, uint32_t n)
{
	const uint32_t i = hash_find(map, key, n);
	return i == HASH_NONE ? NULL : (uint8_t *)hash_entry(map, i) + map->value_at;
}

static inline __attribute__((always_inline)) void *lookup_lru(const struct bpf_map *map, const void *key, uint32_t n)
{
	const uint32_t i = hash_find(map, key, n);
	if (i == HASH_NONE)
		return NULL;
	struct hash_entry *e = hash_entry(map, i);
	if (!e->used) /* a store each time would move the cache line between the cores */
		put(&e->used, 1);
	return (uint8_t *)e + map->value_at;
}

void *bpf_hash_lookup(const struct bpf_map *map, const void *key) { return lookup(map, key, map->key_bytes); }
void *bpf_hash_lookup4(const struct bpf_map *map, const void *key) { return lookup(map, key, 4); }
void *bpf_hash_lookup8(const struct bpf_map *map, const void *key) { return lookup(map, key, 8); }
void *bpf_hash_lookup16(const struct bpf_map *map, const void *key) { return lookup(map, key, 16); }
void *bpf_lru_lookup(const struct bpf_map *map, const void *key) { return lookup_lru(map, key, map->key_bytes); }
void *bpf_lru_lookup4(const struct bpf_map *map, const void *key) { return lookup_lru(map, key, 4); }
void *bpf_lru_lookup8(const struct bpf_map *map, const void *key) { return lookup_lru(map, key, 8); }
void *bpf_lru_lookup16(const struct bpf_map *map, const void *key) { return lookup_lru(map, key, 16); }

uint32_t hash_find_any(const struct bpf_map *map, const void *key) { return hash_find(map, key, map->key_bytes); }

void *hash_own_value(const struct bpf_map *map, uint32_t index, unsigned core)
{
	struct hash_own *own = (struct hash_own *)(void *)(map->own[core] + (size_t)index * map->own_stride);
	const uint32_t generation = get(&hash_entry(map, index)->generation);
	if (unlikely(own->generation != generation)) {
		memset(own->value, 0, map->value_bytes);
		put(&own->generation, generation);
	}
	return own->value;
}

void *bpf_percpu_hash_lookup(const struct bpf_map *map, const void *key)
{
	const uint32_t i = hash_find_any(map, key);
	return i == HASH_NONE ? NULL : hash_own_value(map, i, bpf_core);
}

void *bpf_lru_percpu_hash_lookup(const struct bpf_map *map, const void *key)
{
	const uint32_t i = hash_find_any(map, key);
	if (i == HASH_NONE)
		return NULL;
	struct hash_entry *e = hash_entry(map, i);
	if (!e->used)
		put(&e->used, 1);
	return hash_own_value(map, i, bpf_core);
}

/* --- walks, for the control core --- */

/* The position of a link in its bucket: 0 to HASH_SLOTS - 1, then the chain. The link at position `at` or the first
 * one behind it: its index, and *at is its position; HASH_NONE: the end of the bucket. */
static uint32_t entry_from(const struct bpf_map *map, const struct hash_bucket *b, unsigned *at)
{
	for (; *at < HASH_SLOTS; ++*at)
		if (get(&b->tag[*at])) {
			const uint32_t i = hash_index(get(&b->link[*at]));
			if (i < map->pool_entries)
				return i;
		}
	uint32_t i = hash_index(get(&b->chain));
	for (unsigned position = HASH_SLOTS; position < HASH_SLOTS + HASH_CHAIN && i < map->pool_entries; position++) {
		if (position == *at)
			return i;
		i = hash_index(get(&hash_entry(map, i)->next));
	}
	return HASH_NONE;
}

/* The bucket of the key, and the position behind it; false: the key is not there. */
static bool position_of(const struct bpf_map *map, const uint8_t *key, uint32_t *bucket, unsigned *at)
{
	*bucket = hash_bucket_of(map, hash_of(map, key, map->key_bytes));
	for (*at = 0;; ++*at) {
		const uint32_t i = entry_from(map, hash_bucket(map, *bucket), at);
		if (i == HASH_NONE)
			return false;
		if (hash_same(hash_entry(map, i)->key, key, map->key_bytes)) {
			++*at;
			return true;
		}
	}
}

bool hash_next(const struct bpf_map *map, const void *key, void *next)
{
	uint32_t bucket = 0;
	unsigned at = 0;
	if (!key || !position_of(map, key, &bucket, &at))
		bucket = at = 0;
	for (; bucket <= map->buckets_mask; bucket++, at = 0) {
		const struct hash_bucket *b = hash_bucket(map, bucket);
		for (unsigned tries = 0;; tries++) {
			const uint32_t version = get(&b->version);
			unsigned position = at;
			const uint32_t i = entry_from(map, b, &position);
			if (i != HASH_NONE)
				memcpy(next, hash_entry(map, i)->key, map->key_bytes);
			loads_done();
			if (get(&b->version) != version && tries < HASH_RETRIES)
				continue;
			if (i != HASH_NONE)
				return true;
			break;
		}
	}
	return false;
}

uint32_t hash_used(const struct bpf_map *map)
{
	uint32_t used = 0;
	for (uint32_t bucket = 0; bucket <= map->buckets_mask; bucket++)
		for (unsigned at = 0; entry_from(map, hash_bucket(map, bucket), &at) != HASH_NONE; at++)
			used++;
	return used;
}
