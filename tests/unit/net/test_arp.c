/* net/arp as scripts (neigh_rig.h): at time t this happens, expect exactly these calls of the
 * ops. */
#include "tests/unit/rig/neigh_rig.h"

#include "lib/fmt.h"
#include "net/arp.h"
#include "net/ip4.h"

#define US IP4(10, 0, 0, 1)
#define US2 IP4(10, 0, 1, 1) /* on port 1 */
#define NEIGH(n) IP4(10, 0, 0, n)

static struct arp a;
static unsigned limited;
static void *mem;

/* --- the ops --- */

static void on_tx(void *ctx, unsigned port, const uint8_t *f, unsigned len)
{
	(void)ctx;
	char spa[FMT_IP4_MAX], tpa[FMT_IP4_MAX];
	const uint8_t fixed[] = {0x08, 0x06, 0, 1, 8, 0, 6, 4, 0};
	assert_int_equal(len, 42);
	assert_memory_equal(f + 12, fixed, sizeof fixed);
	assert_memory_equal(f + 6, f + 22, 6); /* Ethernet source is the sender's address */
	assert_memory_equal(f + 6, port ? our_mac1 : our_mac, 6);
	fmt_ip4(spa, be32_load(f + 28));
	fmt_ip4(tpa, be32_load(f + 38));
	say("tx%u %s %s>%s to %02x; ", port, f[21] == 1 ? "ask" : "reply", spa, tpa, f[5]);
	if (f[21] == 2)
		assert_memory_equal(f, f + 32, 6);
}

static void on_count(void *ctx, enum counter c, unsigned n)
{
	(void)ctx;
	(void)n;
	if (c == CNT_arp_conflict) {
		say("conflict; ");
	} else if (c == CNT_arp_limited) {
		limited++;
	} else {
		assert_true(c == CNT_arp_tx_request || c == CNT_arp_tx_reply);
	}
}

static int in_use = -1; /* the neighbour that data cores send to */

static bool on_in_use(void *ctx, unsigned index)
{
	(void)ctx;
	return (int)index == in_use;
}

static void on_conflict(void *ctx, unsigned interface, uint32_t ip, const uint8_t *mac)
{
	char text[FMT_IP4_MAX];
	(void)ctx;
	say("%s on %u by %02x; ", fmt_ip4(text, ip), interface, mac[5]);
}

static const struct arp_ops ops = {on_tx, on_up, on_down, on_release, on_unreachable, on_lost, on_count,
                                   on_removed, on_in_use, on_conflict};

/* --- set-up: a table of 4, queues of 3, 8 frames in all; announcements are over --- */

static int set_up(void **state)
{
	(void)state;
	struct arp_params p = ARP_PARAMS_DEFAULT;
	p.neighbours = 4;
	p.queue = 3;
	p.pending = 8;
	p.frame_max = 100;
	mem = malloc(arp_memory_bytes(&p));
	neigh_rig_reset();
	assert_int_equal(arp_init(&a, &p, mem, arp_memory_bytes(&p) - 1, &ops, NULL), E_NOMEM);
	assert_int_equal(arp_init(&a, &p, mem, arp_memory_bytes(&p), &ops, NULL), 0);
	assert_int_equal(arp_add_local(&a, 0, US, 24, our_mac), 0);
	assert_int_equal(arp_add_local(&a, 1, US2, 24, our_mac1), 0);
	arp_tick(&a, 0);
	arp_tick(&a, S(2));
	assert_true(arp_deadline(&a) == UINT64_MAX);
	hush();
	return 0;
}

/* Invariant 1, and no pending frame leaks. */
static int tear_down(void **state)
{
	(void)state;
	struct arp_entry e;
	unsigned cursor = 0, waiting = 0;
	while (arp_next(&a, &cursor, S(1000000), &e))
		waiting += e.pending;
	assert_int_equal(arp_pending(&a), waiting);
	assert_int_equal(given, released + refused + lost + waiting);
	for (unsigned port = 0; port < 3; port++)
		arp_flush_interface(&a, port);
	assert_int_equal(arp_pending(&a), 0);
	assert_int_equal(given, released + refused + lost);
	free(mem);
	return 0;
}

static void output(int i, uint8_t mark, uint64_t t)
{
	uint8_t f[60];
	neigh_rig_frame(f, mark);
	arp_output(&a, (unsigned)i, f, sizeof f, t);
}

struct message {
	unsigned op;
	const uint8_t *sha;
	uint32_t spa, tpa;
};

static void make_arp(uint8_t f[60], const struct message *m)
{
	const uint8_t fixed[] = {0x08, 0x06, 0, 1, 8, 0, 6, 4};
	memset(f, 0, 60);
	memcpy(f, broadcast, 6);
	memcpy(f + 6, m->sha, 6);
	memcpy(f + 12, fixed, sizeof fixed);
	put16(f + 20, m->op);
	memcpy(f + 22, m->sha, 6);
	put32(f + 28, m->spa);
	put32(f + 38, m->tpa);
}

static enum counter input(unsigned port, unsigned op, const uint8_t *sha, uint32_t spa, uint32_t tpa,
                          uint64_t t)
{
	uint8_t f[60];
	make_arp(f, &(struct message){op, sha, spa, tpa});
	return arp_input(&a, port, f, sizeof f, t);
}

#define REQUEST(sha, spa, tpa, t) input(0, 1, sha, spa, tpa, t)
#define REPLY(sha, spa, tpa, t) input(0, 2, sha, spa, tpa, t)

