/*
 * Port Role Selection (IEEE 802.1D-2004 17.28): compares all priority vectors and chooses the roles.
 *
 *   state           condition             next
 *   any             BEGIN                 INIT_BRIDGE, ROLE_SELECTION
 *   ROLE_SELECTION  reselect of a port    ROLE_SELECTION
 *
 * Table of roles (17.21.25 f to l). "Ours" is designatedPriority, "its" is portPriority.
 *
 *   infoIs    further                                          role        updtInfo
 *   Disabled                                                   Disabled    clear
 *   Aged                                                       Designated  set
 *   Mine                                                       Designated  set if priority or times differ
 *   Received  the root priority vector comes from it           Root        clear
 *             its not worse than ours, of another bridge       Alternate   clear
 *             its not worse than ours, of this bridge          Backup      clear
 *             ours better                                      Designated  set
 */
#include "net/stp/inside.h"

#define COST_LIMIT UINT32_MAX

static bool of_this_bridge(const struct stp *b, const struct stp_vector *v)
{
	return STP_BRIDGE_ADDRESS(v->DesignatedBridgeID) == STP_BRIDGE_ADDRESS(b->BridgeIdentifier);
}

/* 17.21.25 a: the root path priority vector of the port. */
static struct stp_vector root_path(const struct stp_port *p)
{
	struct stp_vector v = p->portPriority;
	const uint64_t cost = (uint64_t)v.RootPathCost + p->PortPathCost;
	v.RootPathCost = (uint32_t)u64_min(cost, COST_LIMIT);
	v.BridgePortID = p->portId;
	return v;
}

/* 17.21.25 b, c: rootPriority, rootPortId, rootTimes. */
static void choose_root(struct stp *b)
{
	b->rootPort = -1;
	b->rootTimes = b->BridgeTimes;
	b->rootPriority = (struct stp_vector){.RootBridgeID = b->BridgeIdentifier,
	                                      .DesignatedBridgeID = b->BridgeIdentifier};
	FOR_EACH_PORT(b, p) {
		if (p->infoIs != INFO_RECEIVED || of_this_bridge(b, &p->portPriority))
			continue;
		const struct stp_vector v = root_path(p);
		if (vector_compare(&v, &b->rootPriority) >= 0)
			continue;
		b->rootPriority = v;
		b->rootPort = p->number;
		b->rootTimes = p->portTimes;
		b->rootTimes.MessageAge =
			(uint16_t)u32_min(message_age_next(p->portTimes.MessageAge), 0xffff);
	}
}

/* 17.21.25 d, e */
static void set_designated(const struct stp *b, struct stp_port *p)
{
	p->designatedPriority = (struct stp_vector){
		.RootBridgeID = b->rootPriority.RootBridgeID,
		.RootPathCost = b->rootPriority.RootPathCost,
		.DesignatedBridgeID = b->BridgeIdentifier,
		.DesignatedPortID = p->portId,
		.BridgePortID = p->portId,
	};
	p->designatedTimes = b->rootTimes;
	p->designatedTimes.HelloTime = b->BridgeTimes.HelloTime;
}

static void select_role(struct stp_port *p, enum stp_role role, bool updtInfo)
{
	p->selectedRole = role;
	p->updtInfo = updtInfo;
}

/* 17.21.25 f to l */
static void choose_role(const struct stp *b, struct stp_port *p)
{
	const int order = vector_compare_message(&p->designatedPriority, &p->portPriority);
	switch (p->infoIs) {
	case INFO_DISABLED:
		select_role(p, STP_ROLE_DISABLED, false);
		break;
	case INFO_AGED:
		select_role(p, STP_ROLE_DESIGNATED, true);
		break;
	case INFO_MINE:
		select_role(p, STP_ROLE_DESIGNATED,
		            order != 0 || !times_equal(&p->designatedTimes, &p->portTimes));
		break;
	case INFO_RECEIVED:
		if (b->rootPort == p->number)
			select_role(p, STP_ROLE_ROOT, false);
		else if (order < 0)
			select_role(p, STP_ROLE_DESIGNATED, true);
		else if (of_this_bridge(b, &p->portPriority))
			select_role(p, STP_ROLE_BACKUP, false);
		else
			select_role(p, STP_ROLE_ALTERNATE, false);
		break;
	}
}

/* 17.21.25 */
static void updtRolesTree(struct stp *b)
{
	choose_root(b);
	FOR_EACH_PORT(b, p) {
		set_designated(b, p);
		choose_role(b, p);
	}
}

static void role_selection(struct stp *b)
{
	FOR_EACH_PORT(b, p)
		p->reselect = false; /* clearReselectTree, 17.21.2 */
	updtRolesTree(b);
	FOR_EACH_PORT(b, p)
		p->selected = true; /* setSelectedTree, 17.21.16: no port has reselect now */
}

void selection_begin(struct stp *b)
{
	FOR_EACH_PORT(b, p)
		p->selectedRole = STP_ROLE_DISABLED; /* updtRoleDisabledTree, 17.21.24 */
	role_selection(b);
}

bool selection_run(struct stp *b)
{
	bool reselect = false;
	FOR_EACH_PORT(b, p)
		reselect |= p->reselect;
	if (reselect)
		role_selection(b);
	return reselect;
}
