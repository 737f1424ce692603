/* See slots_route.h. A packet that leaves the vector path ends the program: only it is measured. */
#include "tests/bench/slots/slots_route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "apps/router/error.h"
#include "apps/router/redirect.h"
#include "apps/router/router.h"
#include "apps/router/send.h"
#include "apps/router/slow.h"
#include "control/control.h"
#include "dataplane/trace_note.h"
#include "dataplane/vlan.h"
#include "runtime/runtime.h"
#include "net/acl/acl.h"
#include "net/fib/fib.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "tests/unit/rig/host.h"
#include "tests/unit/rig/prefixes.h"

#define NEIGHBOURS 64
#define VID 10
#define VLAN NIC_PORTS_MAX /* the number of its interface */
#define DESTINATIONS (1u << 20)
#define RULES 1000
#define HUGE_PAGE ((size_t)2 << 20)

struct core_current core_current;
const struct control_hooks control_plane_hooks;
struct router router;

static struct dp_state dp;
static _Alignas(64) uint8_t shared[DP_SHARED_BYTES];
static struct counters counters;
static struct fate_counts fates;
static struct fib_writer one, full, full6;
static const struct acl *filter;
static uint32_t destination[DESTINATIONS]; /* of frames, with the full table */
static struct net_addr destination6[DESTINATIONS];
static enum route_table table;
static const uint8_t ours[] = {2, 'r', 'o', 'u', 't', 'e'}, theirs[] = {2, 'o', 't', 'h', 'e', 'r'};

void *core_published_area(size_t *bytes)
{
	*bytes = sizeof dp;
	return &dp;
}

void *core_shared_area(size_t *bytes)
{
	*bytes = sizeof shared;
	return shared;
}

void dp_counted_start(void) {} /* already zero */

uint64_t core_now_ns(void) { return 0; }

void router_slow(struct pkt *p, bool asked)
{
	(void)asked;
	fprintf(stderr, "slots_bench: a packet of %u bytes goes the slow way\n", p->len);
	abort();
}

/* no packet is traced */
struct core_trace core_trace;

void trace_way(uint32_t nh, unsigned total)
{
	(void)nh, (void)total;
	abort();
}

void trace_filter(const struct dp_filter *f, uint32_t rule)
{
	(void)f, (void)rule;
	abort();
}

void trace_source(uint32_t nh)
{
	(void)nh;
	abort();
}

/* the filter permits all packets */
void router_deny(struct pkt *p, enum counter reason, bool is_told, bool is_six)
{
	(void)p, (void)reason, (void)is_told, (void)is_six;
	abort();
}

/* no port is in a bundle */
unsigned router_bundle_in(struct pkt *v, unsigned n, unsigned port)
{
	(void)v, (void)n, (void)port;
	abort();
}

/* the interface sends no redirects */
void router_redirect_all(struct pkt *v, const uint32_t *nh, unsigned m, unsigned port, bool six)
{
	(void)v, (void)nh, (void)m, (void)port, (void)six;
	abort();
}

