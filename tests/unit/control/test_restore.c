/*
 * control/restore.c: what a restarted control program takes over from the tables of the one that
 * failed: addresses and neighbours, as far as possible. The tables may contain anything.
 */
#include "tests/unit/rig/host.h"

#include "control/restore.c"

#define BYTES (sizeof(struct dp_state) + 65536)

uint64_t host_tsc;
struct core_self self;
struct running running;
struct forwarding forwarding;
struct neighbours neighbours;
static uint8_t tables[2][BYTES] __attribute__((aligned(64)));
static struct dp_state *old = (struct dp_state *)(void *)tables[0], *now = (struct dp_state *)(void *)tables[1];
static struct host6_writer hosts;
static unsigned restored4, restored6, kept, worked;
static unsigned port4, port6, port_kept; /* arguments of the last call */
static bool no_servers;
static bool lacks;

void *core_published_area(size_t *bytes)
{
	*bytes = BYTES;
	return now;
}

uint64_t core_now_ns(void) { return 5; }
bool routes_lack(void) { return lacks; }
bool servers_are_there(void) { return !no_servers; }
bool routes_work(void) { return ++worked % 3; }

/* 192.0.2.0/24 is on interface 0, 198.51.100.0/24 on 1. */
int subnet_interface(const struct net_addr *a)
{
	const uint32_t addr = net_addr_to_ip4(a);
	return addr >> 8 == 0xc00002 ? 0 : addr >> 8 == 0xc63364 ? 1 : E_NOENT;
}

int arp_restore(struct arp *a, unsigned port, uint32_t ip, const uint8_t *mac, uint64_t now_ns)
{
	assert_true(a == &neighbours.arp && now_ns == 5 && ip && mac[0] == 2);
	restored4++;
	port4 = port;
	return 0;
}

int nd_restore(struct nd *nd, unsigned port, const struct net_addr *addr, const uint8_t *mac,
               uint64_t now_ns)
{
	assert_true(nd == &neighbours.nd && now_ns == 5 && !net_addr_is_any(addr) && mac[0] == 2);
	restored6++;
	port6 = port;
	return 0;
}

int nd_keep_local(struct nd *nd, unsigned port, const struct net_addr *addr, uint64_t now_ns)
{
	(void)addr;
	assert_true(nd == &neighbours.nd && now_ns == 5);
	kept++;
	port_kept = port;
	return 0;
}

static void neighbour(uint32_t nh, unsigned interface, uint64_t gateway)
{
	static const uint8_t mac[6] = {2, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
	old->adj[nh] = (struct adj){.state = ADJ_FORWARD, .interface = (uint8_t)interface,
	                            .gateway = gateway};
	memcpy(old->adj[nh].header, mac, sizeof mac);
}

static const struct net_addr host6 = {{0x20010db8, 0, 0, 7}};

/* Two interfaces with both families; the old program had them in the other order. One neighbour of
 * each family, on the second. */
static int setup(void **s)
{
	static uint64_t priv[8192];
	(void)s;
	memset(tables, 0, sizeof tables);
	memset(&running, 0, sizeof running);
	memset(&forwarding, 0, sizeof forwarding);
	memset(&neighbours, 0, sizeof neighbours);
	restored4 = restored6 = kept = worked = 0;
	no_servers = false;
	lacks = false;
	running.applied = forwarding.ready = true;
	now->ifs = old->ifs = 2;
	for (unsigned n = 0; n < 2; n++) {
		now->interface[n].key = old->interface[1 - n].key = n;
		now->interface[n].enabled = now->interface[n].enabled6 = true;
		now->interface[n].mtu = 1500;
	}
	now->flow_seed = 1;
	old->flow_seed = 2;
	neighbour(NH_NEIGHBOUR + 3, 0, 0xc6336409);
	neighbour(NH_NEIGHBOUR6 + 5, 0, 0);
	assert_true(host6_shared_bytes(16) <= 65536 && host6_private_bytes(16) <= sizeof priv);
	host6_init(&hosts, 16, tables[0] + sizeof(struct dp_state), priv,
	           (const uint64_t[2]){1, 2});
	old->hosts6 = (void *)(tables[0] + sizeof(struct dp_state));
	assert_true(host6_insert(&hosts, 0, &host6, NH_NEIGHBOUR6 + 5) >= 0);
	old->interface6[0].count = 1;
	return 0;
}

static bool restore(void) { return restore_tables(old, BYTES); }

/* Found by the interface's name, whatever its number was; all work is done when it returns. */
static void neighbours_go_on(void **s)
{
	(void)s;
	assert_true(restore());
	assert_int_equal(restored4, 1);
	assert_int_equal(port4, 1);
	assert_int_equal(restored6, 1);
	assert_int_equal(port6, 1);
	assert_int_equal(kept, 1);
	assert_int_equal(port_kept, 1);
	assert_int_equal(now->flow_seed, 2); /* flows keep their next hops */
	assert_int_equal(worked, 3);
}

/* IPv4: an address that is not on the link; an adjacency that does not forward; an interface that
 * does not exist, is not enabled, or has another name. */
static void strangers4(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 6; i++) {
		setup(NULL);
		struct adj *a = &old->adj[NH_NEIGHBOUR + 3];
		if (i == 0)
			a->gateway = 0xc0000209; /* on the other interface */
		else if (i == 1)
			a->gateway = 0x0a000001; /* on no interface */
		else if (i == 2)
			a->interface = 255;
		else if (i == 3)
			a->state = (uint8_t)~ADJ_FORWARD;
		else if (i == 4)
			now->interface[1].enabled = false;
		else
			old->interface[0].key = 77;
		assert_true(restore());
		assert_int_equal(restored4, 0);
	}
}

