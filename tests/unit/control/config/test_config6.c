/* The configuration of IPv6 (control/config/config_ip6.c, config_check6.c): statements, every error, the
 * round trip, many routes, and hostile text. */
#include "tests/unit/rig/packets.h"

#include <time.h>

#include "net/ip6.h"
#include "tests/unit/rig/config_rig.h"

static const char full[] =
	"interface eth0\n"
	" ipv6 enable\n"
	" ipv6 address 2001:DB8:0:0::1/64\n"
	" ipv6 address fe80::1 LINK-LOCAL\n"
	" ipv6 address 2001:db8::2/64\n"
	" ipv6 address fd00::1:2:3/126\n"
	" ipv6 nd ra interval 30\n"
	" ipv6 nd ra lifetime 30\n"
	" ipv6 nd ra dns 2001:db8::53\n"
	" ipv6 nd ra dns fe80::1\n"
	" ipv6 nd managed-config-flag\n"
	" ipv6 nd other-config-flag\n"
	" mtu 1280\n"
	"interface eth1\n"
	" ipv6 enable\n"
	" ipv6 nd ra suppress\n"
	"interface eth2\n"
	" ip address 192.0.2.1/24\n"
	" mtu 600\n"
	"interface eth3\n"
	" ipv6 address 2001:db8:1::/127\n"
	" ipv6 address 2001:db8:2::/128\n"
	"ipv6 neighbor 2001:db8::7 eth0 0011.2233.4455\n"
	"ipv6 neighbor fe80::7 eth0 02-00-00-00-00-01\n"
	"ipv6 neighbor fe80::7 eth1 02-00-00-00-00-02\n"
	"ipv6 route ::/0 2001:db8::fe\n"
	"ipv6 route 2001:db8:8000::/33 fe80::2 eth1\n"
	"IPV6 ROUTE 2001:db8:9000::/36 NULL0\n"
	"ipv6 route 2001:db8:a000::/36 2001:db8:1::1 ETH3\n"
	"ipv6 route 2001:db8:0:0:8000::/65 fe80::3 eth0\n"
	"end\n";

static void assert_addr(const struct net_addr *a, const char *text)
{
	const struct net_addr want = addr6(text);
	assert_memory_equal(a, &want, sizeof want);
}

static void test_full(void **state)
{
	(void)state;
	admit(full);
	const struct config_interface *i = &config.interface[0];
	assert_true(i->present && i->ipv6 && !i->autoconfig);
	assert_int_equal(i->ipv6_line, 2);
	assert_int_equal(i->address_count, 0);
	assert_int_equal(i->address6_count, 3);
	assert_addr(&i->address6[0].addr, "2001:db8::1");
	assert_int_equal(i->address6[0].line, 3);
	assert_int_equal(i->address6[1].plen, 64);
	assert_addr(&i->address6[2].addr, "fd00::1:2:3");
	assert_int_equal(i->address6[2].plen, 126);
	assert_addr(&i->link_local6, "fe80::1");
	assert_int_equal(i->ra_interval_s, 30);
	assert_true(i->ra_lifetime_said && i->ra_managed && i->ra_other && !i->ra_suppress);
	assert_int_equal(i->ra_lifetime_s, 30);
	assert_int_equal(i->ra_server_count, 2);
	assert_addr(&i->ra_server[1], "fe80::1");
	i = &config.interface[1];
	assert_true(i->ipv6 && i->ra_suppress && !i->ra_managed && !i->ra_lifetime_said);
	assert_true(net_addr_is_any(&i->link_local6));
	assert_int_equal(i->address6_count, 0);
	assert_int_equal(i->ra_interval_s, 0);
	assert_false(config.interface[2].ipv6);
	assert_int_equal(config.neighbour6_count, 3);
	assert_addr(&config.neighbour6[0].addr, "2001:db8::7");
	assert_int_equal(config.neighbour6[0].mac[5], 0x55);
	assert_int_equal(config.neighbour6[2].interface, 1);
	assert_int_equal(config.route6_count, 5);
	const struct config_route6 *r = config.routes6;
	assert_addr(&r[0].next_hop, "2001:db8::fe");
	assert_int_equal(r[0].plen, 0);
	assert_int_equal(r[0].interface, 0); /* found by its subnet */
	assert_addr(&r[1].next_hop, "fe80::2");
	assert_int_equal(r[1].interface, 1);
	assert_true(r[2].kind == CONFIG_ROUTE_NULL0 && net_addr_is_any(&r[2].next_hop));
	assert_int_equal(r[2].line, 28);
	assert_int_equal(r[3].interface, 3);
	assert_int_equal(r[4].plen, 65);
	const struct net_addr on = addr6("2001:db8::ffff"), off = addr6("2001:db8:0:1::1");
	assert_int_equal(config_connected6(&config, &on), 0);
	assert_int_equal(config_connected6(&config, &off), -1);
}

