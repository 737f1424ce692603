/*
 * net/stp, networks of bridges in virtual time: rings, meshes, hubs, random topologies. After every
 * change the network must become the tree that an oracle expects (stp_net.h).
 *
 * Loops. When information about the root only gets better (links come up, bridges join), no loop may
 * exist at any moment (17.29: proposal and agreement). When a path to the root is lost, information
 * about it can be stale: bridges behind the break may pass it round in a ring until its message age
 * ends, and agree to it (Elmeleegy, Cox, Ng: "On Count-to-Infinity Induced Forwarding Loops in Ethernet
 * Networks", 2006). The standard permits a loop then, in a small part of the cases; it must end before
 * max age.
 */
#include "tests/unit/rig/stp_net.h"

#define MAX_AGE (20 * SECOND)
#define HELLO (2 * SECOND)

static struct net net;
static const struct stp_params usual = STP_PARAMS_DEFAULT;

static unsigned runs_of(unsigned usual_runs)
{
	const char *runs = getenv("RUNS");
	return runs ? (unsigned)atoi(runs) : usual_runs;
}

static void bridges(unsigned count)
{
	net_init(&net);
	for (unsigned i = 0; i < count; i++) {
		net_bridge_add(&net, &usual);
		net_run(&net, random_below(300) * MS); /* the ticks of bridges are not in step */
	}
}

static enum stp_role role_of(unsigned bridge, unsigned port)
{
	return net.bridge[bridge].stp.port[port].role;
}

/* --- two and three bridges --- */

static void test_two_bridges_agree_at_once(void **state)
{
	(void)state;
	seed_random("two_bridges");
	bridges(2);
	net_cable(&net, 0, 1);
	assert_true(net_settle(&net, SECOND) < MS);
	assert_int_equal(role_of(0, 0), STP_ROLE_DESIGNATED);
	assert_int_equal(role_of(1, 0), STP_ROLE_ROOT);
	net_run(&net, 30 * SECOND);
	net_assert_tree(&net);
	assert_int_equal(net.bridge[0].changes + net.bridge[1].changes, 4); /* learning, forwarding */
	/* only the designated port sends, once in a hello time */
	assert_in_range(net.bridge[0].sent[0], 14, 20);
	assert_in_range(net.bridge[1].sent[0], 1, 5);
}

static void test_three_cables_one_forwards(void **state)
{
	(void)state;
	seed_random("three_cables");
	bridges(2);
	for (unsigned i = 0; i < 3; i++)
		net_cable(&net, 0, 1);
	net_run(&net, 10 * SECOND);
	net_assert_tree(&net);
	assert_int_equal(role_of(1, 0), STP_ROLE_ROOT); /* the lowest port identifier of bridge 0 */
	assert_int_equal(role_of(1, 1), STP_ROLE_ALTERNATE);
	assert_int_equal(net.loops, 0);
}

/* The alternate port forwards in the same call in which the link goes down (17.29.2, reRooted). */
static void test_alternate_takes_over_at_once(void **state)
{
	(void)state;
	seed_random("alternate");
	bridges(2);
	const unsigned first = net_cable(&net, 0, 1);
	net_cable(&net, 0, 1);
	net_run(&net, 10 * SECOND);
	assert_int_equal(role_of(1, 1), STP_ROLE_ALTERNATE);
	assert_int_equal(net.bridge[1].state[1], STP_DISCARDING);
	const unsigned flushed = net.bridge[1].flushed[0];
	net_lan_up(&net, first, false);
	assert_int_equal(role_of(1, 1), STP_ROLE_ROOT);
	assert_int_equal(net.bridge[1].state[1], STP_FORWARDING);
	assert_int_equal(net.bridge[1].state[0], STP_DISCARDING);
	assert_true(net.bridge[1].flushed[0] > flushed);
	net_assert_tree(&net);
	assert_int_equal(net.loops, 0);
}

