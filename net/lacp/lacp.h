/*
 * The Link Aggregation Control Protocol of one system: IEEE 802.1AX-2014 6.4, and the Marker responder of
 * 6.5.4. The module is a function of (PDU, time): the caller passes frames, link changes and the time, and
 * receives calls of `struct lacp_ops`. It allocates nothing and is not thread-safe. Times are nanoseconds
 * of any clock that does not go back.
 *
 * A group (a port channel) has one aggregator. Its number is the operational key of its ports, so ports of
 * different groups never aggregate.
 *
 *     machine                clause  file        function
 *     Receive                6.4.12  receive.c   lacp_receive_run
 *     Periodic Transmission  6.4.13  transmit.c  lacp_periodic_run
 *     Selection Logic        6.4.14  select.c    lacp_select_run
 *     Mux                    6.4.15  mux.c       lacp_mux_run
 *     Churn Detection        6.4.17  churn.c     lacp_churn_run
 *     Transmit               6.4.16  transmit.c  lacp_transmit_run
 *
 * The Mux machine is the one of independent control (figure 6-21): a port collects before it distributes,
 * so no frame meets a closed port.
 *
 * Selection. The ports of a group that hear the same partner (system and key) form a link aggregation
 * group (LAG). The aggregator takes one LAG and keeps it while it has a port. The others' ports stay
 * unselected: they carry nothing, and their partners see that they are not synchronized. Preferred are, in
 * this order: a LAG whose links may aggregate; the LAG with the port of the least priority value, then
 * number. An individual link (one end cannot aggregate, or the partner does not speak LACP) is a LAG of its
 * own, so the aggregator takes one such link at most; it is given up when a partner that aggregates is heard.
 * A link of half duplex is individual, and LACP is off on it (LACP_Enabled, 6.4.8).
 * A port that hears its own system is never selected: a cable leads back. (6.4.14.1 g forbids only that both
 * ends of a link are in one aggregator.)
 *
 * A partner that is not heard counts as individual and ready after Short_Timeout_Time, 3 s.
 *
 * min_links: while a LAG has fewer ports, they are STANDBY, so the partner does not send by them either.
 *
 * Mode `on` is aggregation without the protocol: such ports are attached while their link is up.
 *
 * Invariants
 * 1. Between calls no machine has a transition to make.
 * 2. A port distributes only while it collects and is selected. All selected ports of a group are of one
 *    LAG.
 * 3. ops->state reports each change once. A PDU that says that a port does not collect, or not distribute,
 *    is sent after ops->state has returned. ops->state may take traffic away only from ports it names.
 * 4. No more than three LACPDUs leave a port within a second (6.4.16), nor ten answers to markers.
 *
 * Deliberately missing: version 2 of the protocol (conversation-sensitive distribution, 6.6), the Marker
 * generator (6.5.4.1: a flow that moves to another link may be reordered once), a limit to the number of
 * active links, ports of different speeds in separate LAGs (the caller's keys).
 */
#ifndef NET_LACP_LACP_H
#define NET_LACP_LACP_H

#include "net/lacp/pdu.h"

#define LACP_PORTS_MAX 16  /* at least NIC_PORTS_MAX */
#define LACP_GROUPS_MAX 16 /* numbered from 1 */
#define LACP_PRIORITY_DEFAULT 32768
#define LACP_TX_MAX 3 /* LACPDUs in a Fast_Periodic_Time */

enum lacp_mode { LACP_PASSIVE, LACP_ACTIVE, LACP_ON };

/* Of a port. */
struct lacp_port_params {
	uint8_t group;         /* 1 to LACP_GROUPS_MAX; 0: the port is in none */
	enum lacp_mode mode;
	bool fast;             /* asks the partner for a PDU a second, else one in 30 s */
	uint16_t priority;     /* smaller is better */
	uint8_t mac[ETH_ALEN]; /* source of the frames sent */
};

/* ctx is the argument of lacp_init. An op must not call the module. */
struct lacp_ops {
	/* Sends this frame of LACP_FRAME_LEN octets from the port, and counts lacp_tx or lacp_marker_tx
	 * (marker). The frame belongs to the module. One that cannot be sent is lost: the protocol repeats. */
	void (*send)(void *ctx, unsigned port, const uint8_t *frame, bool marker);
	/* The port now collects, and distributes, for its group, or no more. */
	void (*state)(void *ctx, unsigned port, bool collecting, bool distributing);
};

/* --- what `show lacp` reads --- */

