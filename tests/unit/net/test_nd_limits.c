/*
 * net/nd: what bounds strangers that fill the table of neighbours (RFC 6583; nd.h, invariant 4).
 * The table has four places. Neighbours 2 to 5 have them, STALE, and nobody sends to them. Strangers
 * have numbers from 0x100 on. By ND_PARAMS_DEFAULT 64 of them get a place at once, then one each 5 ms.
 */
#include "tests/unit/rig/nd_rig.h"

#define KNOWN 4
#define BURST 64
#define NOW S(10)
#define STEP 5000000u /* ns, for one more */

/* Ways for a stranger to tell of itself: each to us, with its MAC. */
static enum counter solicits(uint32_t n, const uint8_t *mac, uint64_t t)
{
	return input(0, t, .type = 135, .src = GLOBAL(n), .dst = US, .target = US, .source_mac = mac);
}

static enum counter advertises(uint32_t n, const uint8_t *mac, uint64_t t)
{
	return input(0, t, .type = 136, .src = GLOBAL(n), .dst = IP6_ALL_NODES, .target = GLOBAL(n),
	             .target_mac = mac, .flags = ND_NA_OVERRIDE);
}

/* What net/ra.h and net/slaac.h have from a router's message, or from one for routers. */
static enum counter is_told(uint32_t n, const uint8_t *mac, uint64_t t)
{
	nd_learn(&nd, 0, &GLOBAL(n), mac, false, t);
	return CNT_NONE;
}

typedef enum counter teller(uint32_t n, const uint8_t *mac, uint64_t t);
static teller *const tellers[] = {solicits, advertises, is_told};

static int find(uint32_t n) { return nd_neigh_find(&nd, 0, &GLOBAL(n)); }

static enum nd_state state_of(int i) { return nd_neigh_state(&nd, (unsigned)i); }

static int full_table(void **state)
{
	rig_set_up(state);
	for (uint32_t n = 2; n < 2 + KNOWN; n++) {
		solicits(n, mac_a, NOW);
		assert_int_equal(state_of(find(n)), ND_STALE);
	}
	assert_true(nd.table.free.head == NEIGH_NIL);
	assert_int_equal(counted[CNT_nd_limited], 0);
	memset(counted, 0, sizeof counted);
	hush();
	return 0;
}

/* `n` strangers from `first` on tell of themselves at once; returns how many became known. */
static unsigned strangers(teller *tell, uint32_t first, unsigned n, uint64_t t)
{
	unsigned learnt = 0;
	for (unsigned k = 0; k < n; k++) {
		tell(first + k, mac_b, t);
		learnt += find(first + k) >= 0;
		hush();
	}
	return learnt;
}

/* RFC 4861 7.2.3, RFC 9131 4.1, RFC 4861 6.2.6: who tells of itself SHOULD become known. In a full
 * table that costs another its place, so it happens at a rate. */
static void places_are_taken_at_a_rate(void **s)
{
	(void)s;
	for (unsigned k = 0; k < ARRAY_LEN(tellers); k++) {
		uint64_t t = NOW + k * S(1); /* the limit has recovered */
		counted[CNT_nd_limited] = 0;
		assert_int_equal(strangers(tellers[k], 0x100 + k * 0x1000, 200, t), BURST);
		assert_int_equal(counted[CNT_nd_limited], 200 - BURST);
		assert_int_equal(strangers(tellers[k], 0x300 + k * 0x1000, 10, t + STEP - 1), 0);
		assert_int_equal(strangers(tellers[k], 0x400 + k * 0x1000, 10, t + STEP), 1);
		assert_int_equal(strangers(tellers[k], 0x500 + k * 0x1000, 10, t + 4 * STEP), 3);
	}
}

/* The three ways are one limit: who has used it up by one gets no place by another. */
static void ways_share_the_limit(void **s)
{
	(void)s;
	assert_int_equal(strangers(solicits, 0x100, 20, NOW), 20);
	assert_int_equal(strangers(advertises, 0x200, 20, NOW), 20);
	assert_int_equal(strangers(is_told, 0x300, 100, NOW), BURST - 40);
	assert_int_equal(strangers(solicits, 0x400, 20, NOW), 0);
	assert_int_equal(strangers(advertises, 0x500, 20, NOW), 0);
}

