/*
 * A core dies in every step of every operation. Afterwards the map has the contents from before or after the
 * operation, recovery loses no entry, all locks are free, and the map works: it can be filled to its last entry and
 * emptied. Recovery itself dies, too.
 */
#include "tests/unit/rig/host.h"

#include "bpf/maps/lpm.h"
#include "tests/unit/rig/maps_rig.h"

#define DEAD 2    /* the core that dies */
#define ENTRIES 24
#define KEYS 40
#define KEY 8

enum kind { UPDATE, DELETE };
struct operation {
	const struct bpf_map *map;
	enum kind kind;
	uint8_t key[KEY];
	uint64_t value;
};

static int64_t run(void *arg)
{
	struct operation *op = arg;
	return op->kind == UPDATE ? bpf_map_update(op->map, op->key, &op->value, BPF_ANY) : bpf_map_delete(op->map, op->key);
}

static int64_t recover(void *arg)
{
	bpf_map_recover(((struct operation *)arg)->map, DEAD);
	return 0;
}

/* Key number k: of tries, prefixes that lie in one another. */
static void key_of(uint32_t type, unsigned k, uint8_t *key)
{
	memset(key, 0, KEY);
	if (type == BPF_MAP_LPM_TRIE) {
		static const uint8_t bits[8] = {32, 8, 9, 24, 26, 30, 31, 12};
		memcpy(key, &(uint32_t){k ? bits[k % 8] : 0}, 4);
		key[4] = (uint8_t)(k / 8);
		key[5] = key[6] = (uint8_t)(k % 3 * 16);
		key[7] = (uint8_t)(k % 5 * 2);
	} else {
		memcpy(key, &k, 4);
	}
}

static bool covers(const uint8_t *prefix, const uint8_t *address)
{
	uint32_t bits;
	memcpy(&bits, prefix, 4);
	for (uint32_t i = 0; i < bits; i++)
		if ((prefix[4 + i / 8] ^ address[4 + i / 8]) & (0x80 >> i % 8))
			return false;
	return true;
}

/* Look-ups of addresses find the longest prefix that is there. */
static void look_up_addresses(const struct bpf_map *m, const bool *there, const uint64_t *value)
{
	uint8_t address[KEY], key[KEY];
	for (unsigned a = 0; a < KEYS; a++) {
		uint32_t longest = 0;
		const uint64_t *want = NULL;
		key_of(m->type, a, address);
		memcpy(address, &(uint32_t){32}, 4);
		for (unsigned k = 0; k < KEYS; k++) {
			uint32_t bits;
			key_of(m->type, k, key);
			memcpy(&bits, key, 4);
			if (there[k] && covers(key, address) && (!want || bits > longest)) {
				want = &value[k];
				longest = bits;
			}
		}
		const uint64_t *at = bpf_map_lookup(m, address);
		assert_true(want ? at && *at == *want : !at);
	}
}

/* The contents as this core sees them: value[k] of each key that is there. */
static void contents(const struct bpf_map *m, bool *there, uint64_t *value)
{
	unsigned n = 0, found = 0;
	uint8_t key[KEY], walked[KEY];
	for (unsigned k = 0; k < KEYS; k++) {
		key_of(m->type, k, key);
		const uint64_t *at = bpf_map_value(m, key, bpf_core);
		there[k] = at;
		value[k] = at ? *at : 0;
		n += there[k];
	}
	for (bool more = bpf_map_next(m, NULL, walked); more && found <= KEYS; more = bpf_map_next(m, walked, walked))
		found++;
	assert_int_equal(found, n);
	if (m->type == BPF_MAP_LPM_TRIE)
		look_up_addresses(m, there, value);
	assert_int_equal(bpf_map_used(m), n);
}

/* Of an empty trie: all but the root. Fewer: one is lost; more: one is there twice. */
static unsigned free_nodes(const struct bpf_map *m)
{
	unsigned n = 0;
	for (uint32_t link = lpm_head(m)->free_node; link && n <= m->buckets_mask; n++)
		link = lpm_node(m, link - 1)->inner[0];
	return n;
}

