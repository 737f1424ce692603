/* net/ntp/client: several servers, a clock and the time, all simulated. */
#include "tests/unit/rig/host.h"

#include "lib/bytes.h"
#include "net/ntp/client.h"

#define MS 1000000ll
#define S 1000000000ll
#define UTC 1795988645000000000ull /* at local time 0 */

static struct ntp_client client;
static uint64_t now;      /* the local clock */
static uint64_t clock_at; /* what the machine's clock says: UTC - local; 0: not known */
static unsigned asked[NTP_SERVERS_MAX];
static bool no_route;
static uint8_t request[NTP_SERVERS_MAX][NTP_BYTES];
static struct ntp_order ordered;
static unsigned orders;

static struct {
	bool silent, leap3, twice;
	int64_t wrong;    /* of its clock */
	int64_t delay;    /* each way */
	const char *kiss; /* instead of an answer */
} is[NTP_SERVERS_MAX];

static uint64_t on_send(void *ctx, unsigned i, const uint8_t r[NTP_BYTES])
{
	(void)ctx;
	if (no_route)
		return 0;
	asked[i]++;
	memcpy(request[i], r, NTP_BYTES);
	return now;
}

static uint64_t on_random(void *ctx)
{
	(void)ctx;
	return random64();
}

static uint64_t on_clock(void *ctx, uint64_t at)
{
	(void)ctx, (void)at;
	return clock_at;
}

static void on_adjust(void *ctx, const struct ntp_order *o, uint64_t utc_minus_now, uint64_t at)
{
	(void)ctx, (void)at;
	ordered = *o;
	orders++;
	if (o->action == NTP_STEP)
		clock_at = utc_minus_now;
	else
		clock_at += (uint64_t)o->offset_ns; /* at once: the discipline's tests have the slew */
}

static const struct ntp_ops ops = {on_send, on_random, on_clock, on_adjust};

static void put_time(uint8_t *at, uint64_t ns)
{
	be32_store(at, (uint32_t)(ns / S + 2208988800u));
	be32_store(at + 4, (uint32_t)(((ns % S) << 32) / S));
}

static unsigned make_answer(unsigned i, uint8_t a[NTP_BYTES], uint64_t at)
{
	memset(a, 0, NTP_BYTES);
	a[0] = (uint8_t)((is[i].leap3 || is[i].kiss ? 3 : 0) << 6 | 4 << 3 | 4);
	a[1] = is[i].kiss ? 0 : 2;
	a[3] = (uint8_t)-20;
	if (is[i].kiss)
		memcpy(a + 12, is[i].kiss, 4);
	memcpy(a + 24, request[i] + 40, 8);
	put_time(a + 16, UTC);
	put_time(a + 32, UTC + at + (uint64_t)is[i].wrong);
	put_time(a + 40, UTC + at + (uint64_t)is[i].wrong);
	return NTP_BYTES;
}

/* Lets time pass up to `until`: requests leave when they are due, and are answered at once. */
static void run(uint64_t until)
{
	for (;;) {
		unsigned before[NTP_SERVERS_MAX];
		memcpy(before, asked, sizeof before);
		const uint64_t due = ntp_client_tick(&client, now);
		for (unsigned i = 0; i < NTP_SERVERS_MAX; i++) {
			uint8_t a[NTP_BYTES];
			if (asked[i] == before[i] || is[i].silent)
				continue;
			const uint64_t sent = now;
			const unsigned n = make_answer(i, a, sent + (uint64_t)is[i].delay);
			now = sent + 2 * (uint64_t)is[i].delay;
			const enum counter why = ntp_client_input(&client, i, a, n, now);
			assert_int_equal(why, is[i].leap3 && !is[i].kiss ? CNT_drop_ntp_unsynchronized : CNT_NONE);
			if (is[i].twice)
				assert_int_equal(ntp_client_input(&client, i, a, n, now), CNT_drop_ntp_origin);
			now = sent;
		}
		if (due > until)
			break;
		now = due > now ? due : now;
	}
	now = until;
}

/* A timestamp of NTP is exact to a nanosecond. */
static bool is_right(void) { return llabs((int64_t)(clock_at - UTC)) < 5000; }

static void add(unsigned i, bool iburst, bool prefer)
{
	const struct net_addr addr = net_addr_ip4(0xc0000202 + i);
	const struct ntp_server_options o = {.iburst = iburst, .prefer = prefer, .poll_min = 6, .poll_max = 10};
	ntp_server_set(&client, i, &addr, &o, now);
	is[i].delay = MS;
}

