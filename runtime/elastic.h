/*
 * Elastic cores: at low load the flows of all ports are gathered on few data cores, and the others sleep; with load
 * they come back. `cores minimum N [wake-up MICROSECONDS]` turns this on (docs/configuration.md). The control core
 * decides, and has the buckets moved (move.h), so nothing is lost or overtaken.
 *
 * The flows lie on the first `in use` queue pairs. Bucket 0 of every port stays with pair 0, which is always in use.
 *
 *     the pairs in use are                       if
 *     all                                        a core is pressed: a turn in which it took ELASTIC_PACKETS packets
 *     or more
 *                                                lasted longer than `wake-up`. So long a packet may have waited
 *                                                before it was taken. Such a core wakes the control core.
 *     one more                                   a core was busy for ELASTIC_BUSY percent of ELASTIC_LOOK_NS or more
 *     one less, but at least the minimum         all load would keep one less busy for at most ELASTIC_FITS percent on
 *                                                average, at ELASTIC_LOOKS looks in succession
 *
 * 1. Cores that were pressed have all come back for ELASTIC_REST_NS at least. If a core is pressed within twice
 *    that rest after flows have been gathered, the next rest is twice as long, up to ELASTIC_REST_MAX_NS. So a load
 *    that comes in bursts does not have its flows moved with each burst.
 * 2. What comes back takes an equal number of buckets from those in use; load-balance then moves them by their load.
 * 3. While all pairs are in use, or without `cores minimum`, a data core compares two numbers for it in a turn that
 *    moved packets, and the control core does nothing.
 */
#ifndef RUNTIME_ELASTIC_H
#define RUNTIME_ELASTIC_H

#include "lib/types.h"

#define ELASTIC_PACKETS 64
#define ELASTIC_BUSY 70
#define ELASTIC_FITS 40
#define ELASTIC_LOOK_NS 500000000ull
#define ELASTIC_LOOKS 4
#define ELASTIC_REST_NS 5000000000ull
#define ELASTIC_REST_MAX_NS 60000000000ull

/* --- the control core --- */

/* While the ports run and none restarts, once a turn. */
void elastic_turn(void);
/* The TSC at which it must be called even if the core sleeps. */
uint64_t elastic_deadline(void);
void elastic_init(void);  /* once; no core is pressed */
void elastic_reset(void); /* the ports run from now on */

/* Changes the homes (runtime/buckets.h) of a port's n buckets so that the first `now` pairs have all of them, if
 * the first `before` had. If these are more now, the new ones alone take buckets: each as many as the others keep.
 * Bucket 0 stays. */
void elastic_spread(uint8_t *home, unsigned n, unsigned before, unsigned now);

/* --- a data core --- */

/* A turn that moved `packets` packets has lasted longer than published.pressed_ticks. */
void elastic_note_turn(unsigned packets);

#endif
