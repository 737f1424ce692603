/* control/config/config_stp.c: the statements of the spanning tree, their errors, and back to text. */
#include "tests/unit/rig/config_rig.h"

#define ETH0 "interface eth0\n"

static void test_defaults(void **state)
{
	(void)state;
	const struct stp_params want = STP_PARAMS_DEFAULT;
	admit("");
	assert_false(config.stp.off);
	assert_false(config.stp.recovers);
	assert_int_equal(config.stp.recovery_s, 300);
	assert_int_equal(config.stp.bridge.priority, want.priority);
	assert_int_equal(config.stp.bridge.version, STP_VERSION_RSTP);
	assert_null(stp_params_wrong(&config.stp.bridge));
	for (unsigned p = 0; p < CONFIG_PORTS_MAX; p++) {
		const struct config_stp_port *s = &config.switchport[p].stp;
		assert_int_equal(s->priority, 128);
		assert_int_equal(s->cost, 0);
		assert_int_equal(s->portfast, CONFIG_PORTFAST_AUTO);
		assert_int_equal(s->link_type, STP_LINK_AUTO);
		assert_false(s->guard);
	}
}

static void test_bridge(void **state)
{
	(void)state;
	admit("spanning-tree mode stp\nspanning-tree priority 4096\nspanning-tree hello-time 1\n"
	      "spanning-tree max-age 6\nspanning-tree forward-time 4\nspanning-tree transmit hold-count 10\n"
	      "errdisable recovery cause bpduguard\nerrdisable recovery interval 30\n");
	assert_int_equal(config.stp.line, 1);
	assert_int_equal(config.stp.times_line, 5);
	assert_int_equal(config.stp.bridge.version, STP_VERSION_STP);
	assert_int_equal(config.stp.bridge.priority, 4096);
	assert_int_equal(config.stp.bridge.hello_s, 1);
	assert_int_equal(config.stp.bridge.max_age_s, 6);
	assert_int_equal(config.stp.bridge.forward_delay_s, 4);
	assert_int_equal(config.stp.bridge.tx_hold, 10);
	assert_true(config.stp.recovers);
	assert_false(config.stp.storm_recovers);
	assert_int_equal(config.stp.recovery_s, 30);
	round_trip();
	admit("errdisable recovery cause storm-control\n");
	assert_int_equal(config.stp.line, 1);
	assert_true(config.stp.storm_recovers);
	assert_false(config.stp.recovers);
	round_trip();
	admit("errdisable recovery cause storm-control\nerrdisable recovery cause bpduguard\n");
	assert_true(config.stp.storm_recovers && config.stp.recovers);
	round_trip();
	admit("spanning-tree mode none\n");
	assert_true(config.stp.off);
	round_trip();
	admit("spanning-tree mode rstp\nspanning-tree priority 0\n");
	assert_false(config.stp.off);
	assert_int_equal(config.stp.bridge.version, STP_VERSION_RSTP);
	assert_int_equal(config.stp.bridge.priority, 0);
	round_trip();
}

static void test_port(void **state)
{
	(void)state;
	admit(ETH0 " spanning-tree cost 200000000\n spanning-tree port-priority 0\n"
	           " spanning-tree link-type shared\n spanning-tree portfast\n"
	           " spanning-tree bpduguard enable\n");
	const struct config_stp_port *s = &config.switchport[0].stp;
	assert_int_equal(s->cost, 200000000);
	assert_int_equal(s->priority, 0);
	assert_int_equal(s->link_type, STP_LINK_SHARED);
	assert_int_equal(s->portfast, CONFIG_PORTFAST_EDGE);
	assert_true(s->guard);
	assert_int_equal(config.switchport[1].stp.priority, 128);
	assert_int_equal(config.switchport[0].line, 2); /* a router refuses that line */
	assert_int_equal(config.stp.line, 0);
	round_trip();
	admit(ETH0 " spanning-tree port-priority 240\n spanning-tree link-type point-to-point\n"
	           " spanning-tree portfast disable\n spanning-tree bpduguard disable\n");
	assert_int_equal(s->priority, 240);
	assert_int_equal(s->link_type, STP_LINK_POINT_TO_POINT);
	assert_int_equal(s->portfast, CONFIG_PORTFAST_OFF);
	assert_false(s->guard);
	round_trip();
	admit(ETH0 " spanning-tree link-type auto\n spanning-tree portfast auto\n");
	assert_int_equal(s->link_type, STP_LINK_AUTO);
	assert_int_equal(s->portfast, CONFIG_PORTFAST_AUTO);
	round_trip();
}

