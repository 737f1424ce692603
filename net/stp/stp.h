/*
 * The Rapid Spanning Tree Protocol (RSTP) of one bridge: IEEE 802.1D-2004 clause 17. Where IEEE
 * 802.1Q-2022 clause 13 corrects it, the code says so.
 *
 * The module is a function of (BPDU, time): the caller passes frames, link changes and the time, and
 * receives calls of `struct stp_ops`. It allocates nothing and is not thread-safe. Times are
 * nanoseconds of any clock that does not go back.
 *
 * Variables, timers and states have the names of the standard (17.17 to 17.20), so that the machines
 * can be read beside it:
 *
 *     machine                           clause  file           function
 *     Port Timers                       17.22   link.c         timers_run
 *     Port Receive                      17.23   link.c         receive_run
 *     Port Protocol Migration           17.24   link.c         migration_run
 *     Bridge Detection                  17.25   link.c         detection_run
 *     Port Transmit                     17.26   transmit.c     transmit_run
 *     Port Information                  17.27   information.c  information_run
 *     Port Role Selection               17.28   selection.c    selection_run
 *     Port Role Transitions             17.29   roles.c        roles_run
 *     Port State Transition             17.30   state.c        state_run
 *     Topology Change                   17.31   topology.c     topology_run
 *
 * The order is fixed (stp.c, machines_run). In one pass each port in turn runs the machines of link.c
 * and its Port Information until none of them has a transition. Then come Port Role Selection, and Port
 * Role Transitions of each port. Port State Transition first runs for ports that must discard, then for
 * the others, with Topology Change. Passes repeat until nothing changes. Only then each port transmits,
 * so that one BPDU has the result of all.
 *
 * Port Timers ticks once a second while a port is enabled (stp_tick). A late tick is counted once, and
 * the next one comes a second later: a bridge that was held up does not take its own delay for the
 * silence of its neighbours, and never forwards too early.
 *
 * Invariants
 * 1. Between calls no machine has a transition to make, and rcvdMsg is false on all ports.
 * 2. A port forwards only while it learns, and only in the roles Root and Designated. At most one port
 *    has the role Root.
 * 3. ops->state reports the state discarding at the start, and then each change once, in order. A BPDU
 *    that promises that other ports discard (the Agreement flag) is sent after ops->state has returned
 *    for all of them.
 * 4. After `tx_hold` BPDUs without a pause, no more than one a second leaves a port (txCount, 17.19.44),
 *    except when the hold count is changed.
 *
 * What the standard guarantees, and tests/unit/net/stp/test_stp_net.c checks
 * - When links stop changing and BPDUs arrive, the ports that forward become a tree that spans each
 *   connected set of bridges, with the best bridge as root (17.3).
 * - While information only gets better (links come up, bridges join), there is no loop at any moment: a
 *   port forwards after the agreement of its neighbour, after all previous root ports have discarded
 *   (reRooted), or after timers (17.29).
 * - When a path to the root is lost, bridges behind the break may pass old information round a ring, and
 *   agree to it, until its message age ends ("count to infinity": Elmeleegy, Cox, Ng, INFOCOM 2006). A
 *   loop is possible for as long, max age at most. The test sees one after fewer than one of 200 random
 *   changes.
 * - Lost BPDUs can cause loops. They end when BPDUs arrive again.
 *
 * Beyond the standard
 * - BPDU guard: a port with it that receives a BPDU is disabled until stp_port_recover.
 * - A port that receives its own BPDU is on a looped wire. It discards until three hello times pass
 *   without one. The standard only drops such BPDUs (9.3.4).
 * - Times of received BPDUs are limited where our timers use them: hello time to 1 to 10 s, forward
 *   delay to 4 s at least (the compatibility ranges of table 17-1).
 *
 * Deliberately missing: MSTP; the short ageing time of STP mode (17.19.1: ops->flush is called at
 * once, in both modes); the management counters of 14.8 beyond those in the status structures.
 */
#ifndef NET_STP_STP_H
#define NET_STP_STP_H

#include "net/stp/bpdu.h"

#define STP_PORTS_MAX 16 /* at least NIC_PORTS_MAX; port numbers have 12 bits (9.2.7) */
#define STP_TICK_NS 1000000000ull

/* --- parameters --- */

enum stp_version { STP_VERSION_STP = 0, STP_VERSION_RSTP = 2 }; /* Force Protocol Version, 17.13.4 */

/* Of the bridge (17.14, tables 17-1 and 17-2). */
struct stp_params {
	uint16_t priority;       /* 0 to 61440 in steps of 4096 */
	uint8_t hello_s;         /* Bridge Hello Time, 1 to 2 */
	uint8_t max_age_s;       /* Bridge Max Age, 6 to 40 */
	uint8_t forward_delay_s; /* Bridge Forward Delay, 4 to 30 */
	uint8_t tx_hold;         /* Transmit Hold Count, 1 to 10 BPDUs without a pause */
	enum stp_version version;
};

