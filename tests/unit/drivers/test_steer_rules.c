/*
 * Steering by rule (nic_ops.rules), of each card that can, with the model of the card: every packet arrives in the pair
 * that a slow reading of the rules names, or where it would arrive without rules.
 */
#include "tests/unit/rig/model_port.h"
#include "tests/unit/rig/packets.h"
#include "tests/unit/rig/spread.h"

enum { PAIRS_USED = 8, L4_BYTES = 50, VLAN = 7 };

#define FEATURES (NIC_RX_CSUM | NIC_TX_CSUM | NIC_LINK | NIC_RSS)
#define ONE(pair) (1ull << (pair))
#define ALL_PAIRS (ONE(PAIRS_USED) - 1)

static uint8_t frame[256];

/* A packet, as it is made and as the oracle sees it. */
struct flow {
	uint32_t src[4], dst[4]; /* IPv4: word 0 */
	uint16_t sport, dport;
	uint8_t proto;
	bool fragment, six;
	uint16_t vlan; /* 0: no tag */
};

/* Few values, so that rules and packets meet often. */
static void some_address(bool six, uint32_t a[4])
{
	a[0] = 0xc0000200 + random_below(3) + (random_below(2) << 24);
	for (unsigned i = 1; i < 4; i++)
		a[i] = six ? random_below(2) << (31 * random_below(2)) : 0;
}

static uint16_t some_port(void) { return (uint16_t)(1 + random_below(3) * 0x101); }
static uint16_t some_vlan(void) { return (uint16_t)(random_below(2) * (VLAN + random_below(2))); }

static struct flow some_flow(void)
{
	static const uint8_t protos[] = {6, 17, 17, 47};
	struct flow f = {.sport = some_port(), .dport = some_port(), .proto = protos[random_below(4)],
	                 .fragment = random_below(8) == 0, .six = random_below(2), .vlan = some_vlan()};
	some_address(f.six, f.src);
	some_address(f.six, f.dst);
	return f;
}

static void some_prefix(bool six, uint32_t prefix[4], uint8_t *plen)
{
	static const uint8_t lengths[] = {0, 0, 0, 32, 32, 8, 31, 1}, lengths6[] = {0, 0, 0, 128, 128, 33, 64, 127};
	*plen = six ? lengths6[random_below(8)] : lengths[random_below(8)];
	some_address(six, prefix);
	for (unsigned i = 0; i < 128; i++) /* bit by bit, unlike nic_rule_mask */
		if (i >= *plen)
			prefix[i / 32] &= ~(0x80000000u >> i % 32);
}

/* One of a few groups, or a pair. */
static uint64_t some_pairs(void)
{
	static const uint64_t groups[NIC_RULE_GROUPS_MAX] = {0x03, 0x0c, 0xf0, 0xfe, 0x55, 0x81, 0x1c, 0xff};
	return random_below(2) ? ONE(random_below(PAIRS_USED)) : groups[random_below(NIC_RULE_GROUPS_MAX)];
}

static struct nic_rule any_rule(void)
{
	static const uint8_t protos[] = {0, 6, 17, 132};
	static const uint8_t families[] = {NIC_RULE_IP4, NIC_RULE_IP4, NIC_RULE_IP6, NIC_RULE_ALL};
	struct nic_rule r = {.pairs = some_pairs(), .family = families[random_below(4)], .vlan = some_vlan()};
	if (r.family == NIC_RULE_ALL) {
		r.vlan = VLAN;
		return r;
	}
	r.proto = protos[random_below(4)];
	some_prefix(r.family == NIC_RULE_IP6, r.src, &r.src_plen);
	some_prefix(r.family == NIC_RULE_IP6, r.dst, &r.dst_plen);
	r.src_port = r.proto && random_below(3) == 0 ? some_port() : 0;
	r.dst_port = r.proto && random_below(3) == 0 ? some_port() : 0;
	return r;
}

/* One that the card can have. */
static struct nic_rule some_rule(void)
{
	struct nic_rule r;
	do
		r = any_rule();
	while (card.driver->rules_refused(&port.nic, &r));
	return r;
}

static bool within(const uint32_t address[4], const uint32_t prefix[4], unsigned plen)
{
	for (unsigned i = 0; i < plen; i++)
		if ((address[i / 32] ^ prefix[i / 32]) << i % 32 >> 31)
			return false;
	return true;
}