#define E0 "interface eth0\nipv6 address 2001:db8::1/64\n"

static void test_statement_errors(void **state)
{
	(void)state;
	refuse("ipv6", 1, "", "expected enable, address, nd, "
	       "dhcp, traffic-filter, unreachables, verify, redirects, access-list, route, neighbor, mld after \"ipv6\"");
	refuse("ipv6 nd", 1, "", "expected ra, managed-config-flag, other-config-flag after \"nd\"");
	refuse("ipv6 nd ra x", 1, "x", "expected suppress, interval, lifetime, dns after \"ra\"");
	refuse("ipv6 enable", 1, "ipv6", "\"ipv6 enable\" belongs into an interface block");
	refuse("ipv6 nd ra dns ::2", 1, "ipv6", "\"ipv6 nd ra dns\" belongs into an interface block");
	refuse("interface eth0\nipv6 enable now", 2, "now", "unexpected word");
	refuse("interface eth0\nipv6 enable\nipv6 enable", 3, "ipv6", "\"ipv6 enable\" stands alre");
	refuse("interface eth0\nipv6 nd ra suppress x", 2, "x", "unexpected word");
	refuse("interface eth0\nipv6 nd managed-config-flag x", 2, "x", "unexpected word");
	refuse("interface eth0\nipv6 nd other-config-flag x", 2, "x", "unexpected word");
	refuse("interface eth0\nipv6 nd ra interval", 2, "", "the line ends too early");
	refuse("interface eth0\nipv6 nd ra interval 3", 2, "3",
	       "the interval of router advertisements in seconds must be a decimal number from 4 to");
	refuse("interface eth0\nipv6 nd ra interval 1801", 2, "1801", "the interval of router adv");
	refuse("interface eth0\nipv6 nd ra interval 4 5", 2, "5", "unexpected word");
	refuse("interface eth0\nipv6 nd ra lifetime 9001", 2, "9001", "the lifetime of the default");
	refuse("interface eth0\nipv6 nd ra lifetime 0 0", 2, "0", "unexpected word");
	refuse("interface eth0\nipv6 nd ra dns 192.0.2.1", 2, "192.0.2.1", "expected an IPv6 address");
	refuse("interface eth0\nipv6 nd ra dns ff02::1", 2, "ff02::1", "a name server has a unicast");
	refuse("interface eth0\nipv6 nd ra dns ::2 ::3", 2, "::3", "unexpected word");
	refuse("interface eth0\nipv6 nd ra dns ::2\nipv6 nd ra dns 0::2", 3, "0::2",
	       "this interface already advertises this name server");
	refuse("interface eth0\nipv6 nd ra dns ::2\nipv6 nd ra dns ::3\nipv6 nd ra dns ::4\n"
	       "ipv6 nd ra dns ::5\nipv6 nd ra dns ::6", 6, "::6",
	       "an interface advertises at most 4 name servers");
	/* RFC 4861 6.2.1: 0, or at least the interval, whichever line comes first. */
	refuse("interface eth0\nipv6 nd ra lifetime 599", 2, "599",
	       "the lifetime must be 0, or no less than the interval of 600 seconds");
	refuse("interface eth0\nipv6 nd ra lifetime 39\nipv6 nd ra interval 40", 2, "39", "the lifeti");
	admit("interface eth0\nipv6 nd ra lifetime 0\nipv6 nd ra interval 1800");
	admit("interface eth0\nipv6 nd ra lifetime 40\nipv6 nd ra interval 40");
	admit("interface eth0\nipv6 nd ra lifetime 600");
}

