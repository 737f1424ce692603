/* control/config/config_switch.c: the statements of the switch, their errors, and back to text. */
#include "tests/unit/rig/config_rig.h"

#define ETH0 "interface eth0\n"

static bool carries(unsigned port, unsigned vid) { return config_switch_carries(&config, port, vid); }

static void test_defaults(void **state)
{
	(void)state;
	admit("");
	assert_int_equal(config.aging_s, 300);
	assert_int_equal(config.mac_count, 0);
	for (unsigned p = 0; p < CONFIG_PORTS_MAX; p++) {
		assert_int_equal(config_switch_untagged(&config, p), 1);
		assert_true(carries(p, 1));
		assert_false(carries(p, 2));
	}
}

static void test_access(void **state)
{
	(void)state;
	admit(ETH0 " switchport access vlan 20\n");
	assert_int_equal(config_switch_untagged(&config, 0), 20);
	assert_true(carries(0, 20));
	assert_false(carries(0, 1));
	admit(ETH0 " switchport access vlan 1\n");
	assert_int_equal(config.switchport[0].access, 0);
	round_trip();
}

static void test_trunk(void **state)
{
	(void)state;
	admit(ETH0 " switchport mode trunk\n switchport access vlan 20\n");
	assert_int_equal(config_switch_untagged(&config, 0), 1);
	assert_true(carries(0, 4094));
	round_trip();
	admit(ETH0 " switchport mode trunk\n switchport trunk allowed vlan 7,10-12,4094\n"
	      " switchport trunk native vlan 7\n");
	assert_int_equal(config_switch_untagged(&config, 0), 7);
	for (unsigned vid = 1; vid <= 4094; vid++)
		assert_int_equal(carries(0, vid), vid == 7 || (vid >= 10 && vid <= 12) || vid == 4094);
	round_trip();
	admit(ETH0 " switchport mode trunk\n switchport trunk allowed vlan none\n"
	      " switchport trunk native vlan none\n");
	assert_int_equal(config_switch_untagged(&config, 0), 0);
	for (unsigned vid = 1; vid <= 4094; vid++)
		assert_false(carries(0, vid));
	round_trip();
	admit(ETH0 " switchport mode trunk\n switchport trunk allowed vlan all\n");
	assert_true(carries(0, 2));
	round_trip();
}

static void test_list_text(void **state)
{
	(void)state;
	char text[CONFIG_VID_LIST + 1];
	admit(ETH0 " switchport trunk allowed vlan 30,5,4,3,29,1,31-40,40\n");
	assert_string_equal(config_vid_list(text, config.switchport[0].allowed), "1,3-5,29-40");
	/* the longest list that is taken is printed whole */
	char line[300] = ETH0 " switchport trunk allowed vlan ";
	size_t from = strlen(line);
	for (unsigned vid = 1000; strlen(line) - from + 5 <= CONFIG_VID_LIST; vid += 2)
		sprintf(line + strlen(line), "%s%u", vid > 1000 ? "," : "", vid);
	strcat(line, "\n");
	admit(line);
	round_trip();
}

static void test_stations(void **state)
{
	(void)state;
	admit("mac address-table static 0200.0000.0001 vlan 1 interface eth3\n"
	      "mac address-table static 02:00:00:00:00:01 vlan 2 interface eth1\n"
	      "mac address-table aging-time 1000000\n"
	      "interface eth1\n switchport access vlan 2\n mac address-table limit 100\n"
	      "interface vlan2\n ip address 192.0.2.1/24\ninterface vlan4094\n");
	assert_int_equal(config.mac_count, 2);
	assert_int_equal(config.mac[1].port, 1);
	assert_int_equal(config.mac[1].vid, 2);
	assert_int_equal(config.aging_s, 1000000);
	assert_int_equal(config.switchport[1].limit, 100);
	assert_int_equal(config.interfaces, CONFIG_PORTS_MAX + 2);
	assert_true(config_is_svi(&config.interface[CONFIG_PORTS_MAX]));
	assert_int_equal(config_if_vid(&config.interface[CONFIG_PORTS_MAX]), 2);
	assert_int_equal(config_if_vid(&config.interface[CONFIG_PORTS_MAX + 1]), 4094);
	round_trip();
	admit("mac address-table aging-time 0\n");
	round_trip();
}

