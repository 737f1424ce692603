/*
 * How long an idle core polls before it sleeps. A core that polls spends a CPU's time; a core that sleeps
 * makes the next packet wait for the wake-up. The rule learns how long gaps without work last and chooses
 * the time to poll in each gap.
 *
 * 1. The cost of a sleep is a time, `cost`: twice the time to wake up, once for the CPU that leaves its
 *    halt and once for the packet that waits. A gap that is shorter is cheaper to poll through.
 * 2. A core never polls longer than `cost` in one gap, so no gap costs more than twice what a rule that
 *    knows the future would pay, if the gap is longer than `cost` (the bound of the ski rental problem).
 * 3. A core always polls for `cost` / 8. A gap thus costs at most 9 times the least, even if the rule
 *    errs (Purohit, Svitkina, Kumar, "Improving Online Algorithms via ML Predictions", 2018).
 * 4. Between these the rule takes that of four times which would have cost least over recent gaps. Their
 *    shares by length, in four classes, are averages with a weight of 1/8 for the newest gap. (Linux'
 *    governor TEO, too, compares classes of recent idle times.)
 * 5. Gaps up to `least` are not learned, because each of the four times covers them. So a core that is
 *    busy calls nothing here.
 *
 * The time to wake up is measured: a sleep that its deadline ends outlasts the deadline by that time. The
 * first sleeps of a core's life have a deadline for this purpose. Of five the second shortest counts: an
 * interrupt may have ended the shortest just before its deadline, and a busy host lengthens others.
 *
 * Pure functions of their arguments: no clock, no device. Times are ticks of any clock, the same in all
 * calls.
 */
#ifndef RUNTIME_IDLE_H
#define RUNTIME_IDLE_H

#include "lib/types.h"

#define IDLE_CLASSES 4 /* of gaps longer than `least`: up to cost / 4, / 2, / 1, and longer */
#define IDLE_SAMPLES 5

struct idle {
	uint64_t spin;  /* how long to poll in a gap before the core sleeps */
	uint64_t least; /* shorter gaps are not reported */
	uint64_t cost;
	uint64_t fixed; /* 0: the rule chooses `spin` */
	uint64_t cost_least, cost_most;     /* bounds of a measured cost */
	uint32_t share[IDLE_CLASSES];       /* of recent gaps, in 1/65536 */
	uint64_t late[IDLE_SAMPLES];
	unsigned samples; /* in late[] */
};

/* Begins without experience. The cost of a sleep is `most` ticks until it has been measured. A measured
 * cost is raised to `least`, from 8 ticks on, or lowered to `most`. */
void idle_init(struct idle *r, uint64_t least, uint64_t most);

/* Has the core poll for `spin` ticks in every gap; 0: as long as the rule chooses. May be called at any
 * time. */
void idle_fix(struct idle *r, uint64_t spin);

/* Reports that a gap of more than `least` ticks has ended. slept: the core slept in it, and `ticks`
 * includes the wake-up. */
void idle_gap(struct idle *r, uint64_t ticks, bool slept);

/* True while the cost of a sleep has not been measured. */
static inline bool idle_wants_sample(const struct idle *r)
{
	return r->samples < IDLE_SAMPLES;
}

/* Reports that a sleep lasted `late` ticks longer than its deadline. The last of IDLE_SAMPLES calls sets
 * the cost; later ones change nothing. */
void idle_sample(struct idle *r, uint64_t late);

#endif
