/*
 * control/candidate.c and history.c: what each statement takes the place of, what `no` takes away,
 * what compare says; that a candidate is always a text which a file could hold; that the whole
 * built of it is what that text says when it is parsed; and that a roll-back comes back, all with
 * random statements.
 */
#include "tests/unit/host.h"

#include "control/candidate.h"
#include "control/history.h"
#include "tests/unit/config_rig.h"

#define NEXT_ROUTES 40000u

static struct candidate candidate;
static struct history history;
static struct config next;
static struct config_route next_routes[NEXT_ROUTES];
static struct config_route6 next_routes6[NEXT_ROUTES];
static const struct config_memory next_memory = {
	.routes = next_routes,   .route_max = NEXT_ROUTES, .routes6 = next_routes6,
	.route6_max = NEXT_ROUTES, .scratch = scratch,     .scratch_words = SCRATCH};
static struct text_error why;

static struct text none;

static int set_up(void **state)
{
	(void)state;
	candidate.text = malloc(CANDIDATE_TEXT_MAX);
	candidate.draft = malloc(CANDIDATE_TEXT_MAX);
	candidate.running_text = malloc(CANDIDATE_TEXT_MAX);
	candidate.parsed = malloc(sizeof *candidate.parsed);
	candidate.added4 = malloc(CANDIDATE_ROUTES_MAX * sizeof *candidate.added4);
	candidate.added6 = malloc(CANDIDATE_ROUTES_MAX * sizeof *candidate.added6);
	for (unsigned f = 0; f < CANDIDATE_FAMILIES; f++) {
		candidate.routes[f].gone_max = ROUTES;
		candidate.routes[f].gone = malloc(ROUTES / 8);
	}
	history.bytes = malloc(HISTORY_BYTES);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(candidate.text);
	free(candidate.draft);
	free(candidate.running_text);
	free(candidate.parsed);
	free(candidate.added4);
	free(candidate.added6);
	for (unsigned f = 0; f < CANDIDATE_FAMILIES; f++)
		free(candidate.routes[f].gone);
	free(history.bytes);
	return 0;
}

static void begin(const char *running)
{
	admit(running);
	assert_int_equal(candidate_reset(&candidate, &config), E_OK);
	assert_false(candidate_changed(&candidate));
}

/* --- what it prints --- */

static char said[1 << 21];
static size_t said_len;

static void say(void *ctx, const char *text, size_t len)
{
	(void)ctx;
	assert_true(said_len + len < sizeof said);
	memcpy(said + said_len, text, len);
	said_len += len;
	said[said_len] = 0;
}

static void say_line(void *ctx, char sign, struct text line)
{
	say(ctx, &sign, 1);
	say(ctx, line.at, line.len);
	say(ctx, "\n", 1);
}

static const char *compared(void)
{
	said_len = 0;
	said[0] = 0;
	candidate_compare(&candidate, say_line, NULL);
	return said;
}

static const char *printed(void)
{
	said_len = 0;
	candidate_print(&candidate, say, NULL);
	return said;
}

/* --- typing --- */

/* Lines as a person types them, blocks and all: as control/configure.c does. */
static int type_line(char *block, const char *line)
{
	char opened[CANDIDATE_LINE_MAX];
	int e = candidate_enter(&candidate, text_of(block), text_of(line), &why);
	if (e == E_OK && candidate_opens(text_of(line), opened))
		strcpy(block, opened);
	return e;
}

static void type(const char *lines)
{
	char block[CANDIDATE_LINE_MAX] = "", line[CANDIDATE_LINE_MAX];
	while (*lines) {
		size_t n = strcspn(lines, "\n");
		snprintf(line, sizeof line, "%.*s", (int)n, lines);
		if (type_line(block, line) != E_OK)
			fail_msg("%s: %s, at \"%s\"", line, why.reason, why.word);
		lines += n + (lines[n] != 0);
	}
}

#define E0 "interface eth0\n ip address 192.0.2.1/24\n ip address 198.18.0.1/24 secondary\n"
#define E1 "interface eth1\n ipv6 address 2001:db8::1/64\n"
#define BASE E0 E1 "arp 192.0.2.7 0011.2233.4455\nip route 10.0.0.0/8 192.0.2.2\n" \
	"ipv6 route 2001:db8:9::/48 2001:db8::2\nhttp server\nhttp access 10.0.0.0/8\n"

static void check(const char *typed, const char *want)
{
	begin(BASE);
	type(typed);
	assert_string_equal(compared(), want);
	assert_int_equal(candidate_changed(&candidate), want[0] != 0);
}

