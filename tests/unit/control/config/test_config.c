/*
 * control/text/text.c and control/config*.c: words, statements, every error, the round trip, a hundred
 * thousand routes, and hostile text.
 */
#include "tests/unit/rig/config_rig.h"

#include <time.h>

#include "control/config/config_parse.h"
#include "lib/fmt.h"
#include "net/ip4.h"

static void test_numbers(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int result;
		uint32_t value;
	} rows[] = {
		{"0", 0, 0}, {"7", 0, 7}, {"4294967295", 0, 4294967295u},
		{"4294967296", E_INVAL, 0}, {"99999999999", E_INVAL, 0}, {"", E_INVAL, 0},
		{"010", E_INVAL, 0}, {"00", E_INVAL, 0}, {"1a", E_INVAL, 0}, {"+1", E_INVAL, 0},
		{"-1", E_INVAL, 0}, {" 1", E_INVAL, 0}, {"0x1", E_INVAL, 0},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint32_t v = 77;
		int r = text_parse_u32(text_of(rows[i].text), 0, UINT32_MAX, &v);
		assert_int_equal(r, rows[i].result);
		assert_int_equal(v, r == 0 ? rows[i].value : 77);
	}
	uint32_t v;
	assert_int_equal(text_parse_u32(text_of("4"), 5, 9, &v), E_INVAL);
	assert_int_equal(text_parse_u32(text_of("10"), 5, 9, &v), E_INVAL);
	assert_int_equal(text_parse_u32(text_of("9"), 5, 9, &v), 0);
}

static void test_addresses(void **state)
{
	(void)state;
	uint32_t a = 0;
	unsigned plen = 0;
	assert_int_equal(text_parse_ip4(text_of("192.0.2.1"), &a), 0);
	assert_int_equal(a, 0xc0000201);
	assert_int_equal(text_parse_ip4(text_of("255.255.255.255"), &a), 0);
	static const char *const bad[] = {"", ".", "1.2.3", "1.2.3.", "1.2.3.4.", "1.2.3.4.5",
	                                  "1..2.3", "256.1.1.1", "1.2.3.010", "1.2.3.4 ", "a.b.c.d",
	                                  "1.2.3.4/8", "1,2,3,4", "1.2.3.-4", "01.2.3.4"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(text_parse_ip4(text_of(bad[i]), &a), E_INVAL);

	for (unsigned n = 0; n <= 32; n++) {
		char buf[FMT_IP4_MAX];
		fmt_ip4(buf, ip4_prefix_mask(n));
		assert_int_equal(text_parse_mask(text_of(buf), &plen), 0);
		assert_int_equal(plen, n);
	}
	assert_int_equal(text_parse_mask(text_of("255.0.255.0"), &plen), E_INVAL);
	assert_int_equal(text_parse_mask(text_of("0.0.0.255"), &plen), E_INVAL);
	assert_int_equal(text_parse_mask(text_of("255.255.255"), &plen), E_INVAL);

	assert_int_equal(text_parse_prefix(text_of("10.1.2.3/8"), &a, &plen), 0);
	assert_int_equal(a, 0x0a010203);
	assert_int_equal(plen, 8);
	static const char *const bad_prefix[] = {"10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "/8",
	                                         "10.0.0.0/08", "10.0.0.0/8/8", "10.0.0/8"};
	for (size_t i = 0; i < ARRAY_LEN(bad_prefix); i++)
		assert_int_equal(text_parse_prefix(text_of(bad_prefix[i]), &a, &plen), E_INVAL);
}

static void test_macs(void **state)
{
	(void)state;
	static const uint8_t want[6] = {0x00, 0x11, 0x22, 0xaa, 0xbb, 0xcc};
	static const char *const good[] = {"00:11:22:aa:bb:cc", "00-11-22-AA-BB-CC",
	                                   "0011.22aa.bbcc", "0011.22AA.BBcc"};
	static const char *const bad[] = {"", "00:11:22:aa:bb", "00:11:22:aa:bb:cg",
	                                  "00:11-22:aa:bb:cc", "00.11.22.aa.bb.cc",
	                                  "0011:22aa:bbcc", "0011.22aa.bbcc0", "001122aabbcc",
	                                  "00:11:22:aa:bb:cc:dd", "0:11:22:aa:bb:cc", "0011.22aabbccd"};
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		uint8_t mac[6] = {0};
		assert_int_equal(text_parse_mac(text_of(good[i]), mac), 0);
		assert_memory_equal(mac, want, 6);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		uint8_t mac[6] = {9, 9, 9, 9, 9, 9};
		assert_int_equal(text_parse_mac(text_of(bad[i]), mac), E_INVAL);
		assert_int_equal(mac[0], 9);
	}
}

static const char full[] =
	"\xef\xbb\xbf! a router in the lab \xff\x80 (any bytes in a comment)\r\n"
	"# another comment\n"
	"\n"
	"HostName  lab-1\n"
	"application router\r\n"
	"idle sleep\n"
	"\t \n"
	"interface eth0\n"
	"  description to the ! core # 1  \n"
	" ip address 192.0.2.1/24\n"
	" IP ADDRESS 192.0.2.129 255.255.255.0 secondary\n"
	" mtu 9000\n"
	" no shutdown\n"
	"! a comment leaves no block\n"
	" ip address 198.18.0.1/31 secondary\n"
	"exit\n"
	"interface ETH15\n"
	" ip address 198.51.100.1 255.255.255.252\n"
	" shutdown\n"
	"ip route 0.0.0.0/0 192.0.2.254\n"
	"ip route 10.0.0.0 255.0.0.0 198.51.100.2\n"
	"ip route 10.0.0.0/9 NULL0\n"
	"interface eth3\n"
	"arp timeout 90\n"
	"arp 192.0.2.7 0011.2233.4455\n"
	"arp 198.18.0.0 02-00-00-00-00-01\n"
	"ip icmp rate-limit 0 burst 3\n"
	"service echo udp\n"
	"service echo udp port 99 port 10\n"
	"SERVICE chargen TCP\n"
	"service discard udp port 9\n"
	"service discard udp port 10009\n"
	"service echo tcp port 7 port 4000\n"
	"tcp connections 5000\n"
	"web access-log sample 20\n"
	"end\n"
	"! done";

static void test_full(void **state)
{
	(void)state;
	admit(full);
	assert_string_equal(config.hostname, "lab-1");
	assert_int_equal(config.application, CORE_APP_router);
	assert_int_equal(config.idle, CONFIG_IDLE_SLEEP);
	const struct config_interface *i = &config.interface[0];
	assert_true(i->present);
	assert_false(i->shutdown);
	assert_string_equal(i->description, "to the ! core # 1");
	assert_int_equal(i->mtu, 9000);
	assert_int_equal(i->address_count, 3);
	assert_int_equal(i->address[0].addr, 0xc0000201);
	assert_int_equal(i->address[1].addr, 0xc0000281);
	assert_int_equal(i->address[1].plen, 24);
	assert_int_equal(i->address[1].line, 11);
	assert_int_equal(i->address[2].plen, 31);
	i = &config.interface[15];
	assert_true(i->present && i->shutdown);
	assert_int_equal(i->mtu, 0);
	assert_int_equal(i->address[0].plen, 30);
	assert_true(config.interface[3].present);
	assert_int_equal(config.interface[3].address_count, 0);
	assert_false(config.interface[1].present);
	assert_int_equal(config.route_count, 3);
	assert_int_equal(config.routes[0].next_hop, 0xc00002fe);
	assert_int_equal(config.routes[1].plen, 8);
	assert_int_equal(config.routes[2].kind, CONFIG_ROUTE_NULL0);
	assert_int_equal(config.routes[2].line, 22);
	assert_int_equal(config.arp_timeout_s, 90);
	assert_int_equal(config.arp_count, 2);
	assert_int_equal(config.arp[0].mac[5], 0x55);
	assert_int_equal(config.icmp_rate, 0);
	assert_int_equal(config.icmp_burst, 3);
	const struct services *s = &config.services;
	assert_int_equal(s->of[SERVICE_UDP][SERVICE_ECHO].ports, 3);
	assert_int_equal(s->of[SERVICE_UDP][SERVICE_ECHO].port[0], 7);
	assert_int_equal(s->of[SERVICE_UDP][SERVICE_ECHO].port[2], 10);
	assert_int_equal(s->of[SERVICE_UDP][SERVICE_DISCARD].ports, 2);
	assert_int_equal(s->of[SERVICE_TCP][SERVICE_DISCARD].ports, 0);
	assert_int_equal(s->of[SERVICE_TCP][SERVICE_ECHO].ports, 2);
	assert_int_equal(s->of[SERVICE_TCP][SERVICE_CHARGEN].port[0], 19);
	assert_int_equal(service_of(s, SERVICE_TCP, 4000), SERVICE_ECHO);
	assert_int_equal(service_of(s, SERVICE_UDP, 4000), SERVICES);
	assert_int_equal(service_of(s, SERVICE_TCP, 19), SERVICE_CHARGEN);
	assert_int_equal(config.tcp_connections, 5000);
}