enum lacp_selected { LACP_UNSELECTED, LACP_SELECTED, LACP_STANDBY };
enum lacp_receive {
	LACP_RX_PORT_DISABLED,
	LACP_RX_EXPIRED,
	LACP_RX_LACP_DISABLED,
	LACP_RX_DEFAULTED,
	LACP_RX_CURRENT,
};
enum lacp_mux {
	LACP_MUX_DETACHED,
	LACP_MUX_WAITING,
	LACP_MUX_ATTACHED,
	LACP_MUX_COLLECTING,
	LACP_MUX_DISTRIBUTING,
};
enum lacp_churn { LACP_NO_CHURN, LACP_CHURN_MONITOR, LACP_CHURN };

struct lacp_port_counters {
	uint64_t rx_lacp, rx_marker, rx_dropped, tx_lacp, tx_marker;
	uint64_t actor_churn, partner_churn; /* times that an end was found out of step */
};

struct lacp_port_status {
	uint8_t group;
	enum lacp_mode mode;
	bool enabled;    /* its link is up, full duplex or not */
	bool individual; /* its link cannot be aggregated */
	bool looped;     /* it hears its own system */
	enum lacp_selected selected;
	enum lacp_receive receive;
	enum lacp_mux mux;
	enum lacp_churn actor_churn, partner_churn;
	struct lacp_end actor, partner;
	uint64_t heard_ns; /* when the last LACPDU was received; 0: none yet */
	struct lacp_port_counters counters;
};

/* --- private from here on, public only for sizes --- */

struct lacp_port {
	struct lacp_port_params params;
	uint8_t number; /* of ops and functions, from 0; the port number of the protocol is one more */
	bool linkUp, fullDuplex;
	/* 6.4.7, 6.4.8 */
	bool port_enabled, LACP_Enabled, NTT, Ready_N;
	enum lacp_selected Selected;
	struct lacp_end actor, partner; /* operational */
	/* deadlines of the timers of 6.4.10; UINT64_MAX: the timer does not run */
	uint64_t current_while, periodic, wait_while, actor_churn_timer, partner_churn_timer;
	bool periodicRuns, periodicFast;
	enum lacp_receive receiveState;
	enum lacp_mux muxState;
	enum lacp_churn actorChurn, partnerChurn;
	bool told_collecting, told_distributing;
	uint64_t sent_ns[LACP_TX_MAX]; /* of the last PDUs, the oldest first; 0: none */
	uint64_t markers_ns;           /* begin of the second in which markers are counted */
	uint8_t markers;
	uint64_t heard_ns;
	struct lacp_port_counters counters;
};

struct lacp {
	const struct lacp_ops *ops;
	void *ctx;
	unsigned ports;
	uint64_t now_ns;
	uint16_t system_priority;
	uint8_t system[ETH_ALEN];
	uint8_t min_links[LACP_GROUPS_MAX + 1];
	struct lacp_port port[LACP_PORTS_MAX];
};

/* --- public --- */

/* Begins with `ports` ports, up to LACP_PORTS_MAX, numbered from 0, in no group and without link. `system` is
 * a station's address that no other system uses. ops and ctx must remain valid. */
void lacp_init(struct lacp *l, const uint8_t *system, uint16_t system_priority, unsigned ports,
               const struct lacp_ops *ops, void *ctx, uint64_t now_ns);

/* Changes the system's priority, or a group's least number of links (0 and 1: one is enough). */
void lacp_set_priority(struct lacp *l, uint16_t system_priority, uint64_t now_ns);
void lacp_set_min_links(struct lacp *l, unsigned group, unsigned min_links, uint64_t now_ns);

/* Changes the parameters of a port. Another group, or to or from mode `on`, begins its machines anew; before
 * the function returns the port has left its old group. */
void lacp_port_set_params(struct lacp *l, unsigned port, const struct lacp_port_params *params, uint64_t now_ns);

/* The link of a port has changed, or the port may be used or no more (`up`). May be repeated. When it goes
 * down, or the duplex of a port with LACP changes, the port has left its group before the function
 * returns. */
void lacp_port_link(struct lacp *l, unsigned port, bool up, bool full_duplex, uint64_t now_ns);

/*
 * Processes a frame received on the port: EtherType 0x8809, n octets, untagged, without FCS. The frame
 * stays the caller's. Returns its fate: delivered_lacp, drop_lacp_*, drop_slow_subtype, or drop_port_down
 * if the port runs no LACP.
 */
enum counter lacp_input(struct lacp *l, unsigned port, const uint8_t *frame, unsigned n, uint64_t now_ns);

/* Does the work due. Returns lacp_deadline(). */
uint64_t lacp_tick(struct lacp *l, uint64_t now_ns);

/* When lacp_tick is needed next; UINT64_MAX: never, until another call. */
uint64_t lacp_deadline(const struct lacp *l);

void lacp_port_status(const struct lacp *l, unsigned port, struct lacp_port_status *out);

/* "current", "distributing" and so on. */
const char *lacp_receive_name(enum lacp_receive state);
const char *lacp_mux_name(enum lacp_mux state);

#endif
