/*
 * LPM tries against a slow oracle, a list of prefixes: look-ups of every length, walks, and how the nodes are used
 * up and come back. Bits are compared one by one, so the oracle shares no code with the trie.
 */
#include "tests/unit/rig/host.h"

#include "bpf/maps/lpm.h"
#include "tests/unit/rig/maps_rig.h"

#define MOST 400
#define KEY BPF_LPM_KEY_MAX

struct oracle {
	uint8_t key[MOST][KEY]; /* as the map's */
	uint64_t value[MOST];
	unsigned n;
};

static uint32_t length_of(const uint8_t *key)
{
	uint32_t bits;
	memcpy(&bits, key, 4);
	return bits;
}

static bool same_bits(const uint8_t *a, const uint8_t *b, uint32_t bits)
{
	for (uint32_t i = 0; i < bits; i++)
		if ((a[4 + i / 8] ^ b[4 + i / 8]) & (0x80 >> i % 8))
			return false;
	return true;
}

static int find_exact(const struct oracle *o, const uint8_t *key)
{
	for (unsigned i = 0; i < o->n; i++)
		if (length_of(o->key[i]) == length_of(key) && same_bits(o->key[i], key, length_of(key)))
			return (int)i;
	return -1;
}

static int find_longest(const struct oracle *o, const uint8_t *key)
{
	int found = -1;
	for (unsigned i = 0; i < o->n; i++)
		if (length_of(o->key[i]) <= length_of(key) && same_bits(o->key[i], key, length_of(o->key[i])) &&
		    (found < 0 || length_of(o->key[i]) > length_of(o->key[found])))
			found = (int)i;
	return found;
}

/* Few different bits, so that prefixes contain one another; bits behind the prefix are not zero. */
static void make_key(uint8_t *key, uint32_t bytes, uint32_t span)
{
	const uint32_t bits = random_below(4) ? random_below(8 * bytes + 1) : 8 * bytes - random_below(4) % (8 * bytes);
	memcpy(key, &bits, 4);
	for (uint32_t i = 0; i < bytes; i++)
		key[4 + i] = random_below(span) ? 0 : (uint8_t)(random_below(2) ? 1u << random_below(8) : random_below(256));
}

static void compare_walk(const struct bpf_map *m, const struct oracle *o)
{
	uint8_t key[KEY];
	unsigned n = 0;
	for (bool more = bpf_map_next(m, NULL, key); more; more = bpf_map_next(m, key, key), n++) {
		const int i = find_exact(o, key);
		assert_true(i >= 0 && n < o->n);
		assert_true(*(uint64_t *)bpf_map_value(m, key, 0) == o->value[i]);
	}
	assert_int_equal(n, o->n);
	assert_int_equal(bpf_map_used(m), o->n);
}

static unsigned free_nodes(const struct bpf_map *m)
{
	unsigned n = 0;
	for (uint32_t link = lpm_head(m)->free_node; link; link = lpm_node(m, link - 1)->inner[0])
		n++;
	return n;
}

static void look_up(const struct bpf_map *m, const struct oracle *o, const uint8_t *key)
{
	const int i = find_longest(o, key);
	const uint64_t *at = bpf_map_lookup(m, key);
	assert_true((at != NULL) == (i >= 0));
	assert_true(!at || *at == o->value[i]);
	assert_true(bpf_lpm_lookup(m, key) == at);
}

static void change(const struct bpf_map *m, struct oracle *o, const uint8_t *key, unsigned most)
{
	const int i = find_exact(o, key);
	const uint64_t value = random64(), flags = random_below(3);
	if (random_below(5) < 2) {
		assert_int_equal(bpf_map_delete(m, key), i < 0 ? BPF_ENOENT : 0);
		if (i >= 0) {
			memcpy(o->key[i], o->key[--o->n], KEY);
			o->value[i] = o->value[o->n];
		}
		return;
	}
	const int64_t want = i >= 0 ? (flags == BPF_NOEXIST ? BPF_EEXIST : 0)
	                     : flags == BPF_EXIST ? BPF_ENOENT : o->n == most ? BPF_ENOSPC : 0;
	assert_int_equal(bpf_map_update(m, key, &value, flags), want);
	if (want)
		return;
	memcpy(o->key[i >= 0 ? i : (int)o->n], key, 4 + (m->key_bytes - 4));
	o->value[i >= 0 ? i : (int)o->n] = value;
	o->n += i < 0;
}

