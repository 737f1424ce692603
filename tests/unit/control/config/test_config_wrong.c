/* control/config: all wrong lines of a text, without those that only follow from another error. */
#include "tests/unit/rig/config_rig.h"

static struct config_wrong wrong;

/* Compares the reported lines of this text, as in "2 5 9". */
static void lines(const char *text, const char *want)
{
	char told[300] = "";
	size_t n = 0;
	int e = parse_all(text, strlen(text), &wrong);
	assert_int_equal(e, *want ? E_INVAL : 0);
	assert_true(wrong.count <= CONFIG_WRONG_MAX);
	for (uint32_t i = 0; i < wrong.count; i++)
		n += (size_t)snprintf(told + n, sizeof told - n, "%s%u", i ? " " : "", wrong.row[i].line);
	assert_string_equal(told, want);
}

static void each_line(void **s)
{
	(void)s;
	lines("hostname a b\nidle now\nhostname b\nfrobnicate\n", "1 2 3 4");
	lines("interface eth0\n ip address 1\n mtu 20\n mtu 1400\nip route 1\narp timeout x\n",
	      "2 3 4 5 6");
	lines("ip access-list a\n permit\n 10 permit ip any any\n x permit\ninterface eth0\n mtu 1\n",
	      "2 4 6");
	lines("interface eth0\n mtu 1400\n", "");
	lines("", "");
	lines("hostname \xff\nhostname \x01\r\nidle poll\r\nidle\r\n", "1 2 4");
}

/* Lines that are wrong only because of an earlier wrong line are not reported. */
static void no_follow_ups(void **s)
{
	(void)s;
	/* A block that was not opened. */
	lines("interface eth99\n ip address 1\n mtu 1\n\n! no\n frobnicate\ninterface eth1\n mtu 1\n", "1 8");
	lines("interface eth99\nip address 1\nmtu 1\nexit\nexit\n", "1 5");
	lines("ip access-list a b\n permit ip\n 10 deny x\n 20 frob\nip access-list a\n permit x\n", "1 6");
	lines("ip access-list a b\npermit ip\n10 deny x\nhostname a b\n", "1 4");
	/* Whether the line opens a block is unknown. */
	lines("interface eth0\n mtu 1400\ninterfce eth1\n mtu 1400\n ip address 1\nidle x\n", "3 6");
	lines("interface\xff eth1\n mtu 1400\n", "1");
	/* A missing block: reported once, until the next statement outside of blocks. */
	lines(" ip address 192.0.2.1/24\n mtu 1\nidle x\n mtu 1400\n", "1 3 4");
	lines("permit ip any any\n deny x\nidle x\n", "1 3");
	/* A wrong line inside of a block does not end it. */
	lines("interface eth0\n frobnicate\n mtu 1\n description a\n description b\n", "2 3 5");
	/* a second address without its first */
	lines("interface eth0\n ip address 1\n ip address 192.0.2.1/24 secondary\n mtu 1\n", "2 4");
	lines("interface eth0\n ip address 192.0.2.1/24 secondary\n", "2");
	lines("interface eth0\n mtu 1\ninterface eth1\n ip address 192.0.2.1/24 secondary\n", "2 4");
	/* Behind the end of the text, and in a script's part. */
	lines("end x\nidle x\n", "1 2");
	lines("end\nidle x\nidle y\n", "2");
	lines("script a b\nidle x\n", "1");
	lines("idle x\nscript a\nidle y\n", "1");
	/* Errors of the whole are not reported beside wrong lines. */
	lines("interface eth0\n ip address 192.0.2.1/24\ninterface eth1\n ip address 192.0.2.2/24\nidle x\n",
	      "5");
}

/* Of more errors than fit, the first are reported, and the total; words of later ones take no
 * memory. */
static void too_many(void **s)
{
	static char text[CONFIG_WRONG_MAX * 8 * 100 + 1];
	size_t n = 0;
	(void)s;
	for (unsigned i = 0; i < CONFIG_WRONG_MAX * 100; i++)
		n += (size_t)sprintf(text + n, i % 2 ? "arp x\n" : "frob\n");
	assert_int_equal(parse_all(text, n, &wrong), E_INVAL);
	assert_int_equal(wrong.count, CONFIG_WRONG_MAX * 100);
	for (uint32_t i = 0; i < CONFIG_WRONG_MAX; i++) {
		assert_int_equal(wrong.row[i].line, i + 1);
		assert_string_equal(wrong.row[i].word, i % 2 ? "x" : "frob");
	}
	lines("idle x\n", "1"); /* with another text */
}

/* The whole is wrong, but no single line. */
static void whole(void **s)
{
	const char *text = "interface eth0\n ip address 192.0.2.1/24\ninterface eth1\n"
	                   " ip address 192.0.2.2/24\n";
	(void)s;
	assert_int_equal(parse_all(text, strlen(text), &wrong), E_INVAL);
	assert_int_equal(wrong.count, 0);
	assert_int_equal(error.line, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_line),
		cmocka_unit_test(no_follow_ups),
		cmocka_unit_test(too_many),
		cmocka_unit_test(whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
