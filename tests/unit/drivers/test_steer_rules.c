/*
 * Steering by rule (nic_ops.rules), of each card that can, with the model of the card: every packet arrives in the pair
 * that a slow reading of the rules names, or where it would arrive without rules.
 */
#include "tests/unit/rig/model_port.h"
#include "tests/unit/rig/packets.h"

enum { PAIRS_USED = 8, L4_AT = 34, PAYLOAD = 30, BYTES = L4_AT + 20 + PAYLOAD };

#define FEATURES (NIC_RX_CSUM | NIC_TX_CSUM | NIC_LINK | NIC_RSS)

static uint8_t frame[256];

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

static uint8_t some_length(void)
{
	static const uint8_t lengths[] = {0, 0, 32, 32, 8, 31, 1};
	return lengths[random_below(ARRAY_LEN(lengths))];
}

static uint32_t mask_of(uint8_t plen) { return plen ? UINT32_MAX << (32 - plen) : 0; }

static struct nic_rule any_rule(void)
{
	static const uint8_t protos[] = {0, 6, 17, 132};
	struct nic_rule r = {.proto = protos[random_below(4)], .pair = (uint8_t)random_below(PAIRS_USED)};
	r.src_plen = some_length();
	r.dst_plen = some_length();
	r.src = some_address() & mask_of(r.src_plen);
	r.dst = some_address() & mask_of(r.dst_plen);
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

static bool matches(const struct nic_rule *r, const struct flow *f)
{
	const bool l4 = !f->fragment;
	return r->src == (f->src & mask_of(r->src_plen)) && r->dst == (f->dst & mask_of(r->dst_plen)) &&
	       (!r->proto || (l4 && r->proto == f->proto)) && (!r->src_port || (l4 && r->src_port == f->sport)) &&
	       (!r->dst_port || (l4 && r->dst_port == f->dport));
}

static void ether(unsigned type)
{
	memset(frame, 0, sizeof frame);
	memcpy(frame, port.nic.mac, 6);
	frame[6] = 2;
	put16(frame + 12, type);
}

static unsigned make(const struct flow *f)
{
	ether(0x0800);
	put16(frame + L4_AT, f->sport);
	put16(frame + L4_AT + 2, f->dport);
	if (f->proto == 6)
		frame[L4_AT + 12] = 0x50;
	else
		put16(frame + L4_AT + 4, 20 + PAYLOAD);
	make_ip(frame + 14, f->src, f->dst, f->proto, NULL, 0, 20 + PAYLOAD);
	if (f->fragment)
		frame[20] |= 0x20; /* more fragments */
	slow_ip_csum(frame + 14);
	return BYTES;
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

static void the_first_match_chooses(void **s)
{
	(void)s;
	seed_random("steer_rules");
	up(PAIRS_USED, FEATURES, STANDARD);
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
	up(PAIRS_USED, FEATURES, STANDARD);
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

/* A card that is started has none, whatever it had; and a pair that restarts gets its rules back. */
static void a_start_clears_them(void **s)
{
	(void)s;
	static const struct nic_rule all = {.pair = 5};
	const struct flow f = {1, 2, 3, 4, 17, false};
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
	static const struct nic_rule all = {.pair = 0};
	const struct flow f = {1, 2, 3, 4, 17, false};
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
	static const struct nic_rule all = {.pair = 5};
	const struct flow f = {1, 2, 3, 4, 17, false};
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
	static const struct nic_rule all = {.pair = 5};
	up(PAIRS_USED, FEATURES, STANDARD);
	port.remove_at = rig.now + 1;
	assert_int_equal(card.driver->rules(&port.nic, &all, 1), E_DEVICE);
	assert_non_null(port.nic.error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_first_match_chooses, teardown),
		cmocka_unit_test_teardown(other_packets_match_nothing, teardown),
		cmocka_unit_test_teardown(a_start_clears_them, teardown),
		cmocka_unit_test_teardown(the_only_pair_restarts, teardown),
		cmocka_unit_test_teardown(a_parked_card, teardown),
		cmocka_unit_test_teardown(a_card_that_is_gone, teardown),
	};
	int failed = cmocka_run_group_tests_name("strict", tests, strict, NULL);
	return failed + cmocka_run_group_tests_name("line rate", tests, line_rate, NULL);
}