static void trie_is_the_oracle(void **s)
{
	(void)s;
	seed_random("trie_is_the_oracle");
	static const uint32_t sizes[] = {1, 2, 3, 4, 4, 4, 5, 8, 16, 16, 17, 256};
	static struct oracle o;
	for (unsigned z = 0; z < ARRAY_LEN(sizes); z++) {
		const uint32_t bytes = sizes[z], most = 1 + random_below(MOST), span = 1 + random_below(4);
		struct rig_map *rig = rig_map(BPF_MAP_LPM_TRIE, 4 + bytes, 8, most);
		const struct bpf_map *m = &rig->map;
		const unsigned nodes = free_nodes(m);
		o.n = 0;
		for (unsigned step = 0; step < 6000; step++) {
			uint8_t *key = malloc(4 + bytes);
			make_key(key, bytes, span);
			if (o.n && random_below(3) == 0) /* one that is there, or near one */
				memcpy(key, o.key[random_below(o.n)], 4 + bytes);
			change(m, &o, key, most);
			make_key(key, bytes, span);
			look_up(m, &o, key);
			memcpy(key, &(uint32_t){8 * bytes}, 4);
			look_up(m, &o, key);
			free(key);
			if (step % 1000 == 0)
				compare_walk(m, &o);
			/* fewer nodes than prefixes */
			if (step % 100 == 0)
				assert_true(nodes - free_nodes(m) < (o.n ? o.n : 1));
		}
		compare_walk(m, &o);
		while (o.n)
			assert_int_equal(bpf_map_delete(m, o.key[--o.n]), 0);
		assert_int_equal(free_nodes(m), nodes);
		assert_int_equal(bpf_map_used(m), 0);
		rig_map_free(rig);
	}
}

/* 100,000 prefixes and more; each is found by itself and by a longer one's address. */
static void many(unsigned bytes)
{
	const unsigned n = 120000;
	struct rig_map *rig = rig_map(BPF_MAP_LPM_TRIE, 4 + bytes, 4, n);
	const struct bpf_map *m = &rig->map;
	uint8_t (*keys)[20] = calloc(n, sizeof *keys);
	for (uint32_t i = 0; i < n; i++) {
		do {
			random_fill(keys[i] + 4, 16);
			const uint32_t bits = 12 + random_below(8 * bytes - 11);
			memcpy(keys[i], &bits, 4);
		} while (bpf_map_value(m, keys[i], 0));
		assert_int_equal(bpf_map_update(m, keys[i], &i, BPF_NOEXIST), 0);
	}
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(*(uint32_t *)bpf_map_value(m, keys[i], 0), i);
		uint8_t address[20];
		memcpy(address, keys[i], sizeof address);
		memcpy(address, &(uint32_t){8 * bytes}, 4);
		const uint8_t *longest = keys[*(uint32_t *)bpf_map_lookup(m, address)];
		assert_true(length_of(longest) >= length_of(keys[i]) && same_bits(longest, keys[i], length_of(longest)));
	}
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(bpf_map_delete(m, keys[i]), 0);
	free(keys);
	rig_map_free(rig);
}

static void many_ip4(void **s)
{
	(void)s;
	seed_random("many_ip4");
	many(4);
}

static void many_ip6(void **s)
{
	(void)s;
	seed_random("many_ip6");
	many(16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trie_is_the_oracle),
		cmocka_unit_test(many_ip4),
		cmocka_unit_test(many_ip6),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
