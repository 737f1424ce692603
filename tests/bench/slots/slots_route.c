/* See slots_route.h. A packet that leaves the vector path ends the program: only it is measured. */
#include "tests/bench/slots/slots_route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "apps/router/filter.h"
#include "apps/router/redirect.h"
#include "apps/router/router.h"
#include "apps/router/send.h"
#include "apps/router/slow.h"
#include "apps/router/verify.h"
#include "control/control.h"
#include "dataplane/trace_note.h"
#include "runtime/runtime.h"
#include "net/fib/fib.h"
#include "net/ip4.h"
#include "tests/unit/rig/host.h"
#include "tests/unit/rig/prefixes.h"

#define NEIGHBOURS 64
#define DESTINATIONS (1u << 20)
#define HUGE_PAGE ((size_t)2 << 20)

struct core_current core_current;
const struct control_hooks control_plane_hooks;
struct router router;

static struct dp_state dp;
static _Alignas(64) uint8_t shared[DP_SHARED_BYTES];
static struct counters counters;
static struct fate_counts fates;
static struct fib_writer one, full;
static uint32_t destination[DESTINATIONS]; /* of frames, with the full table */
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

/* there is no filter */
unsigned router_filter_in(struct pkt *v, uint32_t *beside, unsigned n, const struct dp_filter *f)
{
	(void)v, (void)beside, (void)n, (void)f;
	abort();
}

/* no port is in a bundle */
unsigned router_bundle_in(struct pkt *v, unsigned n, unsigned port)
{
	(void)v, (void)n, (void)port;
	abort();
}

unsigned router_filter_out(struct pkt *v, uint32_t *nh, unsigned n, bool six)
{
	(void)v, (void)nh, (void)n, (void)six;
	abort();
}

/* sources are not verified */
unsigned router_verify(struct pkt *v, uint32_t *beside, unsigned n, unsigned verify, bool six)
{
	(void)v, (void)beside, (void)n, (void)verify, (void)six;
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
	size_t bytes = fib4_shared_bytes(routes), more = fib4_private_bytes(routes, bytes);
	if (fib4_init(w, large(bytes), bytes, large(more), more))
		abort();
	fib_use(w, fib_path_for(vector_bits()));
}

static void table_add(struct fib_writer *w, uint32_t addr, unsigned plen, unsigned neighbour)
{
	if (fib4_insert(w, addr, plen, NH_NEIGHBOUR + neighbour))
		abort();
}

static uint32_t routes_of_full;

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

static void neighbour_make(struct adj *a)
{
	static const uint8_t ip4[] = {8, 0};
	*a = (struct adj){.port = 0, .state = ADJ_FORWARD, .mtu = 1500, .header_bytes = ETH_HLEN};
	memcpy(a->header, theirs, sizeof theirs);
	memcpy(a->header + 6, ours, sizeof ours);
	memcpy(a->header + 12, ip4, sizeof ip4);
}

void route_start(uint32_t full_routes)
{
	routes_of_full = full_routes;
	table_make(&one, 1);
	table_add(&one, IP4(198, 19, 0, 0), 16, 0);
	dp.filters = &dp.filter_set[0];
	dp.interface[0] = (struct dp_interface){.enabled = true, .link_up = true};
	memcpy(dp.interface[0].mac, ours, sizeof ours);
	for (unsigned i = 0; i < NEIGHBOURS; i++)
		neighbour_make(&dp.adj[NH_NEIGHBOUR + i]);
	self.counters = &counters;
	self.fates = &fates;
	router_app.data_start();
}

void route_table(bool is_full)
{
	if (is_full && !full.fib)
		full_make();
	dp.fib = is_full ? full.fib : one.fib;
}

void route_frame(uint8_t *at, uint32_t number)
{
	const bool is_full = dp.fib == full.fib;
	const struct ip4_build b = {.src = IP4(198, 18, 0, 1),
	                            .dst = is_full ? destination[number % DESTINATIONS]
	                                           : IP4(198, 19, 0, 0) + (number & 0xffff),
	                            .payload_len = 26,
	                            .ttl = 64,
	                            .proto = IP4_PROTO_UDP};
	memset(at, 0, 60);
	memcpy(at, ours, sizeof ours);
	memcpy(at + 6, theirs, sizeof theirs);
	at[12] = 8;
	ip4_header_build(at + 14, &b);
}
