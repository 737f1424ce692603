/* net/lacp: systems connected by links, with a clock; loss, moved cables, partners without LACP. */
#include "tests/unit/rig/host.h"

#include "drivers/nic.h"
#include "net/lacp/lacp.h"

#define MS 1000000ull
#define SECOND (1000 * MS)
#define SYSTEMS 3
#define PORTS 4

_Static_assert(LACP_PORTS_MAX >= NIC_PORTS_MAX, "each port of the machine has a port of the system");

static struct lacp system_of[SYSTEMS];
static uint64_t now;
static unsigned loss; /* of 256 PDUs */
static struct {
	bool collecting, distributing;
	unsigned changes, sent, markers;
	uint64_t sent_ns[256];
	int to; /* system * PORTS + port at the other end of the cable; -1: none */
	uint8_t last[LACP_FRAME_LEN];
} port_of[SYSTEMS][PORTS];

static struct { int to; uint8_t frame[LACP_FRAME_LEN]; } flying[256];
static unsigned flies;

static void on_send(void *ctx, unsigned port, const uint8_t *frame, bool marker)
{
	const unsigned s = (unsigned)(uintptr_t)ctx;
	memcpy(port_of[s][port].last, frame, LACP_FRAME_LEN);
	port_of[s][port].markers += marker;
	if (!marker)
		port_of[s][port].sent_ns[port_of[s][port].sent++ % 256] = now;
	if (port_of[s][port].to < 0 || random64() % 256 < loss)
		return;
	assert_true(flies < ARRAY_LEN(flying));
	flying[flies].to = port_of[s][port].to;
	memcpy(flying[flies++].frame, frame, LACP_FRAME_LEN);
}

static void on_state(void *ctx, unsigned port, bool collecting, bool distributing)
{
	const unsigned s = (unsigned)(uintptr_t)ctx;
	assert_true(collecting || !distributing);
	assert_true(port_of[s][port].collecting != collecting || port_of[s][port].distributing != distributing);
	port_of[s][port].collecting = collecting;
	port_of[s][port].distributing = distributing;
	port_of[s][port].changes++;
}

static const struct lacp_ops ops = {on_send, on_state};

/* Delivers what is on the wire. */
static void deliver(void)
{
	while (flies) {
		const int to = flying[0].to;
		uint8_t frame[LACP_FRAME_LEN];
		memcpy(frame, flying[0].frame, sizeof frame);
		memmove(flying, flying + 1, --flies * sizeof flying[0]);
		lacp_input(&system_of[to / PORTS], (unsigned)to % PORTS, frame, sizeof frame, now);
	}
}

static void check(void)
{
	for (unsigned s = 0; s < SYSTEMS; s++)
		for (unsigned i = 0; i < PORTS; i++) {
			struct lacp_port_status p;
			lacp_port_status(&system_of[s], i, &p);
			assert_int_equal(p.mux >= LACP_MUX_COLLECTING, port_of[s][i].collecting);
			assert_int_equal(p.mux == LACP_MUX_DISTRIBUTING, port_of[s][i].distributing);
			if (port_of[s][i].distributing)
				assert_true(p.selected == LACP_SELECTED && p.enabled && p.group);
		}
}

static void pass(uint64_t ns)
{
	const uint64_t end = now + ns;
	for (;;) {
		uint64_t next = UINT64_MAX;
		deliver();
		check();
		for (unsigned s = 0; s < SYSTEMS; s++)
			next = lacp_deadline(&system_of[s]) < next ? lacp_deadline(&system_of[s]) : next;
		if (next > end)
			break;
		assert_true(next >= now);
		now = next > now ? next : now;
		for (unsigned s = 0; s < SYSTEMS; s++)
			lacp_tick(&system_of[s], now);
	}
	now = end;
}

