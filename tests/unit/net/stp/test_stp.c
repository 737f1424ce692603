/* net/stp, one bridge: parameters, what it sends and when, edge ports, BPDU guard, looped wires,
 * protocol migration, topology changes, what `show spanning-tree` reads. Networks: test_stp_net.c. */
#include "tests/unit/rig/host.h"

#include "drivers/nic.h"
#include "net/stp/stp.h"

#define MS 1000000ull
#define SECOND (1000 * MS)
#define PORTS 4

_Static_assert(STP_PORTS_MAX >= NIC_PORTS_MAX, "each port of the machine has a port of the bridge");

static const uint8_t own_mac[ETH_ALEN] = {2, 0, 0, 0, 0, 0x50};
#define OWN_ID 0x8000020000000050ull
#define BETTER 0x1000020000000001ull
#define WORSE 0xf0000200000000f0ull

static struct stp bridge;
static uint64_t now;
static struct {
	enum stp_state state[PORTS];
	unsigned states[PORTS], flushed[PORTS], sent[PORTS], acks[PORTS], guarded[PORTS];
	unsigned serial, changed[PORTS]; /* the order of changes of state */
	struct stp_bpdu last[PORTS]; /* sent */
} seen;

static void on_send(void *ctx, unsigned port, const uint8_t *frame)
{
	(void)ctx;
	seen.sent[port]++;
	assert_int_equal(stp_bpdu_read(frame, STP_FRAME_LEN, 0, 0, &seen.last[port]), CNT_NONE);
	seen.acks[port] += seen.last[port].tcAck;
}

static void on_state(void *ctx, unsigned port, enum stp_state state)
{
	(void)ctx;
	seen.state[port] = state;
	seen.states[port]++;
	seen.changed[port] = ++seen.serial;
}

static void on_flush(void *ctx, unsigned port)
{
	(void)ctx;
	seen.flushed[port]++;
}

static void on_guarded(void *ctx, unsigned port)
{
	(void)ctx;
	seen.guarded[port]++;
}

static const struct stp_ops ops = {on_send, on_state, on_flush, on_guarded};

static void begin_with(const struct stp_params *params)
{
	now = 77 * SECOND;
	memset(&seen, 0, sizeof seen);
	assert_int_equal(stp_init(&bridge, params, own_mac, PORTS, &ops, NULL, now), E_OK);
}

static void begin(void)
{
	const struct stp_params usual = STP_PARAMS_DEFAULT;
	begin_with(&usual);
}

static void link_up(unsigned port)
{
	stp_port_link(&bridge, port, true, 1000, true, now);
}

static void pass(uint64_t ns)
{
	const uint64_t end = now + ns;
	while (stp_deadline(&bridge) <= end) {
		now = stp_deadline(&bridge);
		stp_tick(&bridge, now);
	}
	now = end;
}

/* A BPDU of a neighbour that is itself the root. */
static struct stp_bpdu from(uint64_t root, enum stp_bpdu_type type)
{
	return (struct stp_bpdu){
		.type = type,
		.role = STP_BPDU_ROLE_DESIGNATED,
		.priority = {.RootBridgeID = root, .DesignatedBridgeID = root, .DesignatedPortID = 0x8001},
		.times = {.MaxAge = 20 * 256, .HelloTime = 2 * 256, .ForwardDelay = 15 * 256},
	};
}

static enum counter hear(unsigned port, const struct stp_bpdu *b)
{
	static const uint8_t mac[ETH_ALEN] = {2, 0, 0, 0, 0, 0x99};
	uint8_t frame[STP_FRAME_LEN];
	stp_bpdu_write(frame, mac, b);
	return stp_input(&bridge, port, frame, sizeof frame, now);
}

static struct stp_port_status status(unsigned port)
{
	struct stp_port_status s;
	stp_port_status(&bridge, port, &s);
	return s;
}

/* --- parameters --- */

