/* Access lists and filters in the configuration (docs/configuration.md, Packet filters). */
#include "tests/unit/rig/config_rig.h"

#include "net/ip4.h"
#include "net/ip6.h"

static const struct acl_rule *rule(unsigned i)
{
	assert_in_range(i, 0, config.acl_rule_count - 1);
	return &config.acl_rules[i].rule;
}

/* The line becomes a rule of a list, which prints as `want`, or as the line itself. */
static void says(const char *ip, const char *line, const char *want)
{
	char text[512], back[CONFIG_ACL_RULE_TEXT];
	snprintf(text, sizeof text, "%s access-list F\n %s\n", ip, line);
	admit(text);
	assert_int_equal(config.acl_count, 1);
	assert_int_equal(config.acl[0].rules, 1);
	config_acl_rule_text(back, &config.acl_rules[0], config.acl[0].kind);
	assert_string_equal(back, want ? want : line);
	round_trip();
}

static void test_rules_as_they_are_printed(void **state)
{
	(void)state;
	says("ip", "10 permit ip any any", NULL);
	says("ip", "5 deny ip host 192.0.2.1 198.51.100.0/24", NULL);
	says("ip", "permit udp any any eq 53", "10 permit udp any any eq 53");
	says("ip", "10 permit tcp 10.0.0.0/8 range 1024 65535 any eq 80", NULL);
	says("ip", "10 permit tcp any any established", NULL);
	says("ip", "10 permit tcp any any eq 22 match-all +syn -ack", NULL);
	says("ip", "10 permit icmp any any echo", NULL);
	says("ip", "10 permit icmp any any 3 4", "10 permit icmp any any packet-too-big");
	says("ip", "10 permit icmp any any 3 1", NULL);
	says("ip", "10 permit icmp any any 13", NULL);
	says("ip", "10 deny ip any any fragments", NULL);
	says("ip", "10 permit esp any any", NULL);
	says("ip", "10 permit 6 any any eq 1", "10 permit tcp any any eq 1");
	says("ip", "10 permit 200 any any", NULL);
	says("ip", "10 PERMIT TCP ANY ANY EQ 1", "10 permit tcp any any eq 1");
	says("ip", "10 permit ip 10.0.0.0 255.0.0.0 any", "10 permit ip 10.0.0.0/8 any");
	says("ip", "10 permit ip 0.0.0.0/0 192.0.2.1/32", "10 permit ip any host 192.0.2.1");
	says("ip", "10 permit tcp any lt 1024 any gt 65534",
	     "10 permit tcp any range 0 1023 any eq 65535");
	says("ipv6", "10 permit ipv6 any any", NULL);
	says("ipv6", "10 permit udp host 2001:db8::1 eq 53 2001:db8::/32 range 1024 65535", NULL);
	says("ipv6", "10 permit icmp any any nd-ns", NULL);
	says("ipv6", "10 permit icmp any any 1 5", NULL);
	says("ipv6", "10 permit sctp any any eq 9", NULL);
	says("ipv6", "2147483647 deny ipv6 any any fragments", NULL);
}

static void test_mac_rules_as_they_are_printed(void **state)
{
	(void)state;
	says("mac", "10 permit any any", NULL);
	says("mac", "permit any any", "10 permit any any");
	says("mac", "5 deny host 02:00:00:00:00:01 any", NULL);
	says("mac", "10 deny any host 0200.0000.00FF", "10 deny any host 02:00:00:00:00:ff");
	says("mac", "10 permit 00:0c:00:00:00:00 00:00:ff:ff:ff:ff any", NULL);
	says("mac", "10 permit 00:0c:00:00:00:00 0000.0000.0000 any", "10 permit host 00:0c:00:00:00:00 any");
	says("mac", "10 permit 0000.0000.0000 ffff.ffff.ffff any", "10 permit any any");
	says("mac", "10 permit any 01:00:00:00:00:00 fe:ff:ff:ff:ff:ff", NULL);
	says("mac", "10 PERMIT ANY ANY ARP", "10 permit any any arp");
	says("mac", "10 permit any any 0x0800", "10 permit any any ip");
	says("mac", "10 permit any any 0X86DD", "10 permit any any ipv6");
	says("mac", "10 permit any any 0x88b5 vlan 4094", NULL);
	says("mac", "10 permit any any 0x600", "10 permit any any 0x0600");
	says("mac", "10 permit any any vlan 1", NULL);
	says("mac", "10 permit host ff:ff:ff:ff:ff:ff 02:00:00:00:00:00 00:00:00:00:00:ff 0xffff vlan 12", NULL);
}