static void test_defaults(void **state)
{
	(void)state;
	admit("");
	assert_string_equal(config.hostname, "hayate");
	assert_int_equal(config.application, CORE_APP_router);
	assert_int_equal(config.idle, CONFIG_IDLE_AUTO);
	assert_int_equal(config.idle_spin_us, 0);
	assert_false(config.steering_off);
	assert_int_equal(config.arp_timeout_s, CONFIG_ARP_TIMEOUT_DEFAULT_S);
	assert_int_equal(config.icmp_rate, CONFIG_ICMP_RATE_DEFAULT);
	assert_int_equal(config.icmp_burst, CONFIG_ICMP_BURST_DEFAULT);
	const struct services *s = &config.services;
	assert_false(services_any(s, SERVICE_UDP) || services_any(s, SERVICE_TCP));
	assert_int_equal(config.tcp_connections, 0);
	assert_int_equal(config.route_count, 0);
	admit("application echo");
	for (unsigned p = 0; p < SERVICE_PROTOS; p++) {
		assert_int_equal(s->of[p][SERVICE_ECHO].ports, 1);
		assert_int_equal(s->of[p][SERVICE_ECHO].port[0], 7);
		assert_int_equal(s->of[p][SERVICE_DISCARD].ports, 0);
		assert_int_equal(s->of[p][SERVICE_CHARGEN].ports, 0);
	}
	/* A stated service excludes the default ones. */
	admit("application echo\nservice echo udp port 4000");
	assert_int_equal(s->of[SERVICE_UDP][SERVICE_ECHO].ports, 1);
	assert_int_equal(s->of[SERVICE_UDP][SERVICE_ECHO].port[0], 4000);
	assert_false(services_any(s, SERVICE_TCP));
	admit("application echo\nservice discard tcp");
	assert_int_equal(s->of[SERVICE_TCP][SERVICE_DISCARD].port[0], 9);
	assert_false(services_any(s, SERVICE_UDP));
	/* Host prefixes have neither network nor broadcast address. */
	admit("interface eth0\nip address 10.0.0.255/32\ninterface eth1\nip address 10.1.0.0/31\n"
	      "ip route 0.0.0.0/0 10.1.0.1\n");
}

#define PASSWORD \
	"console password $pbkdf2-sha256$6400$0ZrzXitFSGltTQnBWOsdYw$" \
	"f1qhN9YsPiA.FWAKgBg.Zbb3eu4rJdCMOZr6RaDOADY\n"
#define CONSOLE "console server\n" PASSWORD "console access 192.0.2.0/24\n"

#define E0 "interface eth0\nip address 192.0.2.1/24\n"

static void test_verify(void **state)
{
	(void)state;
	admit(E0 " ip verify unicast source reachable-via rx allow-default\ninterface eth1\n"
	      " ip address 198.51.100.1/24\n ip verify unicast source reachable-via any allow-default\n"
	      " ipv6 verify unicast source reachable-via rx allow-default\n");
	assert_int_equal(config.interface[0].verify[0], VERIFY_RX);
	assert_int_equal(config.interface[0].verify[1], VERIFY_NOT);
	assert_int_equal(config.interface[1].verify[0], VERIFY_ANY);
	assert_int_equal(config.interface[1].verify[1], VERIFY_RX);
	round_trip();
	refuse(E0 "ip verify unicast source\n", 3, "", "the line ends too early");
	refuse(E0 "ip verify unicast source by rx\n", 3, "by", "expected reachable-via");
	refuse(E0 "ip verify unicast source reachable-via\n", 3, "", "the line ends too early");
	refuse(E0 "ip verify unicast source reachable-via tx\n", 3, "tx",
	       "expected rx (the reverse path");
	refuse(E0 "ip verify unicast source reachable-via rx\n", 3, "", "expected allow-default");
	refuse(E0 "ipv6 verify unicast source reachable-via any allow-default 7\n", 3, "7",
	       "unexpected word");
	refuse("ip verify unicast source reachable-via rx allow-default\n", 1, "ip",
	       "\"ip verify unicast source\" belongs into an interface block");
	refuse(E0 "ip verify unicast source reachable-via rx allow-default\n"
	       "ip verify unicast source reachable-via any allow-default\n", 4, "ip",
	       "\"ip verify unicast source\" stands already at line 3");
}

static void test_unnumbered(void **state)
{
	(void)state;
	admit("interface eth1\n ip unnumbered LO3\n ipv6 enable\ninterface lo3\n ip address 10.0.0.1/32\n");
	assert_true(config.interface[1].lender_line == 2 && config.interface[1].address_count == 0);
	assert_int_equal(config_lender(&config, 1), config_number(&config, config.interface[1].lender));
	assert_int_equal(config_lender(&config, 0), -1);
	round_trip();
	admit("interface eth2\n ip unnumbered eth0\n" E0);
	assert_int_equal(config_lender(&config, 2), 0);
	round_trip();
	refuse("interface eth1\n ip unnumbered lo3\n", 2, "lo3", "this interface has no IPv4 address to lend");
	refuse("interface eth1\n ip unnumbered eth1\n", 2, "eth1", "this interface has no IPv4 address");
	refuse(E0 "interface eth1\n ip unnumbered eth0\ninterface eth2\n ip unnumbered eth1\n", 6, "eth1",
	       "this interface has no IPv4 address to lend");
	refuse(E0 " ip unnumbered eth1\ninterface eth1\n ip address 198.51.100.1/24\n", 3, "eth1",
	       "the interface has an address of its own, at line 2");
	refuse(E0 "interface lo0\n ip unnumbered eth0\n", 4, "lo0",
	       "a loopback is on no link and has no such thing as packets that need a borrowed address");
	refuse(E0 "interface eth1\n ip unnumbered\n", 4, "", "the line ends too early");
	refuse(E0 "interface eth1\n ip unnumbered 10.0.0.1\n", 4, "10.0.0.1", "unknown interface");
	refuse(E0 "interface eth1\n ip unnumbered eth0 eth0\n", 4, "eth0", "unexpected word");
	refuse(E0 "interface eth1\n ip unnumbered eth0\n ip unnumbered eth0\n", 5, "ip",
	       "\"ip unnumbered\" stands already at line 4");
}

static void test_redirects(void **state)
{
	(void)state;
	admit(E0 " ip redirects\n no ipv6 redirects\ninterface eth1\n ipv6 redirects\n"
	      "interface eth2\n ip redirects\n no ip redirects\n");
	assert_true(config.interface[0].redirects[0] && !config.interface[0].redirects[1]);
	assert_true(!config.interface[1].redirects[0] && config.interface[1].redirects[1]);
	assert_false(config.interface[2].redirects[0]);
	round_trip();
	admit(E0 " ip directed-broadcast\ninterface eth1\n ip directed-broadcast\n"
	      " no ip directed-broadcast\n");
	assert_true(config.interface[0].directed && !config.interface[1].directed);
	round_trip();
	refuse("interface lo0\n ip redirects\n", 2, "lo0",
	       "a loopback is on no link and has no such thing as redirects");
	refuse("interface lo0\n ip directed-broadcast\n", 2, "lo0",
	       "a loopback is on no link and has no such thing as broadcasts");
	refuse(E0 "ip directed-broadcast all\n", 3, "all", "unexpected word");
	refuse(E0 "ip redirects on\n", 3, "on", "unexpected word");
	refuse("ip redirects\n", 1, "ip", "\"ip redirects\" belongs into an interface block");
	refuse(E0 "ip redirects\nip redirects\n", 4, "ip", "\"ip redirects\" stands already at line 3");
}

static void test_steering(void **state)
{
	(void)state;
	admit("hostname a\n");
	assert_false(config.steering_off);
	assert_false(config.balance_off);
	admit("load-balance off\n");
	assert_true(config.balance_off);
	admit("Load-Balance ON\n");
	assert_false(config.balance_off);
	assert_int_equal(config.cores_minimum, 0);
	admit("cores minimum 1\n");
	assert_true(config.cores_minimum == 1 && config.cores_wake_up_us == CONFIG_CORES_WAKE_UP_DEFAULT_US);
	round_trip();
	admit("Cores Minimum 64 Wake-Up 2000\n");
	assert_true(config.cores_minimum == 64 && config.cores_wake_up_us == 2000);
	round_trip();
	admit("receive-steering off\n");
	assert_true(config.steering_off);
	admit("Receive-Steering ON\n");
	assert_false(config.steering_off);
	refuse("receive-steering off\nreceive-steering on\n", 2, "receive-steering",
	       "\"receive-steering\" stands already at line 1");
}

static void test_steer(void **state)
{
	(void)state;
	admit(E0 " steer udp any host 192.0.2.9 eq 53 core 2\n"
	      " steer tcp 10.0.0.0/8 eq 179 10.0.0.0 255.255.0.0 core 0\n"
	      "interface eth1\n Steer IP any ANY core 1\n steer 89 any 198.51.100.7/32 core 1\n");
	assert_int_equal(config.steer_count, 4);
	const struct nic_rule *r = &config.steer[0].match, *s = &config.steer[1].match;
	assert_true(r->proto == 17 && r->src_plen == 0 && r->src[0] == 0 && r->src_port == 0);
	assert_true(r->dst_plen == 32 && r->dst[0] == 0xc0000209 && r->dst_port == 53 && config.steer[0].core == 2);
	assert_true(s->proto == 6 && s->src_plen == 8 && s->src[0] == 0x0a000000 && s->src_port == 179);
	assert_true(s->dst_plen == 16 && s->dst[0] == 0x0a000000 && s->dst_port == 0 && config.steer[1].core == 0);
	assert_true(config.steer[2].match.proto == 0 && config.steer[2].interface == config.interface[1].key);
	assert_true(config.steer[3].match.proto == 89 && config.steer[3].match.dst_plen == 32);
	round_trip();
	assert_int_equal(config.steer_count, 4);
	admit("interface eth1\n steer ip any any core 2\ninterface eth0\n steer udp any any core 1\n");
	assert_true(config.steer[0].core == 1 && config.steer[1].core == 2);
	round_trip();
	refuse("steer ip any any core 1\n", 1, "steer", "\"steer\" belongs into an interface block");
	refuse(E0 "steer\n", 3, "", "the line ends too early");
	refuse(E0 "steer ip4 any any core 1\n", 3, "ip4", "unknown protocol; expected ip, ipv6, tcp");
	refuse(E0 "steer 0 any any core 1\n", 3, "0", "unknown protocol");
	refuse(E0 "steer 256 any any core 1\n", 3, "256", "unknown protocol");
	refuse(E0 "steer ip any\n", 3, "", "the line ends too early");
	refuse(E0 "steer ip any host 10.0.0.256 core 1\n", 3, "10.0.0.256", "expected the address of a host");
	refuse(E0 "steer ip 10.0.0.1/8 any core 1\n", 3, "10.0.0.1/8",
	       "prefix 10.0.0.1/8 has host bits set");
	refuse(E0 "steer ip any eq 5 any core 1\n", 3, "eq", "only TCP, UDP and SCTP have ports");
	refuse(E0 "steer udp any eq 0 any core 1\n", 3, "0", "a port must be");
	refuse(E0 "steer udp any any eq 65536 core 1\n", 3, "65536", "a port must be");
	refuse(E0 "steer udp any any eq 53\n", 3, "", "expected core N");
	refuse(E0 "steer udp any any range 1 2 core 1\n", 3, "range", "expected core N");
	refuse(E0 "steer ip any any core\n", 3, "", "the line ends too early");
	refuse(E0 "steer ip any any core 100000\n", 3, "100000", "the number of a core must be");
	refuse(E0 "steer ip any any core 1 2\n", 3, "2", "unexpected word");
	refuse(E0 "steer ip any any core 1\nsteer ip 0.0.0.0/0 any core 2\n", 4, "ip",
	       "the interface has a rule for these packets already, at line 3");
	refuse("interface eth0.5\n steer ip any any core 1\n", 2, "steer",
	       "cards steer what a port receives: give the rule to the port of this interface");
	refuse("interface lo0\n steer ip any any core 1\n", 2, "steer",
	       "cards steer what a port receives: give the rule to the port of this interface");
}