static void test_better_bridge_becomes_root(void **state)
{
	(void)state;
	seed_random("better_bridge");
	bridges(4);
	for (unsigned i = 0; i < 4; i++)
		net_cable(&net, i, (i + 1) % 4);
	net_run(&net, 10 * SECOND);
	net_assert_tree(&net);
	struct stp_params best = usual;
	best.priority = 4096;
	assert_int_equal(stp_set_params(&net.bridge[2].stp, &best, net.now_ns), E_OK);
	assert_true(net_settle(&net, HELLO) < 10 * MS);
	assert_int_equal(net.bridge[2].stp.rootPort, -1);
	/* and back: the worse information of the root itself replaces its better one (17.6) */
	best.priority = 61440;
	stp_set_params(&net.bridge[2].stp, &best, net.now_ns);
	assert_true(net_settle(&net, MAX_AGE) < MAX_AGE);
	assert_int_equal(net.bridge[0].stp.rootPort, -1);
}

static void test_path_cost_chooses_the_root_port(void **state)
{
	(void)state;
	seed_random("path_cost");
	bridges(2);
	net_cable(&net, 0, 1);
	net_cable(&net, 0, 1);
	net_run(&net, 10 * SECOND);
	assert_int_equal(net.bridge[1].stp.rootPort, 0);
	struct stp_port_params p = net.bridge[1].stp.port[1].params;
	p.path_cost = 19999;
	stp_port_set_params(&net.bridge[1].stp, 1, &p, net.now_ns);
	net_run(&net, 10 * SECOND);
	net_assert_tree(&net);
	assert_int_equal(net.bridge[1].stp.rootPort, 1);
	/* the port priority of the designated bridge decides at equal costs */
	p.path_cost = 0;
	stp_port_set_params(&net.bridge[1].stp, 1, &p, net.now_ns);
	p = net.bridge[0].stp.port[1].params;
	p.priority = 16;
	stp_port_set_params(&net.bridge[0].stp, 1, &p, net.now_ns);
	net_run(&net, 10 * SECOND);
	net_assert_tree(&net);
	assert_int_equal(net.bridge[1].stp.rootPort, 1);
	assert_int_equal(net.loops, 0);
}

/* --- rings --- */

static void ring(unsigned size)
{
	unsigned cable[NET_BRIDGES_MAX];
	bridges(size);
	for (unsigned i = 0; i < size; i++)
		cable[i] = net_cable(&net, i, (i + 1) % size);
	net_run(&net, 10 * SECOND);
	net_assert_tree(&net);
	for (unsigned i = 0; i < size; i++) {
		/* each failure has an alternate port somewhere. In long rings a bridge next to the root may
		 * have to wait for the next second, by its transmit hold count. */
		net_lan_up(&net, cable[i], false);
		assert_true(net_settle(&net, HELLO) < (size > 10 ? HELLO : HELLO / 100));
		net_run(&net, 10 * SECOND);
		net_assert_tree(&net);
		net_lan_up(&net, cable[i], true);
		assert_true(net_settle(&net, HELLO) < HELLO / 100);
		net_run(&net, 10 * SECOND);
		net_assert_tree(&net);
	}
	assert_int_equal(net.loops, 0);
}

static void test_ring(void **state)
{
	(void)state;
	seed_random("ring");
	for (unsigned size = 3; size <= 17; size += 7)
		ring(size);
}

/* A ring longer than max age permits (17.14: message age grows by a second a bridge) must not become a
 * loop: where information has died of age, bridges have another root. */
static void test_too_long_a_chain(void **state)
{
	(void)state;
	seed_random("chain");
	struct stp_params p = usual;
	p.max_age_s = 6;
	p.hello_s = 2;
	net_init(&net);
	for (unsigned i = 0; i < 10; i++)
		net_bridge_add(&net, &p);
	for (unsigned i = 0; i < 9; i++)
		net_cable(&net, i, i + 1);
	net_run(&net, 60 * SECOND);
	assert_false(net.looped);
	assert_true(net.bridge[5].stp.rootPriority.RootBridgeID == net.bridge[0].stp.BridgeIdentifier);
	assert_true(net.bridge[9].stp.rootPriority.RootBridgeID != net.bridge[0].stp.BridgeIdentifier);
}

