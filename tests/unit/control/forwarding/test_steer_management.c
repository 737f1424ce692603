/* `steer management` (control/forwarding/steer_rules.c): which rules the card gets, and what is said of them. */
#include "tests/unit/rig/packets.h"

#include "control/forwarding/steer_rules.h"
#include "runtime/rules.h"
#include "runtime/runtime.h"

enum { CORE = 3 };

static struct config config;
static struct core_rule rules[CORE_RULES_MAX];
static unsigned given;
static enum { TAKES_ALL, TAKES_HOSTS, TAKES_NOTHING } card; /* HOSTS: whole addresses of IPv4, as the 82599 */
static const char *state[CORE_RULES_MAX];

/* --- instead of the runtime and of the parser --- */

int config_number(const struct config *c, uint32_t key)
{
	assert_ptr_equal(c, &config);
	return (int)key;
}

const char *core_rule_refused(const struct core_rule *r)
{
	assert_true(r->core == CORE && r->last == CORE + 1);
	if (card == TAKES_NOTHING)
		return "it cannot steer by rule";
	if (card == TAKES_HOSTS && r->match.family != NIC_RULE_IP4)
		return "IPv4 only";
	return card == TAKES_HOSTS && r->match.dst_plen % 32 ? "whole addresses only" : NULL;
}

void core_set_rules(const struct core_rule *r, unsigned n)
{
	assert_true(n <= CORE_RULES_MAX);
	memcpy(rules, r, n * sizeof *r);
	given = n;
}

const char *core_rule_state(unsigned i)
{
	assert_true(i < given);
	return state[i];
}

const struct nic *core_port_nic(unsigned port)
{
	static const struct nic_ops ops = {.name = "card"};
	static const struct nic nic = {.ops = &ops};
	assert_int_equal(port, 1);
	return &nic;
}

/* --- tests --- */

static struct config_steer *statement(bool management)
{
	struct config_steer *s = &config.steer[config.steer_count++];
	*s = (struct config_steer){.interface = 1, .line = config.steer_count, .core = CORE, .last = CORE + 1,
	                           .management = management};
	return s;
}

static int begin(void **unused)
{
	(void)unused;
	memset(&config, 0, sizeof config);
	memset(state, 0, sizeof state);
	card = TAKES_ALL;
	config.interfaces = 3;
	config.interface[0].address_count = 2;
	config.interface[0].address[0] = (struct config_address){0xc0000201, 1, 24};
	config.interface[0].address[1] = (struct config_address){0x0a000001, 1, 8};
	config.interface[2].ipv6 = true;
	config.interface[2].address6_count = 1;
	config.interface[2].address6[0] = (struct config_address6){addr6("2001:db8::1"), 1, 64};
	return 0;
}

static const char *refusal(void)
{
	static struct text_error err;
	return steer_rules_check(&config, CORE_APP_router, &err) == E_OK ? NULL : err.reason;
}

/* The first rule that a packet to this address meets (IPv4: word 0); `given`: none. */
static unsigned first_match(unsigned family, const uint32_t to[4])
{
	unsigned i = 0;
	for (; i < given; i++) {
		const struct nic_rule *r = &rules[i].match;
		bool same = r->family == family;
		for (unsigned bit = 0; bit < r->dst_plen; bit++)
			same &= ((to[bit / 32] ^ r->dst[bit / 32]) >> (31 - bit % 32) & 1) == 0;
		if (same)
			break;
	}
	return i;
}

static bool steered(const char *text)
{
	uint32_t to[4] = {0};
	const bool six = strchr(text, ':');
	const struct net_addr a = six ? addr6(text) : NET_ADDR_ANY;
	for (unsigned i = 0; i < 4; i++)
		to[i] = ntohl(six ? a.w[i] : i == 0 ? inet_addr(text) : 0);
	return first_match(six ? NIC_RULE_IP6 : NIC_RULE_IP4, to) < given;
}