static void test_address_errors(void **state)
{
	(void)state;
	refuse("interface eth0\nipv6 address", 2, "", "the line ends too early; expected \"ipv6 addr");
	refuse("interface eth0\nipv6 address x", 2, "x", "expected an IPv6 address with its length");
	refuse("interface eth0\nipv6 address 10.0.0.1/8", 2, "10.0.0.1/8", "expected an IPv6 address");
	refuse("interface eth0\nipv6 address ::ffff:192.0.2.1/120", 2, "::ffff:192.0.2.1/120",
	       "expected an IPv6 address with");
	refuse("interface eth0\nipv6 address 2001:db8::1", 2, "2001:db8::1", "the prefix length is mi");
	refuse("interface eth0\nipv6 address 2001:db8::1/129", 2, "2001:db8::1/129", "the prefix leng");
	refuse("interface eth0\nipv6 address 2001:db8::1/064", 2, "2001:db8::1/064", "the prefix leng");
	refuse("interface eth0\nipv6 address 2001:db8::1/0", 2, "2001:db8::1/0",
	       "the prefix length of an interface address must be 1 to 128");
	refuse("interface eth0\nipv6 address 2001:db8::1/64 eui-64", 2, "eui-64", "unexpected word");
	refuse("interface eth0\nipv6 address 2001:db8::/64", 2, "2001:db8::/64",
	       "this is the Subnet-Router anycast address of its subnet");
	refuse("interface eth0\nipv6 address ff02::1/64", 2, "ff02::1/64", "an interface needs a un");
	refuse("interface eth0\nipv6 address ::/64", 2, "::/64", "an interface needs a unicast");
	refuse("interface eth0\nipv6 address ::1/128", 2, "::1/128", "an interface needs a unicast");
	refuse("interface eth0\nipv6 address fe80::1/64", 2, "fe80::1/64",
	       "a link-local address is written without a length");
	refuse("interface eth0\nipv6 address fe80::1%eth0 link-local", 2, "fe80::1%eth0", "expected");
	refuse("interface eth0\nipv6 address fe80::1/64 link-local", 2, "fe80::1/64", "expected an");
	refuse("interface eth0\nipv6 address fe80:: link-local", 2, "fe80::", "a link-local address l");
	refuse("interface eth0\nipv6 address fe90::1 link-local", 2, "fe90::1", "a link-local addres");
	refuse("interface eth0\nipv6 address 2001:db8::1 link-local", 2, "2001:db8::1", "a link-local");
	refuse("interface eth0\nipv6 address fe80::1 link-local x", 2, "x", "unexpected word");
	refuse("interface eth0\nipv6 address fe80::1 link-local\nipv6 address fe80::2 link-local", 3,
	       "fe80::2", "the interface has its link-local address at line 2");
	refuse(E0 "ipv6 address 2001:db8:1::1/64\nipv6 address 2001:db8:2::1/64\n"
	       "ipv6 address 2001:db8:3::1/64\nipv6 address 2001:db8:4::1/64", 6, "2001:db8:4::1/64",
	       "an interface has at most 4 IPv6 addresses");
	/* the same link-local address on two links is two addresses (RFC 4007 5) */
	admit("interface eth0\nipv6 address fe80::1 link-local\n"
	      "interface eth1\nipv6 address fe80::1 link-local");
	refuse("interface eth0\nipv6 address autoconfig x", 2, "x", "unexpected word");
	refuse("interface eth0\nipv6 address autoconfig\nipv6 address autoconfig", 3, "ipv6",
	       "\"ipv6 address autoconfig\" stands already");
	admit("application echo\ninterface eth0\nipv6 address autoconfig\nipv6 address 2001:db8::1/64");
	assert_true(config.interface[0].autoconfig && config.interface[0].ipv6);
	round_trip();
	admit("interface eth0\nipv6 address autoconfig\napplication discard");
	refuse("interface eth0\nmtu 1279\nipv6 enable", 2, "1279",
	       "IPv6, enabled at line 3 on eth0, needs an MTU of at least 1280 (RFC 8200 5)");
	refuse("interface eth0\nipv6 address fe80::1 link-local\nmtu 68", 3, "68", "IPv6, enabled at line 2");
	admit("interface eth0\nmtu 1280\nipv6 enable");
	admit("interface eth0\nmtu 68\nipv6 nd ra suppress");
}

