/*
 * net/nd as scripts, by tests/unit/rig/nd_rig.h: the states of a neighbour (RFC 4861 7.3 and appendix
 * C), of our own addresses (RFC 4862 5.4, RFC 7527), what is refused (7.1), and bounds (RFC 6583).
 */
#include "tests/unit/rig/nd_rig.h"

#define R ND_NA_ROUTER
#define SOL ND_NA_SOLICITED
#define OVR ND_NA_OVERRIDE

/* Fates of a solicitation to us and an advertisement to us, as sent by a neighbour n. */
#define NS(n, mac, t) \
	input(0, t, .type = 135, .src = GLOBAL(n), .dst = US, .target = US, .source_mac = mac)
#define NA(n, mac, flag, t) \
	input(0, t, .type = 136, .src = GLOBAL(n), .dst = US, .target = GLOBAL(n), .target_mac = mac, \
	      .flags = flag)

static int get(uint32_t n) { return nd_neigh_get(&nd, 0, &GLOBAL(n)); }

static enum nd_state state_of(int i) { return nd_neigh_state(&nd, (unsigned)i); }

static uint64_t deadline_of(int i) { return nd.table.neigh[i].deadline; }

static int incomplete(uint32_t n, uint64_t t)
{
	int i = get(n);
	output(i, 1, t);
	assert_int_equal(state_of(i), ND_INCOMPLETE);
	hush();
	return i;
}

/* Makes a neighbour REACHABLE with mac_a since t, and last used before. */
static int reachable(uint32_t n, uint64_t t)
{
	int i = incomplete(n, t);
	assert_int_equal(NA(n, mac_a, SOL | OVR, t), CNT_delivered_nd);
	assert_int_equal(state_of(i), ND_REACHABLE);
	hush();
	return i;
}

static int stale(uint32_t n, uint64_t t)
{
	assert_int_equal(NS(n, mac_a, t), CNT_delivered_nd);
	int i = nd_neigh_find(&nd, 0, &GLOBAL(n));
	assert_int_equal(state_of(i), ND_STALE);
	hush();
	return i;
}

static int delay(uint32_t n, uint64_t t)
{
	int i = stale(n, t);
	output(i, 1, t);
	assert_int_equal(state_of(i), ND_DELAY);
	hush();
	return i;
}

static int probe(uint32_t n, uint64_t t)
{
	int i = delay(n, t - S(5));
	nd_tick(&nd, t);
	assert_int_equal(state_of(i), ND_PROBE);
	hush();
	return i;
}

/* --- resolving --- */

static void resolves_and_releases_in_order(void **s)
{
	(void)s;
	int i = get(5);
	assert_int_equal(get(5), i);
	assert_int_equal(nd_neigh_find(&nd, 0, &GLOBAL(5)), i);
	assert_int_equal(nd_neigh_find(&nd, 1, &GLOBAL(5)), E_NOENT);
	assert_int_equal(state_of(i), ND_UNRESOLVED);
	expect("");
	output(i, 1, S(10)); /* 7.2.2: to its solicited-node group, with our MAC */
	expect("tx0 ns us>g:5 n5 mac 01; ");
	assert_int_equal(state_of(i), ND_INCOMPLETE);
	output(i, 2, S(10.1));
	expect("");
	assert_int_equal(nd_pending(&nd), 2);
	assert_int_equal(NA(5, mac_a, SOL | OVR | R, S(10.2)), CNT_delivered_nd);
	expect("up 0 0a; release 0 #1; release 0 #2; ");
	assert_int_equal(state_of(i), ND_REACHABLE);
	assert_int_equal(nd_neigh_role(&nd, 0), ND_ROLE_ROUTER);
	output(i, 3, S(11));
	expect("release 0 #3; ");
}

static void link_local_is_asked_for_from_link_local(void **s)
{
	(void)s;
	int i = nd_neigh_get(&nd, 1, &LINK(7));
	output(i, 1, S(10));
	expect("tx1 ns ll1>g:7 l7 mac 02; ");
	int k = nd_neigh_get(&nd, 0, &IP6(0x20010db9, 0, 0, 9)); /* off every subnet */
	output(k, 1, S(10));
	expect("tx0 ns us>g:9 20010db9:0:0:9 mac 01; ");
}

static void gives_up_then_holds_down(void **s)
{
	(void)s;
	int i = get(5);
	output(i, 1, S(10));
	assert_true(nd_deadline(&nd) == S(11)); /* RetransTimer */
	nd_tick(&nd, S(10.9));
	expect("tx0 ns us>g:5 n5 mac 01; ");
	nd_tick(&nd, S(11));
	nd_tick(&nd, S(12)); /* MAX_MULTICAST_SOLICIT */
	expect("tx0 ns us>g:5 n5 mac 01; tx0 ns us>g:5 n5 mac 01; ");
	output(i, 2, S(12.5));
	assert_true(nd_tick(&nd, S(13)) == S(18));
	expect("unreachable 0 #1; unreachable 0 #2; ");
	assert_int_equal(state_of(i), ND_FAILED);
	output(i, 3, S(14));
	expect("unreachable 0 #3; ");
	assert_true(nd_tick(&nd, S(18)) == UINT64_MAX);
	expect("removed 0; ");
	output(0, 4, S(19)); /* a stale index does no harm */
	expect("unreachable 0 #4; ");
}

static void pinned_survives_failure(void **s)
{
	(void)s;
	int i = get(5);
	nd_pin(&nd, (unsigned)i);
	output(i, 1, S(10));
	run_to(S(13));
	hush();
	assert_true(nd_tick(&nd, S(18)) == UINT64_MAX);
	expect("");
	assert_int_equal(state_of(i), ND_UNRESOLVED);
	output(i, 2, S(20));
	expect("tx0 ns us>g:5 n5 mac 01; ");
	nd_unpin(&nd, (unsigned)i);
	assert_int_equal(state_of(i), ND_INCOMPLETE);
	int k = get(6);
	nd_pin(&nd, (unsigned)k);
	nd_pin(&nd, (unsigned)k);
	nd_unpin(&nd, (unsigned)k);
	expect("");
	nd_unpin(&nd, (unsigned)k);
	expect("removed 1; ");
}

/* --- NUD: RFC 4861 7.3, appendix C --- */

