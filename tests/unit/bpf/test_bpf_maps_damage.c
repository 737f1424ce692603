/*
 * Another core has gone mad: random bytes, and chosen ones, stand in the memory that cores share. Every operation
 * ends and touches nothing outside of the map (ASan); results are whatever they are.
 */
#include "tests/unit/rig/host.h"

#include "bpf/maps/hash.h"
#include "bpf/maps/lpm.h"
#include "tests/unit/rig/maps_rig.h"

#define ENTRIES 50

static void key_at_random(const struct bpf_map *m, uint8_t *key)
{
	memset(key, 0, m->key_bytes);
	key[m->key_bytes / 2] = (uint8_t)random_below(70);
	if (m->type == BPF_MAP_LPM_TRIE)
		memcpy(key, &(uint32_t){random_below(8 * (m->key_bytes - 4) + 2)}, 4);
}

static void touch(const struct bpf_map *m, uint8_t *at)
{
	if (at)
		for (uint32_t i = 0; i < m->value_bytes; i++)
			((volatile uint8_t *)at)[i]++;
}

static void operate(const struct bpf_map *m)
{
	uint8_t *key = malloc(m->key_bytes), *value = malloc(m->value_bytes);
	memset(value, 1, m->value_bytes);
	bpf_core = random_below(RIG_CORES);
	key_at_random(m, key);
	touch(m, bpf_map_lookup(m, key));
	switch (random_below(10)) {
	case 0: bpf_map_recover(m, random_below(RIG_CORES)); break;
	case 1:
		bpf_map_used(m);
		for (unsigned n = 0; n < 20 && bpf_map_next(m, n ? key : NULL, key); n++)
			touch(m, bpf_map_value(m, key, random_below(RIG_CORES)));
		break;
	case 2:
	case 3:
	case 4: bpf_map_delete(m, key); break;
	default: bpf_map_update(m, key, value, random_below(3));
	}
	free(key);
	free(value);
	bpf_core = 0;
}

/* Locks at random values would only make everyone wait. */
static void release_locks(struct rig_map *rig)
{
	const struct bpf_map *m = &rig->map;
	if (m->type == BPF_MAP_LPM_TRIE) {
		lpm_head(m)->lock = 0;
		return;
	}
	for (uint32_t b = 0; b <= m->buckets_mask; b++)
		hash_bucket(m, b)->lock = 0;
	for (unsigned c = 0; c < m->cores; c++)
		hash_core(m, c)->lock = 0;
}

/* A word of shared or own memory becomes something: any number, a small one (an index), another word. */
static void damage(struct rig_map *rig)
{
	const bool own = rig->own_bytes && random_below(4) == 0;
	uint8_t *memory = own ? rig->own[random_below(RIG_CORES)] : rig->shared;
	const uint32_t words = (uint32_t)((own ? rig->own_bytes : rig->shared_bytes) / 4);
	/* half of it in the heads, where all links begin */
	uint32_t *at = (uint32_t *)(void *)memory + random_below(random_below(2) && words > 256 ? 256 : words);
	switch (random_below(4)) {
	case 0: *at = (uint32_t)random64(); break;
	case 1: *at = random_below(ENTRIES + 20); break;
	case 2: *at = ((uint32_t *)(void *)memory)[random_below(words)]; break;
	default: *at ^= 1u << random_below(32);
	}
}

static void damaged(uint32_t type, uint32_t key_bytes, uint32_t value_bytes)
{
	for (unsigned round = 0; round < 60; round++) {
		struct rig_map *rig = rig_map(type, key_bytes, value_bytes, ENTRIES);
		const bool locks = round == 0;
		if (round % 3 == 1)
			random_fill(rig->shared, rig->shared_bytes);
		for (unsigned step = 0; step < (locks ? 50 : 1000); step++) {
			if (round % 3 != 1 || random_below(8) == 0)
				damage(rig);
			if (!locks)
				release_locks(rig);
			operate(&rig->map);
		}
		rig_map_free(rig);
	}
}

static void hashes(void **s)
{
	(void)s;
	seed_random("hashes");
	damaged(BPF_MAP_HASH, 4, 8);
	damaged(BPF_MAP_HASH, 13, 100);
	damaged(BPF_MAP_LRU_HASH, 16, 12);
	damaged(BPF_MAP_PERCPU_HASH, 8, 20);
	damaged(BPF_MAP_LRU_PERCPU_HASH, 4, 8);
}

static void tries(void **s)
{
	(void)s;
	seed_random("tries");
	damaged(BPF_MAP_LPM_TRIE, 8, 8);
	damaged(BPF_MAP_LPM_TRIE, 20, 4);
	damaged(BPF_MAP_LPM_TRIE, 5, 4);
	damaged(BPF_MAP_LPM_TRIE, 260, 4);
}

/* A chain that never ends. */
static void cycle_in_a_chain(void **s)
{
	(void)s;
	struct rig_map *rig = rig_map(BPF_MAP_HASH, 8, 8, 60);
	const struct bpf_map *m = &rig->map;
	rig_map_collide(rig);
	for (uint64_t k = 0; k < 20; k++)
		assert_int_equal(bpf_map_update(m, &k, &k, BPF_ANY), 0);
	struct hash_bucket *b = hash_bucket(m, 0);
	hash_entry(m, b->chain - 1)->next = b->chain;
	assert_null(bpf_map_lookup(m, &(uint64_t){100}));
	assert_int_equal(bpf_map_delete(m, &(uint64_t){100}), BPF_ENOENT);
	assert_int_equal(bpf_map_update(m, &(uint64_t){100}, &(uint64_t){1}, BPF_ANY), BPF_E2BIG);
	assert_int_equal(bpf_map_used(m), 8 + 64);
	rig_map_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes), cmocka_unit_test(tries), cmocka_unit_test(cycle_in_a_chain),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