static void test_parameters(void **state)
{
	(void)state;
	const struct stp_params usual = STP_PARAMS_DEFAULT;
	assert_null(stp_params_wrong(&usual));
#define WRONG(field, value) \
	do { \
		struct stp_params p = usual; \
		p.field = (value); \
		assert_non_null(stp_params_wrong(&p)); \
		assert_int_equal(stp_init(&bridge, &p, own_mac, PORTS, &ops, NULL, 0), E_INVAL); \
	} while (0)
	WRONG(priority, 1);
	WRONG(hello_s, 0);
	WRONG(hello_s, 3);
	WRONG(max_age_s, 5);
	WRONG(max_age_s, 41);
	WRONG(forward_delay_s, 3);
	WRONG(forward_delay_s, 31);
	WRONG(tx_hold, 0);
	WRONG(tx_hold, 11);
	WRONG(version, 1);
	WRONG(max_age_s, 29);       /* 17.14: 2 * (15 - 1) = 28 */
	WRONG(forward_delay_s, 10); /* 2 * 9 = 18 */
#undef WRONG
	struct stp_params edge = usual;
	edge.max_age_s = 28;
	assert_null(stp_params_wrong(&edge));
	edge = (struct stp_params){.hello_s = 2, .max_age_s = 6, .forward_delay_s = 4, .tx_hold = 1,
	                           .version = STP_VERSION_RSTP};
	assert_null(stp_params_wrong(&edge));
	static const uint8_t group[ETH_ALEN] = {1, 0, 0, 0, 0, 1};
	assert_int_equal(stp_init(&bridge, &usual, group, PORTS, &ops, NULL, 0), E_INVAL);
	assert_int_equal(stp_init(&bridge, &usual, own_mac, 0, &ops, NULL, 0), E_INVAL);
	assert_int_equal(stp_init(&bridge, &usual, own_mac, STP_PORTS_MAX + 1, &ops, NULL, 0), E_INVAL);
}

static void test_port_parameters(void **state)
{
	(void)state;
	begin();
	struct stp_port_params p = bridge.port[0].params;
	assert_null(stp_port_params_wrong(&p));
	p.priority = 100;
	assert_int_equal(stp_port_set_params(&bridge, 0, &p, now), E_INVAL);
	p.priority = 240;
	p.path_cost = STP_COST_MAX + 1;
	assert_int_equal(stp_port_set_params(&bridge, 0, &p, now), E_INVAL);
	p.path_cost = STP_COST_MAX;
	assert_int_equal(stp_port_set_params(&bridge, 0, &p, now), E_OK);
	assert_int_equal(status(0).port_id, 0xf001);
	assert_int_equal(status(0).path_cost, STP_COST_MAX);
	p.mac[0] = 1;
	assert_int_equal(stp_port_set_params(&bridge, 0, &p, now), E_INVAL);
	/* table 17-3 */
	static const uint32_t costs[][2] = {{1, 20000000}, {10, 2000000}, {100, 200000}, {1000, 20000},
	                                    {10000, 2000}, {100000, 200}, {1000000, 20},
	                                    {10000000, 2}, {25000, 800}, {0, 20000}, {UINT32_MAX, 1}};
	for (unsigned i = 0; i < ARRAY_LEN(costs); i++)
		assert_int_equal(stp_path_cost(costs[i][0]), costs[i][1]);
}

/* --- sending --- */

static void test_begins_discarding_and_idle(void **state)
{
	(void)state;
	begin();
	for (unsigned i = 0; i < PORTS; i++) {
		assert_int_equal(seen.states[i], 1);
		assert_int_equal(seen.state[i], STP_DISCARDING);
		assert_int_equal(seen.flushed[i], 1);
		assert_int_equal(seen.sent[i], 0);
		assert_int_equal(status(i).role, STP_ROLE_DISABLED);
	}
	assert_true(stp_deadline(&bridge) == UINT64_MAX); /* no tick without a link */
	link_up(1);
	assert_true(stp_deadline(&bridge) == now + SECOND);
	assert_int_equal(status(1).role, STP_ROLE_DESIGNATED);
	assert_int_equal(seen.sent[0], 0);
	stp_port_link(&bridge, 1, false, 0, false, now);
	assert_true(stp_deadline(&bridge) == UINT64_MAX);
	assert_int_equal(status(1).role, STP_ROLE_DISABLED);
}

static void test_proposes_then_hellos(void **state)
{
	(void)state;
	begin();
	struct stp_port_params p = bridge.port[0].params;
	p.auto_edge = false;
	stp_port_set_params(&bridge, 0, &p, now);
	link_up(0);
	assert_int_equal(seen.sent[0], 1);
	assert_int_equal(seen.last[0].type, STP_BPDU_RST);
	assert_true(seen.last[0].proposal && !seen.last[0].learning && !seen.last[0].agreement);
	assert_int_equal(seen.last[0].role, STP_BPDU_ROLE_DESIGNATED);
	assert_true(seen.last[0].priority.RootBridgeID == OWN_ID);
	assert_int_equal(seen.last[0].times.MaxAge, 20 * 256);
	pass(20 * SECOND + MS);
	assert_in_range(seen.sent[0], 10, 11); /* one a hello time */
	assert_int_equal(seen.state[0], STP_LEARNING); /* max age has passed without an answer */
	pass(2 * SECOND);
	assert_int_equal(seen.state[0], STP_FORWARDING);
	assert_int_equal(status(0).counters.forwarded, 1);
}

