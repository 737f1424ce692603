/* net/tcp/wheel against an oracle that keeps every deadline and searches all of them. */
#include "tests/unit/rig/host.h"

#include "net/tcp/wheel.h"

#define RECORDS 300

struct record {
	char before[24]; /* not at the start, and a stride that is not a power of two */
	struct wheel_node timer;
	char after[16];
};

/* --- the oracle --- */

struct rig {
	struct wheel w;
	struct record record[RECORDS];
	bool pending[RECORDS];
	uint64_t tick[RECORDS];
	uint64_t now;  /* last given to wheel_expire */
	uint64_t seen; /* everything up to here has expired, unless it was added later */
	bool in_round; /* the last wheel_expire returned a record: there may be more */
};

static void rig_init(struct rig *r, uint64_t now)
{
	memset(r, 0, sizeof *r);
	memset(&r->w, 0xa5, sizeof r->w);
	wheel_init(&r->w, r->record, sizeof r->record[0], offsetof(struct record, timer), now);
	r->now = r->seen = now;
}

static void add(struct rig *r, uint32_t i, uint64_t tick)
{
	wheel_add(&r->w, i, tick);
	r->pending[i] = true;
	r->tick[i] = tick;
}

static void take(struct rig *r, uint32_t i)
{
	wheel_remove(&r->w, i);
	r->pending[i] = false;
}

/* The earliest time at which record i can expire. */
static uint64_t due_of(const struct rig *r, uint32_t i)
{
	return r->tick[i] > r->seen ? r->tick[i] : r->seen;
}

static uint64_t first_due(const struct rig *r)
{
	uint64_t first = UINT64_MAX;
	for (uint32_t i = 0; i < RECORDS; i++)
		if (r->pending[i] && due_of(r, i) < first)
			first = due_of(r, i);
	return first;
}

static bool any_pending(const struct rig *r)
{
	for (uint32_t i = 0; i < RECORDS; i++)
		if (r->pending[i])
			return true;
	return false;
}

/* The first tick of the slot in which `tick` waits: its digits below the highest that differs from
 * the wheel's time are zero. */
static uint64_t slot_start(uint64_t now, uint64_t tick)
{
	unsigned digits = 0;
	while (digits < 11 && (digits == 0 || (tick ^ now) >> (6 * digits)))
		digits++;
	return tick & UINT64_MAX << 6 * (digits - 1);
}

static void check_next(const struct rig *r)
{
	uint64_t first = first_due(r), next = wheel_next(&r->w);
	if (!any_pending(r)) {
		assert_true(next == UINT64_MAX);
		return;
	}
	/* In a round the rest of a slot that has started waits to be sorted. */
	uint64_t least = r->in_round ? r->seen : slot_start(r->seen, first);
	assert_true(next >= least && next <= first);
}

/* One wheel_expire, checked. */
static uint32_t expire(struct rig *r, uint64_t now)
{
	uint64_t first = first_due(r);
	bool some = any_pending(r) && first <= now;
	r->now = now;
	uint32_t i = wheel_expire(&r->w, now);
	r->in_round = some;
	if (!some) {
		assert_int_equal(i, WHEEL_NONE);
		r->seen = now;
		return i;
	}
	assert_true(i < RECORDS);
	assert_true(r->pending[i]);
	assert_true(due_of(r, i) == first);
	assert_false(wheel_pending(&r->w, i));
	r->pending[i] = false;
	r->seen = first;
	return i;
}

static void expire_all(struct rig *r, uint64_t now)
{
	while (expire(r, now) != WHEEL_NONE)
		;
}

/* --- tests --- */

static void zeroed_is_not_pending(void **s)
{
	(void)s;
	struct rig r;
	rig_init(&r, 77);
	for (uint32_t i = 0; i < RECORDS; i++) {
		assert_false(wheel_pending(&r.w, i));
		wheel_remove(&r.w, i);
	}
	assert_true(wheel_next(&r.w) == UINT64_MAX);
	assert_int_equal(wheel_expire(&r.w, UINT64_MAX), WHEEL_NONE);
	assert_true(sizeof(struct wheel) < 16 * 1024);
}

static void by_hand(void **s)
{
	(void)s;
	struct rig r;
	rig_init(&r, 0x1005);
	add(&r, 0, 0x1007);
	assert_true(wheel_next(&r.w) == 0x1007);
	add(&r, 1, 0x1047);
	take(&r, 0);
	assert_true(wheel_next(&r.w) == 0x1040);
	assert_int_equal(expire(&r, 0x1046), WHEEL_NONE);
	assert_true(wheel_next(&r.w) == 0x1047);
	add(&r, 2, 0x1046); /* not after now: due at once, with the same now */
	add(&r, 3, 0);
	assert_true(wheel_next(&r.w) == 0x1046);
	assert_int_equal(expire(&r, 0x1046) + expire(&r, 0x1046), 2 + 3);
	assert_int_equal(expire(&r, 0x1046), WHEEL_NONE);
	add(&r, 1, 0x3000); /* moved */
	assert_int_equal(expire(&r, 0x2fff), WHEEL_NONE);
	assert_int_equal(expire(&r, 0x3000), 1);
	assert_int_equal(expire(&r, 0x3000), WHEEL_NONE);
}

/* A deadline is neither early nor late by a tick, at distances around each power of two. */
static void exact_at_every_distance(void **s)
{
	(void)s;
	struct rig r;
	seed_random("exact_at_every_distance");
	for (unsigned bit = 0; bit < 64; bit++)
		for (unsigned around = 0; around < 5; around++) {
			uint64_t start = random64() >> random_below(64);
			uint64_t tick = start + ((uint64_t)1 << bit) + around - 2;
			if (tick <= start || tick < 3)
				continue; /* past the largest tick */
			rig_init(&r, start);
			add(&r, 5, tick);
			assert_int_equal(expire(&r, tick - 1), WHEEL_NONE);
			check_next(&r);
			assert_true(wheel_next(&r.w) == tick);
			assert_int_equal(expire(&r, tick), 5);
		}
}

