/*
 * Port Information (IEEE 802.1D-2004 17.27): whose information about the root a port goes by.
 *
 *   state     condition                                                    next
 *   any       BEGIN, or !portEnabled && infoIs != Disabled                 DISABLED
 *   DISABLED  rcvdMsg                                                      DISABLED
 *             portEnabled                                                  AGED
 *   AGED      selected && updtInfo                                         UPDATE, CURRENT
 *   CURRENT   selected && updtInfo                                         UPDATE, CURRENT
 *             infoIs == Received && rcvdInfoWhile == 0 &&
 *             !updtInfo && !rcvdMsg                                        AGED
 *             rcvdMsg && !updtInfo                                         RECEIVE
 *   RECEIVE   rcvInfo() is SuperiorDesignatedInfo                          SUPERIOR_DESIGNATED, CURRENT
 *                          RepeatedDesignatedInfo                          REPEATED_DESIGNATED, CURRENT
 *                          InferiorDesignatedInfo                          INFERIOR_DESIGNATED, CURRENT
 *                          InferiorRootAlternateInfo                       NOT_DESIGNATED, CURRENT
 *                          OtherInfo                                       OTHER, CURRENT
 */
#include "net/stp/inside.h"

/* 17.21.1 */
static bool betterorsameInfo(const struct stp_port *p, enum stp_info_is newInfoIs)
{
	if (p->infoIs != newInfoIs)
		return false;
	const struct stp_vector *news = newInfoIs == INFO_RECEIVED ? &p->msg.priority
	                                                           : &p->designatedPriority;
	return vector_compare_message(news, &p->portPriority) <= 0;
}

/* --- 17.21.8 --- */

enum received_info {
	SuperiorDesignatedInfo,
	RepeatedDesignatedInfo,
	InferiorDesignatedInfo,
	InferiorRootAlternateInfo,
	OtherInfo,
};

/* 17.6: a designated bridge and port may replace its own information by worse. */
static bool same_sender(const struct stp_vector *a, const struct stp_vector *b)
{
	return STP_BRIDGE_ADDRESS(a->DesignatedBridgeID) == STP_BRIDGE_ADDRESS(b->DesignatedBridgeID) &&
	       STP_PORT_NUMBER(a->DesignatedPortID) == STP_PORT_NUMBER(b->DesignatedPortID);
}

static enum received_info rcvInfo(const struct stp_port *p)
{
	if (p->msg.type == STP_BPDU_TCN)
		return OtherInfo;
	const int order = vector_compare_message(&p->msg.priority, &p->portPriority);
	if (p->msg.role != STP_BPDU_ROLE_DESIGNATED)
		return order >= 0 ? InferiorRootAlternateInfo : OtherInfo;
	if (order == 0 && times_equal(&p->msg.times, &p->portTimes) && p->infoIs == INFO_RECEIVED)
		return RepeatedDesignatedInfo; /* 802.1Q-2018 13.29.12 requires infoIs == Received */
	if (order <= 0 || same_sender(&p->msg.priority, &p->portPriority))
		return SuperiorDesignatedInfo;
	return InferiorDesignatedInfo;
}

/* --- procedures --- */

/* 17.21.9 */
static void recordAgreement(const struct stp *b, struct stp_port *p)
{
	p->agreed = rstpVersion(b) && p->operPointToPointMAC && p->msg.agreement;
	if (p->agreed)
		p->proposing = false;
}

/* 17.21.10: the neighbour claims to be designated with worse information, and learns: it does not hear
 * us. */
static void recordDispute(struct stp_port *p)
{
	if (!p->msg.learning)
		return;
	p->disputed = true;
	p->agreed = false;
}

/* 17.21.11 */
static void recordProposal(struct stp_port *p)
{
	p->proposed |= p->msg.role == STP_BPDU_ROLE_DESIGNATED && p->msg.proposal;
}

/* 17.21.17 */
static void setTcFlags(struct stp_port *p)
{
	p->rcvdTc |= p->msg.tc;
	p->rcvdTcAck |= p->msg.tcAck;
	p->rcvdTcn |= p->msg.type == STP_BPDU_TCN;
}

/* 17.21.23 */
static void updtRcvdInfoWhile(struct stp_port *p)
{
	const bool alive = message_age_next(p->portTimes.MessageAge) <= p->portTimes.MaxAge;
	p->rcvdInfoWhile = alive ? seconds((uint16_t)(3u * p->portTimes.HelloTime)) : 0;
}

