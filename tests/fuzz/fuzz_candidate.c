/*
 * Statements typed into a candidate configuration (control/config/candidate.h): the input is lines. After
 * an error nothing has changed. The candidate prints what the configuration built from it says, or
 * the build fails with a reason.
 */
#include "tests/fuzz/rig.h"

#include "control/config/candidate.h"
#include "tests/unit/rig/config_rig.h"

#define NEXT_ROUTES 9000u
#define PRINTED_MAX (1u << 20)

static const char running[] =
	"interface eth0\n ip address 192.0.2.1/24\n ip address 198.18.0.1/24 secondary\n"
	"interface eth1\n ipv6 address 2001:db8::1/64\n"
	"arp 192.0.2.7 0011.2233.4455\nip route 10.0.0.0/8 192.0.2.2\n"
	"ipv6 route 2001:db8:9::/48 2001:db8::2\nhttp server\nhttp access 10.0.0.0/8\n"
	"ip access-list A\n 10 permit tcp any any eq 80\n 20 permit udp any any\n 40 deny ip any any\n";

static struct candidate candidate;
static struct config next;
static struct config_route next_routes[NEXT_ROUTES];
static struct config_route6 next_routes6[NEXT_ROUTES];
static struct config_acl_rule next_rules[ACL_RULES];
static const struct config_memory next_memory = {
	.routes = next_routes,     .route_max = NEXT_ROUTES,   .routes6 = next_routes6,
	.route6_max = NEXT_ROUTES, .acl_rules = next_rules,    .acl_rule_max = ACL_RULES,
	.scratch = scratch,        .scratch_words = SCRATCH};

struct printed {
	size_t len;
	char text[PRINTED_MAX];
};

static void collect(void *ctx, const char *text, size_t len)
{
	struct printed *p = ctx;
	assert_true(p->len + len <= sizeof p->text);
	memcpy(p->text + p->len, text, len);
	p->len += len;
}

static void begin(void)
{
	static bool begun;
	if (!begun) {
		candidate.text_max = CANDIDATE_TEXT_LEAST;
		candidate.text = malloc(candidate.text_max);
		candidate.draft = malloc(candidate.text_max);
		candidate.running_text = malloc(candidate.text_max);
		candidate.acl_rules = next_rules;
		candidate.acl_rule_max = ACL_RULES;
		candidate.parsed = malloc(sizeof *candidate.parsed);
		candidate.added4 = malloc(CANDIDATE_ROUTES_MAX * sizeof *candidate.added4);
		candidate.added6 = malloc(CANDIDATE_ROUTES_MAX * sizeof *candidate.added6);
		candidate.routes[0].added_max = candidate.routes[1].added_max = CANDIDATE_ROUTES_MAX;
		for (unsigned f = 0; f < CANDIDATE_FAMILIES; f++) {
			candidate.routes[f].gone_max = ROUTES;
			candidate.routes[f].gone = malloc(ROUTES / 8);
		}
		admit(running);
	}
	begun = true;
	assert_int_equal(candidate_reset(&candidate, &config), E_OK);
}

/* A line as typed; the block that it opens is that of the next lines. */
static void type(char *block, const char *at, size_t len)
{
	static struct printed before, after;
	static struct text_error why;
	char opened[CANDIDATE_LINE_MAX];
	char *line = malloc(len ? len : 1);
	memcpy(line, at, len);
	before.len = after.len = 0;
	candidate_print(&candidate, collect, &before);
	int e = candidate_enter(&candidate, text_of(block), (struct text){line, len}, &why);
	if (e == E_OK) {
		if (candidate_opens((struct text){line, len}, opened))
			strcpy(block, opened);
	} else {
		candidate_print(&candidate, collect, &after);
		assert_int_equal(before.len, after.len);
		assert_memory_equal(before.text, after.text, after.len);
		assert_true(strlen(why.reason) > 5 && strlen(candidate.fault) < CANDIDATE_LINE_MAX);
	}
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct printed said, built;
	static struct text_error why;
	char block[CANDIDATE_LINE_MAX] = "";
	begin();
	for (size_t at = 0; at < size;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t len = end ? (size_t)(end - data) - at : size - at;
		type(block, (const char *)data + at, len);
		at += len + 1;
	}
	said.len = built.len = 0;
	candidate_print(&candidate, collect, &said);
	if (candidate_build(&candidate, &next_memory, &next, &why) != E_OK) {
		assert_true(strlen(why.reason) > 5);
		return 0;
	}
	config_print(&next, collect, &built);
	assert_int_equal(said.len, built.len);
	assert_memory_equal(said.text, built.text, built.len);
	return 0;
}
