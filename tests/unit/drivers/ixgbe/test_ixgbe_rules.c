/*
 * Steering by rule (drivers/ixgbe/rules.c) with the model of the card: every packet arrives in the pair that a slow
 * reading of the rules names, or where it would arrive without rules.
 */
#include "tests/unit/rig/ixgbe_port.h"
#include "tests/unit/rig/packets.h"

enum { L34TIMIR = 0xe800, FTQF = 0xe600, PAIRS_USED = 8, TUPLES = 0xe000, TUPLES_END = 0xea00 };

/* A packet, as it is made and as the oracle sees it. */
struct flow {
	uint32_t src, dst;
	uint16_t sport, dport;
	uint8_t proto;
	bool fragment;
};

/* Few values, so that rules and packets meet often. */
static uint32_t some_address(void) { return 0xc0000200 + random_below(3) + (random_below(2) << 24); }
static uint16_t some_port(void) { return (uint16_t)(1 + random_below(3) * 0x101); }

static struct flow some_flow(void)
{
	static const uint8_t protos[] = {6, 17, 17, 47};
	return (struct flow){some_address(), some_address(), some_port(), some_port(), protos[random_below(4)],
	                     random_below(8) == 0};
}

static struct nic_rule some_rule(void)
{
	static const uint8_t protos[] = {0, 6, 17, 132};
	struct nic_rule r = {.proto = protos[random_below(4)], .pair = (uint8_t)random_below(PAIRS_USED)};
	r.src_plen = random_below(2) ? 32 : 0;
	r.dst_plen = random_below(2) ? 32 : 0;
	r.src = r.src_plen ? some_address() : 0;
	r.dst = r.dst_plen ? some_address() : 0;
	r.src_port = r.proto && random_below(3) == 0 ? some_port() : 0;
	r.dst_port = r.proto && random_below(3) == 0 ? some_port() : 0;
	return r;
}

static bool matches(const struct nic_rule *r, const struct flow *f)
{
	const bool l4 = !f->fragment;
	return (!r->src_plen || r->src == f->src) && (!r->dst_plen || r->dst == f->dst) &&
	       (!r->proto || (l4 && r->proto == f->proto)) && (!r->src_port || (l4 && r->src_port == f->sport)) &&
	       (!r->dst_port || (l4 && r->dst_port == f->dport));
}

static unsigned make(const struct flow *f)
{
	unsigned len = make_l4(f->proto == 6 ? 6 : 17, f->src, f->dst, f->sport, f->dport, 30, 1);
	frame[23] = f->proto;
	if (f->fragment)
		frame[20] |= 0x20; /* more fragments */
	slow_ip_csum(frame + 14);
	return len;
}

static uint64_t away; /* pairs whose core does not poll, one bit each */

/* The pair in which the packet arrives, and none other. */
static unsigned arrives_in(unsigned len)
{
	unsigned where = PAIRS_USED, total = 0;
	rig_receive(frame, len);
	rig_run(100000);
	for (unsigned q = 0; q < port.pairs; q++) {
		if (away >> q & 1)
			continue;
		unsigned n = rx(q, 256);
		where = n ? q : where;
		total += n;
		let_go(q);
	}
	assert_int_equal(total, 1);
	return where;
}

static void set_rules(const struct nic_rule *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_null(ixgbe_ops.rules_refused(&port.nic, &r[i]));
	assert_int_equal(ixgbe_ops.rules(&port.nic, r, n), E_OK);
}

static void the_first_match_chooses(void **s)
{
	(void)s;
	seed_random("ixgbe_rules");
	up(PAIRS_USED, ALL, STANDARD);
	unsigned matched = 0, packets = 0;
	for (unsigned round = 0; round < 40; round++) {
		struct nic_rule r[NIC_RULES_MAX];
		unsigned n = round == 0 ? NIC_RULES_MAX : random_below(6);
		for (unsigned i = 0; i < n; i++)
			r[i] = some_rule();
		for (unsigned k = 0; k < 20; k++, packets++) {
			const struct flow f = some_flow();
			unsigned want = 0, i = 0;
			set_rules(NULL, 0);
			want = arrives_in(make(&f));
			while (i < n && !matches(&r[i], &f))
				i++;
			matched += i < n;
			set_rules(r, n);
			assert_int_equal(arrives_in(make(&f)), i < n ? r[i].pair : want);
		}
	}
	assert_in_range(matched, packets / 8, packets - packets / 8);
}

