/*
 * Hash maps: update, delete, eviction, free lists. hash.h describes the memory and the order of stores.
 */
#include "bpf/maps/hash.h"

/* --- places --- */

struct hash_place hash_place_of(const struct bpf_map *map, struct hash_bucket *b, uint32_t index)
{
	for (unsigned s = 0; s < HASH_SLOTS; s++)
		if (get(&b->tag[s]) && hash_index(get(&b->link[s])) == index)
			return (struct hash_place){.link = &b->link[s], .slot = s};
	struct hash_place p = {.link = &b->chain, .slot = HASH_SLOTS};
	for (;; p.chained++) {
		const uint32_t i = hash_index(get(p.link));
		if (i == index)
			return p;
		if (i >= map->pool_entries || p.chained == HASH_CHAIN)
			break;
		p.link = &hash_entry(map, i)->next;
	}
	p.link = NULL;
	return p;
}

/* The place of the key; the caller holds the bucket's lock. *index is the entry's. */
static struct hash_place place_of_key(const struct bpf_map *map, struct hash_bucket *b, uint16_t tag,
                                      const uint8_t *key, uint32_t *index)
{
	for (uint32_t m = hash_slots(b, tag); m != 0; m &= m - 1) {
		const unsigned s = (unsigned)__builtin_ctz(m) / 2;
		*index = hash_index(get(&b->link[s]));
		if (*index < map->pool_entries && hash_same(hash_entry(map, *index)->key, key, map->key_bytes))
			return (struct hash_place){.link = &b->link[s], .slot = s};
	}
	struct hash_place p = {.link = &b->chain, .slot = HASH_SLOTS};
	for (;; p.chained++) {
		*index = hash_index(get(p.link));
		if (*index >= map->pool_entries || p.chained == HASH_CHAIN)
			break;
		if (hash_same(hash_entry(map, *index)->key, key, map->key_bytes))
			return p;
		p.link = &hash_entry(map, *index)->next;
	}
	p.link = NULL;
	return p;
}

/* After a removal, before the entry is used again: readers that may have seen it start again. */
static void bump(struct hash_bucket *b) { put(&b->version, b->version + 1); }

void hash_unlink(const struct bpf_map *map, struct hash_bucket *b, struct hash_place place, uint32_t index)
{
	if (place.slot < HASH_SLOTS)
		put(&b->tag[place.slot], 0);
	else
		put(place.link, get(&hash_entry(map, index)->next));
	bump(b);
}

static void link_entry(const struct bpf_map *map, struct hash_bucket *b, uint16_t tag, uint32_t index)
{
	const uint32_t free_slots = hash_slots(b, 0);
	if (free_slots) {
		const unsigned s = (unsigned)__builtin_ctz(free_slots) / 2;
		put(&b->link[s], index + 1);
		put(&b->tag[s], tag);
	} else {
		put(&hash_entry(map, index)->next, get(&b->chain));
		put(&b->chain, index + 1);
	}
}

static bool bucket_lock(const struct bpf_map *map, uint32_t b, unsigned me)
{
	struct hash_core *journal = hash_core(map, me);
	put(&journal->bucket[0], b + 1);
	if (lock_take(&hash_bucket(map, b)->lock, me + 1))
		return true;
	put(&journal->bucket[0], 0);
	return false;
}

static void bucket_unlock(const struct bpf_map *map, uint32_t b, unsigned me)
{
	lock_drop(&hash_bucket(map, b)->lock);
	put(&hash_core(map, me)->bucket[0], 0);
}

/* --- free lists --- */

static bool list_lock(const struct bpf_map *map, unsigned list, unsigned me)
{
	struct hash_core *journal = hash_core(map, me);
	put(&journal->list, list + 1);
	if (lock_take(&hash_core(map, list)->lock, me + 1))
		return true;
	put(&journal->list, 0);
	return false;
}

static void list_unlock(const struct bpf_map *map, unsigned list, unsigned me)
{
	lock_drop(&hash_core(map, list)->lock);
	put(&hash_core(map, me)->list, 0);
}

uint32_t hash_pop(const struct bpf_map *map, unsigned me)
{
	struct hash_core *journal = hash_core(map, me);
	for (unsigned n = 0, list = me; n < map->cores; n++, list = list + 1 < map->cores ? list + 1 : 0) {
		struct hash_core *from = hash_core(map, list);
		if (!get(&from->head) || !list_lock(map, list, me))
			continue;
		const uint32_t link = get(&from->head);
		const uint32_t index = hash_index(link);
		if (index < map->pool_entries) {
			put(&journal->other, link);
			put(&from->head, get(&hash_entry(map, index)->free_next));
		} else { /* empty by now, or damaged */
			put(&from->head, 0);
		}
		list_unlock(map, list, me);
		if (index < map->pool_entries)
			return index;
	}
	return HASH_NONE;
}

