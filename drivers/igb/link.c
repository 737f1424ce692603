/*
 * PHY and link (4.5.7, 3.5.2). The internal PHY negotiates by itself once it has power; the MAC follows it with
 * CTRL.SLU. The driver talks to it in two cases only: it advertises PAUSE (a router that is too slow shall
 * drop packets, not stop its neighbours), or it has not negotiated, as after a driver that left it in low power.
 * A link that is up and has no PAUSE keeps up through a restart.
 *
 * Deliberately missing: SerDes and SGMII (82576 and I350 boards with SFP cages, blades). They keep what the EEPROM
 * has configured, and the link's state is read like that of a PHY.
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
	intel_write(nic, IGB_MDIC, 0, command | IGB_MDIC_PHY | reg << IGB_MDIC_REG_SHIFT | *value);
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

static int negotiate(struct nic *nic)
{
	uint16_t control, status, advertise;
	int e = phy_read(nic, IGB_PHY_CONTROL, &control);
	if (e == E_OK)
		e = phy_read(nic, IGB_PHY_STATUS, &status);
	if (e == E_OK)
		e = phy_read(nic, IGB_PHY_ADVERTISE, &advertise);
	if (e != E_OK)
		return e;
	if (!(advertise & IGB_PHY_ADVERTISE_PAUSE) && status & IGB_PHY_STATUS_DONE &&
	    !(control & IGB_PHY_CONTROL_POWER_DOWN))
		return E_OK;
	e = phy_write(nic, IGB_PHY_ADVERTISE, (uint16_t)(advertise & ~IGB_PHY_ADVERTISE_PAUSE));
	control = (uint16_t)((control & ~IGB_PHY_CONTROL_POWER_DOWN) | IGB_PHY_CONTROL_AUTO | IGB_PHY_CONTROL_RESTART);
	return e == E_OK ? phy_write(nic, IGB_PHY_CONTROL, control) : e;
}

int igb_link_start(struct nic *nic)
{
	uint32_t ctrl = intel_read(nic, IGB_CTRL, 0);
	ctrl &= ~(IGB_CTRL_FRCSPD | IGB_CTRL_FRCDPX | IGB_CTRL_RFCE | IGB_CTRL_TFCE);
	intel_write(nic, IGB_CTRL, 0, ctrl | IGB_CTRL_SLU);
	if (intel_read(nic, IGB_CTRL_EXT, 0) & IGB_CTRL_EXT_LINK_MODE)
		return E_OK;
	const uint32_t lock = phy_lock(nic);
	int e = intel_lock(nic, lock);
	if (e != E_OK)
		return e;
	e = negotiate(nic);
	intel_unlock(nic, lock);
	return e;
}

void igb_link(struct nic *nic, struct nic_link *out)
{
	static const uint32_t mbps[] = {10, 100, 1000, 1000};
	/* Acknowledge before reading: a change in between raises the next interrupt. */
	const uint32_t causes = intel_read(nic, IGB_ICR, 0);
	const uint32_t status = intel_read(nic, IGB_STATUS, 0);
	*out = (struct nic_link){.again_us = igb_device(nic)->intel.link_vector ? 0 : INTEL_LINK_LOOK_US};
	if (status == UINT32_MAX) {
		out->gone = true;
	} else if (status & IGB_STATUS_LU) {
		out->up = true;
		out->mbps = mbps[status >> IGB_STATUS_SPEED_SHIFT & IGB_STATUS_SPEED_MASK];
	}
	if (causes & IGB_IMS_FER && !out->gone) { /* frames may be wrong until a reset */
		out->restart = true;
		out->why = "an error in the card's memory (ICR.FER)";
	}
}
