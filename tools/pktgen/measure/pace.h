/*
 * Pacing of one flow: which of its frames are due at what time, by the TSC.
 *
 * Frame k is due when the frames before it have been paid for: start + (their cost) / rate. The
 * sum is kept as a balance in parts, of which each tick brings `rate` and each frame takes units
 * * `unit`; a unit is a frame, or a byte of what PLAN_L1_BPS and PLAN_L2_BPS count. These are
 * whole numbers, so there is nothing to round and no drift, however long it runs: at any time T
 * the frames that were due are exactly those of the formula.
 *
 * Invariants
 * 1. balance >= 0: the next frame is due, since balance / rate ticks.
 * 2. A flow catches up by owed_max at most, or by two bursts if these take longer. If it owes more,
 *    whole frames are forgiven and counted. Beyond the tolerance a trial is invalid then
 *    (pace_kept).
 * 3. Frames of a burst are due with its first; bursts have the distance that their cost makes.
 *
 * The ramp goes in PACE_STEPS steps of constant rate, each the mean of its part of the slope, so
 * that at the end of each the number sent is that of the even slope.
 *
 * A stream that replays a capture at its recorded times (PLAN_RECORDED) pays for the time from each
 * frame to the next: a unit is then a nanosecond of the capture, of which a second brings 10^9 at
 * speed 1. None of its frames is ever given up, so that the script's number of frames is sent. A
 * stream that has fallen behind goes on from there, later than recorded, and the run is invalid.
 *
 * For 64-bit machines: the balance has 128 bits. What a card's rate limiter keeps is flat here.
 */
#ifndef PKTGEN_MEASURE_PACE_H
#define PKTGEN_MEASURE_PACE_H

#include "lib/types.h"
#include "tools/pktgen/measure/histogram.h"
#include "tools/pktgen/plan.h"

#define PACE_STEPS 1024
#define PACE_MAX 256 /* frames of a call */

__extension__ typedef __int128 pace_parts;

/* What a stream's rate means here. */
struct pace_rate {
	uint64_t hz;       /* ticks a second of the clock, 2^22 at least */
	uint64_t line_bps; /* of the port, for PLAN_PERCENT */
	uint32_t sender, senders; /* this flow sends frames sender, sender + senders, ... */
	uint64_t end_tsc;         /* frames due before it are sent, even later; 0: it has no end */
	uint64_t owed_max;        /* ticks that the flow may owe: plan_catch_up_ns */
	uint16_t len_mean;        /* of a replay's frames; 0: the stream says what they are */
	/* Millionths of the frames that may be forgiven in small pieces, for trials at line rate:
	 * the clocks of cable and TSC differ (IEEE 802.3 allows either +-100 ppm), so that asking
	 * for a line rate that is a hair above the cable's own must not make a trial invalid. 0:
	 * none. */
	uint32_t tolerance_ppm;
};

/* Written by the core that sends; others read single words, and copy `error`. */
struct pace_result {
	uint64_t sent;         /* frames */
	uint64_t forgiven;     /* frames that were due and never sent; estimated from the mean length
	                        * where lengths differ and the rate is one of bits */
	uint64_t behind;       /* times that it forgave */
	uint64_t worst_lag_ns; /* the most it was behind */
	struct histogram error; /* of each frame: ns from due to sent */
};

struct pace {
	bool flat;
	bool by_bytes;
	bool by_gap;           /* PLAN_RECORDED: pace_due_gaps, pace_sent_gaps */
	uint16_t len_mean;     /* of all frames, or their one length */
	bool one_len;
	uint32_t overhead;     /* bytes that a frame costs besides its length */
	uint32_t burst, left;  /* frames of a burst; still to go of the present one */
	uint64_t last;         /* tick up to which the balance has been paid, */
	uint64_t end;          /* which is this one at the latest */
	uint64_t start;
	pace_parts balance;
	pace_parts taken;      /* by the frames of the present burst that have gone */
	pace_parts limit;      /* what may be owed, in parts */
	pace_parts after;      /* what the time since `end` would have brought: nothing is due by it, but
	                          what is owed is as much older */
	uint64_t rate, unit;
	uint64_t cost;         /* of a frame of len_mean */
	uint64_t hz, owed_max;
	uint64_t ns_scale;     /* ns = parts * ns_scale >> 56 */
	uint32_t tolerance_ppm;
	/* ramp */
	uint32_t step;         /* PACE_STEPS: there is none, or it is over */
	uint64_t rate_from, rate_to, ramp_ticks, step_end;
	struct pace_result result;
};

/* The flow's first frame is due at start_tsc, or up to one turn of the other senders later. */
void pace_start(struct pace *p, const struct plan_stream *s, const struct pace_rate *r,
                uint64_t start_tsc);

/* How many of the next frames are due, at most max. len: their lengths without FCS; NULL when all
 * of the flow have one. Time goes forward: at an earlier `now` than before, none are. */
unsigned pace_due(struct pace *p, uint64_t now, const uint16_t *len, unsigned max);

/* The first n of those that pace_due named went, at its `now`. */
void pace_sent(struct pace *p, const uint16_t *len, unsigned n);

/* The same of a replay at its own times: gap_ns[i] is the time from frame i of them to the next. */
unsigned pace_due_gaps(struct pace *p, uint64_t now, const uint64_t *gap_ns, unsigned max);
void pace_sent_gaps(struct pace *p, const uint64_t *gap_ns, unsigned n);

/* The tick at which the next frame is due, as far as is known; in a ramp not beyond the present
 * step. The loop may sleep until then. UINT64_MAX: never. */
uint64_t pace_next(const struct pace *p);

/* The flow was what was asked for: nothing forgiven but within tolerance, and no stall. */
bool pace_kept(const struct pace *p);

/* Adds what another core may be writing to `sum`, which began as pace_result_clear makes it. */
void pace_result_clear(struct pace_result *sum);
void pace_collect(struct pace_result *sum, const struct pace_result *from,
                  struct histogram *scratch);

/* Bits a second on the wire and frames a second that a rate means for frames of one length (without
 * FCS) on a port of line_bps; 0 for PLAN_FLAT. Rounded down. */
uint64_t pace_l1_bps(const struct plan_rate *rate, uint64_t line_bps, unsigned len);
uint64_t pace_fps(const struct plan_rate *rate, uint64_t line_bps, unsigned len);

#endif
