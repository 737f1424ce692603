/* net/mld as scripts, through net/nd, by tests/unit/rig/nd_rig.h: RFC 3810's listener, and RFC 2710
 * with an old querier. */
#include "tests/unit/rig/nd_rig.h"

#define GROUP(n) IP6(0xff020000, 0, 1, 0xff000000 | (n)) /* of GLOBAL(n) */

static uint8_t query_body[28 + 16 * 4];

/* A query of len octets for a group, to be answered within `code` (ms, or encoded). */
static enum counter query(unsigned len, struct net_addr group, unsigned code, uint64_t t)
{
	memset(query_body, 0, sizeof query_body);
	query_body[0] = 130;
	put16(query_body + 4, code);
	net_addr_store(query_body + 8, &group);
	return input(0, t, .src = LINK(9), .dst = IP6_ALL_NODES, .body = query_body, .body_len = len,
	             .alert = true, .hop_limit = 1);
}

static void joins_are_reported_twice(void **s)
{
	(void)s;
	assert_int_equal(nd_join(&nd, 0, &GROUP(5), S(20)), 0);
	assert_int_equal(nd_join(&nd, 0, &GROUP(5), S(20)), 0);
	assert_true(nd_is_group_ours(&nd, 0, &GROUP(5)));
	assert_false(nd_is_group_ours(&nd, 1, &GROUP(5)));
	assert_true(nd_is_group_ours(&nd, 0, &IP6_ALL_NODES));
	nd_tick(&nd, S(20));
	expect("tx0 ll>mld join g:5; ");
	assert_true(nd_deadline(&nd) > S(20) && nd_deadline(&nd) <= S(21)); /* RFC 3810 9.11 */
	run_to(S(21));
	expect("tx0 ll>mld join g:5; ");
	assert_true(nd_deadline(&nd) == UINT64_MAX);
	nd_leave(&nd, 0, &GROUP(5), S(30));
	run_to(S(40));
	expect("");
	nd_leave(&nd, 0, &GROUP(5), S(40));
	assert_false(nd_is_group_ours(&nd, 0, &GROUP(5)));
	run_to(S(50));
	expect("tx0 ll>mld leave g:5; tx0 ll>mld leave g:5; ");
	nd_leave(&nd, 0, &GROUP(5), S(50)); /* of a group it is not in */
	assert_true(nd_deadline(&nd) == UINT64_MAX);
}

static void joined_again_while_leaving(void **s)
{
	(void)s;
	nd_join(&nd, 0, &GROUP(5), S(20));
	run_to(S(30));
	hush();
	nd_leave(&nd, 0, &GROUP(5), S(30));
	nd_tick(&nd, S(30));
	expect("tx0 ll>mld leave g:5; ");
	nd_join(&nd, 0, &GROUP(5), S(30));
	run_to(S(40));
	expect("tx0 ll>mld join g:5; tx0 ll>mld join g:5; ");
}

static void all_nodes_is_never_reported(void **s)
{
	(void)s;
	const struct net_addr interface_scope = IP6(0xff010000, 0, 0, 2);
	assert_int_equal(nd_join(&nd, 0, &IP6_ALL_NODES, S(20)), 0);
	assert_int_equal(nd_join(&nd, 0, &interface_scope, S(20)), 0);
	query(28, NET_ADDR_ANY, 1, S(20));
	run_to(S(30));
	expect("tx0 ll>mld is g:1; "); /* of ll and us */
	nd_leave(&nd, 0, &IP6_ALL_NODES, S(30));
	run_to(S(40));
	expect("");
}

static void queries_are_answered_within_their_time(void **s)
{
	(void)s;
	nd_join(&nd, 0, &GROUP(5), S(20));
	run_to(S(30));
	hush();
	assert_int_equal(query(28, NET_ADDR_ANY, 10000, S(30)), CNT_delivered_mld);
	uint64_t first = nd_deadline(&nd);
	assert_true(first >= S(30) && first <= S(40));
	run_to(S(40));
	assert_int_equal(counted[CNT_mld_tx_report] >= 2, 1);
	hush();
	assert_int_equal(query(28, GROUP(5), 1000, S(50)), CNT_delivered_mld);
	run_to(S(51));
	expect("tx0 ll>mld is g:5; ");
	assert_int_equal(query(28, GROUP(77), 1000, S(60)), CNT_delivered_mld);
	assert_true(nd_deadline(&nd) == UINT64_MAX);
	/* RFC 3810 5.1.3: 0x8000 is 0x1000 << 3 ms */
	query(28, GROUP(5), 0x8000, S(70));
	assert_true(nd_deadline(&nd) <= S(70) + 32768 * S(0.001));
	query(28, GROUP(5), 0, S(70)); /* the earlier one serves both (6.2) */
	nd_tick(&nd, S(70));
	expect("tx0 ll>mld is g:5; ");
	assert_true(nd_deadline(&nd) == UINT64_MAX);
	/* Sources are ignored, however many there are. */
	assert_int_equal(query(28 + 16 * 4, GROUP(5), 0, S(80)), CNT_delivered_mld);
	nd_tick(&nd, S(80));
	expect("tx0 ll>mld is g:5; ");
}

