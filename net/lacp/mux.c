/* The Mux machine of independent control (IEEE 802.1AX-2014 6.4.15, figure 6-21). */
#include "net/lacp/inside.h"

static void tell(struct lacp *l, struct lacp_port *p)
{
	const bool collecting = p->muxState >= LACP_MUX_COLLECTING;
	const bool distributing = p->muxState == LACP_MUX_DISTRIBUTING;
	end_set(&p->actor, LACP_COLLECTING, collecting);
	end_set(&p->actor, LACP_DISTRIBUTING, distributing);
	if (collecting == p->told_collecting && distributing == p->told_distributing)
		return;
	p->told_collecting = collecting;
	p->told_distributing = distributing;
	l->ops->state(l->ctx, p->number, collecting, distributing);
}

static void enter(struct lacp *l, struct lacp_port *p, enum lacp_mux state)
{
	p->muxState = state;
	if (state == LACP_MUX_WAITING) {
		/* mode `on` waits for nobody */
		p->wait_while = is_on(p) ? l->now_ns : l->now_ns + AGGREGATE_WAIT_TIME;
		return;
	}
	p->wait_while = LACP_NEVER;
	p->Ready_N = false;
	end_set(&p->actor, LACP_SYNCHRONIZATION, state != LACP_MUX_DETACHED);
	tell(l, p);
	/* figure 6-21 has no NTT in DISTRIBUTING: the partner waits for our collecting alone */
	p->NTT |= state != LACP_MUX_DISTRIBUTING;
}

void lacp_mux_begin(struct lacp_port *p)
{
	p->muxState = LACP_MUX_DETACHED;
	p->wait_while = LACP_NEVER;
	p->Ready_N = false;
	end_set(&p->actor, LACP_SYNCHRONIZATION | LACP_COLLECTING | LACP_DISTRIBUTING, false);
}

/* Ready: every port that waits for the aggregator has waited long enough (6.4.8). */
static bool is_ready(const struct lacp *l, const struct lacp_port *p)
{
	for (unsigned i = 0; i < l->ports; i++) {
		const struct lacp_port *q = &l->port[i];
		if (q->params.group == p->params.group && q->muxState == LACP_MUX_WAITING &&
		    q->Selected == LACP_SELECTED && !q->Ready_N)
			return false;
	}
	return p->Ready_N;
}

static bool step(struct lacp *l, struct lacp_port *p)
{
	const bool selected = p->Selected == LACP_SELECTED;
	const bool in_step = selected && end_has(&p->partner, LACP_SYNCHRONIZATION);
	const bool both = in_step && end_has(&p->partner, LACP_COLLECTING);
	enum lacp_mux next = p->muxState;
	switch (p->muxState) {
	case LACP_MUX_DETACHED:
		if (p->Selected != LACP_UNSELECTED)
			next = LACP_MUX_WAITING;
		break;
	case LACP_MUX_WAITING:
		if (timer_expired(l, &p->wait_while))
			p->Ready_N = true;
		if (p->Selected == LACP_UNSELECTED)
			next = LACP_MUX_DETACHED;
		else if (selected && is_ready(l, p))
			next = LACP_MUX_ATTACHED;
		break;
	case LACP_MUX_ATTACHED:
		if (!selected)
			next = LACP_MUX_DETACHED;
		else if (in_step)
			next = LACP_MUX_COLLECTING;
		break;
	case LACP_MUX_COLLECTING:
		if (!in_step)
			next = LACP_MUX_ATTACHED;
		else if (both)
			next = LACP_MUX_DISTRIBUTING;
		break;
	case LACP_MUX_DISTRIBUTING:
		if (!both)
			next = LACP_MUX_COLLECTING;
		break;
	}
	if (next == p->muxState)
		return false;
	enter(l, p, next);
	return true;
}

bool lacp_mux_run(struct lacp *l, struct lacp_port *p)
{
	bool any = false;
	while (step(l, p))
		any = true;
	return any;
}