static void test_hold_count(void **state)
{
	(void)state;
	begin();
	link_up(0);
	const struct stp_bpdu inferior = from(WORSE, STP_BPDU_RST);
	struct stp_bpdu better = from(BETTER, STP_BPDU_RST);
	better.proposal = true;
	hear(0, &inferior);
	unsigned sent = seen.sent[0];
	assert_int_equal(sent, 1);
	/* each proposal deserves an answer, a new cost */
	for (unsigned i = 0; i < 20; i++) {
		better.priority.RootPathCost = 100 - i;
		hear(0, &better);
	}
	assert_int_equal(seen.sent[0], 6);
	pass(SECOND);
	assert_int_equal(seen.sent[0], 7); /* one more a second, with the latest information */
	assert_int_equal(seen.last[0].priority.RootPathCost, 81 + 20000);
	assert_int_equal(seen.last[0].role, STP_BPDU_ROLE_ROOT);
	assert_true(seen.last[0].agreement);
}

/* 17.14: a changed hold count clears txCount. Otherwise a port that has just sent much would be silent for
 * seconds, and its neighbours would take it for gone. */
static void test_changed_hold_count(void **state)
{
	(void)state;
	struct stp_params p = STP_PARAMS_DEFAULT;
	p.tx_hold = 10;
	begin_with(&p);
	link_up(0);
	struct stp_bpdu better = from(BETTER, STP_BPDU_RST);
	better.proposal = true;
	for (unsigned i = 0; i < 20; i++) {
		better.priority.RootPathCost = 100 - i;
		hear(0, &better);
	}
	assert_int_equal(seen.sent[0], 10);
	p.tx_hold = 1;
	assert_int_equal(stp_set_params(&bridge, &p, now), E_OK);
	assert_int_equal(seen.sent[0], 11); /* the answer to the last proposal has waited */
	better.priority.RootPathCost = 70;
	hear(0, &better);
	assert_int_equal(seen.sent[0], 11);
	assert_int_equal(stp_set_params(&bridge, &p, now), E_OK); /* nothing changes */
	assert_int_equal(seen.sent[0], 11);
	pass(SECOND);
	assert_int_equal(seen.sent[0], 12);
}

/* --- receiving --- */

/* What a neighbour sends that has us as its way to the root, and agrees. */
static struct stp_bpdu agreement_to(uint64_t root)
{
	struct stp_bpdu b = from(root, STP_BPDU_RST);
	b.role = STP_BPDU_ROLE_ROOT;
	b.agreement = true;
	b.priority.RootPathCost = 40000;
	b.priority.DesignatedBridgeID = WORSE;
	return b;
}

static void test_agreement_is_sent_after_the_others_discard(void **state)
{
	(void)state;
	begin();
	for (unsigned i = 0; i < 3; i++)
		link_up(i);
	struct stp_bpdu better = from(BETTER, STP_BPDU_RST);
	hear(2, &better);
	const struct stp_bpdu agreement = agreement_to(BETTER);
	assert_int_equal(hear(1, &agreement), CNT_delivered_stp);
	assert_int_equal(seen.state[1], STP_FORWARDING);
	/* without that root our information is worse than what the neighbour has agreed to */
	stp_port_link(&bridge, 2, false, 0, false, now);
	assert_int_equal(seen.state[1], STP_FORWARDING);
	pass(MS);
	better = from(BETTER + 1, STP_BPDU_RST);
	better.proposal = true;
	hear(0, &better);
	assert_int_equal(status(0).role, STP_ROLE_ROOT);
	assert_int_equal(seen.state[0], STP_FORWARDING);
	assert_int_equal(seen.state[1], STP_DISCARDING); /* synchronised, and proposing anew */
	assert_true(seen.last[0].agreement && seen.last[0].role == STP_BPDU_ROLE_ROOT);
	assert_true(seen.last[1].proposal);
	assert_true(status(0).designated.DesignatedBridgeID == BETTER + 1);
}