static void begin(void)
{
	now = 50 * SECOND;
	loss = flies = 0;
	memset(port_of, 0, sizeof port_of);
	for (unsigned s = 0; s < SYSTEMS; s++) {
		const uint8_t mac[ETH_ALEN] = {2, 0, 0, 0, 1, (uint8_t)s};
		for (unsigned i = 0; i < PORTS; i++)
			port_of[s][i].to = -1;
		lacp_init(&system_of[s], mac, LACP_PRIORITY_DEFAULT, PORTS, &ops, (void *)(uintptr_t)s, now);
	}
}

static void configure(unsigned s, unsigned port, unsigned group, enum lacp_mode mode, bool fast)
{
	const struct lacp_port_params p = {.group = (uint8_t)group, .mode = mode, .fast = fast,
	                                   .priority = LACP_PRIORITY_DEFAULT,
	                                   .mac = {2, 0, 0, 1, (uint8_t)s, (uint8_t)port}};
	lacp_port_set_params(&system_of[s], port, &p, now);
}

static void link_set(unsigned s, unsigned port, bool up)
{
	lacp_port_link(&system_of[s], port, up, true, now);
}

static void cable(unsigned s, unsigned port, unsigned t, unsigned at)
{
	port_of[s][port].to = (int)(t * PORTS + at);
	port_of[t][at].to = (int)(s * PORTS + port);
	link_set(s, port, true);
	link_set(t, at, true);
}

/* The link is down at both ends. */
static void pull(unsigned s, unsigned port)
{
	const int other = port_of[s][port].to;
	link_set(s, port, false);
	link_set((unsigned)other / PORTS, (unsigned)other % PORTS, false);
}

/* Is silent, though the light is on. */
static void cut(unsigned s, unsigned port)
{
	const int other = port_of[s][port].to;
	port_of[s][port].to = port_of[other / PORTS][other % PORTS].to = -1;
}

static unsigned distributing(unsigned s)
{
	unsigned ports = 0;
	for (unsigned i = 0; i < PORTS; i++)
		ports |= (unsigned)port_of[s][i].distributing << i;
	return ports;
}

static void pair(unsigned links, enum lacp_mode a, enum lacp_mode b)
{
	for (unsigned i = 0; i < links; i++) {
		configure(0, i, 1, a, true);
		configure(1, i, 1, b, true);
		cable(0, i, 1, i);
	}
}

static struct lacp_port_status status(unsigned s, unsigned port)
{
	struct lacp_port_status p;
	lacp_port_status(&system_of[s], port, &p);
	return p;
}

/* --- one group --- */

static void test_two_links(void **state)
{
	(void)state;
	begin();
	pair(2, LACP_ACTIVE, LACP_ACTIVE);
	pass(1900 * MS); /* Aggregate_Wait_Time, 6.4.4 */
	assert_int_equal(distributing(0) | distributing(1), 0);
	pass(200 * MS);
	assert_int_equal(distributing(0), 3);
	assert_int_equal(distributing(1), 3);
	assert_int_equal(status(0, 1).partner.port, 2);
	assert_int_equal(status(0, 0).receive, LACP_RX_CURRENT);
	pass(600 * SECOND); /* and stays */
	assert_int_equal(distributing(0) & distributing(1), 3);
	assert_int_equal(port_of[0][0].changes, 2);
}

static void test_passive(void **state)
{
	(void)state;
	begin();
	pair(2, LACP_PASSIVE, LACP_ACTIVE);
	pass(3 * SECOND);
	assert_int_equal(distributing(0) & distributing(1), 3);
	/* two passive ends do not talk: each takes the other for a machine without LACP */
	begin();
	pair(2, LACP_PASSIVE, LACP_PASSIVE);
	pass(10 * SECOND);
	assert_int_equal(port_of[0][0].sent + port_of[0][1].sent, 0);
	assert_int_equal(distributing(0), 1);
	assert_true(status(0, 0).individual);
}

/* recordPDU, 6.4.9: the partner is synchronized if it says so to this port, and one of both ends is active, as the
 * other one knows. */
