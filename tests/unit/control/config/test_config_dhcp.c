/* control/config/config_dhcp.c: the statements of DHCP, their errors, and back to text. */
#include "tests/unit/rig/config_rig.h"

#define ETH0 "interface eth0\n ip address 192.0.2.1/24\n ipv6 enable\n"

static void test_client(void **state)
{
	(void)state;
	admit("interface eth0\n ip address dhcp\n");
	assert_non_null(config_dhcp_client(&config, 0));
	assert_int_equal(config_dhcp_client(&config, 0)->distance, 254);
	assert_null(config_dhcp_client(&config, 1));
	round_trip();
	admit("interface eth1\n ip address dhcp hostname r-1 distance 7\n");
	assert_string_equal(config_dhcp_client(&config, 1)->hostname, "r-1");
	assert_int_equal(config_dhcp_client(&config, 1)->distance, 7);
	round_trip();
	admit("interface eth1\n ip address dhcp distance 255\n");
	round_trip();
	refuse("interface eth0\n ip address dhcp now", 2, "now",
	       "unexpected word; expected \"ip address dhcp [hostname NAME] [distance N]\"");
	refuse("interface eth0\n ip address dhcp hostname -a", 2, "-a",
	       "a hostname has 1 to 63 letters, digits and inner hyphens");
	refuse("interface eth0\n ip address dhcp distance 0", 2, "0",
	       "the distance of the default route must be a decimal number from 1 to 255");
	refuse("interface eth0\n ip address dhcp\n ip address 192.0.2.1/24", 2, "eth0",
	       "the interface has another address, at line 3");
	refuse("interface lo0\n ip address dhcp", 2, "lo0",
	       "a loopback is on no link and has no such thing as addresses of a DHCP server");
}

static void test_relay(void **state)
{
	(void)state;
	admit(ETH0 " ip helper-address 10.0.0.1\n ip helper-address 10.0.0.2\n"
	      " ipv6 dhcp relay destination 2001:db8::1\n ipv6 dhcp relay destination fe80::1 eth0\n");
	assert_int_equal(config.dhcp.relays, 4);
	assert_true(config.interface[0].relay_line[0] && config.interface[0].relay_line[1]);
	round_trip();
	admit("ip dhcp relay information option\nip dhcp relay information policy replace\nip dhcp relay maximum-hops 4\n");
	assert_true(config.dhcp.insert && config.dhcp.policy == DHCP_RELAY4_REPLACE && config.dhcp.hops == 4);
	round_trip();
	admit("ip dhcp relay information policy drop\nip dhcp relay maximum-hops 16\n");
	round_trip();
}

static void test_relay_refused(void **state)
{
	(void)state;
	refuse(ETH0 " ip helper-address 224.0.0.1", 4, "224.0.0.1", "a DHCP server has the address of a host");
	refuse(ETH0 " ip helper-address 10.0.0.1\n ip helper-address 10.0.0.1", 5, "10.0.0.1",
	       "this server stands already at line 4");
	refuse(ETH0 " ipv6 dhcp relay destination ff05::1:3", 4, "ff05::1:3", "a DHCP server has a unicast address");
	refuse(ETH0 " ipv6 dhcp relay destination 2001:db8::1 eth0", 4, "eth0",
	       "unexpected word; expected \"ipv6 dhcp relay destination X:X::X [INTERFACE]\"");
	refuse(ETH0 " ipv6 dhcp relay destination fe80::1 eth1", 4, "eth1",
	       "the interface of the server takes no part in IPv6");
	refuse("interface eth0\n ip helper-address 10.0.0.1", 2, "eth0",
	       "the relay agent needs an IPv4 address of the interface, which has none of its own");
	refuse("interface eth0\n ipv6 dhcp relay destination 2001:db8::1", 2, "eth0",
	       "the interface takes no part in IPv6");
	refuse("interface lo0\n ip address 10.0.0.9/32\n ip helper-address 10.0.0.1", 3, "lo0",
	       "a loopback is on no link and has no such thing as clients of a DHCP relay agent");
	refuse("ip dhcp relay information policy no", 1, "no", "expected drop, keep or replace");
	refuse("ip dhcp relay maximum-hops 17", 1, "17",
	       "the number of relay agents must be a decimal number from 1 to 16");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_relay),
		cmocka_unit_test(test_relay_refused),
	};
	return cmocka_run_group_tests_name("config_dhcp", tests, NULL, NULL);
}