static void test_whole_errors(void **state)
{
	(void)state;
	refuse(E0 "interface eth1\nipv6 address 2001:db8::1/64", 4, "2001:db8::1",
	       "this address is already that of eth0, at line 2");
	refuse(E0 "interface eth1\nipv6 address 2001:db8::2/64", 4, "2001:db8::2/64",
	       "the subnet overlaps 2001:db8::/64 of eth0, at line 2");
	refuse(E0 "interface eth1\nipv6 address 2001:db8:1::1/32", 4, "2001:db8:1::1/32",
	       "the subnet overlaps 2001:db8::/64 of eth0, at line 2");
	refuse("interface eth5\nipv6 address 2001:db8::1/32\ninterface eth1\n"
	       "ipv6 address 2001:db8:7::1/64", 4, "2001:db8:7::1/64",
	       "the subnet overlaps 2001:db8::/32 of eth5, at line 2");
	refuse(E0 "ipv6 address 2001:db8::9/65", 3, "2001:db8::9/65", "the subnet overlaps 2001:db8");
	refuse(E0 "ipv6 address 2001:db8:0::1/64", 3, "2001:db8::1", "this address is already");
	admit(E0 "ipv6 address 2001:db8::2/64\ninterface eth1\nipv6 address 2001:db8:0:1::1/64");

	refuse("ipv6 neighbor", 1, "", "the line ends too early");
	refuse("ipv6 neighbor x eth0 0200.0000.0001", 1, "x", "expected an IPv6 address such as");
	refuse("ipv6 neighbor fe80::1", 1, "", "the line ends too early");
	refuse("ipv6 neighbor fe80::1 0200.0000.0001", 1, "0200.0000.0001", "unknown interface");
	refuse("ipv6 neighbor fe80::1 eth0", 1, "", "the line ends too early");
	refuse("ipv6 neighbor fe80::1 eth0 3333.0000.0001", 1, "3333.0000.0001", "the MAC address of");
	refuse("ipv6 neighbor fe80::1 eth0 0200.0000.0001 x", 1, "x", "unexpected word");
	refuse("ipv6 neighbor ff02::1 eth0 0200.0000.0001", 1, "ff02::1", "a neighbour has a unicast");
	refuse("ipv6 neighbor fe80::1 eth0 0200.0000.0001", 1, "fe80::1",
	       "the neighbour is on eth0, which takes no part in IPv6");
	refuse(E0 "ipv6 neighbor 2001:db8:1::2 eth0 0200.0000.0001", 3, "2001:db8:1::2",
	       "the neighbour does not lie on the subnet of any interface");
	refuse(E0 "ipv6 neighbor 2001:db8::1 eth0 0200.0000.0001", 3, "2001:db8::1",
	       "the neighbour is this machine's own address");
	refuse(E0 "interface eth1\nipv6 enable\nipv6 neighbor 2001:db8::2 eth1 0200.0000.0001", 5,
	       "2001:db8::2", "the neighbour lies on a subnet of eth0, not of eth1");
	refuse(E0 "ipv6 neighbor fe80::2 eth0 0200.0000.0001\nipv6 neighbor fe80::2 eth0 "
	       "0200.0000.0002", 4, "fe80::2", "this neighbour already stands at line 3");
	char text[8192];
	size_t n = (size_t)snprintf(text, sizeof text, E0);
	for (int i = 0; i < 65; i++)
		n += (size_t)snprintf(text + n, sizeof text - n,
		                      "ipv6 neighbor 2001:db8::%x eth0 0200.0000.0001\n", i + 16);
	refuse(text, 67, "2001:db8::50", "too many static neighbours; at most 64");
}

