/*
 * Which buckets move from which data core to which: a pure function of measured loads. runtime/balancer.c measures and
 * has them moved.
 *
 * Loads are in BALANCE_FULL of a core's time. The busiest core gives a bucket to the idlest, until they differ by less
 * than a part of its load, 1 / BALANCE_GAP, or nothing helps:
 *
 * 1. A bucket moves only if both cores are then less busy than the busiest was, by an eighth of the bucket's load
 *    and 1 / BALANCE_GAIN of the busiest's at least. So a bucket with most of a core's load (an elephant) does not
 *    move to and fro: it moves back only if the rest of the load has changed by a quarter of its own.
 * 2. Of these the one moves that leaves the two cores nearest to each other.
 * 3. A bucket moves once a round at most.
 */
#ifndef RUNTIME_BALANCE_H
#define RUNTIME_BALANCE_H

#include "lib/types.h"

#define BALANCE_FULL 1000000u /* all of a core's time */
#define BALANCE_GAP 8
#define BALANCE_GAIN 400
#define BALANCE_MOVED 0xff

/* A bucket that may move. */
struct balance_load {
	uint32_t load;
	uint16_t bucket;
	uint8_t port;
	uint8_t core; /* index of the core that has it; BALANCE_MOVED afterwards if it moves */
};

struct balance_move {
	uint16_t bucket;
	uint8_t port, from, to; /* the cores by index */
};

/*
 * Chooses at most `most` moves, in the order in which they are to be made. busy: the load of each of n cores,
 * changed to what it should be afterwards. `of`: the buckets, with their cores below n. Returns the number of
 * moves.
 */
unsigned balance_choose(uint32_t *busy, unsigned n, struct balance_load *of, unsigned buckets, struct balance_move *out,
                        unsigned most);

#endif