/* A neighbour that has agreed to worse information need not discard for better: no sync. */
static void test_agreed_port_goes_on(void **state)
{
	(void)state;
	begin();
	link_up(0);
	link_up(1);
	const struct stp_bpdu agreement = agreement_to(OWN_ID);
	hear(1, &agreement);
	const unsigned states = seen.states[1];
	struct stp_bpdu better = from(BETTER, STP_BPDU_RST);
	better.proposal = true;
	hear(0, &better);
	assert_true(seen.last[0].agreement);
	assert_int_equal(seen.states[1], states);
	struct stp_bridge_status b;
	stp_bridge_status(&bridge, &b);
	assert_true(b.root_id == BETTER && b.bridge_id == OWN_ID);
	assert_int_equal(b.root_port, 0);
	assert_int_equal(b.root_path_cost, 20000);
	assert_int_equal(b.times.MessageAge, 256);
	assert_true(b.topology_change);
	assert_int_equal(b.topology_changes, 1);
}

/* So does one that forwards by its timers (17.29.3: agreed = sendRSTP), but not to an STP neighbour. */
static void test_forwarding_counts_as_agreed(void **state)
{
	(void)state;
	for (unsigned old = 0; old < 2; old++) {
		begin();
		struct stp_port_params p = bridge.port[1].params;
		p.auto_edge = false;
		stp_port_set_params(&bridge, 1, &p, now);
		link_up(0);
		link_up(1);
		const struct stp_bpdu config = from(WORSE, STP_BPDU_CONFIG);
		for (unsigned i = 0; i < 45; i++) {
			if (old)
				hear(1, &config);
			pass(SECOND);
		}
		assert_int_equal(status(1).rstp, !old);
		assert_int_equal(seen.state[1], STP_FORWARDING);
		struct stp_bpdu better = from(BETTER, STP_BPDU_RST);
		better.proposal = true;
		hear(0, &better);
		assert_true(seen.last[0].agreement);
		assert_int_equal(seen.state[1], old ? STP_DISCARDING : STP_FORWARDING);
	}
}

/* What port 0 sends, with the root's cost that it had before. */
static struct stp_bpdu from_port_0(uint64_t root, uint32_t cost)
{
	struct stp_bpdu b = from(root, STP_BPDU_RST);
	b.priority.RootPathCost = cost;
	b.priority.DesignatedBridgeID = OWN_ID;
	return b;
}

/* A backup port that becomes the root port waits for its last BPDU to be old (rbWhile, 17.17.5). */
static void test_backup_does_not_become_root_at_once(void **state)
{
	(void)state;
	begin();
	link_up(0);
	link_up(1);
	const struct stp_bpdu own = from_port_0(OWN_ID, 0), better = from(BETTER, STP_BPDU_RST);
	hear(1, &own);
	assert_int_equal(status(1).role, STP_ROLE_BACKUP);
	hear(1, &better);
	assert_int_equal(status(1).role, STP_ROLE_ROOT);
	assert_int_equal(seen.state[1], STP_DISCARDING);
	pass(3 * SECOND + MS);
	hear(1, &better);
	assert_int_not_equal(seen.state[1], STP_FORWARDING);
	pass(SECOND);
	assert_int_equal(seen.state[1], STP_FORWARDING);
}

/* 17.21.25 b: what this bridge itself has said is no way to the root. */
static void test_own_information_is_no_root_path(void **state)
{
	(void)state;
	begin();
	link_up(0);
	link_up(1);
	struct stp_bpdu better = from(BETTER, STP_BPDU_RST);
	better.priority.RootPathCost = 100000;
	hear(0, &better);
	const struct stp_bpdu own = from_port_0(BETTER, 5);
	hear(1, &own);
	assert_int_equal(status(1).role, STP_ROLE_BACKUP);
	assert_int_equal(bridge.rootPort, 0);
}

/* The new root port forwards after the old one has discarded (reRooted, 17.20.10), in this order. */
static void test_reroot_order(void **state)
{
	(void)state;
	begin();
	for (unsigned i = 0; i < 2; i++)
		link_up(i);
	struct stp_bpdu better = from(BETTER + 1, STP_BPDU_RST);
	hear(1, &better);
	assert_int_equal(seen.state[1], STP_FORWARDING);
	better = from(BETTER, STP_BPDU_RST);
	hear(0, &better);
	assert_int_equal(status(0).role, STP_ROLE_ROOT);
	assert_int_equal(status(1).role, STP_ROLE_DESIGNATED);
	assert_int_equal(seen.state[0], STP_FORWARDING);
	assert_int_equal(seen.state[1], STP_DISCARDING);
	assert_true(seen.changed[1] < seen.changed[0]);
	/* the old one waits for an agreement, or for its timers */
	pass(MS);
	const struct stp_bpdu agreement = agreement_to(BETTER);
	hear(1, &agreement);
	assert_int_equal(seen.state[1], STP_FORWARDING);
}