static enum arp_state state_of(int i)
{
	struct arp_entry e;
	unsigned cursor = (unsigned)i;
	return arp_next(&a, &cursor, S(1000000), &e) && e.index == (unsigned)i ? e.state : ARP_FREE;
}

/* Makes a neighbour REACHABLE with mac_a since t. */
static int reachable(uint32_t ip, uint64_t t)
{
	int i = arp_neigh_get(&a, 0, ip);
	assert_true(i >= 0);
	output(i, 0, t);
	assert_int_equal(REPLY(mac_a, ip, US, t), CNT_delivered_arp);
	assert_int_equal(state_of(i), ARP_REACHABLE);
	hush();
	return i;
}

/* arp_deadline is the minimum of all deadlines: nothing is late. */
static void assert_deadline(void)
{
	uint64_t least = UINT64_MAX;
	for (unsigned i = 0; i < a.params.neighbours; i++)
		if (a.table.neigh[i].heap_pos != UINT32_MAX && a.table.neigh[i].deadline < least)
			least = a.table.neigh[i].deadline;
	assert_true(arp_deadline(&a) == least);
}

/* --- tests --- */

static void resolves_and_releases_in_order(void **s)
{
	(void)s;
	int i = arp_neigh_get(&a, 0, NEIGH(5));
	assert_int_equal(i, 0);
	assert_int_equal(arp_neigh_get(&a, 0, NEIGH(5)), 0);
	assert_int_equal(arp_neigh_find(&a, 0, NEIGH(5)), 0);
	assert_int_equal(arp_neigh_find(&a, 1, NEIGH(5)), E_NOENT);
	assert_int_equal(state_of(i), ARP_UNRESOLVED);
	expect("");
	output(i, 1, S(10));
	expect("tx0 ask 10.0.0.1>10.0.0.5 to ff; ");
	assert_int_equal(state_of(i), ARP_INCOMPLETE);
	output(i, 2, S(10.1));
	expect("");
	assert_int_equal(arp_pending(&a), 2);
	assert_int_equal(REPLY(mac_a, NEIGH(5), US, S(10.2)), CNT_delivered_arp);
	expect("up 0 0a; release 0 #1; release 0 #2; ");
	assert_int_equal(state_of(i), ARP_REACHABLE);
	assert_int_equal(arp_pending(&a), 0);
	output(i, 3, S(11));
	expect("release 0 #3; ");
}

static void gives_up_then_holds_down(void **s)
{
	(void)s;
	int i = arp_neigh_get(&a, 0, NEIGH(5));
	output(i, 1, S(10));
	assert_true(arp_deadline(&a) == S(11));
	assert_true(arp_tick(&a, S(10.9)) == S(11));
	expect("tx0 ask 10.0.0.1>10.0.0.5 to ff; ");
	arp_tick(&a, S(11));
	arp_tick(&a, S(12));
	expect("tx0 ask 10.0.0.1>10.0.0.5 to ff; tx0 ask 10.0.0.1>10.0.0.5 to ff; ");
	output(i, 2, S(12.5));
	assert_true(arp_tick(&a, S(13)) == S(18));
	expect("unreachable 0 #1; unreachable 0 #2; ");
	assert_int_equal(state_of(i), ARP_FAILED);
	output(i, 3, S(14));
	expect("unreachable 0 #3; ");
	assert_true(arp_tick(&a, S(18)) == UINT64_MAX);
	expect("removed 0; ");
	assert_int_equal(arp_neigh_find(&a, 0, NEIGH(5)), E_NOENT);
	output(0, 4, S(19)); /* a stale index does no harm */
	expect("unreachable 0 #4; ");
}

static void heard_while_failed(void **s)
{
	(void)s;
	int i = arp_neigh_get(&a, 0, NEIGH(5));
	output(i, 1, S(10));
	for (int t = 11; t <= 13; t++)
		arp_tick(&a, S(t));
	assert_int_equal(state_of(i), ARP_FAILED);
	hush();
	assert_int_equal(REQUEST(mac_a, NEIGH(5), US, S(14)), CNT_delivered_arp);
	expect("up 0 0a; tx0 reply 10.0.0.1>10.0.0.5 to 0a; ");
	assert_int_equal(state_of(i), ARP_REACHABLE);
}

static void pinned_survives_failure(void **s)
{
	(void)s;
	int i = arp_neigh_get(&a, 0, NEIGH(5));
	arp_pin(&a, (unsigned)i);
	output(i, 1, S(10));
	for (int t = 11; t <= 13; t++)
		arp_tick(&a, S(t));
	hush();
	assert_true(arp_tick(&a, S(18)) == UINT64_MAX);
	expect("");
	assert_int_equal(state_of(i), ARP_UNRESOLVED);
	output(i, 2, S(20)); /* and resolution is tried again */
	expect("tx0 ask 10.0.0.1>10.0.0.5 to ff; ");
	arp_unpin(&a, (unsigned)i);
	assert_int_equal(state_of(i), ARP_INCOMPLETE);
	int k = arp_neigh_get(&a, 0, NEIGH(6));
	arp_pin(&a, (unsigned)k);
	arp_pin(&a, (unsigned)k);
	arp_unpin(&a, (unsigned)k);
	expect("");
	arp_unpin(&a, (unsigned)k);
	expect("removed 1; ");
}

