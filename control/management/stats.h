/*
 * What both /metrics and the JSON pages tell of the machine: figures that have to be looked for,
 * and the words for them.
 */
#ifndef CONTROL_MANAGEMENT_STATS_H
#define CONTROL_MANAGEMENT_STATS_H

#include "dataplane/state.h"
#include "net/counters.h"
#include "net/arp.h"
#include "net/nd.h"

/* The uint64_t at an offset of a structure of counters that another core may be writing. */
static inline uint64_t stats_word(const void *base, size_t offset)
{
	const uint8_t *p = base;
	return __atomic_load_n((const uint64_t *)(const void *)(p + offset), __ATOMIC_RELAXED);
}

uint64_t stats_uptime_ns(void);

/*
 * What the console shows is counted from the last `clear counters` on, else from boot: what data
 * cores and devices count goes on, so that /metrics and the pages, which others subtract from each
 * other, never fall. The control core remembers what there was.
 */
void stats_clear(void);

/* When that was, as stats_uptime_ns(); 0: never. */
uint64_t stats_cleared_ns(void);

/* Since then. */
void stats_counters(struct counters *c);
void stats_port(unsigned port, struct nic_counters *queue, struct nic_stats *device);

/* Of any interface: what is no port has packets and bytes alone, of the frames without their tags,
 * since the ports started. */
void stats_interface(unsigned n, struct nic_counters *queue, struct nic_stats *device);

/*
 * Drops of packets that came in by interface n, by reason: the first is CNT_DROP_FIRST. n ==
 * DP_INTERFACES_MAX: of no interface there is, those of VLANs before the ports started last among them;
 * with these the sum over all is the counter of that reason. cleared: since the last `clear
 * counters`.
 */
void stats_drops(unsigned n, bool cleared, uint64_t count[CNT_DROPS]);

/* The same as a list, for pages that are made piece by piece: i counts reasons and interfaces, and
 * last of all of no interface, whose name is empty. False: the list has ended; 0: nothing to tell. */
struct stats_drop {
	char interface[DP_NAME_MAX];
	const char *reason; /* a counter's name */
	uint64_t count;
	bool last; /* of the list */
};
bool stats_drop_next(uint32_t i, struct stats_drop *d);

/* The packets and bytes of any interface, whatever has been cleared. */
void stats_carried(unsigned n, struct nic_counters *c);

/* Of any interface: a VLAN's link is its port's, a loopback is always up. */
bool stats_link_is_up(unsigned n);

/* The ports are about to start anew, and interfaces may have other numbers. */
void stats_restart(void);

/* Received packets without a fate so far: they wait for a neighbour, or in a ring. */
uint64_t stats_waiting(const struct counters *sum);

/* "control", "data", "stand-by" or "control+data". */
const char *stats_role(unsigned core);

/* Neighbours of a table by their state: of neighbours.arp's by enum arp_state, of neighbours.nd's by enum
 * nd_state. */
#define STATS_NEIGH_STATES (ND_STATIC + 1)
_Static_assert((int)ARP_STATIC <= (int)ND_STATIC, "room for either");
void stats_neighbours(const struct neigh_table *table, uint32_t count[STATS_NEIGH_STATES]);

/* Connections of a core in a state; false: it has no TCP. */
bool stats_tcp(unsigned core, enum tcp_state state, uint32_t *n);
const char *stats_tcp_state(enum tcp_state state);

/* What a port counts under a reason: a field of struct nic_counters, or of the device's own. */
enum stats_class {
	STATS_ERROR, /* frames that were damaged, or not as they should be */
	STATS_DROP,  /* good ones, for which there was no room */
	STATS_EVENT, /* no frames, or none for us */
};
struct stats_reason {
	const char *name;
	size_t offset;
	bool device, sent;
	enum stats_class class;
};
extern const struct stats_reason stats_reasons[];
extern const unsigned stats_reason_count;

/* Frames of a class, received or to be sent. */
uint64_t stats_frames(const struct nic_counters *queue, const struct nic_stats *device, bool sent,
                      enum stats_class class);

#endif
