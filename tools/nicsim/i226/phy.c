/*
 * The PHY (a GPY) behind MDIC, and the link:
 *
 *     DOWN --carrier, power and negotiation--> TRAINING --LINK_NS--> UP
 *     UP, TRAINING --no carrier, restart, power down, reset--> DOWN
 *
 * The MAC follows with CTRL.SLU. The speed is the highest that both ends offer. Registers of clause 45 are reached by
 * registers 13 and 14 (IEEE 802.3, annex 22D). MDIC takes MDIC_NS for a transfer.
 *
 * Rules: a driver that uses MDIC has SW_FW_SYNC.SW_PHY_SM, leaves the reserved address bits 0, and waits for
 * MDIC.READY before the next transfer.
 */
#include "tools/nicsim/i226/state.h"

#define LINK_NS 20000000
#define MDIC_NS 64000

void i226_phy_reset(struct model *m)
{
	struct phy *p = &own_of(m)->phy;
	const uint32_t restarts = p->restarts;
	*p = (struct phy){.lost = true, .restarts = restarts};
	p->reg[PHY_CONTROL] = CONTROL_AUTO | 0x0140;
	p->reg[PHY_STATUS] = 0x7949; /* speeds, extended status, MF preamble, negotiation */
	p->reg[PHY_ID1] = 0x67c9;
	p->reg[PHY_ID2] = 0xdc00;
	p->reg[PHY_ADVERTISE] = 0x0de1; /* 10, 100, PAUSE */
	p->reg[PHY_1000_CONTROL] = ADVERTISE_1000;
	p->reg[PHY_EXTENDED] = 0x2000; /* 1000BASE-T */
	p->reg[PHY_VERSION] = 0x8747;
	p->device[MMD_AN][AN_MULTI] = MULTI_2500;
	nic_of(m)->link_due = NEVER;
	i226_link_update(m);
}

static bool offers(const struct model *m, unsigned mbps)
{
	const struct phy *p = &own_of(m)->phy;
	switch (mbps) {
	case 2500:
		return p->device[MMD_AN][AN_MULTI] & MULTI_2500;
	case 1000:
		return p->reg[PHY_1000_CONTROL] & ADVERTISE_1000;
	case 100:
		return p->reg[PHY_ADVERTISE] & ADVERTISE_100;
	}
	return p->reg[PHY_ADVERTISE] & ADVERTISE_10;
}

/* The other end offers its speed and all below; 0: none in common. */
static unsigned common(const struct model *m)
{
	static const unsigned speeds[] = {2500, 1000, 100, 10};
	for (unsigned i = 0; i < sizeof speeds / sizeof speeds[0]; i++)
		if (speeds[i] <= own_of(m)->partner_mbps && offers(m, speeds[i]))
			return speeds[i];
	return 0;
}

unsigned i226_mbps(const struct model *m)
{
	return common(m);
}

static bool can_link(const struct model *m)
{
	const struct phy *p = &own_of(m)->phy;
	if (model_fault(m, FAULT_LINK_LATE) && p->restarts < m->fault_arg[FAULT_LINK_LATE])
		return false;
	return m->carrier && !(p->reg[PHY_CONTROL] & CONTROL_POWER_DOWN) && common(m);
}

static void mac_follows(struct model *m)
{
	struct nic *n = nic_of(m);
	const bool up = own_of(m)->phy.up && get(m, CTRL) & CTRL_SLU;
	if (n->link == up)
		return;
	n->link = up;
	n->mode_call = 0;
	i226_intr_other(m, ICR_LSC);
}

static void phy_set(struct model *m, bool up)
{
	struct phy *p = &own_of(m)->phy;
	p->up = up;
	p->lost |= !up;
	mac_follows(m);
}

void i226_link_update(struct model *m)
{
	struct nic *n = nic_of(m);
	if (!can_link(m)) {
		n->link_due = NEVER;
		phy_set(m, false);
	} else if (!own_of(m)->phy.up && n->link_due == NEVER) {
		n->link_due = m->now + LINK_NS;
	}
	mac_follows(m);
}

static void restart(struct model *m)
{
	own_of(m)->phy.restarts++;
	nic_of(m)->link_due = NEVER;
	phy_set(m, false);
	i226_link_update(m);
}

/* --- registers --- */

static uint16_t status(struct model *m)
{
	struct phy *p = &own_of(m)->phy;
	uint16_t value = p->reg[PHY_STATUS];
	if (p->up)
		value |= STATUS_DONE;
	if (p->up && !p->lost) /* the first read after a loss still shows it */
		value |= STATUS_LINK;
	p->lost = !p->up;
	return value;
}