static void unsolicited_answer_resolves_without_proof(void **s)
{
	(void)s;
	int i = incomplete(5, S(10));
	assert_int_equal(NA(5, NULL, SOL | OVR, S(10.1)), CNT_drop_nd_unknown); /* 7.2.5: no MAC */
	assert_int_equal(state_of(i), ND_INCOMPLETE);
	assert_int_equal(NA(5, mac_a, 0, S(10.2)), CNT_delivered_nd); /* O has no effect here */
	expect("up 0 0a; release 0 #1; ");
	assert_int_equal(state_of(i), ND_DELAY);
	assert_true(deadline_of(i) == S(15.2));
}

static void reachable_time_is_random_around_its_base(void **s)
{
	(void)s;
	uint64_t least = UINT64_MAX, most = 0;
	for (unsigned n = 0; n < 200; n++) {
		uint64_t t = S(10 + 100 * n);
		int i = reachable(5, t);
		uint64_t time = deadline_of(i) - t;
		least = time < least ? time : least;
		most = time > most ? time : most;
		assert_int_equal(nd_forget(&nd, 0, &GLOBAL(5)), 0);
		hush();
	}
	assert_true(least >= S(15) && least < S(17)); /* 6.3.2: MIN_ and MAX_RANDOM_FACTOR */
	assert_true(most <= S(45) && most > S(43));
}

static void unused_becomes_stale_and_is_forgotten(void **s)
{
	(void)s;
	int i = reachable(5, S(10));
	uint64_t end = deadline_of(i);
	nd_tick(&nd, end - 1);
	expect("");
	nd_tick(&nd, end);
	expect("down 0; ");
	assert_int_equal(state_of(i), ND_STALE);
	assert_true(nd_deadline(&nd) == end + S(600));
	nd_tick(&nd, end + S(600));
	expect("removed 0; ");
}

static void stale_pinned_stays(void **s)
{
	(void)s;
	int i = reachable(5, S(10));
	nd_pin(&nd, (unsigned)i);
	run_to(S(10000));
	expect("down 0; ");
	assert_int_equal(state_of(i), ND_STALE);
	output(i, 1, S(10000));
	expect("up 0 0a; release 0 #1; ");
}

static void resolved_without_a_frame(void **s)
{
	(void)s;
	int i = get(5);
	nd_resolve(&nd, (unsigned)i, S(10));
	assert_int_equal(state_of(i), ND_INCOMPLETE);
	expect("tx0 ns us>g:5 n5 mac 01; ");
	nd_resolve(&nd, (unsigned)i, S(10.1));
	expect("");
	assert_int_equal(NA(5, mac_a, SOL | OVR, S(10.2)), CNT_delivered_nd);
	expect("up 0 0a; ");
	nd_resolve(&nd, (unsigned)i, S(10.3));
	expect("");
	i = stale(6, S(11));
	nd_resolve(&nd, (unsigned)i, S(12));
	expect("up 1 0a; ");
	assert_int_equal(state_of(i), ND_DELAY);
}

static void first_packet_to_a_stale_one_begins_delay(void **s)
{
	(void)s;
	int i = stale(5, S(10));
	output(i, 1, S(20));
	expect("up 0 0a; release 0 #1; "); /* 7.3.3: sent at once */
	output(i, 2, S(21));
	expect("release 0 #2; ");
	assert_int_equal(state_of(i), ND_DELAY);
	assert_true(nd_deadline(&nd) == S(25)); /* DELAY_FIRST_PROBE_TIME */
	nd_tick(&nd, S(25));
	expect("tx0 ns us>n5 to 0a n5 mac 01; "); /* unicast */
	assert_int_equal(state_of(i), ND_PROBE);
	output(i, 3, S(25.5));
	expect("release 0 #3; ");
	nd_tick(&nd, S(26));
	expect("tx0 ns us>n5 to 0a n5 mac 01; ");
	assert_int_equal(NA(5, mac_a, SOL, S(26.1)), CNT_delivered_nd);
	expect("");
	assert_int_equal(state_of(i), ND_REACHABLE);
}

static void used_one_never_goes_down(void **s)
{
	(void)s;
	int i = reachable(5, S(10));
	uint64_t end = deadline_of(i);
	nd_used(&nd, (unsigned)i);
	nd_tick(&nd, end);
	expect("");
	assert_int_equal(state_of(i), ND_DELAY);
	nd_tick(&nd, end + S(5));
	expect("tx0 ns us>n5 to 0a n5 mac 01; ");
	assert_int_equal(NA(5, mac_a, SOL, end + S(6)), CNT_delivered_nd);
	expect("");
	/* Use before the confirmation is no reason to probe again. */
	nd_tick(&nd, deadline_of(i));
	expect("down 0; ");
}

static void upper_layer_confirms(void **s)
{
	(void)s;
	int i = delay(5, S(10));
	nd_confirm(&nd, (unsigned)i, S(12)); /* 7.3.1 */
	expect("");
	assert_int_equal(state_of(i), ND_REACHABLE);
	int k = get(6);
	nd_confirm(&nd, (unsigned)k, S(12));
	assert_int_equal(state_of(k), ND_UNRESOLVED);
	int l = stale(7, S(12));
	nd_confirm(&nd, (unsigned)l, S(13));
	expect("up 2 0a; ");
}

static void probe_unanswered_asks_its_group(void **s)
{
	(void)s;
	int i = probe(5, S(20));
	nd_tick(&nd, S(21));
	nd_tick(&nd, S(22));
	expect("tx0 ns us>n5 to 0a n5 mac 01; tx0 ns us>n5 to 0a n5 mac 01; ");
	nd_tick(&nd, S(23)); /* MAX_UNICAST_SOLICIT */
	expect("down 0; tx0 ns us>g:5 n5 mac 01; ");
	assert_int_equal(state_of(i), ND_INCOMPLETE);
	output(i, 2, S(23.1));
	assert_int_equal(NA(5, mac_b, SOL | OVR, S(23.5)), CNT_delivered_nd);
	expect("up 0 0b; release 0 #2; ");
}

