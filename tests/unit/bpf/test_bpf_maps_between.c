/*
 * What a look-up finds while another core changes the map under it: between any two of its loads the other core
 * takes out an entry that the look-up may stand on, and uses its memory in another place. The key that is looked up
 * was there all the time, so it must be found, with its value.
 */
#include "tests/unit/rig/host.h"

#include "bpf/maps/map.h"
#include "tests/unit/rig/maps_rig.h"

static const struct bpf_map *map;
static unsigned loads_left;
static uint8_t taken[8], put_in[2][8];

static void other_core(void)
{
	if (loads_left--)
		return;
	bpf_look = NULL;
	bpf_core = 1;
	assert_int_equal(bpf_map_delete(map, taken), 0);
	for (unsigned i = 0; i < 2; i++) /* the second one gets the memory of the one taken out */
		assert_int_equal(bpf_map_update(map, put_in[i], &(uint64_t){1000}, BPF_NOEXIST), 0);
	bpf_core = 0;
}

/* Looks `key` up, the other core acting before load n; afterwards the map is as before. False: there was no load n. */
static bool look_up(const uint8_t *key, const uint8_t *value_of, uint64_t want, unsigned n)
{
	loads_left = n;
	bpf_core = 0;
	bpf_look = other_core;
	const uint64_t *at = bpf_map_lookup(map, key);
	const bool acted = !bpf_look;
	bpf_look = NULL;
	assert_true(at && *at == want);
	assert_true(bpf_map_value(map, value_of, 0) == at);
	if (acted) {
		bpf_core = 1;
		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(bpf_map_delete(map, put_in[i]), 0);
		assert_int_equal(bpf_map_update(map, taken, &(uint64_t){77}, BPF_NOEXIST), 0);
	}
	return acted;
}

/* Key number k of bucket `bucket`, when the hash is the key XOR a constant. */
static void chain_key(unsigned bucket, unsigned k, uint8_t *key) { memcpy(key, &(uint64_t){(uint64_t)k << 20 | bucket}, 8); }

static void chains(void **s)
{
	(void)s;
	const unsigned keys = 24;
	struct rig_map *rig = rig_map(BPF_MAP_HASH, 8, 8, 200);
	unsigned acted = 0;
	map = &rig->map;
	rig->map.hash_key[1] = 1;
	bpf_core = 1;
	for (unsigned bucket = 0; bucket < 2; bucket++)
		for (unsigned k = 0; k < keys; k++) {
			uint8_t key[8];
			chain_key(bucket, k, key);
			assert_int_equal(bpf_map_update(map, key, &(uint64_t){k}, BPF_ANY), 0);
		}
	chain_key(1, 100, put_in[0]);
	chain_key(1, 101, put_in[1]);
	for (unsigned k = 0; k < keys; k++)
		for (unsigned out = 0; out < keys; out++) {
			uint8_t key[8];
			chain_key(0, k, key);
			chain_key(0, out, taken);
			bpf_core = 0;
			const uint64_t *at = bpf_map_lookup(map, key);
			assert_non_null(at);
			const uint64_t want = *at;
			for (unsigned n = 0; out != k && look_up(key, key, want, n); n++)
				acted++;
		}
	assert_true(acted > 1000);
	bpf_core = 0;
	rig_map_free(rig);
}

/* The other core replaces an entry, and its next insertion, into another bucket, gets the memory of the old one. */
static void other_core_replaces(void)
{
	if (loads_left--)
		return;
	bpf_look = NULL;
	bpf_core = 1;
	assert_int_equal(bpf_map_update(map, taken, &(uint64_t){77}, BPF_EXIST), 0);
	assert_int_equal(bpf_map_update(map, put_in[0], &(uint64_t){1000}, BPF_NOEXIST), 0);
	bpf_core = 0;
}

/* As look_up, of key number k while number `out` is replaced. Each key has its number as its value. */
static bool look_up_replaced(unsigned k, unsigned out, unsigned n)
{
	uint8_t key[8];
	chain_key(0, k, key);
	loads_left = n;
	bpf_core = 0;
	bpf_look = other_core_replaces;
	const uint64_t *at = bpf_map_lookup(map, key);
	const bool acted = !bpf_look;
	bpf_look = NULL;
	assert_true(at && *at == (acted && k == out ? 77 : k));
	if (acted) {
		bpf_core = 1;
		assert_int_equal(bpf_map_delete(map, put_in[0]), 0);
		assert_int_equal(bpf_map_update(map, taken, &(uint64_t){out}, BPF_EXIST), 0);
	}
	return acted;
}

static void replacements(void **s)
{
	(void)s;
	const unsigned keys = 24;
	struct rig_map *rig = rig_map(BPF_MAP_HASH, 8, 8, 200);
	unsigned acted = 0;
	map = &rig->map;
	rig->map.hash_key[1] = 1;
	bpf_core = 1;
	for (unsigned k = 0; k < keys; k++) {
		uint8_t key[8];
		chain_key(0, k, key);
		assert_int_equal(bpf_map_update(map, key, &(uint64_t){k}, BPF_ANY), 0);
	}
	chain_key(1, 100, put_in[0]);
	for (unsigned k = 0; k < keys; k++)
		for (unsigned out = 0; out < keys; out++) {
			chain_key(0, out, taken);
			for (unsigned n = 0; look_up_replaced(k, out, n); n++)
				acted++;
		}
	assert_true(acted > 1000);
	bpf_core = 0;
	rig_map_free(rig);
}

static void prefix(uint8_t *key, uint32_t bits, uint32_t address)
{
	memcpy(key, &bits, 4);
	memcpy(key + 4, &(uint32_t){__builtin_bswap32(address)}, 4);
}

/* The look-up of 10.1.2.x stands on nodes that become others'. */
static void tries(void **s)
{
	(void)s;
	struct rig_map *rig = rig_map(BPF_MAP_LPM_TRIE, 8, 8, 40);
	unsigned acted = 0;
	uint8_t keys[12][8], address[8];
	map = &rig->map;
	static const struct { uint32_t bits, address; } rows[12] = {
		{0, 0}, {8, 0x0a000000}, {16, 0x0a010000}, {24, 0x0a010200}, {25, 0x0a010280}, {32, 0x0a010205},
		{24, 0x0a010300}, {28, 0x0a010230}, {24, 0x0a018000}, {12, 0x0a100000}, {32, 0x0a010206}, {30, 0x0a010244},
	};
	for (unsigned i = 0; i < 12; i++) {
		prefix(keys[i], rows[i].bits, rows[i].address);
		assert_int_equal(bpf_map_update(map, keys[i], &(uint64_t){i}, BPF_ANY), 0);
	}
	prefix(put_in[0], 24, 0xc0000200);
	prefix(put_in[1], 24, 0xc0010200);
	for (unsigned k = 0; k < 12; k++)
		for (unsigned out = 0; out < 12; out++) {
			prefix(address, 32, rows[k].address);
			memcpy(taken, keys[out], 8);
			bpf_core = 0;
			const uint64_t *at = bpf_map_lookup(map, address);
			assert_non_null(at);
			const uint64_t want = *at;
			unsigned found = 12;
			for (unsigned i = 0; i < 12; i++)
				if (bpf_map_value(map, keys[i], 0) == at)
					found = i;
			assert_true(found < 12);
			for (unsigned n = 0; out != found && look_up(address, keys[found], want, n); n++)
				acted++;
		}
	assert_true(acted > 1000);
	bpf_core = 0;
	rig_map_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(chains), cmocka_unit_test(replacements), cmocka_unit_test(tries)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