#define STP_PARAMS_DEFAULT \
	((struct stp_params){ \
		.priority = 32768, \
		.hello_s = 2, \
		.max_age_s = 20, \
		.forward_delay_s = 15, \
		.tx_hold = 6, \
		.version = STP_VERSION_RSTP, \
	})

/* adminPointToPointMAC (6.4.3). */
enum stp_link_type {
	STP_LINK_AUTO,           /* point-to-point if the link is full duplex */
	STP_LINK_POINT_TO_POINT,
	STP_LINK_SHARED,
};

#define STP_COST_MAX 200000000u /* table 17-3 */

/* Of a port. */
struct stp_port_params {
	uint8_t mac[ETH_ALEN]; /* source of the frames sent; at first the bridge's address */
	uint8_t priority;      /* 0 to 240 in steps of 16 (table 17-2) */
	uint32_t path_cost;    /* 1 to STP_COST_MAX; 0: from the link's speed */
	enum stp_link_type link_type;
	bool admin_edge;       /* AdminEdge: no bridge is attached; forwards at once. Takes effect when
	                          the link comes up. A received BPDU ends it */
	bool auto_edge;        /* AutoEdge: such a port is found by silence (17.25) */
	bool bpdu_guard;
};

#define STP_PORT_PARAMS_DEFAULT \
	((struct stp_port_params){.priority = 128, .auto_edge = true})

/* Why the parameters are invalid, as the end of a sentence; NULL: they are valid. These check ranges,
 * steps and the relations of 17.14:
 *     2 * (forward delay - 1 s) >= max age >= 2 * (hello time + 1 s) */
const char *stp_params_wrong(const struct stp_params *p);
const char *stp_port_params_wrong(const struct stp_port_params *p);

/* The path cost of a link of that speed (table 17-3, and between its rows by the same formula). 0: the
 * speed is unknown, taken for 1 Gbit/s. */
uint32_t stp_path_cost(uint32_t speed_mbps);

/* --- actions --- */

enum stp_state { STP_DISCARDING, STP_LEARNING, STP_FORWARDING };

/* ctx is the argument of stp_init. An op must not call the module. */
struct stp_ops {
	/* Sends this frame, complete with padding, STP_FRAME_LEN octets, untagged, from the port, and
	 * counts stp_tx. The frame belongs to the module. One that cannot be sent is lost: the protocol
	 * repeats. */
	void (*send)(void *ctx, unsigned port, const uint8_t *frame);
	/* The port now has that state. On return no frame is forwarded, or learned from, that the state
	 * forbids. BPDUs are received and sent in all states. */
	void (*state)(void *ctx, unsigned port, enum stp_state state);
	/* Forgets the addresses learned on the port. */
	void (*flush)(void *ctx, unsigned port);
	/* BPDU guard has disabled the port. May be NULL. */
	void (*guarded)(void *ctx, unsigned port);
};

/* --- what `show spanning-tree` reads --- */

enum stp_role {
	STP_ROLE_DISABLED,
	STP_ROLE_ROOT,
	STP_ROLE_DESIGNATED,
	STP_ROLE_ALTERNATE,
	STP_ROLE_BACKUP,
};

struct stp_bridge_status {
	uint64_t bridge_id, root_id; /* as in struct stp_vector; equal: this bridge is the root */
	uint32_t root_path_cost;
	int root_port;               /* -1: none */
	struct stp_times times;      /* of the root, in use here; 1/256 s */
	bool topology_change;        /* one is being told (tcWhile of a port is not 0) */
	uint64_t topology_changes;   /* how often that began since stp_init (14.8.1.1.3) */
	uint64_t topology_change_ns; /* when it last began; valid if there was one */
	int topology_change_port;    /* the port with the cause, -1: none yet */
};

struct stp_port_counters {
	uint64_t rx_config, rx_rst, rx_tcn;
	uint64_t rx_dropped; /* malformed, too old, our own, or by BPDU guard */
	uint64_t tx_config, tx_rst, tx_tcn;
	uint64_t forwarded;  /* times the port began to forward */
	uint64_t flushed;    /* times its addresses were flushed */
};

struct stp_port_status {
	enum stp_role role;
	enum stp_state state;
	uint16_t port_id;
	uint32_t path_cost;
	bool link_up;
	bool edge;           /* operEdge */
	bool point_to_point; /* operPointToPointMAC */
	bool rstp;           /* sends RST BPDUs: no STP bridge was heard */
	bool guarded;        /* disabled by BPDU guard */
	bool looped;         /* receives its own BPDUs */
	bool proposing, disputed;
	struct stp_vector designated; /* root, cost, bridge and port that the port's link knows */
	struct stp_port_counters counters;
};

/* --- private from here on, public only for sizes --- */

enum stp_info_is { INFO_DISABLED, INFO_AGED, INFO_MINE, INFO_RECEIVED }; /* 17.19.10 */

struct stp_port {
	struct stp_port_params params;
	uint8_t number; /* of ops and functions, from 0; the port number is one more */
	bool linkUp, fullDuplex, guarded;
	uint32_t speedMbps;