/* Each state that has a MAC against each kind of advertisement: RFC 4861 appendix C. */
static void advertisements_in_every_state(void **s)
{
	(void)s;
	static const struct {
		const uint8_t *mac; /* in the advertisement */
		uint8_t flags;
		int next;           /* -1: unchanged */
		uint8_t known;      /* MAC known afterwards */
		bool only_reachable; /* else unchanged */
	} rows[] = {
		{mac_a, SOL, ND_REACHABLE, 0x0a, false},
		{mac_a, SOL | OVR, ND_REACHABLE, 0x0a, false},
		{NULL, SOL, ND_REACHABLE, 0x0a, false},
		{NULL, SOL | OVR, ND_REACHABLE, 0x0a, false},
		{mac_a, 0, -1, 0x0a, false},
		{mac_a, OVR, -1, 0x0a, false},
		{NULL, 0, -1, 0x0a, false},
		{mac_b, 0, ND_STALE, 0x0a, true},
		{mac_b, SOL, ND_STALE, 0x0a, true},
		{mac_b, OVR, ND_STALE, 0x0b, false},
		{mac_b, SOL | OVR, ND_REACHABLE, 0x0b, false},
	};
	static int (*const make[])(uint32_t, uint64_t) = {reachable, stale, delay, probe};
	for (unsigned m = 0; m < ARRAY_LEN(make); m++)
		for (unsigned k = 0; k < ARRAY_LEN(rows); k++) {
			uint64_t t = S(100 * (1 + m * 20 + k));
			int i = make[m](5, t);
			enum nd_state was = state_of(i), next = was;
			if (rows[k].next >= 0 && (!rows[k].only_reachable || was == ND_REACHABLE))
				next = (enum nd_state)rows[k].next;
			assert_int_equal(NA(5, rows[k].mac, rows[k].flags, t), CNT_delivered_nd);
			assert_int_equal(state_of(i), next);
			assert_int_equal(nd.table.neigh[i].mac[5], rows[k].known);
			assert_int_equal(rig_up[i], next != ND_STALE);
			assert_int_equal(nd_forget(&nd, 0, &GLOBAL(5)), 0);
			hush();
		}
}

/* 7.2.3: what a solicitation reveals about its sender. */
static void solicitations_in_every_state(void **s)
{
	(void)s;
	static int (*const make[])(uint32_t, uint64_t) = {reachable, stale, delay, probe};
	for (unsigned m = 0; m < ARRAY_LEN(make); m++) {
		uint64_t t = S(100 * (1 + m));
		int i = make[m](5, t);
		enum nd_state was = state_of(i);
		assert_int_equal(NS(5, mac_a, t), CNT_delivered_nd); /* no change */
		expect("tx0 na us>n5 to 0a us RSO mac 01; ");
		assert_int_equal(state_of(i), was);
		assert_int_equal(NS(5, mac_b, t), CNT_delivered_nd);
		assert_int_equal(state_of(i), ND_STALE);
		assert_int_equal(nd.table.neigh[i].mac[5], 0x0b);
		assert_int_equal(nd_forget(&nd, 0, &GLOBAL(5)), 0);
		hush();
	}
	int i = incomplete(5, S(1000));
	assert_int_equal(NS(5, mac_a, S(1000)), CNT_delivered_nd);
	expect("up 0 0a; release 0 #1; tx0 na us>n5 to 0a us RSO mac 01; ");
	assert_int_equal(state_of(i), ND_DELAY);
}

static void heard_while_failed(void **s)
{
	(void)s;
	int i = incomplete(5, S(10));
	run_to(S(13));
	assert_int_equal(state_of(i), ND_FAILED);
	hush();
	assert_int_equal(NA(5, mac_a, SOL | OVR, S(14)), CNT_delivered_nd); /* late: proves nothing */
	assert_int_equal(state_of(i), ND_STALE);
	output(i, 2, S(14));
	expect("up 0 0a; release 0 #2; ");
}

static void router_that_becomes_a_host(void **s)
{
	(void)s;
	int i = reachable(5, S(10));
	assert_int_equal(nd_neigh_role(&nd, (unsigned)i), ND_ROLE_HOST);
	nd_learn(&nd, 0, &GLOBAL(5), mac_a, true, S(11));
	assert_int_equal(nd_neigh_role(&nd, (unsigned)i), ND_ROLE_ROUTER);
	uint32_t changes = nd_router_changes(&nd);
	assert_int_equal(NA(5, NULL, SOL, S(11)), CNT_delivered_nd); /* 7.2.5: R is clear */
	assert_int_equal(nd_neigh_role(&nd, (unsigned)i), ND_ROLE_HOST);
	assert_true(nd_router_changes(&nd) > changes);
}

/* --- learning from solicitations and advertisements --- */

static void answers_and_learns(void **s)
{
	(void)s;
	assert_int_equal(input(0, S(10), .type = 135, .src = GLOBAL(5), .dst = ip6_solicited_node(&US),
	                       .target = US, .source_mac = mac_a), CNT_delivered_nd);
	expect("tx0 na us>n5 to 0a us RSO mac 01; ");
	assert_int_equal(state_of(nd_neigh_find(&nd, 0, &GLOBAL(5))), ND_STALE);
	/* Without a MAC nothing is learnt; the answer goes where the frame came from. */
	assert_int_equal(input(0, S(10), .type = 135, .src = GLOBAL(6), .dst = US, .target = US,
	                       .eth_src = mac_b), CNT_delivered_nd);
	expect("tx0 na us>n6 to 0b us RSO mac 01; ");
	assert_int_equal(nd_neigh_find(&nd, 0, &GLOBAL(6)), E_NOENT);
	/* From off the link: answered (RFC 4861 2.1), without an entry. */
	const struct net_addr off = IP6(0x20010db9, 0, 0, 5);
	assert_int_equal(input(0, S(10), .type = 135, .src = off, .dst = US, .target = US,
	                       .source_mac = mac_a), CNT_delivered_nd);
	hush();
	assert_int_equal(nd_neigh_find(&nd, 0, &off), E_NOENT);
	/* Another port's address, and an unassigned one. */
	assert_int_equal(input(0, S(10), .type = 135, .src = GLOBAL(5), .dst = US, .target = US1,
	                       .source_mac = mac_a), CNT_drop_nd_not_ours);
	assert_int_equal(input(0, S(10), .type = 135, .src = GLOBAL(9), .dst = US, .target = GLOBAL(8),
	                       .source_mac = mac_a), CNT_drop_nd_not_ours);
	assert_int_equal(nd_neigh_find(&nd, 0, &GLOBAL(9)), E_NOENT);
	expect("");
}

/* RFC 9131 4.1: a router creates an entry from an unsolicited advertisement; a host does not (RFC
 * 4861 7.2.5). */
