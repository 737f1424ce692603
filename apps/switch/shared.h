/*
 * What data cores and control core of the switch know of each other.
 *
 * The control core publishes struct switch_shared (dp->plugin_data) and the forwarding database
 * (dp->plugin_more, net/fdb). Everything in it may change at any time by a single store. A frame that is in
 * a data core's hands meanwhile is sent by the old rule or by the new one.
 *
 * A data core shares struct switch_core (dp_plugin_shared):
 * - A ring of reports, one word each: the station and the port, of frames from stations that the database
 *   does not have, or has at another port. A report is not a punt: it costs the frame nothing, and the
 *   frame is forwarded meanwhile. A report is not repeated for REPORT_AGAIN_NS, so a burst makes one.
 * - How many frames have passed storm control in this second, by port and class. All data cores read it.
 * - When each entry was last found as a source: marks in the core's own memory (fdb.h, Age).
 *
 * Limits of learning: the ring has SWITCH_REPORTS places, and the control core takes SWITCH_LEARN_MAX
 * reports of a core in a turn, between its other work. A flood of made-up source addresses fills rings,
 * which costs the data cores a store a frame, and the control core that part of its turns. Nothing waits
 * for it. Reports that find no place are counted as switch_reports_lost; the next frame of the station
 * reports it again.
 *
 * What a data core writes is untrusted: words are checked, and the marks are read only within its arena.
 */
#ifndef APPS_SWITCH_SHARED_H
#define APPS_SWITCH_SHARED_H

#include "dataplane/state.h"
#include "net/fdb/fdb.h"
#include "net/snoop/message.h"
#include "net/snoop/table.h"

_Static_assert(NIC_PORTS_MAX <= FDB_PORTS, "an entry holds the number of a port");

/* What a port does with frames (802.1Q 8.4). net/stp sets BLOCKING and LEARNING (802.1D-2004 17.30). */
enum switch_state {
	SWITCH_DOWN, /* shut down, or without a link */
	SWITCH_BLOCKING,
	SWITCH_LEARNING,
	SWITCH_FORWARDING,
};

/* A VLAN in one word. Ports are bits. */
struct switch_vlan {
	uint16_t member;   /* ports that carry it */
	uint16_t tagged;   /* of these, ports that send its frames with a tag */
	uint8_t interface; /* of the machine's own in this VLAN; 0: none */
	uint8_t reserved[3];
};
_Static_assert(sizeof(struct switch_vlan) == 8, "is loaded whole");

/* Ports in two of the states, as bits, in one word. */
struct switch_ports {
	_Alignas(4) uint16_t forwarding;
	uint16_t learning;
};
_Static_assert(sizeof(struct switch_ports) == 4 && NIC_PORTS_MAX <= 16, "is loaded whole, and has all ports");

#define SWITCH_VLANS 4096

/* Classes of frames that storm control limits (storm.h), in the order of struct config_switchport. */
enum switch_storm {
	SWITCH_STORM_BROADCAST,
	SWITCH_STORM_MULTICAST,
	SWITCH_STORM_UNICAST, /* to a station that is not known */
	SWITCH_STORMS,
};

/* Snooping in a VLAN, in one word (snoop.h). Families are bits 1 << enum snoop_family. */
struct switch_snoop {
	_Alignas(8) uint16_t routers[SNOOP_FAMILIES]; /* ports that lead to routers */
	uint8_t on;        /* messages are read and told */
	uint8_t restricts; /* groups go to their listeners only */
	uint16_t reserved;
};
_Static_assert(sizeof(struct switch_snoop) == 8 && NIC_PORTS_MAX <= SNOOP_PORTS, "is loaded whole, and has all ports");

struct switch_shared {
	struct switch_vlan vlan[SWITCH_VLANS];
	/* By logical port (dp_state.logical), also DP_LOGICAL_NONE: VLAN of frames without a tag; 0: they are dropped. */
	uint16_t untagged[NIC_PORTS_MAX + 1];
	uint16_t len_max[NIC_PORTS_MAX];  /* of a frame without its tag */
	struct switch_ports ports;
	uint32_t storm[NIC_PORTS_MAX][SWITCH_STORMS]; /* frames a second; 0: no limit */
	struct switch_snoop snoop[SWITCH_VLANS];
	struct snoop_table groups;
	uint32_t unknown_multicast; /* ports that take groups without listeners too */
	uint32_t mirrored; /* ports, a bit each, whose received (0 to 15) and sent (16 to 31) frames are mirrored */
	uint8_t mirror_rx[NIC_PORTS_MAX], mirror_tx[NIC_PORTS_MAX]; /* by which port, plus one; 0: by none */
	uint64_t mac;        /* the machine's own, as in a frame; 0: no VLAN has an interface */
	uint32_t mark_shift; /* a mark is core_now_ns() >> this */
	uint64_t taken[CORES_MAX]; /* reports taken, by core: the tail of its ring */
};

#define SWITCH_REPORTS 1024
#define SWITCH_LEARN_MAX 256

struct switch_core {
	uint64_t head;  /* reports made */
	uint64_t storm[NIC_PORTS_MAX][SWITCH_STORMS]; /* frames that have passed storm control (storm.c) */
	uint64_t marks; /* address of its marks, one for each slot of the database; 0: it has none */
	uint64_t report[SWITCH_REPORTS]; /* station | port */
};

static inline struct switch_ports switch_ports_load(const struct switch_shared *s)
{
	const uint32_t word = __atomic_load_n((const uint32_t *)(const void *)&s->ports, __ATOMIC_RELAXED);
	struct switch_ports p;
	__builtin_memcpy(&p, &word, sizeof p);
	return p;
}

static inline struct switch_snoop switch_snoop_load(const struct switch_shared *s, unsigned vid)
{
	const uint64_t word = __atomic_load_n((const uint64_t *)(const void *)&s->snoop[vid], __ATOMIC_RELAXED);
	struct switch_snoop v;
	__builtin_memcpy(&v, &word, sizeof v);
	return v;
}

static inline struct switch_vlan switch_vlan_load(const struct switch_shared *s, unsigned vid)
{
	const uint64_t word = __atomic_load_n((const uint64_t *)(const void *)&s->vlan[vid], __ATOMIC_RELAXED);
	struct switch_vlan v;
	__builtin_memcpy(&v, &word, sizeof v);
	return v;
}

#endif
