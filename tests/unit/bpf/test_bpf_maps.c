/*
 * Maps, by the operations that programs and the control core have: results as those of Linux, contents against a
 * slow oracle, over all types and key sizes.
 */
#include "tests/unit/rig/host.h"

#include "bpf/csum.h"
#include "bpf/helpers.h"
#include "bpf/maps/map.h"
#include "tests/unit/rig/maps_rig.h"

/* --- shapes --- */

static const char *refused(struct bpf_map_def def)
{
	static struct bpf_reason why;
	strcpy(def.name, "m");
	return bpf_map_check(&def, &why) ? "" : why.text;
}

static void shapes(void **s)
{
	(void)s;
#define DEF(t, k, v, n, f) (struct bpf_map_def){.type = t, .key_bytes = k, .value_bytes = v, .entries = n, .flags = f}
	static const struct {
		struct bpf_map_def def;
		const char *why;
	} rows[] = {
		{DEF(BPF_MAP_ARRAY, 4, 8, 1, 0), ""},
		{DEF(BPF_MAP_ARRAY, 8, 8, 1, 0), "map m: key_size must be 4"},
		{DEF(BPF_MAP_ARRAY, 4, 0, 1, 0), "map m: value_size must be 1 to 65536"},
		{DEF(BPF_MAP_ARRAY, 4, 8, 0, 0), "map m: max_entries must be 1 to 1073741824"},
		{DEF(BPF_MAP_ARRAY, 4, 8, 1, BPF_F_MMAPABLE | BPF_F_RDONLY_PROG), ""},
		{DEF(BPF_MAP_ARRAY, 4, 8, 1, BPF_F_WRONLY_PROG | BPF_F_RDONLY_PROG), "map m: map_flags 0x180: not supported here"},
		{DEF(BPF_MAP_ARRAY, 4, 8, 1, 2), "map m: map_flags 0x2: not supported here"},
		{DEF(BPF_MAP_HASH, 512, 65536, 1, BPF_F_NO_PREALLOC), ""},
		{DEF(BPF_MAP_HASH, 513, 8, 1, 0), "map m: key_size must be 1 to 512"},
		{DEF(BPF_MAP_HASH, 0, 8, 1, 0), "map m: key_size must be 1 to 512"},
		{DEF(BPF_MAP_HASH, 4, 65537, 1, 0), "map m: value_size must be 1 to 65536"},
		{DEF(BPF_MAP_PERCPU_HASH, 4, 32769, 1, 0), "map m: value_size must be 1 to 32768"},
		{DEF(BPF_MAP_LPM_TRIE, 4, 8, 1, 0), "map m: key_size must be 5 to 260"},
		{DEF(BPF_MAP_LPM_TRIE, 260, 8, 1, BPF_F_NO_PREALLOC), ""},
		{DEF(BPF_MAP_LPM_TRIE, 8, 8, 1u << 22, 0), "map m: max_entries must be 1 to 4194300"},
		{DEF(BPF_MAP_DEVMAP, 4, 6, 8, 0), "map m: value_size must be 4 or 8"},
		{DEF(BPF_MAP_DEVMAP_HASH, 4, 8, 8, 0), ""},
		{DEF(BPF_MAP_XSKMAP, 4, 4, 8, 0), ""},
		{DEF(BPF_MAP_PROG_ARRAY, 4, 4, 8, 0), ""},
		{DEF(BPF_MAP_PERF_EVENT_ARRAY, 4, 4, 0, 0), ""},
		{DEF(BPF_MAP_RINGBUF, 0, 0, 4096, 0), ""},
		{DEF(BPF_MAP_RINGBUF, 0, 0, 6144, 0),
		 "map m: max_entries of a ring buffer is its bytes: a power of two, 4096 to 1073741824"},
		{DEF(BPF_MAP_RINGBUF, 0, 0, 2048, 0),
		 "map m: max_entries of a ring buffer is its bytes: a power of two, 4096 to 1073741824"},
		{DEF(BPF_MAP_RINGBUF, 4, 0, 4096, 0), "map m: key_size must be 0"},
		{DEF(0, 4, 4, 4, 0), "map m: there are no maps of type 0"},
		{DEF(7, 4, 4, 4, 0), "map m: there are no maps of type 7"},
		{DEF(1000, 4, 4, 4, 0), "map m: there are no maps of type 1000"},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(refused(rows[i].def), rows[i].why);
}

/* --- results --- */

static void array_results(void **s)
{
	(void)s;
	static const uint32_t types[] = {BPF_MAP_ARRAY, BPF_MAP_PERCPU_ARRAY};
	for (unsigned t = 0; t < 2; t++) {
		struct rig_map *rig = rig_map(types[t], 4, 12, 3);
		const struct bpf_map *m = &rig->map;
		const uint32_t k0 = 0, k2 = 2, k3 = 3, kmax = UINT32_MAX;
		uint32_t next;
		assert_int_equal(m->value_stride, 16);
		assert_non_null(bpf_map_lookup(m, &k2));
		assert_null(bpf_map_lookup(m, &k3));
		assert_null(bpf_map_lookup(m, &kmax));
		assert_int_equal(bpf_map_update(m, &k2, "twelve bytes", BPF_ANY), 0);
		assert_memory_equal(bpf_map_lookup(m, &k2), "twelve bytes", 12);
		assert_int_equal(bpf_map_update(m, &k2, "exists bytes", BPF_EXIST), 0);
		assert_int_equal(bpf_map_update(m, &k2, "twelve bytes", BPF_NOEXIST), BPF_EEXIST);
		assert_int_equal(bpf_map_update(m, &k3, "twelve bytes", BPF_NOEXIST), BPF_E2BIG);
		assert_int_equal(bpf_map_update(m, &k3, "twelve bytes", 3), BPF_EINVAL);
		assert_int_equal(bpf_map_update(m, &k2, "twelve bytes", BPF_F_LOCK), BPF_EINVAL);
		assert_int_equal(bpf_map_update(m, &k2, "twelve bytes", 1ull << 32), BPF_EINVAL);
		assert_memory_equal(bpf_map_lookup(m, &k2), "exists bytes", 12);
		assert_int_equal(bpf_map_delete(m, &k2), BPF_EINVAL);
		assert_true(bpf_map_next(m, NULL, &next) && next == 0);
		assert_true(bpf_map_next(m, &k0, &next) && next == 1);
		assert_true(bpf_map_next(m, &kmax, &next) && next == 0);
		assert_false(bpf_map_next(m, &k2, &next));
		assert_int_equal(bpf_map_used(m), 3);
		rig_map_free(rig);
	}
}

static void data_map_begins_with_its_section(void **s)
{
	(void)s;
	const struct bpf_map_def def = {.name = ".rodata", .type = BPF_MAP_ARRAY, .key_bytes = 4, .value_bytes = 5,
	                                .entries = 1, .initial = (const uint8_t *)"abcde", .is_data = true};
	struct rig_map *rig = rig_map_of(&def, 1);
	assert_memory_equal(bpf_map_lookup(&rig->map, &(uint32_t){0}), "abcde", 5);
	rig_map_free(rig);
}

static void percpu_array_has_a_value_a_core(void **s)
{
	(void)s;
	struct rig_map *rig = rig_map(BPF_MAP_PERCPU_ARRAY, 4, 8, 2);
	const uint32_t k = 1;
	for (unsigned c = 0; c < RIG_CORES; c++) {
		bpf_core = c;
		*(uint64_t *)bpf_map_lookup(&rig->map, &k) = 100 + c;
	}
	bpf_core = 0;
	for (unsigned c = 0; c < RIG_CORES; c++)
		assert_int_equal(*(uint64_t *)bpf_map_value(&rig->map, &k, c), 100 + c);
	const uint64_t v = 7;
	assert_int_equal(bpf_map_set(&rig->map, &k, &v, 2), 0);
	assert_int_equal(bpf_map_set(&rig->map, &k, &v, RIG_CORES), BPF_EINVAL);
	assert_null(bpf_map_value(&rig->map, &k, RIG_CORES));
	assert_int_equal(*(uint64_t *)bpf_map_value(&rig->map, &k, 2), 7);
	assert_int_equal(*(uint64_t *)bpf_map_value(&rig->map, &k, 3), 103);
	rig_map_free(rig);
}

static void hash_results(void **s)
{
	(void)s;
	static const uint32_t types[] = {BPF_MAP_HASH, BPF_MAP_PERCPU_HASH, BPF_MAP_LRU_HASH, BPF_MAP_LRU_PERCPU_HASH};
	for (unsigned t = 0; t < ARRAY_LEN(types); t++) {
		struct rig_map *rig = rig_map(types[t], 4, 8, 2);
		const struct bpf_map *m = &rig->map;
		const bool lru = t >= 2;
		const uint32_t a = 1, b = 2, c = 3;
		const uint64_t v = 11, w = 22;
		assert_null(bpf_map_lookup(m, &a));
		assert_int_equal(bpf_map_delete(m, &a), BPF_ENOENT);
		assert_int_equal(bpf_map_update(m, &a, &v, BPF_EXIST), BPF_ENOENT);
		assert_int_equal(bpf_map_update(m, &a, &v, 3), BPF_EINVAL);
		assert_int_equal(bpf_map_update(m, &a, &v, BPF_F_LOCK), BPF_EINVAL);
		assert_int_equal(bpf_map_update(m, &a, &v, BPF_NOEXIST), 0);
		assert_int_equal(bpf_map_update(m, &a, &w, BPF_NOEXIST), BPF_EEXIST);
		assert_int_equal(*(uint64_t *)bpf_map_lookup(m, &a), 11);
		assert_int_equal(bpf_map_update(m, &a, &w, BPF_EXIST), 0);
		assert_int_equal(*(uint64_t *)bpf_map_lookup(m, &a), 22);
		assert_int_equal(bpf_map_update(m, &b, &v, BPF_ANY), 0);
		assert_int_equal(bpf_map_used(m), 2);
		assert_int_equal(bpf_map_update(m, &c, &v, BPF_ANY), lru ? 0 : BPF_E2BIG);
		assert_int_equal(bpf_map_used(m), 2);
		if (!lru) {
			assert_int_equal(bpf_map_update(m, &b, &w, BPF_ANY), 0); /* full, but it is there */
			assert_int_equal(bpf_map_delete(m, &a), 0);
			assert_int_equal(bpf_map_update(m, &c, &v, BPF_ANY), 0);
			assert_null(bpf_map_lookup(m, &a));
		}
		rig_map_free(rig);
	}
}

/* As in Linux: a key that one core inserts is there for all, with zero for the others, also after a reuse. */
static void percpu_hash_values(void **s)
{
	(void)s;
	struct rig_map *rig = rig_map(BPF_MAP_PERCPU_HASH, 4, 8, 1);
	const struct bpf_map *m = &rig->map;
	for (uint32_t k = 0; k < 20; k++) {
		bpf_core = k % RIG_CORES;
		assert_int_equal(bpf_map_update(m, &k, &(uint64_t){k + 1}, BPF_ANY), 0);
		for (unsigned c = 0; c < RIG_CORES; c++) {
			assert_int_equal(*(uint64_t *)bpf_map_value(m, &k, c), c == bpf_core ? k + 1 : 0);
			*(uint64_t *)bpf_map_value(m, &k, c) += 1000;
		}
		assert_int_equal(bpf_map_set(m, &k, &(uint64_t){5}, 1), 0);
		assert_int_equal(*(uint64_t *)bpf_map_value(m, &k, 1), 5);
		assert_int_equal(*(uint64_t *)bpf_map_value(m, &k, 2), 1000 + (bpf_core == 2 ? k + 1 : 0));
		assert_int_equal(bpf_map_delete(m, &k), 0);
	}
	bpf_core = 0;
	rig_map_free(rig);
}

/* What was looked up since the hand passed stays; the others go, the oldest first. */
static void lru_keeps_what_is_used(void **s)
{
	(void)s;
	struct rig_map *rig = rig_map(BPF_MAP_LRU_HASH, 4, 4, 100);
	const struct bpf_map *m = &rig->map;
	for (uint32_t k = 0; k < 2000; k++) {
		assert_int_equal(bpf_map_update(m, &k, &k, BPF_ANY), 0);
		for (uint32_t kept = 0; kept < 10 && kept <= k; kept++)
			assert_non_null(bpf_map_lookup(m, &kept));
		assert_true(bpf_map_used(m) == (k < 100 ? k + 1 : 100));
		/* the newest are there */
		for (uint32_t young = k > 40 ? k - 40 : 0; young <= k; young++)
			assert_non_null(bpf_map_value(m, &young, 0));
	}
	rig_map_free(rig);
}

static void lpm_results(void **s)
{
	(void)s;
	struct rig_map *rig = rig_map(BPF_MAP_LPM_TRIE, 8, 8, 2);
	const struct bpf_map *m = &rig->map;
	struct key { uint32_t bits; uint8_t a[4]; };
	const struct key ten = {8, {10, 0, 0, 0}}, ten1 = {16, {10, 1, 0, 0}}, all = {0, {0}}, longer = {33, {10, 0, 0, 0}};
	const struct key host = {32, {10, 1, 2, 3}}, other = {32, {11, 1, 2, 3}}, shorter = {15, {10, 1, 0, 0}};
	const uint64_t v = 1, w = 2;
	assert_int_equal(bpf_map_update(m, &longer, &v, BPF_ANY), BPF_EINVAL);
	assert_int_equal(bpf_map_delete(m, &longer), BPF_EINVAL);
	assert_null(bpf_map_lookup(m, &longer));
	assert_int_equal(bpf_map_update(m, &ten, &v, 3), BPF_EINVAL);
	assert_int_equal(bpf_map_update(m, &ten, &v, BPF_EXIST), BPF_ENOENT);
	assert_int_equal(bpf_map_delete(m, &ten), BPF_ENOENT);
	assert_int_equal(bpf_map_update(m, &ten, &v, BPF_NOEXIST), 0);
	assert_int_equal(bpf_map_update(m, &ten, &v, BPF_NOEXIST), BPF_EEXIST);
	assert_int_equal(bpf_map_update(m, &ten1, &w, BPF_ANY), 0);
	assert_int_equal(bpf_map_update(m, &all, &w, BPF_ANY), BPF_ENOSPC);
	assert_int_equal(bpf_map_update(m, &ten1, &w, BPF_EXIST), 0); /* full, but it is there */
	assert_int_equal(*(uint64_t *)bpf_map_lookup(m, &host), 2);
	assert_int_equal(*(uint64_t *)bpf_map_lookup(m, &shorter), 1);
	assert_null(bpf_map_lookup(m, &other));
	assert_null(bpf_map_lookup(m, &all));
	assert_non_null(bpf_map_value(m, &ten1, 0));
	assert_null(bpf_map_value(m, &host, 0)); /* exactly this prefix */
	assert_int_equal(bpf_map_delete(m, &ten), 0);
	assert_int_equal(bpf_map_update(m, &all, &v, BPF_ANY), 0);
	assert_int_equal(*(uint64_t *)bpf_map_lookup(m, &other), 1);
	assert_int_equal(bpf_map_used(m), 2);
	rig_map_free(rig);
}

static void ports(void **s)
{
	(void)s;
	struct rig_map *rig = rig_map(BPF_MAP_DEVMAP, 4, 8, 4);
	const struct bpf_map *m = &rig->map;
	const uint32_t k = 1, out = 4;
	uint32_t v[2] = {7, 9};
	assert_int_equal(bpf_map_place(&rig->def), BPF_PLACE_CONTROL);
	assert_null(bpf_map_lookup(m, &k));
	assert_int_equal(bpf_map_update(m, &k, v, BPF_ANY), 0);
	assert_memory_equal(bpf_map_lookup(m, &k), v, 8);
	assert_int_equal(bpf_map_update(m, &k, v, BPF_NOEXIST), BPF_EEXIST);
	assert_int_equal(bpf_map_update(m, &out, v, BPF_ANY), BPF_E2BIG);
	assert_int_equal(bpf_map_update(m, &k, v, 3), BPF_EINVAL);
	assert_int_equal(bpf_map_delete(m, &out), BPF_EINVAL);
	assert_int_equal(bpf_map_used(m), 1);
	assert_int_equal(bpf_map_delete(m, &k), 0);
	assert_null(bpf_map_lookup(m, &k));
	rig_map_free(rig);

	rig = rig_map(BPF_MAP_DEVMAP_HASH, 4, 4, 1);
	m = &rig->map;
	assert_int_equal(bpf_map_update(m, &k, &(uint32_t){0}, BPF_ANY), BPF_EINVAL);
	assert_int_equal(bpf_map_update(m, &k, v, BPF_EXIST), 0); /* as Linux */
	assert_int_equal(bpf_map_update(m, &k, v, BPF_NOEXIST), BPF_EEXIST);
	assert_int_equal(bpf_map_update(m, &out, v, BPF_ANY), BPF_E2BIG);
	assert_memory_equal(bpf_map_lookup(m, &k), v, 4);
	assert_int_equal(bpf_map_delete(m, &k), 0);
	assert_int_equal(bpf_map_delete(m, &k), BPF_ENOENT);
	rig_map_free(rig);

	rig = rig_map(BPF_MAP_CPUMAP, 4, 4, 2);
	m = &rig->map;
	assert_int_equal(bpf_map_update(m, &k, &(uint32_t){16385}, BPF_ANY), BPF_EOVERFLOW);
	assert_int_equal(bpf_map_update(m, &k, &(uint32_t){16384}, BPF_ANY), 0);
	assert_non_null(bpf_map_value(m, &k, 0));
	assert_null(bpf_map_lookup(m, &k));
	rig_map_free(rig);

	rig = rig_map(BPF_MAP_XSKMAP, 4, 4, 2);
	m = &rig->map;
	assert_int_equal(bpf_map_update(m, &k, v, BPF_ANY), BPF_EOPNOTSUPP);
	assert_null(bpf_map_lookup(m, &k));
	assert_int_equal(bpf_map_used(m), 0);
	rig_map_free(rig);
}

static void program_array(void **s)
{
	(void)s;
	struct rig_map *rig = rig_map(BPF_MAP_PROG_ARRAY, 4, 4, 3);
	const struct bpf_map *m = &rig->map;
	const uint32_t k = 2, out = 3;
	assert_int_equal(bpf_prog_array_set(m, 3, 1), BPF_E2BIG);
	assert_int_equal(bpf_prog_array_set(m, 2, 0x123456789abc), 0);
	assert_true(((uint64_t *)(void *)m->shared)[2] == 0x123456789abc);
	assert_null(bpf_map_lookup(m, &k));
	assert_int_equal(bpf_map_update(m, &k, &k, BPF_ANY), BPF_EINVAL);
	assert_int_equal(bpf_map_used(m), 1);
	assert_int_equal(bpf_map_delete(m, &out), BPF_E2BIG);
	assert_int_equal(bpf_map_delete(m, &k), 0);
	assert_int_equal(bpf_map_delete(m, &k), BPF_ENOENT);
	rig_map_free(rig);
}

/* --- contents, against an oracle: a list of pairs --- */

#define ORACLE_MAX 600
struct oracle {
	uint8_t key[ORACLE_MAX][BPF_KEY_MAX];
	uint64_t value[ORACLE_MAX];
	unsigned n;
};

static int oracle_find(const struct oracle *o, const uint8_t *key, uint32_t bytes)
{
	for (unsigned i = 0; i < o->n; i++)
		if (memcmp(o->key[i], key, bytes) == 0)
			return (int)i;
	return -1;
}

static int64_t oracle_update(struct oracle *o, const uint8_t *key, uint32_t bytes, uint64_t value, uint64_t flags, unsigned most)
{
	int i = oracle_find(o, key, bytes);
	if (i >= 0 && flags == BPF_NOEXIST)
		return BPF_EEXIST;
	if (i < 0 && flags == BPF_EXIST)
		return BPF_ENOENT;
	if (i < 0 && o->n == most)
		return BPF_E2BIG;
	if (i < 0)
		memcpy(o->key[i = (int)o->n++], key, bytes);
	o->value[i] = value;
	return 0;
}

static int64_t oracle_delete(struct oracle *o, const uint8_t *key, uint32_t bytes)
{
	const int i = oracle_find(o, key, bytes);
	if (i < 0)
		return BPF_ENOENT;
	o->n--;
	memcpy(o->key[i], o->key[o->n], bytes);
	o->value[i] = o->value[o->n];
	return 0;
}

static void compare_walk(const struct bpf_map *m, const struct oracle *o)
{
	uint8_t key[BPF_KEY_MAX];
	unsigned n = 0;
	for (bool more = bpf_map_next(m, NULL, key); more; more = bpf_map_next(m, key, key), n++) {
		const int i = oracle_find(o, key, m->key_bytes);
		assert_true(i >= 0);
		assert_true(*(uint64_t *)bpf_map_value(m, key, 0) == o->value[i]);
		assert_true(n < o->n);
	}
	assert_int_equal(n, o->n);
	assert_int_equal(bpf_map_used(m), o->n);
}

static void hash_is_the_oracle(void **s)
{
	(void)s;
	seed_random("hash_is_the_oracle");
	static const uint32_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 15, 16, 17, 20, 31, 32, 33, 40, 511, 512};
	static struct oracle o;
	for (unsigned z = 0; z < ARRAY_LEN(sizes); z++) {
		const uint32_t bytes = sizes[z], entries = 1 + random_below(random_below(2) ? 60 : ORACLE_MAX - 1);
		const uint32_t span = entries + entries / 4 + 2; /* keys in use */
		struct rig_map *rig = rig_map(random_below(2) ? BPF_MAP_HASH : BPF_MAP_PERCPU_HASH, bytes, 8, entries);
		const struct bpf_map *m = &rig->map;
		if (entries <= 72 && random_below(2))
			rig_map_collide(rig);
		const unsigned from = random_below(bytes); /* the byte in which keys differ */
		o.n = 0;
		bpf_core = 0;
		for (unsigned step = 0; step < 6000; step++) {
			uint8_t *key = malloc(bytes); /* ASan knows its end */
			memset(key, 0, bytes);
			const uint32_t id = random_below(span);
			key[from] = (uint8_t)id;
			key[(from + 1) % bytes] ^= (uint8_t)(id >> 8);
			const uint64_t value = random64(), flags = random_below(3);
			const int i = oracle_find(&o, key, bytes);
			uint64_t *at = bpf_map_lookup(m, key);
			assert_true((at != NULL) == (i >= 0) && (!at || *at == o.value[i]));
			if (random_below(5) < 3)
				assert_int_equal(bpf_map_update(m, key, &value, flags), oracle_update(&o, key, bytes, value, flags, entries));
			else
				assert_int_equal(bpf_map_delete(m, key), oracle_delete(&o, key, bytes));
			if (step % 500 == 0)
				compare_walk(m, &o);
			free(key);
		}
		compare_walk(m, &o);
		rig_map_free(rig);
	}
}

