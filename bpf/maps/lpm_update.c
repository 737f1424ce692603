/*
 * LPM tries: update, delete, recovery. lpm.h describes the memory and what readers may see.
 */
#include "bpf/maps/lpm.h"

/* --- free lists; the caller holds the lock --- */

/* Takes an entry; it is then head->new_entry. keep: so many must stay free. */
static uint32_t take_entry(const struct bpf_map *map, unsigned keep)
{
	struct lpm_head *head = lpm_head(map);
	const uint32_t link = get(&head->free_entry);
	if (link - 1 >= map->pool_entries)
		return LPM_NONE;
	const uint32_t next = get(&lpm_entry(map, link - 1)->free_next);
	if (keep && next == 0)
		return LPM_NONE;
	put(&head->new_entry, link);
	put(&head->free_entry, next);
	return link - 1;
}

/* Frees what *journal names. */
static void free_entry(const struct bpf_map *map, uint32_t *journal)
{
	struct lpm_head *head = lpm_head(map);
	struct lpm_entry *e = lpm_entry(map, *journal - 1);
	put(&e->prefix_bits, LPM_FREE);
	put(&e->free_next, get(&head->free_entry));
	put(&head->free_entry, *journal);
	put(journal, 0);
}

static uint32_t take_node(const struct bpf_map *map)
{
	struct lpm_head *head = lpm_head(map);
	const uint32_t link = get(&head->free_node);
	if (link - 1 >= map->buckets_mask || link == 1)
		return LPM_NONE;
	put(&head->new_node, link);
	put(&head->free_node, get(&lpm_node(map, link - 1)->inner[0]));
	return link - 1;
}

static void free_node(const struct bpf_map *map, uint32_t *journal)
{
	struct lpm_head *head = lpm_head(map);
	put(&lpm_node(map, *journal - 1)->inner[0], get(&head->free_node));
	put(&head->free_node, *journal);
	put(journal, 0);
}

/* --- nodes --- */

/* `best` of all slots, from `inner`. */
static void compute_slots(struct lpm_node *at)
{
	for (unsigned nibble = 0; nibble < 16; nibble++) {
		uint32_t best = 0;
		for (unsigned bits = 4; bits-- > 0 && !best;)
			best = get(&at->inner[lpm_inner(bits, nibble)]);
		if (at->slot[nibble].best != best)
			put(&at->slot[nibble].best, best);
	}
}

static void touch(const struct bpf_map *map, uint32_t node)
{
	struct lpm_head *head = lpm_head(map);
	compute_slots(lpm_node(map, node));
	put(&head->touched, 0);
}

/* Before what was removed is used again. */
static void bump(const struct bpf_map *map)
{
	struct lpm_head *head = lpm_head(map);
	put(&head->version, head->version + 1);
}

/* Stores `entry` where the spot is; LPM_NONE: nothing. */
static void set_link(const struct bpf_map *map, const struct lpm_spot *s, uint32_t entry)
{
	if (s->is_inner) {
		put(&lpm_head(map)->touched, s->node + 1);
		put(s->link, entry + 1); /* LPM_NONE + 1 is 0 */
		touch(map, s->node);
	} else {
		put(s->link, entry == LPM_NONE ? 0 : LPM_LEAF | entry);
	}
}

/* If the node that the spot lies in has only one item left, the item takes the node's place. */
static void collapse(const struct bpf_map *map, const struct lpm_spot *s)
{
	struct lpm_head *head = lpm_head(map);
	const struct lpm_node *at = lpm_node(map, s->node);
	unsigned items = 0;
	uint32_t item = 0;
	if (!s->parent)
		return;
	for (unsigned i = 1; i < 16; i++)
		if (get(&at->inner[i])) {
			items++;
			item = LPM_LEAF | (get(&at->inner[i]) - 1);
		}
	for (unsigned i = 0; i < 16; i++)
		if (get(&at->slot[i].child)) {
			items++;
			item = get(&at->slot[i].child);
		}
	if (items > 1)
		return;
	put(&head->old_node, s->node + 1);
	put(s->parent, item);
	bump(map);
	free_node(map, &head->old_node);
}

/* Puts a child word into a new node, which nobody sees yet: an entry of `bits` bits, or a node of that depth. */
static void add_to_node(struct lpm_node *at, uint32_t depth, uint32_t child, const uint8_t *data, uint32_t bits)
{
	if (bits < depth + 4)
		at->inner[lpm_inner(bits - depth, lpm_nibble(data, depth))] = (child & ~LPM_LEAF) + 1;
	else
		at->slot[lpm_nibble(data, depth)].child = child;
}

/* The slot has another child, from which the new entry parts: a node with both takes its place. Both have at least
 * `parts` bits. */
static int64_t split(const struct bpf_map *map, const struct lpm_spot *s, const uint8_t *key, uint32_t entry)
{
	struct lpm_head *head = lpm_head(map);
	const uint32_t depth = s->parts & ~3u;
	if (depth <= s->depth || depth >= lpm_bits(map)) /* damaged */
		return BPF_ENOMEM;
	const uint32_t node = take_node(map);
	if (node == LPM_NONE)
		return BPF_ENOMEM;
	struct lpm_node *at = lpm_node(map, node);
	memset(at, 0, sizeof *at);
	add_to_node(at, depth, LPM_LEAF | entry, key + 4, raw32_load(key));
	add_to_node(at, depth, get(s->link), lpm_entry(map, s->other)->data, s->other_bits);
	compute_slots(at);
	put(s->link, depth / 4 << LPM_NODE_BITS | node);
	put(&head->new_node, 0);
	return 0;
}

/* --- operations --- */