static void test_steer_more(void **state)
{
	(void)state;
	admit(E0 " steer ipv6 any any core 1\n"
	      " steer tcp 2001:db8::/32 any eq 179 core 1\n"
	      " steer udp any eq 53 host 2001:db8::7 cores 0-3\n"
	      " steer icmp ::/0 any core 1\n"
	      " steer icmp any any core 1\n"
	      " steer vlan 9 core 2\n"
	      " steer VLAN 10 udp any any eq 53 cores 1-2\n"
	      " steer vlan 10 ipv6 any fe80::/10 core 2\n"
	      " steer Management cores 2-3\n");
	assert_int_equal(config.steer_count, 9);
	assert_true(config.steer[8].management && config.steer[8].core == 2 && config.steer[8].last == 3);
	const struct nic_rule *r[8];
	for (unsigned i = 0; i < 8; i++)
		r[i] = &config.steer[i].match;
	assert_true(r[0]->family == NIC_RULE_IP6 && r[0]->proto == 0 && r[0]->src_plen == 0 && r[0]->vlan == 0);
	assert_true(r[1]->family == NIC_RULE_IP6 && r[1]->src[0] == 0x20010db8 && r[1]->src_plen == 32);
	assert_true(r[1]->dst_port == 179 && config.steer[1].core == 1 && config.steer[1].last == 1);
	assert_true(r[2]->family == NIC_RULE_IP6 && r[2]->dst[3] == 7 && r[2]->dst_plen == 128 && r[2]->src_port == 53);
	assert_true(config.steer[2].core == 0 && config.steer[2].last == 3);
	assert_true(r[3]->family == NIC_RULE_IP6 && r[3]->proto == 58 && r[3]->src_plen == 0);
	assert_true(r[4]->family == NIC_RULE_IP4 && r[4]->proto == 1);
	assert_true(r[5]->family == NIC_RULE_ALL && r[5]->vlan == 9);
	assert_true(r[6]->family == NIC_RULE_IP4 && r[6]->vlan == 10 && r[6]->dst_port == 53);
	assert_true(r[7]->family == NIC_RULE_IP6 && r[7]->vlan == 10 && r[7]->dst_plen == 10);
	round_trip();
	assert_int_equal(config.steer_count, 9);
	refuse(E0 "steer tcp 2001:db8::/32 10.0.0.0/8 core 1\n", 3, "10.0.0.0/8", "the rule is of IPv6");
	refuse(E0 "steer tcp any 10.0.0.0/8 core 1\nsteer ip ::/0 any core 1\n", 4, "::/0", "the rule is of IPv4");
	refuse(E0 "steer ipv6 host 10.0.0.1 any core 1\n", 3, "10.0.0.1", "the rule is of IPv6");
	refuse(E0 "steer ipv6 host 2001:db8::g any core 1\n", 3, "2001:db8::g", "expected the address of a host");
	refuse(E0 "steer ipv6 2001:db8::1/32 any core 1\n", 3, "2001:db8::1/32",
	       "prefix 2001:db8::1/32 has host bits set");
	refuse(E0 "steer ipv6 any eq 1 any core 1\n", 3, "eq", "only TCP, UDP and SCTP have ports");
	refuse(E0 "steer vlan 0 core 1\n", 3, "0", "a VLAN must be");
	refuse(E0 "steer vlan 4095 core 1\n", 3, "4095", "a VLAN must be");
	refuse(E0 "steer vlan 5\n", 3, "", "the line ends too early");
	refuse(E0 "steer core 1\n", 3, "core", "unknown protocol");
	refuse(E0 "steer management\n", 3, "", "expected core N");
	refuse(E0 "steer management any core 1\n", 3, "any", "expected core N");
	refuse(E0 "steer vlan 5 management core 1\n", 3, "management", "unknown protocol");
	refuse(E0 "steer management core 1\nsteer management core 2\n", 4, "management",
	       "the interface has a rule for these packets already, at line 3");
	refuse(E0 "steer vlan 5 core 1\nsteer vlan 5 cores 1-2\n", 4, "vlan",
	       "the interface has a rule for these packets already, at line 3");
	refuse(E0 "steer ip any any cores\n", 3, "", "the line ends too early");
	static const char *const groups[] = {"1", "1-", "-1", "2-1", "1-1", "1-100000", "a-b", "1-2-3"};
	for (unsigned i = 0; i < ARRAY_LEN(groups); i++) {
		char text[128];
		snprintf(text, sizeof text, E0 "steer ip any any cores %s\n", groups[i]);
		refuse(text, 3, groups[i], "expected the first and the last core of a group");
	}
	refuse(E0 "steer ip any any cores 1-2 3\n", 3, "3", "unexpected word");
}

/* Groups are counted by port, and each once. */
static void test_steer_groups_are_bounded(void **state)
{
	(void)state;
	char text[8192];
	unsigned len = 0;
	for (unsigned k = 0; k < 2; k++) {
		len += (unsigned)snprintf(text + len, sizeof text - len, "interface eth%u\n", k);
		for (unsigned i = 0; i < 2 * CORE_RULE_GROUPS_MAX; i++)
			len += (unsigned)snprintf(text + len, sizeof text - len, "steer udp any any eq %u cores 0-%u\n", i + 1,
			                          i / 2 + 1);
	}
	admit(text);
	round_trip();
	snprintf(text + len, sizeof text - len, "steer ip any any cores 1-2\n");
	refuse(text, 2 * (1 + 2 * CORE_RULE_GROUPS_MAX) + 1, "cores",
	       "the rules of a port name at most 8 groups of cores");
}

static void test_steer_is_bounded(void **state)
{
	(void)state;
	char text[8192];
	unsigned len = (unsigned)snprintf(text, sizeof text, "interface eth0\n");
	for (unsigned i = 0; i < CONFIG_STEER_MAX; i++)
		len += (unsigned)snprintf(text + len, sizeof text - len, "steer udp any eq %u any core 1\n", i + 1);
	admit(text);
	assert_int_equal(config.steer_count, CONFIG_STEER_MAX);
	round_trip();
	snprintf(text + len, sizeof text - len, "interface eth1\nsteer ip any any core 1\n");
	refuse(text, CONFIG_STEER_MAX + 3, "ip", "the interfaces have at most 64 rules together");
}

