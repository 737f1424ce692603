/*
 * control/config/candidate.c and history.c: what each statement replaces, what `no` removes, what compare
 * prints. A candidate is always a text that a file could hold. The configuration built from it
 * equals what that text says when parsed. A roll-back restores the former state. All with random
 * statements.
 */
#include "tests/unit/rig/host.h"

#include "control/config/candidate.h"
#include "control/config/history.h"
#include "tests/unit/rig/config_rig.h"

#define NEXT_ROUTES 40000u
#define RULES 400u

static struct candidate candidate;
static struct history history;
static struct config next;
static struct config_route next_routes[NEXT_ROUTES];
static struct config_route6 next_routes6[NEXT_ROUTES];
static struct config_acl_rule next_rules[RULES];
static const struct config_memory next_memory = {
	.routes = next_routes,   .route_max = NEXT_ROUTES, .routes6 = next_routes6,
	.route6_max = NEXT_ROUTES, .acl_rules = next_rules, .acl_rule_max = RULES,
	.scratch = scratch,        .scratch_words = SCRATCH};
static struct text_error why;

static struct text none;

static int set_up(void **state)
{
	(void)state;
	candidate.text_max = CANDIDATE_TEXT_LEAST;
	candidate.text = malloc(candidate.text_max);
	candidate.draft = malloc(candidate.text_max);
	candidate.running_text = malloc(candidate.text_max);
	candidate.acl_rules = next_rules;
	candidate.acl_rule_max = RULES;
	candidate.parsed = malloc(sizeof *candidate.parsed);
	candidate.added4 = malloc(CANDIDATE_ROUTES_MAX * sizeof *candidate.added4);
	candidate.added6 = malloc(CANDIDATE_ROUTES_MAX * sizeof *candidate.added6);
	candidate.routes[0].added_max = candidate.routes[1].added_max = CANDIDATE_ROUTES_MAX;
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

/* --- printed output --- */

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

/* Types lines, with blocks, as control/cli/configure.c does. */
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
#define LIST "ip access-list A\n 10 permit tcp any any eq 80\n 20 permit udp any any\n" \
	" 40 deny ip any any\n"
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
	check("idle sleep spin 50\nidle SLEEP SPIN 1000", "-idle auto\n+idle sleep spin 1000\n");
	check("idle sleep spin 50\nidle auto", "");
	check("interface ETH0\nmtu 1400\nmtu 1300", " interface eth0\n+ mtu 1300\n");
	check("interface eth0\nmtu 1400\nno mtu", "");
	check("interface eth0\ndescription a  b!\nno description\nshutdown\nno shutdown", "");
	check("interface eth0\ndescription a  b!", " interface eth0\n+ description a  b!\n");
	/* One primary address; the others coexist with it. */
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
	/* A block that somebody else has removed is opened again. */
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
	check("http host Lab.Example.NET.\nhttp host 2001:DB8::5\nhttp host a\nno http host A.\n"
	      "http host 203.0.113.5\nhttp host LAB.example.net\nhttp host 2001:db8:0::5\nno http host 203.0.113.5",
	      "+http host lab.example.net\n+http host 2001:db8::5\n");
	check("http host a\nno http access\nno http server\nno http host",
	      "-http server port 80\n-http access 10.0.0.0/8\n");
	check("no http access\nno http server", "-http server port 80\n-http access 10.0.0.0/8\n");
}

static void check_list(const char *typed, const char *want)
{
	begin(BASE LIST);
	type(typed);
	assert_string_equal(compared(), want);
}

#define IN_A "ip access-list extended A\n"

