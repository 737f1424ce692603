/*
 * Maps: arrays, maps of ports and cores, and the operations by type. Errors are those of Linux' functions
 * for the type (kernel/bpf/arraymap.c, hashtab.c, lpm_trie.c, devmap.c, cpumap.c).
 */
#include "bpf/maps/map.h"

#include "bpf/maps/hash.h"
#include "bpf/maps/lpm.h"
#include "bpf/maps/ring.h"

/* --- arrays --- */

static uint8_t *element(const struct bpf_map *map, uint8_t *values, const void *key)
{
	const uint32_t i = raw32_load(key);
	return i < map->entries ? values + (size_t)i * map->value_stride : NULL;
}

void *bpf_array_lookup(const struct bpf_map *map, const void *key) { return element(map, map->shared, key); }

void *bpf_percpu_array_lookup(const struct bpf_map *map, const void *key)
{
	return element(map, map->own[bpf_core], key);
}

static int64_t array_update(const struct bpf_map *map, const void *key, const void *value, uint64_t flags,
                            unsigned core)
{
	const bool percpu = map->type == BPF_MAP_PERCPU_ARRAY;
	if ((percpu ? flags : flags & ~(uint64_t)BPF_F_LOCK) > BPF_EXIST)
		return BPF_EINVAL;
	uint8_t *at = element(map, percpu ? map->own[core] : map->shared, key);
	if (!at)
		return BPF_E2BIG;
	if (flags & BPF_NOEXIST)
		return BPF_EEXIST;
	if (flags & BPF_F_LOCK) /* values have no spin lock */
		return BPF_EINVAL;
	memcpy(at, value, map->value_bytes);
	return 0;
}

/* --- devmap and cpumap: the first 32 bits of a value, an ifindex or a queue's size, are 0 where there is none --- */

void *bpf_port_lookup(const struct bpf_map *map, const void *key)
{
	uint8_t *at = element(map, map->shared, key);
	return at && raw32_load(at) ? at : NULL;
}

static int64_t port_update(const struct bpf_map *map, const void *key, const void *value, uint64_t flags)
{
	if (flags > BPF_EXIST)
		return BPF_EINVAL;
	uint8_t *at = element(map, map->shared, key);
	if (!at)
		return BPF_E2BIG;
	if (flags == BPF_NOEXIST)
		return BPF_EEXIST;
	if (map->type == BPF_MAP_XSKMAP)
		return BPF_EOPNOTSUPP;
	if (map->type == BPF_MAP_CPUMAP && raw32_load(value) > 16384)
		return BPF_EOVERFLOW;
	/* One store: data cores are reading. */
	put((uint64_t *)(void *)at, map->value_bytes == 8 ? raw64_load(value) : raw32_load(value));
	return 0;
}

static int64_t port_delete(const struct bpf_map *map, const void *key)
{
	uint8_t *at = element(map, map->shared, key);
	if (!at)
		return BPF_EINVAL;
	put((uint64_t *)(void *)at, 0);
	return 0;
}

/* A map of devmap_hash holds no ifindex 0, and BPF_EXIST does not ask whether there is an entry. */
static int64_t port_hash_update(const struct bpf_map *map, const void *key, const void *value, uint64_t flags)
{
	if (flags > BPF_EXIST || raw32_load(value) == 0)
		return BPF_EINVAL;
	return hash_update(map, key, value, flags == BPF_NOEXIST ? flags : BPF_ANY, 0, bpf_core);
}

/* --- program arrays --- */

int64_t bpf_prog_array_set(const struct bpf_map *map, uint32_t index, uint64_t code)
{
	uint8_t *at = element(map, map->shared, &index);
	if (!at)
		return BPF_E2BIG;
	put((uint64_t *)(void *)at, code);
	return 0;
}

static void *prog_array_value(const struct bpf_map *map, const void *key)
{
	uint8_t *at = element(map, map->shared, key);
	return at && raw64_load(at) ? at : NULL;
}

