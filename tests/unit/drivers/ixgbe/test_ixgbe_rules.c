/* Steering by rule on Intel's cards (drivers/ixgbe/rules.c): which registers are written, and what is refused. What
 * all cards have in common is in tests/unit/drivers/test_steer_rules.c. */
#include "tests/unit/rig/ixgbe_port.h"

enum { L34TIMIR = 0xe800, FTQF = 0xe600, PAIRS_USED = 8, TUPLES = 0xe000, TUPLES_END = 0xea00 };

static void set_rules(const struct nic_rule *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_null(ixgbe_ops.rules_refused(&port.nic, &r[i]));
	assert_int_equal(ixgbe_ops.rules(&port.nic, r, n), E_OK);
}

/* Unchanged rules are not written again, so their packets go nowhere else meanwhile. */
static void unchanged_rules_stay(void **s)
{
	(void)s;
	struct nic_rule r[3] = {{.family = NIC_RULE_IP4, .dst = {7}, .dst_plen = 32, .pairs = 2},
	                        {.family = NIC_RULE_IP4, .proto = 17, .dst_port = 53, .pairs = 4},
	                        {.family = NIC_RULE_IP4, .proto = 6, .pairs = 8}};
	up(PAIRS_USED, ALL, STANDARD);
	set_rules(r, 3);
	unsigned from = port.traced;
	set_rules(r, 3);
	assert_int_equal(find_access(from, WRITES, TUPLES, TUPLES_END - TUPLES), -1);
	r[1].pairs = 1 << 4;
	from = port.traced;
	set_rules(r, 3);
	assert_true(find_access(from, WRITES, L34TIMIR + 4, 4) >= 0);
	assert_int_equal(find_access(from, WRITES, FTQF, 4), -1);
	assert_int_equal(find_access(from, WRITES, FTQF + 8, 4), -1);
}

static void assert_cleared(unsigned from, unsigned filter)
{
	const int at = find_access(from, WRITES, FTQF + 4 * filter, 4);
	assert_true(at >= 0);
	assert_int_equal(port.trace[at].value, 0);
}

/* runtime/recovery.c sets the rules with each failure of a core, while packets wait. */
static void no_rules_cost_nothing(void **s)
{
	(void)s;
	struct nic_rule r[3] = {{.family = NIC_RULE_IP4, .proto = 17, .pairs = 2},
	                        {.family = NIC_RULE_IP4, .proto = 6, .pairs = 4},
	                        {.family = NIC_RULE_IP4, .proto = 132, .pairs = 8}};
	up(PAIRS_USED, ALL, STANDARD);
	for (unsigned i = 0; i < 2; i++) {
		unsigned from = port.traced;
		set_rules(NULL, 0);
		assert_int_equal(find_access(from, READS, TUPLES, TUPLES_END - TUPLES), -1);
		assert_int_equal(find_access(from, WRITES, TUPLES, TUPLES_END - TUPLES), -1);
		set_rules(r, 3);
		from = port.traced;
		set_rules(r, 1);
		assert_int_equal(find_access(from, WRITES, FTQF, 4), -1);
		assert_cleared(from, 1);
		assert_cleared(from, 2);
		from = port.traced;
		set_rules(NULL, 0);
		assert_cleared(from, 0);
	}
}

static void what_the_card_cannot(void **s)
{
	(void)s;
	static const struct {
		struct nic_rule r;
		const char *why;
	} bad[] = {
		{{.family = NIC_RULE_IP4, .pairs = 1, .src = {0x0a000000}, .src_plen = 8}, "whole addresses only"},
		{{.family = NIC_RULE_IP4, .pairs = 1, .dst = {0x0a000000}, .dst_plen = 31}, "whole addresses only"},
		{{.family = NIC_RULE_IP4, .pairs = 1, .dst_plen = 1}, "whole addresses only"},
		{{.family = NIC_RULE_IP4, .pairs = 1, .proto = 1}, "TCP, UDP and SCTP only"},
		{{.family = NIC_RULE_IP4, .pairs = 1, .proto = 47}, "TCP, UDP and SCTP only"},
		{{.family = NIC_RULE_IP6, .pairs = 1, .proto = 6}, "IPv4 only, not IPv6"},
		{{.family = NIC_RULE_IP4, .pairs = 1, .vlan = 5}, "do not compare VLANs"},
		{{.family = NIC_RULE_ALL, .pairs = 1, .vlan = 5}, "do not compare VLANs"},
		{{.family = NIC_RULE_IP4, .pairs = 3}, "one core, not to a group"},
	};
	up(PAIRS_USED, ALL, STANDARD);
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		const char *why = ixgbe_ops.rules_refused(&port.nic, &bad[i].r);
		assert_non_null(why);
		assert_non_null(strstr(why, bad[i].why));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(unchanged_rules_stay, teardown),
		cmocka_unit_test_teardown(no_rules_cost_nothing, teardown),
		cmocka_unit_test_teardown(what_the_card_cannot, teardown),
	};
	int failed = cmocka_run_group_tests_name("strict", tests, strict, NULL);
	return failed + cmocka_run_group_tests_name("line rate", tests, line_rate, NULL);
}