static void test_mesh(void **state)
{
	(void)state;
	seed_random("mesh");
	bridges(7);
	for (unsigned i = 0; i < 7; i++)
		for (unsigned k = 0; k < i; k++)
			net_cable(&net, i, k);
	net_run(&net, 10 * SECOND);
	net_assert_tree(&net);
	assert_int_equal(net.loops, 0);
	for (unsigned l = 0; l < net.lans; l++) {
		net_lan_up(&net, l, false);
		assert_true(net_settle(&net, 2 * MAX_AGE) < 2 * MAX_AGE);
		net_run(&net, 10 * SECOND);
		net_assert_tree(&net);
	}
}

/* --- hubs, and a bridge connected to itself --- */

static void test_hub_needs_timers(void **state)
{
	(void)state;
	seed_random("hub");
	bridges(3);
	const unsigned hub = net_hub(&net);
	for (unsigned i = 0; i < 3; i++)
		net_hub_join(&net, hub, i);
	net_hub_join(&net, hub, 0); /* a second port of the root: a backup */
	const uint64_t took = net_settle(&net, 60 * SECOND);
	/* no agreement on a shared LAN: max age to hear others, a hello time to learn */
	assert_in_range(took / MS, 20000, 23000);
	assert_int_equal(role_of(0, 0), STP_ROLE_DESIGNATED);
	assert_int_equal(role_of(0, 1), STP_ROLE_BACKUP);
	assert_int_equal(role_of(2, 0), STP_ROLE_ROOT);
	net_run(&net, 30 * SECOND);
	net_assert_tree(&net);
	assert_int_equal(net.loops, 0);
	/* the designated port dies and the hub remains: the backup hears no more and takes over */
	stp_port_link(&net.bridge[0].stp, 0, false, 0, false, net.now_ns);
	net_run(&net, 20 * SECOND);
	assert_int_equal(role_of(0, 1), STP_ROLE_DESIGNATED);
	assert_int_equal(net.bridge[0].state[1], STP_FORWARDING);
	assert_int_equal(net.loops, 0);
}

static void test_cable_to_itself(void **state)
{
	(void)state;
	seed_random("itself");
	bridges(1);
	net_cable(&net, 0, 0);
	net_run(&net, 60 * SECOND);
	net_assert_tree(&net);
	assert_int_equal(role_of(0, 0), STP_ROLE_DESIGNATED);
	assert_int_equal(role_of(0, 1), STP_ROLE_BACKUP);
	assert_int_equal(net.loops, 0);
}

/* --- random topologies --- */

static unsigned random_bridges(unsigned old_percent)
{
	const unsigned count = 2 + random_below(10);
	net_init(&net);
	for (unsigned i = 0; i < count; i++) {
		struct stp_params p = usual;
		p.priority = (uint16_t)(4096 * random_below(16));
		p.version = random_below(100) < old_percent ? STP_VERSION_STP : STP_VERSION_RSTP;
		net.bridge[net_bridge_add(&net, &p)].old = p.version == STP_VERSION_STP;
		net_run(&net, random_below(1000) * MS);
	}
	return count;
}

/* A tree of cables, and as many more, also from a bridge to itself. */
static void random_cables(unsigned count, uint64_t between_ns)
{
	for (unsigned i = 1; i < count; i++) {
		net_cable(&net, random_below(i), i);
		net_run(&net, between_ns ? random64() % between_ns : 0);
	}
	for (unsigned i = random_below(2 * count); i > 0; i--) {
		net_cable(&net, random_below(count), random_below(count));
		net_run(&net, between_ns ? random64() % between_ns : 0);
	}
}