/* 17.21.9, 17.21.8: no agreement on a shared link, none with better information than ours. */
static void test_agreements_that_do_not_count(void **state)
{
	(void)state;
	struct stp_bpdu agreement = agreement_to(OWN_ID);
	begin();
	stp_port_link(&bridge, 1, true, 1000, false, now);
	hear(1, &agreement);
	assert_int_equal(seen.state[1], STP_DISCARDING);
	begin();
	link_up(1);
	agreement.priority.RootBridgeID = BETTER;
	hear(1, &agreement);
	assert_int_equal(seen.state[1], STP_DISCARDING);
	agreement.priority.RootBridgeID = OWN_ID;
	agreement.agreement = false;
	hear(1, &agreement);
	assert_int_equal(seen.state[1], STP_DISCARDING);
	agreement.agreement = true;
	hear(1, &agreement);
	assert_int_equal(seen.state[1], STP_FORWARDING);
}

static void test_information_ends_after_three_hellos(void **state)
{
	(void)state;
	begin();
	link_up(0);
	const struct stp_bpdu better = from(BETTER, STP_BPDU_RST);
	hear(0, &better);
	pass(5 * SECOND);
	assert_int_equal(status(0).role, STP_ROLE_ROOT);
	pass(SECOND + MS);
	assert_int_equal(status(0).role, STP_ROLE_DESIGNATED);
	assert_int_equal(bridge.rootPort, -1);
	/* 17.21.23: it lives if its age, one second more, does not exceed max age */
	struct stp_bpdu old = from(BETTER, STP_BPDU_RST);
	old.times.MessageAge = 19 * 256;
	hear(0, &old);
	assert_int_equal(status(0).role, STP_ROLE_ROOT);
	pass(6 * SECOND + MS);
	assert_int_equal(status(0).role, STP_ROLE_DESIGNATED);
	/* information that is too old lives no moment, and is still answered */
	old.times.MessageAge = 20 * 256;
	assert_int_equal(hear(0, &old), CNT_delivered_stp);
	assert_int_equal(status(0).role, STP_ROLE_DESIGNATED);
	old.times = (struct stp_times){0xffff, 0xffff, 0xffff, 0xffff};
	hear(0, &old);
	assert_int_equal(status(0).role, STP_ROLE_DESIGNATED);
}

/* A forward delay of 0 from the wire has no alternate port forward at once. */
static void test_hostile_times(void **state)
{
	(void)state;
	struct stp_params stp = STP_PARAMS_DEFAULT;
	stp.version = STP_VERSION_STP;
	begin_with(&stp);
	link_up(0);
	link_up(1);
	struct stp_bpdu b = from(BETTER, STP_BPDU_CONFIG);
	b.times = (struct stp_times){.MaxAge = 20 * 256};
	for (unsigned i = 0; i < 40; i++) {
		hear(0, &b);
		hear(1, &b);
		pass(SECOND);
	}
	assert_int_equal(seen.state[0], STP_FORWARDING);
	assert_int_equal(status(1).role, STP_ROLE_ALTERNATE);
	stp_port_link(&bridge, 0, false, 0, false, now);
	assert_int_equal(status(1).role, STP_ROLE_ROOT);
	for (unsigned i = 0; i < 7; i++) {
		assert_int_equal(seen.state[1], i < 4 ? STP_DISCARDING : STP_LEARNING);
		hear(1, &b);
		pass(SECOND);
	}
	pass(SECOND);
	assert_int_equal(seen.state[1], STP_FORWARDING);
	/* a hello time of 255 s counts as 10 s: the information lives for 30 s */
	b.times = (struct stp_times){.MaxAge = 20 * 256, .HelloTime = 0xffff, .ForwardDelay = 15 * 256};
	hear(1, &b);
	pass(29 * SECOND);
	assert_int_equal(status(1).role, STP_ROLE_ROOT);
	pass(2 * SECOND);
	assert_int_equal(status(1).role, STP_ROLE_DESIGNATED);
}

