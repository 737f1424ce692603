/* See slots_route.h. A packet that leaves the vector path ends the program: the figures are its. */
#include "tests/bench/slots_route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/router/router.h"
#include "control/plane.h"
#include "core/core.h"
#include "net/fib/fib.h"
#include "net/ip4.h"

#define NEIGHBOUR 7 /* next hop */
#define FIB_ROUTES 1

struct core_hand core_hand;
const struct control_hooks plane_hooks;

static struct view view;
static struct view_shared shared;
static struct counters counters;
static const uint8_t ours[] = {2, 'r', 'o', 'u', 't', 'e'}, theirs[] = {2, 'o', 't', 'h', 'e', 'r'};

void *core_snapshot_area(size_t *bytes)
{
	*bytes = sizeof view;
	return &view;
}

void *core_shared_area(size_t *bytes)
{
	*bytes = sizeof shared;
	return &shared;
}

uint64_t core_now_ns(void) { return 0; }
void core_note_forwarded(void) {}

void router_slow(struct pkt *p)
{
	fprintf(stderr, "slots_bench: a packet of %u bytes goes the slow way\n", p->len);
	abort();
}

void route_start(void)
{
	static const uint8_t ip4[] = {8, 0};
	struct fib_writer w;
	struct adj *a = &view.adj[NEIGHBOUR];
	size_t bytes = fib4_shared_bytes(FIB_ROUTES), more = fib4_private_bytes(FIB_ROUTES, bytes);
	bytes = (bytes + 63) & ~(size_t)63;
	more = (more + 63) & ~(size_t)63;
	if (fib4_init(&w, aligned_alloc(64, bytes), bytes, aligned_alloc(64, more), more) ||
	    fib4_insert(&w, IP4(198, 19, 0, 0), 16, NEIGHBOUR))
		abort();
	fib_use(&w, fib_path_for(vector_bits()));
	view.fib = w.fib;
	view.port[0] = (struct view_port){.enabled = true, .link_up = true};
	memcpy(view.port[0].mac, ours, sizeof ours);
	*a = (struct adj){.port = 0, .state = ADJ_FORWARD, .mtu = 1500};
	memcpy(a->header, theirs, sizeof theirs);
	memcpy(a->header + 6, ours, sizeof ours);
	memcpy(a->header + 12, ip4, sizeof ip4);
	self.counters = &counters;
	router_app.data_start();
}

void route_frame(uint8_t *at, uint32_t number)
{
	const struct ip4_build b = {.src = IP4(198, 18, 0, 1),
	                            .dst = IP4(198, 19, 0, 0) + (number & 0xffff),
	                            .payload_len = 26,
	                            .ttl = 64,
	                            .proto = IP4_PROTO_UDP};
	memset(at, 0, 60);
	memcpy(at, ours, sizeof ours);
	memcpy(at + 6, theirs, sizeof theirs);
	at[12] = 8;
	ip4_header_build(at + 14, &b);
}