/* RFC 3810 5.1.3: within the time of the query's code, and using all of that time. */
static void queries_name_their_time(void **s)
{
	(void)s;
	static const struct { uint32_t code, ms; } rows[] = {
		{1000, 1000}, {32767, 32767}, {0x8000, 0x1000 << 3}, {0x8fff, 0x1fff << 3},
		{0xb123, 0x1123 << 6}, {0xffff, 0x1fff << 10}};
	uint64_t now = S(200);
	nd_join(&nd, 0, &GROUP(5), S(100));
	run_to(now);
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t latest = 0;
		for (unsigned n = 0; n < 64; n++) {
			query(28, GROUP(5), rows[i].code, now);
			uint64_t due = nd_deadline(&nd);
			latest = due - now > latest ? due - now : latest;
			nd_tick(&nd, now = due);
		}
		assert_in_range(latest, rows[i].ms * 800000ull, rows[i].ms * 1000000ull);
		hush();
	}
}

/* A tick leaves nothing undone that is due: found by fuzzing. */
static void query_while_a_change_is_due(void **s)
{
	(void)s;
	nd_join(&nd, 0, &GROUP(5), S(20));
	query(28, NET_ADDR_ANY, 0, S(20));
	assert_true(nd_tick(&nd, S(20)) > S(20));
	hush();
}

/* RFC 3810 8.2.1, RFC 2710 */
static void old_querier(void **s)
{
	(void)s;
	assert_int_equal(query(24, NET_ADDR_ANY, 0, S(20)), CNT_delivered_mld);
	nd_tick(&nd, S(20));
	expect("tx0 ll>g:1 report g:1; ");
	nd_join(&nd, 0, &GROUP(5), S(21));
	run_to(S(30));
	expect("tx0 ll>g:5 report g:5; tx0 ll>g:5 report g:5; ");
	/* another listener's report suppresses ours */
	query(24, GROUP(5), 10000, S(30));
	uint8_t body[24] = {131};
	net_addr_store(body + 8, &GROUP(5));
	assert_int_equal(input(0, S(30), .src = LINK(8), .dst = GROUP(5), .body = body, .body_len = 24,
	                       .alert = true, .hop_limit = 1), CNT_delivered_mld);
	run_to(S(50));
	expect("");
	nd_leave(&nd, 0, &GROUP(5), S(50));
	run_to(S(60));
	expect("tx0 ll>routers done g:5; tx0 ll>routers done g:5; ");
	run_to(S(290.1)); /* Older Version Querier Present Timeout */
	query(28, NET_ADDR_ANY, 0, S(290.1));
	nd_tick(&nd, S(290.1));
	expect("tx0 ll>mld is g:1; ");
}

/* RFC 3810 5.1.14, 6.2, 8.1 */
static void what_is_refused(void **s)
{
	(void)s;
	uint8_t q[28] = {130};
#define BAD(...) \
	assert_int_equal(input(0, S(20), .dst = IP6_ALL_NODES, .body = q, __VA_ARGS__), \
	                 CNT_drop_mld_malformed)
	BAD(.src = LINK(9), .body_len = 28, .hop_limit = 1);                 /* no router alert */
	BAD(.src = LINK(9), .body_len = 28, .hop_limit = 2, .alert = true);
	BAD(.src = GLOBAL(9), .body_len = 28, .hop_limit = 1, .alert = true);
	BAD(.src = NET_ADDR_ANY, .body_len = 28, .hop_limit = 1, .alert = true);
	BAD(.src = LINK(9), .body_len = 23, .hop_limit = 1, .alert = true);
	BAD(.src = LINK(9), .body_len = 26, .hop_limit = 1, .alert = true);
	BAD(.src = LINK(9), .body_len = 28, .hop_limit = 1, .alert = true, .fragment = true);
	uint8_t report[28] = {143}, done[24] = {132};
	assert_int_equal(input(0, S(20), .src = LINK(9), .dst = IP6_ALL_MLD2_ROUTERS, .body = report,
	                       .body_len = 28, .hop_limit = 1, .alert = true), CNT_drop_mld_type);
	assert_int_equal(input(0, S(20), .src = LINK(9), .dst = IP6_ALL_ROUTERS, .body = done,
	                       .body_len = 24, .hop_limit = 1, .alert = true), CNT_drop_mld_type);
	assert_true(nd_deadline(&nd) == UINT64_MAX);
	expect("");
}

static void table_of_groups_is_bounded(void **s)
{
	(void)s;
	int e = 0;
	uint32_t n = 0;
	for (; e == 0 && n < 3000; n++)
		e = nd_join(&nd, 0, &GROUP(1000 + n), S(20));
	assert_int_equal(e, E_NOMEM);
	assert_true(n > 100);
	for (uint32_t k = 0; k < n - 1; k++)
		nd_leave(&nd, 0, &GROUP(1000 + k), S(30));
	run_to(S(40));
	hush();
	assert_int_equal(nd_join(&nd, 0, &GROUP(5), S(40)), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_set_up, rig_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(joins_are_reported_twice),
		TEST(joined_again_while_leaving),
		TEST(all_nodes_is_never_reported),
		TEST(queries_are_answered_within_their_time),
		TEST(queries_name_their_time),
		TEST(query_while_a_change_is_due),
		TEST(old_querier),
		TEST(what_is_refused),
		TEST(table_of_groups_is_bounded),
	};
	return cmocka_run_group_tests_name("mld", tests, NULL, NULL);
}
