/*
 * The four tests of RFC 2544 that a generator can make by itself, as one state machine:
 * rfc2544_next chooses the next trial, the caller runs it, rfc2544_done takes its counts. The
 * machine knows no time and no device. Every trial is kept, valid or not; every result names the
 * trials that it was made of.
 *
 *     test (section)       next trial                                ends
 *     throughput (26.1)    at rate_max; then binary search on the    at two neighbouring rates, of
 *                          rates rate_min + k * resolution           which the lower passes
 *     latency (26.2)       at the throughput of the size             after `repeats`
 *     frame loss (26.3)    at rate_max, then 10 % of line rate       after two in succession
 *                          less each time                            without loss, or at rate_min
 *     back-to-back (26.4)  a burst at line rate: first 2 s, later    after `repeats`, or when a
 *                          what the last search found; longer or     burst of 2 s passes
 *                          shorter by doubled steps, then halves
 *     any                  the same again                            RFC2544_ATTEMPTS invalid
 *
 * Tests run in the order of the sections, each with all frame sizes. A throughput trial passes when
 * no more than loss_ppm of its frames are missing, a burst when none is. A device that loses at a
 * rate is assumed to lose at all higher rates, as in any binary search.
 *
 * Where this differs from the RFC:
 *
 * 26.2: every frame is tagged and timed, not one after a minute, so that there are percentiles.
 * They are summed up over the repeats as in RFC 8219 7.2: typical latency is the median of the
 * trials' medians, worst case latency that of their 99.9 percentiles. A trial is as long as those
 * of 26.1, which is for the script to say (the RFC wants 120 s). Without throughput there is no
 * latency.
 *
 * 26.1, 26.4: if the generator falls behind three times, the search goes on below. Its result is
 * then a lower bound and is reported as one.
 *
 * 26.3: a rate at which no trial is valid is a gap of the curve, not the end of the test.
 *
 * 26.4: bursts are searched to one frame up to 1024, above to a thousandth. A burst is at most
 * 2 s, the least length of a trial there; a device that passes it is not asked again (RFC 9004:
 * where throughput is line rate there is no longest burst).
 *
 * Missing: 26.5 and 26.6 (system recovery, reset), which need an operator at the device; bursts of
 * frames (21) and the traffic of section 11 (filters, routing updates).
 */
#ifndef PKTGEN_MEASURE_RFC2544_H
#define PKTGEN_MEASURE_RFC2544_H

#include "tools/pktgen/measure/histogram.h"
#include "tools/pktgen/plan.h"

#define RFC2544_ATTEMPTS 3
#define RFC2544_FULL 100000 /* line rate, in 1/1000 per cent */
#define RFC2544_LOSS_STEP 10000
#define RFC2544_BURST_NS 2000000000ull

struct trial {
	enum plan_test test;
	uint16_t size;        /* bytes of the frames, without FCS */
	uint32_t rate;        /* of each port's line rate, in 1/1000 per cent */
	uint64_t frames;      /* of all streams together; 0: as many as fit the duration */
	uint64_t duration_ns; /* 0: until the frames have gone */
	uint64_t settle_ns;
	uint32_t repeat;  /* from 1; of the tests that have repeats */
	uint32_t attempt; /* from 1 */
};

/* Why a trial says nothing about the device under test. */
enum trial_flaw {
	TRIAL_VALID,
	TRIAL_BEHIND,     /* the generator fell behind what it was to send */
	TRIAL_LINK,       /* a link was down, at its beginning or in between */
	TRIAL_FAULT,      /* a core of the generator was started anew */
	TRIAL_NOTHING,    /* nothing was sent */
	TRIAL_STOPPED,    /* by the user */
	TRIAL_IMPOSSIBLE, /* it could not even begin, nor could the next: report.h has the reason */
	TRIAL_ROOM,       /* there is no memory for more trials */
	TRIAL_FLAWS
};
const char *trial_flaw_text(enum trial_flaw flaw);

struct trial_result {
	enum trial_flaw flaw;
	uint64_t sent, received, duplicates, reordered, corrupted;
	uint64_t elapsed_ns;    /* from the first frame sent to the last */
	uint64_t forgiven;      /* frames that were due and not sent */
	uint64_t worst_lag_ns;  /* of the pacing */
	uint64_t ipdv_mean_ps;
	struct histogram_summary latency;
};