static bool matches(const struct nic_rule *r, const struct flow *f)
{
	const bool l4 = !f->fragment;
	if (r->vlan && r->vlan != f->vlan)
		return false;
	if (r->family == NIC_RULE_ALL)
		return true;
	return (r->family == NIC_RULE_IP6) == f->six && within(f->src, r->src, r->src_plen) &&
	       within(f->dst, r->dst, r->dst_plen) && (!r->proto || (l4 && r->proto == f->proto)) &&
	       (!r->src_port || (l4 && r->src_port == f->sport)) && (!r->dst_port || (l4 && r->dst_port == f->dport));
}

static uint8_t *ether(unsigned type, uint16_t vlan)
{
	uint8_t *at = frame + 12;
	memset(frame, 0, sizeof frame);
	memcpy(frame, port.nic.mac, 6);
	frame[6] = 2;
	if (vlan) {
		put16(at, 0x8100);
		put16(at + 2, 0x6000u | vlan); /* with a priority */
		at += 4;
	}
	put16(at, type);
	return at + 2;
}

static uint8_t *make4(const struct flow *f)
{
	uint8_t *ip = ether(0x0800, f->vlan);
	make_ip(ip, f->src[0], f->dst[0], f->proto, NULL, 0, L4_BYTES);
	if (f->fragment)
		ip[6] |= 0x20; /* more fragments */
	slow_ip_csum(ip);
	return ip + 20;
}

static uint8_t *make6(const struct flow *f)
{
	uint8_t *ip = ether(0x86dd, f->vlan);
	ip[0] = 0x60;
	put16(ip + 4, L4_BYTES + 8 * f->fragment);
	ip[6] = f->fragment ? 44 : f->proto;
	ip[7] = 64;
	for (unsigned i = 0; i < 4; i++) {
		put32(ip + 8 + 4 * i, f->src[i]);
		put32(ip + 24 + 4 * i, f->dst[i]);
	}
	ip[40] = f->proto; /* of the fragment header */
	ip[43] = 1;
	return ip + 40 + 8 * f->fragment;
}

static unsigned make(const struct flow *f)
{
	uint8_t *l4 = f->six ? make6(f) : make4(f);
	put16(l4, f->sport);
	put16(l4 + 2, f->dport);
	if (f->proto == 6)
		l4[12] = 0x50;
	else
		put16(l4 + 4, L4_BYTES);
	return (unsigned)(l4 + L4_BYTES - frame);
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
		assert_null(card.driver->rules_refused(&port.nic, &r[i]));
	assert_int_equal(card.driver->rules(&port.nic, r, n), E_OK);
}

static void spread_over(uint64_t pairs)
{
	assert_int_equal(rig_spread(card.driver, &port.nic, pairs), E_OK);
}

/* Several pairs share the packets of a rule as they would share all packets without rules. */
static void the_first_match_chooses(void **s)
{
	(void)s;
	seed_random("steer_rules");
	up(PAIRS_USED, FEATURES, STANDARD);
	unsigned matched = 0, packets = 0;
	for (unsigned round = 0; round < 60; round++) {
		struct nic_rule r[NIC_RULES_MAX];
		unsigned n = round == 0 ? NIC_RULES_MAX : random_below(6);
		for (unsigned i = 0; i < n; i++)
			r[i] = some_rule();
		for (unsigned k = 0; k < 20; k++, packets++) {
			const struct flow f = some_flow();
			unsigned i = 0;
			while (i < n && !matches(&r[i], &f))
				i++;
			matched += i < n;
			set_rules(NULL, 0);
			spread_over(i < n ? r[i].pairs : ALL_PAIRS);
			const unsigned want = arrives_in(make(&f));
			spread_over(ALL_PAIRS);
			set_rules(r, n);
			assert_int_equal(arrives_in(make(&f)), want);
		}
	}
	/* enough of either kind: of 400 seeds, 130 to 300 of 1,200 packets match */
	assert_in_range(matched, packets / 20, packets - packets / 20);
}

static bool can(const struct nic_rule *r)
{
	return card.driver->rules_refused(&port.nic, r) == NULL;
}

static void a_group_shares(void **s)
{
	static const struct nic_rule group = {.family = NIC_RULE_IP4, .pairs = 0x34};
	struct flow f = {.src = {1}, .dst = {2}, .sport = 3, .proto = 17};
	unsigned arrived[PAIRS_USED] = {0};
	up(PAIRS_USED, FEATURES, STANDARD);
	if (!can(&group)) {
		teardown(s);
		skip();
	}
	set_rules(&group, 1);
	for (f.dport = 1; f.dport <= 60; f.dport++)
		arrived[arrives_in(make(&f))]++;
	for (unsigned q = 0; q < PAIRS_USED; q++)
		assert_in_range(arrived[q], group.pairs >> q & 1 ? 5 : 0, group.pairs >> q & 1 ? 60 : 0);
}

