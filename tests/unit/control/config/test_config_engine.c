/* control/config/config_engine.c: the statements of the routing engine, and their errors. */
#include "tests/unit/rig/config_rig.h"

#include "net/routing.h"

#define ENGINE "routing engine 192.0.2.9\n"
#define IF0 "interface eth0\nip address 192.0.2.1/24\n"
#define IF1 "interface eth1\nip address 198.51.100.1/24\n"

static void test_defaults(void **state)
{
	(void)state;
	admit("");
	assert_int_equal(config.engine.line, 0);
	admit(ENGINE);
	assert_int_equal(net_addr_to_ip4(&config.engine.addr), 0xc0000209);
	assert_int_equal(config.engine.port, 2620);
	assert_int_equal(config.engine.distance, 0);
	assert_int_equal(config.engine.hold_s, 3600);
	assert_int_equal(config.engine.settle_s, 120);
	assert_int_equal(config.engine.routes_max, 0);
	assert_false(config.engine.acknowledge);
	assert_int_equal(config.engine.bfd_port, 0);
	admit(ENGINE "routing engine bfd\n");
	assert_int_equal(config.engine.bfd_port, 50700);
}

static void test_values(void **state)
{
	(void)state;
	admit("routing engine fpm port 2000\nrouting engine 2001:db8::9\nrouting engine distance 30\n"
	      "routing engine hold-time 0\nrouting engine settle-time 5\n"
	      "routing engine maximum routes 1000000\nrouting engine acknowledge\n"
	      IF0 " routing engine index 3\n" IF1 " routing engine index 2147483647\n");
	assert_false(net_addr_is_ip4(&config.engine.addr));
	assert_int_equal(config.engine.port, 2000);
	assert_int_equal(config.engine.distance, 30);
	assert_int_equal(config.engine.hold_s, 0);
	assert_int_equal(config.engine.settle_s, 5);
	assert_int_equal(config.engine.routes_max, 1000000);
	assert_true(config.engine.acknowledge);
	admit(ENGINE "routing engine bfd port 4000\n");
	assert_int_equal(config.engine.bfd_port, 4000);
	admit("routing engine fpm port 2000\nrouting engine 2001:db8::9\n"
	      IF0 " routing engine index 3\n" IF1 " routing engine index 2147483647\n");
	assert_int_equal(config.interface[0].engine_index, 3);
	assert_int_equal(config.interface[1].engine_index, 2147483647);
	/* an index may stand before there is an engine */
	admit(IF0 " routing engine index 3\n");
}

static void test_errors(void **state)
{
	(void)state;
	refuse("routing engine", 1, "", "the line ends too early");
	refuse("routing engine frr", 1, "frr", "expected the address of the routing engine");
	refuse("routing engine fpm", 1, "fpm", "expected the address");
	refuse("routing engine 192.0.2.9 7", 1, "7", "unexpected word");
	refuse("routing engine 0.0.0.0", 1, "0.0.0.0", "the address of the routing engine must be");
	refuse("routing engine 224.0.0.5", 1, "224.0.0.5", "the address of the routing engine must be");
	refuse("routing engine 127.0.0.1", 1, "127.0.0.1", "the address of the routing engine must be");
	refuse("routing engine fe80::1", 1, "fe80::1", "the address of the routing engine must be");
	refuse("routing engine ff02::1", 1, "ff02::1", "the address of the routing engine must be");
	refuse(ENGINE ENGINE, 2, "routing", "\"routing engine\" stands already");
	refuse(ENGINE "routing engine fpm port 0", 2, "0", "a TCP port");
	refuse(ENGINE "routing engine distance 256", 2, "256", "the distance");
	refuse(ENGINE "routing engine distance 0", 2, "0", "the distance");
	refuse(ENGINE "routing engine bfd port 0", 2, "0", "a TCP port");
	refuse(ENGINE "routing engine bfd port", 2, "", "the line ends too early");
	refuse(ENGINE "routing engine bfd 7", 2, "7", "unexpected word");
	refuse("routing engine bfd", 1, "routing", "there is no routing engine");
	refuse(ENGINE "routing engine bfd port 2620", 1, "2620", "the FPM server listens on this port");
	refuse(ENGINE "routing engine hold-time 86401", 2, "86401", "the hold time");
	refuse(ENGINE "routing engine settle-time 0", 2, "0", "the settle time");
	refuse(ENGINE "routing engine maximum routes 0", 2, "0", "the number of routes");
	refuse(ENGINE "routing engine acknowledge all", 2, "all", "unexpected word");
	refuse(IF0 "routing engine index 0", 3, "0", "the interface index");
}

