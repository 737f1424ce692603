/* net/fdb: every change against a slow oracle, a table filled to its end, ages, limits, and readers while
 * the writer moves entries. */
#include "tests/unit/rig/host.h"

#include <pthread.h>

#include "net/fdb/fdb.h"

static struct fdb_writer w;
static void *shared, *own;
static unsigned bits; /* of vector instructions that look-ups use */

static void make(uint32_t entries)
{
	uint64_t key[2];
	random_fill(key, sizeof key);
	shared = aligned_alloc(64, fdb_shared_bytes(entries));
	own = malloc(fdb_private_bytes(entries));
	assert_non_null(shared);
	assert_non_null(own);
	fdb_init(&w, entries, shared, own, key);
	fdb_use(&w, bits);
}

static void unmake(void)
{
	free(shared);
	free(own);
}

/* A station whose address ends in these 32 bits. */
static uint64_t station(uint32_t n, unsigned vid)
{
	const uint8_t mac[6] = {2, 0, (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
	return fdb_station(mac, vid);
}

/* The port of a station; -1: the table does not have it. By both kinds of look-up. */
static int port_of(uint64_t s)
{
	uint32_t one = fdb_lookup(w.table, s), batch;
	fdb_lookup_batch(w.table, &s, &batch, 1);
	assert_int_equal(one, batch);
	return one == FDB_NONE ? -1 : (int)fdb_found_port(one);
}

static void test_words(void **state)
{
	(void)state;
	const uint8_t mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};
	uint8_t back[6];
	const uint64_t s = fdb_station(mac, 4094);
	fdb_station_mac(s, back);
	assert_memory_equal(mac, back, 6);
	assert_int_equal(fdb_station_vid(s), 4094);
	assert_int_equal(s & 15, 0);
}

static void test_learn_move_remove(void **state)
{
	(void)state;
	make(100);
	const uint64_t a = station(1, 10), b = station(1, 20);
	assert_int_equal(port_of(a), -1);
	assert_int_equal(fdb_learn(&w, a, 3, 0), FDB_NEW);
	assert_int_equal(fdb_learn(&w, a, 3, 1), FDB_SAME);
	assert_int_equal(port_of(a), 3);
	assert_int_equal(port_of(b), -1); /* another VLAN is another entry */
	assert_int_equal(fdb_learn(&w, b, 15, 1), FDB_NEW);
	assert_int_equal(fdb_learn(&w, a, 0, 1), FDB_MOVED);
	assert_int_equal(port_of(a), 0);
	assert_int_equal(port_of(b), 15);
	assert_int_equal(w.learned[3], 0);
	assert_int_equal(w.learned[0], 1);
	assert_int_equal(fdb_count(&w), 2);
	assert_int_equal(fdb_remove(&w, a), E_OK);
	assert_int_equal(fdb_remove(&w, a), E_NOENT);
	assert_int_equal(port_of(a), -1);
	assert_int_equal(fdb_count(&w), 1);
	unmake();
}

static void test_static(void **state)
{
	(void)state;
	make(100);
	const uint64_t a = station(1, 10);
	assert_int_equal(fdb_learn(&w, a, 3, 0), FDB_NEW);
	assert_int_equal(fdb_fix(&w, a, 4), FDB_NEW);
	assert_int_equal(port_of(a), 4);
	assert_int_equal(fdb_learn(&w, a, 3, 0), FDB_FIXED);
	assert_int_equal(port_of(a), 4);
	assert_int_equal(w.learned[3] + w.learned[4], 0);
	assert_int_equal(w.fixed, 1);
	assert_int_equal(fdb_flush(&w, FDB_ANY, FDB_ANY), 0);
	assert_int_equal(fdb_age(&w, UINT32_MAX, 30000, 10, NULL, 0), 0);
	assert_int_equal(port_of(a), 4);
	assert_int_equal(fdb_remove(&w, a), E_OK);
	assert_int_equal(port_of(a), -1);
	assert_int_equal(w.fixed, 0);
	assert_int_equal(fdb_count(&w), 0);
	unmake();
}

/* --- against an oracle --- */

#define POOL 3000 /* stations; the table takes fewer */
#define ROOM 2000
static struct {
	int port; /* -1: none */
	bool fixed;
} oracle[POOL];

static uint64_t pooled(unsigned i) { return station(i / 3, 1 + i % 3); }

static unsigned oracle_count(void)
{
	unsigned n = 0;
	for (unsigned i = 0; i < POOL; i++)
		n += oracle[i].port >= 0;
	return n;
}

static void oracle_learn(unsigned i, int port)
{
	const enum fdb_result r = fdb_learn(&w, pooled(i), (unsigned)port, 0);
	if (oracle[i].fixed) {
		assert_int_equal(r, FDB_FIXED);
		return;
	}
	if (oracle[i].port < 0 && oracle_count() == ROOM) {
		assert_int_equal(r, FDB_FULL);
		return;
	}
	assert_int_equal(r, oracle[i].port < 0 ? FDB_NEW : oracle[i].port == port ? FDB_SAME : FDB_MOVED);
	oracle[i].port = port;
}

static void oracle_fix(unsigned i, int port)
{
	const enum fdb_result r = fdb_fix(&w, pooled(i), (unsigned)port);
	if (oracle[i].port < 0 && oracle_count() == ROOM) {
		assert_int_equal(r, FDB_FULL);
		return;
	}
	assert_int_equal(r, FDB_NEW);
	oracle[i].port = port;
	oracle[i].fixed = true;
}

static void oracle_remove(unsigned i)
{
	assert_int_equal(fdb_remove(&w, pooled(i)), oracle[i].port < 0 ? E_NOENT : E_OK);
	oracle[i].port = -1;
	oracle[i].fixed = false;
}

static void oracle_flush(uint32_t port, uint32_t vid)
{
	unsigned n = 0;
	for (unsigned i = 0; i < POOL; i++)
		if (oracle[i].port >= 0 && !oracle[i].fixed && (vid == FDB_ANY || vid == 1 + i % 3) &&
		    (port == FDB_ANY || port == (uint32_t)oracle[i].port)) {
			oracle[i].port = -1;
			n++;
		}
	assert_int_equal(fdb_flush(&w, port, vid), n);
}

/* The table has exactly what the oracle has, each once, with the right counts. */
static void compare(void)
{
	unsigned learned[FDB_PORTS] = {0}, fixed = 0, entries = 0;
	struct fdb_entry e;
	for (unsigned i = 0; i < POOL; i++) {
		assert_int_equal(port_of(pooled(i)), oracle[i].port);
		fixed += oracle[i].fixed;
		if (oracle[i].port >= 0 && !oracle[i].fixed)
			learned[oracle[i].port]++;
	}
	for (uint32_t cursor = 0; fdb_next(&w, &cursor, &e); entries++)
		assert_int_equal((int)e.port, port_of(e.station));
	assert_int_equal(entries, oracle_count());
	assert_int_equal(fdb_count(&w), entries);
	assert_int_equal(w.fixed, fixed);
	for (unsigned p = 0; p < FDB_PORTS; p++)
		assert_int_equal(w.learned[p], learned[p]);
}

static void test_oracle(void **state)
{
	(void)state;
	seed_random("fdb oracle");
	make(ROOM);
	for (unsigned i = 0; i < POOL; i++) {
		oracle[i].port = -1;
		oracle[i].fixed = false;
	}
	for (unsigned step = 0; step < random_rounds(60000); step++) {
		const unsigned i = random_below(POOL), what = random_below(1000);
		if (what < 700)
			oracle_learn(i, (int)random_below(FDB_PORTS));
		else if (what < 730)
			oracle_fix(i, (int)random_below(FDB_PORTS));
		else if (what < 998)
			oracle_remove(i);
		else
			oracle_flush(random_below(3) ? random_below(FDB_PORTS) : FDB_ANY,
			             random_below(3) ? 1 + random_below(3) : FDB_ANY);
		if (step % 5000 == 0)
			compare();
	}
	compare();
	unmake();
}

/* --- full --- */

/* A table takes as many stations as it was made for, whatever their addresses, and finds all. */
static void fill(uint32_t entries, bool consecutive)
{
	uint64_t *all = calloc(entries, sizeof *all);
	uint32_t *found = calloc(FDB_BATCH_MAX, sizeof *found);
	make(entries);
	for (uint32_t i = 0; i < entries; i++) {
		all[i] = consecutive ? station(i, 1) : (random64() | 1) << 16 | 1 << 4;
		assert_true(fdb_learn(&w, all[i], i % FDB_PORTS, 0) <= FDB_MOVED);
	}
	for (uint32_t i = 0; i < entries; i += FDB_BATCH_MAX) {
		const uint32_t n = entries - i < FDB_BATCH_MAX ? entries - i : FDB_BATCH_MAX;
		fdb_lookup_batch(w.table, all + i, found, n);
		for (uint32_t k = 0; k < n; k++) {
			assert_int_not_equal(found[k], FDB_NONE);
			assert_int_equal(found[k], fdb_lookup(w.table, all[i + k]));
			assert_true(fdb_found_slot(found[k]) < fdb_slots(w.table));
		}
	}
	print_message("%u stations: %u copies to make room\n", entries, w.moved);
	assert_true(w.moved <= entries / 10);
	if (consecutive)
		assert_int_equal(fdb_learn(&w, station(entries, 1), 0, 0), FDB_FULL);
	unmake();
	free(found);
	free(all);
}

static void test_full(void **state)
{
	(void)state;
	seed_random("fdb full");
	for (unsigned k = 0; k < 8; k++)
		fill(20000, k % 2);
	for (uint32_t n = 1; n < 40; n++)
		fill(n, true);
	fill(FDB_ENTRIES_MAX, true);
	fill(FDB_ENTRIES_MAX, false);
}

static void test_limit(void **state)
{
	(void)state;
	make(100);
	w.limit[2] = 3;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(fdb_learn(&w, station(i, 1), 2, 0), FDB_NEW);
	assert_int_equal(fdb_learn(&w, station(3, 1), 2, 0), FDB_LIMIT);
	assert_int_equal(fdb_learn(&w, station(3, 1), 1, 0), FDB_NEW);
	assert_int_equal(fdb_learn(&w, station(3, 1), 2, 0), FDB_LIMIT); /* nor by a move */
	assert_int_equal(port_of(station(3, 1)), 1);
	assert_int_equal(fdb_learn(&w, station(0, 1), 2, 0), FDB_SAME);
	assert_int_equal(fdb_learn(&w, station(0, 1), 1, 0), FDB_MOVED);
	assert_int_equal(fdb_learn(&w, station(3, 1), 2, 0), FDB_MOVED);
	unmake();
}

/* --- age --- */

static void test_age(void **state)
{
	(void)state;
	make(100);
	uint16_t *mark[2] = {calloc(fdb_slots(w.table), 2), NULL};
	const uint16_t *used[2] = {mark[0], mark[1]};
	const uint64_t a = station(1, 1), b = station(2, 1);
	for (unsigned round = 0; round < 40; round++) { /* marks wrap around */
		const uint16_t t = (uint16_t)(round * 5000);
		fdb_learn(&w, a, 1, t);
		fdb_learn(&w, b, 2, t);
		assert_int_equal(fdb_age(&w, UINT32_MAX, (uint16_t)(t + 300), 300, used, 2), 0);
		const uint32_t slot = fdb_found_slot(fdb_lookup(w.table, a));
		assert_int_equal(fdb_idle(&w, slot, (uint16_t)(t + 300), used, 2), 300);
		mark[0][slot] = (uint16_t)(t + 290);
		assert_int_equal(fdb_idle(&w, slot, (uint16_t)(t + 300), used, 2), 10);
		assert_int_equal(fdb_idle(&w, slot, (uint16_t)(t + 289), used, 2), 0);
		assert_int_equal(fdb_age(&w, UINT32_MAX, (uint16_t)(t + 301), 300, used, 2), 1);
		assert_int_equal(port_of(a), 1);
		assert_int_equal(port_of(b), -1);
		assert_int_equal(fdb_age(&w, UINT32_MAX, (uint16_t)(t + 590), 300, used, 2), 0);
		mark[0][slot] = (uint16_t)(t + 592); /* the reader's clock is ahead */
		assert_int_equal(fdb_age(&w, UINT32_MAX, (uint16_t)(t + 591), 300, used, 2), 0);
		assert_int_equal(fdb_age(&w, UINT32_MAX, (uint16_t)(t + 892), 300, used, 2), 0);
		assert_int_equal(fdb_age(&w, UINT32_MAX, (uint16_t)(t + 893), 300, used, 2), 1);
		assert_int_equal(fdb_count(&w), 0);
	}
	free(mark[0]);
	unmake();
}

/* Slice by slice, all slots have their turn. */
/* Readers' notes stay at the slot that an entry leaves to make room: where it goes it counts as just seen. */
static void test_age_of_copies(void **state)
{
	enum { ENTRIES = 20000, OLD = 15000 };
	(void)state;
	make(ENTRIES);
	for (uint32_t i = 0; i < ENTRIES; i++)
		assert_int_equal(fdb_learn(&w, station(i, 1), 1, i < OLD ? 0 : 290), FDB_NEW);
	const uint32_t aged = fdb_age(&w, UINT32_MAX, 301, 300, NULL, 0);
	assert_true(w.moved > 0);
	assert_in_range(aged, OLD - w.moved, OLD - 1);
	unmake();
}

static void test_age_in_slices(void **state)
{
	(void)state;
	make(1000);
	for (unsigned i = 0; i < 1000; i++)
		fdb_learn(&w, station(i, 1), i % 16, 0);
	unsigned removed = 0;
	for (uint32_t at = 0; at < fdb_slots(w.table); at += 50) {
		const uint32_t n = fdb_age(&w, 50, 1000, 300, NULL, 0);
		assert_true(n <= 50);
		removed += n;
	}
	assert_int_equal(removed, 1000);
	assert_int_equal(fdb_count(&w), 0);
	unmake();
}

/* Batches of any length, with stations that repeat and stations that are not there, in their first bucket, in
 * their second, or in none. */
static void test_batches(void **state)
{
	(void)state;
	uint64_t s[FDB_BATCH_MAX];
	uint32_t found[FDB_BATCH_MAX + 1];
	seed_random("fdb batches");
	make(5000);
	for (uint32_t n = 0; n < 5000; n++)
		(void)fdb_learn(&w, station(n, 1), random_below(FDB_PORTS), 0);
	for (unsigned turn = 0; turn < 2000; turn++) {
		const unsigned n = turn <= FDB_BATCH_MAX ? turn : random_below(FDB_BATCH_MAX + 1);
		const unsigned runs = 1 + random_below(20);
		for (unsigned i = 0; i < n; i++)
			s[i] = i && random_below(runs) ? s[i - 1] : station(random_below(6000), 1);
		found[n] = 12345;
		fdb_lookup_batch(w.table, s, found, n);
		for (unsigned i = 0; i < n; i++)
			assert_int_equal(found[i], fdb_lookup(w.table, s[i]));
		assert_int_equal(found[n], 12345);
	}
	unmake();
}

/* --- readers beside the writer --- */

#define FIRM 6000 /* stations that are never removed; the others come and go */
#define ALL 10000
#define MAY_MISS 1000 /* one look-up in so many, because an entry is being copied */

static bool over;

static unsigned port_for(uint32_t n) { return n * 7 % FDB_PORTS; }

struct reading {
	pthread_t thread;
	uint64_t found, missed, wrong;
};

static void *read_all(void *at)
{
	struct reading *r = at;
	uint64_t s[FDB_BATCH_MAX];
	uint32_t found[FDB_BATCH_MAX];
	for (uint32_t from = 0; !__atomic_load_n(&over, __ATOMIC_RELAXED); from += 13) {
		for (uint32_t i = 0; i < FDB_BATCH_MAX; i++)
			s[i] = station((from + i) % ALL, 1);
		fdb_lookup_batch(w.table, s, found, FDB_BATCH_MAX);
		for (uint32_t i = 0; i < FDB_BATCH_MAX; i++) {
			const uint32_t n = (from + i) % ALL;
			if (found[i] == FDB_NONE)
				r->missed += n < FIRM;
			else if (fdb_found_port(found[i]) != port_for(n))
				r->wrong++;
			else
				r->found += n < FIRM;
		}
	}
	return NULL;
}

static void test_readers(void **state)
{
	(void)state;
	struct reading r[2] = {0};
	seed_random("fdb readers");
	make(ALL);
	over = false;
	for (uint32_t n = 0; n < FIRM; n++)
		assert_int_equal(fdb_learn(&w, station(n, 1), port_for(n), 0), FDB_NEW);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&r[i].thread, NULL, read_all, &r[i]), 0);
	for (unsigned step = 0; step < random_rounds(600000); step++) {
		const uint32_t n = FIRM + random_below(ALL - FIRM);
		if (random_below(4))
			assert_true(fdb_learn(&w, station(n, 1), port_for(n), 0) <= FDB_SAME);
		else
			(void)fdb_remove(&w, station(n, 1));
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 2; i++) {
		pthread_join(r[i].thread, NULL);
		print_message("reader %u: %llu found, %llu missed\n", i, (unsigned long long)r[i].found,
		              (unsigned long long)r[i].missed);
		assert_int_equal(r[i].wrong, 0);
		assert_true(r[i].missed <= r[i].found / MAY_MISS);
	}
	print_message("%u copies\n", w.moved);
	assert_true(w.moved > 0);
	unmake();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_learn_move_remove),
		cmocka_unit_test(test_static),
		cmocka_unit_test(test_oracle),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_age_of_copies),
		cmocka_unit_test(test_age_in_slices),
		cmocka_unit_test(test_batches),
		cmocka_unit_test(test_readers),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (!__builtin_cpu_supports("avx2")) {
		print_message("skipped: the path by AVX2, which this processor does not have\n");
		return failed;
	}
	bits = 256;
	failed += cmocka_run_group_tests(tests, NULL, NULL);
	if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq")) {
		print_message("skipped: the path by AVX-512, which this processor does not have\n");
		return failed;
	}
	bits = 512;
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