static void unsolicited_advertisement_of_a_stranger(void **s)
{
	(void)s;
	assert_int_equal(input(0, S(10), .type = 136, .src = GLOBAL(5), .dst = IP6_ALL_NODES,
	                       .target = GLOBAL(5), .target_mac = mac_a, .flags = OVR), CNT_delivered_nd);
	assert_int_equal(state_of(nd_neigh_find(&nd, 0, &GLOBAL(5))), ND_STALE);
	nd.params.router = false;
	assert_int_equal(NA(6, mac_a, SOL | OVR, S(10)), CNT_drop_nd_unknown);
	assert_int_equal(nd_neigh_find(&nd, 0, &GLOBAL(6)), E_NOENT);
	nd.params.router = true;
	assert_int_equal(NA(7, NULL, OVR, S(10)), CNT_drop_nd_unknown);
	expect("");
}

static void probe_for_our_address_is_answered_to_all(void **s)
{
	(void)s;
	assert_int_equal(input(0, S(10), .type = 135, .src = NET_ADDR_ANY,
	                       .dst = ip6_solicited_node(&US), .target = US), CNT_delivered_nd);
	expect("tx0 na us>all us RO mac 01; "); /* 7.2.4: S clear, to all nodes */
	for (unsigned n = 0; n < 500; n++)
		input(0, S(10), .type = 135, .src = NET_ADDR_ANY, .dst = ip6_solicited_node(&US),
		      .target = US);
	assert_true(counted[CNT_nd_limited] > 400);
	hush();
}

static void conflicts_are_counted(void **s)
{
	(void)s;
	assert_int_equal(NA(1, mac_b, OVR, S(10)), CNT_drop_nd_bad_sender);
	assert_int_equal(input(0, S(10), .type = 135, .src = US, .dst = LL, .target = LL,
	                       .source_mac = mac_b), CNT_drop_nd_bad_sender);
	assert_int_equal(counted[CNT_nd_conflict], 2);
	/* Our own messages, received again, are ignored. */
	assert_int_equal(input(0, S(10), .type = 136, .src = US, .dst = IP6_ALL_NODES, .target = US,
	                       .target_mac = our_mac, .flags = OVR), CNT_drop_nd_unknown);
	assert_int_equal(input(0, S(10), .type = 135, .src = US, .dst = ip6_solicited_node(&GLOBAL(5)),
	                       .target = GLOBAL(5), .source_mac = our_mac), CNT_drop_nd_bad_sender);
	assert_int_equal(counted[CNT_nd_conflict], 2);
	expect("");
}

/* --- what is refused: RFC 4861 7.1, 8.1, RFC 6980 --- */

static void malformed_solicitations(void **s)
{
	(void)s;
	const uint8_t zero_len[] = {1, 0, 2, 0, 0, 0, 0xaa, 0x0a}, too_long[] = {1, 2, 2, 0, 0, 0, 0, 1};
	const struct net_addr group = ip6_solicited_node(&US);
#define BAD(fate, ...) \
	assert_int_equal(input(0, S(10), .type = 135, .target = US, __VA_ARGS__), fate)
#define FROM .src = GLOBAL(5), .dst = US
	BAD(CNT_drop_nd_hop_limit, FROM, .hop_limit = 254);
	BAD(CNT_drop_nd_malformed, FROM, .code = 1);
	BAD(CNT_drop_nd_fragment, FROM, .fragment = true);
	BAD(CNT_drop_nd_malformed, FROM, .tail = zero_len, .tail_len = 8);
	BAD(CNT_drop_nd_malformed, FROM, .tail = too_long, .tail_len = 8);
	BAD(CNT_drop_nd_malformed, FROM, .tail = too_long, .tail_len = 1);
	BAD(CNT_drop_nd_malformed, .src = NET_ADDR_ANY, .dst = US);
	BAD(CNT_drop_nd_malformed, .src = NET_ADDR_ANY, .dst = IP6_ALL_NODES);
	BAD(CNT_drop_nd_malformed, .src = NET_ADDR_ANY, .dst = group, .source_mac = mac_a);
	BAD(CNT_drop_nd_bad_sender, FROM, .source_mac = broadcast);
	assert_int_equal(input(0, S(10), .type = 135, .target = IP6_ALL_NODES, FROM),
	                 CNT_drop_nd_malformed);
	for (unsigned n = 8; n < 24; n++) {
		uint8_t body[24] = {135};
		assert_int_equal(input(0, S(10), FROM, .body = body, .body_len = n),
		                 CNT_drop_nd_malformed);
	}
	expect("");
	const uint8_t unknown[] = {99, 1, 0, 0, 0, 0, 0, 0}; /* 4.6: ignored */
	BAD(CNT_delivered_nd, FROM, .tail = unknown, .tail_len = 8);
	hush();
}

static void malformed_advertisements(void **s)
{
	(void)s;
	int i = incomplete(5, S(10));
#undef BAD
#define BAD(fate, ...) \
	assert_int_equal(input(0, S(10), .type = 136, .src = GLOBAL(5), __VA_ARGS__), fate)
#define OF .dst = US, .target = GLOBAL(5)
	BAD(CNT_drop_nd_hop_limit, OF, .target_mac = mac_a, .hop_limit = 64);
	BAD(CNT_drop_nd_malformed, OF, .target_mac = mac_a, .code = 3);
	BAD(CNT_drop_nd_fragment, OF, .target_mac = mac_a, .fragment = true);
	BAD(CNT_drop_nd_malformed, .dst = US, .target = IP6_ALL_NODES, .target_mac = mac_a);
	BAD(CNT_drop_nd_malformed, .dst = IP6_ALL_NODES, .target = GLOBAL(5), .target_mac = mac_a,
	    .flags = SOL);
	BAD(CNT_drop_nd_bad_sender, OF, .target_mac = broadcast, .flags = SOL);
	assert_int_equal(input(0, S(10), .type = 136, .src = NET_ADDR_ANY, OF, .target_mac = mac_a),
	                 CNT_drop_nd_bad_sender);
	assert_int_equal(state_of(i), ND_INCOMPLETE);
	expect("");
}

static void redirects_are_not_followed(void **s)
{
	(void)s;
	uint8_t body[40] = {137};
	assert_int_equal(input(0, S(10), .src = LINK(5), .dst = US, .body = body, .body_len = 40),
	                 CNT_drop_nd_redirect);
	assert_int_equal(input(0, S(10), .src = LINK(5), .dst = US, .body = body, .body_len = 39),
	                 CNT_drop_nd_malformed);
	expect("");
}

/* --- bounds --- */

