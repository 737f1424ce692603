/*
 * One queue pair is stopped and started while the others carry traffic (nic_ops.pair_stop): driver
 * and model in one process, once for each card.
 */
#include "tests/unit/rig/model_port.h"
#include "tests/unit/rig/nicsim_frames.h"

#define ALL_FEATURES (NIC_RX_CSUM | NIC_TX_CSUM | NIC_RSS)
#define FLOWS 256u
#define SERVED 4u /* pairs */
#define ROUNDS 60u

static struct flow flow_of(unsigned k)
{
	struct flow w = {.version = k & 1 ? 6 : 4, .protocol = 17, .payload = 20,
	                 .sport = (uint16_t)(1000 + k * 13), .dport = (uint16_t)(80 + k / 4)};
	for (unsigned i = 0; i < 16; i++) {
		w.src[i] = (uint8_t)(10 + i * (k + 1));
		w.dst[i] = (uint8_t)(20 + i + k);
	}
	return w;
}

/* A frame of each flow arrives, and no pair polls. */
static void arrive(void)
{
	for (unsigned k = 0; k < FLOWS; k++) {
		struct flow w = flow_of(k);
		rig_force(f, make_ip(f, &w), 0);
	}
	rig_run(100000);
}

/* A frame of each flow arrives; counts those that each pair gets. */
static void receive(unsigned got[SERVED])
{
	arrive();
	for (unsigned q = 0; q < SERVED; q++) {
		bool there = port.pair[q].q.ops != NULL;
		got[q] = there ? rx_all(q) : 0;
	}
}

static unsigned sum(const unsigned got[SERVED])
{
	return got[0] + got[1] + got[2] + got[3];
}

/* Each pair except `gone` sends a frame. */
static void send_by_others(unsigned gone)
{
	for (unsigned q = 0; q < SERVED; q++) {
		struct rig_frame out;
		if (q == gone)
			continue;
		take(q, f, numbered(q, 80));
		assert_int_equal(tx(q), 1);
		rig_run(100000);
		assert_true(rig_sent(&out));
		assert_memory_equal(out.data, f, 80);
		assert_false(rig_sent(&out));
	}
}

static void let_go_all(void)
{
	for (unsigned q = 0; q < SERVED; q++)
		let_go(q);
}

static void leave(unsigned i)
{
	if (pair_leave(i) != E_OK)
		fail_msg("%s", port.nic.error);
	port.pair[i].q.ops = NULL;
}

static void come_back(unsigned i)
{
	if (pair_return(i) != E_OK)
		fail_msg("%s", port.nic.error);
}

/* Its frames in progress are sent or lost; flows of the others stay where they were, and its own
 * flows return to it. */
static void others_go_on(void **s)
{
	(void)s;
	unsigned before[SERVED], now[SERVED];
	struct rig_frame out;
	up(SERVED, ALL_FEATURES, STANDARD);
	receive(before);
	assert_int_equal(sum(before), FLOWS);
	let_go_all();
	for (unsigned i = 0; i < SERVED; i++) {
		for (unsigned k = 0; k < 40; k++)
			take(i, f, numbered(k, 60 + k));
		assert_true(tx(i) > 0);
		leave(i);
		while (rig_sent(&out))
			;
		receive(now);
		assert_int_equal(now[i], 0);
		assert_int_equal(sum(now), FLOWS);
		for (unsigned q = 0; q < SERVED; q++)
			assert_true(q == i || now[q] > before[q]);
		let_go_all();
		send_by_others(i);
		come_back(i);
		receive(now);
		assert_memory_equal(now, before, sizeof now);
		let_go_all();
		send_by_others(SERVED);
	}
}

/* The number of unread frames in its ring is known, and those of the others are there, however many
 * it had taken before. */
static void what_it_has_not_read_is_known(void **s)
{
	(void)s;
	unsigned each[SERVED], rest[SERVED];
	up(SERVED, ALL_FEATURES, STANDARD);
	receive(each);
	let_go_all();
	for (unsigned i = 0; i < 2 * SERVED; i++) {
		unsigned pair = i % SERVED;
		arrive();
		leave(pair);
		assert_int_equal(port.pair[pair].left, each[pair]);
		for (unsigned q = 0; q < SERVED; q++)
			rest[q] = q == pair ? 0 : rx_all(q);
		assert_int_equal(sum(rest), FLOWS - each[pair]);
		let_go_all();
		come_back(pair);
		leave(pair);
		assert_int_equal(port.pair[pair].left, 0);
		come_back(pair);
		receive(rest);
		assert_memory_equal(rest, each, sizeof rest);
		let_go_all();
	}
}

/* Nothing is used up, and the port can still be stopped and started. */
static void again_and_again(void **s)
{
	(void)s;
	unsigned got[SERVED];
	up(SERVED, ALL_FEATURES, STANDARD);
	for (unsigned round = 0; round < ROUNDS; round++) {
		leave(round * 7 % SERVED);
		come_back(round * 7 % SERVED);
		assert_true(link_now().up);
		rig_run(1000000);
	}
	receive(got);
	assert_int_equal(sum(got), FLOWS);
	let_go_all();
	port_stop();
	assert_int_equal(port_start(SERVED, ALL_FEATURES, STANDARD, 1000), E_OK);
	port_attach();
	while (!link_now().up)
		rig_run(1000000);
	receive(got);
	assert_int_equal(sum(got), FLOWS);
}

/* Stopped while a pair is away: nothing is left that would disturb a start. */
static void stops_with_a_pair_away(void **s)
{
	(void)s;
	up(SERVED, ALL_FEATURES, STANDARD);
	leave(1);
	port_stop();
	assert_int_equal(port_start(SERVED, ALL_FEATURES, STANDARD, 1000), E_OK);
	port_attach();
}

/* There is no other pair to which frames could be steered. */
static void the_only_pair(void **s)
{
	(void)s;
	struct flow w = flow_of(0);
	up(1, ALL_FEATURES, STANDARD);
	if (!card.only_pair_alone) {
		assert_int_equal(pair_leave(0), E_NOTSUP);
		assert_non_null(port.nic.error);
		return;
	}
	leave(0);
	rig_force(f, make_ip(f, &w), 0);
	rig_run(100000);
	come_back(0);
	rig_force(f, make_ip(f, &w), 0);
	assert_int_equal(rx_all(0), 1);
}

#define TESTS \
	cmocka_unit_test_teardown(others_go_on, teardown), \
		cmocka_unit_test_teardown(what_it_has_not_read_is_known, teardown), \
		cmocka_unit_test_teardown(again_and_again, teardown), \
		cmocka_unit_test_teardown(stops_with_a_pair_away, teardown), \
		cmocka_unit_test_teardown(the_only_pair, teardown)

int main(void)
{
	const struct CMUnitTest strictly[] = {TESTS};
	const struct CMUnitTest at_line_rate[] = {TESTS};
	int failed = cmocka_run_group_tests(strictly, strict, NULL);
	return failed + cmocka_run_group_tests(at_line_rate, line_rate, NULL);
}