static void test_synchronized(void **state)
{
	(void)state;
	const uint8_t source[ETH_ALEN] = {2, 0, 0, 0, 0, 0x99};
	for (unsigned bits = 0; bits < 16; bits++) {
		const bool ours = bits & 1, theirs = bits & 2, knows = bits & 4, meant = bits & 8;
		uint8_t frame[LACP_FRAME_LEN];
		begin();
		configure(0, 0, 1, ours ? LACP_ACTIVE : LACP_PASSIVE, true);
		link_set(0, 0, true);
		struct lacp_end us = status(0, 0).actor;
		us.state = (uint8_t)((us.state & ~LACP_ACTIVITY) | (knows ? LACP_ACTIVITY : 0));
		us.port += !meant;
		const struct lacp_end them = {
			.system = {2, 0, 0, 0, 0, 0x99}, .system_priority = 1, .key = 7, .port = 9, .port_priority = 1,
			.state = (uint8_t)(LACP_AGGREGATION | LACP_SYNCHRONIZATION | (theirs ? LACP_ACTIVITY : 0))};
		lacp_pdu_write(frame, source, &them, &us);
		assert_int_equal(lacp_input(&system_of[0], 0, frame, sizeof frame, now), CNT_delivered_lacp);
		const bool synchronized = status(0, 0).partner.state & LACP_SYNCHRONIZATION;
		assert_int_equal(synchronized, meant && (theirs || (ours && knows)));
	}
}

/* update_NTT, 6.4.9: a partner that has a wrong view of our state is told at once. */
static void test_need_to_transmit(void **state)
{
	(void)state;
	const uint8_t source[ETH_ALEN] = {2, 0, 0, 0, 0, 0x99};
	const struct lacp_end them = {.system = {2, 0, 0, 0, 0, 0x99}, .system_priority = 1, .key = 7, .port = 9, .port_priority = 1,
	                              .state = LACP_AGGREGATION | LACP_ACTIVITY};
	for (unsigned bit = 1; bit < 256; bit <<= 1) {
		uint8_t frame[LACP_FRAME_LEN];
		begin();
		configure(0, 0, 1, LACP_ACTIVE, false);
		link_set(0, 0, true);
		for (unsigned i = 0; i < 3; i++) {
			struct lacp_end us = status(0, 0).actor;
			us.state ^= (uint8_t)(i == 2 ? bit : 0);
			const unsigned sent = port_of[0][0].sent;
			lacp_pdu_write(frame, source, &them, &us);
			assert_int_equal(lacp_input(&system_of[0], 0, frame, sizeof frame, now), CNT_delivered_lacp);
			if (i)
				assert_int_equal(port_of[0][0].sent - sent,
				                 i == 2 && bit & (LACP_ACTIVITY | LACP_TIMEOUT | LACP_SYNCHRONIZATION | LACP_AGGREGATION));
			pass(5 * SECOND);
		}
	}
}

static void test_slow(void **state)
{
	(void)state;
	begin();
	for (unsigned i = 0; i < 2; i++) {
		configure(0, i, 1, LACP_ACTIVE, false);
		configure(1, i, 1, LACP_ACTIVE, false);
		cable(0, i, 1, i);
	}
	pass(5 * SECOND);
	assert_int_equal(distributing(0), 3);
	const unsigned sent = port_of[0][0].sent;
	pass(300 * SECOND); /* Slow_Periodic_Time is 30 s */
	assert_in_range(port_of[0][0].sent - sent, 9, 11);
	cut(0, 1);
	pass(89 * SECOND - 30 * SECOND);
	assert_int_equal(distributing(0), 3);
	pass(35 * SECOND); /* Long_Timeout_Time is 90 s */
	assert_int_equal(distributing(0), 1);
}

/* --- links fail --- */

static void test_link_pulled(void **state)
{
	(void)state;
	begin();
	pair(3, LACP_ACTIVE, LACP_ACTIVE);
	pass(3 * SECOND);
	assert_int_equal(distributing(0), 7);
	pull(0, 1);
	assert_int_equal(distributing(0), 5); /* at once */
	assert_int_equal(distributing(1), 5);
	pass(10 * SECOND);
	assert_int_equal(port_of[0][0].changes, 2); /* the others did not notice */
	link_set(0, 1, true);
	link_set(1, 1, true);
	pass(3 * SECOND);
	assert_int_equal(distributing(0) & distributing(1), 7);
}

