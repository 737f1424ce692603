/*
 * Our maps beside Linux' own: the same random operations by bpf(2), results and values equal, and the same keys at
 * the end. Skipped, and printed as skipped, where the process may not call bpf(2).
 *
 * LRU maps are compared only while they are not full: which entry goes is each one's own choice.
 */
#include "tests/unit/rig/host.h"

#include <unistd.h>

#include "bpf/maps/map.h"
#include "tests/unit/rig/linux_maps.h"
#include "tests/unit/rig/maps_rig.h"

#define STEPS 8000
#define VALUE_MAX 64

struct pair {
	struct rig_map *rig;
	const struct bpf_map *ours;
	int fd;
	uint8_t *linux_value; /* of all CPUs */
	unsigned linux_values, linux_stride;
};

static bool is_percpu(uint32_t type)
{
	return type == BPF_MAP_PERCPU_ARRAY || type == BPF_MAP_PERCPU_HASH || type == BPF_MAP_LRU_PERCPU_HASH;
}

static bool is_array(uint32_t type) { return type == BPF_MAP_ARRAY || type == BPF_MAP_PERCPU_ARRAY; }

static struct pair make(uint32_t type, uint32_t key_bytes, uint32_t value_bytes, uint32_t entries)
{
	struct pair p = {.rig = rig_map(type, key_bytes, value_bytes, entries), .linux_values = 1};
	p.ours = &p.rig->map;
	p.fd = linux_map(type, key_bytes, value_bytes, entries, type == BPF_MAP_LPM_TRIE ? BPF_F_NO_PREALLOC : 0);
	assert_true(p.fd >= 0);
	if (is_percpu(type))
		p.linux_values = linux_cpus();
	p.linux_stride = (value_bytes + 7) / 8 * 8;
	p.linux_value = calloc(p.linux_values, p.linux_stride);
	return p;
}

static void end(struct pair *p)
{
	close(p->fd);
	free(p->linux_value);
	rig_map_free(p->rig);
}

static void random_key(const struct pair *p, uint8_t *key, uint32_t span)
{
	const struct bpf_map *m = p->ours;
	memset(key, 0, m->key_bytes);
	if (m->type == BPF_MAP_LPM_TRIE) {
		const uint32_t most = 8 * (m->key_bytes - 4), bits = random_below(20) ? random_below(most + 1) : most + 1;
		memcpy(key, &bits, 4);
		for (uint32_t i = 4; i < m->key_bytes; i++)
			key[i] = random_below(3) ? 0 : (uint8_t)(1u << random_below(8));
	} else {
		const uint32_t id = random_below(span);
		memcpy(key, &id, m->key_bytes < 4 ? m->key_bytes : 4);
	}
}

static void compare_value(struct pair *p, const uint8_t *key)
{
	const uint8_t *at = bpf_map_lookup(p->ours, key);
	const int64_t result = linux_map_lookup(p->fd, key, p->linux_value);
	if (at) {
		assert_int_equal(result, 0);
		assert_memory_equal(at, p->linux_value, p->ours->value_bytes);
	} else {
		/* a helper returns NULL; the system call says why */
		assert_true(result == BPF_ENOENT || (p->ours->type == BPF_MAP_LPM_TRIE && result == BPF_EINVAL));
	}
}

/* The same keys, each way. */
static void compare_keys(struct pair *p)
{
	uint8_t key[BPF_LPM_KEY_MAX];
	unsigned ours = 0, theirs = 0;
	for (bool more = bpf_map_next(p->ours, NULL, key); more; more = bpf_map_next(p->ours, key, key), ours++)
		compare_value(p, key);
	for (int64_t r = linux_map_next(p->fd, NULL, key); r == 0; r = linux_map_next(p->fd, key, key), theirs++)
		assert_non_null(bpf_map_value(p->ours, key, 0));
	assert_int_equal(ours, theirs);
	assert_int_equal(ours, bpf_map_used(p->ours));
}