/* 17.21.25 e: a bridge sends its own hello time, and the root's other times. */
static void test_own_hello_time(void **state)
{
	(void)state;
	begin();
	link_up(0);
	link_up(1);
	struct stp_bpdu b = from(BETTER, STP_BPDU_RST);
	b.times = (struct stp_times){.MaxAge = 30 * 256, .HelloTime = 256, .ForwardDelay = 20 * 256};
	hear(0, &b);
	pass(SECOND);
	const struct stp_times *sent = &seen.last[1].times;
	assert_true(seen.last[1].priority.RootBridgeID == BETTER);
	assert_int_equal(sent->HelloTime, 2 * 256);
	assert_int_equal(sent->MaxAge, 30 * 256);
	assert_int_equal(sent->ForwardDelay, 20 * 256);
	assert_int_equal(sent->MessageAge, 256);
}

/* In STP mode a designated port acknowledges a TCN by its next Configuration BPDU, even if it is the root port
 * meanwhile and sends a TCN. A root port does not acknowledge what the root tells it (17.31, 17.26). */
static void test_acknowledgement_of_a_topology_change(void **state)
{
	(void)state;
	struct stp_params stp = STP_PARAMS_DEFAULT;
	stp.version = STP_VERSION_STP;
	const struct stp_bpdu tcn = {.type = STP_BPDU_TCN};
	struct stp_bpdu better = from(BETTER, STP_BPDU_CONFIG);
	for (unsigned designated = 0; designated < 2; designated++) {
		begin_with(&stp);
		link_up(0);
		for (unsigned i = 0; i < 40; i++) {
			if (!designated)
				hear(0, &better);
			pass(SECOND);
		}
		assert_int_equal(seen.state[0], STP_FORWARDING);
		const uint64_t tcns = status(0).counters.tx_tcn;
		if (designated)
			hear(0, &tcn);
		better.tc = !designated;
		hear(0, &better);
		assert_int_equal(status(0).role, STP_ROLE_ROOT);
		pass(3 * SECOND);
		assert_true(!designated || status(0).counters.tx_tcn > tcns);
		assert_int_equal(seen.acks[0], 0);
		pass(10 * SECOND); /* the root is silent */
		assert_int_equal(status(0).role, STP_ROLE_DESIGNATED);
		assert_int_equal(seen.last[0].type, STP_BPDU_CONFIG);
		assert_int_equal(seen.acks[0], designated);
	}
}

static void test_frames_that_are_dropped(void **state)
{
	(void)state;
	begin();
	const struct stp_bpdu better = from(BETTER, STP_BPDU_RST);
	assert_int_equal(hear(0, &better), CNT_drop_port_down);
	link_up(0);
	const uint8_t junk[STP_FRAME_LEN] = {1, 0x80, 0xc2};
	assert_int_equal(stp_input(&bridge, 0, junk, sizeof junk, now), CNT_drop_stp_malformed);
	struct stp_bpdu old = from(BETTER, STP_BPDU_CONFIG);
	old.times.MessageAge = old.times.MaxAge;
	assert_int_equal(hear(0, &old), CNT_drop_stp_age);
	assert_int_equal(status(0).counters.rx_dropped, 2);
	assert_int_equal(status(0).role, STP_ROLE_DESIGNATED);
}

/* --- edge ports, guard, looped wires --- */

static void test_edge_by_configuration(void **state)
{
	(void)state;
	begin();
	struct stp_port_params p = bridge.port[0].params;
	p.admin_edge = true;
	stp_port_set_params(&bridge, 0, &p, now);
	link_up(0);
	assert_int_equal(seen.state[0], STP_FORWARDING);
	assert_true(status(0).edge);
	struct stp_bridge_status b;
	stp_bridge_status(&bridge, &b);
	assert_int_equal(b.topology_changes, 0); /* an edge port is none (17.31) */
	const struct stp_bpdu inferior = from(WORSE, STP_BPDU_RST);
	hear(0, &inferior);
	assert_false(status(0).edge);
	assert_int_equal(status(0).role, STP_ROLE_DESIGNATED);
	/* the configuration holds again after the link was down */
	stp_port_link(&bridge, 0, false, 0, false, now);
	link_up(0);
	assert_true(status(0).edge);
}

static void test_edge_by_silence(void **state)
{
	(void)state;
	begin();
	link_up(0);
	pass(2 * SECOND + MS);
	assert_int_equal(seen.state[0], STP_DISCARDING);
	pass(SECOND);
	assert_true(status(0).edge);
	assert_int_equal(seen.state[0], STP_FORWARDING);
	const struct stp_bpdu better = from(BETTER, STP_BPDU_RST);
	hear(0, &better);
	assert_false(status(0).edge);
	assert_int_equal(status(0).role, STP_ROLE_ROOT);
}