static void test_storm(void **state)
{
	(void)state;
	admit(ETH0 " storm-control broadcast level 1\n storm-control multicast level 1000000000\n"
	      "interface eth1\n storm-control unknown-unicast level 500\n");
	for (unsigned class = 0; class < CONFIG_STORMS; class++) {
		assert_int_equal(config.switchport[0].storm[class], class == 0 ? 1 : class == 1 ? 1000000000 : 0);
		assert_int_equal(config.switchport[1].storm[class], class == 2 ? 500 : 0);
	}
	assert_false(config.switchport[0].storm_shutdown);
	round_trip();
	admit(ETH0 " storm-control action shutdown\ninterface eth1\n storm-control action drop\n");
	assert_true(config.switchport[0].storm_shutdown);
	assert_false(config.switchport[1].storm_shutdown);
	assert_int_equal(config.switchport[1].line, 4); /* a router refuses that line */
	round_trip();
	refuse(ETH0 "storm-control action", 2, "", "the line ends too early");
	refuse(ETH0 "storm-control action trap", 2, "trap", "unknown action; expected drop or shutdown");
	refuse(ETH0 "storm-control action shutdown now", 2, "now", "unexpected word");
	refuse("interface vlan10\nstorm-control action shutdown", 2, "action", "only a port switches");
	refuse("storm-control broadcast level 5", 1, "storm-control", "\"storm-control broadcast level\" belongs into an interface");
	refuse("interface vlan10\nstorm-control broadcast level 5", 2, "level", "only a port switches");
	refuse(ETH0 "storm-control broadcast level 0", 2, "0", "the level in packets per second");
	refuse(ETH0 "storm-control broadcast level 1000000001", 2, "1000000001", "the level in packets per second");
	refuse(ETH0 "storm-control broadcast level 10%", 2, "10%", "the level in packets per second");
	refuse(ETH0 "storm-control broadcast level 5 pps", 2, "pps", "unexpected word");
	refuse(ETH0 "storm-control unicast level 5", 2, "unicast", "expected broadcast, multicast, unknown-unicast");
	refuse(ETH0 "storm-control broadcast level 5\nstorm-control broadcast level 6", 3, "storm-control",
	       "\"storm-control broadcast level\" stands already at line 2");
}

static void test_snoop(void **state)
{
	(void)state;
	admit("ip igmp snooping querier\nip igmp snooping query-interval 30\nip igmp snooping vlan 1 fast-leave\n"
	      "ip igmp snooping vlan 1 mrouter interface eth2\nip igmp snooping vlan 4094 off\n"
	      "ipv6 mld snooping off\nipv6 mld snooping query-interval 125\nipv6 mld snooping vlan 7 querier\n"
	      ETH0 " switchport unknown-multicast flood\n");
	assert_true(config.snoop[0].querier && !config.snoop[0].off);
	assert_true(config.snoop[1].off && !config.snoop[1].querier);
	assert_int_equal(config.snoop[0].interval_s, 30);
	assert_int_equal(config.snoop[1].interval_s, 0);
	assert_int_equal(config.snoop[0].fast_leave[0], 2);
	assert_int_equal(config.snoop[0].vlan_off[63], 1ull << 62);
	assert_int_equal(config.snoop[1].vlan_querier[0], 1 << 7);
	assert_int_equal(config.mrouter_count, 1);
	assert_int_equal(config.mrouter[0].port, 2);
	assert_true(config.switchport[0].unknown_multicast);
	round_trip();
	refuse("ip igmp snooping vlan 0 off", 1, "0", "the VLAN");
	refuse("ip igmp snooping vlan 5", 1, "", "the line ends too early");
	refuse("ip igmp snooping vlan 5 on", 1, "on", "expected off, querier, fast-leave or mrouter");
	refuse("ip igmp snooping vlan 5 off now", 1, "now", "unexpected word");
	refuse("ipv6 mld snooping query-interval 1", 1, "1", "the interval in seconds");
	refuse("ipv6 mld snooping query-interval 18001", 1, "18001", "the interval in seconds");
	refuse("ip igmp snooping vlan 1 mrouter eth0", 1, "eth0", "expected interface");
	refuse("ip igmp snooping vlan 1 mrouter interface lo0", 1, "lo0", "a router is behind a port");
	refuse("ip igmp snooping vlan 1 mrouter interface eth0\nip igmp snooping vlan 1 mrouter interface eth0", 2,
	       "eth0", "the same stands at line 1");
	refuse("ip igmp snooping vlan 2 mrouter interface eth0", 1, "eth0", "the port does not carry VLAN 2");
}

