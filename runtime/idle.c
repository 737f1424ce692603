/* How long an idle core polls before it sleeps: runtime/idle.h. */
#include "runtime/idle.h"

#define ONE 65536u   /* all gaps */
#define WEIGHT_LOG2 3 /* of the newest gap: 1/8 */
#define EIGHTHS 8u
#define SECOND 1 /* in ascending order */
#define WAKE_UPS 2 /* in the cost of a sleep: the CPU's and the packet's */

/* In sixteenths of the cost, by class: the middle of its gaps, and the longest one that polling for this
 * time covers if it covers the class before. No time covers the last class. */
static const uint8_t middle[IDLE_CLASSES - 1] = {3, 6, 12};
static const uint8_t longest[IDLE_CLASSES] = {2, 4, 8, 16};
#define COST 16u

/* What a gap has cost on average, in 1/65536 of 1/16 of the cost of a sleep, if the core polled for
 * longest[i]: it covers the classes before i. */
static uint32_t cost_of(const struct idle *r, unsigned i)
{
	uint32_t sum = 0;
	for (unsigned k = 0; k < IDLE_CLASSES; k++)
		sum += r->share[k] * (k < i ? middle[k] : longest[i] + COST);
	return sum;
}

static void choose(struct idle *r)
{
	unsigned best = 0;
	uint32_t least = cost_of(r, 0);
	for (unsigned i = 1; i < IDLE_CLASSES; i++) {
		uint32_t cost = cost_of(r, i);
		if (cost < least) {
			least = cost;
			best = i;
		}
	}
	r->spin = r->fixed ? r->fixed : r->cost / EIGHTHS << best;
}

static void set_cost(struct idle *r, uint64_t cost)
{
	r->cost = cost;
	r->least = cost / EIGHTHS;
	choose(r);
}

void idle_init(struct idle *r, uint64_t least, uint64_t most)
{
	*r = (struct idle){.share = {[IDLE_CLASSES - 1] = ONE}, .cost_least = least, .cost_most = most};
	set_cost(r, most);
}

void idle_fix(struct idle *r, uint64_t spin)
{
	r->fixed = spin;
	choose(r);
}

void idle_gap(struct idle *r, uint64_t ticks, bool slept)
{
	uint64_t wake_up = slept ? r->cost / WAKE_UPS : 0;
	uint64_t gap = ticks > wake_up ? ticks - wake_up : 0;
	unsigned class = 0;
	while (class < IDLE_CLASSES - 1 && gap > r->least << (class + 1))
		class++;
	for (unsigned k = 0; k < IDLE_CLASSES; k++)
		r->share[k] -= r->share[k] >> WEIGHT_LOG2;
	r->share[class] += ONE >> WEIGHT_LOG2;
	choose(r);
}

void idle_sample(struct idle *r, uint64_t late)
{
	if (!idle_wants_sample(r))
		return;
	unsigned at = r->samples++;
	for (; at > 0 && r->late[at - 1] > late; at--)
		r->late[at] = r->late[at - 1];
	r->late[at] = late;
	if (idle_wants_sample(r))
		return;
	uint64_t wake_up = r->late[SECOND];
	uint64_t cost = wake_up > r->cost_most / WAKE_UPS ? r->cost_most : wake_up * WAKE_UPS;
	set_cost(r, cost < r->cost_least ? r->cost_least : cost);
}