/* A node beside the root that is not free has two items or more. */
static void nodes_are_needed(const struct bpf_map *m)
{
	bool is_free[2 * KEYS] = {false};
	for (uint32_t link = lpm_head(m)->free_node; link; link = lpm_node(m, link - 1)->inner[0])
		is_free[link - 1] = true;
	for (uint32_t node = 1; node < m->buckets_mask; node++) {
		unsigned items = 0;
		for (unsigned i = 0; i < 16; i++)
			items += (i && lpm_node(m, node)->inner[i]) + (lpm_node(m, node)->slot[i].child != 0);
		assert_true(is_free[node] || items >= 2);
	}
}

/* Every core can fill the map to its last entry and empty it: no entry is lost or used twice, no lock held. */
static void works(const struct bpf_map *m)
{
	const bool lru = m->type == BPF_MAP_LRU_HASH;
	uint8_t key[KEY];
	bool there[KEYS];
	uint64_t value[KEYS];
	for (unsigned c = 0; c < RIG_CORES; c++) {
		bpf_core = c;
		for (unsigned k = 0; k < KEYS; k++) {
			key_of(m->type, k, key);
			const int64_t result = bpf_map_delete(m, key);
			assert_true(result == 0 || result == BPF_ENOENT);
		}
		assert_int_equal(bpf_map_used(m), 0);
		if (m->type == BPF_MAP_LPM_TRIE)
			assert_int_equal(free_nodes(m), m->buckets_mask - 1);
		for (unsigned k = 0; k < KEYS; k++) {
			key_of(m->type, k, key);
			const int64_t full = m->type == BPF_MAP_LPM_TRIE ? BPF_ENOSPC : BPF_E2BIG;
			assert_int_equal(bpf_map_update(m, key, &(uint64_t){k}, BPF_NOEXIST), k < ENTRIES || lru ? 0 : full);
		}
		contents(m, there, value);
		assert_int_equal(bpf_map_used(m), ENTRIES);
		for (unsigned k = 0; k < KEYS; k++)
			assert_true(!there[k] || value[k] == k);
	}
}

/* Repeats the operation from the same state, dying one step later each time, until it does not die. */
static unsigned die_everywhere(uint32_t type, bool collide, const struct operation *what, unsigned used,
                               unsigned recovery_dies)
{
	unsigned step = 0;
	for (bool died = true; died; step++) {
		struct rig_map *rig = rig_map(type, KEY, 8, ENTRIES);
		const struct bpf_map *m = &rig->map;
		if (collide)
			rig_map_collide(rig);
		struct operation op = *what;
		bool was[KEYS], is[KEYS];
		uint64_t before[KEYS], after[KEYS];
		int64_t result = 0, none;
		uint8_t key[KEY];
		for (unsigned k = 0; k < used; k++) {
			bpf_core = k % RIG_CORES;
			key_of(type, k, key);
			assert_int_equal(bpf_map_update(m, key, &(uint64_t){1000 + k}, BPF_NOEXIST), 0);
		}
		bpf_core = DEAD;
		contents(m, was, before);
		op.map = m;
		died = rig_dies_at(step, run, &op, &result);
		bpf_core = 0; /* the control core */
		for (unsigned r = 0; r < recovery_dies && rig_dies_at(r * 3 + step % 3, recover, &op, &none); r++)
			;
		bpf_map_recover(m, DEAD);
		bpf_core = DEAD; /* of a per-CPU map, its values */
		contents(m, is, after);
		if (type == BPF_MAP_LPM_TRIE)
			nodes_are_needed(m);
		unsigned changed = 0, evicted = 0;
		for (unsigned k = 0; k < KEYS; k++) {
			key_of(type, k, key);
			const bool same = was[k] == is[k] && before[k] == after[k];
			if (same)
				continue;
			if (memcmp(key, op.key, KEY) == 0) {
				assert_true(op.kind == DELETE ? !is[k] : is[k] && after[k] == op.value);
				changed++;
			} else { /* an LRU map may have lost another */
				assert_true(type == BPF_MAP_LRU_HASH && was[k] && !is[k]);
				evicted++;
			}
		}
		assert_true(evicted <= 1);
		if (!died)
			assert_true(result == 0 ? changed == 1 : !changed);
		works(m);
		rig_map_free(rig);
		assert_true(step < 500);
	}
	return step;
}

