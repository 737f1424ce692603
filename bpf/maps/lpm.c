/*
 * LPM tries: look-ups and walks. lpm.h describes the memory.
 */
#include "bpf/maps/lpm.h"

/* The root is node 0, and one node more is there while another is being freed. */
static uint32_t nodes_of(const struct bpf_map *map) { return map->entries + 2; }

uint64_t lpm_shared_bytes(const struct bpf_map *map)
{
	return sizeof(struct lpm_head) + (uint64_t)nodes_of(map) * sizeof(struct lpm_node) +
	       (uint64_t)map->pool_entries * map->entry_stride;
}

void lpm_init(struct bpf_map *map)
{
	struct lpm_head *head = lpm_head(map);
	map->buckets_mask = nodes_of(map);
	map->buckets = map->shared + sizeof *head;
	map->pool = map->buckets + (size_t)map->buckets_mask * sizeof(struct lpm_node);
	for (uint32_t i = map->pool_entries; i-- > 0;) {
		struct lpm_entry *e = lpm_entry(map, i);
		e->prefix_bits = LPM_FREE;
		e->free_next = head->free_entry;
		head->free_entry = i + 1;
	}
	for (uint32_t i = map->buckets_mask; i-- > 1;) {
		lpm_node(map, i)->inner[0] = head->free_node;
		head->free_node = i + 1;
	}
}

/* --- look-ups --- */

/* Is the entry's prefix one of the key's `bits` bits? bytes: of data. */
static inline __attribute__((always_inline)) bool covers(const struct lpm_entry *e, const uint8_t *data, uint32_t bits,
                                                         uint32_t bytes)
{
	const uint32_t n = get(&e->prefix_bits);
	if (n > bits)
		return false;
	if (n == 0)
		return true;
	if (bytes == 4)
		return (be32_load(e->data) ^ be32_load(data)) >> (32 - n) == 0;
	if (bytes == 16) {
		const uint64_t high = __builtin_bswap64(raw64_load(e->data) ^ raw64_load(data));
		const uint64_t low = __builtin_bswap64(raw64_load(e->data + 8) ^ raw64_load(data + 8));
		return n <= 64 ? high >> (64 - n) == 0 : high == 0 && low >> (128 - n) == 0;
	}
	return lpm_common(e->data, data, n) == n;
}

/* The entries that the walk along data passes, the shortest first. seen has room for one a node, a leaf, and
 * four. Returns their number. */
static inline __attribute__((always_inline)) unsigned walk(const struct bpf_map *map, const uint8_t *data,
                                                           uint32_t bits, uint32_t *seen)
{
	unsigned n = 0;
	uint32_t node = 0, depth = 0;
	for (;;) {
		const struct lpm_node *at = lpm_node(map, node);
		if (unlikely(depth + 4 > bits)) { /* a key shorter than its map's: never a packet's address */
			for (unsigned b = 0; depth + b <= bits; b++)
				seen[n++] = get(&at->inner[lpm_inner(b, lpm_nibble(data, depth))]) - 1;
			return n;
		}
		const struct lpm_slot *slot = &at->slot[lpm_nibble(data, depth)];
		const uint32_t best = get(&slot->best), child = get(&slot->child);
		seen[n] = best - 1;
		n += best != 0;
		if (child & LPM_LEAF)
			seen[n++] = child & ~LPM_LEAF;
		if (!lpm_child_node(map, child, depth, &node, &depth))
			return n;
	}
}

static inline __attribute__((always_inline)) void *lookup(const struct bpf_map *map, const uint8_t *key, uint32_t bytes,
                                                          uint32_t *seen)
{
	const uint32_t bits = raw32_load(key);
	const uint8_t *data = key + 4;
	struct lpm_entry *found = NULL;
	if (bits > 8 * bytes)
		return NULL;
	for (unsigned tries = 0; tries < LPM_RETRIES; tries++) {
		const uint32_t version = get(&lpm_head(map)->version);
		found = NULL;
		for (unsigned n = walk(map, data, bits, seen); n-- > 0;)
			if (likely(seen[n] < map->pool_entries)) {
				struct lpm_entry *e = lpm_entry(map, seen[n]);
				if (likely(covers(e, data, bits, bytes))) {
					found = e;
					break;
				}
			}
		loads_done();
		if (likely(get(&lpm_head(map)->version) == version))
			break;
	}
	return found ? (uint8_t *)found + map->value_at : NULL;
}