static uint16_t *mmd_register(struct model *m)
{
	struct phy *p = &own_of(m)->phy;
	const unsigned device = p->reg[PHY_MMD_CONTROL] % PHY_DEVICES;
	if ((p->reg[PHY_MMD_CONTROL] & MMD_FUNCTION) == 0)
		return &p->mmd_address;
	return p->mmd_address < PHY_DEVICE_REGS ? &p->device[device][p->mmd_address] : NULL;
}

static uint16_t phy_read(struct model *m, unsigned reg)
{
	const struct phy *p = &own_of(m)->phy;
	const uint16_t *mmd;
	switch (reg) {
	case PHY_STATUS:
		return status(m);
	case PHY_PARTNER: /* all speeds, no PAUSE; it has acknowledged */
		return p->up ? 0x41e1 : 0;
	case PHY_1000_STATUS: /* both receivers good; the partner has 1000BASE-T */
		return p->up && own_of(m)->partner_mbps >= 1000 ? 0x3800 : 0;
	case PHY_MMD_DATA:
		mmd = mmd_register(m);
		if (mmd == &p->device[MMD_AN][AN_MULTI_STATUS])
			return p->up && own_of(m)->partner_mbps >= 2500 ? MULTI_PARTNER_2500 : 0;
		return mmd ? *mmd : 0;
	}
	return p->reg[reg];
}

static void control_write(struct model *m, uint16_t value)
{
	struct phy *p = &own_of(m)->phy;
	if (value & CONTROL_RESET) {
		i226_phy_reset(m);
		return;
	}
	p->reg[PHY_CONTROL] = value & (uint16_t)~CONTROL_RESTART;
	if (value & CONTROL_RESTART)
		restart(m);
	else
		i226_link_update(m);
}

static void phy_write(struct model *m, unsigned reg, uint16_t value)
{
	struct phy *p = &own_of(m)->phy;
	uint16_t *mmd;
	switch (reg) {
	case PHY_CONTROL:
		control_write(m, value);
		return;
	case PHY_STATUS:
	case PHY_ID1:
	case PHY_ID2:
	case PHY_PARTNER:
	case PHY_1000_STATUS:
	case PHY_EXTENDED:
	case PHY_VERSION:
		model_violation(m, "register %u of the PHY, read-only, written", reg);
		return;
	case PHY_MMD_DATA:
		mmd = mmd_register(m);
		if (mmd)
			*mmd = value;
		return;
	}
	p->reg[reg] = value; /* what is advertised counts from the next negotiation */
}

void i226_mdic_write(struct model *m, uint32_t value)
{
	struct i226 *n = own_of(m);
	const unsigned reg = value >> MDIC_REG_SHIFT & 31;
	if (n->mdic_done != NEVER) {
		model_violation(m, "MDIC = 0x%08x before MDIC.READY of the transfer before", value);
		return;
	}
	if (!(get(m, SW_FW_SYNC) & SYNC_PHY))
		model_violation(m, "MDIC = 0x%08x without SW_FW_SYNC.SW_PHY_SM", value);
	if (value & MDIC_PHY)
		model_violation(m, "MDIC = 0x%08x: bits 25:21 are reserved", value);
	n->mdic = value | MDIC_READY;
	if (value & MDIC_READ)
		n->mdic = (n->mdic & ~0xffffu) | phy_read(m, reg);
	else if (value & MDIC_WRITE)
		phy_write(m, reg, (uint16_t)value);
	set(m, MDIC, value & ~(uint32_t)MDIC_READY);
	n->mdic_done = m->now + MDIC_NS;
}

void i226_phy_work(struct model *m)
{
	struct i226 *n = own_of(m);
	if (n->mdic_done <= m->now && !model_fault(m, FAULT_PHY_STUCK)) {
		n->mdic_done = NEVER;
		set(m, MDIC, n->mdic);
	}
	if (n->nic.link_due <= m->now) {
		n->nic.link_due = NEVER;
		phy_set(m, true);
	}
}

void i226_set_partner(struct model *m, unsigned mbps)
{
	own_of(m)->partner_mbps = mbps;
	restart(m);
}

uint16_t *i226_phy(struct model *m, unsigned device, unsigned reg)
{
	struct phy *p = &own_of(m)->phy;
	return device ? &p->device[device % PHY_DEVICES][reg % PHY_DEVICE_REGS] : &p->reg[reg % PHY_REGS];
}