static void must_settle(uint64_t limit_ns)
{
	const char *why = "";
	if (net_settle(&net, limit_ns) != UINT64_MAX)
		return;
	net_is_tree(&net, &why);
	fail_msg("not settled: %s", why);
}

/* Networks grow: no loop at any moment, whatever the delays. */
static void test_growth_has_no_loop(void **state)
{
	(void)state;
	seed_random("growth");
	for (unsigned run = 0; run < runs_of(150); run++) {
		const unsigned count = random_bridges(0);
		net.delay_max_ns = run % 3 == 0 ? 20 * MS : 100000;
		random_cables(count, run % 2 ? 3 * SECOND : MS);
		must_settle(60 * SECOND);
		assert_int_equal(net.loops, 0);
		net_run(&net, 10 * SECOND);
		net_assert_tree(&net);
		assert_int_equal(net.loops, 0);
	}
}

/* Up to three links change, together or apart. */
static void change_links(void)
{
	for (unsigned i = 1 + random_below(3); i > 0; i--) {
		const unsigned lan = random_below(net.lans);
		net_lan_up(&net, lan, !net.lan[lan].up);
		net_run(&net, random_below(4) ? random_below(5) * MS / 10 : random_below(3000) * MS);
	}
}

struct tally {
	unsigned changes, loops, slow;
	uint64_t longest_ns;
};

static void change_network(unsigned changes, uint64_t limit_ns, struct tally *t)
{
	for (unsigned i = 0; i < changes; i++) {
		change_links();
		const uint64_t start = net.now_ns;
		must_settle(limit_ns);
		t->slow += net.now_ns - start > HELLO;
		t->changes++;
		if (random_below(2))
			net_run(&net, random_below(30) * SECOND);
	}
	t->loops += net.loops;
	if (net.loop_longest_ns > t->longest_ns)
		t->longest_ns = net.loop_longest_ns;
}

static void print_tally(const char *what, const struct tally *t)
{
	print_message("%s: %u changes, %u slower than a hello time, %u loops, the longest %u ms\n", what,
	              t->changes, t->slow, t->loops, (unsigned)(t->longest_ns / MS));
}

static void loops_are_rare(const char *what, const struct tally *t)
{
	print_tally(what, t);
	assert_true(t->longest_ns < MAX_AGE);
	assert_true(t->loops * 20 < t->changes);
}

/* By then information of what is gone has ended, and the tree stays as it is. */
static void rest(void)
{
	unsigned changes = 0;
	net_run(&net, 2 * MAX_AGE);
	for (unsigned i = 0; i < net.bridges; i++)
		changes += net.bridge[i].changes;
	net_run(&net, 10 * SECOND);
	net_assert_tree(&net);
	for (unsigned i = 0; i < net.bridges; i++)
		changes -= net.bridge[i].changes;
	assert_int_equal(changes, 0);
}

static void test_random_topologies(void **state)
{
	(void)state;
	struct tally t = {0};
	seed_random("random_topologies");
	for (unsigned run = 0; run < runs_of(100); run++) {
		const unsigned count = random_bridges(0);
		net.delay_max_ns = run % 3 == 0 ? 20 * MS : 100000;
		random_cables(count, 0);
		must_settle(60 * SECOND);
		change_network(10, 3 * MAX_AGE, &t);
		rest();
	}
	loops_are_rare("random topologies", &t);
	assert_true(t.slow * 5 < t.changes);
}

static void test_random_with_hubs(void **state)
{
	(void)state;
	struct tally t = {0};
	seed_random("random_hubs");
	for (unsigned run = 0; run < runs_of(40); run++) {
		const unsigned count = random_bridges(0);
		random_cables(count, 0);
		const unsigned hub = net_hub(&net);
		for (unsigned i = 0; i < 4; i++)
			net_hub_join(&net, hub, random_below(count));
		must_settle(60 * SECOND);
		change_network(6, 4 * MAX_AGE, &t);
		rest();
	}
	loops_are_rare("hubs", &t);
}

