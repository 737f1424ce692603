/* control/config/config_logging.c: the statements of the event log and of syslog hosts, their errors, and back to text. */
#include "tests/unit/rig/config_rig.h"

#include "lib/log_level.h"

static void test_levels(void **state)
{
	(void)state;
	admit("");
	assert_true(config.logging.console.line == 0 && config.logging.buffered.line == 0 && config.logging.hosts == 0);
	admit("logging console Warnings\nlogging buffered 6\n");
	assert_int_equal(config.logging.console.level, LOG_WARNING);
	assert_int_equal(config.logging.buffered.level, LOG_INFO);
	round_trip();
	admit("logging console off\nlogging buffered debugging\n");
	assert_true(config.logging.console.off && !config.logging.buffered.off);
	round_trip();
}

static void test_hosts(void **state)
{
	(void)state;
	admit("logging host 192.0.2.9\nlogging host 2001:db8::9 facility local0 udp level errors port 1514\n"
	      "interface lo0\n ip address 198.51.100.1/32\nlogging source-interface lo0\n");
	assert_int_equal(config.logging.hosts, 2);
	const struct config_log_host *h = config.logging.host;
	assert_true(h[0].port == 514 && h[0].level == LOG_INFO && h[0].facility == 7);
	assert_true(h[1].port == 1514 && h[1].level == LOG_ERR && h[1].facility == 0);
	assert_true(!h[0].tls && !h[1].tls && !h[0].host.name[0]);
	round_trip();
	admit("logging host Syslog.example.\nlogging host 192.0.2.9 transport udp\n");
	assert_string_equal(h[0].host.name, "syslog.example");
	assert_true(h[0].port == 514 && h[1].port == 514 && !h[1].tls);
	round_trip();
}

#define PIN "10c9a1af11285a99f9d5d433d603070e6db622ee7a66166b99f67fe3bd4bf60e"

static void test_tls(void **state)
{
	const struct config_log_host *h = config.logging.host;
	(void)state;
	admit("trust certificate roots.pem\nlogging host syslog.example transport tls\n"
	      "logging host 192.0.2.9 port 601 transport tls level errors\n");
	assert_true(h[0].tls && h[0].port == 6514 && !h[0].pinned);
	assert_true(h[1].tls && h[1].port == 601 && h[1].level == LOG_ERR);
	round_trip();
	admit("logging host 192.0.2.9 transport tls fingerprint " PIN "\n");
	assert_true(h[0].pinned && h[0].fingerprint[0] == 0x10 && h[0].fingerprint[31] == 0x0e);
	round_trip();
	admit("logging host 192.0.2.9 transport tls fingerprint "
	      "10:C9:A1:AF:11:28:5A:99:F9:D5:D4:33:D6:03:07:0E:6D:B6:22:EE:7A:66:16:6B:99:F6:7F:E3:BD:4B:F6:0E\n");
	assert_true(h[0].pinned && h[0].fingerprint[0] == 0x10 && h[0].fingerprint[31] == 0x0e);
	refuse("logging host 192.0.2.9 transport tls", 1, "tls", "nothing is trusted; add the line \"trust certificate FILE\"");
	refuse("logging host 192.0.2.9 transport tcp", 1, "tcp", "expected udp or tls");
	refuse("logging host 192.0.2.9 transport", 1, "", "expected udp or tls");
	refuse("logging host 192.0.2.9 fingerprint " PIN, 1, "192.0.2.9", "a fingerprint is for \"transport tls\" only");
	refuse("logging host 192.0.2.9 transport tls fingerprint " PIN "00", 1, "10c9a1af11285a99f9d5d433d603070e6db622ee7a66166", "expected the SHA-256 fingerprint");
	refuse("logging host 192.0.2.9 transport tls fingerprint 10:C9", 1, "10:C9", "expected the SHA-256 fingerprint");
	refuse("logging host 192.0.2.9 transport tls fingerprint", 1, "", "expected the SHA-256 fingerprint");
	refuse("logging host a.example\nlogging host A.example", 2, "A.example", "this host stands already at line 1");
}

/* The longest lines are printed with all their options. */
static void test_longest(void **state)
{
	char name[128], text[512];
	(void)state;
	for (unsigned i = 0; i < sizeof name - 1; i++)
		name[i] = i % 50 == 49 ? '.' : 'a';
	name[sizeof name - 1] = 0;
	snprintf(text, sizeof text, "trust certificate roots.pem\nlogging host %s transport tls level notifications\n", name);
	admit(text);
	round_trip();
	name[101] = 0;
	snprintf(text, sizeof text, "logging host %s transport tls fingerprint " PIN, name);
	name[47] = 0; /* the word of an error is cut */
	refuse(text, 1, name, "beside a fingerprint the name of a host has at most 100 characters");
	for (unsigned i = 0; i < 100; i++)
		name[i] = i % 50 == 49 ? '.' : 'a';
	name[99] = 'a';
	name[100] = 0;
	snprintf(text, sizeof text, "logging host %s transport tls fingerprint " PIN "\n", name);
	admit(text);
	round_trip();
}

static void test_refused(void **state)
{
	(void)state;
	refuse("logging console loud", 1, "loud", "expected a level: emergencies, alerts, critical, errors, warnings, ");
	refuse("logging console", 1, "", "expected a level: ");
	refuse("logging buffered 8", 1, "8", "expected a level: ");
	refuse("logging console off now", 1, "now", "unexpected word");
	refuse("logging console 1\nlogging console 1", 2, "logging", "\"logging console\" stands already at line 1");
	refuse("logging host", 1, "", "");
	for (unsigned i = 0; i < 5; i++) {
		static const char *const bad[] = {"-syslog.example", "224.0.0.1", "0.0.0.0", "fe80::1", "ff02::1"};
		char text[64];
		snprintf(text, sizeof text, "logging host %s", bad[i]);
		refuse(text, 1, bad[i], "expected a syslog host: a name, or a unicast address");
	}
	refuse("logging host 192.0.2.9 port 0", 1, "0", "a port must be");
	refuse("logging host 192.0.2.9 facility local8", 1, "local8", "expected a facility: local0 to local7");
	refuse("logging host 192.0.2.9 facility kern", 1, "kern", "expected a facility");
	refuse("logging host 192.0.2.9 level", 1, "", "expected a level");
	refuse("logging host 192.0.2.9 tls", 1, "tls", "expected transport, port, udp, level, facility or fingerprint");
	refuse("logging host 192.0.2.9\nlogging host 192.0.2.9 port 99", 2, "192.0.2.9", "this host stands already at line 1");
	refuse("logging host 192.0.2.1\nlogging host 192.0.2.2\nlogging host 192.0.2.3\nlogging host 192.0.2.4\n"
	       "logging host 192.0.2.5", 5, "192.0.2.5", "too many syslog hosts; at most 4");
	refuse("logging source-interface lo0", 1, "lo0", "the interface of the source address has no block");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_tls),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests_name("config_logging", tests, NULL, NULL);
}
