/* control/config/config_lldp.c: the statements of LLDP, their errors, and back to text. */
#include "tests/unit/rig/config_rig.h"

static void test_defaults(void **state)
{
	(void)state;
	admit("");
	assert_false(config.lldp.run);
	assert_int_equal(config_lldp_timer_s(&config), 30);
	assert_int_equal(config_lldp_hold_s(&config), 121);
	assert_false(config.interface[0].lldp_no_transmit || config.interface[0].lldp_no_receive);
}

static void test_times(void **state)
{
	(void)state;
	admit("lldp run\nlldp timer 3600\n");
	assert_true(config.lldp.run);
	assert_int_equal(config_lldp_hold_s(&config), 14401);
	round_trip();
	admit("lldp holdtime 31\n"); /* more than the default of the timer */
	round_trip();
	admit("lldp holdtime 65535\nlldp timer 1\n");
	assert_int_equal(config_lldp_timer_s(&config), 1);
	assert_int_equal(config_lldp_hold_s(&config), 65535);
	round_trip();
}

static void test_ports(void **state)
{
	(void)state;
	admit("interface eth0\n no lldp transmit\ninterface eth1\n no lldp receive\n");
	assert_true(config.interface[0].lldp_no_transmit && !config.interface[0].lldp_no_receive);
	assert_true(config.interface[1].lldp_no_receive && !config.interface[1].lldp_no_transmit);
	round_trip();
	admit("interface eth0\n no lldp transmit\n lldp transmit\n no lldp receive\n lldp receive\n");
	assert_false(config.interface[0].lldp_no_transmit || config.interface[0].lldp_no_receive);
	round_trip();
}

static void test_refused(void **state)
{
	(void)state;
	refuse("lldp timer 0", 1, "0", "the time between LLDP frames must be a decimal number from 1 to 3600");
	refuse("lldp timer 3601", 1, "3601", "the time between LLDP frames must be a decimal number from 1 to 3600");
	refuse("lldp holdtime 65536", 1, "65536", "the time to live of LLDP frames must be a decimal number from 1 to 65535");
	refuse("lldp run\nlldp timer 60\nlldp holdtime 60\n", 3, "holdtime 60",
	       "the hold time must be longer than the time between LLDP frames, 60 seconds");
	refuse("lldp holdtime 30\nlldp run", 1, "holdtime 30",
	       "the hold time must be longer than the time between LLDP frames, 30 seconds");
	refuse("lldp run now", 1, "now", "unexpected word; expected \"lldp run\"");
	refuse("interface eth0.5\n no lldp transmit", 2, "transmit",
	       "LLDP is spoken by a port: this belongs into the block of one, such as eth0");
	refuse("interface lo0\n no lldp receive", 2, "receive",
	       "LLDP is spoken by a port: this belongs into the block of one, such as eth0");
	refuse("lldp run\nlldp run", 2, "lldp", "\"lldp run\" stands already at line 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests_name("config_lldp", tests, NULL, NULL);
}