static void queue_overflow(void **s)
{
	(void)s;
	int i = get(5);
	for (uint8_t k = 1; k <= 5; k++)
		output(i, k, S(10));
	expect("tx0 ns us>g:5 n5 mac 01; lost 0 #1; lost 0 #2; ");
	uint8_t long_frame[200] = {0};
	given++;
	nd_output(&nd, (unsigned)i, long_frame, sizeof long_frame, S(10));
	expect("lost 0 #0; ");
	NA(5, mac_a, SOL, S(11));
	expect("up 0 0a; release 0 #3; release 0 #4; release 0 #5; ");
}

/* RFC 6583: entries that do not answer are evicted first, then by age those that may still answer
 * and STALE ones; others never. */
static void full_table(void **s)
{
	(void)s;
	int used = reachable(5, S(10)), asked = incomplete(6, S(10)), old = stale(7, S(10));
	int newer = incomplete(8, S(10));
	assert_int_equal(get(9), asked); /* the oldest; its frame is lost without an error */
	expect("lost 1 #1; removed 1; ");
	assert_int_equal(get(10), asked); /* nobody has solicited it, so it cannot answer */
	expect("removed 1; ");
	nd_pin(&nd, (unsigned)asked);
	assert_int_equal(get(11), old); /* nor one that was solicited after it was heard */
	expect("removed 2; ");
	nd_pin(&nd, (unsigned)old);
	assert_int_equal(get(12), newer);
	expect("lost 3 #1; removed 3; ");
	nd_pin(&nd, (unsigned)newer);
	assert_int_equal(get(13), E_NOMEM);
	assert_int_equal(state_of(used), ND_REACHABLE);
	assert_int_equal(NS(14, mac_a, S(11)), CNT_delivered_nd); /* answered all the same */
	expect("tx0 na us>ne to 0a us RSO mac 01; ");
}

/* RFC 6583 6.1: a scan of a subnet does not make us flood it. */
static void solicitations_are_limited(void **s)
{
	(void)s;
	for (uint32_t n = 0; n < 1000; n++) {
		if (!nd_may_ask(&nd, S(10)))
			continue;
		int i = get(0x1000 + n);
		output(i, 1, S(10));
		hush();
	}
	assert_int_equal(counted[CNT_nd_tx_solicit] <= 70 + 8, 1);
	assert_true(counted[CNT_nd_limited] >= 900);
	int i = get(5);
	nd_pin(&nd, (unsigned)i);
	hush();
	output(i, 1, S(10)); /* a route's next hop is solicited all the same */
	expect("tx0 ns us>g:5 n5 mac 01; ");
}

static void indices_rest_before_reuse(void **s)
{
	(void)s;
	for (unsigned n = 0; n < 6; n++) {
		assert_int_equal(get(20 + n), n % 4);
		assert_int_equal(nd_forget(&nd, 0, &GLOBAL(20 + n)), 0);
	}
	hush();
}

static void statics(void **s)
{
	(void)s;
	int i = incomplete(5, S(10));
	assert_int_equal(nd_set_static(&nd, 0, &GLOBAL(5), broadcast), E_INVAL);
	assert_int_equal(nd_set_static(&nd, 0, &IP6_ALL_NODES, mac_a), E_INVAL);
	assert_int_equal(nd_set_static(&nd, 0, &GLOBAL(5), mac_a), i);
	expect("up 0 0a; release 0 #1; ");
	assert_true(nd_tick(&nd, S(100000)) == UINT64_MAX);
	assert_int_equal(NA(5, mac_b, SOL | OVR, S(100000)), CNT_delivered_nd);
	assert_int_equal(NS(5, mac_b, S(100000)), CNT_delivered_nd);
	hush();
	nd_flush_interface(&nd, 0);
	nd_confirm(&nd, (unsigned)i, S(100000));
	assert_int_equal(state_of(i), ND_STATIC);
	assert_int_equal(nd.table.neigh[i].mac[5], 0x0a);
	assert_int_equal(nd_forget(&nd, 0, &GLOBAL(5)), 0);
	expect("down 0; removed 0; ");
}

static void port_goes_down(void **s)
{
	(void)s;
	reachable(5, S(10));
	incomplete(6, S(10));
	int pinned = reachable(7, S(10)), other = nd_neigh_get(&nd, 1, &GLOBAL1(9));
	nd_pin(&nd, (unsigned)pinned);
	nd_flush_interface(&nd, 0);
	expect("down 0; removed 0; unreachable 1 #1; removed 1; down 2; ");
	assert_int_equal(state_of(pinned), ND_UNRESOLVED);
	assert_int_equal(state_of(other), ND_UNRESOLVED);
	assert_true(nd_deadline(&nd) == UINT64_MAX);
}

static void no_address_to_ask_from(void **s)
{
	(void)s;
	int i = nd_neigh_get(&nd, 2, &GLOBAL(5));
	output(i, 1, S(10));
	expect("unreachable 0 #1; ");
	assert_int_equal(state_of(i), ND_FAILED);
	hush();
	/* A tentative address is waited for: the next solicitation is sent from it. */
	assert_int_equal(nd_add_local(&nd, 2, &LINK(3), 64, our_mac1, S(20)), 0);
	int k = nd_neigh_get(&nd, 2, &LINK(9));
	output(k, 1, S(20.5));
	assert_int_equal(state_of(k), ND_INCOMPLETE);
	nd_tick(&nd, S(20.5));
	nd_tick(&nd, S(21.5));
	hush();
	nd_tick(&nd, S(22.5));
	assert_int_equal(counted[CNT_nd_tx_solicit], 4 + 1 + 2);
	hush();
}

/* --- our own addresses: RFC 4862 5.4, RFC 7527 --- */

static void dad_then_up_then_announced(void **s)
{
	(void)s;
	assert_int_equal(nd_add_local(&nd, 0, &US, 64, our_mac, S(1)), 0);
	assert_false(nd_is_local(&nd, 0, &US));
	nd_tick(&nd, S(1)); /* 5.4.2: from the unspecified address; RFC 3590: so is the report */
	expect("tx0 ns any>g:1 us nonce; tx0 any>mld join g:1; ");
	/* 5.4.3: a solicitation for it while it is tentative is not answered. */
	assert_int_equal(NS(5, mac_a, S(1.5)), CNT_drop_nd_not_ours);
	struct net_addr src;
	assert_false(nd_source(&nd, 0, &GLOBAL(5), &src));
	run_to(S(1.999));
	hush();
	nd_tick(&nd, S(2));
	expect("address up us; tx0 na us>all us RO mac 01; ");
	run_to(S(60)); /* 7.2.6: MAX_NEIGHBOR_ADVERTISEMENT, RetransTimer apart */
	expect("tx0 na us>all us RO mac 01; tx0 na us>all us RO mac 01; ");
	assert_true(nd_deadline(&nd) == UINT64_MAX);
}