/* A cable that is broken while the lights are on: three seconds with the fast rate. */
static void test_silence(void **state)
{
	(void)state;
	begin();
	pair(2, LACP_ACTIVE, LACP_ACTIVE);
	pass(3 * SECOND);
	cut(0, 1);
	pass(3100 * MS);
	assert_int_equal(status(0, 1).receive, LACP_RX_EXPIRED);
	assert_int_equal(distributing(0) | distributing(1), 1);
	pass(3 * SECOND);
	assert_int_equal(status(0, 1).receive, LACP_RX_DEFAULTED);
	assert_int_equal(distributing(0) | distributing(1), 1); /* it does not become individual beside the LAG */
	cable(0, 1, 1, 1);
	pass(5 * SECOND);
	assert_int_equal(distributing(0) & distributing(1), 3);
}

/* A port hears its partner, which does not hear it: the partner says so, and it stops. */
static void test_one_way(void **state)
{
	(void)state;
	begin();
	pair(2, LACP_ACTIVE, LACP_ACTIVE);
	pass(3 * SECOND);
	port_of[0][1].to = -1; /* 0 → 1 is broken */
	pass(5 * SECOND);
	assert_int_equal(distributing(0), 1);
	assert_int_equal(distributing(1), 1);
}

/* --- partners --- */

static void test_no_partner(void **state)
{
	(void)state;
	begin();
	configure(0, 0, 1, LACP_ACTIVE, true);
	configure(0, 1, 1, LACP_ACTIVE, true);
	link_set(0, 0, true);
	link_set(0, 1, true);
	pass(2900 * MS);
	assert_int_equal(distributing(0), 0);
	pass(2200 * MS); /* Short_Timeout_Time and Aggregate_Wait_Time */
	assert_int_equal(distributing(0), 1); /* one of both */
	assert_true(status(0, 0).individual && status(0, 0).selected == LACP_SELECTED);
	assert_int_equal(status(0, 1).selected, LACP_UNSELECTED);
	link_set(0, 0, false);
	pass(3 * SECOND);
	assert_int_equal(distributing(0), 2); /* the other takes its place */
	/* a partner that aggregates is preferred to it */
	configure(1, 2, 1, LACP_ACTIVE, true);
	configure(0, 2, 1, LACP_ACTIVE, true);
	cable(0, 2, 1, 2);
	pass(3 * SECOND);
	assert_int_equal(distributing(0), 4);
}

static void test_two_partners(void **state)
{
	(void)state;
	begin();
	for (unsigned i = 0; i < 4; i++) {
		configure(0, i, 1, LACP_ACTIVE, true);
		configure(1 + i / 2, i, 1, LACP_ACTIVE, true);
	}
	cable(0, 2, 2, 2);
	pass(5 * SECOND);
	assert_int_equal(distributing(0), 4);
	cable(0, 0, 1, 0); /* a better port does not displace the LAG in use */
	cable(0, 3, 2, 3);
	pass(5 * SECOND);
	assert_int_equal(distributing(0), 0xc);
	assert_int_equal(distributing(1), 0); /* it sees that we are not synchronized */
	assert_int_equal(status(0, 0).selected, LACP_UNSELECTED);
	pull(0, 2);
	pull(0, 3);
	pass(5 * SECOND);
	assert_int_equal(distributing(0), 1);
	assert_int_equal(distributing(1), 1);
}

/* Groups are apart; a partner's groups too (its key is part of the LAG). */
static void test_groups(void **state)
{
	(void)state;
	begin();
	for (unsigned i = 0; i < 4; i++) {
		configure(0, i, 1 + i / 2, LACP_ACTIVE, true);
		configure(1, i, 1 + i / 2, LACP_ACTIVE, true);
		cable(0, i, 1, i);
	}
	pass(3 * SECOND);
	assert_int_equal(distributing(0) & distributing(1), 0xf);
	assert_int_equal(status(0, 0).actor.key, 1);
	assert_int_equal(status(0, 2).partner.key, 2);
	configure(1, 1, 3, LACP_ACTIVE, true);
	assert_int_equal(distributing(1), 0xd);
	pass(3 * SECOND);
	assert_int_equal(distributing(0), 0xd);
	assert_int_equal(distributing(1), 0xd); /* port 1: this end is ready, the other is not */
}