static void test_statements(void **state)
{
	(void)state;
	check("", "");
	check("hostname hayate\nidle auto\nno hostname\nno idle", "");
	check("hostname r1\nhostname R2", "-hostname hayate\n+hostname R2\n");
	check("interface ETH0\nmtu 1400\nmtu 1300", " interface eth0\n+ mtu 1300\n");
	check("interface eth0\nmtu 1400\nno mtu", "");
	check("interface eth0\ndescription a  b!\nno description\nshutdown\nno shutdown", "");
	check("interface eth0\ndescription a  b!", " interface eth0\n+ description a  b!\n");
	/* one primary address; the others stand beside it */
	check("interface eth0\nip address 192.0.2.9 255.255.255.0",
	      " interface eth0\n- ip address 192.0.2.1/24\n+ ip address 192.0.2.9/24\n");
	check("interface eth0\nip address 203.0.113.1/24 secondary",
	      " interface eth0\n+ ip address 203.0.113.1/24 secondary\n");
	check("interface eth0\nip address 198.18.0.1 255.255.255.0 secondary", "");
	check("interface eth0\nno ip address 198.18.0.1 255.255.255.0",
	      " interface eth0\n- ip address 198.18.0.1/24 secondary\n");
	check("interface eth0\nno ip address", " interface eth0\n- ip address 192.0.2.1/24\n"
	      "- ip address 198.18.0.1/24 secondary\n");
	check("interface eth1\nipv6 address fe80::1 link-local\nipv6 address fe80::2 link-local",
	      " interface eth1\n+ ipv6 address fe80::2 link-local\n");
	check("interface eth1\nno ipv6 address 2001:DB8:0::1/64", " interface eth1\n"
	      "- ipv6 address 2001:db8::1/64\n");
	check("interface eth1\nipv6 nd ra dns 2001:db8::53\nipv6 nd ra dns 2001:db8::54\n"
	      "no ipv6 nd ra dns 2001:db8:0:0::53", " interface eth1\n+ ipv6 nd ra dns 2001:db8::54\n");
}

static void test_blocks(void **state)
{
	(void)state;
	check("interface eth2", "+interface eth2\n");
	check("interface eth2\nmtu 1400\nno interface eth2", "");
	check("interface eth2\nip address 203.0.113.1/24",
	      "+interface eth2\n+ ip address 203.0.113.1/24\n");
	check("no interface eth1\nno ipv6 route 2001:db8:9::/48",
	      "-interface eth1\n- ipv6 address 2001:db8::1/64\n"
	      "-ipv6 route 2001:db8:9::/48 2001:db8::2\n");
	/* a block that somebody else has taken away is opened anew */
	begin(BASE);
	char block[CANDIDATE_LINE_MAX] = "";
	assert_int_equal(type_line(block, "interface eth2"), E_OK);
	type("no interface eth2");
	assert_int_equal(type_line(block, "mtu 1400"), E_OK);
	assert_string_equal(compared(), "+interface eth2\n+ mtu 1400\n");
}

static void test_machine(void **state)
{
	(void)state;
	check("arp 192.0.2.7 0011.2233.4466", "-arp 192.0.2.7 00:11:22:33:44:55\n"
	      "+arp 192.0.2.7 00:11:22:33:44:66\n");
	check("arp 192.0.2.8 0011.2233.4466\nno arp 192.0.2.8", "");
	check("ipv6 neighbor 2001:db8::5 eth1 0011.2233.4466\n"
	      "ipv6 neighbor 2001:DB8::5 ETH1 0011.2233.4477",
	      "+ipv6 neighbor 2001:db8::5 eth1 00:11:22:33:44:77\n");
	check("http access 10.0.0.0 255.0.0.0\nhttp access 2001:DB8::/32\nno http access 10.0.0.0/8",
	      "-http access 10.0.0.0/8\n+http access 2001:db8::/32\n");
	check("no http access\nno http server", "-http server port 80\n-http access 10.0.0.0/8\n");
}

