/*
 * The machines about the link and the neighbour on it: Port Timers, Port Receive, Port Protocol
 * Migration, Bridge Detection (IEEE 802.1D-2004 17.22 to 17.25).
 *
 *   machine    state          condition                                              next
 *   receive    any            BEGIN, or !portEnabled && (rcvdBPDU ||
 *                             edgeDelayWhile != MigrateTime)                         DISCARD
 *              DISCARD        rcvdBPDU && portEnabled                                RECEIVE
 *              RECEIVE        rcvdBPDU && portEnabled && !rcvdMsg                    RECEIVE
 *   migration  any            BEGIN                                                  CHECKING_RSTP
 *              CHECKING_RSTP  mdelayWhile == 0                                       SENSING
 *                             mdelayWhile != MigrateTime && !portEnabled             CHECKING_RSTP
 *              SENSING        sendRSTP && rcvdSTP                                    SELECTING_STP
 *                             !portEnabled || mcheck ||
 *                             (rstpVersion && !sendRSTP && rcvdRSTP)                 CHECKING_RSTP
 *              SELECTING_STP  mdelayWhile == 0 || !portEnabled || mcheck             SENSING
 *   detection  any            BEGIN && AdminEdge                                     EDGE
 *                             BEGIN && !AdminEdge                                    NOT_EDGE
 *              EDGE           (!portEnabled && !AdminEdge) || !operEdge              NOT_EDGE
 *              NOT_EDGE       (!portEnabled && AdminEdge) || (edgeDelayWhile == 0 &&
 *                             AutoEdge && sendRSTP && proposing)                     EDGE
 */
#include "net/stp/inside.h"

/* --- 17.22 Port Timers --- */

static void decrement(uint16_t *timer)
{
	if (*timer)
		--*timer;
}

void timers_run(struct stp_port *p)
{
	if (!p->tick)
		return;
	p->tick = false;
	decrement(&p->helloWhen);
	decrement(&p->tcWhile);
	decrement(&p->fdWhile);
	decrement(&p->rcvdInfoWhile);
	decrement(&p->rrWhile);
	decrement(&p->rbWhile);
	decrement(&p->mdelayWhile);
	decrement(&p->edgeDelayWhile);
	decrement(&p->loopedWhile);
	if (p->txCount)
		p->txCount--;
}

/* --- 17.23 Port Receive --- */

static void prx_discard(struct stp_port *p)
{
	p->receiveState = PRX_DISCARD;
	p->rcvdBPDU = p->rcvdRSTP = p->rcvdSTP = false;
	p->rcvdMsg = false;
	p->edgeDelayWhile = MIGRATE_TIME;
}

/* 17.21.22 */
static void updtBPDUVersion(struct stp_port *p)
{
	if (p->msg.type == STP_BPDU_RST)
		p->rcvdRSTP = true;
	else
		p->rcvdSTP = true;
}

static void prx_receive(struct stp_port *p)
{
	p->receiveState = PRX_RECEIVE;
	updtBPDUVersion(p);
	p->operEdge = p->rcvdBPDU = false;
	p->rcvdMsg = true;
	p->edgeDelayWhile = MIGRATE_TIME;
}

void receive_begin(struct stp_port *p)
{
	prx_discard(p);
}

bool receive_run(struct stp_port *p)
{
	if (!p->portEnabled) {
		if (!p->rcvdBPDU && p->edgeDelayWhile == MIGRATE_TIME)
			return false;
		prx_discard(p);
		return true;
	}
	if (!p->rcvdBPDU || (p->receiveState == PRX_RECEIVE && p->rcvdMsg))
		return false;
	prx_receive(p);
	return true;
}

/* --- 17.24 Port Protocol Migration --- */

static void ppm_checking_rstp(struct stp *b, struct stp_port *p)
{
	p->migrationState = PPM_CHECKING_RSTP;
	p->mcheck = false;
	p->sendRSTP = rstpVersion(b);
	p->mdelayWhile = MIGRATE_TIME;
}

static void ppm_selecting_stp(struct stp_port *p)
{
	p->migrationState = PPM_SELECTING_STP;
	p->sendRSTP = false;
	p->mdelayWhile = MIGRATE_TIME;
}

static void ppm_sensing(struct stp_port *p)
{
	p->migrationState = PPM_SENSING;
	p->rcvdRSTP = p->rcvdSTP = false;
}

void migration_begin(struct stp *b, struct stp_port *p)
{
	ppm_checking_rstp(b, p);
}

static bool migration_step(struct stp *b, struct stp_port *p)
{
	switch (p->migrationState) {
	case PPM_CHECKING_RSTP:
		if (p->mdelayWhile == 0)
			ppm_sensing(p);
		else if (p->mdelayWhile != MIGRATE_TIME && !p->portEnabled)
			ppm_checking_rstp(b, p);
		else
			return false;
		return true;
	case PPM_SENSING:
		if (!p->portEnabled || p->mcheck || (rstpVersion(b) && !p->sendRSTP && p->rcvdRSTP))
			ppm_checking_rstp(b, p);
		else if (p->sendRSTP && p->rcvdSTP)
			ppm_selecting_stp(p);
		else
			return false;
		return true;
	default: /* PPM_SELECTING_STP */
		if (p->mdelayWhile != 0 && p->portEnabled && !p->mcheck)
			return false;
		ppm_sensing(p);
		return true;
	}
}

bool migration_run(struct stp *b, struct stp_port *p)
{
	bool moved = false;
	while (migration_step(b, p))
		moved = true;
	return moved;
}

/* --- 17.25 Bridge Detection --- */

static void bdm_edge(struct stp_port *p)
{
	p->detectionState = BDM_EDGE;
	p->operEdge = true;
}

static void bdm_not_edge(struct stp_port *p)
{
	p->detectionState = BDM_NOT_EDGE;
	p->operEdge = false;
}

void detection_begin(struct stp_port *p)
{
	if (p->params.admin_edge)
		bdm_edge(p);
	else
		bdm_not_edge(p);
}

bool detection_run(struct stp_port *p)
{
	if (p->detectionState == BDM_EDGE) {
		if ((p->portEnabled || p->params.admin_edge) && p->operEdge)
			return false;
		bdm_not_edge(p);
		return true;
	}
	const bool silent = p->edgeDelayWhile == 0 && p->params.auto_edge && p->sendRSTP && p->proposing;
	if (!silent && (p->portEnabled || !p->params.admin_edge))
		return false;
	bdm_edge(p);
	return true;
}