static int64_t prog_array_delete(const struct bpf_map *map, const void *key)
{
	const bool there = prog_array_value(map, key);
	const int64_t result = bpf_prog_array_set(map, raw32_load(key), 0);
	return result ? result : there ? 0 : BPF_ENOENT;
}

/* --- by type --- */

void *bpf_none_lookup(const struct bpf_map *map, const void *key)
{
	(void)map;
	(void)key;
	return NULL;
}

static bpf_lookup *hash_lookup_for(const struct bpf_map *map, bpf_lookup *any, bpf_lookup *of4, bpf_lookup *of8,
                                   bpf_lookup *of16)
{
	switch (map->key_bytes) {
	case 4: return of4;
	case 8: return of8;
	case 16: return of16;
	default: return any;
	}
}

bpf_lookup *bpf_map_lookup_for(const struct bpf_map *map)
{
	switch (map->type) {
	case BPF_MAP_HASH:
		return hash_lookup_for(map, bpf_hash_lookup, bpf_hash_lookup4, bpf_hash_lookup8, bpf_hash_lookup16);
	case BPF_MAP_LRU_HASH:
		return hash_lookup_for(map, bpf_lru_lookup, bpf_lru_lookup4, bpf_lru_lookup8, bpf_lru_lookup16);
	case BPF_MAP_LPM_TRIE:
		return map->key_bytes == 8 ? bpf_lpm_lookup4 : map->key_bytes == 20 ? bpf_lpm_lookup16 : bpf_lpm_lookup;
	case BPF_MAP_ARRAY: return bpf_array_lookup;
	case BPF_MAP_PERCPU_ARRAY: return bpf_percpu_array_lookup;
	case BPF_MAP_PERCPU_HASH: return bpf_percpu_hash_lookup;
	case BPF_MAP_LRU_PERCPU_HASH: return bpf_lru_percpu_hash_lookup;
	case BPF_MAP_DEVMAP: return bpf_port_lookup;
	case BPF_MAP_DEVMAP_HASH: return bpf_hash_lookup4;
	default: return bpf_none_lookup; /* programs look up nothing in these */
	}
}

void *bpf_map_lookup(const struct bpf_map *map, const void *key) { return bpf_map_lookup_for(map)(map, key); }

static int64_t update(const struct bpf_map *map, const void *key, const void *value, uint64_t flags, unsigned core)
{
	switch (map->type) {
	case BPF_MAP_ARRAY:
	case BPF_MAP_PERCPU_ARRAY: return array_update(map, key, value, flags, core);
	case BPF_MAP_HASH:
	case BPF_MAP_LRU_HASH:
	case BPF_MAP_PERCPU_HASH:
	case BPF_MAP_LRU_PERCPU_HASH: return hash_update(map, key, value, flags, core, bpf_core);
	case BPF_MAP_LPM_TRIE: return lpm_update(map, key, value, flags, bpf_core);
	case BPF_MAP_DEVMAP:
	case BPF_MAP_CPUMAP:
	case BPF_MAP_XSKMAP: return port_update(map, key, value, flags);
	case BPF_MAP_DEVMAP_HASH: return port_hash_update(map, key, value, flags);
	default: return BPF_EINVAL;
	}
}

int64_t bpf_map_update(const struct bpf_map *map, const void *key, const void *value, uint64_t flags)
{
	return update(map, key, value, flags, bpf_core);
}

int64_t bpf_map_delete(const struct bpf_map *map, const void *key)
{
	switch (map->type) {
	case BPF_MAP_HASH:
	case BPF_MAP_LRU_HASH:
	case BPF_MAP_PERCPU_HASH:
	case BPF_MAP_LRU_PERCPU_HASH:
	case BPF_MAP_DEVMAP_HASH: return hash_delete(map, key, bpf_core);
	case BPF_MAP_LPM_TRIE: return lpm_delete(map, key, bpf_core);
	case BPF_MAP_DEVMAP:
	case BPF_MAP_CPUMAP:
	case BPF_MAP_XSKMAP: return port_delete(map, key);
	case BPF_MAP_PROG_ARRAY: return prog_array_delete(map, key);
	default: return BPF_EINVAL;
	}
}

