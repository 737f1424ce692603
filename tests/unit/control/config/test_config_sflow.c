/* control/config/config_sflow.c: the statements of sFlow, their errors, and back to text. */
#include "tests/unit/rig/config_rig.h"

static void test_statements(void **state)
{
	(void)state;
	admit("");
	assert_true(config.sflow.collectors == 0 && config.sflow.rate == 0 && !config.interface[0].sflow);
	admit("sflow collector 192.0.2.9\nsflow collector 2001:db8::9 port 9999\nsflow sampling-rate 16777215\n"
	      "sflow polling-interval 3600\ninterface eth1\n sflow enable\n");
	assert_int_equal(config.sflow.collectors, 2);
	assert_int_equal(config.sflow.collector[0].port, 6343);
	assert_int_equal(config.sflow.collector[1].port, 9999);
	assert_true(config.interface[1].sflow && !config.interface[0].sflow);
	round_trip();
	admit("interface eth1\n sflow enable\n no sflow enable\n");
	assert_false(config.interface[1].sflow);
}

static void test_refused(void **state)
{
	(void)state;
	refuse("sflow collector collector.example", 1, "collector.example", "expected the address of a collector");
	refuse("sflow collector 224.0.0.1", 1, "224.0.0.1", "expected the address of a collector");
	refuse("sflow collector fe80::1", 1, "fe80::1", "expected the address of a collector");
	refuse("sflow collector 192.0.2.9 port 65536", 1, "65536", "a UDP port must be");
	refuse("sflow collector 192.0.2.9 6343", 1, "6343", "unexpected word");
	refuse("sflow collector 192.0.2.9\nsflow collector 192.0.2.9 port 1", 2, "192.0.2.9", "this collector stands already");
	refuse("sflow collector 192.0.2.1\nsflow collector 192.0.2.2\nsflow collector 192.0.2.3", 3, "192.0.2.3",
	       "too many collectors; at most 2");
	refuse("sflow sampling-rate 0", 1, "0", "the number of packets of which one is sampled must be");
	refuse("sflow polling-interval 3601", 1, "3601", "the time between counter samples must be");
	refuse("interface eth0.5\n sflow enable", 2, "enable", "ports are sampled: this belongs into the block of one");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statements),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests_name("config_sflow", tests, NULL, NULL);
}