static void resolved_without_a_frame(void **s)
{
	(void)s;
	int i = arp_neigh_get(&a, 0, NEIGH(5));
	arp_pin(&a, (unsigned)i);
	arp_resolve(&a, (unsigned)i, S(10));
	expect("tx0 ask 10.0.0.1>10.0.0.5 to ff; ");
	assert_int_equal(state_of(i), ARP_INCOMPLETE);
	arp_resolve(&a, (unsigned)i, S(10.1));
	expect("");
	for (int t = 11; t <= 13; t++)
		arp_tick(&a, S(t));
	assert_int_equal(state_of(i), ARP_FAILED);
	hush();
	arp_resolve(&a, (unsigned)i, S(14));
	arp_tick(&a, S(18));
	expect("");
	arp_resolve(&a, (unsigned)i, S(18));
	expect("tx0 ask 10.0.0.1>10.0.0.5 to ff; ");
	assert_int_equal(REPLY(mac_a, NEIGH(5), US, S(18.1)), CNT_delivered_arp);
	expect("up 0 0a; ");
	arp_resolve(&a, (unsigned)i, S(19));
	expect("");
	arp_unpin(&a, (unsigned)i);
}

static void active_neighbour_never_goes_down(void **s)
{
	(void)s;
	int i = reachable(NEIGH(5), S(10));
	assert_true(arp_deadline(&a) == S(307));
	arp_used(&a, (unsigned)i, S(100));
	assert_true(arp_tick(&a, S(307)) == S(308));
	expect("tx0 ask 10.0.0.1>10.0.0.5 to 0a; "); /* unicast */
	assert_int_equal(state_of(i), ARP_PROBE);
	output(i, 1, S(307.5));
	expect("release 0 #1; ");
	arp_tick(&a, S(308));
	expect("tx0 ask 10.0.0.1>10.0.0.5 to 0a; ");
	assert_int_equal(REPLY(mac_a, NEIGH(5), US, S(308.1)), CNT_delivered_arp);
	expect("");
	assert_int_equal(state_of(i), ARP_REACHABLE);
	assert_true(arp_deadline(&a) == S(308.1) + S(297));
}

static void probe_unanswered_falls_back_to_broadcast(void **s)
{
	(void)s;
	int i = reachable(NEIGH(5), S(10));
	output(i, 1, S(300));
	hush();
	for (int t = 307; t <= 309; t++)
		arp_tick(&a, S(t));
	expect("tx0 ask 10.0.0.1>10.0.0.5 to 0a; tx0 ask 10.0.0.1>10.0.0.5 to 0a; "
	       "tx0 ask 10.0.0.1>10.0.0.5 to 0a; ");
	assert_true(arp_tick(&a, S(310)) == S(311));
	expect("down 0; tx0 ask 10.0.0.1>10.0.0.5 to ff; ");
	output(i, 2, S(310.1));
	assert_int_equal(REPLY(mac_b, NEIGH(5), US, S(310.5)), CNT_delivered_arp);
	expect("up 0 0b; release 0 #2; ");
}

static void idle_neighbour_is_removed(void **s)
{
	(void)s;
	int i = reachable(NEIGH(5), S(10));
	assert_true(arp_tick(&a, S(307)) == S(310));
	expect("");
	assert_int_equal(state_of(i), ARP_REACHABLE);
	arp_tick(&a, S(310));
	expect("down 0; removed 0; ");
}

/* Use before the last confirmation is no reason for a new request. */
static void use_counts_from_when_it_was_heard(void **s)
{
	(void)s;
	int i = reachable(NEIGH(5), S(10));
	arp_used(&a, (unsigned)i, S(20));
	assert_int_equal(REQUEST(mac_a, NEIGH(5), NEIGH(5), S(30)), CNT_delivered_arp);
	assert_true(arp_tick(&a, S(327)) == S(330));
	arp_tick(&a, S(330));
	expect("down 0; removed 0; ");
}

/* Many deadlines, set, moved and cleared in any order. */
static void deadlines_in_order(void **s)
{
	(void)s;
	struct arp_params p = ARP_PARAMS_DEFAULT;
	p.neighbours = 60;
	free(mem);
	mem = malloc(arp_memory_bytes(&p));
	assert_int_equal(arp_init(&a, &p, mem, arp_memory_bytes(&p), &ops, NULL), 0);
	assert_int_equal(arp_add_local(&a, 0, US, 24, our_mac), 0);
	arp_tick(&a, 0);
	arp_tick(&a, S(2));
	seed_random("deadlines_in_order");
	uint64_t t = S(10);
	for (int step = 0; step < 20000; step++) {
		uint32_t ip = NEIGH(10 + random_below(60));
		t += random_below(300000000);
		if (random_below(3) == 0)
			arp_forget(&a, 0, ip);
		else if (random_below(2))
			REQUEST(mac_a, ip, US, t);
		else
			output(arp_neigh_get(&a, 0, ip), 1, t);
		assert_deadline();
		if (random_below(10) == 0)
			arp_tick(&a, t);
		assert_deadline();
		hush();
	}
}

static void idle_neighbour_wanted_at_the_last_moment(void **s)
{
	(void)s;
	int i = reachable(NEIGH(5), S(10));
	arp_tick(&a, S(307));
	arp_used(&a, (unsigned)i, S(308));
	expect("tx0 ask 10.0.0.1>10.0.0.5 to 0a; ");
	assert_int_equal(state_of(i), ARP_PROBE);
}