/* The largest tick is a deadline like any other. */
static void end_of_time(void **s)
{
	(void)s;
	struct rig r;
	rig_init(&r, 0);
	add(&r, 0, UINT64_MAX);
	add(&r, 1, UINT64_MAX - 1);
	assert_int_equal(expire(&r, UINT64_MAX - 2), WHEEL_NONE);
	assert_int_equal(expire(&r, UINT64_MAX - 1), 1);
	assert_int_equal(expire(&r, UINT64_MAX - 1), WHEEL_NONE);
	assert_int_equal(expire(&r, UINT64_MAX), 0);
	assert_int_equal(expire(&r, UINT64_MAX), WHEEL_NONE);
}

/* Following wheel_next repeatedly reaches the deadline in at most one step per level. */
static void next_leads_to_it(void **s)
{
	(void)s;
	struct rig r;
	seed_random("next_leads_to_it");
	for (int round = 0; round < 2000; round++) {
		uint64_t start = random64() >> random_below(64) >> 1, steps = 0;
		rig_init(&r, start);
		add(&r, 9, start + 1 + (random64() >> random_below(64) >> 1));
		while (expire(&r, wheel_next(&r.w)) == WHEEL_NONE)
			assert_true(++steps < WHEEL_LEVELS);
		assert_true(r.now == r.tick[9]);
	}
}

/* Mostly a distance like those of TCP's timers, sometimes any. */
static uint64_t some_distance(void)
{
	switch (random_below(8)) {
	case 0: return random_below(4);
	case 1: return random_below(64);
	case 2: case 3: return random_below(1000);
	case 4: return random_below(120000);
	case 5: return random64() >> 32;
	case 6: return random64() >> (24 + random_below(40));
	default: return (uint64_t)64 << random_below(34);
	}
}

static void change_one(struct rig *r)
{
	uint32_t i = random_below(RECORDS);
	uint64_t d = some_distance();
	switch (random_below(5)) {
	case 0: take(r, i); break;
	case 1: add(r, i, d < r->now ? r->now - d : 0); break;
	default: add(r, i, r->now + d); break;
	}
	assert_int_equal(wheel_pending(&r->w, i), r->pending[i]);
}

static void random_changes(void **s)
{
	(void)s;
	struct rig r;
	seed_random("random_changes");
	for (int life = 0; life < 30; life++) {
		rig_init(&r, random_below(2) ? random_below(100000) : random64() >> 16);
		for (int step = 0; step < 1500; step++) {
			for (uint32_t n = random_below(6); n > 0; n--)
				change_one(&r);
			check_next(&r);
			uint64_t now = r.now + some_distance() / (1 + random_below(50));
			while (expire(&r, now) != WHEEL_NONE) {
				check_next(&r);
				if (random_below(3) == 0) /* the caller's work in between */
					change_one(&r);
			}
			check_next(&r);
			for (uint32_t i = 0; i < RECORDS; i++)
				assert_int_equal(wheel_pending(&r.w, i), r.pending[i]);
		}
		expire_all(&r, UINT64_MAX);
		assert_false(any_pending(&r));
	}
}

/* A record that is added again whenever it expires, like a retransmission timer. */
static void set_again_inside_expire(void **s)
{
	(void)s;
	struct rig r;
	rig_init(&r, 0);
	unsigned rounds = 0;
	add(&r, 3, 200);
	for (uint64_t now = 0; now < 1000000; now += 777) {
		uint32_t i;
		while ((i = expire(&r, now)) != WHEEL_NONE) {
			rounds++;
			add(&r, i, now + 200);
		}
	}
	assert_int_equal(rounds, 1287); /* at 777, and at every 777 after */
}

/* A million records, an hour at once, and the rest. */
static void a_million(void **s)
{
	(void)s;
	enum { MANY = 1000000 };
	struct wheel_node *node = calloc(MANY, sizeof *node);
	struct wheel w;
	uint32_t gone = 0, i, before = 0;
	uint64_t last = 0, hour = 3600000;
	seed_random("a_million");
	wheel_init(&w, node, sizeof *node, 0, 0);
	for (i = 0; i < MANY; i++)
		wheel_add(&w, i, 1 + random_below(1u << (8 + random_below(24))));
	for (i = 0; i < MANY; i++)
		before += node[i].tick <= hour;
	for (; (i = wheel_expire(&w, hour)) != WHEEL_NONE; gone++) {
		assert_true(node[i].tick >= last && node[i].tick <= hour);
		last = node[i].tick;
	}
	assert_int_equal(gone, before);
	for (; (i = wheel_expire(&w, UINT64_MAX)) != WHEEL_NONE; gone++) {
		assert_true(node[i].tick >= last && node[i].tick > hour);
		last = node[i].tick;
	}
	assert_int_equal(gone, MANY);
	free(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zeroed_is_not_pending),
		cmocka_unit_test(by_hand),
		cmocka_unit_test(exact_at_every_distance),
		cmocka_unit_test(end_of_time),
		cmocka_unit_test(next_leads_to_it),
		cmocka_unit_test(random_changes),
		cmocka_unit_test(set_again_inside_expire),
		cmocka_unit_test(a_million),
	};
	return cmocka_run_group_tests_name("wheel", tests, NULL, NULL);
}
