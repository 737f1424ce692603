/* control/config/config_time.c: the statements of NTP and DNS, their errors, and back to text. */
#include "tests/unit/rig/config_rig.h"

static void test_ntp(void **state)
{
	(void)state;
	admit("ntp server 192.0.2.2 prefer iburst minpoll 4 maxpoll 6\nntp server 2001:db8::1\n");
	const struct config_ntp_server *s = config.time.server;
	assert_int_equal(config.time.servers, 2);
	assert_true(s[0].prefer && s[0].iburst && s[0].poll_min == 4 && s[0].poll_max == 6 && !s[0].host.name[0]);
	assert_true(!s[1].prefer && !s[1].iburst && s[1].poll_min == 6 && s[1].poll_max == 10);
	round_trip();
	admit("ip name-server 192.0.2.2\nntp server Time.Example. iburst\n");
	admit("interface eth0\n ip address dhcp\nntp server time.example\n"); /* the server may name a name server */
	assert_string_equal(s[0].host.name, "time.example");
	round_trip();
}

static void test_names(void **state)
{
	(void)state;
	admit("ip domain Lab.Example\nip name-server 192.0.2.2 2001:db8::53\nip name-server 192.0.2.3\n");
	assert_int_equal(config.time.name_servers, 3);
	assert_string_equal(config.time.domain, "lab.example");
	round_trip();
}

static void test_refused(void **state)
{
	(void)state;
	refuse("ntp server 224.0.1.1", 1, "224.0.1.1", "a server has a unicast address");
	refuse("ntp server 0.0.0.0", 1, "0.0.0.0", "a server has a unicast address");
	refuse("ntp server ff02::1", 1, "ff02::1", "a server has a unicast address");
	refuse("ntp server fe80::1", 1, "fe80::1",
	       "a server with a link-local address cannot be found: which link it is on is not said");
	refuse("ntp server a_b..c", 1, "a_b..c", "a name or an address is expected, at most 127 characters");
	refuse("ntp server 192.0.2.2 minpoll 3", 1, "3",
	       "the poll interval, a power of 2 seconds, must be a decimal number from 4 to 10");
	refuse("ntp server 192.0.2.2 minpoll 7 maxpoll 6", 1, "6",
	       "the least poll interval, 7, is longer than the longest, 6");
	refuse("ntp server 192.0.2.2 iburst iburst", 1, "iburst",
	       "unexpected word; expected \"ntp server (NAME | A.B.C.D | X:X::X) [prefer] [iburst] [minpoll N] [maxpoll N]\"");
	refuse("ntp server 192.0.2.2\nntp server 192.0.2.2 prefer", 2, "192.0.2.2", "this server stands already at line 1");
	refuse("hostname r1\nntp server time.example", 2, "time.example",
	       "a name needs a name server; add a line \"ip name-server ADDRESS\"");
	refuse("ip name-server time.example", 1, "time.example", "the address of a name server is expected");
	refuse("ip name-server 192.0.2.2\nip name-server 192.0.2.3 192.0.2.2", 2, "192.0.2.2",
	       "this server stands already at line 1");
	refuse("ip name-server 192.0.2.1 192.0.2.2 192.0.2.3 192.0.2.4 192.0.2.5", 1, "192.0.2.5",
	       "too many name servers; at most 4");
	refuse("ip domain 192.0.2.1", 1, "192.0.2.1", "the name of a domain is expected, at most 127 characters");
	char text[600] = "";
	for (unsigned i = 1; i <= 9; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "ntp server 192.0.2.%u\n", i);
	refuse(text, 9, "192.0.2.9", "too many servers; at most 8");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ntp),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests_name("config_time", tests, NULL, NULL);
}