/* BPDUs are lost: information may end, ports may forward too early, but all ends when loss does. */
static void test_loss(void **state)
{
	(void)state;
	struct tally t = {0};
	seed_random("loss");
	for (unsigned run = 0; run < runs_of(40); run++) {
		const unsigned count = random_bridges(0);
		random_cables(count, 0);
		net.loss_percent = 10 + random_below(20);
		must_settle(4 * MAX_AGE);
		change_network(6, 4 * MAX_AGE, &t);
		net.loss_percent = 0;
		net_run(&net, 2 * MAX_AGE);
		net_assert_tree(&net);
		rest();
	}
	print_tally("loss", &t);
	assert_true(t.longest_ns < 3 * MAX_AGE); /* while BPDUs are lost a loop may come again at once */
}

/* All BPDUs are lost for a while, longer than any information lasts: alternate ports forward, which
 * nothing can prevent. The first BPDUs after that end the loop. */
static void test_silence_then_recovery(void **state)
{
	(void)state;
	seed_random("silence");
	bridges(4);
	for (unsigned i = 0; i < 4; i++)
		net_cable(&net, i, (i + 1) % 4);
	net_run(&net, 10 * SECOND);
	net.loss_percent = 100;
	net_run(&net, 60 * SECOND);
	assert_true(net.looped);
	net.loss_percent = 0;
	net_run(&net, HELLO + SECOND);
	assert_false(net.looped);
	net_run(&net, MAX_AGE);
	net_assert_tree(&net);
}

/* --- STP neighbours (17.4) --- */

static void test_old_neighbour(void **state)
{
	(void)state;
	seed_random("old_neighbour");
	struct stp_params old = usual;
	old.version = STP_VERSION_STP;
	net_init(&net);
	for (unsigned i = 0; i < 3; i++)
		net_bridge_add(&net, i == 1 ? &old : &usual);
	net.bridge[1].old = true;
	for (unsigned i = 0; i < 3; i++)
		net_cable(&net, i, (i + 1) % 3);
	net_run(&net, 80 * SECOND);
	net_assert_tree(&net);
	assert_int_equal(net.loops, 0);
	struct stp_port_status s;
	stp_port_status(&net.bridge[0].stp, 0, &s);
	assert_false(s.rstp);
	assert_true(s.counters.tx_config > 10);
	stp_port_status(&net.bridge[0].stp, 1, &s); /* to bridge 2 */
	assert_true(s.rstp);
	/* the old bridge is replaced: RST BPDUs are sent again when asked to (mcheck) */
	net.bridge[1].old = false;
	stp_set_params(&net.bridge[1].stp, &usual, net.now_ns);
	net_run(&net, 5 * SECOND);
	stp_port_migrate(&net.bridge[0].stp, 0, net.now_ns);
	stp_port_migrate(&net.bridge[2].stp, 0, net.now_ns);
	net_run(&net, 60 * SECOND);
	stp_port_status(&net.bridge[0].stp, 0, &s);
	assert_true(s.rstp);
	net_assert_tree(&net);
	assert_int_equal(net.loops, 0);
}

/* A topology change reaches an RSTP root through an STP bridge, which is told of its arrival (TCN and
 * acknowledgement), and comes back. */
static void test_topology_change_through_old_bridge(void **state)
{
	(void)state;
	seed_random("old_topology_change");
	struct stp_params old = usual;
	old.version = STP_VERSION_STP;
	net_init(&net);
	for (unsigned i = 0; i < 3; i++)
		net_bridge_add(&net, i == 1 ? &old : &usual);
	net.bridge[1].old = true;
	net_cable(&net, 0, 1);
	net_cable(&net, 1, 2);
	const unsigned spare = net_cable(&net, 1, 2);
	net_run(&net, 120 * SECOND);
	net_assert_tree(&net);
	struct stp_port_status before, after;
	stp_port_status(&net.bridge[0].stp, 0, &before);
	const unsigned flushed = net.bridge[1].flushed[1];
	net_lan_up(&net, 1, false); /* the root port of bridge 2; the spare one takes over */
	net_run(&net, 60 * SECOND);
	net_assert_tree(&net);
	assert_int_equal(net.bridge[2].stp.rootPort, 1);
	stp_port_status(&net.bridge[0].stp, 0, &after);
	assert_true(after.counters.rx_tcn > before.counters.rx_tcn);
	assert_true(after.counters.rx_tcn < before.counters.rx_tcn + 5); /* acknowledged */
	assert_true(net.bridge[1].flushed[1] > flushed);
	(void)spare;
}

