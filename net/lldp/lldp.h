/*
 * The LLDP agent of all ports of a machine, for the group address "nearest bridge" (IEEE 802.1AB-2016
 * clause 9). It is a function of (frame, time): the caller passes frames, link changes and the time, and
 * receives calls of `struct lldp_ops`. It allocates nothing and is not thread-safe. Times are
 * nanoseconds of any clock that does not go back.
 *
 * Timers are deadlines instead of the standard's ticks of one second:
 *
 *     standard (9.2.5, 9.2.2)   here
 *     txTTR                     due_ns: the next LLDPDU
 *     txCredit                  credit, brought up to date from credit_ns (one a second)
 *     txFast                    fast
 *     txNow                     pending: an LLDPDU waits for credit
 *     txShutdownWhile           idle_until_ns
 *     localChange, newNeighbor  the functions signal and fast_start, called at once
 *     rxInfoTTL                 struct lldp_neighbour, expires_ns
 *
 * Transmission of a port (9.2.8, 9.2.10):
 *
 *     state     event                                 action                                   next
 *     off       transmission on, link up, idle time   LLDPDU                                   on
 *               of LLDP_REINIT_S over
 *     on        due_ns reached                        LLDPDU; again after 1 s while fast,      on
 *                                                     else after the interval
 *     on        local change                          LLDPDU                                   on
 *     on        new neighbour                         LLDPDU, and LLDP_FAST - 1 more, 1 s apart  on
 *     on        transmission off                      shutdown LLDPDU, idle time begins        off
 *     on        link down                             -                                        off
 *
 * Invariants
 * 1. A port never sends more than LLDP_CREDIT LLDPDUs at once, and one a second beyond that (txCredit).
 *    The shutdown LLDPDU needs no credit.
 * 2. A port has at most LLDP_EACH neighbours, and no port uses the places of another. A neighbour is
 *    known by chassis ID and port ID (the MSAP identifier); no two of a port have the same.
 * 3. A neighbour is removed when its time to live has passed, when it says so (time to live 0), when
 *    reception is turned off, and when the link comes up again (9.2.7.6, rxInitializeLLDP). After a link
 *    went down its neighbours stay until their time.
 *
 * Beyond LLDP_EACH neighbours, new ones are dropped and counted until a place becomes free (9.2.7.7.5
 * leaves the choice to the implementation).
 *
 * Deliberately missing: agents for the other two group addresses (frames to them are dropped and
 * counted); the SNMP MIB.
 */
#ifndef NET_LLDP_LLDP_H
#define NET_LLDP_LLDP_H

#include "net/lldp/pdu.h"

#define LLDP_SECOND_NS 1000000000ull
#define LLDP_PORTS_MAX 16 /* at least NIC_PORTS_MAX */
#define LLDP_EACH 8       /* neighbours of a port */

/* Defaults of 9.2.5, all in seconds but the counts. */
#define LLDP_INTERVAL_S 30u  /* msgTxInterval */
#define LLDP_HOLD 4u         /* msgTxHold */
#define LLDP_INTERVAL_FAST_S 1u /* msgFastTx */
#define LLDP_FAST 4u         /* txFastInit */
#define LLDP_CREDIT 5u       /* txCreditMax */
#define LLDP_REINIT_S 2u     /* reinitDelay */

extern const uint8_t lldp_nearest_bridge[ETH_ALEN]; /* 01-80-c2-00-00-0e (table 7-1) */

struct lldp_params {
	uint16_t interval_s; /* between LLDPDUs, not 0 */
	uint16_t ttl_s;      /* neighbours keep what we sent so long; not 0 */
};

/* txTTL of the defaults: 9.2.5.22. */
#define LLDP_PARAMS_DEFAULT \
	((struct lldp_params){LLDP_INTERVAL_S, LLDP_INTERVAL_S * LLDP_HOLD + 1})