static void test_route_errors(void **state)
{
	(void)state;
	refuse("ipv6 route", 1, "", "the line ends too early");
	refuse("ipv6 route x", 1, "x", "expected an IPv6 address with its length");
	refuse("ipv6 route 2001:db8::", 1, "2001:db8::", "the prefix length is missing");
	refuse("ipv6 route 2001:db8::/129 null0", 1, "2001:db8::/129", "the prefix length after /");
	refuse("ipv6 route 2001:db8::/32", 1, "", "the line ends too early; expected \"ipv6 route X:");
	refuse("ipv6 route 2001:db8::/32 eth0", 1, "eth0", "expected null0, blackhole, unreachable, prohibit or the next hop, an IPv6");
	refuse("ipv6 route 2001:db8::/32 null0 eth0", 1, "eth0", "unexpected word");
	refuse("ipv6 route 2001:db8::/32 fe80::1 eth0 0", 1, "0", "unexpected word");
	refuse("ipv6 route 2001:db8::/32 fe80::1 eth16", 1, "eth16", "unknown interface");
	refuse("ipv6 route 2001:db8::1/32 null0", 1, "2001:db8::1/32",
	       "prefix 2001:db8::1/32 has host bits set; did you mean 2001:db8::/32?");
	refuse("ipv6 route ff00::/8 null0", 1, "ff00::/8", "packets to groups, link-local addresses");
	refuse("ipv6 route ff05::/16 null0", 1, "ff05::/16", "packets to groups, link-local");
	refuse("ipv6 route fe80::/64 null0", 1, "fe80::/64", "packets to groups, link-local");
	refuse("ipv6 route ::1/128 null0", 1, "::1/128", "packets to groups, link-local");
	refuse("ipv6 route ::/128 null0", 1, "::/128", "packets to groups, link-local");
	admit("ipv6 route ::/0 null0\nipv6 route fe00::/8 null0\nipv6 route 100::/64 null0");
	refuse(E0 "ipv6 route ::/0 ff02::2", 3, "ff02::2", "the next hop must be the unicast address");
	refuse(E0 "ipv6 route ::/0 ::", 3, "::", "the next hop must be the unicast address");
	refuse(E0 "ipv6 route ::/0 fe80::2", 3, "fe80::2",
	       "a link-local next hop needs its interface; name it");
	refuse(E0 "ipv6 route ::/0 fe80::2 eth1", 3, "fe80::2", "the next hop is on eth1, which take");
	refuse("interface eth1\nipv6 address fe80::2 link-local\nipv6 route ::/0 fe80::2 eth1", 3,
	       "fe80::2", "the next hop is this machine's own address");
	refuse(E0 "ipv6 route ::/0 2001:db8::1", 3, "2001:db8::1", "the next hop is this machine's ow");
	refuse(E0 "ipv6 route ::/0 2001:db8::", 3, "2001:db8::", "the next hop is the Subnet-Router");
	admit(E0 "ipv6 route ::/0 2001:db8:0:1::1"); /* another route may lead to it */
	refuse(E0 "ipv6 route ::/0 2001:db8:0:1::1 eth0", 3, "2001:db8:0:1::1", "the next hop does not li");
	refuse(E0 "interface eth1\nipv6 enable\nipv6 route ::/0 2001:db8::2 eth1", 5, "2001:db8::2",
	       "the next hop lies on a subnet of eth0, not of eth1");
	refuse(E0 "ipv6 route 2001:db9::/32 null0\n\nipv6 route 2001:db9:0::/32 2001:db8::2", 5,
	       "2001:db9::/32",
	       "the prefix already has a route of this distance, at line 3, and one of the two");
	refuse(E0 "ipv6 route 2001:db9::/32 fe80::2 eth0\nipv6 route 2001:db9::/32 fe80::2 eth0 9", 4,
	       "2001:db9::/32", "this prefix has this route already, at line 3");
	admit(E0 "ipv6 route 2001:db9::/32 fe80::2 eth0 3\nipv6 route 2001:db9::/32 2001:db8::2 3\n"
	      "ipv6 route 2001:db9::/32 blackhole 4");
	round_trip();
	admit(E0 "ipv6 route 2001:db9::/32 null0\nipv6 route 2001:db9::/33 null0");
	refuse(E0 "ipv6 route 2001:db8::/64 null0", 3, "2001:db8::/64", "eth0 reaches this prefix it");
	refuse(E0 "ipv6 route 2001:db8::1/128 null0", 3, "2001:db8::1/128", "eth0 reaches this prefi");
	admit(E0 "ipv6 route 2001:db8::/65 null0\nipv6 route 2001:db8::7/128 2001:db8::8");
}

