/* Messages of syslog (net/syslog.h) against the examples of RFC 5424 6.5 and the bounds of its ABNF (6). */
#include "tests/unit/rig/host.h"

#include "net/syslog.h"

static char out[1024];

static const char *put(const struct syslog_message *m)
{
	const size_t n = syslog_put(out, sizeof out, m);
	assert_int_equal(n, strlen(out));
	return out;
}

static struct syslog_message example(void)
{
	return (struct syslog_message){.facility = 4, .level = LOG_CRIT, .utc_ns = 1065910455003000000ull,
	                               .hostname = "mymachine.example.com", .app = "su", .msgid = "ID47", .sequence = 1,
	                               .since_boot_ns = 12345678901234, .text = "'su root' failed for lonvick on /dev/pts/8"};
}

/* Example 1, with the structured data of ours: <34> is facility 4, severity 2. Its time is 2003-10-11T22:14:15.003Z. */
static void example_1(void **state)
{
	(void)state;
	struct syslog_message m = example();
	assert_string_equal(put(&m), "<34>1 2003-10-11T22:14:15.003000Z mymachine.example.com su - ID47 "
	                             "[timeQuality tzKnown=\"1\" isSynced=\"0\"][meta sequenceId=\"1\" sysUpTime=\"1234567\"] "
	                             "'su root' failed for lonvick on /dev/pts/8");
	m.synchronized = true;
	assert_non_null(strstr(put(&m), " [timeQuality tzKnown=\"1\" isSynced=\"1\"][meta "));
}

/* Example 2: <165> is local4, severity 5. Fractions have at most six digits: 9 would be refused (6.2.3.1, example 5). */
static void example_2(void **state)
{
	(void)state;
	struct syslog_message m = {.facility = SYSLOG_LOCAL0 + 4, .level = LOG_NOTICE, .utc_ns = 1061727255000003999ull,
	                           .hostname = "192.0.2.1", .app = "myproc", .msgid = "", .sequence = 7, .text = "%% It's time"};
	assert_string_equal(put(&m), "<165>1 2003-08-24T12:14:15.000003Z 192.0.2.1 myproc - - "
	                             "[timeQuality tzKnown=\"1\" isSynced=\"0\"][meta sequenceId=\"7\" sysUpTime=\"0\"] "
	                             "%% It's time");
}

/* NILVALUE for what is not known (6.2.3, 6.2.4). */
static void nothing_known(void **state)
{
	(void)state;
	struct syslog_message m = {.facility = 0, .level = LOG_EMERG, .hostname = "", .app = "", .msgid = "", .sequence = 1,
	                           .text = ""};
	assert_string_equal(put(&m), "<0>1 - - - - - [meta sequenceId=\"1\" sysUpTime=\"0\"] ");
}

/* sequenceId is 1 to 2147483647 (7.3.1). */
static void sequence(void **state)
{
	(void)state;
	struct syslog_message m = example();
	m.sequence = 2147483647;
	assert_non_null(strstr(put(&m), "sequenceId=\"2147483647\""));
	m.sequence++;
	assert_non_null(strstr(put(&m), "sequenceId=\"1\""));
}

/* Fields are cut at the lengths of the ABNF, the message at the size of its buffer. */
static void bounds(void **state)
{
	char longer[400], text[448];
	(void)state;
	memset(longer, 'h', sizeof longer);
	longer[sizeof longer - 1] = 0;
	memset(text, 't', sizeof text);
	text[sizeof text - 1] = 0;
	struct syslog_message m = example();
	m.hostname = m.app = m.msgid = longer;
	m.text = "end";
	const char *p = put(&m) + strlen("<34>1 2003-10-11T22:14:15.003000Z ");
	assert_int_equal(strspn(p, "h"), 255);
	p += 256;
	assert_int_equal(strspn(p, "h"), 48);
	assert_int_equal(strspn(p + 48 + 3, "h"), 32);
	m = example();
	m.text = text;
	m.hostname = "a-hostname-of-sixty-three-characters-which-is-the-longest-one-x";
	m.msgid = "FACILITY-OF-23-LETTERS1";
	m.sequence = m.since_boot_ns = UINT64_MAX;
	assert_true(strlen(put(&m)) < 700);
	char small[20];
	assert_int_equal(syslog_put(small, sizeof small, &m), sizeof small - 1);
	assert_int_equal(strlen(small), sizeof small - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example_1), cmocka_unit_test(example_2), cmocka_unit_test(nothing_known),
		cmocka_unit_test(sequence), cmocka_unit_test(bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