#define IN_MAC "mac access-list F\n "

static void test_bad_mac_rules(void **state)
{
	(void)state;
	refuse(IN_MAC "permit", 2, "", "the line ends too early");
	refuse(IN_MAC "permit any", 2, "", "the line ends too early");
	refuse(IN_MAC "permit host any", 2, "any", "expected a MAC address");
	refuse(IN_MAC "permit 02:00:00:00:00:00 any any", 2, "any", "expected a wildcard mask");
	refuse(IN_MAC "permit 02:00:00:00:00:01 00:00:00:00:00:01 any", 2, "00:00:00:00:00:01", "the address has bits where the mask has");
	refuse(IN_MAC "permit any any 0x5ff", 2, "0x5ff", "expected an EtherType");
	refuse(IN_MAC "permit any any 0x10000", 2, "0x10000", "expected an EtherType");
	refuse(IN_MAC "permit any any 0x", 2, "0x", "expected an EtherType");
	refuse(IN_MAC "permit any any 0x08g0", 2, "0x08g0", "expected an EtherType");
	refuse(IN_MAC "permit any any 2048", 2, "2048", "expected an EtherType");
	refuse(IN_MAC "permit any any vlan", 2, "", "the line ends too early");
	refuse(IN_MAC "permit any any vlan 0", 2, "0", "the VLAN");
	refuse(IN_MAC "permit any any vlan 4095", 2, "4095", "the VLAN");
	refuse(IN_MAC "permit any any ip vlan 1 2", 2, "2", "unexpected word");
	refuse(IN_MAC "permit ip any any", 2, "ip", "expected any, host and a MAC address");
	refuse("interface eth0\n mac access-group F out\n" IN_MAC "permit any any", 2, "out", "a list of MAC addresses judges what a port receives");
	refuse("interface eth0\n mac access-group F in\nip access-list F\n permit ip any any", 2, "F", "the list at line 3 is of IPv4; \"mac access-group\" takes one of MAC addresses");
	refuse("interface eth0\n ip access-group F in\n" IN_MAC "permit any any", 2, "F", "the list at line 3 is of MAC addresses; \"ip access-group\" takes one of IPv4");
}

static void test_rule_in_words_of_net(void **state)
{
	(void)state;
	admit("ip access-list F\n permit tcp 10.1.0.0/16 lt 10 host 192.0.2.1 gt 20 match-all +syn -ack\n"
	      " deny icmp any any 8\n");
	assert_true(rule(0)->permit && !rule(0)->any_proto && !rule(0)->established);
	assert_int_equal(rule(0)->proto, 6);
	assert_int_equal(net_addr_to_ip4(&rule(0)->src), IP4(10, 1, 0, 0));
	assert_int_equal(rule(0)->src_plen, 96 + 16);
	assert_int_equal(rule(0)->dst_plen, 128);
	assert_int_equal(rule(0)->src_port.first, 0);
	assert_int_equal(rule(0)->src_port.last, 9);
	assert_int_equal(rule(0)->dst_port.first, 21);
	assert_int_equal(rule(0)->dst_port.last, 65535);
	assert_int_equal(rule(0)->flags_mask, ACL_SYN | ACL_ACK);
	assert_int_equal(rule(0)->flags_value, ACL_SYN);
	assert_false(rule(1)->permit);
	assert_int_equal(rule(1)->dst_port.first, 8 << 8);
	assert_int_equal(rule(1)->dst_port.last, 8 << 8 | 255);
}

static void test_numbers(void **state)
{
	(void)state;
	admit("ip access-list F\n permit ip any any\n 15 permit ip any any\n permit ip any any\n");
	assert_int_equal(config.acl_rules[0].sequence, 10);
	assert_int_equal(config.acl_rules[1].sequence, 15);
	assert_int_equal(config.acl_rules[2].sequence, 25);
	round_trip();
	refuse("ip access-list F\n 20 permit ip any any\n 20 deny ip any any\n", 3, "deny",
	       "rules stand in the order of their numbers, and the one before has 20");
	refuse("ip access-list F\n 0 permit ip any any\n", 2, "0", "the number of a rule must be");
	refuse("ip access-list F\n 99999999999 permit ip any any\n", 2, "99999999999",
	       "the number of a rule must be");
	refuse("10 permit ip any any\n", 1, "10", "unknown statement");
}

