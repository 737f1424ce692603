/* The Receive machine (IEEE 802.1AX-2014 6.4.12, figure 6-18) and its functions (6.4.9). */
#include "net/lacp/inside.h"

/*
 * The partner of which nothing has been heard (Partner_Admin parameters, 6.4.7): a link that cannot be
 * aggregated, and is ready. So a partner without LACP gets a single link. LACP_TIMEOUT: PDUs are sent to it
 * each second, so one that begins to listen need not wait for half a minute.
 */
static const struct lacp_end partner_admin = {
	.state = LACP_TIMEOUT | LACP_SYNCHRONIZATION | LACP_COLLECTING | LACP_DISTRIBUTING,
};

static void recordDefault(struct lacp_port *p)
{
	p->partner = partner_admin;
	end_set(&p->actor, LACP_DEFAULTED, true);
}

static void update_Default_Selected(struct lacp_port *p)
{
	if (!end_equal(&p->partner, &partner_admin, LACP_AGGREGATION))
		p->Selected = LACP_UNSELECTED;
}

static void update_Selected(struct lacp_port *p, const struct lacp_pdu *pdu)
{
	if (!end_equal(&pdu->actor, &p->partner, LACP_AGGREGATION))
		p->Selected = LACP_UNSELECTED;
}

static void update_NTT(struct lacp_port *p, const struct lacp_pdu *pdu)
{
	if (!end_equal(&pdu->partner, &p->actor,
	               LACP_ACTIVITY | LACP_TIMEOUT | LACP_SYNCHRONIZATION | LACP_AGGREGATION))
		p->NTT = true;
}

/* The partner counts as synchronized if it says so, if it means this port by its partner, or its link is
 * individual, and if one of both ends sends PDUs without being asked. */
static void recordPDU(struct lacp_port *p, const struct lacp_pdu *pdu)
{
	const bool maintained = end_has(&pdu->actor, LACP_ACTIVITY) ||
	                        (end_has(&p->actor, LACP_ACTIVITY) && end_has(&pdu->partner, LACP_ACTIVITY));
	const bool meant = end_equal(&pdu->partner, &p->actor, LACP_AGGREGATION) ||
	                   !end_has(&pdu->actor, LACP_AGGREGATION);
	p->partner = pdu->actor;
	end_set(&p->partner, LACP_SYNCHRONIZATION,
	        end_has(&pdu->actor, LACP_SYNCHRONIZATION) && meant && maintained);
	end_set(&p->actor, LACP_DEFAULTED, false);
}

/* --- states --- */

static void port_disabled(struct lacp_port *p)
{
	p->receiveState = LACP_RX_PORT_DISABLED;
	p->current_while = LACP_NEVER;
	end_set(&p->partner, LACP_SYNCHRONIZATION, false);
}

static void expired(const struct lacp *l, struct lacp_port *p)
{
	p->receiveState = LACP_RX_EXPIRED;
	end_set(&p->partner, LACP_SYNCHRONIZATION, false);
	end_set(&p->partner, LACP_TIMEOUT, true);
	p->current_while = l->now_ns + SHORT_TIMEOUT_TIME;
	end_set(&p->actor, LACP_EXPIRED, true);
}

static void lacp_disabled(struct lacp_port *p)
{
	p->receiveState = LACP_RX_LACP_DISABLED;
	p->Selected = LACP_UNSELECTED;
	recordDefault(p);
	end_set(&p->partner, LACP_AGGREGATION, false);
	end_set(&p->actor, LACP_EXPIRED, false);
}

static void defaulted(struct lacp_port *p)
{
	p->receiveState = LACP_RX_DEFAULTED;
	update_Default_Selected(p);
	recordDefault(p);
	end_set(&p->actor, LACP_EXPIRED, false);
}

/* INITIALIZE, then PORT_DISABLED. */
void lacp_receive_begin(struct lacp_port *p)
{
	p->Selected = LACP_UNSELECTED;
	recordDefault(p);
	end_set(&p->actor, LACP_EXPIRED, false);
	port_disabled(p);
}

/* CURRENT. */
void lacp_receive_pdu(const struct lacp *l, struct lacp_port *p, const struct lacp_pdu *pdu)
{
	p->receiveState = LACP_RX_CURRENT;
	update_Selected(p, pdu);
	update_NTT(p, pdu);
	recordPDU(p, pdu);
	p->current_while = l->now_ns + (end_has(&p->actor, LACP_TIMEOUT) ? SHORT_TIMEOUT_TIME : LONG_TIMEOUT_TIME);
	end_set(&p->actor, LACP_EXPIRED, false);
}

static bool step(const struct lacp *l, struct lacp_port *p)
{
	if (!p->port_enabled && p->receiveState != LACP_RX_PORT_DISABLED) {
		port_disabled(p);
		return true;
	}
	switch (p->receiveState) {
	case LACP_RX_PORT_DISABLED:
		if (!p->port_enabled)
			return false;
		if (p->LACP_Enabled)
			expired(l, p);
		else
			lacp_disabled(p);
		return true;
	case LACP_RX_EXPIRED:
		if (!timer_expired(l, &p->current_while))
			return false;
		defaulted(p);
		return true;
	case LACP_RX_CURRENT:
		if (!timer_expired(l, &p->current_while))
			return false;
		expired(l, p);
		return true;
	case LACP_RX_LACP_DISABLED:
	case LACP_RX_DEFAULTED:
		return false;
	}
	return false;
}

bool lacp_receive_run(const struct lacp *l, struct lacp_port *p)
{
	bool any = false;
	while (step(l, p))
		any = true;
	return any;
}