/* RFC 4861 7.2.4: the answer does not wait for a place. An advertisement that is not noted has the
 * fate of one for nobody. */
static void all_are_answered(void **s)
{
	(void)s;
	strangers(solicits, 0x100, BURST, NOW);
	counted[CNT_nd_tx_advert] = 0;
	assert_int_equal(solicits(0x200, mac_b, NOW), CNT_delivered_nd);
	expect("tx0 na us>n200 to 0b us RSO mac 01; ");
	assert_int_equal(counted[CNT_nd_tx_advert], 1);
	assert_int_equal(advertises(0x201, mac_b, NOW), CNT_drop_nd_unknown);
	assert_int_equal(is_told(0x202, mac_b, NOW), CNT_NONE);
	expect("");
	assert_int_equal(counted[CNT_nd_limited], 3);
}

/* A neighbour that is known changes as RFC 4861 7.2.3 and 7.2.5 have it, however many strangers
 * come: that costs nobody a place. */
static void known_ones_are_not_limited(void **s)
{
	(void)s;
	int used = find(5);
	nd_confirm(&nd, (unsigned)used, NOW);
	nd_pin(&nd, (unsigned)find(4));
	strangers(solicits, 0x100, 300, NOW);
	unsigned limited = counted[CNT_nd_limited];
	assert_int_equal(find(5), used);
	assert_int_equal(state_of(used), ND_REACHABLE);
	for (unsigned k = 0; k < 200; k++) {
		const uint8_t *mac = k & 1 ? mac_a : mac_b;
		assert_int_equal(solicits(4, mac, NOW), CNT_delivered_nd);
		assert_int_equal(nd.table.neigh[find(4)].mac[5], mac[5]);
		assert_int_equal(advertises(5, mac, NOW), CNT_delivered_nd);
		assert_int_equal(nd.table.neigh[used].mac[5], mac[5]);
		hush();
	}
	assert_int_equal(counted[CNT_nd_limited], limited);
}

/* A place that is free costs nobody anything. */
static void free_places_are_not_limited(void **s)
{
	(void)s;
	strangers(solicits, 0x100, 100, NOW);
	for (unsigned k = 0; k < 200; k++) {
		uint32_t n = 0x1000 + k;
		struct nd_entry e;
		unsigned cursor = 0;
		assert_true(nd_next(&nd, &cursor, NOW, &e));
		assert_int_equal(nd_forget(&nd, 0, &e.addr), E_OK);
		assert_int_equal(strangers(tellers[k % ARRAY_LEN(tellers)], n, 1, NOW), 1);
	}
}

/* Who was asked may answer. */
static void answers_are_not_limited(void **s)
{
	(void)s;
	assert_true(nd_may_ask(&nd, NOW));
	int i = nd_neigh_get(&nd, 0, &GLOBAL(6));
	output(i, 1, NOW);
	nd_pin(&nd, (unsigned)i); /* strangers push it out no more */
	strangers(advertises, 0x100, 300, NOW);
	assert_int_equal(input(0, NOW, .type = 136, .src = GLOBAL(6), .dst = US, .target = GLOBAL(6),
	                       .target_mac = mac_a, .flags = ND_NA_SOLICITED), CNT_delivered_nd);
	assert_int_equal(state_of(i), ND_REACHABLE);
	hush();
	nd_unpin(&nd, (unsigned)i);
}

/* RFC 6583: who scans a subnet does not have us ask for all of it, and what is refused leaves the
 * table as it is. */
