/* runtime/balance: which buckets move, against the rules of balance.h; also over many rounds with noise and elephants. */
#include "tests/unit/rig/host.h"

#include "runtime/balance.h"

#define CORES 8u
#define BUCKETS 512u
#define MOST 64u

static uint32_t busy[CORES];
static struct balance_load of[BUCKETS];
static uint32_t truth[BUCKETS];  /* the load that a bucket makes, */
static uint8_t owner[BUCKETS];   /* and the core that has it */
static struct balance_move out[MOST];

/* Has the loads measured, each wrong by up to `noise` percent, and the chosen buckets moved. Returns their number. */
static unsigned round_of(unsigned cores, unsigned buckets, unsigned noise)
{
	uint64_t sum[CORES] = {0};
	for (unsigned b = 0; b < buckets; b++) {
		const uint32_t load = truth[b] + (uint32_t)((uint64_t)truth[b] * random_below(noise + 1) / 100);
		of[b] = (struct balance_load){load, (uint16_t)b, 0, owner[b]};
		sum[owner[b]] += load;
	}
	for (unsigned c = 0; c < cores; c++)
		busy[c] = sum[c] > BALANCE_FULL ? BALANCE_FULL : (uint32_t)sum[c];
	const uint32_t *before = busy;
	uint32_t most = 0;
	for (unsigned c = 0; c < cores; c++)
		most = before[c] > most ? before[c] : most;
	const unsigned n = balance_choose(busy, cores, of, buckets, out, MOST);
	assert_in_range(n, 0, MOST);
	for (unsigned c = 0; c < cores; c++)
		assert_true(busy[c] <= most);
	for (unsigned i = 0; i < n; i++) {
		assert_true(out[i].from < cores && out[i].to < cores && out[i].from != out[i].to);
		assert_int_equal(owner[out[i].bucket], out[i].from); /* so none moves twice */
		owner[out[i].bucket] = out[i].to;
	}
	return n;
}

/* The greatest load of a core, really, and the least. */
static void extremes(unsigned cores, unsigned buckets, uint64_t *most, uint64_t *least)
{
	uint64_t sum[CORES] = {0};
	for (unsigned b = 0; b < buckets; b++)
		sum[owner[b]] += truth[b];
	*most = 0;
	*least = UINT64_MAX;
	for (unsigned c = 0; c < cores; c++) {
		*most = sum[c] > *most ? sum[c] : *most;
		*least = sum[c] < *least ? sum[c] : *least;
	}
}

static void put(unsigned b, uint32_t load, unsigned core)
{
	truth[b] = load;
	owner[b] = (uint8_t)core;
}

static void all_on_one(void **s)
{
	(void)s;
	uint64_t most, least;
	for (unsigned b = 0; b < 128; b++)
		put(b, BALANCE_FULL / 128, 0);
	assert_true(round_of(4, 128, 0) > 0);
	while (round_of(4, 128, 0))
		;
	extremes(4, 128, &most, &least);
	assert_true(most - least < most / BALANCE_GAP);
}

static void even_stays(void **s)
{
	(void)s;
	for (unsigned b = 0; b < 128; b++)
		put(b, BALANCE_FULL / 32, b % 4);
	assert_int_equal(round_of(4, 128, 0), 0);
	truth[0] -= BALANCE_FULL / 32;
	truth[4] -= BALANCE_FULL / 32;
	truth[8] -= BALANCE_FULL / 32; /* a tenth */
	assert_int_equal(round_of(4, 128, 0), 0);
}

/* A bucket that is all of a core's load stays. Beside others it moves once, or they do, and then nothing moves. */
static void elephant(void **s)
{
	(void)s;
	for (uint32_t load = BALANCE_FULL / 10; load <= BALANCE_FULL; load += BALANCE_FULL / 20) {
		put(0, load, 0);
		put(1, 0, 1);
		assert_int_equal(round_of(2, 2, 0), 0);
		for (uint32_t beside = 0; beside + load <= BALANCE_FULL; beside += BALANCE_FULL / 20) {
			unsigned moved = 0;
			put(0, load, 0);
			for (unsigned b = 1; b < 11; b++)
				put(b, beside / 10, 0);
			for (unsigned round = 0; round < 20; round++) {
				const unsigned n = round_of(2, 11, 0);
				for (unsigned i = 0; i < n; i++)
					moved += out[i].bucket == 0;
			}
			assert_true(moved <= 1);
			assert_int_equal(round_of(2, 11, 0), 0);
		}
	}
}

