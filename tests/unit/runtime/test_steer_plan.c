/* runtime/steer_plan: which core takes packets from which. */
#include "tests/unit/rig/host.h"

#include "runtime/steer_plan.c"

#define N 64

static uint8_t pair_of[N], owner_of[N];
static bool alive[N];
static unsigned node[N];

static int setup(void **s)
{
	(void)s;
	memset(pair_of, 0xff, sizeof pair_of);
	memset(alive, true, sizeof alive);
	memset(node, 0, sizeof node);
	memset(owner_of, STEER_NOBODY, sizeof owner_of);
	return 0;
}

static unsigned workers_of(unsigned owner)
{
	unsigned n = 0;
	for (unsigned d = 0; d < N; d++)
		n += owner_of[d] == owner;
	return n;
}

static void one_pair(void **s)
{
	(void)s;
	pair_of[1] = 0;
	steer_plan(4, pair_of, alive, node, owner_of);
	assert_memory_equal(owner_of, ((uint8_t[]){1, STEER_NOBODY, 1, 1}), 4);
}

static void shared_evenly(void **s)
{
	(void)s;
	pair_of[0] = 0;
	pair_of[1] = 1;
	steer_plan(7, pair_of, alive, node, owner_of);
	assert_memory_equal(owner_of, ((uint8_t[]){STEER_NOBODY, STEER_NOBODY, 0, 1, 0, 1, 0}), 7);
}

static void near_first(void **s)
{
	(void)s;
	pair_of[0] = 0;
	pair_of[1] = 1;
	node[1] = node[2] = node[3] = 1;
	node[4] = 2; /* no owner there */
	steer_plan(5, pair_of, alive, node, owner_of);
	assert_memory_equal(owner_of, ((uint8_t[]){STEER_NOBODY, STEER_NOBODY, 1, 1, 0}), 5);
}

static void the_dead_take_nothing(void **s)
{
	(void)s;
	pair_of[0] = 0;
	alive[2] = false;
	steer_plan(4, pair_of, alive, node, owner_of);
	assert_memory_equal(owner_of, ((uint8_t[]){STEER_NOBODY, 0, STEER_NOBODY, 0}), 4);
}

static void nobody_has_a_pair(void **s)
{
	(void)s;
	steer_plan(3, pair_of, alive, node, owner_of);
	assert_memory_equal(owner_of, ((uint8_t[]){STEER_NOBODY, STEER_NOBODY, STEER_NOBODY}), 3);
}

/* The rest goes to owners of other nodes, then stands by. */
static void limit(void **s)
{
	(void)s;
	pair_of[0] = 0;
	pair_of[1] = 1;
	node[1] = 1;
	steer_plan(20, pair_of, alive, node, owner_of);
	assert_int_equal(workers_of(0), STEER_WORKERS_MAX);
	assert_int_equal(workers_of(1), 18 - STEER_WORKERS_MAX);
	steer_plan(N, pair_of, alive, node, owner_of);
	assert_int_equal(workers_of(0), STEER_WORKERS_MAX);
	assert_int_equal(workers_of(1), STEER_WORKERS_MAX);
	assert_int_equal(owner_of[N - 1], STEER_NOBODY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_pair, setup),
		cmocka_unit_test_setup(shared_evenly, setup),
		cmocka_unit_test_setup(near_first, setup),
		cmocka_unit_test_setup(the_dead_take_nothing, setup),
		cmocka_unit_test_setup(nobody_has_a_pair, setup),
		cmocka_unit_test_setup(limit, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
