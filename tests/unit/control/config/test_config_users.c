/*
 * control/config/config_users.c: users, their roles, keys and tokens: errors, back to text, what a statement
 * replaces in a candidate, which lines are hidden. candidate_match and candidate_take: a candidate that equals
 * another whole configuration.
 */
#include "tests/unit/rig/host.h"

#include "control/config/candidate.h"
#include "tests/unit/rig/config_rig.h"

#define HASH "$pbkdf2-sha256$1000$AAECAwQFBgcICQoLDA0ODw$ugdtfhqkVaYc1WjhmIAYbFUH3jgn7qiaI.w6XhFxnRk"
#define ED25519 "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBB/ouGBmzymAWQG7ES+jPaylVCVr+EGIIgqR69l88xE"
#define P256 \
	"ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBAz6mtfF8Vozfciytfm0RwfAZZONafrO+" \
	"wAyAYs0T8ryM6f4osZu1jblfnx0b6eynXZ/nIuahxol7HDO3JFpPhg="
#define TOKEN "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define TOKEN2 "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void test_users(void **state)
{
	uint8_t hash[SHA256_BYTES], blob[CONFIG_SSH_BLOB_MAX];
	(void)state;
	admit("username alice role configure password " HASH "\n"
	      "username bob ssh-key " ED25519 "\nusername bob role read\n"
	      "username alice ssh-key " P256 "\nusername alice token " TOKEN "\n"
	      "username _x-9 role operate\nusername bob token " TOKEN2 "\n");
	round_trip();
	assert_int_equal(config.users.count, 3);
	const struct config_user *alice = config_user(&config, text_of("alice"));
	const struct config_user *bob = config_user(&config, text_of("bob"));
	assert_true(alice && alice->role == ROLE_CONFIGURE && alice->has_password && alice->password.iterations == 1000);
	assert_true(bob && bob->role == ROLE_READ && !bob->has_password);
	assert_null(config_user(&config, text_of("Alice")));
	assert_null(config_user(&config, text_of("ali")));
	assert_int_equal(config.users.keys, 2);
	assert_int_equal(config.users.key[0].user, 0);
	assert_int_equal(config_ssh_key_blob(&config.users.key[0], blob), 104);
	assert_memory_equal(blob + 4, "ecdsa-sha2-nistp256", 19);
	assert_int_equal(config_ssh_key_blob(&config.users.key[1], blob), 51);
	for (unsigned i = 0; i < SHA256_BYTES; i++)
		hash[i] = (uint8_t)(i % 16 * 0x11);
	assert_ptr_equal(config_token_user(&config, hash), alice);
	hash[0] = 0xff;
	assert_ptr_equal(config_token_user(&config, hash), bob);
	hash[31] = 0;
	assert_null(config_token_user(&config, hash));
	admit("console server\nconsole access 192.0.2.0/24\nusername a role read password " HASH);
}