static void compare(uint32_t type, uint32_t key_bytes, uint32_t value_bytes, uint32_t entries, uint32_t span)
{
	struct pair p = make(type, key_bytes, value_bytes, entries);
	uint8_t key[BPF_LPM_KEY_MAX], value[VALUE_MAX];
	bpf_core = 0;
	for (unsigned step = 0; step < STEPS; step++) {
		const uint32_t what = random_below(10);
		random_key(&p, key, span);
		if (what < 5) {
			const uint64_t flags = random_below(30) ? random_below(4) : 1ull << 32;
			random_fill(value, value_bytes);
			for (unsigned c = 0; c < p.linux_values; c++)
				memcpy(p.linux_value + c * p.linux_stride, value, value_bytes);
			assert_int_equal(bpf_map_update(p.ours, key, value, flags),
			                 linux_map_update(p.fd, key, p.linux_value, flags));
		} else if (what < 8 && !is_array(type)) {
			assert_int_equal(bpf_map_delete(p.ours, key), linux_map_delete(p.fd, key));
		} else if (what == 8) {
			assert_true(is_array(type) ? bpf_map_delete(p.ours, key) == linux_map_delete(p.fd, key) : true);
		}
		random_key(&p, key, span);
		compare_value(&p, key);
		if (step % 2000 == 0)
			compare_keys(&p);
	}
	compare_keys(&p);
	end(&p);
}

static void allowed(void)
{
	if (!linux_bpf_allowed())
		skip();
}

static void arrays(void **s)
{
	(void)s;
	allowed();
	seed_random("arrays");
	compare(BPF_MAP_ARRAY, 4, 8, 20, 24);
	compare(BPF_MAP_ARRAY, 4, 13, 1, 3);
	compare(BPF_MAP_PERCPU_ARRAY, 4, 12, 20, 24);
}

static void hashes(void **s)
{
	(void)s;
	allowed();
	seed_random("hashes");
	static const uint32_t types[] = {BPF_MAP_HASH, BPF_MAP_PERCPU_HASH};
	for (unsigned t = 0; t < ARRAY_LEN(types); t++) {
		compare(types[t], 4, 8, 50, 60);
		compare(types[t], 1, 1, 10, 256);
		compare(types[t], 16, 64, 300, 400);
		compare(types[t], 13, 5, 1, 4);
	}
}

static void lru_hashes(void **s)
{
	(void)s;
	allowed();
	seed_random("lru_hashes");
	/* Linux spreads free entries over the CPUs' lists: it evicts before the map is full */
	compare(BPF_MAP_LRU_HASH, 4, 8, 4096, 60);
	compare(BPF_MAP_LRU_PERCPU_HASH, 8, 12, 4096, 60);
}

static void tries(void **s)
{
	(void)s;
	allowed();
	seed_random("tries");
	compare(BPF_MAP_LPM_TRIE, 5, 8, 40, 0);
	compare(BPF_MAP_LPM_TRIE, 8, 8, 300, 0);
	compare(BPF_MAP_LPM_TRIE, 8, 8, 5, 0);
	compare(BPF_MAP_LPM_TRIE, 20, 16, 500, 0);
	compare(BPF_MAP_LPM_TRIE, 260, 1, 500, 0);
}

/* What our bpf_map_check accepts, of flags and sizes within our limits, Linux accepts; so nothing works here that
 * fails there. The other way round, what we refuse, we may. */
static void shapes(void **s)
{
	(void)s;
	allowed();
	static const uint32_t types[] = {BPF_MAP_HASH, BPF_MAP_ARRAY, BPF_MAP_PERCPU_HASH, BPF_MAP_PERCPU_ARRAY,
	                                 BPF_MAP_LRU_HASH, BPF_MAP_LRU_PERCPU_HASH, BPF_MAP_LPM_TRIE};
	static const uint32_t sizes[] = {0, 1, 3, 4, 5, 8, 260, 261, 512};
	for (unsigned t = 0; t < ARRAY_LEN(types); t++)
		for (unsigned k = 0; k < ARRAY_LEN(sizes); k++)
			for (unsigned v = 0; v < ARRAY_LEN(sizes); v++)
				for (unsigned n = 0; n < 2; n++) {
					const struct bpf_map_def def = {.name = "m", .type = types[t], .key_bytes = sizes[k],
					                                .value_bytes = sizes[v], .entries = n};
					struct bpf_reason why;
					const int map = linux_map(types[t], sizes[k], sizes[v], n,
					                          types[t] == BPF_MAP_LPM_TRIE ? BPF_F_NO_PREALLOC : 0);
					assert_int_equal(bpf_map_check(&def, &why), map >= 0);
					if (map >= 0)
						close(map);
				}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrays), cmocka_unit_test(hashes), cmocka_unit_test(lru_hashes),
		cmocka_unit_test(tries), cmocka_unit_test(shapes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