static void test_statement_errors(void **state)
{
	(void)state;
	refuse("hostnam x", 1, "hostnam", "unknown statement; expected one of hostname, application, "
	       "idle, receive-steering, load-balance, cores, interface, description, ip, mtu, shutdown, no, ipv6, mac, permit, deny, arp, "
	       "service, tcp, web, username, http, https, console, ssh, capture, routing, xdp, steer, channel-group, lacp, port-channel, switchport, "
	       "storm-control, monitor, spanning-tree, errdisable, trust, logging, sflow, lldp, ntp, exit");
	refuse("\n\nint eth0", 3, "int", "unknown statement");
	refuse("ip", 1, "", "expected address, helper-address, dhcp, unnumbered, access-group, unreachables, verify, redirects, directed-broadcast, access-list, route, icmp, igmp, name-server, domain after \"ip\"");
	refuse("ip rout 1.2.3.4", 1, "rout",
	       "expected address, helper-address, dhcp, unnumbered, access-group, unreachables, verify, redirects, directed-broadcast, access-list, route, icmp, igmp, name-server, domain after \"ip\"");
	refuse("ip icmp 5", 1, "5", "expected rate-limit after \"icmp\"");
	refuse("no mtu", 1, "mtu", "expected shutdown, ip, ipv6, sflow, lldp after \"no\"");
	refuse("service echo sctp", 1, "sctp", "expected udp, tcp after \"echo\"");
	refuse("service daytime tcp", 1, "daytime", "expected echo, discard, chargen after \"service\"");
	refuse("tcp", 1, "", "expected connections after \"tcp\"");
	refuse("tcp connections", 1, "", "the line ends too early; expected \"tcp connections N\"");
	refuse("tcp connections 0", 1, "0", "the number of TCP connections of a data core must be");
	refuse("web access-log sample", 1, "", "the line ends too early; expected \"web access-log [sample N]\"");
	refuse("web access-log sample 0", 1, "0", "the number of requests of which one is logged must be");
	refuse("web access-log 5", 1, "5", "unexpected word");
	refuse("web access-log\nweb access-log sample 2", 2, "web", "\"web access-log\" stands already");
	refuse("tcp connections 5 5", 1, "5", "unexpected word");
	refuse("tcp connections 5\ntcp connections 5", 2, "tcp", "\"tcp connections\" stands already");
	refuse("hostname", 1, "", "the line ends too early; expected \"hostname NAME\"");
	refuse("hostname a b", 1, "b", "unexpected word; expected \"hostname NAME\"");
	refuse("hostname -a", 1, "-a", "a hostname has 1 to 63 letters");
	refuse("hostname a.", 1, "a.", "a hostname has");
	refuse("hostname a_b", 1, "a_b", "a hostname has");
	refuse("hostname aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff1234", 1,
	       "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeee", "a hostname has");
	refuse("hostname a\nhostname b", 2, "hostname", "\"hostname\" stands already at line 1");
	refuse("application", 1, "",
	       "the line ends too early; expected \"application (router | echo | discard | switch | web | pktgen)\"");
	refuse("application bridge", 1, "bridge", "unknown application; expected router or echo or discard");
	refuse("application echo tcp", 1, "tcp", "unexpected word");
	refuse("idle now", 1, "now", "unknown idle mode; expected poll, sleep or auto");
	refuse("cores minimum 0", 1, "0", "the number of cores must be a decimal number from 1 to 64");
	refuse("cores minimum 65", 1, "65", "the number of cores must be a decimal number from 1 to 64");
	refuse("cores minimum", 1, "", "the line ends too early");
	refuse("cores minimum 2 sleep", 1, "sleep", "unexpected word");
	refuse("cores minimum 2 wake-up", 1, "", "the line ends too early");
	refuse("cores minimum 2 wake-up 9", 1, "9", "the wake-up must be a decimal number from 10 to 1000000");
	refuse("cores minimum 2 wake-up 50us", 1, "50us", "the wake-up must be a decimal number from 10 to 1000000");
	refuse("cores minimum 2 wake-up 50 us", 1, "us", "unexpected word");
	refuse("load-balance maybe", 1, "maybe", "expected on or off");
	refuse("load-balance", 1, "", "the line ends too early");
	refuse("load-balance on off", 1, "off", "unexpected word");
	refuse("receive-steering maybe", 1, "maybe", "expected on or off");
	refuse("receive-steering", 1, "", "the line ends too early");
	refuse("receive-steering on off", 1, "off", "unexpected word");
	refuse("idle", 1, "", "the line ends too early");
	refuse("idle poll poll", 1, "poll", "unexpected word");
	refuse("idle poll spin 5", 1, "spin", "unexpected word");
	refuse("idle spin 5", 1, "spin", "unknown idle mode; expected poll, sleep or auto");
	refuse("idle sleep 5", 1, "5", "unexpected word");
	refuse("idle sleep spin", 1, "", "the line ends too early");
	refuse("idle sleep spin 0", 1, "0", "the time to poll must be a decimal number from 1");
	refuse("idle auto spin 1000001", 1, "1000001", "the time to poll must be a decimal number from 1");
	refuse("idle sleep spin 5 us", 1, "us", "unexpected word");
	refuse("arp timeout", 1, "", "the line ends too early");
	refuse("arp timeout 0", 1, "0", "the ARP timeout in seconds must be a decimal number from 1");
	refuse("arp timeout 5 s", 1, "s", "unexpected word");
	refuse("arp timeout 60\narp timeout 60", 2, "arp", "\"arp timeout\" stands already");
	refuse("arp x 00:11:22:33:44:55", 1, "x", "expected an IPv4 address (four decimal");
	refuse("arp", 1, "", "the line ends too early");
	refuse("arp 1.2.3.4", 1, "", "the line ends too early");
	refuse("arp 1.2.3.4 5", 1, "5", "expected a MAC address");
	refuse("arp 1.2.3.4 00:11:22:33:44:55 x", 1, "x", "unexpected word");
	refuse("arp 1.2.3.4 01:11:22:33:44:55", 1, "01:11:22:33:44:55", "the MAC address of a neig");
	refuse("arp 1.2.3.4 00:00:00:00:00:00", 1, "00:00:00:00:00:00", "the MAC address of a neig");
	refuse("ip icmp rate-limit", 1, "", "the line ends too early");
	refuse("ip icmp rate-limit x", 1, "x", "the rate in ICMP errors a second must be");
	refuse("ip icmp rate-limit 5 bursts", 1, "bursts", "unexpected word");
	refuse("ip icmp rate-limit 5 burst", 1, "", "the line ends too early");
	refuse("ip icmp rate-limit 5 burst 0", 1, "0", "the burst must be a decimal number from 1");
	refuse("ip icmp rate-limit 5 burst 1 1", 1, "1", "unexpected word");
	refuse("service echo udp 7", 1, "7", "unexpected word");
	refuse("service echo udp port", 1, "", "the line ends too early");
	refuse("service echo udp port 0", 1, "0", "a UDP port must be");
	refuse("service echo udp port 65536", 1, "65536", "a UDP port must be");
	refuse("service echo udp\nservice echo udp port 7", 2, "7", "echo on UDP port 7 is already");
	refuse("service echo udp port 1 port 2 port 3 port 4 port 5 port 6 port 7 port 8 port 9", 1,
	       "9", "echo listens on at most 8 ports");
	refuse("service chargen tcp port 0", 1, "0", "a TCP port must be");
	refuse("service chargen tcp\nservice echo tcp port 7 port 19", 2, "19",
	       "chargen on TCP port 19 is already");
	refuse("service discard tcp port 1 tcp", 1, "tcp", "unexpected word");
	refuse("exit", 1, "exit", "exit without a block");
	refuse("interface eth0\nexit\nexit", 3, "exit", "exit without a block");
	refuse("interface eth0\nexit now", 2, "now", "unexpected word");
	refuse("end x", 1, "x", "unexpected word");
	refuse("end\nidle poll", 2, "idle", "nothing but comments may follow");
}

static void test_interface_errors(void **state)
{
	(void)state;
	refuse("interface", 1, "", "the line ends too early; expected \"interface (ethN | ethN.VLAN | port-channelN | port-channelN.VLAN | vlanN | loN)\"");
	refuse("interface eth16", 1, "eth16", "unknown interface; expected eth0 to eth15");
	refuse("interface eth", 1, "eth", "unknown interface");
	refuse("interface eth01", 1, "eth01", "unknown interface");
	refuse("interface gi0", 1, "gi0", "unknown interface");
	refuse("interface eth0 x", 1, "x", "unexpected word");
	refuse("interface eth0\ninterface eth0", 2, "eth0", "eth0 already has a block, at line 1");
	refuse("mtu 1500", 1, "mtu", "\"mtu\" belongs into an interface block");
	refuse("interface eth0\nidle poll\nshutdown", 3, "shutdown", "\"shutdown\" belongs into");
	refuse("interface eth0\nmtu 67", 2, "67", "the MTU must be a decimal number from 68 to 9198");
	refuse("interface eth0\nmtu 9199", 2, "9199", "the MTU must be");
	refuse("interface eth0\nmtu", 2, "", "the line ends too early");
	refuse("interface eth0\nmtu 68 68", 2, "68", "unexpected word");
	refuse("interface eth0\nmtu 68\nmtu 68", 3, "mtu", "\"mtu\" stands already at line 2");
	admit("interface eth0\nmtu 68\ninterface eth1\nmtu 9198");
	refuse("interface eth0\nshutdown now", 2, "now", "unexpected word");
	refuse("interface eth0\nno shutdown now", 2, "now", "unexpected word");
	refuse("interface eth0\ndescription", 2, "", "the line ends too early");
	refuse("interface eth0\ndescription a\tb", 2, "a", "a description must not hold a tab");
	refuse("interface eth0\ndescription 1234567890123456789012345678901234567890123456789012345678"
	       "901234567890123456789 x", 2, "12345678901234567890123456789012345678901234567",
	       "the description has 81 characters; at most 79 are kept");
	refuse("interface eth0\nip address", 2, "", "the line ends too early");
	refuse("interface eth0\nip address 1.2.3", 2, "1.2.3", "expected an address with its length");
	refuse("interface eth0\nip address 1.2.3.4", 2, "1.2.3.4", "the prefix length or mask is mis");
	refuse("interface eth0\nip address 1.2.3.4/33", 2, "1.2.3.4/33", "the prefix length after /");
	refuse("interface eth0\nip address 1.2.3.4/x", 2, "1.2.3.4/x", "the prefix length after /");
	refuse("interface eth0\nip address 1.2.3.4/0", 2, "1.2.3.4/0", "the prefix length of an inter");
	refuse("interface eth0\nip address 1.2.3.4 x", 2, "x", "expected a mask such as");
	refuse("interface eth0\nip address 1.2.3.4 255.0.255.0", 2, "255.0.255.0",
	       "the one bits of a mask must stand together");
	refuse("interface eth0\nip address 1.2.3.4 0.0.0.255", 2, "0.0.0.255",
	       "this is a wildcard; did you mean the mask 255.255.255.0?");
	refuse("interface eth0\nip address 1.2.3.4/24 x", 2, "x", "unexpected word");
	refuse("interface eth0\nip address 127.0.0.1/8", 2, "127.0.0.1/8", "an interface needs a uni");
	refuse("interface eth0\nip address 0.0.0.1/8", 2, "0.0.0.1/8", "an interface needs a unicast");
	refuse("interface eth0\nip address 224.0.0.1/8", 2, "224.0.0.1/8", "an interface needs a uni");
	refuse("interface eth0\nip address 10.0.0.0/30", 2, "10.0.0.0/30", "this is the network addr");
	refuse("interface eth0\nip address 10.0.0.3/30", 2, "10.0.0.3/30", "this is the broadcast ad");
	refuse(E0 "ip address 10.0.0.1/8", 3, "10.0.0.1/8",
	       "the interface has its primary address at line 2; add the word secondary");
	refuse("interface eth0\nip address 10.0.0.1/8 secondary", 2, "secondary",
	       "the primary address of the interface must come before");
	refuse(E0 "ip address 10.0.0.1/24 secondary\nip address 10.0.1.1/24 secondary\n"
	       "ip address 10.0.2.1/24 secondary\nip address 10.0.3.1/24 secondary", 6, "10.0.3.1/24",
	       "an interface has at most 4 addresses");
}