/* IPv6: next hops that are not neighbours of that family, or no next hops. */
static void strangers6(void **s)
{
	(void)s;
	static const uint32_t nh[] = {NH_NEIGHBOUR + 3, NH_NEIGHBOUR6 - 1, NH_NEIGHBOUR6 + 6, NH_MAX,
	                              UINT32_MAX};
	for (unsigned i = 0; i < ARRAY_LEN(nh); i++) {
		setup(NULL);
		assert_int_equal(host6_remove(&hosts, 0, &host6), 0);
		assert_true(host6_insert(&hosts, 0, &host6, nh[i]) >= 0);
		assert_true(restore());
		assert_int_equal(restored6, 0);
	}
	setup(NULL);
	now->interface[1].enabled6 = false;
	assert_true(restore());
	assert_int_equal(restored6, 0);
}

/* The table of hosts is at an invalid place: before, within or behind the data-plane state, or
 * misaligned. */
static void hosts_elsewhere(void **s)
{
	(void)s;
	const int64_t at[] = {-64, 0, sizeof(struct dp_state) - 64, BYTES, BYTES + 64, INT64_MIN,
	                      sizeof(struct dp_state) + 4};
	for (unsigned i = 0; i < ARRAY_LEN(at); i++) {
		setup(NULL);
		old->hosts6 = (void *)((uintptr_t)old + (uint64_t)at[i]);
		assert_true(restore());
		assert_int_equal(restored6, 0);
		assert_int_equal(restored4, 1);
	}
}

/* More addresses than an interface can have. */
static void too_many_addresses(void **s)
{
	(void)s;
	old->interface6[0].count = UINT32_MAX;
	assert_true(restore());
	assert_int_equal(kept, DP_ADDRESSES6_MAX);
}

/* A program that lacks something does not take over. */
static void not_whole(void **s)
{
	(void)s;
	bool *const missing[] = {&running.applied, &forwarding.ready};
	for (unsigned i = 0; i < 2; i++) {
		setup(NULL);
		*missing[i] = false;
		assert_false(restore());
	}
	setup(NULL);
	no_servers = true;
	assert_false(restore());
	setup(NULL);
	lacks = true; /* routes, or hosts */
	assert_false(restore());
	setup(NULL);
	assert_false(restore_tables(old, sizeof(struct dp_state) - 1));
	assert_int_equal(restored4 + restored6 + kept, 0);
}

/* Whatever the tables contain. */
static void anything(void **s)
{
	(void)s;
	seed_random("restore");
	for (unsigned i = 0; i < 20; i++) {
		setup(NULL);
		random_fill(tables[0], BYTES);
		if (i % 2)
			old->hosts6 = (void *)(tables[0] + sizeof(struct dp_state));
		restored4 = restored6 = 0;
		for (unsigned k = 0; k < NH_MAX; k++)
			memset(old->adj[k].header, 2, 6);
		(void)restore();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(neighbours_go_on, setup),
		cmocka_unit_test_setup(strangers4, setup),
		cmocka_unit_test_setup(strangers6, setup),
		cmocka_unit_test_setup(hosts_elsewhere, setup),
		cmocka_unit_test_setup(too_many_addresses, setup),
		cmocka_unit_test_setup(not_whole, setup),
		cmocka_unit_test_setup(anything, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