/* Rules are placed by their numbers, and identified by these or by all of their words. */
static void test_rules(void **state)
{
	(void)state;
	check_list(IN_A "30 permit ICMP any any", " ip access-list A\n+ 30 permit icmp any any\n");
	check_list(IN_A "5 permit icmp any any", " ip access-list A\n+ 5 permit icmp any any\n");
	check_list(IN_A "permit icmp any any\n", " ip access-list A\n+ 50 permit icmp any any\n");
	check_list(IN_A "20 deny udp 10.0.0.0 255.0.0.0 any\n40 deny ip any any",
	           " ip access-list A\n- 20 permit udp any any\n+ 20 deny udp 10.0.0.0/8 any\n");
	check_list(IN_A "no 10\nno 40", " ip access-list A\n- 10 permit tcp any any eq 80\n"
	           "- 40 deny ip any any\n");
	/* By its words: all of them, in any spelling. */
	check_list(IN_A "no permit tcp 0.0.0.0 0.0.0.0 0.0.0.0/0 range 80 80\npermit UDP any any",
	           " ip access-list A\n- 10 permit tcp any any eq 80\n");
	check_list(IN_A "no 20 permit udp any any", " ip access-list A\n- 20 permit udp any any\n");
	assert_non_null(strstr(printed(), "!\nip access-list A\n 10 permit tcp any any eq 80\n"
	                       " 40 deny ip any any\n"));
	/* moved: one number after another */
	check_list(IN_A "no 40\n30 deny ip any any",
	           " ip access-list A\n- 40 deny ip any any\n+ 30 deny ip any any\n");
	/* other lists, empty ones, names whose case counts */
	check_list("ip access-list Eth1\npermit ip any any\nipv6 access-list SIX\n"
	           "permit tcp any host 2001:DB8:0::1",
	           "+ip access-list Eth1\n+ 10 permit ip any any\n"
	           "+ipv6 access-list SIX\n+ 10 permit tcp any host 2001:db8::1\n");
	check_list("ip access-list B", "+ip access-list B\n");
	check_list("ip access-list a\npermit ip any any\nno ip access-list A\n",
	           "-ip access-list A\n- 10 permit tcp any any eq 80\n- 20 permit udp any any\n"
	           "- 40 deny ip any any\n+ip access-list a\n+ 10 permit ip any any\n");
	check_list("ip access-list B\nip access-list A\nno 10\nip access-list B\npermit ip any any",
	           " ip access-list A\n- 10 permit tcp any any eq 80\n"
	           "+ip access-list B\n+ 10 permit ip any any\n");
	/* One of each direction at an interface. */
	check_list("interface eth0\nip access-group A in\nip access-group B IN\n"
	           "ip access-group A out",
	           " interface eth0\n+ ip access-group B in\n+ ip access-group A out\n");
	check_list("interface eth0\nip access-group A in\nip access-group A out\n"
	           "no ip access-group A in", " interface eth0\n+ ip access-group A out\n");
	check_list("interface eth0\nno ip unreachables\nno ipv6 unreachables\nipv6 unreachables",
	           " interface eth0\n+ no ip unreachables\n");
	check_list("interface eth0\nip redirects\nip redirects\nno ipv6 redirects\nipv6 redirects\n"
	           "no ipv6 redirects", " interface eth0\n+ ip redirects\n");
}

static void test_resequence(void **state)
{
	(void)state;
	begin(BASE LIST);
	assert_int_equal(candidate_resequence(&candidate, text_of("A"), 100, 5, &why), E_OK);
	assert_string_equal(compared(), " ip access-list A\n- 10 permit tcp any any eq 80\n"
	                    "- 20 permit udp any any\n- 40 deny ip any any\n"
	                    "+ 100 permit tcp any any eq 80\n+ 105 permit udp any any\n"
	                    "+ 110 deny ip any any\n");
	assert_int_equal(candidate_resequence(&candidate, text_of("A"), 2147483645, 1, &why), E_OK);
	assert_int_equal(candidate_resequence(&candidate, text_of("A"), 2147483646, 1, &why), E_INVAL);
	assert_int_equal(candidate_resequence(&candidate, text_of("a"), 1, 1, &why), E_INVAL);
	assert_string_equal(why.reason, "there is no access list of this name");
	assert_non_null(strstr(printed(), " 2147483647 deny ip any any\n"));
}

static void refuse_line(const char *block, const char *line, const char *reason,
                        const char *fault);

static void test_rule_errors(void **state)
{
	static const char a[] = "ip access-list A";
	(void)state;
	begin(BASE LIST);
	refuse_line("", "permit ip any any", "a rule belongs into an access list",
	            "permit ip any any");
	refuse_line("interface eth0", "no 10", "unknown statement", "no 10");
	refuse_line("interface eth0", "permit ip any any", "a rule belongs into an access list",
	            "permit ip any any");
	refuse_line(a, "mtu 1400", "\"mtu\" belongs into", "mtu 1400");
	refuse_line(a, "permit tcp any any eq 70000", "a port must be", "permit tcp any any eq 70000");
	assert_string_equal(why.word, "70000");
	assert_int_equal(why.line, 1);
	refuse_line(a, "0 permit ip any any", "the number of a rule", "0 permit ip any any");
	refuse_line(a, "no 30", "there is no such statement in this block", "no 30");
	refuse_line(a, "no permit tcp any any", "there is no such statement", "no permit tcp any any");
	refuse_line(a, "no permit", "the line ends too early", "no permit");
	refuse_line(a, "10", "unknown statement", "10");
	refuse_line("ipv6 access-list A", "permit ipv6 any any", "this list stands already",
	            "ipv6 access-list A");
	refuse_line("", "no ip access-list B", "there is no such statement", "no ip access-list B");
	type("ip access-list A\n2147483647 permit ip any any");
	refuse_line(a, "permit icmp any any", "rules stand in the order", "permit icmp any any");
}

