/*
 * The four tests of RFC 2544 that a generator can run by itself, as one state machine: rfc2544_next
 * chooses the next trial, the caller runs it, rfc2544_done takes its counts. The machine uses no
 * clock and no device. It keeps every trial, valid or not, and every result names its trials.
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
 *     any, trial invalid   the same trial again                      after RFC2544_ATTEMPTS
 *
 * Tests run in the order of the sections, each with all frame sizes. A throughput trial passes if
 * at most loss_ppm millionths of its frames are lost, a burst if none is. A device that loses
 * frames at a rate is assumed to lose frames at all higher rates, as in any binary search.
 *
 * Where this differs from the RFC:
 *
 * 26.2: every frame is stamped and timed, not only one after a minute, so there are percentiles.
 * Repeats are combined as in RFC 8219 7.2: typical latency is the median of the trials' medians,
 * worst case latency the median of their 99.9 percentiles. The script sets the length of a trial,
 * the same as in 26.1 (the RFC asks for 120 s). Without a throughput there is no latency trial.
 *
 * 26.1, 26.4: if the generator falls behind in RFC2544_ATTEMPTS trials, the search goes on below.
 * Its result is then a lower bound and is reported as one.
 *
 * 26.3: a rate at which no trial is valid is a gap of the curve and does not end the test.
 *
 * 26.4: the search is exact to one frame up to 1024 frames, and to a 1024th above. A burst lasts
 * 2 s at most, the shortest trial of 26.4. If it passes, it is not repeated (RFC 9004: if
 * throughput is line rate, there is no longest burst).
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
	uint64_t duration_ns; /* 0: until the frames are sent */
	uint64_t settle_ns;
	uint32_t repeat;  /* from 1, in tests that have repeats */
	uint32_t attempt; /* from 1 */
};

/* Why a trial says nothing about the device under test. */
enum trial_flaw {
	TRIAL_VALID,
	TRIAL_BEHIND,     /* the generator did not keep the rate */
	TRIAL_LINK,       /* a link was down, at its beginning or in between */
	TRIAL_FAULT,      /* a core of the generator was restarted */
	TRIAL_NOTHING,    /* nothing was sent */
	TRIAL_STOPPED,    /* by the user */
	TRIAL_IMPOSSIBLE, /* neither it nor a later one could begin; report.h has the reason */
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
	RFC2544_NOTHING_PASSED,  /* throughput: too much loss at the lowest rate too */
	RFC2544_NO_THROUGHPUT,   /* latency: there is no throughput, so no rate for a trial */
	RFC2544_NOT_MEASURABLE,  /* `flaw` says why */
};

/* One test with one frame size. Its trials are [first, end) of rfc2544.trial. */
struct rfc2544_outcome {
	enum rfc2544_status status;
	enum trial_flaw flaw;
	uint32_t first, end;
	bool bounded;         /* the result is a lower bound: a burst of 2 s passed, or, with flaw
	                         TRIAL_BEHIND, the generator could not send more */
	uint32_t repeats;     /* done */
	/* throughput: in 1/1000 per cent, and the trial that passed; latency: the same rate */
	uint32_t rate, trial;
	/* back-to-back: bursts of all repeats */
	uint64_t burst_min, burst_max, burst_sum;
};

/* Latency of one size, over its valid trials. Nanoseconds; means in ps. */
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
	bool running;      /* rfc2544_next has chosen a trial, rfc2544_done is next */
	bool over;
	/* the present test */
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

/* Trials for which rfc2544_begin should have room. */
uint32_t rfc2544_trials_max(const struct plan_rfc2544 *plan);

void rfc2544_begin(struct rfc2544 *s, const struct plan_rfc2544 *plan, uint64_t line_bps,
                   struct rfc2544_trial *trials, uint32_t room);

/* rfc2544_next puts the next trial into *out; false: all tests are over. After each trial the
 * caller gives its result to rfc2544_done. */
bool rfc2544_next(struct rfc2544 *s, struct trial *out);
void rfc2544_done(struct rfc2544 *s, const struct trial_result *result);

/* Ends all tests: open outcomes become not measurable because of `flaw`, and a running trial is
 * discarded. */
void rfc2544_stop(struct rfc2544 *s, enum trial_flaw flaw);

/* The bounds that the present search has found: the highest rate (1/1000 per cent), or the longest
 * burst, that passed, and the lowest or shortest that did not. */
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

/* Combines the latency trials of size number i of the plan; out->trials is 0 if there are none. */
void rfc2544_latency(const struct rfc2544 *s, unsigned i, struct rfc2544_latency *out);

#endif