void hash_push(const struct bpf_map *map, unsigned me)
{
	struct hash_core *journal = hash_core(map, me);
	const uint32_t index = hash_index(get(&journal->other));
	for (unsigned n = 0, list = me; n < map->cores && index < map->pool_entries;
	     n++, list = list + 1 < map->cores ? list + 1 : 0) {
		struct hash_core *to = hash_core(map, list);
		if (!list_lock(map, list, me))
			continue;
		put(&hash_entry(map, index)->free_next, get(&to->head));
		put(&to->head, index + 1);
		put(&journal->other, 0);
		list_unlock(map, list, me);
		return;
	}
	put(&journal->other, 0); /* all locks' holders are dead at once: the entry is lost */
}

/* --- LRU --- */

/* Takes entry `index` out of its bucket, if it is in one and the lock can be had. */
static bool evict(const struct bpf_map *map, uint32_t index, unsigned me, uint32_t locked)
{
	struct hash_core *journal = hash_core(map, me);
	/* The key may be changing. Then the entry is in no bucket, or will not be found in this one. */
	const uint32_t bucket = hash_bucket_of(map, hash_of(map, hash_entry(map, index)->key, map->key_bytes));
	struct hash_bucket *b = hash_bucket(map, bucket);
	if (bucket != locked) {
		put(&journal->bucket[1], bucket + 1);
		if (!lock_try(&b->lock, me + 1)) {
			put(&journal->bucket[1], 0);
			return false;
		}
	}
	const struct hash_place place = hash_place_of(map, b, index);
	if (place.link) {
		put(&journal->other, index + 1);
		hash_unlink(map, b, place, index);
	}
	if (bucket != locked) {
		lock_drop(&b->lock);
		put(&journal->bucket[1], 0);
	}
	return place.link;
}

uint32_t hash_evict(const struct bpf_map *map, unsigned me, uint32_t locked)
{
	struct hash_core *journal = hash_core(map, me);
	for (unsigned n = 0; n < HASH_SCAN; n++) {
		uint32_t index = journal->hand;
		if (index >= map->pool_entries)
			index = 0;
		journal->hand = index + 1;
		struct hash_entry *e = hash_entry(map, index);
		if (get(&e->used) && n < HASH_SCAN / 2)
			put(&e->used, 0);
		else if (index + 1 != get(&journal->spare) && evict(map, index, me, locked))
			return index;
	}
	return HASH_NONE;
}

/* --- operations --- */

static void set_own(const struct bpf_map *map, uint32_t index, unsigned core, const void *value)
{
	struct hash_own *own = (struct hash_own *)(void *)(map->own[core] + (size_t)index * map->own_stride);
	memcpy(own->value, value, map->value_bytes);
	put(&own->generation, get(&hash_entry(map, index)->generation));
}

/* Fills me's spare entry with key and value. */
static void fill(const struct bpf_map *map, uint32_t index, const void *key, const void *value, unsigned core)
{
	struct hash_entry *e = hash_entry(map, index);
	BPF_STEP();
	memcpy(e->key, key, map->key_bytes);
	BPF_STEP();
	put(&e->used, 0);
	if (hash_is_percpu(map->type)) {
		put(&e->generation, e->generation + 1 ? e->generation + 1 : 1); /* never that of untouched memory */
		set_own(map, index, core, value);
	} else {
		memcpy((uint8_t *)e + map->value_at, value, map->value_bytes);
	}
}

/* me's spare entry, or HASH_NONE. Without one, which only damage explains, one comes from a free list. */
static uint32_t spare(const struct bpf_map *map, unsigned me)
{
	struct hash_core *journal = hash_core(map, me);
	const uint32_t index = hash_index(get(&journal->spare));
	if (likely(index < map->pool_entries))
		return index;
	const uint32_t other = hash_pop(map, me);
	if (other != HASH_NONE) {
		put(&journal->spare, other + 1);
		put(&journal->other, 0);
	}
	return other;
}