static void fill(const struct bpf_map *map, uint32_t entry, const uint8_t *key, const void *value)
{
	struct lpm_entry *e = lpm_entry(map, entry);
	BPF_STEP();
	memcpy(e->data, key + 4, map->key_bytes - 4);
	memcpy((uint8_t *)e + map->value_at, value, map->value_bytes);
	put(&e->prefix_bits, raw32_load(key));
}

static int64_t replace(const struct bpf_map *map, const struct lpm_spot *s, const uint8_t *key, const void *value)
{
	struct lpm_head *head = lpm_head(map);
	const uint32_t entry = take_entry(map, 0);
	if (entry == LPM_NONE)
		return BPF_ENOMEM;
	fill(map, entry, key, value);
	put(&head->old_entry, s->entry + 1);
	set_link(map, s, entry);
	put(&head->new_entry, 0);
	bump(map);
	free_entry(map, &head->old_entry);
	return 0;
}

static int64_t insert(const struct bpf_map *map, const struct lpm_spot *s, const uint8_t *key, const void *value)
{
	struct lpm_head *head = lpm_head(map);
	const uint32_t entry = take_entry(map, 1);
	if (entry == LPM_NONE)
		return BPF_ENOSPC;
	fill(map, entry, key, value);
	int64_t result = 0;
	if (!s->is_inner && s->other != LPM_NONE)
		result = split(map, s, key, entry);
	else
		set_link(map, s, entry);
	if (result == 0)
		put(&head->new_entry, 0);
	else
		free_entry(map, &head->new_entry);
	return result;
}

/* The key is copied first: it may lie in a value that another core is changing. */
int64_t lpm_update(const struct bpf_map *map, const void *from, const void *value, uint64_t flags, unsigned me)
{
	struct lpm_head *head = lpm_head(map);
	uint8_t key[BPF_LPM_KEY_MAX];
	memcpy(key, from, map->key_bytes);
	const uint32_t bits = raw32_load(key);
	if (flags > BPF_EXIST || bits > lpm_bits(map))
		return BPF_EINVAL;
	if (!lock_take(&head->lock, me + 1))
		return BPF_EBUSY;
	const struct lpm_spot s = lpm_spot(map, key + 4, bits);
	int64_t result;
	if (s.entry != LPM_NONE)
		result = flags == BPF_NOEXIST ? BPF_EEXIST : replace(map, &s, key, value);
	else
		result = flags == BPF_EXIST ? BPF_ENOENT : insert(map, &s, key, value);
	lock_drop(&head->lock);
	return result;
}

int64_t lpm_delete(const struct bpf_map *map, const void *key, unsigned me)
{
	struct lpm_head *head = lpm_head(map);
	const uint32_t bits = raw32_load(key);
	if (bits > lpm_bits(map))
		return BPF_EINVAL;
	if (!lock_take(&head->lock, me + 1))
		return BPF_EBUSY;
	const struct lpm_spot s = lpm_spot(map, (const uint8_t *)key + 4, bits);
	if (s.entry != LPM_NONE) {
		put(&head->old_entry, s.entry + 1);
		set_link(map, &s, LPM_NONE);
		bump(map);
		collapse(map, &s);
		free_entry(map, &head->old_entry);
	}
	lock_drop(&head->lock);
	return s.entry == LPM_NONE ? BPF_ENOENT : 0;
}

/* --- recovery --- */

/* Does the path along the entry's data pass the node? */
static bool passes(const struct bpf_map *map, uint32_t entry, uint32_t node)
{
	const uint8_t *data = lpm_entry(map, entry)->data;
	uint32_t at = 0, depth = 0;
	do {
		if (at == node)
			return true;
	} while (lpm_child_node(map, get(&lpm_node(map, at)->slot[lpm_nibble(data, depth)].child), depth, &at, &depth));
	return false;
}

/* The entry that the journal names is free, or in the trie, or neither: then it is freed. */
static void recover_entry(const struct bpf_map *map, uint32_t *journal)
{
	const uint32_t link = *journal;
	if (link - 1 >= map->pool_entries || link == get(&lpm_head(map)->free_entry) ||
	    lpm_find_exact(map, &lpm_entry(map, link - 1)->prefix_bits) == link - 1)
		put(journal, 0);
	else
		free_entry(map, journal);
}

static void recover_node(const struct bpf_map *map, uint32_t *journal, uint32_t entry_link)
{
	const uint32_t link = *journal;
	if (link - 1 >= map->buckets_mask || link == get(&lpm_head(map)->free_node) ||
	    entry_link - 1 >= map->pool_entries || passes(map, entry_link - 1, link - 1))
		put(journal, 0);
	else
		free_node(map, journal);
}

/* The old entry is out of its node, which may have one item left. */
static void recover_collapse(const struct bpf_map *map, uint32_t link)
{
	if (link - 1 >= map->pool_entries)
		return;
	const struct lpm_entry *e = lpm_entry(map, link - 1);
	const uint32_t bits = get(&e->prefix_bits);
	if (bits > lpm_bits(map))
		return;
	const struct lpm_spot s = lpm_spot(map, e->data, bits);
	if (s.entry == LPM_NONE)
		collapse(map, &s);
}

void lpm_recover(const struct bpf_map *map, unsigned core)
{
	struct lpm_head *head = lpm_head(map);
	if (get(&head->lock) != core + 1)
		return;
	if (head->touched - 1 < map->buckets_mask)
		touch(map, head->touched - 1);
	recover_node(map, &head->new_node, head->new_entry);
	recover_node(map, &head->old_node, head->old_entry);
	bump(map); /* readers may have seen the entries that become free */
	recover_collapse(map, head->old_entry);
	recover_entry(map, &head->new_entry);
	recover_entry(map, &head->old_entry);
	lock_drop(&head->lock);
}
