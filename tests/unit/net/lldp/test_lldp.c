/* net/lldp/lldp: when LLDPDUs are sent, which neighbours are kept; virtual time. */
#include "tests/unit/rig/host.h"

#include "net/lldp/lldp.h"

#define PORTS 2u
#define SECOND LLDP_SECOND_NS
#define START (1000 * SECOND)

static struct lldp agent;
static struct lldp_neighbour *table;
static uint64_t now, aged;
static unsigned sent[PORTS], shutdowns[PORTS];
static uint64_t sent_at[PORTS][64]; /* LLDPDUs that are no shutdown */
static uint8_t last[LLDP_FRAME_MAX];
static unsigned last_len;
static const uint8_t mac[] = {2, 0, 0, 0, 0, 9};
static const uint8_t names[PORTS][4] = {{'e', 't', 'h', '0'}, {'e', 't', 'h', '1'}};

static void describe(void *ctx, unsigned port, struct lldp_pdu *out)
{
	assert_ptr_equal(ctx, &agent);
	out->chassis = (struct lldp_id){LLDP_CHASSIS_MAC, {mac, sizeof mac}};
	out->port = (struct lldp_id){LLDP_PORT_INTERFACE, {names[port], 4}};
	out->has_vlan = true;
}

static void on_send(void *ctx, unsigned port, uint8_t *frame, unsigned len)
{
	static const uint8_t zero[ETH_ALEN];
	assert_ptr_equal(ctx, &agent);
	assert_true(len >= ETH_FRAME_MIN && len <= LLDP_FRAME_MAX);
	assert_memory_equal(frame, lldp_nearest_bridge, ETH_ALEN);
	assert_memory_equal(frame + ETH_ALEN, zero, ETH_ALEN);
	assert_int_equal(be16_load(frame + 12), LLDP_ETH_TYPE);
	struct lldp_pdu pdu;
	assert_int_equal(lldp_pdu_read(frame + ETH_HLEN, len - ETH_HLEN, &pdu), CNT_NONE);
	assert_memory_equal(pdu.port.value.at, names[port], 4);
	memcpy(last, frame, len);
	last_len = len;
	if (pdu.ttl_s == 0) {
		shutdowns[port]++;
		return;
	}
	assert_int_equal(pdu.ttl_s, agent.params.ttl_s);
	if (sent[port] < ARRAY_LEN(sent_at[0]))
		sent_at[port][sent[port]] = now;
	sent[port]++;
}

static const struct lldp_ops ops = {describe, on_send};

/* Until `seconds` have passed, tick by deadline. */
static void wait(unsigned seconds)
{
	const uint64_t end = now + seconds * SECOND;
	for (uint64_t due; (due = lldp_deadline(&agent)) <= end;) {
		assert_true(due > now);
		now = due;
		lldp_tick(&agent, now, &aged);
		assert_true(lldp_deadline(&agent) > now);
	}
	now = end;
}

static int setup(void **state)
{
	(void)state;
	now = START;
	aged = 0;
	memset(sent, 0, sizeof sent);
	memset(shutdowns, 0, sizeof shutdowns);
	table = malloc(lldp_table_bytes(PORTS));
	lldp_init(&agent, table, PORTS, &LLDP_PARAMS_DEFAULT, &ops, &agent);
	assert_true(lldp_deadline(&agent) == UINT64_MAX);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(table);
	return 0;
}

static void start(unsigned port)
{
	lldp_port_link(&agent, port, true, now);
	lldp_port_admin(&agent, port, true, true, now);
}

/* An LLDPDU of neighbour `who`. */
static enum counter hear(unsigned port, uint8_t who, uint16_t ttl_s)
{
	uint8_t frame[LLDP_FRAME_MAX] = {0};
	const uint8_t from[ETH_ALEN] = {2, 0, 0, 0, 1, who};
	const struct lldp_pdu pdu = {
		.chassis = {LLDP_CHASSIS_MAC, {from, sizeof from}},
		.port = {LLDP_PORT_LOCAL, {&who, 1}},
		.ttl_s = ttl_s,
	};
	eth_header_build(frame, lldp_nearest_bridge, from, LLDP_ETH_TYPE);
	const unsigned len = ETH_HLEN + lldp_pdu_write(frame + ETH_HLEN, &pdu);
	return lldp_input(&agent, port, frame, eth_pad(frame, len), now);
}

static void test_interval(void **state)
{
	(void)state;
	lldp_port_admin(&agent, 0, true, false, now); /* without a link nothing is sent */
	wait(100);
	assert_int_equal(sent[0], 0);
	lldp_port_link(&agent, 0, true, now);
	const uint64_t begin = now;
	wait(95);
	assert_int_equal(sent[0], 4);
	for (unsigned i = 0; i < 4; i++)
		assert_true(sent_at[0][i] == begin + i * 30 * SECOND);
	lldp_port_link(&agent, 0, false, now);
	wait(100);
	assert_int_equal(sent[0], 4);
	assert_int_equal(shutdowns[0], 0);
	assert_int_equal(sent[1], 0);
	lldp_port_link(&agent, 0, true, now); /* and at once when it is back */
	assert_int_equal(sent[0], 5);
	assert_int_equal(agent.port[0].counters.tx, 5);
}