#define SEEN(bytes) (2 * (bytes) + 6)

void *bpf_lpm_lookup4(const struct bpf_map *map, const void *key)
{
	uint32_t seen[SEEN(4)];
	return lookup(map, key, 4, seen);
}

void *bpf_lpm_lookup16(const struct bpf_map *map, const void *key)
{
	uint32_t seen[SEEN(16)];
	return lookup(map, key, 16, seen);
}

void *bpf_lpm_lookup(const struct bpf_map *map, const void *key)
{
	uint32_t seen[SEEN(BPF_LPM_KEY_MAX - 4)];
	return lookup(map, key, map->key_bytes - 4, seen);
}

/* --- exact search, and walks of the control core --- */

/* Some entry of the subtree at `child`, or LPM_NONE if it is damaged. */
static uint32_t some_entry(const struct bpf_map *map, uint32_t child, uint32_t depth)
{
	uint32_t node;
	while (!(child & LPM_LEAF)) {
		if (!lpm_child_node(map, child, depth, &node, &depth))
			return LPM_NONE;
		const struct lpm_node *at = lpm_node(map, node);
		for (unsigned i = 1; i < 16; i++)
			if (get(&at->inner[i]))
				return get(&at->inner[i]) - 1;
		child = 0;
		for (unsigned i = 0; i < 16 && !child; i++)
			child = get(&at->slot[i].child);
	}
	return child & ~LPM_LEAF;
}

struct lpm_spot lpm_spot(const struct bpf_map *map, const uint8_t *data, uint32_t bits)
{
	struct lpm_spot s = {.entry = LPM_NONE, .other = LPM_NONE};
	for (;;) {
		struct lpm_node *at = lpm_node(map, s.node);
		if (bits < s.depth + 4) {
			s.is_inner = true;
			s.link = &at->inner[lpm_inner(bits - s.depth, lpm_nibble(data, s.depth))];
			s.entry = get(s.link) - 1;
			if (s.entry >= map->pool_entries)
				s.entry = LPM_NONE;
			return s;
		}
		s.link = &at->slot[lpm_nibble(data, s.depth)].child;
		const uint32_t child = get(s.link);
		const uint32_t other = child ? some_entry(map, child, s.depth) : LPM_NONE;
		if (other >= map->pool_entries)
			return s;
		const struct lpm_entry *e = lpm_entry(map, other);
		uint32_t node = 0, depth = 0;
		const bool is_node = lpm_child_node(map, child, s.depth, &node, &depth);
		s.other_bits = is_node ? depth : get(&e->prefix_bits);
		s.parts = lpm_common(e->data, data, bits < s.other_bits ? bits : s.other_bits);
		if (!is_node || s.parts < depth) {
			s.other = other;
			if (!is_node && s.parts == bits && s.other_bits == bits)
				s.entry = other;
			return s;
		}
		s.parent = s.link;
		s.node = node;
		s.depth = depth;
	}
}

uint32_t lpm_find_exact(const struct bpf_map *map, const void *key)
{
	const uint32_t bits = raw32_load(key);
	uint32_t entry = LPM_NONE;
	if (bits > lpm_bits(map))
		return LPM_NONE;
	for (unsigned tries = 0; tries < LPM_RETRIES_CONTROL; tries++) {
		const uint32_t version = get(&lpm_head(map)->version);
		entry = lpm_spot(map, (const uint8_t *)key + 4, bits).entry;
		loads_done();
		if (get(&lpm_head(map)->version) == version)
			break;
	}
	return entry;
}

bool lpm_next(const struct bpf_map *map, const void *key, void *next)
{
	const uint32_t was = key ? lpm_find_exact(map, key) : LPM_NONE;
	for (uint32_t i = was == LPM_NONE ? 0 : was + 1; i < map->pool_entries; i++) {
		const struct lpm_entry *e = lpm_entry(map, i);
		if (get(&e->prefix_bits) == LPM_FREE)
			continue;
		memcpy(next, &e->prefix_bits, map->key_bytes);
		if (lpm_find_exact(map, next) == i)
			return true;
	}
	return false;
}

uint32_t lpm_used(const struct bpf_map *map)
{
	uint32_t used = 0;
	for (uint32_t i = 0; i < map->pool_entries; i++)
		used += get(&lpm_entry(map, i)->prefix_bits) != LPM_FREE;
	return used;
}
