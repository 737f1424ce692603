/*
 * control/forwarding/neighbour.c with the real ARP table: the life of a neighbour's next-hop number.
 * A number is used again by somebody else only after the route has gone and every data core has
 * passed a quiescent point; a neighbour has a route from its first answer on, and not before.
 */
#include "tests/unit/rig/host.h"

#include "control/forwarding/adjacency.c"
#include "control/forwarding/neighbour.c"

#define IP_A IP4(192, 0, 2, 2)

uint64_t host_tsc;
struct core_self self;
struct running running;
struct forwarding forwarding;
static uint8_t tables[sizeof(struct dp_state)] __attribute__((aligned(64)));
static struct dp_state *dp = (struct dp_state *)(void *)tables;
static uint8_t arp_memory[8u << 20] __attribute__((aligned(64)));
static struct fib_writer fib;
static uint8_t fib_shared[1u << 20] __attribute__((aligned(64))), fib_private[8u << 20];
static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1}, peer[6] = {2, 0, 0, 0, 0, 2};
static uint64_t now_ns = 1000000000;
static unsigned quiesced; /* while an adjacency that is not SPECIAL was led to by no route */
static bool cores_answer;

void *core_published_area(size_t *bytes)
{
	*bytes = sizeof tables;
	return dp;
}

uint64_t core_now_ns(void) { return now_ns; }

/* The route to IP_A, if there is one; the rest of the base is not looked at here. */
void routes_host(uint32_t ip, uint32_t nh)
{
	assert_int_equal(ip, IP_A);
	if (nh != NH_NONE)
		assert_int_equal(fib4_insert(&fib, ip, 32, nh), E_OK);
	else if (fib4_get(&fib, ip, 32) != NH_NONE)
		assert_int_equal(fib4_remove(&fib, ip, 32), E_OK);
}

bool core_quiesce(void)
{
	const uint32_t nh = fib4_lookup(fib.fib, IP_A);
	quiesced += nh == NH_NONE && dp->adj[NH_NEIGHBOUR].state != ADJ_SPECIAL;
	return cores_answer;
}

/* --- what the two files want beside that, and what is not used here --- */

void *core_private_alloc(size_t bytes) { return bytes <= sizeof arp_memory ? arp_memory : NULL; }
size_t core_private_left(void) { return 2 * sizeof arp_memory; }
const void *core_shared_area_of(unsigned core) { (void)core; return NULL; }
unsigned core_data_count(void) { return 0; }
int subnet_interface(const struct net_addr *addr) { (void)addr; return 0; }
void routes_neighbour_gone(void) {}
void routes_set_reach(const struct routes_reach *r) { (void)r; }
void routes_resolved(uint32_t nh) { (void)nh; }
uint32_t neighbour6_next_hop(unsigned port, const struct net_addr *addr) { (void)port, (void)addr; return 0; }
uint32_t neighbour46_next_hop(unsigned port, const struct net_addr *addr) { (void)port, (void)addr; return 0; }
void nd_output(struct nd *nd, unsigned index, uint8_t *frame, unsigned len, uint64_t now)
{
	(void)nd, (void)index, (void)frame, (void)len, (void)now;
}
void nd_pin(struct nd *nd, unsigned index) { (void)nd, (void)index; }
void nd_unpin(struct nd *nd, unsigned index) { (void)nd, (void)index; }
void neighbour6_change(const struct config *next) { (void)next; }
void neighbour6_link(unsigned port, bool up) { (void)port, (void)up; }
uint64_t neighbour6_tick(uint64_t now) { return now + 1; }
void log_event(enum log_level level, const char *facility, const char *format, ...)
{
	(void)level, (void)facility, (void)format;
}
void trace_leave(void) {}
void trace_mark(uint8_t *mark) { mark[0] = 0; }

bool trace_resume(const uint8_t *mark, enum trace_end how)
{
	(void)mark, (void)how;
	return false;
}

int core_inject(unsigned pair, unsigned port, const uint8_t *frame, unsigned len, uint32_t kind,
                uint32_t arg)
{
	(void)pair, (void)port, (void)frame, (void)len, (void)kind, (void)arg;
	return E_OK;
}

void core_event_seldom(enum core_event_number e, uint64_t a, uint64_t b) { (void)e, (void)a, (void)b; }
uint64_t nd_deadline(const struct nd *nd) { (void)nd; return UINT64_MAX; }
void nd_used(struct nd *nd, unsigned index) { (void)nd, (void)index; }

/* --- tests --- */

static int setup(void **s)
{
	static struct counters counters;
	static struct boot_info info;
	(void)s;
	self.counters = &counters;
	self.info = &info;
	memset(tables, 0, sizeof tables);
	memset(&running, 0, sizeof running);
	running.config.arp_timeout_s = 60;
	dp->ifs = 1;
	dp->interface[0] = (struct dp_interface){.mtu = 1500,
	                                    .enabled = true,
	                                    .link_up = true,
	                                    .addresses = 1,
	                                    .addr = {IP4(192, 0, 2, 1)},
	                                    .plen = {24}};
	memcpy(dp->interface[0].mac, mac, sizeof mac);
	cores_answer = true;
	assert_int_equal(fib4_init(&fib, fib_shared, sizeof fib_shared, fib_private, sizeof fib_private),
	                 E_OK);
	assert_int_equal(neighbour_start(), E_OK);
	return 0;
}

static uint32_t route(void) { return fib4_get(&fib, IP_A, 32); }
static unsigned state(uint32_t nh) { return dp->adj[nh].state; }

static uint32_t learn(void)
{
	const uint32_t nh = neighbour_next_hop(0, IP_A);
	assert_int_equal(state(nh), ADJ_UNRESOLVED);
	assert_int_equal(route(), NH_NONE); /* it has not answered */
	assert_true(arp_restore(&neighbours.arp, 0, IP_A, peer, now_ns) >= 0);
	assert_int_equal(state(nh), ADJ_FORWARD);
	assert_int_equal(route(), nh);
	quiesced = 0;
	return nh;
}

static void the_route_goes_before_the_number(void **s)
{
	(void)s;
	const uint32_t nh = learn();
	arp_forget(&neighbours.arp, 0, IP_A);
	assert_int_equal(quiesced, 1);
	assert_int_equal(route(), NH_NONE);
	assert_int_equal(state(nh), ADJ_SPECIAL);
	learn(); /* and again */
}

/* A data core that does not come round may still send to it: the ports are restarted then. */
static void a_number_that_a_core_may_still_use(void **s)
{
	(void)s;
	const uint32_t nh = learn();
	cores_answer = false;
	arp_forget(&neighbours.arp, 0, IP_A);
	assert_int_equal(quiesced, 1);
	assert_int_equal(route(), NH_NONE);
	assert_int_not_equal(state(nh), ADJ_SPECIAL);
	const struct adj was = dp->adj[nh];
	unsigned host = 3; /* numbers are used in turn */
	while (host < 3 + DP_NEIGHBOURS && neighbour_next_hop(0, IP4(192, 0, 0, 0) + host) != nh)
		host++;
	assert_in_range(host, 3, 2 + DP_NEIGHBOURS);
	assert_memory_equal(&dp->adj[nh], &was, sizeof was); /* nobody uses it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_route_goes_before_the_number, setup),
		cmocka_unit_test_setup(a_number_that_a_core_may_still_use, setup),
	};
	return cmocka_run_group_tests_name("host_number", tests, NULL, NULL);
}