/* A late tick sends one LLDPDU, not all that were due. */
static void test_late(void **state)
{
	(void)state;
	start(0);
	now += 200 * SECOND;
	lldp_tick(&agent, now, &aged);
	lldp_tick(&agent, now, &aged);
	assert_int_equal(sent[0], 2);
	wait(29);
	assert_int_equal(sent[0], 2);
	wait(1);
	assert_int_equal(sent[0], 3);
}

static void test_shutdown(void **state)
{
	(void)state;
	start(0);
	wait(10);
	lldp_port_admin(&agent, 0, false, true, now);
	assert_int_equal(shutdowns[0], 1);
	lldp_port_admin(&agent, 0, false, true, now); /* said once */
	assert_int_equal(shutdowns[0], 1);
	lldp_port_admin(&agent, 0, true, true, now);
	assert_int_equal(sent[0], 1);
	const uint64_t begin = now;
	wait(5);
	assert_int_equal(sent[0], 2); /* after reinitDelay */
	assert_true(sent_at[0][1] == begin + LLDP_REINIT_S * SECOND);
	/* while the link is down nobody is there to be told */
	lldp_port_link(&agent, 0, false, now);
	lldp_port_admin(&agent, 0, false, true, now);
	assert_int_equal(shutdowns[0], 1);
	assert_int_equal(agent.port[0].counters.tx_shutdown, 1);
}

static void test_fast_start(void **state)
{
	(void)state;
	start(0);
	wait(10);
	assert_int_equal(hear(0, 1, 120), CNT_delivered_lldp);
	wait(40);
	const uint64_t heard = START + 10 * SECOND;
	static const unsigned offsets[] = {0, 1, 2, 3, 33};
	assert_int_equal(sent[0], 1 + ARRAY_LEN(offsets));
	for (unsigned i = 0; i < ARRAY_LEN(offsets); i++)
		assert_true(sent_at[0][1 + i] == heard + offsets[i] * SECOND);
	hear(0, 1, 120); /* it is known already */
	wait(20);
	assert_int_equal(sent[0], 6);
	assert_int_equal(sent[1], 0);
}

/* Neighbours of all ports are forgotten without a word, and the next LLDPDU of one is a new neighbour's. */
static void test_clear(void **state)
{
	(void)state;
	uint64_t ended = 0;
	start(0);
	start(1);
	wait(10);
	hear(0, 1, 20);
	hear(0, 2, 120);
	hear(1, 3, 60);
	wait(10);
	const unsigned before = sent[0];
	lldp_clear_neighbours(&agent);
	assert_int_equal(lldp_neighbours(&agent, 0) + lldp_neighbours(&agent, 1), 0);
	assert_int_equal(sent[0], before);
	assert_true(agent.expires_ns == UINT64_MAX);
	lldp_tick(&agent, now + 200 * SECOND, &ended);
	assert_int_equal(ended, 0);
	hear(0, 1, 20);
	assert_int_equal(lldp_neighbours(&agent, 0), 1);
	assert_true(agent.port[0].fast > 0);
	lldp_clear_counters(&agent);
	assert_int_equal(agent.port[0].counters.rx + agent.port[0].counters.tx + agent.port[1].counters.rx, 0);
	assert_int_equal(lldp_neighbours(&agent, 0), 1);
}

/* Invariant 1, however often the port has a reason to send. */
static void test_credit(void **state)
{
	(void)state;
	start(0);
	for (unsigned i = 0; i < 100; i++)
		lldp_port_changed(&agent, 0, now);
	assert_int_equal(sent[0], LLDP_CREDIT);
	for (unsigned i = 0; i < 40; i++) {
		hear(0, (uint8_t)i, 120);
		hear(0, (uint8_t)i, 0); /* its place is free for the next one */
		wait(i % 4 == 0);
	}
	assert_true(sent[0] <= LLDP_CREDIT + 10);
	assert_true(sent[0] >= LLDP_CREDIT + 9);
	wait(1); /* what waited for credit is sent */
	assert_false(agent.port[0].pending);
	wait(300);
	assert_int_equal(agent.port[0].credit, LLDP_CREDIT - 1);
}

static void test_changed(void **state)
{
	(void)state;
	lldp_port_changed(&agent, 0, now); /* off: nothing */
	start(0);
	wait(20);
	lldp_port_changed(&agent, 0, now);
	assert_int_equal(sent[0], 2);
	wait(29); /* the interval begins anew */
	assert_int_equal(sent[0], 2);
	wait(1);
	assert_int_equal(sent[0], 3);
	lldp_set_params(&agent, &(struct lldp_params){5, 21}, now);
	wait(5);
	assert_int_equal(sent[0], 4);
	lldp_set_params(&agent, &(struct lldp_params){30, 121}, now); /* does not postpone */
	wait(5);
	assert_int_equal(sent[0], 5);
	wait(29);
	assert_int_equal(sent[0], 5);
}