static void test_refused(void **state)
{
	char many[32768];
	size_t n = 0;
	(void)state;
	refuse("username", 1, "", "the line ends too early");
	refuse("username Alice role read", 1, "Alice", "a user's name has 1 to 20 characters");
	refuse("username 9a role read", 1, "9a", "a user's name has 1 to 20 characters");
	refuse("username a23456789012345678901 role read", 1, "a23456789012345678901", "a user's name has");
	refuse("username a", 1, "", "expected role, ssh-key or token");
	refuse("username a level 15", 1, "level", "expected role, ssh-key or token");
	refuse("username a role", 1, "", "expected the role: read, operate or configure");
	refuse("username a role admin", 1, "admin", "expected the role: read, operate or configure");
	refuse("username a role none", 1, "none", "expected the role: read, operate or configure");
	refuse("username a role read secret x", 1, "secret", "expected password or the end of the line");
	refuse("username a role read password", 1, "", "the line ends too early");
	refuse("username a role read password x", 1, "x", "expected $pbkdf2-sha256$");
	refuse("username a role read password " HASH " x", 1, "x", "unexpected word");
	refuse("username a role read\nusername a role operate", 2, "role", "this user's role stands already at line 1");
	refuse("hostname x\nusername a token " TOKEN, 2, "a", "this user has no role");
	/* a character that is no hexadecimal digit, as the first and as the second half of a byte */
	refuse("username a token g0112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", 1,
	       "g0112233445566778899aabbccddeeff001122334455667", "expected the SHA-256 hash of a token");
	refuse("username a token 0g112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", 1,
	       "0g112233445566778899aabbccddeeff001122334455667", "expected the SHA-256 hash of a token");
	refuse("username a token " TOKEN "0", 1, "00112233445566778899aabbccddeeff001122334455667", "expected the SHA-256 hash of a token");
	refuse("username a role read\nusername a token " TOKEN "\nusername a token " TOKEN, 3,
	       "00112233445566778899aabbccddeeff001122334455667", "this token stands already at line 2");
	refuse("username a ssh-key ssh-rsa AAAA", 1, "ssh-rsa", "the type of a key is ssh-ed25519 or");
	refuse("username a ssh-key ssh-ed25519 AAAA", 1, "AAAA", "expected an OpenSSH public key of this type");
	refuse("username a ssh-key ssh-ed25519", 1, "", "expected an OpenSSH public key of this type");
	refuse("username a ssh-key " ED25519 " a@b", 1, "a@b", "unexpected word");
	refuse("username a role read\nusername a ssh-key " P256 "\nusername a ssh-key " P256, 3,
	       "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTY", "this key stands already at line 2");
	for (unsigned i = 0; i <= CONFIG_USERS_MAX; i++)
		n += (size_t)snprintf(many + n, sizeof many - n, "username u%u role read\n", i);
	refuse(many, CONFIG_USERS_MAX + 1, "u16", "too many users; at most 16");
	n = (size_t)snprintf(many, sizeof many, "username a role read\n");
	for (unsigned i = 0; i <= CONFIG_TOKENS_MAX; i++)
		n += (size_t)snprintf(many + n, sizeof many - n, "username a token %064x\n", i);
	refuse(many, CONFIG_TOKENS_MAX + 2, "00000000000000000000000000000000000000000000000", "too many tokens");
	refuse("console server\nconsole access 192.0.2.0/24", 1, "console",
	       "the server needs a password; add the line that \"tools/hayate password\" prints, or users");
}

static void expect_shown(const char *line, const char *want)
{
	struct text shown = {NULL, 0};
	const bool hides = config_hides(text_of(line), &shown);
	assert_int_equal(hides, want != NULL);
	if (want)
		assert_true(text_equal(shown, text_of(want)));
}

static void test_hidden(void **state)
{
	(void)state;
	expect_shown("username a role read password " HASH, "username a role read password");
	expect_shown(" username a token " TOKEN "\n", " username a token");
	expect_shown("console password " HASH "\n", "console password");
	expect_shown("username password role read password x", "username password");
	expect_shown("username a role read", NULL);
	expect_shown("username a ssh-key " ED25519, NULL);
	expect_shown("console access 192.0.2.0/24", NULL);
	expect_shown("description console password x", NULL);
	expect_shown("", NULL);
}

/* --- candidates --- */

static struct candidate candidate;
static struct config next, parsed;
static struct config_route next_routes[ROUTES];
static struct config_route6 next_routes6[ROUTES];
static struct config_acl_rule next_rules[ACL_RULES];
static uint32_t next_scratch[SCRATCH];
static const struct config_memory next_memory = {
	.routes = next_routes, .route_max = ROUTES, .routes6 = next_routes6, .route6_max = ROUTES,
	.acl_rules = next_rules, .acl_rule_max = ACL_RULES, .scratch = next_scratch, .scratch_words = SCRATCH};
static char texts[3][CANDIDATE_TEXT_LEAST], said[CANDIDATE_TEXT_LEAST];
static struct config_acl_rule rules[ACL_RULES];
static struct config_route added4[CANDIDATE_ROUTES_MAX];
static struct config_route6 added6[CANDIDATE_ROUTES_MAX];
static uint8_t gone[CANDIDATE_FAMILIES][ROUTES / 8];
static size_t said_len;

static void begin(const char *running)
{
	admit(running);
	candidate = (struct candidate){
		.text = texts[0], .draft = texts[1], .running_text = texts[2], .text_max = CANDIDATE_TEXT_LEAST,
		.parsed = &parsed, .acl_rules = rules, .acl_rule_max = ACL_RULES, .added4 = added4, .added6 = added6,
		.routes = {{.gone = gone[0], .gone_max = ROUTES, .added_max = CANDIDATE_ROUTES_MAX},
		           {.gone = gone[1], .gone_max = ROUTES, .added_max = CANDIDATE_ROUTES_MAX}}};
	assert_int_equal(candidate_reset(&candidate, &config), E_OK);
}

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

static void expect_difference(const char *want)
{
	said_len = 0;
	said[0] = 0;
	candidate_compare(&candidate, say_line, NULL);
	assert_string_equal(said, want);
}