static void test_bpdu_guard(void **state)
{
	(void)state;
	begin();
	struct stp_port_params p = bridge.port[0].params;
	p.admin_edge = p.bpdu_guard = true;
	stp_port_set_params(&bridge, 0, &p, now);
	link_up(0);
	const struct stp_bpdu b = from(BETTER, STP_BPDU_RST);
	assert_int_equal(hear(0, &b), CNT_drop_stp_guard);
	assert_int_equal(seen.state[0], STP_DISCARDING);
	assert_int_equal(seen.guarded[0], 1);
	assert_true(status(0).guarded);
	assert_int_equal(status(0).role, STP_ROLE_DISABLED);
	assert_int_equal(hear(0, &b), CNT_drop_port_down);
	stp_port_link(&bridge, 0, false, 0, false, now); /* another cable does not help */
	link_up(0);
	assert_int_equal(seen.state[0], STP_DISCARDING);
	assert_true(stp_deadline(&bridge) == UINT64_MAX);
	stp_port_recover(&bridge, 0, now);
	assert_int_equal(seen.state[0], STP_FORWARDING);
	assert_int_equal(hear(0, &b), CNT_drop_stp_guard);
	p.bpdu_guard = false;
	stp_port_set_params(&bridge, 0, &p, now);
	assert_int_equal(seen.state[0], STP_FORWARDING);
	assert_int_equal(hear(0, &b), CNT_delivered_stp);
}

static void test_looped_wire(void **state)
{
	(void)state;
	begin();
	struct stp_port_params p = bridge.port[0].params;
	p.admin_edge = true;
	stp_port_set_params(&bridge, 0, &p, now);
	link_up(0);
	assert_int_equal(seen.state[0], STP_FORWARDING);
	for (unsigned i = 0; i < 10; i++) { /* what it sends comes back */
		assert_int_equal(hear(0, &seen.last[0]), CNT_drop_stp_own);
		assert_int_equal(seen.state[0], STP_DISCARDING);
		assert_true(status(0).looped && !status(0).edge);
		pass(2 * SECOND);
		assert_int_equal(seen.state[0], STP_DISCARDING);
	}
	pass(10 * SECOND); /* repaired */
	assert_false(status(0).looped);
	assert_int_equal(seen.state[0], STP_FORWARDING);
}

/* --- migration, versions --- */

static void test_migration(void **state)
{
	(void)state;
	begin();
	link_up(0);
	const struct stp_bpdu config = from(WORSE, STP_BPDU_CONFIG);
	hear(0, &config);
	assert_true(status(0).rstp); /* not within three seconds after the link came up (17.24) */
	pass(4 * SECOND);
	hear(0, &config);
	assert_false(status(0).rstp);
	pass(2 * SECOND);
	assert_int_equal(seen.last[0].type, STP_BPDU_CONFIG);
	/* an RST BPDU brings RST back, after the delay */
	pass(2 * SECOND);
	const struct stp_bpdu inferior = from(WORSE, STP_BPDU_RST);
	hear(0, &inferior);
	assert_true(status(0).rstp);
	pass(2 * SECOND);
	assert_int_equal(seen.last[0].type, STP_BPDU_RST);
}

static void test_version_change_restarts(void **state)
{
	(void)state;
	begin();
	link_up(0);
	pass(10 * SECOND);
	assert_int_equal(seen.state[0], STP_FORWARDING);
	struct stp_params p = STP_PARAMS_DEFAULT;
	p.version = STP_VERSION_STP;
	assert_int_equal(stp_set_params(&bridge, &p, now), E_OK);
	assert_int_equal(seen.state[0], STP_DISCARDING);
	assert_int_equal(status(0).role, STP_ROLE_DESIGNATED);
	pass(34 * SECOND); /* max age to hear others, then the forward delay to learn */
	assert_int_equal(seen.state[0], STP_LEARNING);
	pass(SECOND + MS);
	assert_int_equal(seen.last[0].type, STP_BPDU_CONFIG);
	assert_int_equal(seen.state[0], STP_FORWARDING);
	p.priority = 3;
	assert_int_equal(stp_set_params(&bridge, &p, now), E_INVAL);
	assert_int_equal(bridge.params.priority, 32768);
}

/* --- topology changes --- */