static void test_blocks(void **state)
{
	(void)state;
	admit("interface eth0\n ip address 192.0.2.1/24\n ip access-group A in\n"
	      " ip access-group A out\n ipv6 enable\n ipv6 traffic-filter B out\n"
	      " no ip unreachables\n no ipv6 unreachables\n"
	      "ip access-list A\n permit ip any any\n deny ip any any\nexit\n"
	      "ipv6 access-list B\n permit ipv6 any any\nhostname x\n");
	assert_int_equal(config.acl_count, 2);
	assert_int_equal(config.acl[0].rules, 2);
	assert_int_equal(config.acl[1].first, 2);
	assert_int_equal(config.acl[1].kind, CONFIG_ACL_IP6);
	assert_string_equal(config.interface[0].filter[CONFIG_FILTER_IN4].name, "A");
	assert_string_equal(config.interface[0].filter[CONFIG_FILTER_OUT4].name, "A");
	assert_string_equal(config.interface[0].filter[CONFIG_FILTER_IN6].name, "");
	assert_string_equal(config.interface[0].filter[CONFIG_FILTER_OUT6].name, "B");
	assert_true(config.interface[0].deny_silently && config.interface[0].deny_silently6);
	round_trip();
	refuse("permit ip any any\n", 1, "permit", "a rule belongs into an access list");
	refuse("ip access-list A\n permit ip any any\nhostname x\n permit ip any any\n", 4, "permit",
	       "a rule belongs into an access list");
	refuse("interface eth0\n permit ip any any\n", 2, "permit", "a rule belongs into an access list");
	refuse("ip access-list A\n permit ip any any\n shutdown\n", 3, "shutdown",
	       "\"shutdown\" belongs into an interface block");
	refuse("ip access-list A\n permit ip any any\nexit\nexit\n", 4, "exit",
	       "exit without a block to leave");
}

static void test_bad_rules(void **state)
{
	static const struct {
		const char *rule, *word, *reason;
	} row[] = {
		{"permit", "", "the line ends too early"},
		{"permit ip", "", "the line ends too early"},
		{"permit ip any", "", "the line ends too early"},
		{"permit foo any any", "foo", "unknown protocol; expected ip, tcp"},
		{"permit 256 any any", "256", "unknown protocol"},
		{"permit ipv6 any any", "ipv6", "unknown protocol"},
		{"permit ip 10.0.0.1/8 any", "10.0.0.1/8", "prefix 10.0.0.1/8 has host bits set"},
		{"permit ip 10.0.0.0 0.255.255.255 any", "0.255.255.255", "this is a wildcard"},
		{"permit ip host any any", "any", "expected the address of a host, of IPv4"},
		{"permit ip host 2001:db8::1 any", "2001:db8::1", "expected the address of a host"},
		{"permit ip any any eq 1", "eq", "only TCP, UDP and SCTP have ports"},
		{"permit icmp any eq 1 any", "eq", "only TCP, UDP and SCTP have ports"},
		{"permit tcp any any eq", "", "the line ends too early"},
		{"permit tcp any any eq www", "www", "a port must be a decimal number from 0 to 65535"},
		{"permit tcp any any eq 65536", "65536", "a port must be"},
		{"permit tcp any any lt 0", "0", "a port must be a decimal number from 1"},
		{"permit tcp any any gt 65535", "65535", "a port must be a decimal number from 0 to 65534"},
		{"permit tcp any any neq 5", "neq", "neq is not supported"},
		{"permit tcp any any range 5 4", "4", "the last port of a range must be"},
		{"permit udp any any established", "established", "only TCP has flags"},
		{"permit ip any any match-all +syn", "match-all", "only TCP has flags"},
		{"permit tcp any any match-all", "", "expected flags, each with + or -"},
		{"permit tcp any any match-all syn", "syn", "expected flags, each with + or -"},
		{"permit tcp any any match-all +syn -syn", "-syn", "this flag is there already"},
		{"permit tcp any any match-all +syn foo", "foo", "unexpected word"},
		{"permit tcp any any eq 5 fragments", "fragments", "later fragments have neither ports"},
		{"permit icmp any any 8 fragments", "fragments", "later fragments have neither ports"},
		{"permit icmp any any foo", "foo", "unexpected word"},
		{"permit icmp any any 256", "256", "unexpected word"},
		{"permit icmp any any echo 1", "1", "unexpected word"},
		{"permit icmp any any nd-ns", "nd-ns", "unexpected word"},
		{"permit ip any any log", "log", "unexpected word"},
	};
	char text[256];
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		snprintf(text, sizeof text, "ip access-list A\n 10 %s\n", row[i].rule);
		refuse(text, 2, row[i].word, row[i].reason);
	}
	refuse("ipv6 access-list A\n permit ip any any\n", 2, "ip", "unknown protocol; expected ipv6");
	refuse("ipv6 access-list A\n permit ipv6 10.0.0.0/8 any\n", 2, "10.0.0.0/8", "expected");
	refuse("ipv6 access-list A\n permit ahp any any\n", 2, "ahp", "unknown protocol");
}