static void other_packets_match_nothing(void **s)
{
	(void)s;
	static const struct nic_rule all = {.pair = 5};
	up(PAIRS_USED, ALL, STANDARD);
	set_rules(&all, 1);
	ether(0x0806);
	assert_int_equal(arrives_in(60), 0);
	ether(0x86dd);
	memset(frame + 14, 0, 60);
	frame[14] = 0x60;
	frame[20] = 59; /* no next header */
	unsigned want = arrives_in(80);
	set_rules(NULL, 0);
	assert_int_equal(arrives_in(80), want);
}

/* Unchanged rules are not written again, so their packets go nowhere else meanwhile. */
static void unchanged_rules_stay(void **s)
{
	(void)s;
	struct nic_rule r[3] = {{.dst = 7, .dst_plen = 32, .pair = 1}, {.proto = 17, .dst_port = 53, .pair = 2},
	                        {.proto = 6, .pair = 3}};
	up(PAIRS_USED, ALL, STANDARD);
	set_rules(r, 3);
	unsigned from = port.traced;
	set_rules(r, 3);
	assert_int_equal(find_access(from, WRITES, TUPLES, TUPLES_END - TUPLES), -1);
	r[1].pair = 4;
	from = port.traced;
	set_rules(r, 3);
	assert_true(find_access(from, WRITES, L34TIMIR + 4, 4) >= 0);
	assert_int_equal(find_access(from, WRITES, FTQF, 4), -1);
	assert_int_equal(find_access(from, WRITES, FTQF + 8, 4), -1);
	const struct flow f = {1, 2, 3, 53, 17, false};
	assert_int_equal(arrives_in(make(&f)), 4);
}

/* A card that is started has none, whatever it had; and a pair that restarts gets its rules back. */
static void a_start_clears_them(void **s)
{
	(void)s;
	static const struct nic_rule all = {.pair = 5};
	const struct flow f = {1, 2, 3, 4, 17, false};
	up(PAIRS_USED, ALL, STANDARD);
	const unsigned want = arrives_in(make(&f));
	assert_int_not_equal(want, 5);
	set_rules(&all, 1);
	assert_int_equal(arrives_in(make(&f)), 5);
	set_rules(NULL, 0); /* as runtime/rules.c does for a core that restarts */
	assert_int_equal(pair_leave(5), E_OK);
	away = 1u << 5;
	assert_int_not_equal(arrives_in(make(&f)), 5);
	away = 0;
	assert_int_equal(pair_return(5), E_OK);
	set_rules(&all, 1);
	assert_int_equal(arrives_in(make(&f)), 5);
	rig_stop(NULL);
	up(PAIRS_USED, ALL, STANDARD);
	assert_int_equal(arrives_in(make(&f)), want);
}

static void what_the_card_cannot(void **s)
{
	(void)s;
	static const struct nic_rule bad[] = {{.src = 0x0a000000, .src_plen = 8}, {.dst = 0x0a000000, .dst_plen = 31},
	                                      {.dst_plen = 1}, {.proto = 1}, {.proto = 47}};
	up(PAIRS_USED, ALL, STANDARD);
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
		assert_non_null(ixgbe_ops.rules_refused(&port.nic, &bad[i]));
}

static void a_card_that_is_gone(void **s)
{
	(void)s;
	static const struct nic_rule all = {.pair = 5};
	up(PAIRS_USED, ALL, STANDARD);
	port.remove_at = rig.now + 1;
	assert_int_equal(ixgbe_ops.rules(&port.nic, &all, 1), E_DEVICE);
	assert_non_null(port.nic.error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_first_match_chooses, teardown),
		cmocka_unit_test_teardown(other_packets_match_nothing, teardown),
		cmocka_unit_test_teardown(unchanged_rules_stay, teardown),
		cmocka_unit_test_teardown(a_start_clears_them, teardown),
		cmocka_unit_test_teardown(what_the_card_cannot, teardown),
		cmocka_unit_test_teardown(a_card_that_is_gone, teardown),
	};
	int failed = cmocka_run_group_tests_name("strict", tests, strict, NULL);
	return failed + cmocka_run_group_tests_name("line rate", tests, line_rate, NULL);
}
