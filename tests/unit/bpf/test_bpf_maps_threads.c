/*
 * Maps under several cores at once: a thread stands for a core. Each key has one thread that changes it, and that
 * thread sees at all times exactly what it has written, whatever the others do to the same buckets and nodes.
 * Threads die in the middle of operations, and go on after recovery. At the end the contents are the sum of all
 * threads' keys, and no entry is lost.
 */
#include "tests/unit/rig/host.h"

#include <pthread.h>
#include <sched.h>

#include "bpf/maps/map.h"
#include "tests/unit/rig/maps_rig.h"

#define KEYS 300  /* of a thread */
#define STEPS 30000
#define VALUE 40

struct worker {
	pthread_t thread;
	const struct bpf_map *map;
	unsigned core, deaths, wrong;
	unsigned keys; /* in use */
	bool chains;   /* all keys are in two buckets */
	uint64_t random;
	bool there[KEYS];
	uint8_t fill[KEYS]; /* all bytes of the value */
};

static uint32_t next_random(struct worker *w, uint32_t below)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((w->random >> 33) % below);
}

/* Keys of one thread and of others alternate; of tries, they lie in one another. */
static void key_of(const struct worker *w, unsigned k, uint8_t *key)
{
	if (w->map->type == BPF_MAP_LPM_TRIE) {
		const uint32_t bits = 16 + k % 17;
		memcpy(key, &bits, 4);
		key[4] = (uint8_t)(k / 17);
		key[5] = (uint8_t)w->core;
		key[6] = key[7] = 0x55;
	} else if (w->chains) {
		memcpy(key, &(uint64_t){(uint64_t)(k * RIG_CORES + w->core) << 20 | (k & 1)}, 8);
	} else {
		memcpy(key, &(uint64_t){k * RIG_CORES + w->core}, 8);
	}
}

struct operation {
	struct worker *w;
	uint8_t key[8], value[VALUE];
	bool update;
};

static int64_t operate(void *arg)
{
	struct operation *op = arg;
	return op->update ? bpf_map_update(op->w->map, op->key, op->value, BPF_ANY) : bpf_map_delete(op->w->map, op->key);
}

/* Is the key what the thread thinks? */
static bool as_written(struct worker *w, unsigned k)
{
	uint8_t key[8];
	key_of(w, k, key);
	const uint8_t *at = bpf_map_value(w->map, key, w->core);
	if (!at != !w->there[k])
		return false;
	if (!at)
		return true;
	const uint8_t *found = bpf_map_lookup(w->map, key);
	for (unsigned i = 0; i < VALUE; i++)
		if (at[i] != w->fill[k] || !found || found[i] != w->fill[k])
			return false;
	return true;
}

static void change(struct worker *w, unsigned k)
{
	struct operation op = {.w = w, .update = next_random(w, 3) > 0};
	const uint8_t fill = (uint8_t)next_random(w, 256);
	int64_t result = BPF_EBUSY;
	key_of(w, k, op.key);
	memset(op.value, fill, VALUE);
	if (next_random(w, 20) == 0 && rig_dies_at(next_random(w, 30), operate, &op, &result)) {
		w->deaths++;
		bpf_map_recover(w->map, w->core);
		if (!as_written(w, k)) { /* then the operation is complete */
			w->there[k] = op.update;
			w->fill[k] = fill;
		}
		return;
	}
	while (result == BPF_EBUSY) {
		result = operate(&op);
		if (result == BPF_EBUSY)
			sched_yield(); /* the holder's thread is not running */
	}
	if (result == BPF_ENOENT && !op.update && !w->there[k])
		return;
	w->wrong += result != 0;
	w->there[k] = op.update;
	w->fill[k] = fill;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	bpf_core = w->core;
	for (unsigned step = 0; step < STEPS; step++) {
		const unsigned k = next_random(w, w->keys);
		uint8_t key[8];
		if (next_random(w, 4) == 0)
			change(w, k);
		w->wrong += !as_written(w, k);
		/* another's key: it may change under us, but lies in the map (ASan) */
		struct worker other = *w;
		other.core = next_random(w, RIG_CORES);
		key_of(&other, k, key);
		const volatile uint8_t *at = bpf_map_lookup(w->map, key);
		if (at)
			(void)at[VALUE - 1];
	}
	return NULL;
}

