/*
 * Port Role Transitions (IEEE 802.1D-2004 17.29): from the selected role to the state of the port, by
 * proposal and agreement, synchronisation, and timers.
 *
 * Every transition but an unconditional one needs selected && !updtInfo. From any state, if role !=
 * selectedRole:
 *
 *   selectedRole                 next
 *   DisabledPort                 DISABLE_PORT
 *   RootPort                     ROOT_PORT
 *   DesignatedPort               DESIGNATED_PORT
 *   AlternatePort, BackupPort    BLOCK_PORT
 *
 * BEGIN leads to INIT_PORT, which goes on to DISABLE_PORT. The other transitions are in the functions of
 * the same names below, one row each. A row's block returns to the state it comes from.
 */
#include "net/stp/inside.h"

/* --- conditions --- */

/* 17.20.3, as 802.1Q-2022 has it for a Root, Alternate or Backup Port */
static bool allSynced(const struct stp *b)
{
	FOR_EACH_CONST_PORT(b, q) {
		if (!q->selected || q->role != q->selectedRole || q->updtInfo)
			return false;
		if (q->role != STP_ROLE_ROOT && !q->synced)
			return false;
	}
	return true;
}

/* 17.20.10 */
static bool reRooted(const struct stp *b, const struct stp_port *p)
{
	FOR_EACH_CONST_PORT(b, q)
		if (q != p && q->rrWhile != 0)
			return false;
	return true;
}

/* --- procedures --- */

/* 17.21.14 */
static void setSyncTree(struct stp *b)
{
	FOR_EACH_PORT(b, q)
		q->sync = true;
}

/* 17.21.15 */
static void setReRootTree(struct stp *b)
{
	FOR_EACH_PORT(b, q)
		q->reRoot = true;
}

/* --- Disabled Port (17.29.1) --- */

static void prt_disable_port(struct stp_port *p)
{
	p->roleState = PRT_DISABLE_PORT;
	p->role = p->selectedRole;
	p->learn = p->forward = false;
}

static void prt_disabled_port(struct stp_port *p)
{
	p->roleState = PRT_DISABLED_PORT;
	p->fdWhile = MaxAge(p);
	p->synced = true;
	p->rrWhile = 0;
	p->sync = p->reRoot = false;
}

/* INIT_PORT */
void roles_begin(struct stp_port *p)
{
	p->role = STP_ROLE_DISABLED;
	p->learn = p->forward = false;
	p->synced = false;
	p->sync = p->reRoot = true;
	p->rrWhile = FwdDelay(p);
	p->fdWhile = MaxAge(p);
	p->rbWhile = 0;
	prt_disable_port(p);
}

static bool disable_port(struct stp_port *p)
{
	if (p->learning || p->forwarding)
		return false;
	prt_disabled_port(p);
	return true;
}

static bool disabled_port(struct stp_port *p)
{
	if (p->fdWhile == MaxAge(p) && !p->sync && !p->reRoot && p->synced)
		return false;
	prt_disabled_port(p);
	return true;
}

/* --- Root Port (17.29.2) --- */

static void prt_root_port(struct stp_port *p)
{
	p->roleState = PRT_ROOT_PORT;
	p->role = STP_ROLE_ROOT;
	p->rrWhile = FwdDelay(p);
}

static void prt_root_agreed(struct stp_port *p)
{
	p->proposed = p->sync = false;
	p->agree = true;
	p->newInfo = true;
}

static void prt_root_proposed(struct stp *b, struct stp_port *p)
{
	setSyncTree(b);
	p->proposed = false;
}

static void prt_root_learn(struct stp_port *p)
{
	p->fdWhile = forwardDelay(p);
	p->learn = true;
}

static void prt_root_forward(struct stp_port *p)
{
	p->fdWhile = 0;
	p->forward = true;
}

static bool root_port(struct stp *b, struct stp_port *p)
{
	const bool ready = p->fdWhile == 0 ||
	                   (reRooted(b, p) && p->rbWhile == 0 && rstpVersion(b));
	if (p->proposed && !p->agree)
		prt_root_proposed(b, p);
	else if ((!p->agree && allSynced(b)) || (p->proposed && p->agree))
		prt_root_agreed(p);
	else if (!p->forward && !p->reRoot)
		setReRootTree(b); /* REROOT */
	else if (ready && !p->learn)
		prt_root_learn(p);
	else if (ready && p->learn && !p->forward)
		prt_root_forward(p);
	else if (p->reRoot && p->forward)
		p->reRoot = false; /* REROOTED */
	else if (p->rrWhile != FwdDelay(p))
		prt_root_port(p);
	else
		return false;
	return true;
}

/* --- Designated Port (17.29.3) --- */

static void prt_designated_port(struct stp_port *p)
{
	p->roleState = PRT_DESIGNATED_PORT;
	p->role = STP_ROLE_DESIGNATED;
}

static void prt_designated_propose(struct stp_port *p)
{
	p->proposing = true;
	p->edgeDelayWhile = EdgeDelay(p);
	p->newInfo = true;
}