static void test_neighbours(void **state)
{
	(void)state;
	start(0);
	start(1);
	assert_int_equal(hear(0, 1, 10), CNT_delivered_lldp);
	wait(3);
	hear(0, 2, 100);
	hear(1, 1, 100); /* the same on another port is another neighbour */
	assert_int_equal(lldp_neighbours(&agent, 0), 2);
	assert_int_equal(lldp_neighbours(&agent, 1), 1);
	const struct lldp_neighbour *n = lldp_neighbour(&agent, 0, 0);
	assert_true(n->since_ns == START && n->heard_ns == START && n->expires_ns == START + 10 * SECOND);
	assert_int_equal(n->source[5], 1);
	hear(0, 1, 10); /* refreshed */
	assert_true(n->since_ns == START && n->heard_ns == now);
	wait(9);
	assert_int_equal(lldp_neighbours(&agent, 0), 2);
	wait(1);
	assert_int_equal(lldp_neighbours(&agent, 0), 1);
	assert_int_equal(aged, 1);
	assert_int_equal(agent.port[0].counters.rx_aged, 1);
	assert_int_equal(hear(0, 2, 0), CNT_delivered_lldp); /* it shuts down */
	assert_int_equal(lldp_neighbours(&agent, 0), 0);
	assert_int_equal(lldp_neighbours(&agent, 1), 1);
	assert_int_equal(hear(0, 7, 0), CNT_delivered_lldp); /* unknown */
	assert_int_equal(lldp_neighbours(&agent, 0), 0);
	assert_int_equal(aged, 1);
}

static void test_too_many(void **state)
{
	(void)state;
	start(0);
	start(1);
	for (uint8_t who = 0; who < LLDP_EACH; who++)
		assert_int_equal(hear(0, who, 65535), CNT_delivered_lldp);
	assert_int_equal(hear(0, 100, 120), CNT_drop_lldp_room);
	assert_int_equal(agent.port[0].counters.rx_refused, 1);
	assert_int_equal(hear(0, 3, 65535), CNT_delivered_lldp); /* the known ones go on */
	assert_int_equal(hear(1, 100, 120), CNT_delivered_lldp); /* the other port has its own places */
	hear(0, 3, 0);
	assert_int_equal(hear(0, 100, 120), CNT_delivered_lldp);
}

static void test_forgotten(void **state)
{
	(void)state;
	start(0);
	start(1);
	hear(0, 1, 100);
	hear(1, 1, 100);
	lldp_port_link(&agent, 0, false, now);
	assert_int_equal(hear(0, 2, 100), CNT_drop_lldp_off);
	assert_int_equal(lldp_neighbours(&agent, 0), 1); /* until its time, or the link is back */
	lldp_port_link(&agent, 0, true, now);
	assert_int_equal(lldp_neighbours(&agent, 0), 0);
	hear(0, 1, 100);
	lldp_port_admin(&agent, 0, true, false, now);
	assert_int_equal(lldp_neighbours(&agent, 0), 0);
	assert_int_equal(hear(0, 1, 100), CNT_drop_lldp_off);
	assert_int_equal(shutdowns[0], 0);
	assert_int_equal(lldp_neighbours(&agent, 1), 1);
	lldp_port_link(&agent, 1, false, now);
	wait(100);
	assert_int_equal(lldp_neighbours(&agent, 1), 0);
	assert_int_equal(aged, 1);
}

static void test_refused(void **state)
{
	(void)state;
	start(0);
	uint8_t frame[LLDP_FRAME_MAX + 1];
	memcpy(frame, last, last_len);
	assert_int_equal(lldp_input(&agent, 0, frame, last_len, now), CNT_delivered_lldp);
	assert_int_equal(lldp_neighbours(&agent, 0), 1); /* a loop: we see ourselves, by the port's name */
	for (unsigned n = ETH_HLEN; n < ETH_HLEN + 20; n++)
		assert_int_not_equal(lldp_input(&agent, 0, frame, n, now), CNT_delivered_lldp);
	memset(frame + last_len, 0, sizeof frame - last_len);
	assert_int_equal(lldp_input(&agent, 0, frame, LLDP_FRAME_MAX, now), CNT_delivered_lldp);
	assert_int_equal(lldp_neighbour(&agent, 0, 0)->len, 9 + 7 + 4 + 8 + 2);
	assert_int_equal(lldp_input(&agent, 0, frame, LLDP_FRAME_MAX + 1, now), CNT_drop_lldp_length);
	frame[5] = 0x03; /* nearest non-TPMR bridge */
	assert_int_equal(lldp_input(&agent, 0, frame, last_len, now), CNT_drop_lldp_scope);
	assert_int_equal(agent.port[0].counters.rx, 24);
	assert_int_equal(agent.port[0].counters.rx_dropped, 22);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_interval), TEST(test_late),       TEST(test_shutdown), TEST(test_fast_start),
		TEST(test_clear), TEST(test_credit),   TEST(test_changed),    TEST(test_neighbours), TEST(test_too_many),
		TEST(test_forgotten), TEST(test_refused),
	};
	return cmocka_run_group_tests_name("lldp", tests, NULL, NULL);
}
