/*
 * Link (4.6.4). X540's firmware brings its link up alone. For an SFP+ cage or a backplane the driver resets the
 * link's pipeline with the AUTOC that is to be used; before that, in a cage, it has to identify the module, to play
 * the EEPROM's init sequence for that kind (module.c), and to switch its laser on.
 *
 * Links of an 82599 do not always come up at the first attempt, and a module may come after the start. So all
 * of it is repeated every RETRY_US while the link is down. A port that is started again while its link is up keeps
 * that link. Nothing waits: ixgbe_link takes one step and says when it wants to be called again.
 *
 *   DOWN --until--> [ASKING the module, a byte on the wires at a time: laser, rate] --> SETTLING
 *   SETTLING --until: sequence, AUTOC inverted--> SWITCHING
 *   SWITCHING --ANLP1, or until: AUTOC--> TRAINING --LINKS.UP--> UP
 *   TRAINING --until--> as from DOWN
 *   UP --not LINKS.UP--> TRAINING
 *
 * From ASKING to the end of SWITCHING we hold the semaphores of the PHY and of the MAC's registers, which the
 * firmware respects: it also monitors modules and AUTOC. Source for pipeline, laser and rate selection:
 * Intel's own drivers (Linux, ixgbe_82599.c), which also ignore that ANLP1 does not change.
 *
 * A module with two speeds is tried at 10 Gb/s twice, then once at 1 Gb/s: of two such ports that try in turn, any
 * phase between them leaves a time in which both try 10 Gb/s.
 */
#include "drivers/ixgbe/device.h"

#define RETRY_US 2000000
#define SETTLE_US 40000   /* a module changes its speed */
#define PIPELINE_US 60000
#define LOOK_US 5000      /* between looks at what ends soon */
#define ASK_US 1          /* in the next turn of the control core */
#define REFUSED_US 1000000 /* 10.5.4: no holder keeps a semaphore longer */
#define TURNS 3           /* attempts until the speeds of a module begin again; the last is the slow one */

enum step { DOWN, ASKING, SETTLING, SWITCHING, TRAINING, UP };

/* An attempt is under way: we hold the semaphores, and the link's state means nothing. */
static bool busy(const struct ixgbe_link *l)
{
	return l->step == ASKING || l->step == SETTLING || l->step == SWITCHING;
}

static uint32_t semaphores(struct nic *nic)
{
	return IXGBE_SW_FW_SYNC_MAC_CSR | ixgbe_phy_semaphore(nic);
}

static void enter(struct nic *nic, enum step step, uint32_t us)
{
	struct ixgbe_link *l = &ixgbe_device(nic)->link;
	l->step = step;
	l->until = nic_deadline(nic, us);
}

/* The other port of the chip may hold them, and only this core can let it go on: so this does not wait. */
static bool take_semaphores(struct nic *nic, const char **why)
{
	struct ixgbe_link *l = &ixgbe_device(nic)->link;
	if (l->refused == 0)
		l->refused = nic_deadline(nic, REFUSED_US);
	int e = intel_lock_now(nic, semaphores(nic), nic_past(l->refused));
	if (e == E_AGAIN)
		return false;
	l->refused = 0;
	if (e != E_OK) {
		*why = nic->error;
		enter(nic, TRAINING, RETRY_US);
	}
	return e == E_OK;
}

/* Speed, laser and sequence: all that the module needs before AUTOC. Returns what was done without, or NULL. */
static const char *set_up_module(struct nic *nic)
{
	struct ixgbe_link *l = &ixgbe_device(nic)->link;
	if (!l->module.present)
		return "no module answers in the cage";
	if (l->module.sequence == 0)
		return "a module of unknown type is used as one of 10 Gb/s";
	return ixgbe_module_init(nic, &l->module) == E_OK ? NULL : nic->error;
}

/* A module with two speeds is told which by SDP5 (X520 boards). Its laser is off meanwhile, so that the other end
 * begins anew, too. */
static uint32_t select_rate(struct nic *nic, bool slow)
{
	uint32_t pins = intel_read(nic, IXGBE_ESDP, 0);
	const uint32_t rate = slow ? 0 : IXGBE_ESDP_SDP5;
	if (pins & IXGBE_ESDP_SDP5_OUT && (pins & IXGBE_ESDP_SDP5) == rate)
		return 0;
	pins = (pins & ~IXGBE_ESDP_SDP5) | rate | IXGBE_ESDP_SDP5_OUT | IXGBE_ESDP_SDP3;
	intel_write(nic, IXGBE_ESDP, 0, pins);
	return SETTLE_US;
}