static void without_dad(void **s)
{
	(void)s;
	nd.params.dad_transmits = 0;
	assert_int_equal(nd_add_local(&nd, 0, &US, 64, our_mac, S(1)), 0);
	nd_tick(&nd, S(1));
	expect("address up us; tx0 na us>all us RO mac 01; tx0 any>mld join g:1; ");
}

/* DAD passed the address before this program started. */
static void kept_address_is_up_at_once(void **s)
{
	(void)s;
	assert_int_equal(nd_keep_local(&nd, 0, &US, S(1)), E_NOENT);
	assert_int_equal(nd_add_local(&nd, 0, &US, 64, our_mac, S(1)), 0);
	hush();
	assert_int_equal(nd_keep_local(&nd, 0, &US, S(1)), E_OK);
	expect("address up us; ");
	assert_true(nd_is_local(&nd, 0, &US));
	assert_int_equal(nd_keep_local(&nd, 0, &US, S(1)), E_OK);
	expect("");
	assert_int_equal(nd_restore(&nd, 0, &GLOBAL(5), mac_a, S(1)), 0);
	expect("up 0 0a; ");
	assert_int_equal(nd_restore(&nd, 0, &IP6(0x20010db9, 0, 0, 9), mac_a, S(1)), E_INVAL);
	output(0, 1, S(2));
	expect("release 0 #1; ");
	assert_int_equal(state_of(0), ND_DELAY);
	run_to(S(5.9));
	hush();
	nd_tick(&nd, S(6)); /* DELAY_FIRST_PROBE_TIME */
	expect("tx0 ns us>n5 to 0a n5 mac 01; ");
	assert_int_equal(state_of(0), ND_PROBE);
}

static void start_is_delayed_at_random(void **s)
{
	(void)s;
	nd.params.start_delay_ns = S(1);
	assert_int_equal(nd_add_local(&nd, 0, &US, 64, our_mac, S(1)), 0);
	assert_int_equal(nd_add_local(&nd, 1, &US1, 64, our_mac1, S(1)), 0);
	uint64_t first = nd.local[0].at, second = nd.local[1].at;
	assert_true(first != second && first >= S(1) && first <= S(2) && second >= S(1) && second <= S(2));
	assert_true(nd_deadline(&nd) == (first < second ? first : second));
}

static void duplicate_by_advertisement(void **s)
{
	(void)s;
	assert_int_equal(nd_add_local(&nd, 0, &US, 64, our_mac, S(1)), 0);
	nd_tick(&nd, S(1));
	hush();
	assert_int_equal(NA(1, mac_b, OVR, S(1.5)), CNT_delivered_nd);
	expect("duplicate us 0b; ");
	assert_int_equal(counted[CNT_nd_duplicate], 1);
	run_to(S(1.999));
	hush();
	run_to(S(100));
	assert_false(nd_is_local(&nd, 0, &US));
	assert_int_equal(NS(5, mac_a, S(100)), CNT_drop_nd_not_ours);
	unsigned cursor = 0;
	struct nd_address a;
	assert_true(nd_local_next(&nd, &cursor, &a));
	assert_string_equal(nd_address_state_name(a.state), "duplicate");
	hush();
	nd_link_up(&nd, 0, S(100)); /* another link, another chance */
	run_to(S(101));
	assert_true(nd_is_local(&nd, 0, &US));
	hush();
}

static void duplicate_by_anothers_probe(void **s)
{
	(void)s;
	const uint8_t nonce[6] = {1, 2, 3, 4, 5, 6};
	assert_int_equal(nd_add_local(&nd, 0, &US, 64, our_mac, S(1)), 0);
	assert_int_equal(nd_add_local(&nd, 0, &LL, 64, our_mac, S(1)), 0);
	nd_tick(&nd, S(1));
	hush();
	assert_int_equal(input(0, S(1.1), .type = 135, .src = NET_ADDR_ANY, .nonce = nonce,
	                       .dst = ip6_solicited_node(&US), .target = US, .eth_src = mac_b),
	                 CNT_delivered_nd);
	expect("duplicate us 0b; ");
	assert_int_equal(input(0, S(1.1), .type = 135, .src = NET_ADDR_ANY,
	                       .dst = ip6_solicited_node(&LL), .target = LL), CNT_delivered_nd);
	expect("duplicate ll 0a; ");
}

/* RFC 7527: our own probe returns through a loop; DAD continues with more probes. */
static void looped_probe_is_no_duplicate(void **s)
{
	(void)s;
	assert_int_equal(nd_add_local(&nd, 0, &US, 64, our_mac, S(1)), 0);
	nd_tick(&nd, S(1));
	for (unsigned n = 0; n < 3; n++)
		assert_int_equal(input(0, S(1.1), .type = 135, .src = NET_ADDR_ANY,
		                       .nonce = nd.local[0].nonce, .dst = ip6_solicited_node(&US),
		                       .target = US, .eth_src = our_mac), CNT_delivered_nd);
	assert_int_equal(counted[CNT_nd_looped], 3);
	assert_int_equal(counted[CNT_nd_duplicate], 0);
	run_to(S(4.9));
	assert_false(nd_is_local(&nd, 0, &US));
	assert_int_equal(counted[CNT_nd_tx_solicit], 4);
	run_to(S(5));
	assert_true(nd_is_local(&nd, 0, &US));
	hush();
}

static void link_comes_up_anew(void **s)
{
	(void)s;
	nd_link_up(&nd, 0, S(20));
	expect("address down ll; address down us; ");
	assert_false(nd_is_local(&nd, 0, &US));
	assert_true(nd_is_local(&nd, 1, &US1));
	nd_tick(&nd, S(20));
	expect("tx0 ns any>g:1 ll nonce; tx0 ns any>g:1 us nonce; tx0 any>mld join g:1; ");
	run_to(S(30));
	assert_true(nd_is_local(&nd, 0, &US) && nd_is_local(&nd, 0, &LL));
	hush();
}

