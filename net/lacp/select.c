/* The Selection Logic (IEEE 802.1AX-2014 6.4.14); lacp.h says by which rules. */
#include "net/lacp/inside.h"

bool lacp_select_is_individual(const struct lacp_port *p)
{
	return !end_has(&p->actor, LACP_AGGREGATION) || !end_has(&p->partner, LACP_AGGREGATION);
}

bool lacp_select_is_looped(const struct lacp_port *p)
{
	return p->receiveState == LACP_RX_CURRENT && eth_equal(p->actor.system, p->partner.system);
}

/* May the port be attached to the aggregator of its group? Not in EXPIRED: whether there is a partner shows
 * in three seconds. A port that has a partner stays selected meanwhile. */
static bool is_candidate(const struct lacp_port *p)
{
	const bool knows = p->receiveState != LACP_RX_EXPIRED || !end_has(&p->actor, LACP_DEFAULTED);
	return p->params.group && p->port_enabled && knows && !lacp_select_is_looped(p);
}

/* Are both ports in the same LAG? */
static bool same_lag(const struct lacp_port *a, const struct lacp_port *b)
{
	if (a == b)
		return true;
	if (a->params.group != b->params.group || is_on(a) != is_on(b))
		return false;
	if (is_on(a))
		return true;
	return !lacp_select_is_individual(a) && !lacp_select_is_individual(b) && a->partner.key == b->partner.key &&
	       a->partner.system_priority == b->partner.system_priority &&
	       eth_equal(a->partner.system, b->partner.system);
}

/* Is a's LAG preferred to b's? `on` ports count as aggregatable: the operator says so. */
static bool is_better(const struct lacp_port *a, const struct lacp_port *b)
{
	const bool alone_a = !is_on(a) && lacp_select_is_individual(a);
	const bool alone_b = !is_on(b) && lacp_select_is_individual(b);
	if (alone_a != alone_b)
		return alone_b;
	if ((a->Selected != LACP_UNSELECTED) != (b->Selected != LACP_UNSELECTED))
		return a->Selected != LACP_UNSELECTED; /* in use */
	if (a->params.priority != b->params.priority)
		return a->params.priority < b->params.priority;
	return a->number < b->number;
}

/* The best port of a group, whose LAG the aggregator takes; NULL: there is none. */
static const struct lacp_port *best_of(const struct lacp *l, unsigned group)
{
	const struct lacp_port *best = NULL;
	for (unsigned i = 0; i < l->ports; i++) {
		const struct lacp_port *p = &l->port[i];
		if (p->params.group == group && is_candidate(p) && (!best || is_better(p, best)))
			best = p;
	}
	return best;
}

static unsigned links_of(const struct lacp *l, const struct lacp_port *best)
{
	unsigned n = 0;
	for (unsigned i = 0; i < l->ports; i++)
		n += is_candidate(&l->port[i]) && same_lag(&l->port[i], best);
	return n;
}

/* True: that changes the port's selection. The Mux machine has run, so a port that is unselected is detached. */
static bool set(struct lacp_port *p, enum lacp_selected want)
{
	const bool changes = p->Selected != want;
	p->Selected = want;
	return changes;
}

bool lacp_select_run(struct lacp *l)
{
	bool any = false;
	for (unsigned group = 1; group <= LACP_GROUPS_MAX; group++) {
		const struct lacp_port *best = best_of(l, group);
		const bool enough = best && links_of(l, best) >= l->min_links[group];
		FOR_EACH_PORT(l, p) {
			if (p->params.group != group)
				continue;
			if (!best || !is_candidate(p) || !same_lag(p, best))
				any |= set(p, LACP_UNSELECTED);
			else
				any |= set(p, enough ? LACP_SELECTED : LACP_STANDBY);
		}
	}
	FOR_EACH_PORT(l, p)
		if (p->params.group == 0)
			any |= set(p, LACP_UNSELECTED);
	return any;
}
