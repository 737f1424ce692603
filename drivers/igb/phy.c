/*
 * The PHY (4.5.7), by MDIC. It negotiates by itself once it has power. The driver talks to it in these cases only:
 * it advertises PAUSE (a router that is too slow shall drop packets, not stop its neighbours), it does not
 * advertise 2.5 Gb/s though it can (I225), or it has not negotiated, as after a driver that left it in low power.
 * A link that is up and has none of these keeps up through a restart.
 *
 * The PHYs differ in their address in MDIC, and in what is beyond 1 Gb/s: that of the I225 has it in a register of
 * clause 45, which it reaches through two of clause 22.
 */
#include "drivers/igb/device.h"

#define MDIC_US 10000 /* a transfer takes 64 us */

static uint32_t phy_lock(struct nic *nic)
{
	static const uint32_t locks[] = {INTEL_SYNC_PHY0, INTEL_SYNC_PHY1, IGB_SYNC_PHY2, IGB_SYNC_PHY3};
	return locks[intel_read(nic, IGB_STATUS, 0) >> IGB_STATUS_LAN_ID_SHIFT & IGB_STATUS_LAN_ID_MASK];
}

/* 8.2.4 */
static int transfer(struct nic *nic, uint32_t command, unsigned reg, uint16_t *value)
{
	intel_write(nic, IGB_MDIC, 0, command | igb_device(nic)->chip->mdic_phy | reg << IGB_MDIC_REG_SHIFT | *value);
	int e = intel_poll(nic, IGB_MDIC, 0, IGB_MDIC_READY, INTEL_UNTIL_SET, MDIC_US,
	                   "the PHY does not answer (MDIC.R)");
	if (e == E_OK && intel_device(nic)->polled & IGB_MDIC_ERROR)
		e = intel_fail(nic, E_DEVICE, "the PHY reports an error (MDIC.E)");
	*value = (uint16_t)intel_device(nic)->polled;
	return e;
}

static int phy_read(struct nic *nic, unsigned reg, uint16_t *value)
{
	*value = 0;
	return transfer(nic, IGB_MDIC_READ, reg, value);
}

static int phy_write(struct nic *nic, unsigned reg, uint16_t value)
{
	return transfer(nic, IGB_MDIC_WRITE, reg, &value);
}

/* IEEE 802.3, annex 22D: selects register `reg` of device `device`; PHY_MMD_DATA then is that register. */
static int mmd_select(struct nic *nic, unsigned device, unsigned reg)
{
	int e = phy_write(nic, IGB_PHY_MMD_CONTROL, (uint16_t)device);
	if (e == E_OK)
		e = phy_write(nic, IGB_PHY_MMD_DATA, (uint16_t)reg);
	return e == E_OK ? phy_write(nic, IGB_PHY_MMD_CONTROL, (uint16_t)(device | IGB_PHY_MMD_IS_DATA)) : e;
}

/* Advertises 2.5 Gb/s; *changed becomes true if the PHY did not. */
static int advertise_fast(struct nic *nic, bool *changed)
{
	uint16_t multi;
	int e = mmd_select(nic, IGB_PHY_AN, IGB_PHY_AN_MULTI);
	if (e == E_OK)
		e = phy_read(nic, IGB_PHY_MMD_DATA, &multi);
	if (e == E_OK && !(multi & IGB_PHY_AN_MULTI_2500)) {
		*changed = true;
		e = phy_write(nic, IGB_PHY_MMD_DATA, (uint16_t)(multi | IGB_PHY_AN_MULTI_2500));
	}
	return e == E_OK ? phy_write(nic, IGB_PHY_MMD_CONTROL, 0) : e;
}

static int negotiate(struct nic *nic)
{
	uint16_t control, status, advertise;
	bool changed = false;
	int e = phy_read(nic, IGB_PHY_CONTROL, &control);
	if (e == E_OK)
		e = phy_read(nic, IGB_PHY_STATUS, &status);
	if (e == E_OK)
		e = phy_read(nic, IGB_PHY_ADVERTISE, &advertise);
	if (e == E_OK && igb_device(nic)->chip->fast)
		e = advertise_fast(nic, &changed);
	if (e != E_OK)
		return e;
	if (!changed && !(advertise & IGB_PHY_ADVERTISE_PAUSE) && status & IGB_PHY_STATUS_DONE &&
	    !(control & IGB_PHY_CONTROL_POWER_DOWN))
		return E_OK;
	e = phy_write(nic, IGB_PHY_ADVERTISE, (uint16_t)(advertise & ~IGB_PHY_ADVERTISE_PAUSE));
	control = (uint16_t)((control & ~IGB_PHY_CONTROL_POWER_DOWN) | IGB_PHY_CONTROL_AUTO | IGB_PHY_CONTROL_RESTART);
	return e == E_OK ? phy_write(nic, IGB_PHY_CONTROL, control) : e;
}

int igb_phy_start(struct nic *nic)
{
	const uint32_t lock = phy_lock(nic);
	int e = intel_lock(nic, lock);
	if (e != E_OK)
		return e;
	e = negotiate(nic);
	intel_unlock(nic, lock);
	return e;
}