static void test_routes(void **state)
{
	(void)state;
	check("ip route 10.0.0.0 255.0.0.0 192.0.2.2\nipv6 route 2001:DB8:9::/48 2001:db8:0::2", "");
	check("ip route 10.0.0.0/8 192.0.2.3", "+ip route 10.0.0.0/8 192.0.2.3\n");
	check("no ip route 10.0.0.0/8\nip route 10.0.0.0/8 null0",
	      "-ip route 10.0.0.0/8 192.0.2.2\n+ip route 10.0.0.0/8 null0\n");
	check("no ip route 10.0.0.0/8\nip route 10.0.0.0/8 192.0.2.2", "");
	check("ip route 11.0.0.0/8 null0\nip route 12.0.0.0/8 null0\nno ip route 11.0.0.0/8 null0",
	      "+ip route 12.0.0.0/8 null0\n");
	check("ipv6 route ::/0 fe80::1 eth1\nipv6 route ::/0 fe80::2 eth1\n"
	      "no ipv6 route ::/0 fe80::1 eth1", "+ipv6 route ::/0 fe80::2 eth1\n");
	check("no ipv6 route 2001:db8:9::/48 2001:db8::2 eth1\nipv6 route 2001:db8:8::/48 null0",
	      "-ipv6 route 2001:db8:9::/48 2001:db8::2\n+ipv6 route 2001:db8:8::/48 null0\n");
}

static void refuse_line(const char *block, const char *line, const char *reason, const char *fault)
{
	static char before[sizeof said];
	strcpy(before, printed());
	if (candidate_enter(&candidate, text_of(block), text_of(line), &why) == E_OK)
		fail_msg("accepted: %s", line);
	if (strncmp(why.reason, reason, strlen(reason)) != 0)
		fail_msg("%s: reason \"%s\", expected \"%s\"", line, why.reason, reason);
	assert_string_equal(candidate.fault, fault);
	assert_string_equal(before, printed());
}

static void test_errors(void **state)
{
	(void)state;
	begin(BASE);
	refuse_line("", "mtu 1400", "\"mtu\" belongs into", "mtu 1400");
	refuse_line("", "no mtu", "\"mtu\" belongs into", "no mtu");
	refuse_line("", "no", "expected a statement", "no");
	refuse_line("", "no ip", "expected ", "no ip");
	refuse_line("", "frobnicate", "unknown statement", "frobnicate");
	refuse_line("", "no frobnicate", "unknown statement", "no frobnicate");
	refuse_line("", "end", "this belongs into a file", "end");
	refuse_line("", "script x", "this belongs into a file", "script x");
	refuse_line("", "no interface eth3", "there is no such statement", "no interface eth3");
	refuse_line("interface eth0", "no mtu", "there is no such statement in this block", "no mtu");
	refuse_line("interface eth0", "no mtu 140", "there is no such statement", "no mtu 140");
	refuse_line("", "no ip route", "the line ends too early", "no ip route");
	refuse_line("", "no ip route 10.0.0.0/8 192.0.2.3", "there is no such route",
	            "no ip route 10.0.0.0/8 192.0.2.3");
	refuse_line("", "ip route 10.0.0.1/8 null0", "prefix 10.0.0.1/8 has host bits set",
	            "ip route 10.0.0.1/8 null0");
	refuse_line("interface eth0", "mtu 67", "the MTU must be", "mtu 67");
	refuse_line("interface eth0", "no ip address 192.0.2.1/24",
	            "the primary address of the interface must come before",
	            "ip address 198.18.0.1/24 secondary");
	refuse_line("", "service echo udp port 70000", "a UDP port must be",
	            "service echo udp port 70000");
}

/* Errors of the whole name the line of what candidate_print has. */
static void refuse_whole(const char *typed, const char *reason, const char *fault)
{
	begin(BASE);
	type(typed);
	assert_int_equal(candidate_build(&candidate, &next_memory, &next, &why), E_INVAL);
	if (strncmp(why.reason, reason, strlen(reason)) != 0)
		fail_msg("%s: reason \"%s\"", typed, why.reason);
	assert_string_equal(candidate.fault, fault);
	const char *at = printed();
	for (uint32_t n = 1; n < why.line; n++)
		at = strchr(at, '\n') + 1;
	at += strspn(at, " ");
	assert_memory_equal(at, fault, strlen(fault));
}

static void test_whole(void **state)
{
	(void)state;
	refuse_whole("ip route 11.0.0.0/8 1.2.3.4", "the next hop does not lie",
	             "ip route 11.0.0.0/8 1.2.3.4");
	refuse_whole("ip route 10.0.0.0/8 null0", "this prefix already has a route",
	             "ip route 10.0.0.0/8 null0");
	refuse_whole("ipv6 route 2001:db8:9::/48 null0", "this prefix already has a route",
	             "ipv6 route 2001:db8:9::/48 null0");
	refuse_whole("interface eth2\nip address 192.0.2.77/25", "the subnet overlaps",
	             "ip address 192.0.2.77/25");
	refuse_whole("no interface eth0", "the next hop does not lie", "ip route 10.0.0.0/8 192.0.2.2");
	refuse_whole("no interface eth1", "the next hop does not lie",
	             "ipv6 route 2001:db8:9::/48 2001:db8::2");
}

