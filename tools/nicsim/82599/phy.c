/*
 * MDIO (8.2.3.22.11), with the frames of IEEE 802.3 clause 45, and a 10GBASE-T PHY on it. Without a PHY reads return
 * the pull-up's ones. With one (struct phy) the registers below answer at its address, and the others read 0.
 *
 * A PHY in low power has no link. A restart of negotiation takes the link, which then comes again at the other end's
 * speed; what the PHY advertises is kept, and does not matter.
 */
#include "tools/nicsim/82599/state.h"

#define AT(device, reg) ((uint32_t)(device) << 16 | (reg))
#define NEGOTIATION_RESTART 0x0200 /* IEEE 802.3, 45.2.7.1; clears itself */
#define LOW_POWER 0x0800           /* LINUX: ixgbe_set_copper_phy_power */

enum { CONTROL, NEGOTIATION };

/* Device and register, value after power-on, bits that can be written. */
static const struct {
	uint32_t at;
	uint16_t value, writable;
} regs[PHY_REGS] = {
	[CONTROL] = {AT(30, 0), 0, 0xffff},          /* vendor: low power */
	[NEGOTIATION] = {AT(7, 0), 0x1000, 0xffff},  /* on */
	{AT(7, 16), 0x0c01, 0xffff},                 /* advertises PAUSE */
	{AT(7, 32), 0x1000, 0xffff},                 /* and 10 Gb/s */
	{AT(7, 0xc400), 0x8c00, 0xffff},             /* LINUX: vendor, 1, 5 and 2.5 Gb/s */
	{AT(1, 2), 0x0154, 0},                       /* identifier: LINUX, X550_PHY_ID2 */
	{AT(1, 3), 0x0223, 0},
	{AT(1, 4), 0x0031, 0},                       /* speeds: 10 Gb/s, 1 Gb/s, 100 Mb/s */
	{AT(1, 5), 0x008a, 0},                       /* devices: PMA, PCS, negotiation, */
	{AT(1, 6), 0x4000, 0},                       /* vendor */
	{AT(1, 8), 0x8000, 0},                       /* a device responds */
	{AT(1, 11), 0x0024, 0},                      /* 10GBASE-T and 1000BASE-T */
};

void phy_make(struct model *m, uint8_t address, bool low_power)
{
	struct phy *p = &own_of(m)->phy;
	*p = (struct phy){.there = true, .address = address};
	for (unsigned i = 0; i < PHY_REGS; i++)
		p->value[i] = regs[i].value;
	if (low_power)
		p->value[CONTROL] |= LOW_POWER;
}

bool phy_low_power(const struct phy *p)
{
	return p->value[CONTROL] & LOW_POWER;
}

static int find(const struct phy *p, uint32_t device)
{
	for (int i = 0; i < PHY_REGS; i++)
		if (regs[i].at == AT(device, p->reg))
			return i;
	return -1;
}

/* X550: the bus is the firmware's, too. */
static void check_semaphore(struct model *m)
{
	if (own_of(m)->variant->x550 && !(get(m, SW_FW_SYNC) & SYNC_SW_PHY0))
		model_violation(m, "MSCA: a command without SW_FW_SYNC.SW_PHY_SM0");
}

bool phy_command(struct model *m, uint32_t msca)
{
	struct phy *p = &own_of(m)->phy;
	const bool ours = p->there && (msca >> 21 & 31) == p->address;
	check_semaphore(m);
	if ((msca >> 26 & 3) == 0) { /* an address cycle */
		p->reg = (uint16_t)msca;
		return false;
	}
	const int i = find(p, msca >> 16 & 31);
	if ((msca >> 26 & 3) != 1) {
		const uint32_t value = !ours ? 0xffff : i < 0 ? 0 : p->value[i];
		set(m, MSRWD, value << 16 | (get(m, MSRWD) & 0xffff));
		return false;
	}
	if (!ours || i < 0)
		return false;
	p->value[i] = (uint16_t)((get(m, MSRWD) & regs[i].writable) | (p->value[i] & ~regs[i].writable));
	const bool restart = p->value[NEGOTIATION] & NEGOTIATION_RESTART;
	p->value[NEGOTIATION] &= (uint16_t)~NEGOTIATION_RESTART;
	return restart;
}