/* Large pages, like published memory with a table; otherwise the figures would be the TLB's. */
static void *large(size_t bytes)
{
	bytes = (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	void *p = aligned_alloc(HUGE_PAGE, bytes);
	if (!p)
		abort();
	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

static void table_make(struct fib_writer *w, uint32_t routes)
{
	const bool is_six = w == &full6;
	size_t bytes = is_six ? fib6_shared_bytes(routes) : fib4_shared_bytes(routes);
	size_t more = is_six ? fib6_private_bytes(routes, bytes) : fib4_private_bytes(routes, bytes);
	if ((is_six ? fib6_init : fib4_init)(w, large(bytes), bytes, large(more), more))
		abort();
	fib_use(w, fib_path_for(vector_bits()));
}

static void table_add(struct fib_writer *w, uint32_t addr, unsigned plen, unsigned neighbour)
{
	if (fib4_insert(w, addr, plen, NH_NEIGHBOUR + neighbour))
		abort();
}

static uint32_t routes_of_full, routes_of_six;

/* Prefixes like the global table's, and for each frame a forwardable address in one of them. */
static void full_make(void)
{
	struct prefix *p;
	seed_random("slots_bench");
	unsigned n = prefixes_make(&p, routes_of_full);
	table_make(&full, n);
	for (unsigned i = 0; i < n; i++)
		table_add(&full, p[i].addr, p[i].plen, p[i].nh % NEIGHBOURS);
	for (unsigned i = 0; i < DESTINATIONS; i++)
		do {
			struct prefix q = p[random_below(n)];
			destination[i] = q.addr | ((uint32_t)random64() & (uint32_t)(0xffffffffull >> q.plen));
		} while (ip4_is_martian(destination[i]));
	free(p);
}

static bool is_global(const struct net_addr *a)
{
	return (a->w[0] & 0xe0) == 0x20; /* 2000::/3 (RFC 4291 2.4) */
}

/* The same for IPv6. */
static void full6_make(void)
{
	struct prefix6 *p;
	seed_random("slots_bench");
	unsigned n = prefixes6_make(&p, routes_of_six);
	table_make(&full6, n);
	fib6_favour(&full6, NH_NEIGHBOUR, NH_NEIGHBOUR6);
	for (unsigned i = 0; i < n; i++) {
		const struct net_addr addr = net_addr_load(p[i].addr);
		if (fib6_insert(&full6, &addr, p[i].plen, NH_NEIGHBOUR6 + p[i].nh % NEIGHBOURS))
			abort();
		fib_reclaim(&full6);
	}
	for (unsigned i = 0; i < DESTINATIONS; i++)
		do {
			const struct prefix6 *q = &p[random_below(n)];
			prefix_draw((uint8_t *)&destination6[i], 16, q->addr, q->plen);
		} while (!is_global(&destination6[i]));
	free(p);
}

static void neighbour_make(struct adj *a, unsigned interface, uint16_t type)
{
	*a = (struct adj){.port = 0, .state = ADJ_FORWARD, .mtu = 1500, .interface = (uint8_t)interface};
	vlan_adjacency(a, &dp.interface[interface], theirs, type);
}

/* Random rules, none of which has the source of a frame, for destinations of frames. */
static void rule_make(struct acl_rule *r)
{
	const unsigned plen = 16 + random_below(9);
	const uint32_t src = IP4(20 + random_below(100), random_below(256), 0, 0);
	const uint32_t dst = IP4(198, 19, random_below(256), 0) & (uint32_t)(0xffffffffull << (32 - plen));
	const uint16_t port = (uint16_t)random_below(1024);
	*r = (struct acl_rule){.src = net_addr_ip4(src),
	                       .dst = net_addr_ip4(dst),
	                       .src_plen = 96 + 16,
	                       .dst_plen = (uint8_t)(96 + plen),
	                       .proto = random_below(2) ? IP4_PROTO_TCP : IP4_PROTO_UDP,
	                       .src_port = ACL_ANY_PORT,
	                       .dst_port = {port, port}};
}

/* The filter of tests/bench/price.py: the last rule permits all packets. */
static const struct acl *filter_make(void)
{
	static struct acl_rule rule[RULES];
	const struct acl *a;
	size_t used, room = (size_t)2 << 20;
	seed_random("slots_bench");
	for (unsigned i = 0; i < RULES - 1; i++)
		rule_make(&rule[i]);
	rule[RULES - 1] = (struct acl_rule){.src = net_addr_ip4(0),
	                                    .dst = net_addr_ip4(0),
	                                    .src_plen = 96,
	                                    .dst_plen = 96,
	                                    .any_proto = true,
	                                    .permit = true,
	                                    .src_port = ACL_ANY_PORT,
	                                    .dst_port = ACL_ANY_PORT};
	void *memory = large(room), *scratch = malloc(acl_scratch_bytes(RULES));
	const enum acl_path path = acl_path_for(vector_bits());
	if (!scratch || acl_compile(rule, RULES, false, path, memory, room, scratch, &a, &used) != E_OK)
		abort();
	free(scratch);
	return a;
}

void route_start(uint32_t full_routes, uint32_t six_routes)
{
	routes_of_full = full_routes;
	routes_of_six = six_routes;
	table_make(&one, 1);
	table_add(&one, IP4(198, 18, 0, 0), 15, 0);
	dp.avx2 = vector_bits() >= 256;
	dp.filters = &dp.filter_set[0];
	dp.interface[0] = (struct dp_interface){.enabled = true, .enabled6 = true, .link_up = true};
	memcpy(dp.interface[0].mac, ours, sizeof ours);
	dp.interface[VLAN] = dp.interface[0];
	dp.interface[VLAN].vid = VID;
	dp.vlan[0][VID] = VLAN;
	self.counters = &counters;
	self.fates = &fates;
	router_app.data_start();
}

void route_table(enum route_table wanted)
{
	table = wanted;
	if (table == ROUTE_FULL && !full.fib)
		full_make();
	if (table == ROUTE_SIX && !full6.fib)
		full6_make();
	dp.fib = table == ROUTE_FULL ? full.fib : one.fib;
	dp.fib6 = full6.fib;
	const unsigned interface = table == ROUTE_VLAN ? VLAN : 0;
	dp.tagged = table == ROUTE_VLAN;
	for (unsigned i = 0; i < NEIGHBOURS; i++) {
		neighbour_make(&dp.adj[NH_NEIGHBOUR + i], interface, ETH_TYPE_IP4);
		neighbour_make(&dp.adj[NH_NEIGHBOUR6 + i], interface, ETH_TYPE_IP6);
	}
	struct dp_filter *in = &dp.filter_set[0].interface[0].in[0];
	if (table == ROUTE_FILTER && !filter)
		filter = filter_make();
	in->acl = table == ROUTE_FILTER ? filter : NULL;
	dp.policy[0].verify[0] = table == ROUTE_VERIFY ? VERIFY_ANY : 0;
}

static void ip4_write(uint8_t *ip, uint32_t number)
{
	const struct ip4_build b = {.src = IP4(198, 18, 0, 1),
	                            .dst = table == ROUTE_FULL ? destination[number % DESTINATIONS]
	                                                       : IP4(198, 19, 0, 0) + (number & 0xffff),
	                            .payload_len = table == ROUTE_VLAN ? 26 - ETH_TAG_LEN : 26,
	                            .ttl = 64,
	                            .proto = IP4_PROTO_UDP};
	ip4_header_build(ip, &b);
}

static void ip6_write(uint8_t *ip, uint32_t number)
{
	const struct ip6_build b = {.src = IP6(0x20010db8, 0, 0, 1),
	                            .dst = destination6[number % DESTINATIONS],
	                            .payload_len = 6,
	                            .next = IP6_NO_NEXT,
	                            .hop_limit = 64};
	ip6_header_build(ip, &b);
}

void route_frame(uint8_t *at, uint32_t number)
{
	memset(at, 0, 60);
	memcpy(at, ours, sizeof ours);
	memcpy(at + 6, theirs, sizeof theirs);
	if (table == ROUTE_VLAN) {
		eth_tag_build(at, VID);
		at += ETH_TAG_LEN;
	}
	be16_store(at + 12, table == ROUTE_SIX ? ETH_TYPE_IP6 : ETH_TYPE_IP4);
	(table == ROUTE_SIX ? ip6_write : ip4_write)(at + ETH_HLEN, number);
}