static void test_own_loop(void **state)
{
	(void)state;
	begin();
	configure(0, 0, 1, LACP_ACTIVE, true);
	configure(0, 1, 1, LACP_ACTIVE, true);
	cable(0, 0, 0, 1);
	pass(10 * SECOND);
	assert_int_equal(distributing(0), 0);
	assert_true(status(0, 0).looped);
}

/* port_moved, 6.4.8: the cable goes to another port of ours. */
static void test_moved(void **state)
{
	(void)state;
	begin();
	pair(1, LACP_ACTIVE, LACP_ACTIVE);
	pass(3 * SECOND);
	link_set(0, 0, false);
	configure(0, 3, 1, LACP_ACTIVE, true);
	assert_int_equal(status(0, 0).partner.port, 1);
	cable(0, 3, 1, 0);
	pass(5 * SECOND);
	assert_int_equal(distributing(0), 8);
	assert_int_equal(status(0, 0).partner.port, 0); /* forgotten */
	assert_int_equal(status(0, 3).partner.port, 1);
	/* what is known of another port of that partner stays */
	begin();
	pair(2, LACP_ACTIVE, LACP_ACTIVE);
	pass(3 * SECOND);
	pull(0, 0);
	pull(0, 1);
	configure(0, 3, 1, LACP_ACTIVE, true);
	cable(0, 3, 1, 0);
	pass(5 * SECOND);
	assert_int_equal(status(0, 0).partner.port, 0);
	assert_int_equal(status(0, 1).partner.port, 2);
}

static void duplex_set(unsigned port, bool full)
{
	lacp_port_link(&system_of[0], port, true, full, now);
	lacp_port_link(&system_of[1], port, true, full, now);
}

/* LACP_Enabled (6.4.8) is FALSE on a link of half duplex: no LACPDUs, and an individual link. */
static void test_half_duplex(void **state)
{
	(void)state;
	begin();
	pair(2, LACP_ACTIVE, LACP_ACTIVE);
	pass(3 * SECOND);
	duplex_set(0, false);
	assert_false(port_of[0][0].distributing || port_of[1][0].distributing);
	flies = 0;
	const unsigned sent = port_of[0][0].sent;
	pass(200 * SECOND);
	assert_int_equal(port_of[0][0].sent, sent);
	assert_int_equal(status(0, 0).receive, LACP_RX_LACP_DISABLED);
	assert_int_equal(lacp_input(&system_of[0], 0, port_of[1][1].last, LACP_FRAME_LEN, now), CNT_drop_port_down);
	assert_true(status(0, 0).individual);
	assert_int_equal(distributing(0), 2);
	assert_int_equal(distributing(1), 2);
	/* the other link too: one of both is used */
	duplex_set(1, false);
	pass(3 * SECOND);
	assert_int_equal(distributing(0), 1);
	assert_int_equal(distributing(1), 1);
	/* as before */
	duplex_set(0, true);
	duplex_set(1, true);
	pass(10 * SECOND);
	assert_int_equal(distributing(0) & distributing(1), 3);
	/* mode `on` does not ask */
	begin();
	pair(2, LACP_ON, LACP_ON);
	duplex_set(0, false);
	pass(SECOND);
	assert_int_equal(distributing(0) & distributing(1), 3);
}

