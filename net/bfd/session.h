/*
 * A BFD session in asynchronous mode: state machine, timers, poll sequences (RFC 5880 6). It is a
 * function of (packet, time); its owner finds the session of a packet, sends, and keeps the memory.
 *
 *     state      received AdminDown   Down                Init                Up
 *     AdminDown  -                    -                   -                   -
 *     Down       -                    Init                Up                  -
 *     Init       Down (diag 3)        -                   Up                  Up
 *     Up         Down (diag 3)        Down (diag 3)       -                   -
 *
 * and Init or Up -> Down (diag 1) when the detection time has passed without a packet. A change
 * becomes due for transmission at once.
 *
 * Invariants
 * 1. tx_us is at least BFD_SLOW_US unless the state is Up (6.8.3).
 * 2. Without a packet for the detection time, remote_discr is 0 (6.8.1) and the peer's required
 *    interval 1 us (6.8.18).
 * 3. While a poll sequence lasts, the transmission interval is not longer than advertised before it
 *    and the detection time not shorter (6.8.3). A change during a poll sequence begins another one
 *    after it, when a packet without P has been sent, and then one without F received.
 * 4. No function waits, allocates, or reads a clock. Intervals of a peer, any 32-bit number of
 *    microseconds times a multiplier of 255, do not overflow nanoseconds in 64 bits.
 *
 * Poll sequences are begun while the state is Up only. Before, every packet has the present values,
 * and the change of tx_us on reaching Up begins one.
 *
 * Deliberately missing: demand mode (RFC 5880 6.6; a peer's D bit is stored and has no effect: we
 * continue to send), the echo function (6.4; we announce that we take no echo packets), and
 * authentication (6.7).
 */
#ifndef NET_BFD_SESSION_H
#define NET_BFD_SESSION_H

#include "net/bfd/packet.h"

#define BFD_SLOW_US 1000000u /* least transmission interval unless Up */

/* What the session is asked to do. */
struct bfd_wish {
	uint32_t desired_tx_us;  /* not 0 */
	uint32_t required_rx_us; /* not 0: the peer would not send, and the session not stay Up */
	uint8_t detect_mult;     /* not 0 */
	bool passive;            /* sends only after it has heard the peer */
	bool shutdown;           /* administratively down */
	bool cpi;                /* sets the C bit */
};

struct bfd_session {
	struct bfd_wish wish;
	enum bfd_state state, remote_state;
	uint8_t diag, remote_diag;
	uint8_t remote_flags; /* enum bfd_flag of the last packet */
	uint8_t remote_mult;
	uint8_t poll;         /* enum in session.c */
	bool poll_sent;       /* a packet of this poll sequence, or of the pause, has been sent */
	bool final;           /* a P bit waits for its answer */
	uint32_t local_discr; /* not 0 */
	uint32_t remote_discr; /* 0: unknown */
	uint32_t remote_desired_tx_us, remote_required_rx_us, remote_echo_us;
	uint32_t tx_us;       /* advertised: bfd.DesiredMinTxInterval */
	uint32_t tx_used_us;  /* for the transmission interval: differs during a poll sequence */
	uint32_t rx_used_us;  /* for the detection time: likewise */
	uint32_t jitter;      /* state of the generator, not 0 */
	uint64_t sent_ns;     /* last periodic packet */
	uint64_t tx_due_ns;   /* next one; UINT64_MAX: none */
	uint64_t detect_ns;   /* detection time expires; UINT64_MAX: nothing has been heard */
};

/* What has changed, or'ed. */
enum bfd_change {
	BFD_CHANGED_STATE = 1,
	BFD_CHANGED_REMOTE = 2, /* the peer's discriminator, diagnostic, multiplier or intervals */
};

/* Begins a session in state Down, or AdminDown. seed: any number, for jitter. */
void bfd_session_init(struct bfd_session *s, uint32_t local_discr, const struct bfd_wish *wish,
                      uint32_t seed, uint64_t now_ns);

/* Changes what it is asked to do; enum bfd_change. */
unsigned bfd_session_change(struct bfd_session *s, const struct bfd_wish *wish, uint64_t now_ns);

/* A packet of this session's peer arrived, which bfd_packet_read has passed. Returns its fate:
 * CNT_delivered_bfd or CNT_drop_bfd_admin. *changed: enum bfd_change. */
enum counter bfd_session_receive(struct bfd_session *s, const struct bfd_packet *p, uint64_t now_ns,
                                 unsigned *changed);

/* Has the detection time expired at `judged_ns`, a time of which the owner knows that every packet
 * received before it has been handed to bfd_session_receive? enum bfd_change. */
unsigned bfd_session_expire(struct bfd_session *s, uint64_t judged_ns, uint64_t now_ns);

/* True: *out is a packet to be sent now; call again, because another may be due. */
bool bfd_session_send(struct bfd_session *s, uint64_t now_ns, struct bfd_packet *out);

/* The time of the next call of bfd_session_expire and bfd_session_send, UINT64_MAX for none. */
uint64_t bfd_session_deadline(const struct bfd_session *s);

/* The present transmission interval without jitter, in microseconds; 0: nothing is sent
 * periodically. */
uint32_t bfd_session_interval_us(const struct bfd_session *s);

/* The present detection time in nanoseconds. */
uint64_t bfd_session_detect_ns(const struct bfd_session *s);

/* Is a poll sequence under way? */
bool bfd_session_polls(const struct bfd_session *s);

#endif