static void test_whole_errors(void **state)
{
	(void)state;
	refuse(E0 "interface eth1\nip address 192.0.2.1/24", 4, "192.0.2.1",
	       "this address is already that of eth0, at line 2");
	refuse(E0 "interface eth1\nip address 192.0.2.2/24", 4, "192.0.2.2/24",
	       "the subnet overlaps 192.0.2.0/24 of eth0, at line 2");
	refuse(E0 "interface eth1\nip address 192.0.3.1/16", 4, "192.0.3.1/16",
	       "the subnet overlaps 192.0.2.0/24 of eth0, at line 2");
	refuse("interface eth5\nip address 10.0.0.1/8\ninterface eth1\nip address 10.1.0.1/16", 4,
	       "10.1.0.1/16", "the subnet overlaps 10.0.0.0/8 of eth5, at line 2");
	refuse(E0 "ip address 192.0.2.9/25 secondary", 3, "192.0.2.9/25",
	       "the subnet overlaps 192.0.2.0/24 of eth0");
	refuse(E0 "ip address 192.0.2.1/24 secondary", 3, "192.0.2.1", "this address is already");
	admit(E0 "ip address 192.0.2.2/24 secondary");

	refuse("ip route", 1, "", "the line ends too early");
	refuse("ip route x", 1, "x", "expected an address with its length");
	refuse("ip route 10.0.0.0", 1, "10.0.0.0", "the prefix length or mask is missing");
	refuse("ip route 10.0.0.0/8", 1, "", "the line ends too early");
	refuse("ip route 10.0.0.0/8 eth0", 1, "eth0", "expected null0, blackhole, unreachable, prohibit or the next hop, an IPv4");
	refuse("ip route 10.0.0.0/8 null0 0", 1, "0", "unexpected word");
	refuse("ip route 10.0.0.0/8 null0 256", 1, "256", "unexpected word");
	refuse("ip route 10.0.0.0/8 null0 1 2", 1, "2", "unexpected word");
	refuse("ip route 192.0.2.1/24 null0", 1, "192.0.2.1/24",
	       "prefix 192.0.2.1/24 has host bits set; did you mean 192.0.2.0/24?");
	refuse("ip route 10.0.0.1 255.0.0.0 null0", 1, "10.0.0.1", "prefix 10.0.0.1/8 has host bits");
	refuse(E0 "ip route 0.0.0.0/0 192.0.2.1", 3, "192.0.2.1", "the next hop is this router's own");
	admit(E0 "ip route 0.0.0.0/0 192.0.3.1"); /* another route may lead to it */
	refuse(E0 "ip route 0.0.0.0/0 127.0.0.1", 3, "127.0.0.1", "the next hop is not the address of");
	refuse(E0 "ip route 0.0.0.0/0 224.0.0.5", 3, "224.0.0.5", "the next hop is not the address of");
	refuse(E0 "arp 192.0.3.1 02:00:00:00:00:01", 3, "192.0.3.1", "the ARP address does not lie on");
	refuse(E0 "ip route 0.0.0.0/0 192.0.2.255", 3, "192.0.2.255", "the next hop is the network");
	refuse(E0 "ip route 0.0.0.0/0 192.0.2.0", 3, "192.0.2.0", "the next hop is the network or");
	refuse(E0 "ip route 0.0.0.0/0 0.0.0.0", 3, "0.0.0.0", "the next hop is not the address of");
	refuse(E0 "ip route 10.0.0.0/8 null0\n\nip route 10.0.0.0 255.0.0.0 192.0.2.2", 5,
	       "10.0.0.0/8",
	       "the prefix already has a route of this distance, at line 3, and one of the two");
	refuse(E0 "ip route 10.0.0.0/8 192.0.2.2\nip route 10.0.0.0/8 192.0.2.3\n"
	       "ip route 10.0.0.0/8 192.0.2.2 7", 5, "10.0.0.0/8",
	       "this prefix has this route already, at line 3");
	refuse(E0 "ip route 192.0.2.0/24 null0", 3, "192.0.2.0/24", "eth0 reaches this prefix itself");
	refuse(E0 "ip route 192.0.2.1/32 null0", 3, "192.0.2.1/32", "eth0 reaches this prefix itself");
	admit(E0 "ip route 192.0.2.0/25 null0\nip route 192.0.2.7/32 192.0.2.8");

	refuse(E0 "arp 10.0.0.1 00:11:22:33:44:55", 3, "10.0.0.1", "the ARP address does not lie on");
	refuse(E0 "arp 192.0.2.1 00:11:22:33:44:55", 3, "192.0.2.1", "the ARP address is this route");
	refuse(E0 "arp 192.0.2.255 00:11:22:33:44:55", 3, "192.0.2.255", "the ARP address is the netw");
	refuse(E0 "arp 192.0.2.2 00:11:22:33:44:55\narp 192.0.2.2 00:11:22:33:44:56", 4, "192.0.2.2",
	       "this address already has an ARP entry, at line 3");
	char text[8192];
	size_t n = (size_t)snprintf(text, sizeof text, E0);
	for (int i = 0; i < 65; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "arp 192.0.2.%d 0200.0000.0001\n", i + 2);
	refuse(text, 67, "192.0.2.66", "too many static ARP entries; at most 64");
}

static void test_bytes(void **state)
{
	(void)state;
	char text[600];
	refuse("idle\x01poll", 1, "?", "byte 0x01 in column 5 is not plain ASCII text");
	refuse("idle poll\r\r\n", 1, "?", "byte 0x0d in column 10");
	refuse("\nhostname caf\xc3\xa9", 2, "?", "byte 0xc3 in column 13");
	assert_int_equal(parse_bytes("idle poll\0", 10), E_INVAL);
	assert_int_equal(parse_bytes("idle poll\n\0", 11), E_INVAL);
	assert_int_equal(error.line, 2);
	assert_int_equal(parse_bytes("! \0\n", 4), 0);
	memset(text, 'x', sizeof text);
	memcpy(text, "hostname ", 9);
	assert_int_equal(parse_bytes(text, sizeof text), E_INVAL);
	assert_string_equal(error.reason, "the line has 600 characters; at most 255");
	text[0] = '!';
	assert_int_equal(parse_bytes(text, sizeof text), 0);
	/* More words than any statement has. */
	for (int i = 0; i < 100; i++)
		memcpy(text + 2 * i, "a ", 2);
	assert_int_equal(parse_bytes(text, 200), E_INVAL);
	admit("interface eth0\ndescription a a a a a a a a a a a a a a a a a a a a a a a a a a a a a");
	assert_int_equal(strlen(config.interface[0].description), 57);

	char line[400];
	refuse("idle now", 1, "now", "unknown");
	text_error_format(line, sizeof line, "lab.cfg", &error);
	assert_string_equal(line, "lab.cfg:1: unknown idle mode; expected poll, sleep or auto, "
	                          "at \"now\"");
	refuse("idle", 1, "", "the line");
	text_error_format(line, sizeof line, "lab.cfg", &error);
	assert_string_equal(line, "lab.cfg:1: the line ends too early; expected \"idle (poll | (sleep "
	                          "| auto) [spin MICROSECONDS])\"");
}

static void test_round_trip(void **state)
{
	(void)state;
	admit("");
	round_trip();
	admit(full);
	round_trip();
	admit("application echo\nidle poll");
	round_trip();
	admit("application echo\nservice chargen udp port 5\nservice discard tcp");
	round_trip();
	admit("http server port 81\nhttp access 192.0.2.0/24\nhttp access 10.0.0.0/8\n"
	      "http host 2001:DB8::0:5\nhttp host Lab.Example.NET.\nhttp host 203.0.113.5\n");
	round_trip();
	admit(CONSOLE "console access 2001:db8::/32\nconsole access ::/0\nconsole access 0.0.0.0/0\n"
	      "http server\nhttp access fe80::/10\n");
	round_trip();
	admit("capture server\ncapture access 192.0.2.0/24\ncapture access 2001:db8::/32\n");
	round_trip();
	admit("ssh server port 2022\nssh access 192.0.2.0/24\nssh access ::/0\nusername a role read\n");
	round_trip();
}