static void prt_designated_synced(struct stp_port *p)
{
	p->rrWhile = 0;
	p->synced = true;
	p->sync = false;
}

static void prt_designated_learn(struct stp_port *p)
{
	p->learn = true;
	p->fdWhile = forwardDelay(p);
}

static void prt_designated_forward(struct stp_port *p)
{
	p->forward = true;
	p->fdWhile = 0;
	p->agreed = p->sendRSTP;
}

static void prt_designated_discard(struct stp_port *p)
{
	p->learn = p->forward = p->disputed = false;
	p->fdWhile = forwardDelay(p);
}

static bool must_discard(const struct stp_port *p)
{
	const bool looped = p->loopedWhile != 0; /* beyond the standard: stp.h */
	return (looped || (((p->sync && !p->synced) || (p->reRoot && p->rrWhile != 0) ||
	                    p->disputed) && !p->operEdge)) && (p->learn || p->forward);
}

static bool may_advance(const struct stp_port *p)
{
	return (p->fdWhile == 0 || p->agreed || p->operEdge) && (p->rrWhile == 0 || !p->reRoot) &&
	       !p->sync && p->loopedWhile == 0;
}

static bool needs_synced(const struct stp_port *p)
{
	return (!p->learning && !p->forwarding && !p->synced) || (p->agreed && !p->synced) ||
	       (p->operEdge && !p->synced) || (p->sync && p->synced);
}

static bool designated_port(struct stp_port *p)
{
	if (!p->forward && !p->agreed && !p->proposing && !p->operEdge)
		prt_designated_propose(p);
	else if (needs_synced(p))
		prt_designated_synced(p);
	else if (p->rrWhile == 0 && p->reRoot)
		p->reRoot = false; /* DESIGNATED_RETIRED */
	else if (must_discard(p))
		prt_designated_discard(p);
	else if (may_advance(p) && !p->learn)
		prt_designated_learn(p);
	else if (may_advance(p) && p->learn && !p->forward)
		prt_designated_forward(p);
	else
		return false;
	return true;
}

/* --- Alternate and Backup Port (17.29.4) --- */

static void prt_block_port(struct stp_port *p)
{
	p->roleState = PRT_BLOCK_PORT;
	p->role = p->selectedRole;
	p->learn = p->forward = false;
}

static void prt_alternate_port(struct stp_port *p)
{
	p->roleState = PRT_ALTERNATE_PORT;
	p->fdWhile = forwardDelay(p);
	p->synced = true;
	p->rrWhile = 0;
	p->sync = p->reRoot = false;
}

static void prt_alternate_proposed(struct stp *b, struct stp_port *p)
{
	setSyncTree(b);
	p->proposed = false;
}

static void prt_alternate_agreed(struct stp_port *p)
{
	p->proposed = false;
	p->agree = true;
	p->newInfo = true;
}

static bool block_port(struct stp_port *p)
{
	if (p->learning || p->forwarding)
		return false;
	prt_alternate_port(p);
	return true;
}

static bool alternate_port(struct stp *b, struct stp_port *p)
{
	if (p->proposed && !p->agree)
		prt_alternate_proposed(b, p);
	else if ((!p->agree && allSynced(b)) || (p->proposed && p->agree))
		prt_alternate_agreed(p);
	else if (p->fdWhile != forwardDelay(p) || p->sync || p->reRoot || !p->synced)
		prt_alternate_port(p);
	else if (p->role == STP_ROLE_BACKUP && p->rbWhile != 2u * HelloTime(p))
		p->rbWhile = (uint16_t)(2u * HelloTime(p)); /* BACKUP_PORT */
	else
		return false;
	return true;
}

/* --- the machine --- */

static void enter_selected_role(struct stp_port *p)
{
	switch (p->selectedRole) {
	case STP_ROLE_DISABLED:
		prt_disable_port(p);
		break;
	case STP_ROLE_ROOT:
		prt_root_port(p);
		break;
	case STP_ROLE_DESIGNATED:
		prt_designated_port(p);
		break;
	case STP_ROLE_ALTERNATE:
	case STP_ROLE_BACKUP:
		prt_block_port(p);
		break;
	}
}

static bool roles_step(struct stp *b, struct stp_port *p)
{
	if (!p->selected || p->updtInfo)
		return false;
	if (p->role != p->selectedRole) {
		enter_selected_role(p);
		return true;
	}
	switch (p->roleState) {
	case PRT_DISABLE_PORT:
		return disable_port(p);
	case PRT_DISABLED_PORT:
		return disabled_port(p);
	case PRT_ROOT_PORT:
		return root_port(b, p);
	case PRT_DESIGNATED_PORT:
		return designated_port(p);
	case PRT_BLOCK_PORT:
		return block_port(p);
	default:
		return alternate_port(b, p);
	}
}

bool roles_run(struct stp *b, struct stp_port *p)
{
	bool moved = false;
	while (roles_step(b, p))
		moved = true;
	return moved;
}