static void pinned_neighbour_is_kept_warm(void **s)
{
	(void)s;
	int i = reachable(NEIGH(5), S(10));
	arp_pin(&a, (unsigned)i);
	arp_tick(&a, S(307));
	expect("tx0 ask 10.0.0.1>10.0.0.5 to 0a; ");
	assert_int_equal(state_of(i), ARP_PROBE);
}

static void late_tick_catches_up(void **s)
{
	(void)s;
	reachable(NEIGH(5), S(10));
	arp_tick(&a, S(5000));
	expect("down 0; removed 0; ");
}

static void learns_from_a_request_to_us(void **s)
{
	(void)s;
	assert_int_equal(REQUEST(mac_a, NEIGH(7), US, S(10)), CNT_delivered_arp);
	expect("up 0 0a; tx0 reply 10.0.0.1>10.0.0.7 to 0a; ");
	assert_int_equal(state_of(0), ARP_REACHABLE);
	/* A request to somebody else makes no entry, but updates an existing one. */
	assert_int_equal(REQUEST(mac_b, NEIGH(8), NEIGH(9), S(11)), CNT_drop_arp_not_ours);
	expect("");
	assert_int_equal(REQUEST(mac_b, NEIGH(7), NEIGH(9), S(12)), CNT_drop_arp_not_ours);
	expect("up 0 0b; ");
	/* An unsolicited reply makes no entry. */
	assert_int_equal(REPLY(mac_b, NEIGH(8), US, S(13)), CNT_delivered_arp);
	expect("");
	assert_int_equal(arp_neigh_find(&a, 0, NEIGH(8)), E_NOENT);
}

static void gratuitous_updates_only(void **s)
{
	(void)s;
	assert_int_equal(REQUEST(mac_a, NEIGH(7), NEIGH(7), S(10)), CNT_drop_arp_not_ours);
	assert_int_equal(arp_neigh_find(&a, 0, NEIGH(7)), E_NOENT);
	reachable(NEIGH(7), S(11));
	assert_int_equal(REQUEST(mac_b, NEIGH(7), NEIGH(7), S(12)), CNT_delivered_arp);
	expect("up 0 0b; ");
	assert_int_equal(REPLY(mac_a, NEIGH(7), NEIGH(7), S(13)), CNT_delivered_arp);
	expect("up 0 0a; ");
	int i = arp_neigh_get(&a, 0, NEIGH(8)); /* UNRESOLVED accepts it as well */
	assert_int_equal(REQUEST(mac_b, NEIGH(8), NEIGH(8), S(14)), CNT_delivered_arp);
	expect("up 1 0b; ");
	assert_int_equal(state_of(i), ARP_REACHABLE);
}

static void queue_overflow(void **s)
{
	(void)s;
	int i = arp_neigh_get(&a, 0, NEIGH(5));
	for (uint8_t k = 1; k <= 5; k++)
		output(i, k, S(10));
	expect("tx0 ask 10.0.0.1>10.0.0.5 to ff; lost 0 #1; lost 0 #2; ");
	uint8_t big[101] = {0};
	given++;
	arp_output(&a, (unsigned)i, big, sizeof big, S(10)); /* too long to be queued */
	expect("lost 0 #0; ");
	REPLY(mac_a, NEIGH(5), US, S(10));
	expect("up 0 0a; release 0 #3; release 0 #4; release 0 #5; ");
}

static void memory_of_all_queues(void **s)
{
	(void)s;
	int i[4];
	for (unsigned n = 0; n < 4; n++)
		i[n] = arp_neigh_get(&a, 0, NEIGH(10 + n));
	for (unsigned n = 0; n < 3; n++)
		for (uint8_t k = 1; k <= 3; k++)
			output(i[n], k, S(10));
	assert_int_equal(arp_pending(&a), 8);
	hush();
	output(i[3], 1, S(10)); /* has no frame of its own to discard; asks all the same */
	expect("lost 3 #1; tx0 ask 10.0.0.1>10.0.0.13 to ff; ");
	output(i[2], 9, S(10)); /* has two frames, discards the older */
	expect("lost 2 #2; ");
	REPLY(mac_a, NEIGH(12), US, S(10));
	expect("up 2 0a; release 2 #3; release 2 #9; ");
	output(i[3], 2, S(10));
	expect("");
	assert_int_equal(arp_pending(&a), 7);
}

/* All entries are in use and resolved: they stay. */
static void table_full(void **s)
{
	(void)s;
	for (unsigned n = 0; n < 4; n++)
		output(reachable(NEIGH(10 + n), S(10)), 1, S(10));
	hush();
	assert_int_equal(arp_neigh_get(&a, 0, NEIGH(20)), E_NOMEM);
	/* A request is answered all the same. */
	assert_int_equal(REQUEST(mac_b, NEIGH(20), US, S(11)), CNT_delivered_arp);
	expect("tx0 reply 10.0.0.1>10.0.0.20 to 0b; ");
}

