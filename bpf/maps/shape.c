/*
 * The shapes of maps: what bpf_map_check refuses (as Linux' map_alloc_check functions do), how much memory a map
 * needs, and its start.
 */
#include "bpf/maps/hash.h"
#include "bpf/maps/lpm.h"
#include "bpf/maps/ring.h"
#include "lib/fmt.h"

#define FLAGS (BPF_F_NO_PREALLOC | BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG | BPF_F_MMAPABLE)
/* Linux' PCPU_MIN_UNIT_SIZE */
#define PERCPU_VALUE_MAX 32768
#define RING_PAGE 4096

/* What the types require of keys and values; 0 in a maximum: no such type. */
static const struct shape {
	uint16_t key_min, key_max;
	uint32_t value_min, value_max;
} shapes[] = {
	[BPF_MAP_HASH] = {1, BPF_KEY_MAX, 1, BPF_VALUE_MAX},
	[BPF_MAP_ARRAY] = {4, 4, 1, BPF_VALUE_MAX},
	[BPF_MAP_PROG_ARRAY] = {4, 4, 4, 4},
	[BPF_MAP_PERF_EVENT_ARRAY] = {4, 4, 4, 4},
	[BPF_MAP_PERCPU_HASH] = {1, BPF_KEY_MAX, 1, PERCPU_VALUE_MAX},
	[BPF_MAP_PERCPU_ARRAY] = {4, 4, 1, PERCPU_VALUE_MAX},
	[BPF_MAP_LRU_HASH] = {1, BPF_KEY_MAX, 1, BPF_VALUE_MAX},
	[BPF_MAP_LRU_PERCPU_HASH] = {1, BPF_KEY_MAX, 1, PERCPU_VALUE_MAX},
	[BPF_MAP_LPM_TRIE] = {5, BPF_LPM_KEY_MAX, 1, BPF_VALUE_MAX},
	[BPF_MAP_DEVMAP] = {4, 4, 4, 8},
	[BPF_MAP_CPUMAP] = {4, 4, 4, 8},
	[BPF_MAP_XSKMAP] = {4, 4, 4, 4},
	[BPF_MAP_DEVMAP_HASH] = {4, 4, 4, 8},
	[BPF_MAP_RINGBUF] = {0, 0, 0, 0},
};

static bool is_hash(uint32_t type)
{
	return type == BPF_MAP_HASH || type == BPF_MAP_LRU_HASH || hash_is_percpu(type) || type == BPF_MAP_DEVMAP_HASH;
}

static bool is_ring(uint32_t type) { return type == BPF_MAP_RINGBUF || type == BPF_MAP_PERF_EVENT_ARRAY; }

static bool refuse(struct bpf_reason *why, const struct bpf_map_def *def, const char *what, uint64_t from, uint64_t to)
{
	if (from == to)
		fmt_format(why->text, sizeof why->text, "map %s: %s must be %lu", def->name, what, from);
	else
		fmt_format(why->text, sizeof why->text, "map %s: %s must be %lu to %lu", def->name, what, from, to);
	return false;
}

static bool check_ring(const struct bpf_map_def *def, struct bpf_reason *why)
{
	const uint32_t n = def->entries;
	if (n < RING_PAGE || (n & (n - 1)) || n > BPF_ENTRIES_MAX) {
		fmt_format(why->text, sizeof why->text,
		    "map %s: max_entries of a ring buffer is its bytes: a power of two, %u to %u", def->name,
		    RING_PAGE, BPF_ENTRIES_MAX);
		return false;
	}
	return true;
}

static bool check_entries(const struct bpf_map_def *def, struct bpf_reason *why)
{
	if (def->type == BPF_MAP_RINGBUF)
		return check_ring(def, why);
	if (def->type == BPF_MAP_PERF_EVENT_ARRAY) /* 0: as many as there are cores */
		return true;
	const uint32_t most = def->type == BPF_MAP_LPM_TRIE ? BPF_LPM_ENTRIES_MAX : BPF_ENTRIES_MAX;
	if (def->entries == 0 || def->entries > most)
		return refuse(why, def, "max_entries", 1, most);
	return true;
}