static void run(struct worker *workers, void *(*act)(void *), const struct bpf_map *map, unsigned keys, bool chains)
{
	for (unsigned c = 0; c < RIG_CORES; c++) {
		workers[c] = (struct worker){.map = map, .core = c, .keys = keys, .chains = chains, .random = random64()};
		assert_int_equal(pthread_create(&workers[c].thread, NULL, act, &workers[c]), 0);
	}
	for (unsigned c = 0; c < RIG_CORES; c++)
		pthread_join(workers[c].thread, NULL);
}

/* The contents, and that the map takes `entries` keys and no more. */
static void compare(struct rig_map *rig, struct worker *workers)
{
	const struct bpf_map *m = &rig->map;
	unsigned n = 0, deaths = 0;
	for (unsigned c = 0; c < RIG_CORES; c++) {
		assert_int_equal(workers[c].wrong, 0);
		deaths += workers[c].deaths;
		bpf_core = c;
		for (unsigned k = 0; k < workers[c].keys; k++) {
			assert_true(as_written(&workers[c], k));
			n += workers[c].there[k];
		}
	}
	assert_true(deaths > 100);
	assert_int_equal(bpf_map_used(m), n);
	for (unsigned c = 0; c < RIG_CORES; c++)
		for (unsigned k = 0; k < workers[c].keys; k++) {
			uint8_t key[8], value[VALUE] = {0};
			key_of(&workers[c], k, key);
			bpf_core = (c + k) % RIG_CORES;
			assert_int_equal(bpf_map_update(m, key, value, BPF_ANY), 0);
		}
	assert_int_equal(bpf_map_used(m), rig->def.entries);
	const uint64_t more[2] = {UINT64_MAX << 32 | 32, 0};
	assert_true(bpf_map_update(m, more, workers, BPF_NOEXIST) == (m->type == BPF_MAP_LPM_TRIE ? BPF_ENOSPC : BPF_E2BIG));
	bpf_core = 0;
}

static void several_cores(uint32_t type, unsigned keys, bool chains)
{
	struct worker workers[RIG_CORES];
	struct rig_map *rig = rig_map(type, 8, VALUE, RIG_CORES * keys);
	if (chains) /* the hash is the key XOR a constant */
		rig->map.hash_key[1] = 1;
	run(workers, work, &rig->map, keys, chains);
	compare(rig, workers);
	rig_map_free(rig);
}

static void hash(void **s)
{
	(void)s;
	seed_random("hash");
	several_cores(BPF_MAP_HASH, KEYS, false);
}

/* Entries move between two long chains: a look-up that follows one must not end in the other. */
static void chains(void **s)
{
	(void)s;
	seed_random("chains");
	several_cores(BPF_MAP_HASH, 34, true);
}

static void percpu_hash(void **s)
{
	(void)s;
	seed_random("percpu_hash");
	several_cores(BPF_MAP_PERCPU_HASH, KEYS, false);
}

static void lpm(void **s)
{
	(void)s;
	seed_random("lpm");
	several_cores(BPF_MAP_LPM_TRIE, KEYS, false);
}

/* --- LRU: more keys than entries --- */

static void *work_lru(void *arg)
{
	struct worker *w = arg;
	bpf_core = w->core;
	for (unsigned step = 0; step < STEPS; step++) {
		struct operation op = {.w = w, .update = next_random(w, 4) > 0};
		int64_t result;
		key_of(w, next_random(w, KEYS), op.key);
		if (next_random(w, 50) == 0 && rig_dies_at(next_random(w, 40), operate, &op, &result)) {
			w->deaths++;
			bpf_map_recover(w->map, w->core);
		} else {
			result = operate(&op);
			w->wrong += result != 0 && result != BPF_EBUSY && result != BPF_ENOMEM && (op.update || result != BPF_ENOENT);
		}
	}
	return NULL;
}

