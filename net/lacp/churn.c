/*
 * The Actor and Partner Churn Detection machines (IEEE 802.1AX-2014 6.4.17): an end that is not in
 * synchronization within Churn_Detection_Time, while the port is in use, churns. For the operator only:
 * nothing else depends on it.
 */
#include "net/lacp/inside.h"

static void monitor(const struct lacp *l, enum lacp_churn *state, uint64_t *timer)
{
	*state = LACP_CHURN_MONITOR;
	*timer = l->now_ns + CHURN_DETECTION_TIME;
}

static void run(const struct lacp *l, bool synchronized, enum lacp_churn *state, uint64_t *timer, uint64_t *times)
{
	if (synchronized) {
		*state = LACP_NO_CHURN;
		*timer = LACP_NEVER;
	} else if (*state == LACP_NO_CHURN) {
		monitor(l, state, timer);
	} else if (timer_expired(l, timer)) {
		*state = LACP_CHURN;
		(*times)++;
	}
}

void lacp_churn_begin(struct lacp_port *p)
{
	p->actorChurn = p->partnerChurn = LACP_NO_CHURN;
	p->actor_churn_timer = p->partner_churn_timer = LACP_NEVER;
}

void lacp_churn_run(const struct lacp *l, struct lacp_port *p)
{
	if (!p->port_enabled || !p->LACP_Enabled) {
		lacp_churn_begin(p);
		return;
	}
	run(l, end_has(&p->actor, LACP_SYNCHRONIZATION), &p->actorChurn, &p->actor_churn_timer,
	    &p->counters.actor_churn);
	run(l, end_has(&p->partner, LACP_SYNCHRONIZATION), &p->partnerChurn, &p->partner_churn_timer,
	    &p->counters.partner_churn);
}