bool bpf_map_check(const struct bpf_map_def *def, struct bpf_reason *why)
{
	const bool known = def->type < ARRAY_LEN(shapes) && (shapes[def->type].key_max || def->type == BPF_MAP_RINGBUF);
	if (!known) {
		fmt_format(why->text, sizeof why->text, "map %s: there are no maps of type %u", def->name, def->type);
		return false;
	}
	const struct shape *s = &shapes[def->type];
	if (def->key_bytes < s->key_min || def->key_bytes > s->key_max)
		return refuse(why, def, "key_size", s->key_min, s->key_max);
	if (def->value_bytes < s->value_min || def->value_bytes > s->value_max)
		return refuse(why, def, "value_size", s->value_min, s->value_max);
	if (s->value_max == 8 && def->value_bytes != 4 && def->value_bytes != 8) {
		fmt_format(why->text, sizeof why->text, "map %s: value_size must be 4 or 8", def->name);
		return false;
	}
	const bool both = (def->flags & BPF_F_RDONLY_PROG) && (def->flags & BPF_F_WRONLY_PROG);
	if ((def->flags & ~(uint32_t)FLAGS) || both) {
		fmt_format(why->text, sizeof why->text, "map %s: map_flags 0x%x: not supported here", def->name,
		    both ? def->flags : def->flags & ~(uint32_t)FLAGS);
		return false;
	}
	return check_entries(def, why);
}

enum bpf_place bpf_map_place(const struct bpf_map_def *def)
{
	switch (def->type) {
	case BPF_MAP_PROG_ARRAY:
	case BPF_MAP_DEVMAP:
	case BPF_MAP_DEVMAP_HASH:
	case BPF_MAP_CPUMAP:
	case BPF_MAP_XSKMAP: return BPF_PLACE_CONTROL;
	default: return BPF_PLACE_ALL;
	}
}

/* --- memory --- */

static uint32_t round_up(uint32_t n, uint32_t to) { return (n + to - 1) / to * to; }

/* An entry that fits into a cache line does not cross two. */
static uint32_t entry_stride(uint32_t bytes) { return bytes <= 32 ? 32 : round_up(bytes, 64); }

/* What follows from the definition alone. */
static void set_shape(struct bpf_map *map, const struct bpf_map_def *def, unsigned cores)
{
	*map = (struct bpf_map){
		.type = def->type,
		.key_bytes = def->key_bytes,
		.value_bytes = def->value_bytes,
		.value_stride = round_up(def->value_bytes, 8),
		.entries = def->type == BPF_MAP_PERF_EVENT_ARRAY ? BPF_PERF_RING : def->entries,
		.flags = def->flags,
		.cores = cores,
	};
	if (def->type == BPF_MAP_PROG_ARRAY)
		map->value_stride = 8;
	if (is_hash(def->type)) {
		map->pool_entries = map->entries + cores;
		map->value_at = round_up(sizeof(struct hash_entry) + map->key_bytes, 8);
		map->entry_stride = entry_stride(map->value_at + (hash_is_percpu(def->type) ? 0 : map->value_stride));
		map->own_stride = sizeof(struct hash_own) + map->value_stride;
	} else if (def->type == BPF_MAP_LPM_TRIE) {
		map->pool_entries = map->entries + 1;
		map->value_at = round_up(offsetof(struct lpm_entry, data) + map->key_bytes - 4, 8);
		map->entry_stride = entry_stride(map->value_at + map->value_stride);
	}
}

static uint64_t whole_lines(uint64_t bytes) { return (bytes + 63) & ~(uint64_t)63; }

uint64_t bpf_map_shared_bytes(const struct bpf_map_def *def, unsigned cores)
{
	struct bpf_map map;
	set_shape(&map, def, cores);
	if (is_hash(def->type))
		return whole_lines(hash_shared_bytes(&map));
	if (def->type == BPF_MAP_LPM_TRIE)
		return whole_lines(lpm_shared_bytes(&map));
	if (is_ring(def->type) || def->type == BPF_MAP_PERCPU_ARRAY)
		return 0;
	return whole_lines((uint64_t)map.entries * map.value_stride);
}

uint64_t bpf_map_own_bytes(const struct bpf_map_def *def, unsigned cores)
{
	struct bpf_map map;
	set_shape(&map, def, cores);
	if (hash_is_percpu(def->type))
		return whole_lines((uint64_t)map.pool_entries * map.own_stride);
	if (def->type == BPF_MAP_PERCPU_ARRAY)
		return whole_lines((uint64_t)map.entries * map.value_stride);
	return is_ring(def->type) ? ring_own_bytes(map.entries) : 0;
}

void bpf_map_init(struct bpf_map *map, const struct bpf_map_def *def, uint8_t *shared, uint8_t *const *own,
                  unsigned cores, const uint64_t hash_key[2])
{
	set_shape(map, def, cores);
	memcpy(map->name, def->name, sizeof map->name);
	memcpy(map->hash_key, hash_key, sizeof map->hash_key);
	map->shared = shared;
	for (unsigned c = 0; own && c < cores; c++)
		map->own[c] = own[c];
	if (is_hash(map->type))
		hash_init(map);
	else if (map->type == BPF_MAP_LPM_TRIE)
		lpm_init(map);
	else if (map->type == BPF_MAP_ARRAY && def->initial)
		memcpy(shared, def->initial, def->value_bytes);
}