/* The filled spare entry `index` goes into the bucket in place of the old one. */
static void replace(const struct bpf_map *map, struct hash_bucket *b, struct hash_place place, uint32_t index,
                    uint32_t old, unsigned me)
{
	struct hash_core *journal = hash_core(map, me);
	put(&hash_entry(map, index)->used, 1);
	put(&hash_entry(map, index)->next, get(&hash_entry(map, old)->next));
	put(&journal->other, old + 1);
	put(place.link, index + 1);
	bump(b);
	put(&journal->spare, old + 1);
	put(&journal->other, 0);
}

/* The filled spare entry `index` becomes a new one of the bucket. */
static int64_t insert(const struct bpf_map *map, uint32_t bucket, uint16_t tag, uint32_t index, unsigned me)
{
	struct hash_core *journal = hash_core(map, me);
	uint32_t next_spare = hash_pop(map, me);
	if (next_spare == HASH_NONE && hash_is_lru(map->type)) {
		next_spare = hash_evict(map, me, bucket);
		if (next_spare == HASH_NONE)
			return BPF_ENOMEM;
	}
	if (next_spare == HASH_NONE)
		return BPF_E2BIG;
	link_entry(map, hash_bucket(map, bucket), tag, index);
	put(&journal->spare, next_spare + 1);
	put(&journal->other, 0);
	return 0;
}

/* Of a per-CPU map whose entry `index` has the key: sets the value of that core. */
static int64_t update_in_place(const struct bpf_map *map, uint32_t index, const void *value, uint64_t flags,
                               unsigned core)
{
	if (flags == BPF_NOEXIST)
		return BPF_EEXIST;
	if (hash_is_lru(map->type))
		put(&hash_entry(map, index)->used, 1);
	set_own(map, index, core, value);
	return 0;
}

static int64_t update_locked(const struct bpf_map *map, uint32_t bucket, uint64_t hash, uint32_t index, const void *key,
                             const void *value, uint64_t flags, unsigned core, unsigned me)
{
	struct hash_bucket *b = hash_bucket(map, bucket);
	uint32_t old;
	const struct hash_place place = place_of_key(map, b, hash_tag(hash), key, &old);
	if (!place.link) {
		if (flags == BPF_EXIST)
			return BPF_ENOENT;
		if (place.chained == HASH_CHAIN && !hash_slots(b, 0))
			return BPF_E2BIG;
		return insert(map, bucket, hash_tag(hash), index, me);
	}
	if (hash_is_percpu(map->type))
		return update_in_place(map, old, value, flags, core);
	if (flags == BPF_NOEXIST)
		return BPF_EEXIST;
	if (old != index) /* it would be damage */
		replace(map, b, place, index, old, me);
	return 0;
}

int64_t hash_update(const struct bpf_map *map, const void *key, const void *value, uint64_t flags, unsigned core,
                    unsigned me)
{
	if (flags > BPF_EXIST || me >= map->cores || core >= map->cores)
		return BPF_EINVAL;
	if (hash_is_percpu(map->type)) {
		const uint32_t there = hash_find_any(map, key);
		if (there != HASH_NONE)
			return update_in_place(map, there, value, flags, core);
	}
	const uint32_t index = spare(map, me);
	if (index == HASH_NONE)
		return BPF_ENOMEM;
	fill(map, index, key, value, core);
	key = hash_entry(map, index)->key; /* the caller's may lie in a value that another core is changing */
	const uint64_t hash = hash_of(map, key, map->key_bytes);
	const uint32_t bucket = hash_bucket_of(map, hash);
	if (!bucket_lock(map, bucket, me))
		return BPF_EBUSY;
	const int64_t result = update_locked(map, bucket, hash, index, key, value, flags, core, me);
	bucket_unlock(map, bucket, me);
	return result;
}

int64_t hash_delete(const struct bpf_map *map, const void *key, unsigned me)
{
	if (me >= map->cores)
		return BPF_EINVAL;
	const uint64_t hash = hash_of(map, key, map->key_bytes);
	const uint32_t bucket = hash_bucket_of(map, hash);
	if (!bucket_lock(map, bucket, me))
		return BPF_EBUSY;
	struct hash_bucket *b = hash_bucket(map, bucket);
	uint32_t index;
	const struct hash_place place = place_of_key(map, b, hash_tag(hash), key, &index);
	if (place.link) {
		put(&hash_core(map, me)->other, index + 1);
		hash_unlink(map, b, place, index);
	}
	bucket_unlock(map, bucket, me);
	if (!place.link)
		return BPF_ENOENT;
	hash_push(map, me);
	return 0;
}