static void addresses_come_and_go(void **s)
{
	(void)s;
	assert_int_equal(nd_add_local(&nd, 0, &US, 64, mac_b, S(20)), 0); /* 7.2.6: announces a new MAC */
	assert_true(nd_deadline(&nd) == S(20));
	assert_int_equal(nd_add_local(&nd, 0, &US, 64, our_mac, S(20)), 0);
	run_to(S(30));
	expect("tx0 na us>all us RO mac 01; tx0 na us>all us RO mac 01; tx0 na us>all us RO mac 01; ");
	assert_int_equal(nd_remove_local(&nd, 0, &GLOBAL(9), S(30)), E_NOENT);
	assert_int_equal(nd_remove_local(&nd, 0, &US, S(30)), 0);
	expect("address down us; ");
	nd_tick(&nd, S(30)); /* ll has the same group */
	expect("");
	nd_clear_local(&nd, 1, S(30));
	expect("address down us1; address down ll1; ");
	nd_clear_local(&nd, 0, S(30));
	nd_tick(&nd, S(30));
	expect("address down ll; ");
	assert_int_equal(nd_add_local(&nd, 0, &IP6_ALL_NODES, 64, our_mac, 0), E_INVAL);
	assert_int_equal(nd_add_local(&nd, 0, &US, 129, our_mac, 0), E_INVAL);
	assert_int_equal(nd_add_local(&nd, 0, &US, 64, broadcast, 0), E_INVAL);
	assert_int_equal(nd_add_local(&nd, ND_INTERFACES_MAX, &US, 64, our_mac, 0), E_INVAL);
	int e = 0;
	for (uint32_t n = 0; e == 0 && n < 3000; n++)
		e = nd_add_local(&nd, 0, &GLOBAL(0x10000 + n), 64, our_mac, 0);
	assert_int_equal(e, E_NOMEM);
}

/* The source for a destination: on its subnet, else of its scope, else the first (RFC 6724 5, rules 2 and 8). */
static void source_for(void **s)
{
	static const struct net_addr second = GLOBAL1(7), all_routers = IP6(0xff020000, 0, 0, 2),
	                             site = IP6(0xff050000, 0, 0, 2);
	const struct {
		struct net_addr dst, src;
	} row[] = {
		{GLOBAL(5), US}, {GLOBAL1(5), second}, {IP6(0x20010db9, 0, 0, 5), US}, {LINK(5), LL},
		{all_routers, LL}, {site, US},
	};
	struct net_addr src;
	(void)s;
	assert_int_equal(nd_add_anycast(&nd, 0, &GLOBAL(0), our_mac, S(20)), 0);
	assert_int_equal(nd_add_local(&nd, 0, &second, 64, our_mac, S(20)), 0);
	run_to(S(60));
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		assert_true(nd_source(&nd, 0, &row[i].dst, &src));
		assert_string_equal(name_of(&src), name_of(&row[i].src));
	}
	nd_remove_local(&nd, 0, &US, S(61));
	nd_remove_local(&nd, 0, &second, S(61));
	assert_true(nd_source(&nd, 0, &GLOBAL(5), &src)); /* of another scope, but not the anycast address */
	assert_string_equal(name_of(&src), "ll");
	hush();
}

/* Which addresses may be a neighbour's: not ours, and not the anycast address of the link's routers. */
static void on_link(void **s)
{
	static const struct net_addr host = IP6(0x20010dba, 0, 0, 1);
	const struct {
		struct net_addr addr;
		bool on_link;
	} row[] = {
		{GLOBAL(5), true}, {LINK(5), true}, {US, false}, {LL, false}, {GLOBAL(0), false}, {GLOBAL1(5), false},
		{IP6(0xff020000, 0, 0, 5), false}, {host, false}, {IP6(0x20010dba, 0, 0, 2), false},
	};
	(void)s;
	assert_int_equal(nd_add_local(&nd, 0, &host, 128, our_mac, S(20)), 0); /* no subnet */
	for (unsigned i = 0; i < ARRAY_LEN(row); i++)
		if ((nd_restore(&nd, 0, &row[i].addr, mac_a, S(20)) != E_INVAL) != row[i].on_link)
			fail_msg("%s", name_of(&row[i].addr));
	hush();
}

/* RFC 4291 2.6.1: the anycast address of the subnet's routers. */
static void anycast(void **s)
{
	(void)s;
	assert_int_equal(nd_add_anycast(&nd, 0, &GLOBAL(0), our_mac, S(20)), 0);
	nd_tick(&nd, S(20));
	expect("address up n0; tx0 ll>mld join g:0; ");
	assert_int_equal(input(0, S(20), .type = 135, .src = GLOBAL(5), .dst = GLOBAL(0),
	                       .target = GLOBAL(0), .source_mac = mac_a), CNT_delivered_nd);
	expect("tx0 na n0>n5 to 0a n0 RS mac 01; "); /* 7.2.7: without override */
	assert_int_equal(input(0, S(20), .type = 136, .src = GLOBAL(7), .dst = IP6_ALL_NODES,
	                       .target = GLOBAL(0), .target_mac = mac_b), CNT_drop_nd_unknown);
	assert_int_equal(counted[CNT_nd_conflict], 0);
	assert_int_equal(nd_add_anycast(&nd, 0, &GLOBAL(0), our_mac, S(20)), E_INVAL);
	hush();
}

static void iterator_and_parameters(void **s)
{
	(void)s;
	struct nd_entry e;
	unsigned cursor = 0;
	reachable(5, S(10));
	incomplete(6, S(11));
	assert_true(nd_next(&nd, &cursor, S(15), &e));
	struct net_addr five = GLOBAL(5);
	assert_true(net_addr_equal(&e.addr, &five) && e.interface == 0 && e.age_ns == S(5) &&
	            !e.pinned);
	assert_memory_equal(e.mac, mac_a, 6);
	assert_string_equal(nd_state_name(e.state), "reachable");
	assert_true(nd_next(&nd, &cursor, S(15), &e));
	assert_true(e.pending == 1 && e.age_ns == 0);
	assert_string_equal(nd_state_name(e.state), "incomplete");
	assert_false(nd_next(&nd, &cursor, S(15), &e));
	struct nd *b = malloc(sizeof *b);
	struct nd_params p = ND_PARAMS_DEFAULT;
	p.queue = 0;
	assert_int_equal(nd_init(b, &p, b, 1 << 30, nd.ops, NULL), E_INVAL);
	free(b);
}

