/* runtime/app_timer.h */
#include "tests/unit/rig/host.h"

#include "runtime/app_timer.h"

static void without_packets(void **state)
{
	(void)state;
	struct app_timer t = {.slack = 100};
	assert_true(app_timer_due(&t, 0, false)); /* the first turn */
	app_timer_called(&t, 500);
	assert_false(app_timer_due(&t, 499, false));
	assert_true(app_timer_due(&t, 500, false));
	app_timer_called(&t, UINT64_MAX);
	assert_false(app_timer_due(&t, UINT64_MAX - 1, false));
}

static void waits_for_a_turn_without_packets(void **state)
{
	(void)state;
	struct app_timer t = {.at = 5000, .slack = 100};
	assert_false(app_timer_due(&t, 1000, true));
	assert_int_equal(t.at, 1100); /* the core does not sleep beyond it */
	assert_false(app_timer_due(&t, 1099, true));
	assert_true(app_timer_due(&t, 1099, false));
	app_timer_called(&t, 5000);
	assert_false(app_timer_due(&t, 1101, false)); /* owed once */
}

static void waits_no_longer_than_the_slack(void **state)
{
	(void)state;
	struct app_timer t = {.at = UINT64_MAX, .slack = 100};
	assert_false(app_timer_due(&t, 1000, true));
	for (uint64_t now = 1001; now < 1100; now++) /* later packets do not move it */
		assert_false(app_timer_due(&t, now, true));
	assert_true(app_timer_due(&t, 1100, true));
	app_timer_called(&t, UINT64_MAX);
	assert_false(app_timer_due(&t, 1150, true));
	assert_true(app_timer_due(&t, 1250, true));
}

static void an_earlier_time_stays(void **state)
{
	(void)state;
	struct app_timer t = {.at = 1010, .slack = 100};
	assert_false(app_timer_due(&t, 1000, true));
	assert_true(app_timer_due(&t, 1010, true));
	app_timer_called(&t, 900); /* overdue: in the next turn, whatever it moves */
	assert_true(app_timer_due(&t, 1011, true));
}

static void without_slack_in_the_same_turn(void **state)
{
	(void)state;
	struct app_timer t = {.at = UINT64_MAX};
	assert_false(app_timer_due(&t, 999, false));
	assert_true(app_timer_due(&t, 1000, true));
	app_timer_called(&t, UINT64_MAX);
	assert_false(app_timer_due(&t, 1001, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_packets),
		cmocka_unit_test(waits_for_a_turn_without_packets),
		cmocka_unit_test(waits_no_longer_than_the_slack),
		cmocka_unit_test(an_earlier_time_stays),
		cmocka_unit_test(without_slack_in_the_same_turn),
	};
	return cmocka_run_group_tests_name("app_timer", tests, NULL, NULL);
}
