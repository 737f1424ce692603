/* See control_rig.h. */
#include <sys/mman.h>
#include <time.h>

#include "control/config/running.h"
#include "control/console/log.h"
#include "control/forwarding/interfaces.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/persist.h"
#include "control/forwarding/routes.h"
#include "control/forwarding/subnets.h"
#include "control/forwarding/tables.h"
#include "net/arp.h"
#include "net/ip4.h"
#include "tests/bench/engine/control_rig.h"
#include "tests/unit/rig/host.h"

#define HUGE_PAGE ((size_t)2 << 20)

struct running running;
struct forwarding forwarding;
struct neighbours neighbours;
static const struct boot_info info = {.tsc_hz = INT64_MAX}; /* so no second passes, and no progress is told */
struct core_self self = {.info = &info};

struct dp_state *rig_dp;
size_t rig_taken;

/* --- the runtime --- */

void *core_private_alloc(size_t bytes)
{
	bytes = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		abort();
	madvise(p, bytes, MADV_HUGEPAGE);
	memset(p, 0, bytes);
	rig_taken += bytes;
	return p;
}

size_t core_private_left(void) { return (size_t)1 << 30; }
void *core_persist_alloc(enum core_persist what, size_t bytes) { (void)what; return core_private_alloc(bytes); }
void *core_persist_find(enum core_persist what, size_t *bytes) { (void)what; (void)bytes; return NULL; }
void *core_published_area(size_t *bytes) { *bytes = sizeof *rig_dp; return rig_dp; }
bool core_ports_running(void) { return true; }
uint64_t core_now_ns(void) { return 1; }
void core_random(void *p, size_t n) { random_fill(p, n); }
void core_set_mtu(unsigned mtu) { (void)mtu; }
unsigned core_port_count(void) { return 2; }
const struct nic *core_port_nic(unsigned port) { (void)port; return NULL; }
struct persist_six forwarding_engine6(void) { return (struct persist_six){0}; }

void log_event(enum log_level level, const char *facility, const char *format, ...)
{
	(void)level, (void)facility, (void)format;
}

/* --- neighbours --- */

void neighbour_link(unsigned interface, bool up) { (void)interface; (void)up; }

static uint32_t next_hop(unsigned interface, const struct net_addr *addr, bool six)
{
	(void)interface;
	(void)six;
	return (net_addr_is_ip4(addr) ? NH_NEIGHBOUR : NH_NEIGHBOUR6) + (be32_get((be32_t){addr->w[3]}) & 255);
}

static void hold(uint32_t nh) { (void)nh; }

/* --- interface --- */

void rig_start(void)
{
	rig_dp = core_private_alloc(sizeof *rig_dp);
}

void rig_interfaces(void)
{
	static const struct routes_reach reach = {next_hop, hold, hold, hold};
	static const uint32_t addr[2] = {IP4(192, 0, 2, 1), IP4(198, 51, 100, 1)};
	rig_dp->ifs = NIC_PORTS_MAX;
	for (unsigned n = 0; n < 2; n++)
		rig_dp->interface[n] = (struct dp_interface){.enabled = true, .enabled6 = true, .link_up = true,
		                                             .mtu = 1500, .addresses = 1, .plen = {24},
		                                             .addr = {addr[n]}, .key = n};
	routes_set_reach(&reach);
	subnets_start();
}

double rig_cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