/* Wrong measurements make no elephant move again and again, and the moves of others end too. */
static void noise(void **s)
{
	(void)s;
	seed_random("noise");
	for (unsigned run = 0; run < 200; run++) {
		const unsigned cores = 2 + random_below(CORES - 1), buckets = 16 + random_below(BUCKETS - 15);
		unsigned elephants = 0, late = 0;
		for (unsigned b = 0; b < buckets; b++)
			put(b, random_below(2 * BALANCE_FULL * cores / 3 / buckets), random_below(cores));
		put(0, BALANCE_FULL / 2, random_below(cores));
		for (unsigned round = 0; round < 60; round++) {
			const unsigned n = round_of(cores, buckets, 5);
			for (unsigned i = 0; i < n; i++)
				elephants += out[i].bucket == 0;
			late += round >= 30 ? n : 0;
		}
		assert_true(elephants <= 2);
		assert_true(late <= 30 * 2); /* not more than two small ones a round */
	}
}

static void limits(void **s)
{
	(void)s;
	for (unsigned b = 0; b < BUCKETS; b++)
		put(b, BALANCE_FULL / 256, 0);
	assert_int_equal(round_of(1, BUCKETS, 0), 0); /* one core */
	assert_int_equal(round_of(CORES, BUCKETS, 0), MOST);
	for (unsigned b = 0; b < BUCKETS; b++)
		put(b, 0, 0); /* none has a load */
	assert_int_equal(round_of(2, BUCKETS, 0), 0);
	assert_int_equal(round_of(2, 0, 0), 0); /* no bucket may move */
}

/* Rule 1: both cores are less busy afterwards, by an eighth of the bucket's load and 1/400 of the busiest core's. */
static void gains_enough(void **s)
{
	(void)s;
	static const struct {
		uint32_t from, to, load;
		bool moves;
	} row[] = {
		{500000, 48750, 400000, false}, {500000, 48749, 400000, true}, /* 400000 + 50000 + 1251 */
		{500000, 400000, 1250, false},  {500000, 400000, 1251, true},  /* a load that gains so much at least */
		{1000000, 0, 886667, false},    {1000000, 0, 886666, true},    /* 886666 + 110833 + 2501 */
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		uint32_t load[2] = {row[i].from, row[i].to};
		struct balance_load bucket = {row[i].load, 7, 3, 0};
		assert_int_equal(balance_choose(load, 2, &bucket, 1, out, MOST), row[i].moves);
		assert_int_equal(bucket.core, row[i].moves ? BALANCE_MOVED : 0);
		assert_int_equal(load[0], row[i].from - (row[i].moves ? row[i].load : 0));
		assert_int_equal(load[1], row[i].to + (row[i].moves ? row[i].load : 0));
		if (row[i].moves)
			assert_true(out[0].bucket == 7 && out[0].port == 3 && out[0].from == 0 && out[0].to == 1);
	}
}

/* Rule 2: of the buckets that gain enough the one moves that leaves the cores nearest to each other. */
static void nearest_load_moves(void **s)
{
	(void)s;
	static const struct {
		uint32_t load[3];
		unsigned moves;
	} row[] = {{{100000, 60000, 150000}, 0}, {{150000, 100000, 60000}, 1}, {{150000, 60000, 100000}, 2},
	           {{150000, 60000, 20000}, 1},  {{99000, 102000, 0}, 0},      {{98000, 101000, 0}, 1}};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		uint32_t load[2] = {500000, 300000};
		struct balance_load bucket[3];
		for (unsigned b = 0; b < 3; b++)
			bucket[b] = (struct balance_load){row[i].load[b], (uint16_t)b, 0, 0};
		assert_int_equal(balance_choose(load, 2, bucket, 3, out, 1), 1);
		assert_int_equal(out[0].bucket, row[i].moves);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(all_on_one), cmocka_unit_test(even_stays),
	                                   cmocka_unit_test(elephant), cmocka_unit_test(noise),
	                                   cmocka_unit_test(limits),     cmocka_unit_test(gains_enough),
	                                   cmocka_unit_test(nearest_load_moves)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