static void test_errors(void **state)
{
	(void)state;
	refuse("switchport mode access", 1, "switchport", "\"switchport mode\" belongs into an interface");
	refuse(ETH0 "switchport mode", 2, "", "the line ends too early");
	refuse(ETH0 "switchport mode dynamic", 2, "dynamic", "unknown mode");
	refuse(ETH0 "switchport mode trunk on", 2, "on", "unexpected word");
	refuse(ETH0 "switchport access vlan 0", 2, "0", "the VLAN");
	refuse(ETH0 "switchport access vlan 4095", 2, "4095", "the VLAN");
	refuse(ETH0 "switchport trunk native vlan", 2, "", "the line ends too early");
	refuse(ETH0 "switchport trunk allowed vlan 5-", 2, "5-", "expected VLANs");
	refuse(ETH0 "switchport trunk allowed vlan 5,", 2, "5,", "a VLAN is missing");
	refuse(ETH0 "switchport trunk allowed vlan ,5", 2, ",5", "expected VLANs");
	refuse(ETH0 "switchport trunk allowed vlan 5-4095", 2, "5-4095", "expected VLANs");
	refuse(ETH0 "switchport trunk allowed vlan 9-5", 2, "9-5", "the range 9-5 runs backwards");
	refuse(ETH0 "switchport trunk allowed vlan 1 2", 2, "2", "unexpected word");
	refuse("interface vlan10\nswitchport mode trunk", 2, "mode", "only a port switches");
	refuse("interface eth0.5\nswitchport mode trunk", 2, "mode", "only a port switches");
	refuse("interface vlan0", 1, "vlan0", "unknown interface");
	refuse("interface vlan4095", 1, "vlan4095", "unknown interface");
	refuse(ETH0 "mac address-table limit 0", 2, "0", "the number of addresses");
	refuse("mac address-table aging-time 9", 1, "9", "the ageing time is");
	refuse("mac address-table aging-time 1000001", 1, "1000001", "the ageing time");
	refuse("mac address-table static 0200.0000.0001 vlan 1", 1, "", "expected interface");
	refuse("mac address-table static 0200.0000.0001 1 eth0", 1, "1", "expected vlan");
	refuse("mac address-table static 0100.5e00.0001 vlan 1 interface eth0", 1, "0100.5e00.0001",
	       "the MAC address of a neighbour");
	refuse("mac address-table static 0200.0000.0001 vlan 1 interface lo0", 1, "lo0",
	       "a station is behind a port");
	refuse("mac address-table static 0200.0000.0001 vlan 1 interface eth0\n"
	       "mac address-table static 0200.0000.0001 vlan 1 interface eth1", 2, "0200.0000.0001",
	       "this address has an entry in VLAN 1 already, at line 1");
	refuse("mac address-table static 0200.0000.0001 vlan 2 interface eth0", 1, "eth0",
	       "the port does not carry VLAN 2");
}

static void test_hostile(void **state)
{
	(void)state;
	static const char *const pieces[] = {"switchport ", "trunk ", "allowed vlan ", ",", "-", "4094", "4095", "0",
	                                     "none", "all", "\n", "interface vlan7\n", "mac address-table ",
	                                     "static ", "limit 5", "storm-control "};
	hostile("interface eth0\n switchport mode trunk\n switchport trunk allowed vlan 1,7-9,4000-4094\n"
	        " switchport trunk native vlan 7\n mac address-table limit 9\ninterface eth1\n"
	        " switchport access vlan 7\n storm-control broadcast level 100\ninterface vlan7\n ip address 192.0.2.1/24\n"
	        "mac address-table static 0200.0000.0001 vlan 7 interface eth1\n"
	        "mac address-table aging-time 20\n", pieces, ARRAY_LEN(pieces));
}

static void test_monitor_sessions(void **state)
{
	(void)state;
	admit("monitor session 1 source interface eth0 rx\nmonitor session 1 source interface eth1 tx\n"
	      "monitor session 1 source interface eth2\nmonitor session 1 destination interface eth15\n"
	      "monitor session 4 source interface eth3 both\n");
	assert_int_equal(config.monitor[0].rx, 5);
	assert_int_equal(config.monitor[0].tx, 6);
	assert_true(config_monitor_sends(&config, 15));
	assert_false(config_monitor_sends(&config, 0));
	assert_int_equal(config.monitor[3].rx & config.monitor[3].tx, 8);
	assert_false(config.monitor[3].has_destination);
	round_trip();
	refuse("monitor session 1", 1, "", "the line ends too early");
	refuse("monitor session 0 source interface eth0", 1, "0", "the session must be");
	refuse("monitor session 1 source eth0", 1, "eth0", "expected interface and the name of a port");
	refuse("monitor session 1 source interface eth0 rx tx", 1, "tx", "unexpected word");
	refuse("monitor session 1 source interface eth0.5", 1, "eth0.5", "only a port can be mirrored");
	refuse("monitor session 1 destination interface eth0 rx", 1, "rx", "unexpected word");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_monitor_sessions),
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_access), cmocka_unit_test(test_trunk),
		cmocka_unit_test(test_list_text), cmocka_unit_test(test_stations), cmocka_unit_test(test_storm), cmocka_unit_test(test_snoop), cmocka_unit_test(test_errors),
		cmocka_unit_test(test_hostile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