static void each_operation(uint32_t type, bool collide)
{
	const unsigned counts[] = {0, 1, 5, 20, ENTRIES - 1, ENTRIES};
	unsigned deaths = 0;
	for (unsigned c = 0; c < ARRAY_LEN(counts); c++)
		for (unsigned k = random_below(3); k < ENTRIES + 4; k += 3)
			for (unsigned kind = UPDATE; kind <= DELETE; kind++) {
				struct operation op = {.kind = kind, .value = 77};
				key_of(type, k, op.key);
				deaths += die_everywhere(type, collide, &op, counts[c], random_below(4));
			}
	printf("%u deaths\n", deaths);
	bpf_core = 0;
}

static void hash(void **s)
{
	(void)s;
	seed_random("hash");
	each_operation(BPF_MAP_HASH, false);
}

static void lru_hash(void **s)
{
	(void)s;
	seed_random("lru_hash");
	each_operation(BPF_MAP_LRU_HASH, false);
}

static void percpu_hash(void **s)
{
	(void)s;
	seed_random("percpu_hash");
	each_operation(BPF_MAP_PERCPU_HASH, false);
}

/* All entries in one bucket: 8 in its slots, the others in its chain. */
static void chains(void **s)
{
	(void)s;
	seed_random("chains");
	each_operation(BPF_MAP_HASH, true);
	each_operation(BPF_MAP_LRU_HASH, true);
}

static void lpm(void **s)
{
	(void)s;
	seed_random("lpm");
	each_operation(BPF_MAP_LPM_TRIE, false);
}

/* While a lock's holder is dead, others wait a while and say so; look-ups see the map. */
static void others_go_on(void **s)
{
	(void)s;
	static const uint32_t types[] = {BPF_MAP_HASH, BPF_MAP_LPM_TRIE};
	for (unsigned t = 0; t < ARRAY_LEN(types); t++) {
		unsigned busy = 0;
		bool died = true;
		for (unsigned step = 0; died; step++) {
			struct rig_map *rig = rig_map(types[t], KEY, 8, ENTRIES);
			const struct bpf_map *m = &rig->map;
			struct operation op = {.map = m, .kind = UPDATE, .value = 2};
			int64_t result;
			key_of(types[t], 3, op.key);
			bpf_core = 0;
			assert_int_equal(bpf_map_update(m, op.key, &(uint64_t){1}, BPF_ANY), 0);
			bpf_core = DEAD;
			died = rig_dies_at(step, run, &op, &result);
			bpf_core = 1;
			const uint64_t *at = bpf_map_value(m, op.key, 1);
			assert_true(at && (*at == 1 || *at == 2));
			result = bpf_map_update(m, op.key, &(uint64_t){3}, BPF_EXIST);
			assert_true(result == 0 || (died && result == BPF_EBUSY));
			busy += result == BPF_EBUSY;
			bpf_map_recover(m, DEAD);
			assert_int_equal(bpf_map_update(m, op.key, &(uint64_t){4}, BPF_EXIST), 0);
			rig_map_free(rig);
		}
		assert_true(busy > 0);
	}
	bpf_core = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash), cmocka_unit_test(lru_hash), cmocka_unit_test(percpu_hash),
		cmocka_unit_test(chains),
		cmocka_unit_test(lpm), cmocka_unit_test(others_go_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