/* --- states --- */

static void pim_disabled(struct stp_port *p)
{
	p->informationState = PIM_DISABLED;
	p->rcvdMsg = false;
	p->proposing = p->proposed = p->agree = p->agreed = false;
	p->rcvdInfoWhile = 0;
	p->infoIs = INFO_DISABLED;
	p->reselect = true;
	p->selected = false;
}

static void pim_aged(struct stp_port *p)
{
	p->informationState = PIM_AGED;
	p->infoIs = INFO_AGED;
	p->reselect = true;
	p->selected = false;
}

static void pim_update(struct stp_port *p)
{
	p->proposing = p->proposed = false;
	p->agreed = p->agreed && betterorsameInfo(p, INFO_MINE);
	p->synced = p->synced && p->agreed;
	p->portPriority = p->designatedPriority;
	p->portTimes = p->designatedTimes;
	p->updtInfo = false;
	p->infoIs = INFO_MINE;
	p->newInfo = true;
	p->informationState = PIM_CURRENT;
}

static void pim_superior_designated(struct stp_port *p)
{
	p->agreed = p->proposing = false;
	recordProposal(p);
	setTcFlags(p);
	p->agree = p->agree && betterorsameInfo(p, INFO_RECEIVED);
	p->portPriority = p->msg.priority; /* recordPriority, 17.21.12 */
	p->portTimes = p->msg.times;       /* recordTimes, 17.21.13 */
	updtRcvdInfoWhile(p);
	p->infoIs = INFO_RECEIVED;
	p->reselect = true;
	p->selected = false;
	p->rcvdMsg = false;
}

static void pim_repeated_designated(struct stp_port *p)
{
	recordProposal(p);
	setTcFlags(p);
	updtRcvdInfoWhile(p);
	p->rcvdMsg = false;
}

static void pim_inferior_designated(struct stp_port *p)
{
	recordDispute(p);
	p->rcvdMsg = false;
}

static void pim_not_designated(const struct stp *b, struct stp_port *p)
{
	recordAgreement(b, p);
	setTcFlags(p);
	p->rcvdMsg = false;
}

/* The standard sets no flags here, and does not say which state sets rcvdTcn. A TCN has no priority
 * vector, so it is OtherInfo. */
static void pim_other(struct stp_port *p)
{
	if (p->msg.type == STP_BPDU_TCN)
		setTcFlags(p);
	p->rcvdMsg = false;
}

static void pim_receive(const struct stp *b, struct stp_port *p)
{
	switch (rcvInfo(p)) {
	case SuperiorDesignatedInfo:
		pim_superior_designated(p);
		break;
	case RepeatedDesignatedInfo:
		pim_repeated_designated(p);
		break;
	case InferiorDesignatedInfo:
		pim_inferior_designated(p);
		break;
	case InferiorRootAlternateInfo:
		pim_not_designated(b, p);
		break;
	case OtherInfo:
		pim_other(p);
		break;
	}
	p->informationState = PIM_CURRENT;
}

void information_begin(struct stp_port *p)
{
	pim_disabled(p);
}

static bool information_step(const struct stp *b, struct stp_port *p)
{
	if (!p->portEnabled && p->infoIs != INFO_DISABLED) {
		pim_disabled(p);
		return true;
	}
	switch (p->informationState) {
	case PIM_DISABLED:
		if (p->portEnabled)
			pim_aged(p);
		else if (p->rcvdMsg)
			pim_disabled(p);
		else
			return false;
		return true;
	case PIM_AGED:
		if (!p->selected || !p->updtInfo)
			return false;
		pim_update(p);
		return true;
	default: /* PIM_CURRENT */
		if (p->selected && p->updtInfo)
			pim_update(p);
		else if (p->rcvdMsg && !p->updtInfo)
			pim_receive(b, p);
		else if (p->infoIs == INFO_RECEIVED && p->rcvdInfoWhile == 0 && !p->updtInfo)
			pim_aged(p);
		else
			return false;
		return true;
	}
}

bool information_run(const struct stp *b, struct stp_port *p)
{
	bool moved = false;
	while (information_step(b, p))
		moved = true;
	return moved;
}
