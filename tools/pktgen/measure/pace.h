/*
 * Paces one flow: which of its frames are due at what time, by the TSC.
 *
 * Frame k is due at start + (cost of the frames before it) / rate. A balance keeps this sum in
 * parts. Each tick adds `rate` parts; each frame subtracts its units times `unit`. A unit is a
 * frame or, for rates in bits, a byte as PLAN_L1_BPS or PLAN_L2_BPS counts it. All of these are
 * whole numbers, so nothing is rounded and nothing drifts: at any time exactly the frames of the
 * formula have been due.
 *
 * Invariants
 * 1. If balance >= 0, the next frame has been due for balance / rate ticks.
 * 2. A flow owes owed_max at most, or two bursts if these take longer. If it owes more, whole
 *    frames are forgiven: counted, and never sent. If they exceed the tolerance, the trial is
 *    invalid (pace_kept).
 * 3. All frames of a burst are due with its first one. The next burst is due when the cost of this
 *    one is paid.
 *
 * A ramp has PACE_STEPS steps of constant rate. Each has the mean rate of its part of the slope, so
 * at its end as many frames have been due as on an even slope.
 *
 * A stream that replays a capture at its recorded times (PLAN_RECORDED) pays for the time from each
 * frame to the next. A unit is then a nanosecond of the capture, and a second adds 10^9 units at
 * speed 1. No frame is forgiven, so that the script's number of frames is sent. If the stream falls
 * behind, its frames are sent later than recorded from then on, and the run is invalid.
 *
 * For 64-bit machines: the balance has 128 bits. A stream that a card's rate limiter paces is
 * PLAN_FLAT here.
 */
#ifndef PKTGEN_MEASURE_PACE_H
#define PKTGEN_MEASURE_PACE_H

#include "lib/types.h"
#include "tools/pktgen/measure/histogram.h"
#include "tools/pktgen/plan.h"

#define PACE_STEPS 1024
#define PACE_MAX 256 /* frames that one call of pace_due returns at most */

__extension__ typedef __int128 pace_parts;

/* What pace_start needs besides the stream. */
struct pace_rate {
	uint64_t hz;       /* ticks a second of the clock, 2^22 at least */
	uint64_t line_bps; /* of the port, for PLAN_PERCENT */
	uint32_t sender, senders; /* this flow sends frames sender, sender + senders, ... */
	uint64_t end_tsc;         /* frames due before it are sent, even after it; 0: no end */
	uint64_t owed_max;        /* ticks that the flow may owe: plan_catch_up_ns */
	uint16_t len_mean;        /* of a replay's frames; 0: the stream has the sizes */
	/* Millionths of the frames that may be forgiven without a stall, for trials at line rate;
	 * 0: none. The clocks of link and TSC differ (IEEE 802.3 allows +-100 ppm), so the line
	 * rate by the TSC may be slightly above that of the link. This must not make a trial
	 * invalid. */
	uint32_t tolerance_ppm;
};

/* Written by the sending core. send.c publishes it to other cores (struct run_sent, run_result.pacing). */
struct pace_result {
	uint64_t sent;         /* frames */
	uint64_t forgiven;     /* frames that were due and never sent; an estimate by mean length if
	                        * lengths differ and the rate is in bits */
	uint64_t behind;       /* how often the flow owed too much */
	uint64_t worst_lag_ns; /* the most that the flow was behind */
	struct histogram error; /* of each frame: ns from due to sent */
};

struct pace {
	bool flat;
	bool by_bytes;
	bool by_gap;           /* PLAN_RECORDED: for pace_due_gaps and pace_sent_gaps */
	uint16_t len_mean;     /* of all frames, or their one length */
	bool one_len;
	uint32_t overhead;     /* bytes that a frame costs besides its length */
	uint32_t burst, left;  /* frames of a burst; frames of the present burst not yet sent */
	uint64_t last;         /* tick up to which the balance counts */
	uint64_t end;          /* the greatest value of `last` */
	uint64_t start;
	pace_parts balance;
	pace_parts taken;      /* cost of the frames of the present burst that were sent */
	pace_parts limit;      /* parts that the flow may owe */
	pace_parts after;      /* parts for the time since `end`: they make no frame due, but add to
	                          the delay of the frames that are */
	uint64_t rate, unit;
	uint64_t cost;         /* of a frame of len_mean */
	uint64_t hz, owed_max;
	uint64_t ns_scale;     /* ns = parts * ns_scale >> 56 */
	uint32_t tolerance_ppm;
	/* ramp */
	uint32_t step;         /* PACE_STEPS: no ramp, or it is over */
	uint64_t rate_from, rate_to, ramp_ticks, step_end;
	struct pace_result result;
};

/* Starts the flow. Its first frame is due at start_tsc plus the turns of the senders before it. */
void pace_start(struct pace *p, const struct plan_stream *s, const struct pace_rate *r,
                uint64_t start_tsc);

/* Returns how many of the next frames are due at tick `now`, at most max. len: their lengths
 * without FCS, or NULL if all frames of the flow have one length. Returns 0 if `now` is before that
 * of an earlier call. */
unsigned pace_due(struct pace *p, uint64_t now, const uint16_t *len, unsigned max);

/* Counts the first n of the frames that pace_due found due as sent at its `now`. */
void pace_sent(struct pace *p, const uint16_t *len, unsigned n);

/* The same for a replay at its recorded times. gap_ns[i] is the time from the i-th of these frames
 * to the next one. */
unsigned pace_due_gaps(struct pace *p, uint64_t now, const uint64_t *gap_ns, unsigned max);
void pace_sent_gaps(struct pace *p, const uint64_t *gap_ns, unsigned n);

/* The tick at which the next frame is due; in a ramp at most the end of the present step. The
 * caller's loop may sleep until then. UINT64_MAX: never. */
uint64_t pace_next(const struct pace *p);

/* Did the flow keep its rate, without a stall or more forgiven frames than the tolerance allows? */
bool pace_kept(const struct pace *p);

/* The result of no frames. */
void pace_result_clear(struct pace_result *r);

#endif