static void test_many_routes(void **state)
{
	(void)state;
	const uint32_t n = 100000;
	char *text = malloc(n * 64);
	assert_non_null(text);
	size_t len = (size_t)sprintf(text, "interface eth0\nip address 192.0.2.1/24\n");
	for (uint32_t i = 0; i < n; i++)
		len += (size_t)sprintf(text + len, "ip route %u.%u.%u.0/24 192.0.2.%u\n", 11 + (i >> 16),
		                       i >> 8 & 255, i & 255, 2 + i % 200);
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	progress_calls = 0;
	assert_int_equal(parse_bytes(text, len), 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	assert_int_equal(progress_calls, n / CONFIG_PROGRESS_LINES);
	assert_int_equal(progress_lines, n);
	print_message("%u routes, %zu bytes: %.1f ms\n", n, len,
	              (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6);
	assert_int_equal(config.route_count, n);
	round_trip();
	/* The last line, repeated, is a duplicate that only the hash can find quickly. */
	size_t more = (size_t)sprintf(text + len, "ip route 11.0.0.0/24 null0\n");
	assert_int_equal(parse_bytes(text, len + more), E_INVAL);
	assert_int_equal(error.line, n + 3);
	assert_string_equal(error.reason,
	                    "the prefix already has a route of this distance, at line 3, and one of "
	                    "the two has no next hop");
	/* Memory for one route less. */
	const struct config_memory small = {.routes = routes,
	                                    .route_max = n - 1,
	                                    .routes6 = routes6,
	                                    .scratch = scratch,
	                                    .scratch_words = SCRATCH};
	assert_int_equal(config_parse(text, len, &small, &config, &error), E_INVAL);
	assert_int_equal(error.line, n + 2);
	assert_string_equal(error.reason, "too many routes; there is memory for 99999");
	free(text);
}

/* The routes of a prefix, in the order of the chain, by their lines. */
static void expect_chain(uint32_t prefix, unsigned plen, const char *want)
{
	char text[200];
	size_t n = 0;
	text[0] = 0;
	for (uint32_t i = config_route_first(&config, scratch, prefix, plen); i != CONFIG_ROUTE_NONE;
	     i = config.routes[i].more - 1) {
		assert_int_equal(config.routes[i].follows, n > 0);
		n += (size_t)snprintf(text + n, sizeof text - n, "%u ", config.routes[i].line);
	}
	assert_string_equal(text, want);
}

static void test_several_routes(void **state)
{
	(void)state;
	char text[1000] = E0;
	admit(E0 "ip route 10.0.0.0/8 192.0.2.2\nip route 10.0.0.0/9 null0 1\n"
	      "ip route 10.0.0.0/8 192.0.2.3 1\nip route 10.0.0.0/8 192.0.2.4 200\n"
	      "ip route 10.0.0.0/8 blackhole 255\nip route 11.0.0.0/8 unreachable\n"
	      "ip route 11.0.0.0/8 prohibit 2\n");
	expect_chain(0x0a000000, 8, "3 7 6 5 ");
	expect_chain(0x0a000000, 9, "4 ");
	expect_chain(0x0b000000, 8, "8 9 ");
	expect_chain(0x0b000000, 9, "");
	assert_int_equal(config.routes[3].distance, 200);
	assert_int_equal(config.routes[4].kind, CONFIG_ROUTE_BLACKHOLE);
	assert_int_equal(config.routes[5].kind, CONFIG_ROUTE_UNREACHABLE);
	assert_int_equal(config.routes[6].kind, CONFIG_ROUTE_PROHIBIT);
	round_trip();
	for (unsigned i = 2; i < 2 + CONFIG_ROUTES_EACH_MAX; i++)
		sprintf(text + strlen(text), "ip route 10.0.0.0/8 192.0.2.%u\n", i);
	admit(text);
	strcat(text, "ip route 10.0.0.0/8 192.0.2.99\n");
	refuse(text, 19, "10.0.0.0/8", "a prefix has at most 16 routes");
}

/* A statement's word with zero bytes behind it: found by `make fuzz F=candidate`. */
static void test_zeros_behind_a_word(void **state)
{
	(void)state;
	static const char line[] = "interface\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
	for (size_t len = 9; len <= sizeof line - 1; len++)
		assert_int_equal(config_statement_of((struct text){line, len}) != NULL, len == 9);
}

static void test_hostile(void **state)
{
	(void)state;
	seed_random("test_hostile");
	static const char *const pieces[] = {"\nscript x\n", "ip ", "address ", "route ", "10.0.0.0/8 ", "\n", "eth0",
	                                     "interface ", "null0", " 255.255.255.0", "\r\n", "no ",
	                                     "shutdown", "mtu 1500", "end", "!", "arp ", "secondary"};
	hostile(full, pieces, ARRAY_LEN(pieces));
}

/* A file that ends anywhere, as after an incomplete copy. */
static void test_cut_anywhere(void **state)
{
	(void)state;
	for (size_t len = 0; len <= strlen(full); len++)
		survive(full, len);
}

/* All lines end in \n alone or in \r\n, or the last one has no end; with and without a byte-order
 * mark: the configuration is the same. `full` has some of each. */
static void test_line_ends(void **state)
{
	(void)state;
	static struct config plain;
	admit(full);
	plain = config;
	for (unsigned way = 0; way < 8; way++) {
		const bool mark = way & 1, windows = way & 2, end = way & 4;
		char text[4096] = "\xef\xbb\xbf";
		size_t len = mark ? 3 : 0;
		for (const char *c = full + 3; *c; c++) {
			assert_true(len + 4 < sizeof text);
			if (*c == '\n' && windows)
				text[len++] = '\r';
			if (*c != '\r')
				text[len++] = *c;
		}
		if (end && windows)
			text[len++] = '\r';
		if (end)
			text[len++] = '\n';
		assert_int_equal(parse_bytes(text, len), 0);
		assert_memory_equal(&config, &plain, sizeof config);
	}
}

/* `count` times `line`, then `last`: refused at this line for this reason. */
static void refuse_many(const char *line, uint32_t count, const char *last, uint32_t at,
                        const char *reason)
{
	const size_t each = strlen(line), end = strlen(last);
	struct config empty;
	char *text = malloc(count * each + end);
	assert_non_null(text);
	for (uint32_t i = 0; i < count; i++)
		memcpy(text + i * each, line, each);
	memcpy(text + count * each, last, end);
	assert_int_equal(parse_bytes(text, count * each + end), E_INVAL);
	assert_int_equal(error.line, at);
	if (strncmp(error.reason, reason, strlen(reason)) != 0)
		fail_msg("reason \"%s\", expected \"%s\"", error.reason, reason);
	config_default(&empty);
	assert_memory_equal(&config, &empty, sizeof config);
	free(text);
}

/* Larger than any real file. The first wrong line ends the reading. */
static void test_huge(void **state)
{
	(void)state;
	const uint32_t million = 1000000;
	refuse_many("frobnicate\n", million, "", 1, "unknown statement");
	refuse_many("! a comment\n", million, "frobnicate", million + 1, "unknown statement");
	refuse_many("\n", million, "frobnicate\n", million + 1, "unknown statement");
	refuse_many("interface eth0\ninterface eth1\n", million / 2, "", 3, "");
	refuse_many("a", million, "", 1, "the line has 1000000 characters; at most 255");
	refuse_many("a ", million, "", 1, "the line has 2000000 characters; at most 255");
	refuse_many("\xff", million, "", 1, "the line has 1000000 characters");
	refuse_many("\xff\n", million, "", 1, "byte 0xff in column 1 is not plain ASCII text");
	refuse_many(" ", million, "frobnicate", 1, "the line has 1000010 characters");
}

static void test_script(void **state)
{
	(void)state;
	admit("hostname a\n");
	assert_int_equal(config.script.line, 0);
	round_trip();
	admit("hostname a\nend\n\nscript lab.gen\nhostname b\n\x01 not for us\nscript twice");
	assert_string_equal(config.hostname, "a");
	assert_int_equal(config.script.line, 4);
	assert_string_equal(config.script.name, "lab.gen");
	assert_int_equal(config.script.text.len, strlen("hostname b\n\x01 not for us\nscript twice"));
	assert_memory_equal(config.script.text.at, "hostname b\n", 11);
	round_trip();
	static const char *const empty[] = {"script a", "script a\n", "interface eth0\nscript a\r\n"};
	for (unsigned i = 0; i < ARRAY_LEN(empty); i++) {
		admit(empty[i]);
		assert_int_equal(config.script.text.len, 0);
		assert_int_not_equal(config.script.line, 0);
		round_trip();
	}
	admit("script a\n\n");
	assert_int_equal(config.script.text.len, 1);
	round_trip();
	refuse("script", 1, "", "the line ends too early");
	refuse("script a b\nrest", 1, "b", "unexpected word");
	refuse("script a123456789012345678901234567890123456789012345678", 1,
	       "a1234567890123456789012345678901234567890123456", "the name has 49 characters");
	refuse("hostname -\nscript a\nrest", 1, "-", "a hostname has");
	/* Errors of the whole are still found. */
	refuse("http access 192.0.2.0/24\nscript a\nrest", 1, "http", "an access list without");
}

#define HTTP "http server\nhttp access 192.0.2.0/24\n"

static void test_http(void **state)
{
	(void)state;
	admit("");
	assert_int_equal(config.http.port, 0);
	admit(HTTP);
	assert_int_equal(config.http.port, 80);
	admit("http access 192.0.2.0/24\nHTTP Server port 8080\nhttp access 10.0.0.0 255.0.0.0");
	assert_int_equal(config.http.port, 8080);
	assert_int_equal(config.http.access.count, 2);
	assert_int_equal(net_addr_to_ip4(&config.http.access.row[1].prefix), IP4(10, 0, 0, 0));
	assert_int_equal(config.http.access.row[1].plen, 96 + 8);
	refuse("http server\nhttp server port 8080", 2, "http", "\"http server\" stands already");
	admit("https server\nhttp access 192.0.2.0/24");
	assert_int_equal(config.http.port, 0);
	assert_int_equal(config.http.tls_port, 443);
	admit("https server port 8443\nhttp server\nhttp access 192.0.2.0/24\nhttp host a");
	assert_int_equal(config.http.port, 80);
	assert_int_equal(config.http.tls_port, 8443);
	admit("https server\nhttps certificate My.pem\nhttp access 192.0.2.0/24");
	assert_string_equal(config.http.certificate, "My.pem");
	refuse("http server\nhttps certificate a\nhttp access 192.0.2.0/24", 2, "https", "a certificate without a server");
	refuse("https certificate", 1, "", "the line ends too early");
	admit("trust certificate Roots.pem");
	assert_string_equal(config.trust, "Roots.pem");
	round_trip();
	refuse("trust certificate", 1, "", "the line ends too early");
	refuse("trust certificate a b", 1, "b", "unexpected word");
	refuse("trust certificate a\ntrust certificate b", 2, "trust", "\"trust certificate\" stands already at line 1");
	refuse("https server", 1, "https", "the server needs an access list");
	refuse("https server port 80\nhttp server\nhttp access 192.0.2.0/24", 1, "80", "the HTTP server listens on");
	refuse("https server\nhttps server", 2, "https", "\"https server\" stands already");
	refuse("https server port 65536", 1, "65536", "a TCP port must be");
	refuse("http server port 0", 1, "0", "a TCP port must be");
	refuse("http server port", 1, "", "the line ends too early");
	refuse("http server 80", 1, "80", "unexpected word");
	refuse("http", 1, "", "expected server, access, host after");
	refuse("hostname a\nhttp server", 2, "http", "the server needs an access list; say who may "
	       "connect by lines \"http access PREFIX\"");
	refuse("http access 192.0.2.1/24\nhttp server", 1, "192.0.2.1/24", "prefix 192.0.2.1/24 has host");
	refuse("http server\nhttp access 0.0.0.0/0\nhttp access 0.0.0.0/0", 3, "0.0.0.0/0",
	       "this prefix stands already at line 2");
	refuse("hostname a\nhttp access 192.0.2.0/24", 2, "http", "an access list without a server");
	refuse("application discard\n" HTTP, 2, "http", "the discard application");
	refuse("application echo\nhttp access ::/0\nhttp server port 7", 3, "7", "echo listens on this port");
	refuse("service chargen tcp\nhttp access ::/0\nhttp server port 19", 3, "19", "chargen listens on this port");
	char text[1024] = "http server\n";
	for (unsigned i = 0; i <= CONFIG_ACCESS_MAX; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "http access 10.%u.0.0/16\n", i);
	refuse(text, CONFIG_ACCESS_MAX + 2, "10.16.0.0/16", "too many prefixes");
}

/* Further names and addresses that requests may be for. */
static void test_http_host(void **state)
{
	(void)state;
	const struct net_addr six = {{be32_make(0x20010db8).raw, 0, 0, be32_make(5).raw}};
	static const char *const wrong[] = {
		"a b", "-a", "a-", "a..b", ".", ".a", "a.-b", "a-.b", "a:80", "a/b", "*", "*.a", "a@b", "[::1]",
		"192.0.2", "192.0.2.256", "1", "010.0.0.1", "a.1", "192.0.2.1:80", "2001:db8::1/64", "fe80::1%eth0",
		"::ffff:192.0.2.1", "http://a",
	};
	char text[256], longest[CONFIG_HTTP_HOST_SIZE + 1];
	admit(HTTP);
	assert_int_equal(config.http.hosts, 0);
	admit(HTTP "http host Lab.Example.NET.\nhttp host a\nhttp host x_1-2.3a\nHTTP host 203.0.113.5\n"
	      "http host 2001:DB8:0::5");
	assert_int_equal(config.http.hosts, 5);
	assert_string_equal(config.http.host[0].name, "lab.example.net");
	assert_string_equal(config.http.host[1].name, "a");
	assert_string_equal(config.http.host[2].name, "x_1-2.3a");
	assert_string_equal(config.http.host[3].name, "");
	assert_int_equal(net_addr_to_ip4(&config.http.host[3].addr), IP4(203, 0, 113, 5));
	assert_true(net_addr_equal(&config.http.host[4].addr, &six));
	for (unsigned i = 0; i < ARRAY_LEN(wrong); i++) {
		snprintf(text, sizeof text, HTTP "http host %s", wrong[i]);
		const char *blank = strchr(wrong[i], ' ');
		if (blank)
			refuse(text, 3, blank + 1, "unexpected word");
		else
			refuse(text, 3, wrong[i], "a name or an address is expected");
	}
	/* a label of 63, and one more; an error shows the first 47 characters */
	const char *label = "a23456789012345678901234567890123456789012345678901234567890123";
	snprintf(text, sizeof text, HTTP "http host %s.b", label);
	admit(text);
	snprintf(text, sizeof text, HTTP "http host %s4.b", label);
	refuse(text, 3, "a2345678901234567890123456789012345678901234567", "a name or an address");
	refuse(HTTP "http host", 3, "", "the line ends too early");
	refuse(HTTP "http host a\nhttp host b\nhttp host A.", 5, "A.", "this name stands already at line 3");
	refuse(HTTP "http host ::1\nhttp host 0:0::1", 4, "0:0::1", "this name stands already at line 3");
	refuse("hostname x\nhttp host a", 2, "http", "a name without a server; add the line \"https server\" or \"http server\"");
	/* the longest, and one more */
	memset(longest, 'a', sizeof longest);
	for (unsigned i = 1; i < sizeof longest; i += 2)
		longest[i] = '.';
	longest[CONFIG_HTTP_HOST_SIZE - 1] = 0;
	snprintf(text, sizeof text, HTTP "http host %s", longest);
	admit(text);
	assert_string_equal(config.http.host[0].name, longest);
	longest[CONFIG_HTTP_HOST_SIZE - 1] = 'a';
	longest[CONFIG_HTTP_HOST_SIZE - 2] = 'a';
	longest[CONFIG_HTTP_HOST_SIZE] = 0;
	snprintf(text, sizeof text, HTTP "http host %s", longest);
	refuse(text, 3, "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a", "a name or an address");
	char many[2048] = HTTP;
	for (unsigned i = 0; i <= CONFIG_HTTP_HOSTS_MAX; i++)
		snprintf(many + strlen(many), sizeof many - strlen(many), "http host h%u\n", i);
	refuse(many, CONFIG_HTTP_HOSTS_MAX + 3, "h16", "too many names; at most 16");
}

static bool admits(struct net_addr addr)
{
	return config_admits(&config.console.access, &addr);
}

static void test_console(void **state)
{
	(void)state;
	admit("");
	assert_int_equal(config.console.port, 0);
	admit(CONSOLE);
	assert_int_equal(config.console.port, 23);
	assert_int_equal(config.console.password.iterations, 6400);
	assert_int_equal(config.console.access.count, 1);
	admit(PASSWORD "console access 10.0.0.0 255.0.0.0\nConsole Server port 2323\n");
	assert_int_equal(config.console.port, 2323);
	refuse("console server", 1, "console", "the server needs a password");
	refuse("console server\n" PASSWORD, 1, "console", "the server needs an access list");
	refuse("\n" PASSWORD, 2, "console", "a password without a server");
	refuse("console access 0.0.0.0/0", 1, "console", "an access list without a server");
	refuse("console server\nconsole password", 2, "", "the line ends too early");
	refuse("console server\nconsole password secret", 2, "secret", "expected $pbkdf2-sha256$");
	refuse("console server\nconsole password $pbkdf2-sha256$10$AAAA$BBBB", 2,
	       "$pbkdf2-sha256$10$AAAA$BBBB", "the number of iterations must be");
	refuse(CONSOLE PASSWORD, 4, "console", "\"console password\" stands already at line 2");
	refuse(CONSOLE "console access 192.0.2.0/24", 4, "192.0.2.0/24", "this prefix stands already");
	refuse(CONSOLE "console access 2001:db8::1/32", 4, "2001:db8::1/32", "prefix 2001:db8::1/32 has");
	refuse(CONSOLE "console access 2001:db8::", 4, "2001:db8::", "the prefix length is missing");
	refuse(CONSOLE "console access 2001:db8::/32 x", 4, "x", "unexpected word");
	refuse(CONSOLE "http access ::/0\nhttp server port 23", 1, "23", "the HTTP server listens on this port");
	refuse(CONSOLE "service echo tcp port 23", 1, "23", "echo listens on this port");
	refuse(CONSOLE "application discard", 1, "console", "the discard application");
	refuse("console", 1, "", "expected server, access, password after");
}

#define CAPTURE "capture server\ncapture access 192.0.2.0/24\n"

static void test_capture(void **state)
{
	(void)state;
	admit("");
	assert_int_equal(config.capture.port, 0);
	admit(CAPTURE);
	assert_int_equal(config.capture.port, 5555);
	assert_int_equal(config.capture.access.count, 1);
	admit("capture server port 2000\ncapture access ::/0");
	assert_int_equal(config.capture.port, 2000);
	admit("ssh server\nssh access 192.0.2.0/24\n" PASSWORD); /* the password serves both */
	assert_int_equal(config.ssh.port, 22);
	assert_int_equal(config.ssh.access.count, 1);
	admit("ssh server port 2222\nssh access ::/0\nusername a role read\n" CONSOLE);
	assert_int_equal(config.ssh.port, 2222);
	refuse("ssh server\nssh access ::/0", 1, "ssh", "the server needs users");
	refuse("ssh server\n" PASSWORD, 1, "ssh", "the server needs an access list");
	refuse("ssh access ::/0", 1, "ssh", "an access list without a server");
	refuse("ssh server port 23\nssh access ::/0\n" CONSOLE, 1, "23", "the console server listens on this port");
	refuse(CAPTURE "ssh server port 5555\nssh access ::/0\n" PASSWORD, 1, "5555", "the SSH server listens on this port");
	refuse("ssh server\nssh access ::/0\nservice echo tcp port 22\n" PASSWORD, 1, "22", "echo listens on this port");
	refuse("capture server", 1, "capture", "the server needs an access list");
	refuse("capture access ::/0", 1, "capture", "an access list without a server");
	refuse(CAPTURE "http access ::/0\nhttp server port 5555", 1, "5555", "the HTTP server listens on this port");
	refuse("capture server port 23\ncapture access ::/0\n" CONSOLE, 1, "23",
	       "the console server listens on this port");
	refuse(CAPTURE "service echo tcp port 5555", 1, "5555", "echo listens on this port");
	refuse(CAPTURE "application discard", 1, "capture", "the discard application");
	refuse(CAPTURE "capture server port 1", 3, "capture", "\"capture server\" stands already");
}

static void test_access(void **state)
{
	(void)state;
	const struct net_addr six = {{be32_make(0x20010db8).raw, 0, 0, be32_make(1).raw}};
	const struct net_addr other = {{be32_make(0x20010db9).raw, 0, 0, be32_make(1).raw}};
	admit(CONSOLE);
	assert_true(admits(net_addr_ip4(IP4(192, 0, 2, 255))));
	assert_false(admits(net_addr_ip4(IP4(192, 0, 3, 0))));
	assert_false(admits(six));
	admit(CONSOLE "console access 2001:db8::/32");
	assert_true(admits(six) && !admits(other) && admits(net_addr_ip4(IP4(192, 0, 2, 1))));
	/* everything in one family is not everything in the other */
	admit("console server\n" PASSWORD "console access ::/0");
	assert_true(admits(six) && !admits(net_addr_ip4(IP4(192, 0, 2, 1))));
	admit("console server\n" PASSWORD "console access 0.0.0.0/0");
	assert_true(!admits(six) && admits(net_addr_ip4(IP4(1, 0, 2, 1))));
	/* a list without a line admits nobody: what forgets to ask for one does not open the server */
	admit("");
	assert_false(config_admits(&config.http.access, &six));
}

/* Lines of routes are recognised by the line before them: whatever comes between, each keeps its
 * meaning, and no statement begins with the words of a route's. */
static void test_mixed_routes(void **state)
{
	unsigned count;
	const struct statement *all = config_statements(&count);
	(void)state;
	for (unsigned r = 0; r < count; r++)
		for (unsigned s = 0; s < count && (all[r].how & STATEMENT_ROUTE); s++)
			assert_true(s == r || strncmp(all[s].words, all[r].words, strlen(all[r].words)) != 0);
	admit("ip route 10.0.0.0/8 null0\nIP  Route 11.0.0.0 255.0.0.0 null0\n! note\n"
	          "ip icmp rate-limit 7\nipv6 route 2001:db8::/32 null0\nip route 12.0.0.0/8 null0\n"
	          "ip access-list A\n 10 permit ip any any\nip route 13.0.0.0/8 null0\n");
	assert_int_equal(config.route_count, 4);
	assert_int_equal(config.route6_count, 1);
	assert_int_equal(config.icmp_rate, 7);
	assert_int_equal(config.routes[1].prefix, IP4(11, 0, 0, 0));
	assert_int_equal(config.routes[3].prefix, IP4(13, 0, 0, 0));
	refuse("ip route 10.0.0.0/8 null0\nip routes 11.0.0.0/8 null0\n", 2, "routes",
	       "expected address, ");
}

/* --- the usual line of a route, against the parser by words --- */

#define BEHIND "ip route 10.0.0.0/8 192.0.2.9\n"
#define TAIL "!.............................................................\n"

/* Reads the line behind a route, with so many bytes of TAIL behind it; by words: behind a comment too. */
static int read_line(const char *line, size_t len, size_t tail, bool by_words, struct config_route *out, uint32_t *n)
{
	char text[256], *end = text;
	const char *begin = by_words ? BEHIND "!\n" : BEHIND;
	struct config_route into[3];
	const struct config_memory mem = {.routes = into, .route_max = 2};
	memset(into, 0x5a, sizeof into);
	memcpy(end, begin, strlen(begin));
	end += strlen(begin);
	memcpy(end, line, len);
	end += len;
	memcpy(end, TAIL, tail);
	end += tail;
	char *exact = malloc((size_t)(end - text)); /* AddressSanitizer sees what is read behind it */
	memcpy(exact, text, (size_t)(end - text));
	memset(&error, 0, sizeof error);
	const int result = config_read(exact, (size_t)(end - text), &mem, &config, &error);
	free(exact);
	*n = config.route_count;
	*out = into[1];
	out->line -= by_words && *n == 2;
	error.line -= by_words && error.line;
	return result;
}

static unsigned lines_taken, lines_refused;

static void both_ways(const char *line, size_t len, size_t tail)
{
	struct config_route a, b;
	uint32_t n, m;
	const int e = read_line(line, len, tail, false, &a, &n);
	const struct text_error first = error;
	const int f = read_line(line, len, tail, true, &b, &m);
	if (e != f || n != m || memcmp(&a, &b, sizeof a) != 0 || first.line != error.line ||
	    strcmp(first.word, error.word) != 0 || strcmp(first.reason, error.reason) != 0)
		fail_msg("\"%.*s\": %d, %u routes, %s; by words %d, %u, %s", (int)len, line, e, n, first.reason, f, m,
		         error.reason);
	lines_taken += e == 0 && n == 2;
	lines_refused += e != 0;
}

static size_t random_line(char line[96])
{
	static const uint32_t values[] = {0, 1, 9, 10, 99, 100, 192, 199, 200, 249, 250, 255, 256, 299, 999, 1000};
	char word[4][8];
	int len = sprintf(line, "ip route ");
	for (unsigned k = 0; k < 2; k++) {
		for (unsigned i = 0; i < 4; i++) {
			const uint32_t v = random_below(12) ? random_below(256) : values[random_below(ARRAY_LEN(values))];
			sprintf(word[i], random_below(40) ? "%u" : "0%u", k == 0 && i > 1 && random_below(2) ? 0 : v);
		}
		len += sprintf(line + len, "%s.%s.%s.%s", word[0], word[1], word[2], word[3]);
		if (k == 0)
			len += sprintf(line + len, "/%u ", random_below(8) ? 16 + random_below(17) : random_below(40));
	}
	len += sprintf(line + len, "%s", random_below(6) ? "\n" : random_below(2) ? "\r\n" : " 7\n");
	return (size_t)len;
}

static void test_usual_route(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"ip route 0.0.0.0/0 0.0.0.0\n", "ip route 255.255.255.255/32 255.255.255.255\n",
		"ip route 198.51.100.0/24 192.0.2.9\n", "ip route 198.51.100.0/24 192.0.2.9\r\n",
		"ip route 198.51.100.0/24 192.0.2.256\n", "ip route 198.51.100.0/33 192.0.2.9\n",
		"ip route 198.51.100.1/24 192.0.2.9\n", "ip route 198.51.100.0/24 192.0.2.09\n",
		"ip route 198.51.100.0/024 192.0.2.9\n", "ip route 198.51.100.0/24 192.0.2.\n",
		"ip route 198.51.100.0/24 192.0..9\n", "ip route 198.51.100.0/24 192.0.2.9 5\n",
		"ip route 198.51.100.0/24  192.0.2.9\n", "ip route 198.51.100.0/24 null0\n",
		"ip route 1111.51.100.0/24 192.0.2.9\n", "IP ROUTE 198.51.100.0/24 192.0.2.9\n",
		"ip route 198.51.100.0/ 192.0.2.9\n", "ip route \n", "\n", " ip route 198.51.100.0/24 192.0.2.9\n",
		"ip route 198.51.100.0/24 192.0.2.00000000000000000000000000009\n",
		"ip route 198.51.100.0/24 192.0.2.9", "ip routes 98.51.100.0/24 192.0.2.9\n",
		"ip route 198.51.100.0\000/2 192.0.2.9\n",
	};
	seed_random("test_usual_route");
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		for (size_t tail = 0; tail < sizeof TAIL; tail++)
			both_ways(lines[i], strlen(lines[i]), tail);
	for (unsigned round = 0; round < random_rounds(40000); round++) {
		char line[96];
		size_t len = random_line(line);
		for (uint32_t k = random_below(4); k > 2; k--) /* every fourth */
			line[random_below((uint32_t)len)] = random_below(2) ? (char)random64() : "0123456789./ \r\n"[random_below(15)];
		if (random_below(16) == 0)
			len = random_below((uint32_t)len + 1);
		both_ways(line, len, random_below(4) ? 62 : random_below(63));
	}
	assert_true(lines_taken > 100 && lines_refused > 100);
}

/* Every route once, grouped by 16 bits, in a group as in the text; few are left as they are. */
static void test_routes_near(void **state)
{
	(void)state;
	seed_random("test_routes_near");
	const uint32_t n = CONFIG_NEAR + 4321, words = config_scratch_words(n);
	struct config c = {.routes = calloc(n, sizeof *c.routes), .route_count = CONFIG_NEAR - 1};
	uint32_t *words_at = malloc(words * sizeof *words_at);
	bool *seen = calloc(n, sizeof *seen);
	assert_true(c.routes && words_at && seen);
	assert_null(config_routes_near(&c, words_at, words));
	c.route_count = n;
	for (uint32_t i = 0; i < n; i++)
		c.routes[i].prefix = (uint32_t)random64() & (i % 2 ? 0xffffffff : 0x0003ffff);
	c.routes[7].prefix = 0;
	c.routes[8].prefix = UINT32_MAX;
	memset(words_at, 0xa5, words * sizeof *words_at); /* config_finish leaves its table there */
	const uint32_t *order = config_routes_near(&c, words_at, words);
	assert_non_null(order);
	for (uint32_t k = 0; k < n; k++) {
		assert_true(order[k] < n && !seen[order[k]]);
		seen[order[k]] = true;
		if (k == 0)
			continue;
		const uint32_t before = c.routes[order[k - 1]].prefix >> 16, now = c.routes[order[k]].prefix >> 16;
		assert_true(before < now || (before == now && order[k - 1] < order[k]));
	}
	free(c.routes);
	free(words_at);
	free(seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_script),
		cmocka_unit_test(test_http),             cmocka_unit_test(test_console),
		cmocka_unit_test(test_http_host),
		cmocka_unit_test(test_capture), cmocka_unit_test(test_access),
		cmocka_unit_test(test_numbers),          cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_macs),             cmocka_unit_test(test_full),
		cmocka_unit_test(test_defaults),         cmocka_unit_test(test_verify),
		cmocka_unit_test(test_redirects),
		cmocka_unit_test(test_steering),
		cmocka_unit_test(test_steer),
		cmocka_unit_test(test_steer_more), cmocka_unit_test(test_steer_groups_are_bounded),
		cmocka_unit_test(test_steer_is_bounded), cmocka_unit_test(test_statement_errors),
		cmocka_unit_test(test_interface_errors), cmocka_unit_test(test_whole_errors),
		cmocka_unit_test(test_bytes),            cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_many_routes),      cmocka_unit_test(test_zeros_behind_a_word),
		cmocka_unit_test(test_cut_anywhere), cmocka_unit_test(test_line_ends),
		cmocka_unit_test(test_huge), cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_several_routes), cmocka_unit_test(test_unnumbered),
		cmocka_unit_test(test_mixed_routes), cmocka_unit_test(test_routes_near),
		cmocka_unit_test(test_usual_route),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