static void test_errors(void **state)
{
	(void)state;
	refuse("spanning-tree", 1, "", "expected mode, priority, hello-time");
	refuse("spanning-tree mode", 1, "", "the line ends too early");
	refuse("spanning-tree mode mst", 1, "mst", "unknown mode");
	refuse("spanning-tree mode rstp now", 1, "now", "unexpected word");
	refuse("spanning-tree priority 4095", 1, "4095", "the bridge priority must be a multiple of 4096");
	refuse("spanning-tree priority 61441", 1, "61441", "the bridge priority");
	refuse("spanning-tree hello-time 3", 1, "3", "the hello time in seconds");
	refuse("spanning-tree max-age 5", 1, "5", "the max age in seconds");
	refuse("spanning-tree forward-time 31", 1, "31", "the forward delay in seconds");
	refuse("spanning-tree transmit hold-count 0", 1, "0", "the transmit hold count");
	refuse("spanning-tree cost 5", 1, "spanning-tree", "\"spanning-tree cost\" belongs into an interface");
	refuse("interface vlan5\nspanning-tree cost 5", 2, "cost", "only a port switches");
	refuse(ETH0 "spanning-tree cost 0", 2, "0", "the path cost");
	refuse(ETH0 "spanning-tree cost 200000001", 2, "200000001", "the path cost");
	refuse(ETH0 "spanning-tree port-priority 8", 2, "8", "the port priority must be a multiple of 16");
	refuse(ETH0 "spanning-tree port-priority 256", 2, "256", "the port priority");
	refuse(ETH0 "spanning-tree link-type", 2, "", "the line ends too early");
	refuse(ETH0 "spanning-tree link-type bus", 2, "bus", "unknown link type");
	refuse(ETH0 "spanning-tree portfast trunk", 2, "trunk", "expected auto");
	refuse(ETH0 "spanning-tree bpduguard", 2, "", "the line ends too early");
	refuse(ETH0 "spanning-tree bpduguard on", 2, "on", "expected enable or disable");
	refuse("errdisable recovery cause loop", 1, "loop", "unknown cause; expected bpduguard or storm-control");
	refuse("errdisable recovery cause storm-control bpduguard", 1, "bpduguard", "unexpected word");
	refuse("errdisable recovery interval 29", 1, "29", "the recovery interval");
}

/* 802.1D-2004 17.14: 2 * (forward delay - 1) >= max age >= 2 * (hello time + 1). The error names the last of
 * the lines that set a time. */
static void test_relations(void **state)
{
	(void)state;
	refuse("hostname s\nspanning-tree max-age 29", 2, "spanning-tree",
	       "the max age is more than 2 * (forward delay - 1 second)");
	admit("spanning-tree max-age 28");
	refuse("spanning-tree max-age 6\nspanning-tree hello-time 1\nspanning-tree forward-time 4\n"
	       "spanning-tree priority 0\nspanning-tree forward-time 4", 5, "spanning-tree", "\"spanning-tree forward-time\" stands already");
	refuse("spanning-tree forward-time 10\nspanning-tree max-age 19", 2, "spanning-tree", "the max age is more");
	admit("spanning-tree hello-time 2\nspanning-tree max-age 6");
	refuse("spanning-tree forward-time 4\nspanning-tree hello-time 1\nspanning-tree max-age 7\n", 3,
	       "spanning-tree", "the max age is more");
}

static void test_hostile(void **state)
{
	(void)state;
	static const char *const pieces[] = {"spanning-tree ", "mode ", "stp", "none", "priority ", "61440", "0", "\n",
	                                     "cost ", "portfast ", "disable", "interface eth1\n", "max-age ", "6"};
	hostile("interface eth0\n spanning-tree cost 100\n spanning-tree port-priority 16\n"
	        " spanning-tree link-type shared\n spanning-tree portfast\n spanning-tree bpduguard enable\n"
	        "spanning-tree mode stp\nspanning-tree priority 8192\nspanning-tree hello-time 1\n"
	        "spanning-tree max-age 20\nspanning-tree forward-time 15\n"
	        "spanning-tree transmit hold-count 3\nerrdisable recovery cause bpduguard\n"
	        "errdisable recovery cause storm-control\n"
	        "errdisable recovery interval 60\n", pieces, ARRAY_LEN(pieces));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_bridge), cmocka_unit_test(test_port),
		cmocka_unit_test(test_errors), cmocka_unit_test(test_relations), cmocka_unit_test(test_hostile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
