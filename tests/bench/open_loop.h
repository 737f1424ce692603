/*
 * An open-loop schedule: packet number n is due n intervals after the start, whether or not earlier
 * ones have returned. Latency counts from the time a packet was due, so a server that stalls is
 * charged for the packets that waited for room in its ring.
 *
 * The generator's own CPU is taken away too (the host, neighbours). A gap of `gap_ticks` or more
 * between two calls of open_loop_clock is such a time: the schedule then moves by the gap, and
 * packets that were under way are left out of the latencies, and counted. Gaps have a histogram of
 * their own: it is what a spinning program sees of this CPU.
 *
 * All times are TSC ticks; the caller reads the clock.
 */
#ifndef TESTS_BENCH_OPEN_LOOP_H
#define TESTS_BENCH_OPEN_LOOP_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "tools/nicsim/wires/histogram.h"

struct open_loop {
	uint64_t start;     /* of the schedule; every gap moves it */
	uint64_t end;       /* likewise */
	uint64_t last;      /* the clock as last read */
	uint64_t gap_end;   /* of the last gap */
	uint64_t gap_ticks; /* a longer time between two readings is a gap */
	uint64_t gone;      /* ticks in gaps */
	double interval;    /* ticks from one packet to the next; 0: every packet is always due */
	uint64_t sent, left_out;
	struct histogram latency, gap;
};

static inline void open_loop_begin(struct open_loop *o, uint64_t now, uint64_t ticks, double interval,
                                   uint64_t gap_ticks)
{
	memset(o, 0, sizeof *o);
	o->start = o->last = now;
	o->end = now + ticks;
	o->interval = interval;
	o->gap_ticks = gap_ticks;
	histogram_clear(&o->latency);
	histogram_clear(&o->gap);
}

/* Call with every reading of the clock. */
static inline void open_loop_clock(struct open_loop *o, uint64_t now)
{
	uint64_t gap = now - o->last;
	o->last = now;
	if (__builtin_expect(gap < o->gap_ticks, 1))
		return;
	histogram_add(&o->gap, gap);
	o->gone += gap;
	o->start += gap;
	o->end += gap;
	o->gap_end = now;
}

/* Call at the begin of every turn, with the time. False: the schedule is over. */
static inline bool open_loop_runs(struct open_loop *o, uint64_t now)
{
	open_loop_clock(o, now);
	return now < o->end;
}

/* How many packets are due and not sent. */
static inline uint64_t open_loop_due(const struct open_loop *o, uint64_t now)
{
	if (o->interval == 0)
		return UINT64_MAX;
	uint64_t due = (uint64_t)((double)(now - o->start) / o->interval) + 1;
	return due > o->sent ? due - o->sent : 0;
}

/* The time at which the next packet to be sent is due; never later than now if one is due. */
static inline uint64_t open_loop_stamp(const struct open_loop *o, uint64_t now)
{
	return o->interval == 0 ? now : o->start + (uint64_t)((double)o->sent * o->interval);
}

/* A packet that was due at `stamp` is back. False: it cannot be one of this schedule. */
static inline bool open_loop_back(struct open_loop *o, uint64_t stamp, uint64_t now)
{
	if (stamp > now || now - stamp > now - o->start + o->gone)
		return false;
	if (stamp < o->gap_end)
		o->left_out++;
	else
		histogram_add(&o->latency, now - stamp);
	return true;
}

/* Prints every value of the histogram in nanoseconds, and how often it came: ` NS:COUNT`. */
static inline void open_loop_print(const struct histogram *h, double ns_per_tick)
{
	for (unsigned i = 0; i < HISTOGRAM_CELLS; i++)
		if (h->cell[i])
			printf(" %.0f:%" PRIu64, histogram_middle(i) * ns_per_tick, h->cell[i]);
}

/* Prints the end of an answer: LEFT-OUT NS GONE-NS, the longest latency and gap in ns, and all
 * latencies and gaps: ` | NS:COUNT... | NS:COUNT...`. NS: the time without the gaps. */
static inline void open_loop_report(const struct open_loop *o, uint64_t now, double hz)
{
	double each = 1e9 / hz;
	printf(" %" PRIu64 " %.0f %.0f %.0f %.0f |", o->left_out, (double)(now - o->start) * each,
	       (double)o->gone * each, (double)o->latency.max * each, (double)o->gap.max * each);
	open_loop_print(&o->latency, each);
	printf(" |");
	open_loop_print(&o->gap, each);
	printf("\n");
}

#endif