/* --- random statements --- */

static const char *const kinds[] = {
	"ip route 10.%u.0.0/16 192.0.2.2", "ip route 10.%u.0.0/16 null0", "no ip route 10.%u.0.0/16",
	"ipv6 route 2001:db8:%u00::/48 2001:db8::2", "ipv6 route 2001:db8:%u00::/48 null0",
	"ipv6 route 2001:db8:%u00::/48 fe80::%u eth1", "no ipv6 route 2001:db8:%u00::/48",
	"interface eth%u", "no interface eth%u", "mtu 14%02u", "no mtu", "shutdown", "no shutdown",
	"description number %u", "no description", "ip address 203.0.%u.1/24",
	"ip address 203.0.%u.2/24 secondary", "no ip address 203.0.%u.1/24", "no ip address",
	"ipv6 address 2001:db8:a:%u::1/64", "no ipv6 address 2001:db8:a:%u::1/64", "ipv6 enable",
	"ipv6 address fe80::%u link-local", "no ipv6 address", "ipv6 nd ra interval 1%u0",
	"ipv6 nd ra dns 2001:db8::%u", "no ipv6 nd ra dns", "ipv6 address autoconfig",
	"hostname r%u", "no hostname", "arp timeout 1%u", "no arp timeout", "idle poll", "no idle",
	"arp 192.0.2.1%u 0200.0000.000%u", "no arp 192.0.2.1%u", "application echo",
	"application router", "service echo udp port 1%u", "no service echo udp port 1%u",
	"no service echo udp", "tcp connections 1%u", "ip icmp rate-limit 1%u burst 1%u",
	"no ip icmp rate-limit", "http access 10.%u.0.0/16", "no http access", "http server port 8%u",
	"ipv6 neighbor 2001:db8::2%u eth1 0200.0000.000%u", "no ipv6 neighbor 2001:db8::2%u",
};

static void type_random(char *block)
{
	char line[CANDIDATE_LINE_MAX];
	unsigned n = random_below(8);
	snprintf(line, sizeof line, kinds[random_below(ARRAY_LEN(kinds))], n, n);
	if (random_below(10) == 0)
		strcpy(block, "");
	type_line(block, line);
}

/* What is built of the candidate is what its text says when a machine boots with it. */
static bool build_is_parse(void)
{
	static char text[1 << 20];
	static struct config parsed;
	const struct config_memory mem = {.routes = routes + ROUTES / 2,
	                                  .route_max = ROUTES / 2,
	                                  .routes6 = routes6 + ROUTES / 2,
	                                  .route6_max = ROUTES / 2,
	                                  .scratch = scratch,
	                                  .scratch_words = SCRATCH};
	struct text_error other;
	int built = candidate_build(&candidate, &next_memory, &next, &why);
	strcpy(text, printed());
	int e = config_parse(text, strlen(text), &mem, &parsed, &other);
	assert_int_equal(built, e);
	if (e != E_OK) {
		assert_string_equal(why.reason, other.reason);
		assert_int_equal(why.line, other.line);
		return false;
	}
	assert_int_equal(next.route_count, parsed.route_count);
	for (uint32_t i = 0; i < next.route_count; i++)
		assert_int_equal(next.routes[i].line, parsed.routes[i].line);
	assert_int_equal(next.route6_count, parsed.route6_count);
	for (uint32_t i = 0; i < next.route6_count; i++) {
		assert_int_equal(next.routes6[i].line, parsed.routes6[i].line);
		assert_int_equal(next.routes6[i].port, parsed.routes6[i].port);
	}
	said_len = 0;
	config_print(&parsed, say, NULL);
	strcpy(text, said);
	said_len = 0;
	config_print(&next, say, NULL);
	assert_string_equal(said, text);
	if (next.application != CORE_APP_echo) /* that has services when none is stated */
		assert_string_equal(printed(), text);
	return true;
}

static void commit(void)
{
	config = next;
	memcpy(routes, next.routes, next.route_count * sizeof *routes);
	memcpy(routes6, next.routes6, next.route6_count * sizeof *routes6);
	config.routes = routes;
	config.routes6 = routes6;
	assert_int_equal(candidate_reset(&candidate, &config), E_OK);
}