static void test_on(void **state)
{
	(void)state;
	begin();
	pair(2, LACP_ON, LACP_ON);
	pass(100 * MS);
	assert_int_equal(distributing(0) & distributing(1), 3);
	assert_int_equal(port_of[0][0].sent, 0);
	pull(0, 0);
	assert_int_equal(distributing(0), 2);
	configure(0, 1, 1, LACP_ACTIVE, true); /* the protocol begins: nobody answers */
	assert_int_equal(distributing(0), 0);
	pass(10 * SECOND);
	assert_int_equal(distributing(0), 2);
	assert_true(status(0, 1).individual);
}

/* --- parameters --- */

static void test_min_links(void **state)
{
	(void)state;
	begin();
	lacp_set_min_links(&system_of[0], 1, 2, now);
	pair(2, LACP_ACTIVE, LACP_ACTIVE);
	pass(5 * SECOND);
	assert_int_equal(distributing(0) & distributing(1), 3);
	pull(0, 1);
	assert_int_equal(distributing(0), 0);
	assert_int_equal(status(0, 0).selected, LACP_STANDBY);
	pass(1 * MS);
	assert_int_equal(distributing(1), 0); /* the partner sends nothing into the void */
	link_set(0, 1, true);
	link_set(1, 1, true);
	pass(5 * SECOND);
	assert_int_equal(distributing(0) & distributing(1), 3);
	lacp_set_min_links(&system_of[0], 1, 3, now);
	assert_int_equal(distributing(0), 0);
	lacp_set_min_links(&system_of[0], 1, 0, now);
	pass(5 * SECOND);
	assert_int_equal(distributing(0), 3);
}

static void test_priorities(void **state)
{
	(void)state;
	begin();
	pair(1, LACP_ACTIVE, LACP_ACTIVE);
	pass(3 * SECOND);
	lacp_set_priority(&system_of[0], 7, now);
	pass(5 * SECOND);
	assert_int_equal(status(1, 0).partner.system_priority, 7);
	assert_int_equal(distributing(0) & distributing(1), 1);
	struct lacp_port_params p = system_of[0].port[0].params;
	p.priority = 9;
	lacp_port_set_params(&system_of[0], 0, &p, now);
	pass(5 * SECOND);
	assert_int_equal(status(1, 0).partner.port_priority, 9);
	assert_int_equal(distributing(0) & distributing(1), 1);
	/* among ports without partners, the priority chooses */
	begin();
	for (unsigned i = 0; i < 3; i++) {
		const struct lacp_port_params q = {.group = 2, .mode = LACP_ACTIVE, .mac = {2, 0, 0, 0, 0, 1},
		                                   .priority = (uint16_t)(i == 2 ? 1 : 100)};
		lacp_port_set_params(&system_of[0], i, &q, now);
		link_set(0, i, true);
	}
	pass(6 * SECOND);
	assert_int_equal(distributing(0), 4);
}

/* --- what is sent --- */

/* 6.4.16: no more than three LACPDUs in a second, whatever the partner says. */
static void test_rate(void **state)
{
	(void)state;
	begin();
	pair(1, LACP_ACTIVE, LACP_ACTIVE);
	pass(3 * SECOND);
	cut(0, 0);
	uint8_t frame[LACP_FRAME_LEN];
	memcpy(frame, port_of[1][0].last, sizeof frame);
	const unsigned first = port_of[0][0].sent;
	for (unsigned i = 0; i < 40; i++) {
		frame[51] ^= 1; /* what it believes of our port: wrong, so we have to tell */
		lacp_input(&system_of[0], 0, frame, sizeof frame, now);
		pass(50 * MS);
	}
	assert_in_range(port_of[0][0].sent - first, 4, 9);
	for (unsigned i = first + 3; i < port_of[0][0].sent; i++)
		assert_true(port_of[0][0].sent_ns[i % 256] - port_of[0][0].sent_ns[(i - 3) % 256] >= SECOND);
}