static int setup(void **state)
{
	(void)state;
	seed_random("client");
	memset(is, 0, sizeof is);
	memset(asked, 0, sizeof asked);
	no_route = false;
	now = 5 * S;
	clock_at = 0;
	orders = 0;
	ntp_client_init(&client, &ops, NULL, 0);
	return 0;
}

static void a_burst(void **state)
{
	(void)state;
	add(0, true, false);
	run(now + 7 * S);
	assert_true(asked[0] == 4 && !client.synchronized && client.server[0].reach == 0xf);
	assert_int_equal(ntp_client_stratum(&client), 16);
	run(now + 2 * S); /* the fifth answer: dispersion 16/32 s */
	assert_true(client.synchronized && orders == 1 && ordered.action == NTP_STEP && is_right());
	assert_int_equal(client.server[0].verdict, NTP_SYSTEM_PEER);
	assert_int_equal(ntp_client_stratum(&client), 3);
	assert_true(ntp_client_root_delay(&client) == 2 * MS && ntp_client_root_dispersion(&client, now) >= 5 * MS);
	run(now + 10 * S);
	assert_int_equal(asked[0], 8);
	run(now + 64 * S);
	assert_int_equal(asked[0], 9);
}

static void without_burst(void **state)
{
	(void)state;
	add(0, false, false);
	run(now + 60 * S);
	assert_int_equal(asked[0], 1);
	run(now + 300 * S); /* 64 to 68 s each */
	assert_true(asked[0] == 6 && client.synchronized);
}

static void no_route_yet(void **state)
{
	(void)state;
	no_route = true;
	add(0, true, false);
	run(now + 100 * S);
	assert_true(asked[0] == 0 && client.server[0].burst == 8);
	no_route = false;
	run(now + 20 * S);
	assert_true(asked[0] == 8 && client.synchronized);
}

static void a_liar(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		add(i, true, false);
	is[0].wrong = 5 * S; /* its answers come first */
	run(now + 30 * S);
	assert_int_equal(client.server[0].verdict, NTP_FALSETICKER);
	assert_true(client.synchronized && is_right() && client.steps == 1);
	/* one of the others lies too: no majority, and the clock runs on */
	is[1].wrong = -7 * S;
	run(now + 2000 * S);
	assert_true(!client.synchronized && is_right() && client.panics == 0);
	is[0].wrong = 0; /* it has been repaired */
	run(now + 4000 * S);
	assert_true(client.synchronized && client.server[1].verdict == NTP_FALSETICKER && is_right());
}

/* The only one that answers is believed after a while, though most of those configured are silent. */
static void silent_ones(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		add(i, true, false);
	is[1].silent = is[2].silent = is[3].silent = true;
	run(now + 30 * S);
	assert_true(client.synchronized && client.peer == 0);
	assert_int_equal(client.server[1].reach, 0);
	/* they are asked more and more rarely */
	run(now + 40000 * S);
	const unsigned before = asked[1];
	run(now + 10000 * S);
	assert_true(asked[1] - before <= 10);
}

static void a_server_goes_away(void **state)
{
	(void)state;
	add(0, true, true);
	add(1, true, false);
	run(now + 30 * S);
	assert_int_equal(client.peer, 0);
	is[0].silent = true;
	run(now + 8 * 1088 * S);
	assert_true(client.server[0].reach == 0 && client.peer == 1 && client.synchronized);
	is[1].silent = true;
	run(now + 9 * 1088 * S);
	assert_false(client.synchronized);
	assert_int_equal(client.server[1].verdict, NTP_REJECTED);
	/* it returns: a burst */
	is[0].silent = false;
	run(now + 1200 * S);
	assert_true(client.synchronized && client.peer == 0);
}

/* Samples from before an outage give way, so the first ones after it count, though they took longer. */
static void an_outage(void **state)
{
	(void)state;
	add(0, false, false);
	run(now + 1000 * S);
	assert_true(client.synchronized);
	is[0].silent = true;
	for (const unsigned before = asked[0]; asked[0] < before + 11;)
		run(now + S);
	is[0].silent = false;
	is[0].delay = 2 * MS;
	const unsigned updates = orders, before = asked[0];
	while (asked[0] < before + 4)
		run(now + S);
	assert_int_equal(orders, updates);
	while (asked[0] < before + 5) /* dispersion 16/32 s, as in a burst */
		run(now + S);
	assert_true(client.synchronized && orders == updates + 1);
}

/* During a burst too a server without a route is no longer reachable. */
static void route_lost(void **state)
{
	(void)state;
	add(0, true, false);
	run(now + 9 * S);
	assert_true(client.synchronized && client.server[0].burst);
	no_route = true;
	run(now + 9 * 68 * S);
	assert_true(client.server[0].reach == 0 && !client.synchronized);
}