/* ctx is the argument of lldp_init. An op must not call the module. */
struct lldp_ops {
	/* Fills in what the port announces, all but ttl_s. Strings must stay valid until the next call. */
	void (*describe)(void *ctx, unsigned port, struct lldp_pdu *out);
	/* Sends this frame, complete and untagged, from the port, and counts lldp_tx. The frame belongs to
	 * the module; its source address, octets 6 to 11, is zero and is the op's to fill in. */
	void (*send)(void *ctx, unsigned port, uint8_t *frame, unsigned len);
};

struct lldp_neighbour {
	uint64_t expires_ns; /* 0: the place is free */
	uint64_t since_ns;   /* when it was first heard */
	uint64_t heard_ns;   /* its last LLDPDU */
	uint8_t source[ETH_ALEN];
	uint16_t identity;   /* as in struct lldp_pdu */
	uint16_t len;        /* octets of pdu, without padding behind the end */
	uint8_t pdu[LLDP_PDU_MAX]; /* valid: lldp_pdu_read passed */
};

struct lldp_port_counters {
	uint64_t tx, tx_shutdown;
	uint64_t rx, rx_dropped, rx_aged, rx_refused; /* refused: beyond LLDP_EACH */
	uint64_t rx_tlvs_discarded, rx_tlvs_unknown;
};

struct lldp_port {
	bool transmit, receive; /* adminStatus */
	bool link_up;
	bool on;      /* the transmit state machine has begun */
	bool pending;
	uint8_t fast, credit;
	uint64_t due_ns, credit_ns, idle_until_ns;
	struct lldp_port_counters counters;
};

struct lldp {
	struct lldp_params params;
	const struct lldp_ops *ops;
	void *ctx;
	unsigned ports;
	uint64_t expires_ns; /* no neighbour's time ends before; UINT64_MAX: there is none */
	struct lldp_port port[LLDP_PORTS_MAX];
	struct lldp_neighbour *table; /* LLDP_EACH for each port */
	uint8_t frame[LLDP_FRAME_MAX];
};

/* Memory of the table for so many ports. */
static inline size_t lldp_table_bytes(unsigned ports)
{
	return (size_t)ports * LLDP_EACH * sizeof(struct lldp_neighbour);
}

/* Begins with `ports` ports, at most LLDP_PORTS_MAX, numbered from 0, all off and without a link. table:
 * memory of lldp_table_bytes(ports), which with ops and ctx must remain valid. */
void lldp_init(struct lldp *l, struct lldp_neighbour *table, unsigned ports,
               const struct lldp_params *params, const struct lldp_ops *ops, void *ctx);

/* Changes interval and time to live. The next LLDPDU comes after the new interval at the latest. */
void lldp_set_params(struct lldp *l, const struct lldp_params *params, uint64_t now_ns);

/* Turns transmission and reception of a port on or off. */
void lldp_port_admin(struct lldp *l, unsigned port, bool transmit, bool receive, uint64_t now_ns);

/* The link of the port is up, or down. */
void lldp_port_link(struct lldp *l, unsigned port, bool up, uint64_t now_ns);

/* What the port announces has changed. */
void lldp_port_changed(struct lldp *l, unsigned port, uint64_t now_ns);

/* A frame of EtherType LLDP_ETH_TYPE arrived on the port: at least an Ethernet header, which is not
 * trusted. Returns its fate. */
enum counter lldp_input(struct lldp *l, unsigned port, const uint8_t *frame, unsigned len,
                        uint64_t now_ns);

/* Does what is due. *aged grows by the neighbours whose time has ended. */
void lldp_tick(struct lldp *l, uint64_t now_ns, uint64_t *aged);

/* When lldp_tick is to be called next; UINT64_MAX: no need. */
uint64_t lldp_deadline(const struct lldp *l);

/* The i-th place of the port's neighbours, i below LLDP_EACH; NULL: it is free. */
const struct lldp_neighbour *lldp_neighbour(const struct lldp *l, unsigned port, unsigned i);

/* Forgets all neighbours. The next LLDPDU of each is that of a new neighbour. */
void lldp_clear_neighbours(struct lldp *l);

/* Sets the counters of all ports to 0. */
void lldp_clear_counters(struct lldp *l);

/* The number of the port's neighbours. */
unsigned lldp_neighbours(const struct lldp *l, unsigned port);

#endif