/* As many rules as fit, and a long list compared with itself except for one. */
static void test_many_rules(void **state)
{
	(void)state;
	char line[CANDIDATE_LINE_MAX], list[] = "ip access-list A";
	begin("ip access-list A\n permit ip any any\n");
	for (unsigned i = 1; i < RULES; i++) {
		snprintf(line, sizeof line, "%u permit tcp any host 10.0.%u.%u", i * 20, i >> 8, i & 255);
		assert_int_equal(candidate_enter(&candidate, text_of(list), text_of(line), &why), E_OK);
	}
	refuse_line(list, "5 permit udp any any", "too many rules; there is room for 400",
	            "7980 permit tcp any host 10.0.1.143");
	assert_int_equal(candidate_build(&candidate, &next_memory, &next, &why), E_OK);
	assert_int_equal(next.acl_rule_count, RULES);
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
	refuse_line("", "end", "this statement is allowed only in a file", "end");
	refuse_line("", "script x", "this statement is allowed only in a file", "script x");
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

/* Errors of the whole name the line of candidate_print's output. */
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
	refuse_whole("ip route 11.0.0.0/8 127.0.0.1", "the next hop is not the address of a host",
	             "ip route 11.0.0.0/8 127.0.0.1");
	refuse_whole("ip route 10.0.0.0/8 null0",
	             "the prefix already has a route of this distance, at line",
	             "ip route 10.0.0.0/8 null0");
	refuse_whole("ipv6 route 2001:db8:9::/48 null0",
	             "the prefix already has a route of this distance, at line",
	             "ipv6 route 2001:db8:9::/48 null0");
	refuse_whole("interface eth2\nip address 192.0.2.77/25", "the subnet overlaps",
	             "ip address 192.0.2.77/25");
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
	"no ip icmp rate-limit", "http access 10.%u.0.0/16", "no http access", "http server port 8%u", "http host h%u",
	"no http host h%u", "no http host", "no http server",
	"ipv6 neighbor 2001:db8::2%u eth1 0200.0000.000%u", "no ipv6 neighbor 2001:db8::2%u",
	"ip access-list L%u", "ipv6 access-list S%u", "no ip access-list L%u",
	"no ipv6 access-list S%u", "1%u permit tcp any any eq 8%u", "permit 2%u any any", "deny udp any any",
	"no 1%u", "no permit 2%u any any", "ip access-group L%u in", "no ip access-group L%u",
	"ipv6 traffic-filter S%u out", "no ip access-group", "no ip unreachables", "ip unreachables",
	"ipv6 redirects", "no ipv6 redirects",
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

/* The configuration built from the candidate equals what its text means when a machine boots with
 * it. */
static bool build_is_parse(void)
{
	static char text[1 << 20];
	static struct config parsed;
	static struct config_acl_rule parsed_rules[RULES];
	const struct config_memory mem = {.routes = routes + ROUTES / 2,
	                                  .route_max = ROUTES / 2,
	                                  .routes6 = routes6 + ROUTES / 2,
	                                  .route6_max = ROUTES / 2,
	                                  .acl_rules = parsed_rules,
	                                  .acl_rule_max = RULES,
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
		assert_int_equal(next.routes6[i].interface, parsed.routes6[i].interface);
	}
	said_len = 0;
	config_print(&parsed, say, NULL);
	strcpy(text, said);
	said_len = 0;
	config_print(&next, say, NULL);
	assert_string_equal(said, text);
	if (next.application != CORE_APP_echo) /* it has services when none is stated */
		assert_string_equal(printed(), text);
	return true;
}

static void commit(void)
{
	static struct config_acl_rule running_rules[RULES];
	config = next;
	memcpy(routes, next.routes, next.route_count * sizeof *routes);
	memcpy(routes6, next.routes6, next.route6_count * sizeof *routes6);
	config.routes = routes;
	config.routes6 = routes6;
	memcpy(running_rules, next.acl_rules, next.acl_rule_count * sizeof *running_rules);
	config.acl_rules = running_rules;
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
			/* The order of routes may differ: a removed one comes back at the end. */
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
	/* This many fill half of the history: the oldest is dropped. */
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
			strcpy(block, random_below(2) ? "" : "ip access-list L1");
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
		cmocka_unit_test(test_rules),      cmocka_unit_test(test_resequence),
		cmocka_unit_test(test_rule_errors), cmocka_unit_test(test_many_rules),
		cmocka_unit_test(test_errors),     cmocka_unit_test(test_whole),
		cmocka_unit_test(test_random),     cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_hostile),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