static void test_marker(void **state)
{
	(void)state;
	uint8_t frame[LACP_FRAME_LEN] = {0x01, 0x80, 0xc2, 0, 0, 2, 2, 0, 0, 0, 0, 0x99, 0x88, 0x09, 2, 1,
	                                 1, 16, 0, 9, 2, 0, 0, 0, 0, 0x77, 1, 2, 3, 4};
	begin();
	assert_int_equal(lacp_input(&system_of[0], 0, frame, sizeof frame, now), CNT_drop_port_down);
	pair(1, LACP_ACTIVE, LACP_ACTIVE);
	cut(0, 0);
	assert_int_equal(lacp_input(&system_of[0], 0, frame, sizeof frame, now), CNT_delivered_lacp);
	assert_int_equal(port_of[0][0].markers, 1);
	assert_int_equal(port_of[0][0].last[16], 2);
	assert_memory_equal(port_of[0][0].last + 18, frame + 18, 12);
	lacp_input(&system_of[0], 0, port_of[0][0].last, sizeof frame, now); /* a response is not answered */
	assert_int_equal(port_of[0][0].markers, 1);
	for (unsigned i = 1; i < 10; i++)
		assert_int_equal(lacp_input(&system_of[0], 0, frame, sizeof frame, now), CNT_delivered_lacp);
	assert_int_equal(lacp_input(&system_of[0], 0, frame, sizeof frame, now), CNT_drop_lacp_marker_rate);
	assert_int_equal(port_of[0][0].markers, 10);
	pass(SECOND);
	assert_int_equal(lacp_input(&system_of[0], 0, frame, sizeof frame, now), CNT_delivered_lacp);
	assert_int_equal(status(0, 0).counters.rx_dropped, 2);
}

static void test_churn(void **state)
{
	(void)state;
	begin();
	pair(2, LACP_ACTIVE, LACP_ACTIVE);
	lacp_set_min_links(&system_of[1], 1, 3, now);
	pass(59 * SECOND);
	assert_int_equal(status(0, 0).partner_churn, LACP_CHURN_MONITOR);
	pass(2 * SECOND);
	assert_int_equal(status(0, 0).partner_churn, LACP_CHURN);
	assert_int_equal(status(0, 0).actor_churn, LACP_NO_CHURN);
	assert_int_equal(status(1, 0).actor_churn, LACP_CHURN);
	lacp_set_min_links(&system_of[1], 1, 0, now);
	pass(3 * SECOND);
	assert_int_equal(status(0, 0).partner_churn, LACP_NO_CHURN);
	assert_int_equal(status(0, 0).counters.partner_churn, 1);
}

/* --- loss, and random changes --- */

/* With a third of the PDUs lost, ports may come and go; when the loss ends, all are in use. Nothing is ever
 * distributed by a port of which the other end is in no group. */
static void test_loss(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 50; round++) {
		begin();
		loss = 85;
		pair(4, LACP_ACTIVE, round & 1 ? LACP_PASSIVE : LACP_ACTIVE);
		for (unsigned i = 0; i < 30; i++) {
			const unsigned port = (unsigned)(random64() % 4);
			if (random64() & 1)
				pull(0, port);
			else
				cable(0, port, 1, port);
			pass(random64() % (4 * SECOND));
		}
		loss = 0;
		for (unsigned i = 0; i < 4; i++)
			cable(0, i, 1, i);
		pass(10 * SECOND);
		assert_int_equal(distributing(0), 0xf);
		assert_int_equal(distributing(1), 0xf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_links),    cmocka_unit_test(test_passive),
		cmocka_unit_test(test_synchronized), cmocka_unit_test(test_need_to_transmit),
		cmocka_unit_test(test_slow),         cmocka_unit_test(test_link_pulled),
		cmocka_unit_test(test_silence),      cmocka_unit_test(test_one_way),
		cmocka_unit_test(test_no_partner),   cmocka_unit_test(test_two_partners),
		cmocka_unit_test(test_groups),       cmocka_unit_test(test_own_loop),
		cmocka_unit_test(test_moved),        cmocka_unit_test(test_half_duplex),
		cmocka_unit_test(test_on),           cmocka_unit_test(test_min_links),
		cmocka_unit_test(test_priorities),   cmocka_unit_test(test_rate),
		cmocka_unit_test(test_marker),       cmocka_unit_test(test_churn),
		cmocka_unit_test(test_loss),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