struct rfc2544_trial {
	struct trial what;
	struct trial_result result;
};

enum rfc2544_status {
	RFC2544_NOT_ASKED,
	RFC2544_OPEN,
	RFC2544_DONE,
	RFC2544_NOTHING_PASSED,  /* throughput: loss at the lowest rate as well */
	RFC2544_NO_THROUGHPUT,   /* latency: at what rate? */
	RFC2544_NOT_MEASURABLE,  /* `flaw` says why */
};

/* One test with one frame size. Trials of it are [first, end) of rfc2544.trial. */
struct rfc2544_outcome {
	enum rfc2544_status status;
	enum trial_flaw flaw;
	uint32_t first, end;
	bool bounded;         /* there may be more: a burst of 2 s passed, or, with flaw
	                         TRIAL_BEHIND, the generator could not send more */
	uint32_t repeats;     /* done */
	/* throughput: 1/1000 per cent, and the trial that passed; latency: the rate of it */
	uint32_t rate, trial;
	/* back-to-back: bursts of all repeats */
	uint64_t burst_min, burst_max, burst_sum;
};

/* Latency of one size: of its valid trials. Nanoseconds; means in ps. */
struct rfc2544_latency {
	uint32_t trials;
	uint64_t min, max;              /* of all */
	uint64_t mean_ps;               /* the mean of the means (26.2) */
	uint64_t p[HISTOGRAM_RANKS];    /* the median of each percentile (RFC 8219 7.2) */
	uint64_t pdv;                   /* the median of p99.9 - min (RFC 8219 7.3.1) */
	uint64_t ipdv_mean_ps;          /* the mean of the means of |IPDV| */
};

struct rfc2544 {
	struct plan_rfc2544 plan;
	uint64_t line_bps; /* of all sending ports together */
	struct rfc2544_trial *trial;
	uint32_t trials, room;
	bool running;      /* next has given a trial that done has not had */
	bool over;
	/* where we are */
	enum plan_test test;
	uint32_t size;     /* index of plan.size */
	uint32_t attempt, repeat;
	/* searches: `low` passes, `high` does not, each once it is known */
	bool has_low, has_high;
	uint64_t low, high, step, hint;
	enum trial_flaw high_flaw; /* TRIAL_VALID: frames were lost there */
	uint32_t clean;    /* frame loss: trials in succession without loss */
	uint32_t rate;     /* of frame loss */
	struct rfc2544_outcome outcome[PLAN_TESTS][PLAN_SIZES_MAX];
};

/* Trials that a plan may need, for the memory that rfc2544_begin is given. */
uint32_t rfc2544_trials_max(const struct plan_rfc2544 *plan);

void rfc2544_begin(struct rfc2544 *s, const struct plan_rfc2544 *plan, uint64_t line_bps,
                   struct rfc2544_trial *trials, uint32_t room);

/* False: all is done. Otherwise rfc2544_done is next. */
bool rfc2544_next(struct rfc2544 *s, struct trial *out);
void rfc2544_done(struct rfc2544 *s, const struct trial_result *result);

/* No more trials: what is open is not measurable, because of `flaw`. A running one is given up. */
void rfc2544_stop(struct rfc2544 *s, enum trial_flaw flaw);

/* What the search that is under way has found so far: the highest rate (1/1000 per cent), or the
 * longest burst, that passed, and the lowest or shortest that did not. */
struct rfc2544_bounds {
	bool has_low, has_high;
	uint64_t low, high;
};
void rfc2544_bounds(const struct rfc2544 *s, struct rfc2544_bounds *out);

static inline uint64_t trial_lost(const struct trial_result *r)
{
	return r->sent > r->received ? r->sent - r->received : 0;
}

/* Frames a second, and bits a second of layers 1 and 2, at a rate in 1/1000 per cent. */
uint64_t rfc2544_fps(const struct rfc2544 *s, unsigned size, uint32_t rate);
uint64_t rfc2544_l1_bps(const struct rfc2544 *s, uint32_t rate);
uint64_t rfc2544_l2_bps(const struct rfc2544 *s, unsigned size, uint32_t rate);

/* Sums up the latency trials of size number i of the plan; trials 0 when there are none. */
void rfc2544_latency(const struct rfc2544 *s, unsigned i, struct rfc2544_latency *out);

#endif