static void settle(struct nic *nic, uint32_t us)
{
	struct ixgbe_link *l = &ixgbe_device(nic)->link;
	l->attempts = l->attempts % TURNS + 1;
	enter(nic, SETTLING, us);
}

static void attempt(struct nic *nic, const char **why)
{
	struct ixgbe_device *d = ixgbe_device(nic);
	if (!take_semaphores(nic, why))
		return;
	d->link.autoc = d->autoc;
	d->link.module = (struct ixgbe_module){.ten = true};
	if (d->media == IXGBE_SFP)
		enter(nic, ASKING, 0);
	else
		settle(nic, 0);
}

static void ask(struct nic *nic)
{
	struct ixgbe_link *l = &ixgbe_device(nic)->link;
	if (!ixgbe_module_ask(nic, &l->module))
		return;
	const bool both = l->module.ten && l->module.one;
	const bool slow = !l->module.ten || (both && l->attempts == TURNS - 1);
	l->autoc &= ~IXGBE_AUTOC_LMS_MASK;
	l->autoc |= slow ? IXGBE_AUTOC_LMS_1G_AN : IXGBE_AUTOC_LMS_10G_SERIAL;
	settle(nic, both ? select_rate(nic, slow) : 0);
}

/* 4.6.3.2: flow control is off (init.c), so the other end shall not expect it. */
static void advertise_no_pause(struct nic *nic)
{
	struct ixgbe_device *d = ixgbe_device(nic);
	if (d->media == IXGBE_BACKPLANE)
		d->link.autoc &= ~IXGBE_AUTOC_PAUSE;
	intel_clear(nic, IXGBE_PCS1GANA, 0, IXGBE_PCS1GANA_PAUSE);
}

/*
 * Puts AUTOC into effect. ERRATUM: a restart alone does not reset the link's pipeline. It takes a
 * restart with LMS bit 2 inverted, until auto-negotiation leaves its first state. Source: Intel's
 * own drivers, which also enable a link that the EEPROM disables (AUTOC2).
 */
static void switch_pipeline(struct nic *nic, const char **why)
{
	struct ixgbe_device *d = ixgbe_device(nic);
	if (d->media == IXGBE_SFP) {
		*why = set_up_module(nic);
		intel_clear(nic, IXGBE_ESDP, 0, IXGBE_ESDP_SDP3);
	}
	advertise_no_pause(nic);
	if (intel_read(nic, IXGBE_AUTOC2, 0) & IXGBE_AUTOC2_LINK_DISABLE)
		intel_clear(nic, IXGBE_AUTOC2, 0, IXGBE_AUTOC2_LINK_DISABLE);
	d->link.autoc |= IXGBE_AUTOC_RESTART_AN;
	intel_write(nic, IXGBE_AUTOC, 0, d->link.autoc ^ IXGBE_AUTOC_LMS_BIT2);
	enter(nic, SWITCHING, PIPELINE_US);
}

static void end_switching(struct nic *nic, const char **why)
{
	struct ixgbe_link *l = &ixgbe_device(nic)->link;
	if (!(intel_read(nic, IXGBE_ANLP1, 0) & IXGBE_ANLP1_STATE)) {
		if (!nic_past(l->until))
			return;
		*why = "the link's pipeline does not restart (ANLP1)";
	}
	intel_write(nic, IXGBE_AUTOC, 0, l->autoc);
	intel_unlock(nic, semaphores(nic));
	enter(nic, TRAINING, RETRY_US);
}

/* One step. Returns what has failed in it, or NULL. */
static const char *turn(struct nic *nic, bool up)
{
	struct ixgbe_link *l = &ixgbe_device(nic)->link;
	const char *why = NULL;
	switch ((enum step)l->step) {
	case ASKING:
		ask(nic);
		break;
	case SETTLING:
		if (nic_past(l->until))
			switch_pipeline(nic, &why);
		break;
	case SWITCHING:
		end_switching(nic, &why);
		break;
	case UP:
		if (!up)
			enter(nic, TRAINING, RETRY_US);
		break;
	case DOWN:
	case TRAINING:
		if (up && l->attempts) { /* not as the system before us left it */
			enter(nic, UP, 0);
			l->told = NULL;
		} else if (nic_past(l->until)) {
			attempt(nic, &why);
		}
		break;
	}
	nic->error = NULL; /* it is in `why` */
	return why;
}