static void not_synchronized(void **state)
{
	(void)state;
	add(0, true, false);
	is[0].leap3 = true;
	run(now + 100 * S);
	assert_true(!client.synchronized && client.server[0].answers == 0 && client.server[0].dropped == asked[0]);
	assert_int_equal(client.server[0].reach, 0);
}

static void kisses(void **state)
{
	(void)state;
	add(0, true, false);
	is[0].kiss = "RATE";
	run(now + 10 * S);
	assert_true(asked[0] == 1 && client.server[0].kisses == 1 && client.server[0].burst == 0);
	run(now + 110 * S); /* 128 to 136 s */
	assert_int_equal(asked[0], 1);
	run(now + 20 * S);
	assert_int_equal(asked[0], 2);
	is[0].kiss = "INIT"; /* means nothing to a client */
	run(now + 600 * S);
	assert_true(!client.server[0].denied);
	is[0].kiss = "DENY";
	run(now + 1200 * S);
	assert_true(client.server[0].denied && !client.synchronized);
	const unsigned before = asked[0];
	run(now + 100000 * S);
	assert_int_equal(asked[0], before);
	is[0].kiss = NULL;
	add(0, true, false); /* configured anew */
	run(now + 20 * S);
	assert_true(client.synchronized);
	is[0].kiss = "RSTR";
	run(now + 1200 * S);
	assert_true(client.server[0].denied && !client.synchronized);
}

static void duplicates_and_strangers(void **state)
{
	(void)state;
	uint8_t a[NTP_BYTES];
	add(0, true, false);
	is[0].twice = true;
	run(now + 30 * S);
	assert_true(client.synchronized && client.server[0].dropped == client.server[0].answers);
	/* an answer to the request before the last, one with another cookie, one to a server that is not there */
	memcpy(a, request[0], sizeof a);
	is[0].silent = true;
	run(now + 200 * S);
	uint8_t old[NTP_BYTES];
	make_answer(0, old, now);
	memcpy(old + 24, a + 40, 8);
	assert_int_equal(ntp_client_input(&client, 0, old, NTP_BYTES, now), CNT_drop_ntp_origin);
	make_answer(0, a, now);
	assert_int_equal(ntp_client_input(&client, 1, a, NTP_BYTES, now), CNT_drop_ntp_origin);
	a[24] ^= 1;
	assert_int_equal(ntp_client_input(&client, 0, a, NTP_BYTES, now), CNT_drop_ntp_origin);
	a[24] ^= 1;
	assert_int_equal(ntp_client_input(&client, 0, a, NTP_BYTES, now), CNT_NONE); /* the guessed-at request still waits */
}

/* A clock that somebody sets is set again. */
static void set_by_hand(void **state)
{
	(void)state;
	add(0, true, false);
	run(now + 30 * S);
	clock_at = 0;
	run(now + 200 * S);
	assert_true(is_right() && client.steps == 2);
	/* a client that takes over from another one slews */
	ntp_client_init(&client, &ops, NULL, 1000);
	clock_at = UTC + 50 * MS;
	add(0, true, false);
	run(now + 30 * S);
	assert_true(client.steps == 0 && client.slews > 0 && client.synchronized);
	assert_int_equal(client.discipline.frequency != 1000, 1);
}

static void servers_leave(void **state)
{
	(void)state;
	add(0, true, false);
	add(1, true, false);
	run(now + 30 * S);
	ntp_server_clear(&client, 0, now);
	assert_true(client.synchronized && client.peer == 1);
	ntp_server_clear(&client, 1, now);
	assert_false(client.synchronized);
	assert_int_equal(ntp_client_tick(&client, now), UINT64_MAX);
	const struct ntp_server_options o = {.poll_min = 6, .poll_max = 10};
	ntp_server_set(&client, 2, &NET_ADDR_ANY, &o, now); /* its address is not known */
	assert_int_equal(ntp_client_tick(&client, now), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_burst, setup),
		cmocka_unit_test_setup(without_burst, setup),
		cmocka_unit_test_setup(no_route_yet, setup),
		cmocka_unit_test_setup(a_liar, setup),
		cmocka_unit_test_setup(silent_ones, setup),
		cmocka_unit_test_setup(a_server_goes_away, setup),
		cmocka_unit_test_setup(an_outage, setup),
		cmocka_unit_test_setup(route_lost, setup),
		cmocka_unit_test_setup(not_synchronized, setup),
		cmocka_unit_test_setup(kisses, setup),
		cmocka_unit_test_setup(duplicates_and_strangers, setup),
		cmocka_unit_test_setup(set_by_hand, setup),
		cmocka_unit_test_setup(servers_leave, setup),
	};
	return cmocka_run_group_tests_name("ntp_client", tests, NULL, NULL);
}
