/*
 * Figures of the machine that /metrics, the JSON pages and the console share, and the words for
 * them.
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

/* The state of a core as a word: off, running, asleep, dead or failed. */
const char *stats_core_state(unsigned core);

/*
 * `clear counters`: the console shows counts since the last call, or since boot. The counters of
 * data cores and devices are not reset, so those of /metrics and the pages, whose readers compute
 * differences, never fall. The control core keeps the values at the call and subtracts them.
 */
void stats_clear(void);

/* stats_uptime_ns() at the last stats_clear(); 0: never called. */
uint64_t stats_cleared_ns(void);

/* Counts since the last stats_clear(). */
void stats_counters(struct counters *c);
void stats_port(unsigned port, struct nic_counters *queue, struct nic_stats *device);

/* The same of any interface. One that is not a port has packets and bytes only, of frames without
 * their tags, since the ports started. */
void stats_interface(unsigned n, struct nic_counters *queue, struct nic_stats *device);

/*
 * Packets received on interface n, by fate. n == DP_INTERFACES_MAX: those of no interface, including
 * those of VLANs before the ports started last; with these the sum over all n is the counter of that
 * fate. cleared: since the last `clear counters`.
 */
void stats_fates(unsigned n, bool cleared, uint64_t count[CNT_FATES]);

/* The sums of stats_fates that interfaces show. Packets of a VLAN are not among its port's. */
struct stats_packets {
	uint64_t forwarded, delivered, dropped; /* delivered: all fates but the other two */
};
struct stats_packets stats_packets(unsigned n, bool cleared);

/* stats_fates as a list of the fates of one kind, for pages that are generated piece by piece: row i is
 * a fate of an interface, in order of interface; those of no interface, whose name is empty, are
 * last. False: the list has ended. d->count 0: nothing to show. */
struct stats_fate {
	char interface[DP_NAME_MAX];
	const char *name; /* a counter's */
	uint64_t count;
	uint32_t zeros; /* at least so many rows behind this one have nothing to show */
	bool last; /* of the list */
};
bool stats_fate_next(uint32_t i, enum counter_kind kind, struct stats_fate *d);

/* The packets and bytes of any interface, regardless of stats_clear(). */
void stats_carried(unsigned n, struct nic_counters *c);

/* True if an interface's link is up: a VLAN's is that of its port, a loopback's is always up. */
bool stats_link_is_up(unsigned n);

/* Called before the ports restart: interfaces may get other numbers. */
void stats_restart(void);

/* Received packets without a fate yet: they wait for a neighbour, for reassembly, or in a ring to
 * the control core. */
uint64_t stats_waiting(const struct counters *sum);

/* "control", "data", "worker" (core_steered_from), "stand-by" or "control+data". */
const char *stats_role(unsigned core);

/* Counts a table's neighbours by state: enum arp_state for neighbours.arp, enum nd_state for
 * neighbours.nd. */
#define STATS_NEIGH_STATES (ND_STATIC + 1)
_Static_assert((int)ARP_STATIC <= (int)ND_STATIC, "room for either");
void stats_neighbours(const struct neigh_table *table, uint32_t count[STATS_NEIGH_STATES]);

/* Number of a core's connections in a state; false: the core has no TCP. */
bool stats_tcp(unsigned core, enum tcp_state state, uint32_t *n);
const char *stats_tcp_state(enum tcp_state state);

/* What a port counts under a reason: a field of struct nic_counters, or (`device`) of struct
 * nic_stats. */
enum stats_class {
	STATS_ERROR, /* damaged or malformed frames */
	STATS_DROP,  /* good frames for which there was no room */
	STATS_EVENT, /* not frames, or frames that are not for us */
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