void ixgbe_link_start(struct nic *nic)
{
	struct ixgbe_link *l = &ixgbe_device(nic)->link;
	*l = (struct ixgbe_link){.attempts = l->attempts, .told = l->told};
	enter(nic, DOWN, 0);
}

void ixgbe_link_stop(struct nic *nic)
{
	struct ixgbe_link *l = &ixgbe_device(nic)->link;
	if (busy(l))
		intel_unlock(nic, semaphores(nic));
	l->step = DOWN;
}

static uint32_t again(const struct ixgbe_link *l)
{
	return l->step == UP ? 0 : l->step == ASKING ? ASK_US : l->refused || busy(l) ? LOOK_US : RETRY_US;
}

/* Crosstalk in an empty cage may set LINKS.UP. Source: DPDK, ixgbe_check_mac_link_generic. */
static bool cage_is_full(struct nic *nic)
{
	return !ixgbe_device(nic)->ask_cage || intel_read(nic, IXGBE_ESDP, 0) & IXGBE_ESDP_SDP2;
}

static uint32_t speed(const struct ixgbe_chip *chip, uint32_t links)
{
	static const uint32_t mbps[2][4] = {{0, 100, 1000, 10000}, {0, 5000, 1000, 2500}};
	const bool nbase_t = chip->nbase_t && links & IXGBE_LINKS_NBASE_T;
	return mbps[nbase_t][links >> IXGBE_LINKS_SPEED_SHIFT & IXGBE_LINKS_SPEED_MASK];
}

/* LINKS, read so that it has the present state. */
static uint32_t read_links(struct nic *nic)
{
	(void)intel_read(nic, IXGBE_LINKS, 0); /* the first read may return a past state */
	return intel_read(nic, IXGBE_LINKS, 0);
}

uint32_t ixgbe_link_mbps(struct nic *nic)
{
	const struct ixgbe_device *d = ixgbe_device(nic);
	const uint32_t links = read_links(nic);
	const bool up = links != UINT32_MAX && links & IXGBE_LINKS_UP && cage_is_full(nic) &&
	                (d->media == IXGBE_COPPER || d->link.step == UP);
	return up ? speed(d->chip, links) : 0;
}

void ixgbe_link(struct nic *nic, struct nic_link *out)
{
	struct ixgbe_device *d = ixgbe_device(nic);
	/* Acknowledge before reading: a change in between raises the next interrupt. */
	const uint32_t causes = intel_read(nic, IXGBE_EICR, 0);
	intel_write(nic, IXGBE_EICR, 0, IXGBE_EICR_WATCHED);
	intel_write(nic, IXGBE_EIMS, 0, IXGBE_EICR_WATCHED);
	const uint32_t links = read_links(nic);
	*out = (struct nic_link){0};
	if (links == UINT32_MAX && intel_gone(nic)) {
		out->gone = true;
		return;
	}
	bool up = links & IXGBE_LINKS_UP && cage_is_full(nic);
	if (d->media != IXGBE_COPPER) {
		const char *why = turn(nic, up);
		out->why = why != d->link.told ? why : NULL;
		d->link.told = why ? why : d->link.told;
		out->again_us = again(&d->link);
		up = d->link.step == UP; /* else an attempt has changed the link, or is about to */
	}
	if (causes & IXGBE_EICR_ECC) { /* frames may be wrong until a reset; Linux resets the card, too */
		out->restart = true;
		out->why = "an error in the card's memory (EICR.ECC)";
	}
	if (d->rx_forced && !out->why) { /* else the next time */
		d->rx_forced = false;
		out->why = "the receive path was started before it came to rest (SECRXSTAT)";
	}
	if (!d->intel.link_vector)
		out->again_us = out->again_us ? out->again_us : INTEL_LINK_LOOK_US;
	d->intel.no_link = !up;
	if (up) {
		out->up = true;
		out->mbps = speed(d->chip, links);
	}
}