static void test_random(void **state)
{
	(void)state;
	static char kept[64][1 << 14];
	unsigned commits = 0;
	seed_random("candidate");
	history.count = 0;
	history.len = 0;
	begin(BASE);
	for (int round = 0; round < 600; round++) {
		char block[CANDIDATE_LINE_MAX] = "";
		for (uint32_t n = random_below(12); n > 0; n--)
			type_random(block);
		if (!build_is_parse()) {
			if (random_below(3) == 0)
				assert_int_equal(history_restore(&history, 0, &candidate), E_OK);
			continue;
		}
		said_len = 0;
		config_print(&config, say, NULL);
		strcpy(kept[commits++ % 64], said);
		assert_true(history_keep(&history, &candidate, 1, "a test"));
		commit();
		unsigned back = 1 + random_below(HISTORY_VERSIONS);
		if (random_below(4) == 0 && back <= commits) {
			assert_int_equal(history_restore(&history, back, &candidate), E_OK);
			/* the order of routes may differ: what was removed comes back at the end */
			static char sorted[2][1 << 14];
			strcpy(sorted[0], printed());
			strcpy(sorted[1], kept[(commits - back) % 64]);
			assert_int_equal(strlen(sorted[0]), strlen(sorted[1]));
			for (char *l = strtok(sorted[0], "\n"); l; l = strtok(NULL, "\n"))
				assert_non_null(strstr(sorted[1], l));
			if (random_below(2))
				assert_int_equal(history_restore(&history, 0, &candidate), E_OK);
		}
	}
	assert_true(commits > 40);
}

/* --- bounds --- */

static void test_bounds(void **state)
{
	(void)state;
	char line[CANDIDATE_LINE_MAX];
	begin(BASE);
	for (unsigned i = 0; i < CANDIDATE_ROUTES_MAX; i++) {
		snprintf(line, sizeof line, "ip route 11.%u.%u.0/24 null0", i >> 8, i & 255);
		assert_int_equal(candidate_enter(&candidate, none, text_of(line), &why), E_OK);
	}
	refuse_line("", "ip route 12.0.0.0/8 null0", "a candidate adds at most 8192 routes",
	            "ip route 12.0.0.0/8 null0");
	/* so many fill half of the history: the oldest goes */
	history.count = 0;
	history.len = 0;
	for (unsigned i = 1; i <= 4; i++) {
		assert_true(history_keep(&history, &candidate, i, "a test"));
		assert_true(history.len <= HISTORY_BYTES);
	}
	assert_in_range(history.count, 1, 3);
	assert_int_equal(history_version(&history, 1)->until_ns, 4);
	assert_null(history_version(&history, history.count + 1));
	assert_int_equal(candidate_build(&candidate, &next_memory, &next, &why), E_OK);
	assert_int_equal(next.route_count, CANDIDATE_ROUTES_MAX + 1);
	/* lines that are too long */
	char block[] = "interface eth0";
	memset(line, 'x', sizeof line);
	memcpy(line, "description ", 12);
	line[sizeof line - 1] = 0;
	assert_int_equal(candidate_enter(&candidate, text_of(block), text_of(line), &why), E_INVAL);
	assert_int_equal(history_restore(&history, 0, &candidate), E_OK);
	assert_int_equal(history_restore(&history, 7, &candidate), E_NOENT);
}

static void test_hostile(void **state)
{
	(void)state;
	seed_random("hostile");
	begin(BASE);
	for (int round = 0; round < 20000; round++) {
		char line[CANDIDATE_LINE_MAX], block[CANDIDATE_LINE_MAX] = "interface eth0";
		unsigned n = random_below(8);
		const char *kind = kinds[random_below(ARRAY_LEN(kinds))];
		size_t len = (size_t)snprintf(line, sizeof line, kind, n, n);
		for (uint32_t k = random_below(4); k > 0; k--)
			line[random_below((uint32_t)len)] = random_below(2) ? (char)(1 + random_below(255))
			                                                    : " 0/:.nf\t"[random_below(8)];
		if (random_below(2))
			block[0] = 0;
		candidate_enter(&candidate, text_of(block), text_of(line), &why);
		if (round % 200 == 0 && !build_is_parse())
			assert_int_equal(history_restore(&history, 0, &candidate), E_OK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statements), cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_machine),    cmocka_unit_test(test_routes),
		cmocka_unit_test(test_errors),     cmocka_unit_test(test_whole),
		cmocka_unit_test(test_random),     cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_hostile),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
