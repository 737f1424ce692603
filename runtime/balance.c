/* See balance.h. */
#include "runtime/balance.h"

#include "lib/number.h"

/* How far apart two cores are that differ by `gap`, once the one has given that load to the other. */
static uint32_t apart(uint32_t gap, uint32_t load)
{
	return gap > 2 * load ? gap - 2 * load : 2 * load - gap;
}

/* The bucket that the core should give to one that is less busy by `gap`, if that gains so much; NULL: none. */
static struct balance_load *bucket_to_give(struct balance_load *of, unsigned buckets, unsigned core, uint32_t gap,
                                           uint32_t gain)
{
	struct balance_load *best = NULL;
	for (unsigned i = 0; i < buckets; i++) {
		struct balance_load *b = &of[i];
		const uint64_t least = (uint64_t)b->load + b->load / 8 + gain;
		if (b->core != core || b->load < gain || least > gap)
			continue;
		if (!best || apart(gap, b->load) < apart(gap, best->load))
			best = b;
	}
	return best;
}

unsigned balance_choose(uint32_t *busy, unsigned n, struct balance_load *of, unsigned buckets, struct balance_move *out,
                        unsigned most)
{
	unsigned moves = 0;
	while (n > 1 && moves < most) {
		const unsigned from = u32_most_at(busy, 0, n), to = u32_least_at(busy, 0, n);
		const uint32_t gap = busy[from] - busy[to];
		struct balance_load *b = NULL;
		if (gap >= busy[from] / BALANCE_GAP)
			b = bucket_to_give(of, buckets, from, gap, busy[from] / BALANCE_GAIN + 1);
		if (!b)
			break;
		out[moves++] = (struct balance_move){b->bucket, b->port, (uint8_t)from, (uint8_t)to};
		b->core = BALANCE_MOVED;
		busy[from] -= u32_min(b->load, busy[from]);
		busy[to] += b->load;
	}
	return moves;
}