	/* 17.17, seconds */
	uint16_t edgeDelayWhile, fdWhile, helloWhen, mdelayWhile, rbWhile, rcvdInfoWhile, rrWhile, tcWhile;
	uint16_t loopedWhile; /* ours: not 0 while a BPDU of our own has been received lately */

	/* 17.19 */
	bool agree, agreed, disputed, forward, forwarding, learn, learning, mcheck, newInfo, operEdge,
	     portEnabled, proposed, proposing, rcvdBPDU, rcvdMsg, rcvdRSTP, rcvdSTP, rcvdTc, rcvdTcAck,
	     rcvdTcn, reRoot, reselect, selected, sendRSTP, sync, synced, tcAck, tcProp, tick, updtInfo;
	bool operPointToPointMAC;
	enum stp_info_is infoIs;
	enum stp_role role, selectedRole;
	uint8_t txCount;
	uint16_t portId;
	uint32_t PortPathCost;
	struct stp_vector designatedPriority, portPriority;
	struct stp_times designatedTimes, portTimes;
	struct stp_bpdu msg; /* received; msgPriority and msgTimes are in it */

	/* states of the machines, enumerations in inside.h */
	uint8_t receiveState, migrationState, detectionState, informationState, roleState, topologyState;
	enum stp_state portState;
	struct stp_port_counters counters;
};

struct stp {
	struct stp_params params;
	const struct stp_ops *ops;
	void *ctx;
	unsigned ports;
	/* 17.18 */
	uint64_t BridgeIdentifier;
	struct stp_times BridgeTimes, rootTimes;
	struct stp_vector rootPriority;
	int rootPort; /* number of the root port, -1: none */
	uint64_t now_ns;
	uint64_t tick_ns; /* when the next tick is due; UINT64_MAX: no port is enabled */
	bool tcActive;
	uint64_t tcCount, tcSince_ns;
	int tcPort;
	struct stp_port port[STP_PORTS_MAX];
};

/* --- public --- */

/*
 * Begins with `ports` ports, 1 to STP_PORTS_MAX, numbered from 0, with default parameters and no link.
 * ops->state (discarding) and ops->flush are called for each. `address` is the bridge's own (7.12.5); it
 * makes the bridge identifier unique. ops and ctx must remain valid. E_INVAL: invalid parameters,
 * number of ports, or address that is not a station's.
 */
int stp_init(struct stp *b, const struct stp_params *params, const uint8_t *address, unsigned ports,
             const struct stp_ops *ops, void *ctx, uint64_t now_ns);

/* Goes on with *b, a copy of what an earlier program of the same build has left between two calls. ops->state
 * reports the state of each port. The clock must be the same. What has changed meanwhile is to be told by
 * stp_port_link and so on. */
void stp_resume(struct stp *b, const struct stp_ops *ops, void *ctx);

/* Changes the parameters of the bridge. Another version restarts all machines, and another hold count clears
 * txCount (17.14). E_INVAL: as stp_params_wrong says; nothing has changed. */
int stp_set_params(struct stp *b, const struct stp_params *params, uint64_t now_ns);

/* Changes the parameters of a port. BPDU guard taken away also recovers the port. E_INVAL. */
int stp_port_set_params(struct stp *b, unsigned port, const struct stp_port_params *params,
                        uint64_t now_ns);

/*
 * The link of a port has changed, or the port joins or leaves the bridge (`up`). May be repeated.
 * speed_mbps: 0 if unknown. When it goes down, the port discards and its addresses are flushed before
 * the function returns.
 */
void stp_port_link(struct stp *b, unsigned port, bool up, uint32_t speed_mbps, bool full_duplex,
                   uint64_t now_ns);

/*
 * Processes a frame received on the port, addressed to 01-80-c2-00-00-00; n octets, untagged, without
 * FCS. The frame stays the caller's. Returns its fate: delivered_stp, drop_stp_*, or drop_port_down if
 * the link is down or BPDU guard has disabled the port.
 */
enum counter stp_input(struct stp *b, unsigned port, const uint8_t *frame, unsigned n, uint64_t now_ns);

/* Does the work due. Returns stp_deadline(). */
uint64_t stp_tick(struct stp *b, uint64_t now_ns);

/* When stp_tick is needed next; UINT64_MAX: no port is enabled. stp_port_link, stp_port_recover and
 * stp_port_set_params may bring it forward. */
uint64_t stp_deadline(const struct stp *b);

/* Asks whether the port's STP neighbours are gone, by RST BPDUs for three seconds (mcheck, 17.19.13).
 * Nothing in STP mode. */
void stp_port_migrate(struct stp *b, unsigned port, uint64_t now_ns);

/* Enables a port that BPDU guard has disabled. */
void stp_port_recover(struct stp *b, unsigned port, uint64_t now_ns);

void stp_bridge_status(const struct stp *b, struct stp_bridge_status *out);
void stp_port_status(const struct stp *b, unsigned port, struct stp_port_status *out);

/* "root", "forwarding" and so on, for `show spanning-tree`. */
const char *stp_role_name(enum stp_role role);
const char *stp_state_name(enum stp_state state);

#endif
