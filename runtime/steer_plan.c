/* See steer.h. A function of its arguments: the control core publishes the result before the ports start. */
#include "runtime/steer.h"

#define NO_PAIR_HERE 0xff

/* The owner with fewest workers, of those on the node; any_node: of all. STEER_NOBODY: each of them has as
 * many as it can. */
static uint8_t least_busy(unsigned n, const uint8_t *pair_of, const unsigned *node, const uint8_t *workers,
                          unsigned near, bool any_node)
{
	uint8_t best = STEER_NOBODY;
	for (unsigned d = 0; d < n; d++) {
		const bool fits = pair_of[d] != NO_PAIR_HERE && (any_node || node[d] == near);
		if (fits && workers[d] < STEER_WORKERS_MAX && (best == STEER_NOBODY || workers[d] < workers[best]))
			best = (uint8_t)d;
	}
	return best;
}

void steer_plan(unsigned n, const uint8_t *pair_of, const bool *alive, const unsigned *node, uint8_t *owner_of)
{
	uint8_t workers[STEER_NOBODY] = {0};
	assert(n <= STEER_NOBODY);
	for (unsigned d = 0; d < n; d++) {
		owner_of[d] = STEER_NOBODY;
		if (pair_of[d] != NO_PAIR_HERE || !alive[d])
			continue;
		owner_of[d] = least_busy(n, pair_of, node, workers, node[d], false);
		if (owner_of[d] == STEER_NOBODY)
			owner_of[d] = least_busy(n, pair_of, node, workers, node[d], true);
		if (owner_of[d] != STEER_NOBODY)
			workers[owner_of[d]]++;
	}
}