/* --- the control core's --- */

static bool array_next(const struct bpf_map *map, const void *key, void *next)
{
	const uint32_t i = key ? raw32_load(key) : UINT32_MAX;
	if (i == map->entries - 1)
		return false;
	raw32_store(next, i < map->entries ? i + 1 : 0);
	return true;
}

bool bpf_map_next(const struct bpf_map *map, const void *key, void *next)
{
	switch (map->type) {
	case BPF_MAP_HASH:
	case BPF_MAP_LRU_HASH:
	case BPF_MAP_PERCPU_HASH:
	case BPF_MAP_LRU_PERCPU_HASH:
	case BPF_MAP_DEVMAP_HASH: return hash_next(map, key, next);
	case BPF_MAP_LPM_TRIE: return lpm_next(map, key, next);
	case BPF_MAP_RINGBUF:
	case BPF_MAP_PERF_EVENT_ARRAY: return false;
	default: return array_next(map, key, next);
	}
}

void *bpf_map_value(const struct bpf_map *map, const void *key, unsigned core)
{
	uint32_t i;
	if (core >= map->cores)
		return NULL;
	switch (map->type) {
	case BPF_MAP_LRU_HASH: /* a look-up by an operator does not mark the entry as used */
		i = hash_find_any(map, key);
		return i == HASH_NONE ? NULL : (uint8_t *)hash_entry(map, i) + map->value_at;
	case BPF_MAP_PERCPU_HASH:
	case BPF_MAP_LRU_PERCPU_HASH:
		i = hash_find_any(map, key);
		return i == HASH_NONE ? NULL : hash_own_value(map, i, core);
	case BPF_MAP_LPM_TRIE: /* of exactly this prefix */
		i = lpm_find_exact(map, key);
		return i == LPM_NONE ? NULL : (uint8_t *)lpm_entry(map, i) + map->value_at;
	case BPF_MAP_PERCPU_ARRAY: return element(map, map->own[core], key);
	case BPF_MAP_CPUMAP: return bpf_port_lookup(map, key);
	case BPF_MAP_PROG_ARRAY: return prog_array_value(map, key);
	default: return bpf_map_lookup(map, key);
	}
}

int64_t bpf_map_set(const struct bpf_map *map, const void *key, const void *value, unsigned core)
{
	return core < map->cores ? update(map, key, value, BPF_ANY, core) : BPF_EINVAL;
}

uint32_t bpf_map_used(const struct bpf_map *map)
{
	uint32_t used = 0;
	switch (map->type) {
	case BPF_MAP_HASH:
	case BPF_MAP_LRU_HASH:
	case BPF_MAP_PERCPU_HASH:
	case BPF_MAP_LRU_PERCPU_HASH:
	case BPF_MAP_DEVMAP_HASH: return hash_used(map);
	case BPF_MAP_LPM_TRIE: return lpm_used(map);
	case BPF_MAP_ARRAY:
	case BPF_MAP_PERCPU_ARRAY: return map->entries;
	case BPF_MAP_RINGBUF:
	case BPF_MAP_PERF_EVENT_ARRAY: return 0;
	default:
		for (uint32_t i = 0; i < map->entries; i++)
			used += bpf_map_value(map, &i, 0) != NULL;
		return used;
	}
}

void bpf_map_recover(const struct bpf_map *map, unsigned core)
{
	if (core >= map->cores)
		return;
	switch (map->type) {
	case BPF_MAP_HASH:
	case BPF_MAP_LRU_HASH:
	case BPF_MAP_PERCPU_HASH:
	case BPF_MAP_LRU_PERCPU_HASH:
	case BPF_MAP_DEVMAP_HASH: hash_recover(map, core); break;
	case BPF_MAP_LPM_TRIE: lpm_recover(map, core); break;
	case BPF_MAP_RINGBUF:
	case BPF_MAP_PERF_EVENT_ARRAY: ring_recover(map, core); break;
	default: break;
	}
}