static void enter(const char *line)
{
	struct text_error why;
	if (candidate_enter(&candidate, text_of(""), text_of(line), &why) != E_OK)
		fail_msg("%s: %s", line, why.reason);
}

static void test_candidate(void **state)
{
	(void)state;
	begin("username a role read password " HASH "\nusername a token " TOKEN "\nusername b role operate\n");
	enter("username a role configure");
	expect_difference("-username a role read password " HASH "\n+username a role configure\n");
	enter("username a token " TOKEN2);
	enter("username a ssh-key " ED25519);
	enter("no username b");
	expect_difference("-username a role read password " HASH "\n-username b role operate\n"
	                  "+username a role configure\n+username a ssh-key " ED25519 "\n+username a token " TOKEN2 "\n");
	enter("no username a token");
	enter("no username a");
	expect_difference("-username a role read password " HASH "\n-username a token " TOKEN
	                  "\n-username b role operate\n");
}

static void follow(char block[CANDIDATE_LINE_MAX], const char *line, const char *want)
{
	candidate_follow(text_of(line), block);
	assert_string_equal(block, want);
}

static void test_follow(void **state)
{
	char block[CANDIDATE_LINE_MAX] = "";
	(void)state;
	follow(block, "interface ETH0", "interface eth0");
	follow(block, " mtu 9000", "interface eth0");
	follow(block, "no mtu", "interface eth0");
	follow(block, "no ip redirects", "interface eth0");
	follow(block, "no interface eth0", "");
	follow(block, "ip access-list extended x", "ip access-list x");
	follow(block, "10 permit ip any any", "ip access-list x");
	follow(block, "no 10", "ip access-list x");
	follow(block, "no hostname", "");
}

/* Whatever is running, the candidate becomes the other text: it then prints as that, and differs in nothing. */
static void becomes(const char *running, const char *text, uint32_t added4_want, uint32_t added6_want)
{
	struct text_error why;
	uint32_t added[CANDIDATE_FAMILIES];
	begin(running);
	assert_int_equal(config_parse(text, strlen(text), &next_memory, &next, &why), E_OK);
	candidate_match(&candidate, &next, next_scratch, added);
	assert_int_equal(added[0], added4_want);
	assert_int_equal(added[1], added6_want);
	candidate_take(&candidate, &next);
	assert_int_equal(candidate_changed(&candidate), strcmp(running, text) != 0);
	assert_int_equal(candidate_route_count(&candidate, CANDIDATE_IP4), next.route_count);
	assert_int_equal(candidate_route_count(&candidate, CANDIDATE_IP6), next.route6_count);
}

static void test_whole(void **state)
{
	static const char a[] = "hostname a\ninterface eth0\n ip address 192.0.2.1/24\n ipv6 address 2001:db8:1::1/64\n"
	                        "ip route 10.0.0.0/8 192.0.2.2\nip route 10.0.0.0/8 192.0.2.3\nip route 10.1.0.0/16 null0 9\n"
	                        "ipv6 route 2001:db8:2::/48 2001:db8:1::2\nipv6 route 2001:db8:3::/48 fe80::1 eth0\n";
	static const char b[] = "hostname b\ninterface eth0\n ip address 192.0.2.1/24\n ipv6 address 2001:db8:1::1/64\n"
	                        "ip route 10.0.0.0/8 192.0.2.3\nip route 10.1.0.0/16 null0 8\nip route 10.2.0.0/16 192.0.2.2\n"
	                        "ipv6 route 2001:db8:3::/48 fe80::2 eth0\nipv6 route 2001:db8:2::/48 2001:db8:1::2\n";
	(void)state;
	becomes(a, a, 0, 0);
	expect_difference("");
	becomes(a, b, 2, 1);
	expect_difference("-hostname a\n+hostname b\n-ip route 10.0.0.0/8 192.0.2.2\n-ip route 10.1.0.0/16 null0 9\n"
	                  "-ipv6 route 2001:db8:3::/48 fe80::1 eth0\n+ip route 10.1.0.0/16 null0 8\n"
	                  "+ip route 10.2.0.0/16 192.0.2.2\n+ipv6 route 2001:db8:3::/48 fe80::2 eth0\n");
	becomes(a, "hostname a\n", 0, 0);
	becomes("hostname a\n", a, 3, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_candidate),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_whole),
	};
	return cmocka_run_group_tests_name("config_users", tests, NULL, NULL);
}