static void test_topology_change_is_propagated(void **state)
{
	(void)state;
	begin();
	struct stp_bpdu agreement = agreement_to(OWN_ID);
	for (unsigned i = 0; i < 2; i++) {
		link_up(i);
		hear(i, &agreement);
		assert_int_equal(seen.state[i], STP_FORWARDING);
	}
	pass(10 * SECOND);
	struct stp_bridge_status b;
	stp_bridge_status(&bridge, &b);
	assert_false(b.topology_change);
	const uint64_t changes = b.topology_changes;
	const unsigned flushed0 = seen.flushed[0], flushed1 = seen.flushed[1];
	agreement.tc = true;
	hear(0, &agreement);
	assert_int_equal(seen.flushed[0], flushed0); /* not where the change was reported */
	assert_int_equal(seen.flushed[1], flushed1 + 1);
	assert_true(seen.last[1].tc);
	stp_bridge_status(&bridge, &b);
	assert_true(b.topology_change);
	assert_int_equal(b.topology_changes, changes + 1);
	assert_int_equal(b.topology_change_port, 0);
	assert_true(b.topology_change_ns == now);
	pass(4 * SECOND); /* a hello time and a second */
	assert_false(seen.last[1].tc);
	stp_bridge_status(&bridge, &b);
	assert_false(b.topology_change);
}

/* --- time --- */

static void test_late_tick_counts_once(void **state)
{
	(void)state;
	begin();
	link_up(0);
	const struct stp_bpdu better = from(BETTER, STP_BPDU_RST);
	hear(0, &better);
	now += 60 * SECOND;
	assert_true(stp_tick(&bridge, now) == now + SECOND);
	assert_int_equal(status(0).role, STP_ROLE_ROOT);
	assert_true(stp_tick(&bridge, now + SECOND - 1) == now + SECOND); /* early: nothing */
}

/* Another program goes on with a copy: the states are reported to it, and it sends what the first one would. */
static void test_resume(void **state)
{
	(void)state;
	begin();
	link_up(0);
	link_up(1);
	const struct stp_bpdu better = from(BETTER, STP_BPDU_RST);
	hear(0, &better);
	struct stp copy = bridge;
	memset(&bridge, 0xa5, sizeof bridge);
	bridge = copy;
	bridge.ops = NULL;
	memset(&seen, 0, sizeof seen);
	stp_resume(&bridge, &ops, NULL);
	for (unsigned p = 0; p < PORTS; p++)
		assert_int_equal(seen.states[p], 1);
	assert_int_equal(seen.state[0], STP_FORWARDING);
	assert_int_equal(seen.state[1], STP_DISCARDING);
	assert_int_equal(seen.sent[0] + seen.sent[1], 0);
	pass(3 * SECOND);
	assert_true(seen.last[1].priority.RootBridgeID == BETTER);
	assert_int_equal(status(0).role, STP_ROLE_ROOT);
	pass(5 * SECOND); /* nobody has spoken since */
	assert_int_equal(status(0).role, STP_ROLE_DESIGNATED);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(stp_role_name(STP_ROLE_BACKUP), "backup");
	assert_string_equal(stp_state_name(STP_LEARNING), "learning");
	assert_string_equal(stp_role_name(99), "unknown");
	assert_string_equal(stp_state_name(99), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_port_parameters),
		cmocka_unit_test(test_begins_discarding_and_idle),
		cmocka_unit_test(test_proposes_then_hellos),
		cmocka_unit_test(test_hold_count),
		cmocka_unit_test(test_changed_hold_count),
		cmocka_unit_test(test_agreement_is_sent_after_the_others_discard),
		cmocka_unit_test(test_agreed_port_goes_on),
		cmocka_unit_test(test_forwarding_counts_as_agreed),
		cmocka_unit_test(test_backup_does_not_become_root_at_once),
		cmocka_unit_test(test_own_information_is_no_root_path),
		cmocka_unit_test(test_reroot_order),
		cmocka_unit_test(test_agreements_that_do_not_count),
		cmocka_unit_test(test_information_ends_after_three_hellos),
		cmocka_unit_test(test_hostile_times),
		cmocka_unit_test(test_own_hello_time),
		cmocka_unit_test(test_acknowledgement_of_a_topology_change),
		cmocka_unit_test(test_frames_that_are_dropped),
		cmocka_unit_test(test_edge_by_configuration),
		cmocka_unit_test(test_edge_by_silence),
		cmocka_unit_test(test_bpdu_guard),
		cmocka_unit_test(test_looped_wire),
		cmocka_unit_test(test_migration),
		cmocka_unit_test(test_version_change_restarts),
		cmocka_unit_test(test_topology_change_is_propagated),
		cmocka_unit_test(test_late_tick_counts_once),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_names),
	};
	return cmocka_run_group_tests_name("stp", tests, NULL, NULL);
}
