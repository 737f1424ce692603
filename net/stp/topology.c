/*
 * Topology Change (IEEE 802.1D-2004 17.31): tells other bridges of a port that has begun to forward,
 * and forgets addresses when they tell.
 *
 *   state     condition                                                   next
 *   any       BEGIN                                                       INACTIVE
 *   INACTIVE  learn && !fdbFlush                                          LEARNING
 *   LEARNING  RootPort or DesignatedPort, forward && !operEdge            DETECTED, ACTIVE
 *             neither role, !learn && !learning, nothing received         INACTIVE
 *             rcvdTc || rcvdTcn || rcvdTcAck || tcProp                    LEARNING
 *   ACTIVE    neither role, or operEdge                                   LEARNING
 *             rcvdTcn                                                     NOTIFIED_TCN, NOTIFIED_TC, ACTIVE
 *             rcvdTc                                                      NOTIFIED_TC, ACTIVE
 *             tcProp && !operEdge                                         PROPAGATING, ACTIVE
 *             rcvdTcAck                                                   ACKNOWLEDGED, ACTIVE
 *
 * fdbFlush (17.19.7) is not stored: ops->flush has done its work when it returns.
 */
#include "net/stp/inside.h"

static void flush(struct stp *b, struct stp_port *p)
{
	p->counters.flushed++;
	b->ops->flush(b->ctx, p->number);
}

/* 17.21.7 */
static void newTcWhile(const struct stp *b, struct stp_port *p)
{
	if (p->tcWhile != 0)
		return;
	if (p->sendRSTP) {
		p->tcWhile = HelloTime(p) + 1;
		p->newInfo = true;
	} else {
		p->tcWhile = (uint16_t)(seconds(b->rootTimes.MaxAge) + seconds(b->rootTimes.ForwardDelay));
	}
}

/* 17.21.18; the cause is remembered for `show`. */
static void setTcPropTree(struct stp *b, struct stp_port *p)
{
	b->tcPort = p->number;
	FOR_EACH_PORT(b, q)
		if (q != p)
			q->tcProp = true;
}

/* --- states --- */

static void tcm_inactive(struct stp *b, struct stp_port *p)
{
	p->topologyState = TCM_INACTIVE;
	flush(b, p);
	p->tcWhile = 0;
	p->tcAck = false;
}

static void tcm_learning(struct stp_port *p)
{
	p->topologyState = TCM_LEARNING;
	p->rcvdTc = p->rcvdTcn = p->rcvdTcAck = false;
	p->tcProp = false;
}

static void tcm_detected(struct stp *b, struct stp_port *p)
{
	newTcWhile(b, p);
	setTcPropTree(b, p);
	p->newInfo = true;
	p->topologyState = TCM_ACTIVE;
}

static void tcm_notified_tc(struct stp *b, struct stp_port *p)
{
	p->rcvdTcn = p->rcvdTc = false;
	if (p->role == STP_ROLE_DESIGNATED)
		p->tcAck = true;
	setTcPropTree(b, p);
}

static void tcm_notified_tcn(struct stp *b, struct stp_port *p)
{
	newTcWhile(b, p);
	tcm_notified_tc(b, p);
}

static void tcm_propagating(struct stp *b, struct stp_port *p)
{
	newTcWhile(b, p);
	flush(b, p);
	p->tcProp = false;
}

static void tcm_acknowledged(struct stp_port *p)
{
	p->tcWhile = 0;
	p->rcvdTcAck = false;
}

void topology_begin(struct stp *b, struct stp_port *p)
{
	tcm_inactive(b, p);
}

static bool in_topology(const struct stp_port *p)
{
	return p->role == STP_ROLE_ROOT || p->role == STP_ROLE_DESIGNATED;
}

static bool was_told(const struct stp_port *p)
{
	return p->rcvdTc || p->rcvdTcn || p->rcvdTcAck || p->tcProp;
}

static bool learning_step(struct stp *b, struct stp_port *p)
{
	if (in_topology(p) && p->forward && !p->operEdge)
		tcm_detected(b, p);
	else if (was_told(p))
		tcm_learning(p);
	else if (!in_topology(p) && !p->learn && !p->learning)
		tcm_inactive(b, p);
	else
		return false;
	return true;
}

static bool active_step(struct stp *b, struct stp_port *p)
{
	if (!in_topology(p) || p->operEdge)
		tcm_learning(p);
	else if (p->rcvdTcn)
		tcm_notified_tcn(b, p);
	else if (p->rcvdTc)
		tcm_notified_tc(b, p);
	else if (p->tcProp)
		tcm_propagating(b, p);
	else if (p->rcvdTcAck)
		tcm_acknowledged(p);
	else
		return false;
	return true;
}

static bool topology_step(struct stp *b, struct stp_port *p)
{
	if (p->topologyState == TCM_LEARNING)
		return learning_step(b, p);
	if (p->topologyState == TCM_ACTIVE)
		return active_step(b, p);
	if (!p->learn)
		return false;
	tcm_learning(p);
	return true;
}

bool topology_run(struct stp *b, struct stp_port *p)
{
	bool moved = false;
	while (topology_step(b, p))
		moved = true;
	return moved;
}