static void full_table_gives_up_the_longest_failed(void **s)
{
	(void)s;
	int i[4];
	for (unsigned n = 0; n < 4; n++)
		i[n] = arp_neigh_get(&a, 0, NEIGH(10 + n));
	arp_pin(&a, (unsigned)i[0]); /* never evicted */
	arp_pin(&a, (unsigned)i[3]); /* not evicted now */
	output(i[3], 1, S(10));
	hush();
	assert_int_equal(arp_neigh_get(&a, 0, NEIGH(20)), i[1]);
	expect("removed 1; ");
	assert_int_equal(arp_neigh_get(&a, 0, NEIGH(21)), i[2]);
	expect("removed 2; ");
	arp_pin(&a, (unsigned)i[1]);
	arp_pin(&a, (unsigned)i[2]);
	assert_int_equal(arp_neigh_get(&a, 0, NEIGH(22)), E_NOMEM);
	for (int t = 11; t <= 13; t++)
		arp_tick(&a, S(t));
	assert_int_equal(state_of(i[3]), ARP_FAILED);
	arp_unpin(&a, (unsigned)i[3]);
	hush();
	assert_int_equal(arp_neigh_get(&a, 0, NEIGH(22)), i[3]);
	expect("removed 3; ");
}

/* A host that asks for us with many sender addresses gets entries, but none that are in use, and
 * only so many a second. */
static void full_table_gives_up_who_is_not_wanted(void **s)
{
	(void)s;
	int used = reachable(NEIGH(10), S(10));
	output(used, 1, S(10));
	for (unsigned n = 11; n < 14; n++)
		REQUEST(mac_a, NEIGH(n), US, S(10));
	hush();
	assert_int_equal(REQUEST(mac_b, NEIGH(20), US, S(10)), CNT_delivered_arp);
	expect("down 1; removed 1; up 1 0b; tx0 reply 10.0.0.1>10.0.0.20 to 0b; ");
	in_use = 2;
	REQUEST(mac_b, NEIGH(19), US, S(10)); /* not 2, whose turn it is */
	expect("down 3; removed 3; up 3 0b; tx0 reply 10.0.0.1>10.0.0.19 to 0b; ");
	in_use = -1;
	limited = 0;
	for (unsigned n = 0; n < 400; n++) {
		assert_int_equal(REQUEST(mac_b, NEIGH(21 + n % 200), US, S(10)), CNT_delivered_arp);
		hush();
	}
	assert_int_equal(limited, 400 - (256 - 2));
	assert_int_equal(arp_neigh_find(&a, 0, NEIGH(10)), used);
	assert_int_equal(arp_neigh_find(&a, 0, NEIGH(12)), 2);
	assert_int_equal(state_of(used), ARP_REACHABLE);
	assert_int_equal(REQUEST(mac_b, NEIGH(250), US, S(11)), CNT_delivered_arp); /* after a while */
	hush();
	assert_true(arp_neigh_find(&a, 0, NEIGH(250)) > 0);
}

/* Frames that wait for an unresolved neighbour are lost when a newer one takes its entry. */
static void full_table_gives_up_the_longest_asked(void **s)
{
	(void)s;
	int i[4];
	for (unsigned n = 0; n < 4; n++) {
		i[n] = arp_neigh_get(&a, 0, NEIGH(10 + n));
		output(i[n], (uint8_t)(n + 1), S(10));
	}
	hush();
	REPLY(mac_a, NEIGH(10), US, S(10)); /* it has answered: its entry stays */
	hush();
	assert_int_equal(arp_neigh_get(&a, 0, NEIGH(20)), i[1]);
	expect("lost 1 #2; removed 1; ");
	assert_int_equal(state_of(i[0]), ARP_REACHABLE);
}

static void new_neighbours_are_limited(void **s)
{
	(void)s;
	unsigned asked = 0;
	limited = 0;
	for (unsigned n = 0; n < 1000; n++)
		asked += arp_may_ask(&a, S(10));
	assert_int_equal(asked, 256);
	assert_int_equal(limited, 1000 - 256);
	assert_true(arp_may_ask(&a, S(10) + 1000000));
	assert_false(arp_may_ask(&a, S(10) + 1000000));
}

/* Neighbours from the previous program: in use at once, confirmed soon. */
static void restored_is_in_use_and_asked(void **s)
{
	(void)s;
	static const uint8_t group[ETH_ALEN] = {1};
	assert_int_equal(arp_restore(&a, 0, NEIGH(5), group, S(10)), E_INVAL);
	int pinned = arp_neigh_get(&a, 0, NEIGH(6));
	arp_pin(&a, (unsigned)pinned);
	assert_int_equal(arp_restore(&a, 0, NEIGH(5), mac_a, S(10)), 1);
	assert_int_equal(arp_restore(&a, 0, NEIGH(6), mac_b, S(10)), pinned);
	expect("up 1 0a; up 0 0b; ");
	output(1, 1, S(10));
	expect("release 1 #1; ");
	arp_tick(&a, S(10.9));
	expect("");
	arp_tick(&a, S(11.1));
	expect("tx0 ask 10.0.0.1>10.0.0.6 to 0b; tx0 ask 10.0.0.1>10.0.0.5 to 0a; ");
	assert_int_equal(REPLY(mac_a, NEIGH(5), US, S(11.2)), CNT_delivered_arp);
	assert_int_equal(state_of(1), ARP_REACHABLE);
	assert_true(arp_set_static(&a, 0, NEIGH(7), mac_a) >= 0);
	hush();
	assert_true(arp_restore(&a, 0, NEIGH(7), mac_b, S(12)) >= 0); /* present entries stay */
	expect("");
	arp_unpin(&a, (unsigned)pinned);
}

static void indices_rest_before_reuse(void **s)
{
	(void)s;
	int first = arp_neigh_get(&a, 0, NEIGH(5));
	assert_int_equal(arp_forget(&a, 0, NEIGH(5)), 0);
	assert_int_equal(arp_forget(&a, 0, NEIGH(5)), E_NOENT);
	for (unsigned n = 0; n < 3; n++)
		assert_int_not_equal(arp_neigh_get(&a, 0, NEIGH(6 + n)), first);
	assert_int_equal(arp_neigh_get(&a, 0, NEIGH(5)), first);
}