static void scan_is_limited_before_it_takes_a_place(void **s)
{
	(void)s;
	unsigned asked = 0;
	for (uint32_t n = 0x100; n < 0x100 + 1000; n++) {
		if (!nd_may_ask(&nd, NOW))
			continue;
		output(nd_neigh_get(&nd, 0, &GLOBAL(n)), 1, NOW);
		hush();
		asked++;
	}
	assert_int_equal(asked, BURST);
	assert_int_equal(counted[CNT_nd_tx_solicit], BURST);
	assert_int_equal(counted[CNT_nd_limited], 1000 - BURST);
	assert_false(nd_may_ask(&nd, NOW + STEP - 1));
	assert_true(nd_may_ask(&nd, NOW + STEP));
	assert_false(nd_may_ask(&nd, NOW + STEP));
	/* a route's next hop does not ask, and is asked for */
	int i = nd_neigh_get(&nd, 0, &GLOBAL(9));
	nd_pin(&nd, (unsigned)i);
	hush();
	output(i, 1, NOW);
	expect("tx0 ns us>g:9 n9 mac 01; ");
}

/* A scan keeps no host from becoming known by what it says, and strangers that tell of themselves
 * keep nobody from being asked for. Neither keeps back answers to probes for our address. */
static void limits_are_apart(void **s)
{
	(void)s;
	while (nd_may_ask(&nd, NOW))
		;
	assert_int_equal(strangers(solicits, 0x100, 100, NOW), BURST);
	assert_true(nd_may_ask(&nd, NOW + S(1)));
	strangers(solicits, 0x200, 300, NOW + S(2));
	assert_true(nd_may_ask(&nd, NOW + S(2)));
	counted[CNT_nd_tx_advert] = 0;
	assert_int_equal(input(0, NOW + S(2), .type = 135, .src = NET_ADDR_ANY,
	                       .dst = ip6_solicited_node(&US), .target = US), CNT_delivered_nd);
	assert_int_equal(counted[CNT_nd_tx_advert], 1);
	hush();
}

/* What the configuration says, and what a program before us knew, has no limit. */
static void own_entries_are_not_limited(void **s)
{
	(void)s;
	strangers(solicits, 0x100, 300, NOW);
	while (nd_may_ask(&nd, NOW))
		;
	assert_true(nd_set_static(&nd, 0, &GLOBAL(0x500), mac_a) >= 0);
	assert_true(nd_restore(&nd, 0, &GLOBAL(0x501), mac_a, NOW) >= 0);
	assert_true(nd_neigh_get(&nd, 0, &GLOBAL(0x502)) >= 0);
	hush();
}

/* As an application that is no router: RFC 9131 is not for it, the rest is. */
static void hosts_are_limited_too(void **s)
{
	(void)s;
	nd.params.router = false;
	assert_int_equal(strangers(advertises, 0x100, 10, NOW), 0);
	assert_int_equal(counted[CNT_nd_limited], 0);
	assert_int_equal(strangers(solicits, 0x200, 200, NOW), BURST);
	nd.params.router = true;
}

/* Each stranger whose address cannot be on the link takes nothing from the limit. */
static void strangers_from_elsewhere_take_nothing(void **s)
{
	(void)s;
	for (unsigned n = 0; n < 500; n++) {
		const struct net_addr off = IP6(0x20010db9, 0, 0, n + 1);
		nd_learn(&nd, 0, &off, mac_b, false, NOW);
		input(0, NOW, .type = 135, .src = off, .dst = US, .target = US, .source_mac = mac_b);
		hush();
	}
	assert_int_equal(counted[CNT_nd_limited], 0);
	assert_int_equal(strangers(solicits, 0x100, 200, NOW), BURST);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, full_table, rig_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(places_are_taken_at_a_rate),
		TEST(ways_share_the_limit),
		TEST(all_are_answered),
		TEST(known_ones_are_not_limited),
		TEST(free_places_are_not_limited),
		TEST(answers_are_not_limited),
		TEST(scan_is_limited_before_it_takes_a_place),
		TEST(limits_are_apart),
		TEST(own_entries_are_not_limited),
		TEST(hosts_are_limited_too),
		TEST(strangers_from_elsewhere_take_nothing),
	};
	return cmocka_run_group_tests_name("nd_limits", tests, NULL, NULL);
}