static void other_packets_match_nothing(void **s)
{
	(void)s;
	static const struct nic_rule all = {.family = NIC_RULE_IP4, .pairs = ONE(5)};
	up(PAIRS_USED, FEATURES, STANDARD);
	set_rules(&all, 1);
	ether(0x0806, 0);
	assert_int_equal(arrives_in(60), 0);
	uint8_t *ip = ether(0x86dd, 0);
	ip[0] = 0x60;
	ip[6] = 59; /* no next header */
	unsigned want = arrives_in(80);
	set_rules(NULL, 0);
	assert_int_equal(arrives_in(80), want);
}

/* A VLAN is steered whatever its frames carry. */
static void all_of_a_vlan(void **s)
{
	static const struct nic_rule all = {.vlan = VLAN, .pairs = ONE(5)};
	up(PAIRS_USED, FEATURES, STANDARD);
	if (!can(&all)) {
		teardown(s);
		skip();
	}
	set_rules(&all, 1);
	ether(0x0806, VLAN);
	assert_int_equal(arrives_in(64), 5);
	ether(0x0806, VLAN + 1);
	assert_int_equal(arrives_in(64), 0);
	ether(0x0806, 0);
	assert_int_equal(arrives_in(60), 0);
}

/* A card that is started has none, whatever it had; and a pair that restarts gets its rules back. */
static void a_start_clears_them(void **s)
{
	(void)s;
	static const struct nic_rule all = {.family = NIC_RULE_IP4, .pairs = ONE(5)};
	const struct flow f = {.src = {1}, .dst = {2}, .sport = 3, .dport = 4, .proto = 17};
	up(PAIRS_USED, FEATURES, STANDARD);
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
	up(PAIRS_USED, FEATURES, STANDARD);
	assert_int_equal(arrives_in(make(&f)), want);
}

/* The only pair restarts: nothing else can take its packets, and the rules must not hold its queue. */
static void the_only_pair_restarts(void **s)
{
	(void)s;
	static const struct nic_rule all = {.family = NIC_RULE_IP4, .pairs = ONE(0)};
	const struct flow f = {.src = {1}, .dst = {2}, .sport = 3, .dport = 4, .proto = 17};
	up(1, FEATURES, STANDARD);
	set_rules(&all, 1);
	assert_int_equal(arrives_in(make(&f)), 0);
	assert_int_equal(pair_leave(0), E_OK);
	assert_int_equal(pair_return(0), E_OK);
	set_rules(&all, 1);
	assert_int_equal(arrives_in(make(&f)), 0);
}

/* Queues are rebuilt while the card keeps its link. */
static void a_parked_card(void **s)
{
	static const struct nic_rule all = {.family = NIC_RULE_IP4, .pairs = ONE(5)};
	const struct flow f = {.src = {1}, .dst = {2}, .sport = 3, .dport = 4, .proto = 17};
	up(PAIRS_USED, FEATURES, STANDARD);
	if (!card.driver->park) {
		teardown(s);
		skip();
	}
	const unsigned want = arrives_in(make(&f));
	set_rules(&all, 1);
	assert_int_equal(card.driver->park(&port.nic), E_OK);
	assert_int_equal(port_start(PAIRS_USED, FEATURES, STANDARD, 1000), E_OK);
	port_attach();
	assert_true(link_within(1000).up);
	assert_int_equal(arrives_in(make(&f)), want);
	set_rules(&all, 1);
	assert_int_equal(arrives_in(make(&f)), 5);
}

static void a_card_that_is_gone(void **s)
{
	(void)s;
	static const struct nic_rule all = {.family = NIC_RULE_IP4, .pairs = ONE(5)};
	up(PAIRS_USED, FEATURES, STANDARD);
	port.remove_at = rig.now + 1;
	assert_int_equal(card.driver->rules(&port.nic, &all, 1), E_DEVICE);
	assert_non_null(port.nic.error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_first_match_chooses, teardown),
		cmocka_unit_test_teardown(a_group_shares, teardown),
		cmocka_unit_test_teardown(other_packets_match_nothing, teardown),
		cmocka_unit_test_teardown(all_of_a_vlan, teardown),
		cmocka_unit_test_teardown(a_start_clears_them, teardown),
		cmocka_unit_test_teardown(the_only_pair_restarts, teardown),
		cmocka_unit_test_teardown(a_parked_card, teardown),
		cmocka_unit_test_teardown(a_card_that_is_gone, teardown),
	};
	int failed = cmocka_run_group_tests_name("strict", tests, strict, NULL);
	return failed + cmocka_run_group_tests_name("line rate", tests, line_rate, NULL);
}
