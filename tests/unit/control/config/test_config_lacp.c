/* control/config/config_lacp.c: port channels, their errors, and back to text. */
#include "tests/unit/rig/config_rig.h"

#define PAIR \
	"interface eth3\n channel-group 2 mode active\n lacp rate fast\n lacp port-priority 5\n" \
	"interface eth1\n channel-group 2 mode passive\n lacp rate normal\n lacp port-priority 32768\n"
#define BLOCK "interface port-channel2\n"

static void test_pair(void **state)
{
	(void)state;
	admit(PAIR BLOCK " port-channel min-links 2\n ip address 192.0.2.1/24\nlacp system-priority 0\n");
	assert_int_equal(config_channel_of(&config, 3), 2);
	assert_int_equal(config_channel_of(&config, 0), 0);
	assert_int_equal(config_channel_port(&config, 2), 1);
	assert_int_equal(config_channel_port(&config, 1), -1);
	assert_int_equal(config_channel_port(&config, 0), -1);
	assert_int_equal(config_logical(&config, 3), 1);
	assert_int_equal(config_logical(&config, 2), 2);
	assert_int_equal(config.member[3].mode, LACP_ACTIVE);
	assert_true(config.member[3].fast && config.member[3].has_priority && config.member[3].priority == 5);
	assert_false(config.member[1].fast || config.member[1].has_priority);
	assert_int_equal(config.min_links[2], 2);
	assert_int_equal(config.lacp_priority, 0);
	const int n = config_number(&config, 2 | CONFIG_KEY_CHANNEL);
	assert_int_equal(n, CONFIG_PORTS_MAX);
	assert_true(config_is_channel(&config.interface[n]));
	assert_int_equal(config_if_port(&config, &config.interface[n]), 1);
	assert_int_equal(config_if_vid(&config.interface[n]), 0);
	assert_ptr_equal(config_logical_interface(&config, 3), &config.interface[n]);
	round_trip();
}

static void test_vlan(void **state)
{
	(void)state;
	admit(PAIR BLOCK "interface port-channel2.4094\n ip address 192.0.2.1/24\n");
	const int n = config_number(&config, 2 | 4094u << 8 | CONFIG_KEY_CHANNEL);
	assert_true(n > CONFIG_PORTS_MAX);
	assert_int_equal(config_if_port(&config, &config.interface[n]), 1);
	assert_int_equal(config_if_vid(&config.interface[n]), 4094);
	round_trip();
}

static void test_switchport(void **state)
{
	(void)state;
	admit(PAIR BLOCK " switchport access vlan 7\n"
	      "mac address-table static 02:00:00:00:00:01 vlan 7 interface port-channel2\n");
	for (unsigned p = 1; p <= 3; p += 2) {
		assert_int_equal(config_switch_untagged(&config, p), 7);
		assert_true(config_switch_carries(&config, p, 7));
	}
	assert_int_equal(config_switch_untagged(&config, 2), 1);
	assert_int_equal(config_mac_port(&config, &config.mac[0]), 1);
	round_trip();
}

static void test_shutdown(void **state)
{
	(void)state;
	admit(PAIR BLOCK " shutdown\ninterface eth2\n shutdown\n");
	assert_true(config_logical_shut(&config, 1) && config_logical_shut(&config, 3));
	assert_true(config_logical_shut(&config, 2));
	assert_false(config_logical_shut(&config, 0));
	round_trip();
}

static void test_on(void **state)
{
	(void)state;
	admit("interface eth0\n channel-group 16 mode on\ninterface port-channel16\n");
	assert_int_equal(config.member[0].mode, LACP_ON);
	round_trip();
}

static void test_wrong(void **state)
{
	(void)state;
	refuse("interface eth0\n channel-group 0 mode on\n", 2, "0", "the port channel");
	refuse("interface eth0\n channel-group 17 mode on\n", 2, "17", "the port channel");
	refuse("interface eth0\n channel-group 1 active\n", 2, "active", "expected mode");
	refuse("interface eth0\n channel-group 1 mode auto\n", 2, "auto", "unknown mode");
	refuse("interface eth0\n lacp rate slow\n", 2, "slow", "unknown rate");
	refuse("interface eth0\n lacp port-priority 65536\n", 2, "65536", "the priority");
	refuse("lacp system-priority 65536\n", 1, "65536", "the priority");
	refuse("interface lo0\n lacp rate fast\n", 2, "rate", "this belongs into the block of a port");
	refuse("interface eth0\n port-channel min-links 2\n", 2, "min-links", "this belongs into the block of a port channel");
	refuse("interface port-channel17\n", 1, "port-channel17", "unknown interface");
	refuse("interface port-channel0\n", 1, "port-channel0", "unknown interface");
	refuse("interface port-channel1.4095\n", 1, "port-channel1.4095", "unknown interface");
}

static void test_whole(void **state)
{
	(void)state;
	refuse("interface eth0\n channel-group 1 mode on\n", 2, "eth0", "port-channel1 has no block");
	refuse("interface port-channel1\n", 1, "port-channel1", "no port has the statement");
	refuse("interface eth0\n lacp rate fast\n", 2, "eth0", "the port is in no channel-group");
	refuse(BLOCK PAIR "interface eth4\n channel-group 2 mode on\n", 11, "eth4", "mode on does not go with LACP");
	refuse(BLOCK PAIR "interface eth3.7\n", 10, "eth3.7", "eth3 is in port-channel2");
	refuse(BLOCK PAIR " ip address 192.0.2.1/24\n", 10, "eth1", "addresses belong into the block of port-channel2");
	refuse(BLOCK PAIR " ipv6 enable\n", 10, "eth1", "addresses belong");
	refuse(BLOCK PAIR " mtu 1400\n", 10, "eth1", "the MTU belong");
	refuse(BLOCK PAIR " switchport mode trunk\n", 10, "eth1", "switchport statements belong");
	refuse(BLOCK PAIR " ip redirects\n", 10, "eth1", "redirects and broadcasts belong");
	refuse(BLOCK PAIR " routing engine vni 7\n", 10, "eth1", "statements of the routing engine belong");
	refuse(BLOCK PAIR "mac address-table static 02:00:00:00:00:01 vlan 1 interface eth1\n", 10, "eth1",
	       "the port is in port-channel2");
	refuse("mac address-table static 02:00:00:00:00:01 vlan 1 interface port-channel3\n", 1, "port-channel3",
	       "the port channel has no port");
}

static void test_hostile(void **state)
{
	(void)state;
	static const char *const pieces[] = {"channel-group 2 mode on\n", "interface port-channel2\n", "lacp rate fast\n",
	                                     "interface eth1\n", "port-channel min-links 3\n", "mtu 1400\n"};
	hostile(PAIR BLOCK " port-channel min-links 2\nlacp system-priority 9\n", pieces, ARRAY_LEN(pieces));
}

int main(void)
{
	seed_random("test_config_lacp");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pair),     cmocka_unit_test(test_vlan), cmocka_unit_test(test_switchport),
		cmocka_unit_test(test_shutdown), cmocka_unit_test(test_on),   cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_whole),    cmocka_unit_test(test_hostile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