static void conflict_is_defended_once_in_ten_seconds(void **s)
{
	(void)s;
	assert_int_equal(REQUEST(mac_a, US, US, S(10)), CNT_drop_arp_bad_sender);
	expect("conflict; 10.0.0.1 on 0 by 0a; tx0 ask 10.0.0.1>10.0.0.1 to ff; ");
	assert_int_equal(REPLY(mac_a, US, NEIGH(9), S(19.9)), CNT_drop_arp_bad_sender);
	expect("conflict; ");
	assert_int_equal(REQUEST(mac_a, US, NEIGH(9), S(20)), CNT_drop_arp_bad_sender);
	expect("conflict; 10.0.0.1 on 0 by 0a; tx0 ask 10.0.0.1>10.0.0.1 to ff; ");
	/* Our own frame, received again, is not a conflict. */
	assert_int_equal(REQUEST(our_mac, US, US, S(21)), CNT_drop_arp_bad_sender);
	expect("");
}

static void probe_for_our_address_is_answered(void **s)
{
	(void)s;
	assert_int_equal(REQUEST(mac_a, 0, US, S(10)), CNT_delivered_arp);
	expect("tx0 reply 10.0.0.1>0.0.0.0 to 0a; ");
	assert_int_equal(REQUEST(mac_a, 0, NEIGH(9), S(10)), CNT_drop_arp_not_ours);
	assert_int_equal(REPLY(mac_a, 0, US, S(10)), CNT_drop_arp_bad_sender);
	expect("");
	struct arp_entry e;
	unsigned cursor = 0;
	assert_false(arp_next(&a, &cursor, S(10), &e)); /* nothing was learnt */
}

static void announces_twice(void **s)
{
	(void)s;
	assert_int_equal(arp_add_local(&a, 0, NEIGH(100), 24, our_mac), 0);
	assert_true(arp_deadline(&a) == 0);
	assert_true(arp_tick(&a, S(50)) == S(52));
	expect("tx0 ask 10.0.0.100>10.0.0.100 to ff; ");
	assert_true(arp_tick(&a, S(51)) == S(52));
	assert_true(arp_tick(&a, S(52)) == UINT64_MAX);
	expect("tx0 ask 10.0.0.100>10.0.0.100 to ff; ");
	arp_announce(&a, 0);
	arp_tick(&a, S(60));
	expect("tx0 ask 10.0.0.1>10.0.0.1 to ff; tx0 ask 10.0.0.100>10.0.0.100 to ff; ");
}

static void several_addresses_on_a_port(void **s)
{
	(void)s;
	assert_int_equal(arp_add_local(&a, 0, IP4(172, 16, 0, 1), 16, our_mac), 0);
	arp_tick(&a, S(10));
	arp_tick(&a, S(12));
	hush();
	output(arp_neigh_get(&a, 0, IP4(172, 16, 9, 9)), 1, S(20)); /* asked from its subnet's address */
	expect("tx0 ask 172.16.0.1>172.16.9.9 to ff; ");
	output(arp_neigh_get(&a, 0, IP4(203, 0, 113, 1)), 1, S(20)); /* on no subnet: the first address */
	expect("tx0 ask 10.0.0.1>203.0.113.1 to ff; ");
	assert_int_equal(REQUEST(mac_a, IP4(172, 16, 9, 9), IP4(172, 16, 0, 1), S(20)),
	                 CNT_delivered_arp);
	expect("up 0 0a; release 0 #1; tx0 reply 172.16.0.1>172.16.9.9 to 0a; ");
}

static void another_ports_address_is_not_answered(void **s)
{
	(void)s;
	assert_int_equal(REQUEST(mac_a, NEIGH(5), US2, S(10)), CNT_drop_arp_not_ours);
	assert_int_equal(REQUEST(mac_a, US2, US, S(10)), CNT_drop_arp_bad_sender);
	assert_int_equal(input(1, 1, mac_a, IP4(10, 0, 1, 9), US2, S(10)), CNT_delivered_arp);
	expect("up 0 0a; tx1 reply 10.0.1.1>10.0.1.9 to 0a; ");
}

static void bad_senders(void **s)
{
	(void)s;
	const uint8_t zero[6] = {0}, group[6] = {1, 0, 0x5e, 0, 0, 1};
	assert_int_equal(REQUEST(broadcast, NEIGH(5), US, S(10)), CNT_drop_arp_bad_sender);
	assert_int_equal(REQUEST(zero, NEIGH(5), US, S(10)), CNT_drop_arp_bad_sender);
	assert_int_equal(REQUEST(group, NEIGH(5), US, S(10)), CNT_drop_arp_bad_sender);
	const uint32_t bad[] = {NEIGH(0), NEIGH(255), IP4(10, 0, 1, 5), IP4(127, 0, 0, 1),
	                        IP4(224, 0, 0, 1), IP4_BROADCAST};
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(REQUEST(mac_a, bad[i], US, S(10)), CNT_drop_arp_bad_sender);
	expect("");
	assert_int_equal(input(2, 1, mac_a, NEIGH(5), US, S(10)), CNT_drop_port_down);
}