/* Many keys: chains happen, the map fills to the last entry and empties again. */
static void hash_fills_and_empties(void **s)
{
	(void)s;
	seed_random("hash_fills_and_empties");
	struct rig_map *rig = rig_map(BPF_MAP_HASH, 8, 8, 50000);
	const struct bpf_map *m = &rig->map;
	for (unsigned round = 0; round < 2; round++) {
		for (uint64_t k = 0; k < 50000; k++) {
			bpf_core = k % RIG_CORES;
			const uint64_t key = k << (round ? 48 : 0);
			assert_int_equal(bpf_map_update(m, &key, &k, BPF_NOEXIST), 0);
		}
		assert_int_equal(bpf_map_update(m, &(uint64_t){77777}, &(uint64_t){0}, BPF_ANY), BPF_E2BIG);
		for (uint64_t k = 0; k < 50000; k++) {
			const uint64_t key = k << (round ? 48 : 0);
			assert_true(*(uint64_t *)bpf_map_lookup(m, &key) == k);
		}
		for (uint64_t k = 0; k < 50000; k++) {
			bpf_core = k / 7 % RIG_CORES;
			const uint64_t key = k << (round ? 48 : 0);
			assert_int_equal(bpf_map_delete(m, &key), 0);
		}
		assert_int_equal(bpf_map_used(m), 0);
	}
	bpf_core = 0;
	rig_map_free(rig);
}

