/*
 * Congestion control: how much a sender may have in flight. This module only computes. The caller
 * detects what was acknowledged or lost, and when; it also paces recovery (RFC 6937).
 *
 *     CC_NEWRENO   RFC 5681, and from RFC 6582 that ssthresh is set once per recovery
 *     CC_CUBIC     RFC 9438, with HyStart++ (RFC 9406) in the first slow start
 *
 * Windows are in bytes, times in microseconds. State transitions:
 *
 *     slow start (cwnd < ssthresh)    cwnd reaches ssthresh, or   -> congestion avoidance
 *                                     CSS_ROUNDS of HyStart++
 *     congestion avoidance            cc_on_loss; the caller's    -> congestion avoidance, a new
 *                                     recovery; or cc_on_ecn         epoch of CUBIC
 *     any                             cc_on_rto                   -> slow start from one segment
 *     any                             cc_after_idle               -> slow start, if it cuts cwnd
 *
 * Slow start counts at most L segments of one ACK (RFC 3465 2.2), because an ACK of many segments
 * releases an equally large burst:
 *
 *     8   first slow start of CUBIC: RFC 9406 4.3, for a sender that does not pace
 *     1   after a timeout: RFC 3465 2.3, RFC 5681 3.1 equation (2): such an ACK may cover data that
 *         left the network long ago
 *     2   otherwise: RFC 3465 2.2, so that cwnd doubles per RTT although the receiver delays ACKs
 *
 * 1. mss <= cwnd <= CC_WINDOW_MAX and ssthresh >= 2 mss, after every function but cc_on_rtt, which
 *    leaves cwnd alone.
 * 2. cwnd grows only in cc_on_ack, and only if it limits the sender (RFC 9438 5.8).
 * 3. All state is in struct cc: restoring a copy made before a reduction undoes it (RFC 9438 4.9).
 *
 * Missing: RFC 7661 (validation of cwnd in rate-limited intervals; ssthresh comes from FlightSize
 * instead, as RFC 5681 says), RFC 8511 (ABE).
 */
#ifndef NET_TCP_CONGESTION_H
#define NET_TCP_CONGESTION_H

#include "lib/types.h"

#define CC_WINDOW_MAX (1u << 30) /* the largest receive window, RFC 7323 2.3 */

enum cc_algorithm { CC_CUBIC, CC_NEWRENO };

/* Only this module writes it, except for cwnd: the caller sets cwnd in fast recovery and, after
 * cc_init, to one mss if a SYN or its answer was lost (RFC 5681 3.1). */
struct cc {
	uint32_t cwnd, ssthresh, mss;
	uint8_t algorithm;

	uint8_t flags;       /* enum cc_flags */
	uint8_t rtt_samples; /* in this round, up to HYSTART_RTT_SAMPLES */
	uint8_t css_rounds;  /* completed rounds of conservative slow start */

	uint32_t cwnd_rest; /* remainder of cwnd's growth, in bytes / cwnd: less than one byte */

	/* CUBIC, RFC 9438 4.1.2; bytes instead of segments */
	uint32_t cwnd_prior, w_max; /* 0: undefined */
	uint32_t w_est, w_est_rest; /* w_est_rest as cwnd_rest */
	uint32_t k_us;
	uint32_t elapsed_us; /* t of W_cubic(t), without the times when cwnd was not the limit */
	uint32_t last_us;    /* the last cc_on_ack, modulo 2^32 */

	/* HyStart++, RFC 9406 4.2 */
	uint32_t window_end; /* the round ends when this sequence number is acknowledged */
	uint32_t last_round_min_rtt_us, round_min_rtt_us, css_baseline_us; /* UINT32_MAX: none */
};

_Static_assert(sizeof(struct cc) <= 64, "a cache line of each connection");

enum cc_flags {
	CC_EPOCH = 1,     /* in an epoch of CUBIC's congestion avoidance: its fields are valid */
	CC_AFTER_RTO = 2, /* in the slow start after a timeout */
	CC_ROUND = 4,     /* in a round of HyStart++: window_end is valid */
	CC_CSS = 8,       /* in HyStart++'s conservative slow start */
};

/* Begins a connection; mss from 1 to 65535. The window is that of RFC 6928. */
void cc_init(struct cc *c, enum cc_algorithm algorithm, uint32_t mss);

/*
 * An ACK of `acked` new bytes, outside fast recovery. srtt_us: RFC 6298; 0: none yet. cwnd_limited:
 * the sender would have sent more with a larger cwnd; otherwise nothing grows.
 */
void cc_on_ack(struct cc *c, uint64_t now_us, uint32_t acked, uint32_t srtt_us, bool cwnd_limited);

/* A measured round-trip time, with snd_una and snd_nxt after the ACK. HyStart++ ends the first slow
 * start when delays rise. Call it with every sample; it costs nothing later. */
void cc_on_rtt(struct cc *c, uint32_t rtt_us, uint32_t snd_una, uint32_t snd_nxt);

/*
 * Fast recovery begins: sets ssthresh and leaves cwnd, which the caller then lowers. flight is
 * FlightSize without the data sent by Limited Transmit (RFC 5681 3.2 step 2).
 */
void cc_on_loss(struct cc *c, uint32_t flight);

/* ECN-Echo, at most once per window of data (RFC 3168 6.1.2): sets ssthresh and cwnd. */
void cc_on_ecn(struct cc *c, uint32_t flight);

/* The retransmission timer expired. first: for the first time for this segment; otherwise ssthresh
 * is kept (RFC 5681 3.1). */
void cc_on_rto(struct cc *c, uint32_t flight, bool first);

/* The sender resumes after more than an RTO without sending (RFC 5681 4.1). */
void cc_after_idle(struct cc *c);

/* The segment size changed (path MTU discovery); 1 to 65535. A smaller size reduces cwnd in
 * proportion, so the number of segments stays the same and no burst results (RFC 5681 3.1). */
void cc_set_mss(struct cc *c, uint32_t mss);

#endif