static void malformed(void **s)
{
	(void)s;
	uint8_t f[60], good[60];
	make_arp(good, &(struct message){1, mac_a, NEIGH(5), US});
	for (unsigned len = 0; len < 42; len++) {
		uint8_t *tight = malloc(len + 1);
		memcpy(tight, good, len);
		assert_int_equal(arp_input(&a, 0, tight, len, S(10)), CNT_drop_arp_malformed);
		free(tight);
	}
	for (unsigned at = 14; at < 22; at++) /* each byte of the fixed part */
		for (unsigned v = 1; v < 256; v++) {
			memcpy(f, good, sizeof f);
			f[at] ^= (uint8_t)v;
			bool reply = at == 21 && f[at] == 2;
			assert_int_equal(arp_input(&a, 0, f, 60, S(10)),
			                 reply ? CNT_delivered_arp : CNT_drop_arp_malformed);
		}
	expect("");
	assert_int_equal(arp_input(&a, 0, good, 42, S(10)), CNT_delivered_arp);
}

static void statics(void **s)
{
	(void)s;
	const uint8_t zero[6] = {0};
	assert_int_equal(arp_set_static(&a, 0, NEIGH(5), zero), E_INVAL);
	assert_int_equal(arp_set_static(&a, 0, NEIGH(5), broadcast), E_INVAL);
	int i = arp_neigh_get(&a, 0, NEIGH(5));
	output(i, 1, S(10));
	hush();
	assert_int_equal(arp_set_static(&a, 0, NEIGH(5), mac_a), i);
	expect("up 0 0a; release 0 #1; ");
	assert_true(arp_tick(&a, S(100000)) == UINT64_MAX);
	assert_int_equal(REPLY(mac_b, NEIGH(5), US, S(100000)), CNT_delivered_arp);
	arp_flush_interface(&a, 0);
	expect("");
	assert_int_equal(state_of(i), ARP_STATIC);
	assert_int_equal(arp_set_static(&a, 0, NEIGH(5), mac_b), i);
	expect("up 0 0b; ");
	assert_int_equal(arp_set_static(&a, 0, NEIGH(5), mac_b), i);
	expect("");
	assert_int_equal(arp_forget(&a, 0, NEIGH(5)), 0);
	expect("down 0; removed 0; ");
}

static void port_goes_down(void **s)
{
	(void)s;
	reachable(NEIGH(5), S(10));
	int waiting = arp_neigh_get(&a, 0, NEIGH(6)), pinned = reachable(NEIGH(7), S(10));
	arp_pin(&a, (unsigned)pinned);
	output(waiting, 1, S(11));
	int other = arp_neigh_get(&a, 1, IP4(10, 0, 1, 9));
	hush();
	arp_flush_interface(&a, 0);
	expect("down 0; removed 0; unreachable 1 #1; removed 1; down 2; ");
	assert_int_equal(state_of(pinned), ARP_UNRESOLVED);
	assert_int_equal(state_of(other), ARP_UNRESOLVED);
	assert_true(arp_deadline(&a) == UINT64_MAX);
}

static void no_address_to_ask_from(void **s)
{
	(void)s;
	int i = arp_neigh_get(&a, 2, IP4(10, 0, 2, 5));
	output(i, 1, S(10));
	expect("unreachable 0 #1; ");
	assert_int_equal(state_of(i), ARP_FAILED);
	int k = arp_neigh_get(&a, 0, NEIGH(5));
	output(k, 1, S(10));
	hush();
	arp_clear_local(&a, 0);
	arp_tick(&a, S(11));
	expect("unreachable 1 #1; ");
	assert_int_equal(input(1, 1, mac_a, IP4(10, 0, 1, 9), US2, S(12)), CNT_delivered_arp);
}

static void iterator_and_parameters(void **s)
{
	(void)s;
	struct arp_entry e;
	unsigned cursor = 0;
	reachable(NEIGH(5), S(10));
	int i = arp_neigh_get(&a, 0, NEIGH(6));
	output(i, 1, S(11));
	assert_true(arp_next(&a, &cursor, S(15), &e));
	assert_true(e.ip == NEIGH(5) && e.interface == 0 && e.age_ns == S(5) && !e.pinned);
	assert_memory_equal(e.mac, mac_a, 6);
	assert_string_equal(arp_state_name(e.state), "reachable");
	assert_true(arp_next(&a, &cursor, S(15), &e));
	assert_true(e.ip == NEIGH(6) && e.pending == 1 && e.age_ns == 0);
	assert_string_equal(arp_state_name(e.state), "incomplete");
	assert_false(arp_next(&a, &cursor, S(15), &e));

	struct arp b;
	struct arp_params p = ARP_PARAMS_DEFAULT;
	p.queue = 0;
	assert_int_equal(arp_init(&b, &p, mem, 1 << 30, &ops, NULL), E_INVAL);
	assert_int_equal(arp_add_local(&a, 0, NEIGH(9), 33, our_mac), E_INVAL);
	assert_int_equal(arp_add_local(&a, 0, IP4_BROADCAST, 24, our_mac), E_INVAL);
	assert_int_equal(arp_add_local(&a, 0, NEIGH(9), 24, broadcast), E_INVAL);
	int rc = 0;
	for (unsigned n = 0; rc == 0 && n < 1000; n++)
		rc = arp_add_local(&a, 3, IP4(10, 9, n >> 8, n & 255) + 1, 16, our_mac);
	assert_int_equal(rc, E_NOMEM);
}

/* Ops that call back in: the ICMP error about a refused frame goes to another neighbour, through
 * the table, which may have to evict the very neighbour that has just failed. */