static void lru_hash(void **s)
{
	(void)s;
	seed_random("lru_hash");
	struct worker workers[RIG_CORES];
	struct rig_map *rig = rig_map(BPF_MAP_LRU_HASH, 8, VALUE, 100);
	run(workers, work_lru, &rig->map, KEYS, false);
	assert_true(bpf_map_used(&rig->map) <= 100);
	for (unsigned c = 0; c < RIG_CORES; c++)
		assert_int_equal(workers[c].wrong, 0);
	uint8_t value[VALUE] = {0};
	for (uint64_t k = 0; k < 5000; k++) {
		bpf_core = k % RIG_CORES;
		assert_int_equal(bpf_map_update(&rig->map, &(uint64_t){1000000 + k}, value, BPF_NOEXIST), 0);
	}
	assert_int_equal(bpf_map_used(&rig->map), 100);
	bpf_core = 0;
	rig_map_free(rig);
}

/* --- values that all cores add to --- */

static void *count(void *arg)
{
	struct worker *w = arg;
	bpf_core = w->core;
	for (unsigned step = 0; step < STEPS; step++) {
		const uint64_t key = next_random(w, 8);
		uint64_t *at = bpf_map_lookup(w->map, &key);
		for (; !at; at = bpf_map_lookup(w->map, &key))
			bpf_map_update(w->map, &key, &(uint64_t){0}, BPF_NOEXIST); /* may be EBUSY */
		__atomic_fetch_add(at, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* One core inserts the key, the others see EEXIST, and no count is lost. */
static void atomic_counts(void **s)
{
	(void)s;
	seed_random("atomic_counts");
	static const uint32_t types[] = {BPF_MAP_HASH, BPF_MAP_PERCPU_HASH};
	for (unsigned t = 0; t < ARRAY_LEN(types); t++) {
		struct worker workers[RIG_CORES];
		struct rig_map *rig = rig_map(types[t], 8, 8, 8);
		uint64_t sum = 0;
		run(workers, count, &rig->map, KEYS, false);
		for (uint64_t key = 0; key < 8; key++)
			for (unsigned c = 0; c < (t ? RIG_CORES : 1); c++)
				sum += *(uint64_t *)bpf_map_value(&rig->map, &key, c);
		assert_int_equal(sum, RIG_CORES * STEPS);
		rig_map_free(rig);
	}
}

/* --- ring buffers --- */

#define RECORDS 200000

static void *produce(void *arg)
{
	struct worker *w = arg;
	bpf_core = 1;
	for (uint64_t n = 0; n < RECORDS;) {
		const uint32_t words = 1 + next_random(w, 30);
		uint64_t *at = bpf_ring_reserve(w->map, 8 * words);
		if (!at) {
			sched_yield();
			continue;
		}
		for (uint32_t i = 0; i < words; i++)
			at[i] = n;
		const bool discard = next_random(w, 5) == 0;
		bpf_ring_commit(at, discard);
		n += !discard;
	}
	return NULL;
}

static void ring(void **s)
{
	(void)s;
	seed_random("ring");
	struct rig_map *rig = rig_map(BPF_MAP_RINGBUF, 0, 0, 4096);
	struct worker w = {.map = &rig->map, .random = random64()};
	assert_int_equal(pthread_create(&w.thread, NULL, produce, &w), 0);
	unsigned wrong = 0;
	for (uint64_t n = 0; n < RECORDS;) {
		uint32_t bytes;
		const uint64_t *at = bpf_ring_next(&rig->map, 1, &bytes);
		if (!at) {
			sched_yield();
			continue;
		}
		for (uint32_t i = 0; i < bytes / 8; i++)
			wrong += at[i] != n;
		n++;
		bpf_ring_release(&rig->map, 1);
	}
	pthread_join(w.thread, NULL);
	assert_int_equal(wrong, 0);
	rig_map_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash), cmocka_unit_test(chains), cmocka_unit_test(percpu_hash), cmocka_unit_test(lpm),
		cmocka_unit_test(lru_hash), cmocka_unit_test(atomic_counts), cmocka_unit_test(ring),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
