/* See groups.h. */
#include "control/forwarding/groups.h"

#include "lib/mem.h"

enum state {
	FREE,
	USED,
	RESTING, /* data cores may still read it */
};

static uint8_t state[DP_GROUPS];
static unsigned resting;

static struct dp_group *group_of(uint32_t nh)
{
	assert(dp_is_group(nh) && state[nh - NH_GROUP] == USED);
	return &dp_get()->group[nh - NH_GROUP];
}

void groups_start(void)
{
	struct dp_state *v = dp_get();
	memset(state, 0, sizeof state);
	resting = 0;
	/* kept while this program runs: flows keep their paths when the ports restart */
	static uint64_t seed;
	while (seed == 0)
		core_random(&seed, sizeof seed);
	v->flow_seed = seed;
}

uint32_t group_make(const uint16_t *member, const uint8_t *weight, unsigned n)
{
	unsigned g = 0;
	while (g < DP_GROUPS && state[g] != FREE)
		g++;
	if (g == DP_GROUPS)
		return NH_NONE;
	state[g] = USED;
	memset(group_of(NH_GROUP + g), 0, sizeof(struct dp_group));
	group_change(NH_GROUP + g, member, weight, n);
	__atomic_store_n(&dp_get()->groups, true, __ATOMIC_RELEASE);
	return NH_GROUP + g;
}

void group_change(uint32_t nh, const uint16_t *member, const uint8_t *weight, unsigned n)
{
	struct dp_group *g = group_of(nh);
	for (unsigned i = 0; i < n; i++)
		assert(member[i] >= NH_NULL0 && member[i] < NH_MAX);
	ecmp_set(&g->table, member, weight, n);
	for (unsigned i = 0; i < ECMP_MEMBERS_MAX; i++)
		__atomic_store_n(&g->member[i], i < n ? member[i] : (uint16_t)NH_NONE, __ATOMIC_RELAXED);
}

void group_free(uint32_t nh)
{
	group_of(nh);
	state[nh - NH_GROUP] = RESTING;
	resting++;
}

unsigned groups_resting(void) { return resting; }

void groups_reclaim(void)
{
	for (unsigned g = 0; g < DP_GROUPS && resting; g++)
		if (state[g] == RESTING) {
			state[g] = FREE;
			resting--;
		}
}