static void reentrant_unreachable(void *ctx, unsigned i, uint8_t *f, unsigned len)
{
	(void)len;
	refused++;
	if (f[14] == 255) /* no error about an error: icmp4_error_allowed() */
		return;
	struct arp *t = ctx;
	int k = arp_neigh_get(t, 0, NEIGH(100 + f[14]));
	if (k < 0)
		return;
	(void)i;
	uint8_t icmp[60] = {0};
	icmp[14] = 255;
	given++;
	arp_output(t, (unsigned)k, icmp, sizeof icmp, S(13));
}

static void ops_may_call_back(void **s)
{
	(void)s;
	struct arp_ops mine = ops;
	mine.unreachable = reentrant_unreachable;
	a.ops = &mine;
	a.ctx = &a;
	int i[4];
	for (unsigned n = 0; n < 4; n++) {
		i[n] = arp_neigh_get(&a, 0, NEIGH(10 + n));
		if (n < 2)
			for (uint8_t k = 0; k < 3; k++)
				output(i[n], (uint8_t)(n * 8 + k), S(10));
	}
	for (int t = 11; t <= 40; t++)
		arp_tick(&a, S(t));
	unsigned ended = refused + lost; /* lost: with a neighbour that was evicted */
	assert_true(refused >= 3 && ended > 6);
	a.ops = &ops; /* for tear_down */
}

/* Random events against the invariants, under ASan and the internal asserts. */
static void random_life(void **s)
{
	(void)s;
	seed_random("random_life");
	uint64_t t = S(10);
	const uint8_t *macs[] = {mac_a, mac_b, our_mac, broadcast};
	for (int step = 0; step < 100000; step++) {
		uint32_t ip = NEIGH(random_below(9));
		int i = arp_neigh_find(&a, 0, ip);
		switch (random_below(12)) {
		case 0:
		case 1:
		case 2:
			i = arp_neigh_get(&a, 0, ip);
			if (i >= 0)
				output(i, (uint8_t)step, t);
			break;
		case 3:
		case 4:
			input(0, 1 + random_below(2), macs[random_below(4)], ip,
			      random_below(2) ? US : NEIGH(random_below(9)), t);
			break;
		case 5:
			if (i >= 0 && a.table.neigh[i].pins < 3)
				arp_pin(&a, (unsigned)i);
			break;
		case 6:
			if (i >= 0 && a.table.neigh[i].pins)
				arp_unpin(&a, (unsigned)i);
			break;
		case 7:
			if (i >= 0)
				arp_used(&a, (unsigned)i, t);
			break;
		case 8:
			if (random_below(20) == 0)
				arp_flush_interface(&a, 0);
			else if (random_below(20) == 0)
				arp_set_static(&a, 0, ip, mac_a);
			else if (random_below(4) == 0)
				arp_forget(&a, 0, ip);
			break;
		default:
			t += S(1) * random_below(random_below(10) ? 3 : 200) + random_below(1000000000);
			uint64_t next = arp_tick(&a, t);
			assert_true(next > t);
		}
		hush();
		assert_deadline();
		unsigned cursor = 0, waiting = 0;
		struct arp_entry e;
		while (arp_next(&a, &cursor, t, &e)) {
			waiting += e.pending;
			bool up = e.state == ARP_REACHABLE || e.state == ARP_PROBE || e.state == ARP_STATIC;
			assert_int_equal(up, rig_up[e.index]);
			assert_int_equal(arp_neigh_find(&a, e.interface, e.ip), e.index);
			assert_true(e.pending == 0 || e.state == ARP_INCOMPLETE);
		}
		assert_int_equal(arp_pending(&a), waiting);
		assert_int_equal(given, released + refused + lost + waiting);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(resolves_and_releases_in_order),
		TEST(gives_up_then_holds_down),
		TEST(heard_while_failed),
		TEST(pinned_survives_failure),
		TEST(resolved_without_a_frame),
		TEST(active_neighbour_never_goes_down),
		TEST(probe_unanswered_falls_back_to_broadcast),
		TEST(idle_neighbour_is_removed),
		TEST(use_counts_from_when_it_was_heard),
		TEST(deadlines_in_order),
		TEST(idle_neighbour_wanted_at_the_last_moment),
		TEST(pinned_neighbour_is_kept_warm),
		TEST(late_tick_catches_up),
		TEST(learns_from_a_request_to_us),
		TEST(gratuitous_updates_only),
		TEST(queue_overflow),
		TEST(memory_of_all_queues),
		TEST(table_full),
		TEST(full_table_gives_up_the_longest_failed),
		TEST(full_table_gives_up_who_is_not_wanted),
		TEST(full_table_gives_up_the_longest_asked),
		TEST(new_neighbours_are_limited),
		TEST(restored_is_in_use_and_asked),
		TEST(indices_rest_before_reuse),
		TEST(conflict_is_defended_once_in_ten_seconds),
		TEST(probe_for_our_address_is_answered),
		TEST(announces_twice),
		TEST(several_addresses_on_a_port),
		TEST(another_ports_address_is_not_answered),
		TEST(bad_senders),
		TEST(malformed),
		TEST(statics),
		TEST(port_goes_down),
		TEST(no_address_to_ask_from),
		TEST(iterator_and_parameters),
		TEST(ops_may_call_back),
		TEST(random_life),
	};
	return cmocka_run_group_tests_name("arp", tests, NULL, NULL);
}