/* An attacker who finds keys of one hash fills one bucket, no more: 8 slots and a chain of 64. */
static void chain_has_an_end(void **s)
{
	(void)s;
	struct rig_map *rig = rig_map(BPF_MAP_HASH, 8, 8, 1000);
	const struct bpf_map *m = &rig->map;
	rig_map_collide(rig);
	for (uint64_t k = 0; k < 100; k++)
		assert_int_equal(bpf_map_update(m, &k, &k, BPF_ANY), k < 72 ? 0 : BPF_E2BIG);
	for (uint64_t k = 0; k < 72; k++)
		assert_true(*(uint64_t *)bpf_map_lookup(m, &k) == k);
	assert_int_equal(bpf_map_used(m), 72);
	for (uint64_t k = 0; k < 72; k++)
		assert_int_equal(bpf_map_delete(m, &k), 0);
	assert_int_equal(bpf_map_used(m), 0);
	rig_map_free(rig);
}

/* --- helpers --- */

static void helpers_are_the_functions(void **s)
{
	(void)s;
	bpf_helper h[BPF_HELPERS] = {0};
	bpf_map_helpers(h);
	struct rig_map *rig = rig_map(BPF_MAP_HASH, 4, 8, 4);
	const uint32_t k = 9;
	const uint64_t v = 77;
	const uint64_t m = (uintptr_t)&rig->map, kp = (uintptr_t)&k, vp = (uintptr_t)&v;
	assert_true(h[BPF_FN_MAP_LOOKUP](m, kp, 0, 0, 0) == 0);
	assert_true(h[BPF_FN_MAP_UPDATE](m, kp, vp, BPF_EXIST, 0) == (uint64_t)BPF_ENOENT);
	assert_true(h[BPF_FN_MAP_UPDATE](m, kp, vp, BPF_ANY, 0) == 0);
	assert_true(*(uint64_t *)(uintptr_t)h[BPF_FN_MAP_LOOKUP](m, kp, 0, 0, 0) == 77);
	assert_true(h[BPF_FN_MAP_DELETE](m, kp, 0, 0, 0) == 0);
	bpf_core = 3;
	assert_true(h[BPF_FN_GET_SMP_PROCESSOR_ID](0, 0, 0, 0, 0) == 3);
	bpf_core = 0;
	rig_map_free(rig);
}