static void test_whole(void **state)
{
	(void)state;
	refuse("routing engine acknowledge\nrouting engine distance 7", 1, "routing",
	       "there is no routing engine; add the line \"routing engine ADDRESS\"");
	refuse(IF0 " routing engine index 7\n" IF1 " routing engine index 7\n", 6, "7",
	       "eth0 has this index already");
	refuse(IF1 " routing engine index 7\n" IF0 " routing engine index 7\n", 6, "7",
	       "eth1 has this index already");
	refuse(ENGINE "application discard", 1, "routing", "the discard application");
	refuse(ENGINE "routing engine fpm port 80\nhttp server\nhttp access ::/0", 1, "80",
	       "the HTTP server listens on this port");
	refuse(ENGINE "application echo\nrouting engine fpm port 7", 1, "7",
	       "echo listens on this port");
}

static void test_vxlan(void **state)
{
	(void)state;
	admit(ENGINE IF0 " routing engine vni 101\n" IF1 " routing engine vni 16777215\n"
	      " routing engine index 7\n routing engine protocols lldp bgp\n");
	const struct config_interface *i = config.interface;
	assert_int_equal(config_engine_remote(&config), 0xc0000209);
	assert_int_equal(config_engine_source_of(&config), 0xc0000201);
	assert_int_equal(config_engine_index_of(&i[0]), 101);
	assert_int_equal(config_engine_protocols_of(&i[0]), ROUTING_USUAL);
	assert_int_equal(config_engine_index_of(&i[1]), 7);
	assert_int_equal(config_engine_protocols_of(&i[1]), 1u << ROUTING_LLDP | 1u << ROUTING_BGP);
	round_trip();
	admit("routing engine 10.0.0.9\nrouting engine source 198.51.100.1\n" IF1
	      " routing engine vni 1\n");
	assert_int_equal(config_engine_source_of(&config), 0xc6336401);
	round_trip();
	/* without an engine a VNI means nothing yet */
	admit(IF0 " routing engine vni 1\n");
	assert_int_equal(config_engine_source_of(&config), 0);
}

static void test_vxlan_errors(void **state)
{
	(void)state;
	refuse(IF0 "routing engine vni 0", 3, "0", "the VXLAN network identifier");
	refuse(IF0 "routing engine vni 16777216", 3, "16777216", "the VXLAN network identifier");
	refuse(IF0 "routing engine vni 5 6", 3, "6", "unexpected word");
	refuse(IF0 "routing engine protocols", 3, "", "the line ends too early");
	refuse(IF0 "routing engine protocols bgp eigrp", 3, "eigrp", "unknown protocol");
	refuse(IF0 "routing engine protocols bgp bfd bgp", 3, "bgp", "this protocol stands here twice");
	refuse(IF0 "routing engine protocols bgp", 3, "protocols", "only an interface with");
	refuse("routing engine source 192.0.2.1\n" IF0, 1, "routing", "there is no routing engine");
	refuse(ENGINE "routing engine source 192.0.2.2\n" IF0, 2, "192.0.2.2",
	       "the source must be an address of this machine");
	refuse(ENGINE "routing engine source 0.0.0.0\n" IF0, 2, "0.0.0.0",
	       "the source must be an address of this machine");
	refuse(ENGINE "routing engine source fe80::1\n", 2, "fe80::1", "expected an IPv4 address");
	refuse("routing engine 10.0.0.9\n" IF0 "routing engine vni 5", 4, "5",
	       "no subnet of ours has the routing engine");
	refuse("routing engine 2001:db8::9\n" IF0 "routing engine vni 5", 4, "5",
	       "a VNI needs a routing engine with an IPv4 address");
	refuse(IF0 " routing engine vni 7\n" IF1 " routing engine vni 7\n", 6, "7",
	       "eth0 has this VNI already");
	refuse(IF0 " routing engine index 7\n" IF1 " routing engine vni 7\n", 6, "7",
	       "eth0 has this index already");
	refuse("interface lo0\nip address 10.0.0.1/32\nrouting engine vni 7", 3, "7",
	       "a loopback has no link");
}

static void test_round_trip(void **state)
{
	(void)state;
	admit(ENGINE);
	round_trip();
	admit(ENGINE "routing engine bfd\n");
	round_trip();
	admit(ENGINE "routing engine bfd port 4000\n");
	round_trip();
	admit(ENGINE "routing engine bfd connect\n");
	assert_true(config.engine.bfd_connect);
	round_trip();
	admit(ENGINE "routing engine bfd connect port 4000\n");
	round_trip();
	admit("routing engine 2001:db8::9\nrouting engine distance 30\nrouting engine hold-time 0\n"
	      "routing engine settle-time 5\nrouting engine maximum routes 1000000\n"
	      "routing engine fpm port 2000\nrouting engine acknowledge\n"
	      IF0 " routing engine index 3\n");
	round_trip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_values),
		cmocka_unit_test(test_errors),   cmocka_unit_test(test_whole),
		cmocka_unit_test(test_vxlan),    cmocka_unit_test(test_vxlan_errors),
		cmocka_unit_test(test_round_trip),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