static void test_random_with_old_bridges(void **state)
{
	(void)state;
	struct tally t = {0};
	seed_random("random_old");
	for (unsigned run = 0; run < runs_of(40); run++) {
		const unsigned count = random_bridges(40);
		random_cables(count, 0);
		must_settle(6 * MAX_AGE);
		change_network(5, 6 * MAX_AGE, &t);
		rest();
	}
	loops_are_rare("STP bridges", &t);
}

/* --- failures of a link in one direction, and of a bridge in time --- */

/* The neighbour does not hear us and forwards as designated: the dispute keeps our port discarding
 * (17.21.10). */
static void test_deaf_neighbour_is_disputed(void **state)
{
	(void)state;
	seed_random("dispute");
	bridges(2);
	net_cable(&net, 0, 1);
	net_cable(&net, 0, 1);
	net_run(&net, 10 * SECOND);
	net_assert_tree(&net);
	net.lan[1].deaf[1] = true; /* bridge 1 hears nothing on its alternate port */
	net_run(&net, 12 * SECOND);
	assert_int_equal(role_of(1, 1), STP_ROLE_DESIGNATED); /* it takes the LAN for its own */
	net_run(&net, 60 * SECOND);
	assert_int_equal(net.bridge[1].state[1], STP_FORWARDING);
	assert_int_not_equal(net.bridge[0].state[1], STP_FORWARDING);
	assert_int_equal(net.loops, 0); /* at no moment */
}

/* A bridge is held up for ten seconds and then finds all BPDUs at once: it does not take its delay for
 * silence (stp.h). */
static void test_late_core_keeps_its_roles(void **state)
{
	(void)state;
	seed_random("late_core");
	bridges(3);
	for (unsigned i = 0; i < 3; i++)
		net_cable(&net, i, (i + 1) % 3);
	net_run(&net, 10 * SECOND);
	net_assert_tree(&net);
	const unsigned changes = net.bridge[2].changes;
	net.bridge[2].frozen = true;
	net_run(&net, 5 * SECOND);
	net.bridge[2].frozen = false;
	net_run(&net, 10 * SECOND);
	net_assert_tree(&net);
	assert_int_equal(net.bridge[2].changes, changes);
	assert_int_equal(net.loops, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_bridges_agree_at_once),
		cmocka_unit_test(test_three_cables_one_forwards),
		cmocka_unit_test(test_alternate_takes_over_at_once),
		cmocka_unit_test(test_better_bridge_becomes_root),
		cmocka_unit_test(test_path_cost_chooses_the_root_port),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_too_long_a_chain),
		cmocka_unit_test(test_mesh),
		cmocka_unit_test(test_hub_needs_timers),
		cmocka_unit_test(test_cable_to_itself),
		cmocka_unit_test(test_growth_has_no_loop),
		cmocka_unit_test(test_random_topologies),
		cmocka_unit_test(test_random_with_hubs),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_silence_then_recovery),
		cmocka_unit_test(test_old_neighbour),
		cmocka_unit_test(test_topology_change_through_old_bridge),
		cmocka_unit_test(test_random_with_old_bridges),
		cmocka_unit_test(test_deaf_neighbour_is_disputed),
		cmocka_unit_test(test_late_core_keeps_its_roles),
	};
	return cmocka_run_group_tests_name("stp_net", tests, NULL, NULL);
}