static void own_addresses_only(void **s)
{
	(void)s;
	statement(true);
	assert_null(refusal());
	steer_rules_set(&config);
	static const char *const own[] = {"192.0.2.1", "10.0.0.1", "224.0.0.5", "2001:db8::1", "fe80::1234", "ff02::5"};
	static const char *const other[] = {"192.0.2.2", "10.0.0.2", "224.0.1.1", "2001:db8::2", "fec0::1", "ff05::2",
	                                    "::c000:201", "0.0.0.0"};
	for (unsigned i = 0; i < ARRAY_LEN(own); i++)
		assert_true(steered(own[i]));
	for (unsigned i = 0; i < ARRAY_LEN(other); i++)
		assert_false(steered(other[i]));
	for (unsigned i = 0; i < given; i++)
		assert_true(rules[i].port == 1 && rules[i].core == CORE && rules[i].last == CORE + 1);
	const struct steer_state now = steer_rules_state(0);
	assert_true(now.rules == 6 && now.in_force == 6 && now.why == NULL);
}

static void follows_the_configuration(void **s)
{
	(void)s;
	statement(true);
	config.interface[2].ipv6 = false;
	config.interface[2].address6_count = 0;
	config.interface[0].address_count = 1;
	config.interface[1].address_count = 1;
	config.interface[1].address[0].addr = 0x0b000001;
	steer_rules_set(&config);
	assert_true(steered("11.0.0.1") && steered("192.0.2.1"));
	assert_false(steered("10.0.0.1") || steered("2001:db8::1") || steered("fe80::1"));
	config.steer_count = 0;
	steer_rules_set(&config);
	assert_int_equal(given, 0);
}

/* In the place of the statement, and each statement has the state of its own rules. */
static void stands_among_others(void **s)
{
	(void)s;
	statement(false)->match = (struct nic_rule){.family = NIC_RULE_IP4, .proto = 6};
	statement(true);
	statement(false)->match = (struct nic_rule){.family = NIC_RULE_IP4, .proto = 17};
	steer_rules_set(&config);
	assert_int_equal(given, 8);
	assert_int_equal(rules[0].match.proto, 6);
	assert_int_equal(rules[7].match.proto, 17);
	state[2] = "the core restarts";
	assert_null(steer_rules_state(0).why);
	assert_string_equal(steer_rules_state(1).why, "the core restarts");
	assert_int_equal(steer_rules_state(1).in_force, 5);
	assert_null(steer_rules_state(2).why);
}

static void what_the_card_cannot(void **s)
{
	(void)s;
	statement(true);
	card = TAKES_HOSTS;
	assert_null(refusal());
	steer_rules_set(&config);
	assert_true(steered("192.0.2.1") && steered("10.0.0.1"));
	assert_int_equal(given, 2);
	const struct steer_state now = steer_rules_state(0);
	assert_true(now.rules == 6 && now.in_force == 2);
	assert_non_null(now.why);
	card = TAKES_NOTHING;
	assert_string_equal(refusal(), "card of eth1: it cannot steer by rule");
}

static void refused(void **s)
{
	(void)s;
	struct text_error err;
	statement(true);
	assert_int_equal(steer_rules_check(&config, CORE_APP_echo, &err), E_INVAL);
	assert_string_equal(err.reason, "only the application router steers management traffic");
	/* six rules, and as many others as there is room for */
	for (unsigned i = 0; i < CORE_RULES_MAX - 6; i++)
		statement(false)->match = (struct nic_rule){.family = NIC_RULE_IP4, .proto = (uint8_t)(i + 1)};
	assert_null(refusal());
	steer_rules_set(&config);
	assert_int_equal(given, CORE_RULES_MAX);
	config.interface[1].address_count = 1;
	config.interface[1].address[0].addr = 0x0b000001;
	assert_non_null(strstr(refusal(), "there are more than 64 rules"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(own_addresses_only, begin),
		cmocka_unit_test_setup(follows_the_configuration, begin),
		cmocka_unit_test_setup(stands_among_others, begin),
		cmocka_unit_test_setup(what_the_card_cannot, begin),
		cmocka_unit_test_setup(refused, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