/* Random events against the invariants, under ASan and the internal asserts. */
static void random_life(void **s)
{
	(void)s;
	seed_random("random_life");
	uint64_t t = S(10);
	const uint8_t *macs[] = {mac_a, mac_b, our_mac, broadcast, NULL};
	for (int step = 0; step < 100000; step++) {
		uint32_t n = random_below(9);
		int i = nd_neigh_find(&nd, 0, &GLOBAL(n));
		const uint8_t *mac = macs[random_below(5)];
		switch (random_below(13)) {
		case 0:
		case 1:
		case 2:
			i = get(n);
			if (i >= 0)
				output(i, (uint8_t)step, t);
			break;
		case 3:
			NS(n, mac, t);
			break;
		case 4:
			NA(n, mac, (uint8_t)(random_below(8) << 5), t);
			break;
		case 5:
			if (i >= 0 && nd.table.neigh[i].pins < 3)
				nd_pin(&nd, (unsigned)i);
			break;
		case 6:
			if (i >= 0 && nd.table.neigh[i].pins)
				nd_unpin(&nd, (unsigned)i);
			break;
		case 7:
			if (i >= 0 && random_below(2))
				nd_used(&nd, (unsigned)i);
			else if (i >= 0)
				nd_confirm(&nd, (unsigned)i, t);
			break;
		case 8:
			if (random_below(20) == 0)
				nd_flush_interface(&nd, 0);
			else if (random_below(20) == 0)
				nd_set_static(&nd, 0, &GLOBAL(n), mac_a);
			else if (random_below(4) == 0)
				nd_forget(&nd, 0, &GLOBAL(n));
			else if (random_below(20) == 0)
				nd_link_up(&nd, 0, t);
			break;
		default:
			t += S(1) * random_below(random_below(10) ? 3 : 900) + random_below(1000000000);
			nd_tick(&nd, t);
			while (nd_deadline(&nd) <= t)
				nd_tick(&nd, t);
		}
		hush();
		unsigned cursor = 0, waiting = 0;
		struct nd_entry e;
		while (nd_next(&nd, &cursor, t, &e)) {
			waiting += e.pending;
			bool up = e.state == ND_REACHABLE || e.state == ND_PROBE || e.state == ND_STATIC ||
			          e.state == ND_DELAY;
			assert_int_equal(up, rig_up[e.index]);
			assert_int_equal(nd_neigh_find(&nd, e.interface, &e.addr), e.index);
			assert_true(e.pending == 0 || e.state == ND_INCOMPLETE);
		}
		assert_int_equal(nd_pending(&nd), waiting);
		assert_int_equal(given, released + refused + lost + waiting);
	}
}

/* Whatever the space: the message fits it and 1280 bytes, has options of whole units, and a right
 * checksum. */
static void redirects_fit(void **s)
{
	(void)s;
	uint8_t packet[1400] = {0};
	const struct nd_redirect r = {.src = ip6_link_local(1), .target = ip6_link_local(2),
	                              .mac = (const uint8_t[ETH_ALEN]){2, 0, 0, 0, 0, 7}};
	struct nd_options options;
	for (unsigned room = 0; room <= sizeof packet; room++) {
		const unsigned len = IP6_HLEN + random_below(sizeof packet - IP6_HLEN);
		ip6_header_build(packet, &(struct ip6_build){.src = IP6(0x20010db8, 0, 0, 1),
		                                             .dst = IP6(0x20010db8, 0, 0, 2),
		                                             .payload_len = (uint16_t)(len - IP6_HLEN)});
		uint8_t *out = test_malloc(room + 1);
		const unsigned n = nd_redirect_build(out, room, packet, len, &r);
		const unsigned least = IP6_HLEN + ND_REDIRECT_LEN + 8 + 8 + IP6_HLEN;
		assert_int_equal(n > 0, room >= least);
		if (n) {
			const unsigned most = room < IP6_MTU_MIN ? room : IP6_MTU_MIN;
			const unsigned whole = least - IP6_HLEN + len;
			assert_in_range(n, (whole < most ? whole : most) - 7, whole < most ? whole : most);
			assert_int_equal(icmp6_checksum(out, IP6_HLEN), 0);
			assert_true(nd_options_read(out + IP6_HLEN, n - IP6_HLEN, ND_REDIRECT_LEN,
			                            &options));
			assert_memory_equal(options.target_mac, r.mac, ETH_ALEN);
		}
		test_free(out);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_set_up, rig_tear_down)
#define BARE(f) cmocka_unit_test_setup_teardown(f, rig_bare, rig_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(resolves_and_releases_in_order),
		TEST(link_local_is_asked_for_from_link_local),
		TEST(gives_up_then_holds_down),
		TEST(pinned_survives_failure),
		TEST(unsolicited_answer_resolves_without_proof),
		TEST(reachable_time_is_random_around_its_base),
		TEST(unused_becomes_stale_and_is_forgotten),
		TEST(stale_pinned_stays),
		TEST(resolved_without_a_frame),
		TEST(first_packet_to_a_stale_one_begins_delay),
		TEST(used_one_never_goes_down),
		TEST(upper_layer_confirms),
		TEST(probe_unanswered_asks_its_group),
		TEST(advertisements_in_every_state),
		TEST(solicitations_in_every_state),
		TEST(heard_while_failed),
		TEST(router_that_becomes_a_host),
		TEST(answers_and_learns),
		TEST(unsolicited_advertisement_of_a_stranger),
		TEST(probe_for_our_address_is_answered_to_all),
		TEST(conflicts_are_counted),
		TEST(malformed_solicitations),
		TEST(malformed_advertisements),
		TEST(redirects_are_not_followed),
		cmocka_unit_test(redirects_fit),
		TEST(queue_overflow),
		TEST(full_table),
		TEST(solicitations_are_limited),
		TEST(indices_rest_before_reuse),
		TEST(statics),
		TEST(port_goes_down),
		TEST(no_address_to_ask_from),
		BARE(dad_then_up_then_announced),
		BARE(without_dad),
		BARE(kept_address_is_up_at_once),
		BARE(start_is_delayed_at_random),
		BARE(duplicate_by_advertisement),
		BARE(duplicate_by_anothers_probe),
		BARE(looped_probe_is_no_duplicate),
		TEST(link_comes_up_anew),
		TEST(addresses_come_and_go),
		TEST(source_for),
		TEST(on_link),
		TEST(anycast),
		TEST(iterator_and_parameters),
		TEST(random_life),
	};
	return cmocka_run_group_tests_name("nd", tests, NULL, NULL);
}