/* Against sums of 16-bit words modulo 65535. */
static void csum_diff(void **s)
{
	(void)s;
	seed_random("csum_diff");
	for (unsigned step = 0; step < 20000; step++) {
		uint16_t from[40], to[40];
		const uint32_t nf = random_below(20), nt = random_below(20), seed = random_below(3) ? (uint32_t)random64() : 0;
		random_fill(from, sizeof from);
		random_fill(to, sizeof to);
		uint64_t sum = (uint64_t)(seed & 0xffff) + (seed >> 16);
		for (unsigned i = 0; i < 2 * nt; i++)
			sum += to[i];
		for (unsigned i = 0; i < 2 * nf; i++)
			sum += 65535u - from[i];
		const int64_t got = bpf_csum_diff(nf ? from : NULL, 4 * nf, nt ? to : NULL, 4 * nt, seed);
		assert_true(got >= 0 && got <= 0xffff && (uint64_t)got % 65535 == sum % 65535);
	}
	assert_int_equal(bpf_csum_diff("", 2, "", 0, 0), -22);
	assert_int_equal(bpf_csum_diff("", 0, "", 3, 0), -22);
	assert_int_equal(bpf_csum_diff(NULL, 0, NULL, 0, 0), 0);
	assert_int_equal(bpf_csum_diff(NULL, 0, NULL, 0, 0xffff0000), 0xffff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes),
		cmocka_unit_test(array_results),
		cmocka_unit_test(data_map_begins_with_its_section),
		cmocka_unit_test(percpu_array_has_a_value_a_core),
		cmocka_unit_test(hash_results),
		cmocka_unit_test(percpu_hash_values),
		cmocka_unit_test(lru_keeps_what_is_used),
		cmocka_unit_test(lpm_results),
		cmocka_unit_test(ports),
		cmocka_unit_test(program_array),
		cmocka_unit_test(hash_is_the_oracle),
		cmocka_unit_test(hash_fills_and_empties),
		cmocka_unit_test(chain_has_an_end),
		cmocka_unit_test(helpers_are_the_functions),
		cmocka_unit_test(csum_diff),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