static void test_bad_lists(void **state)
{
	char text[8192], *at = text;
	(void)state;
	refuse("ip access-list\n", 1, "", "the line ends too early");
	refuse("ip access-list a/b\n", 1, "a/b", "a name has 1 to 31 letters");
	refuse("ip access-list aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", 1,
	       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a name has 1 to 31 letters");
	refuse("ip access-list A\n permit ip any any\nipv6 access-list A\n", 3, "A",
	       "this list stands already at line 1");
	refuse("hostname x\nip access-list A\n", 2, "A", "the list has no rule");
	refuse("interface eth0\n ip access-group A in\n", 2, "A", "there is no access list of this name");
	refuse("interface eth0\n ip access-group A\n", 2, "", "the line ends too early");
	refuse("interface eth0\n ip access-group A inside\n", 2, "inside", "expected in or out");
	refuse("interface eth0\n ip access-group A in\n ip access-group B in\n", 3, "B",
	       "the interface has a list for this already, at line 2");
	refuse("interface eth0\n ipv6 traffic-filter A in\nip access-list A\n permit ip any any\n", 2, "A",
	       "the list at line 3 is of IPv4; \"ipv6 traffic-filter\" takes one of IPv6");
	for (unsigned i = 0; i <= CONFIG_ACLS_MAX; i++)
		at += sprintf(at, "ip access-list L%u\n permit ip any any\n", i);
	refuse(text, 2 * CONFIG_ACLS_MAX + 1, "L64", "too many access lists; at most 64");
}

static void test_bounds(void **state)
{
	char *text = malloc(ACL_RULES * 24 + 64), *at = text;
	(void)state;
	at += sprintf(at, "ip access-list A\n");
	for (unsigned i = 0; i < ACL_RULES; i++)
		at += sprintf(at, " permit ip any any\n");
	admit(text);
	assert_int_equal(config_count_lines(text, strlen(text)).rules, ACL_RULES);
	sprintf(at, "\t20000 deny ip any any\n");
	assert_int_equal(config_count_lines(text, strlen(text)).rules, ACL_RULES + 1);
	refuse(text, ACL_RULES + 2, "deny", "too many rules; there is room for 400 in all lists");
	free(text);
	/* the longest rule there is */
	says("ipv6",
	     "2147483647 permit tcp 2001:db8:1111:2222:3333:4444:5555:6660/127 range 10000 65535 "
	     "2001:db8:1111:2222:3333:4444:5555:6660/127 range 10000 65535 "
	     "match-all +fin -syn +rst -psh +ack -urg +ece -cwr", NULL);
}

static void test_hostile(void **state)
{
	static const char *const pieces[] = {" permit", "deny ", "any", "host ", "eq 80", "range 1 ",
	                                     "match-all +syn", "\nip access-list X\n", "fragments",
	                                     "established", "0.0.0.0/0", "::/0", "\nexit\n", "10 "};
	(void)state;
	hostile("interface eth0\n ip address 192.0.2.1/24\n ip access-group A in\n"
	        " ipv6 traffic-filter B out\nip access-list A\n 10 permit tcp any eq 5 host 10.0.0.1 gt 7 "
	        "established\n deny icmp 10.0.0.0/8 any 3 4\n permit tcp any any match-all +syn -ack\n"
	        "ipv6 access-list B\n permit icmp any any nd-ns\n 50 deny udp 2001:db8::/32 lt 9 any\n",
	        pieces, ARRAY_LEN(pieces));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules_as_they_are_printed),
		cmocka_unit_test(test_mac_rules_as_they_are_printed),
		cmocka_unit_test(test_bad_mac_rules),
		cmocka_unit_test(test_rule_in_words_of_net),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_bad_rules),
		cmocka_unit_test(test_bad_lists),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_hostile),
	};
	seed_random("config_acl");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