static void test_round_trip(void **state)
{
	(void)state;
	admit(full);
	round_trip();
	admit("interface eth0\nipv6 enable\ninterface eth1\nipv6 nd ra lifetime 0\nshutdown");
	round_trip();
}

static void test_many_routes(void **state)
{
	(void)state;
	const uint32_t n = 100000;
	char *text = malloc(n * 64);
	assert_non_null(text);
	size_t len = (size_t)sprintf(text, E0 "interface eth1\nipv6 enable\n");
	for (uint32_t i = 0; i < n; i++)
		len += (size_t)sprintf(text + len, i % 2 ? "ipv6 route 2a00:%x:%x::/48 2001:db8::%x\n"
		                                         : "ipv6 route 2a00:%x:%x::/48 fe80::%x eth1\n",
		                       i >> 8, i & 255, 2 + i % 200);
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	assert_int_equal(parse_bytes(text, len), 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	print_message("%u routes, %zu bytes: %.1f ms\n", n, len,
	              (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6);
	assert_int_equal(config.route6_count, n);
	round_trip();
	/* The last line, repeated, is a duplicate that only the hash can find quickly. */
	size_t more = (size_t)sprintf(text + len, "ipv6 route 2a00::/48 null0\n");
	assert_int_equal(parse_bytes(text, len + more), E_INVAL);
	assert_int_equal(error.line, n + 5);
	assert_string_equal(error.reason,
	                    "the prefix already has a route of this distance, at line 5, and one of "
	                    "the two has no next hop");
	/* Memory for one route less. */
	const struct config_memory small = {.routes = routes,
	                                    .routes6 = routes6,
	                                    .route6_max = n - 1,
	                                    .scratch = scratch,
	                                    .scratch_words = SCRATCH};
	assert_int_equal(config_parse(text, len, &small, &config, &error), E_INVAL);
	assert_int_equal(error.line, n + 4);
	assert_string_equal(error.reason, "too many IPv6 routes; there is memory for 99999");
	free(text);
}

static void test_lines(void **state)
{
	(void)state;
	static const char text[] = "ipv6 route ::/0\n \tIPv6 x\nip route\nxipv6\nip v6\n\nipv6";
	const struct config_lines n = config_count_lines(text, sizeof text - 1);
	assert_int_equal(n.ipv6, 3);
	assert_int_equal(n.ip, 2); /* "ip v6" is not one, but may be counted */
	assert_int_equal(n.rules, 0);
	assert_int_equal(config_count_lines(text, 3).ipv6, 0);
	assert_int_equal(config_count_lines("\tIP route\nip\nipx 1\nip\tx", 24).ip, 2);
	assert_int_equal(config_count_lines(text, 0).ipv6, 0);
}

static void test_hostile(void **state)
{
	(void)state;
	seed_random("test_hostile");
	static const char *const pieces[] = {"ipv6 ", "address ", "route ", "2001:db8::/32 ", "\n",
	                                     "eth0", "interface ", "null0", "fe80::1", "link-local",
	                                     "nd ", "ra ", "mtu 1279", "end", "::", "neighbor ",
	                                     "application echo\n", "autoconfig", "lifetime 1"};
	hostile(full, pieces, ARRAY_LEN(pieces));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),           cmocka_unit_test(test_statement_errors),
		cmocka_unit_test(test_address_errors), cmocka_unit_test(test_whole_errors),
		cmocka_unit_test(test_route_errors),   cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_many_routes),    cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
