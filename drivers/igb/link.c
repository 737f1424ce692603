/*
 * The link, as the MAC sees it (4.5.7, 3.5.2): the internal PHY negotiates (phy.c), and the MAC follows it with
 * CTRL.SLU.
 *
 * Deliberately missing: SerDes and SGMII (82576 and I350 boards with SFP cages, blades). They keep what the EEPROM
 * has configured, and the link's state is read like that of a PHY.
 */
#include "drivers/igb/device.h"

/* A link that sleeps between frames delays the first one by microseconds. The speeds at which the PHY offers to
 * sleep change with its next negotiation; the MAC stops using it at once. */
static void never_sleep(struct nic *nic)
{
	if (!igb_device(nic)->chip->fast)
		return;
	intel_clear(nic, IGB_IPCNFG, 0, IGB_IPCNFG_EEE);
	intel_clear(nic, IGB_EEER, 0, IGB_EEER_LPI);
}

int igb_link_start(struct nic *nic)
{
	uint32_t ctrl = intel_read(nic, IGB_CTRL, 0);
	ctrl &= ~(IGB_CTRL_FRCSPD | IGB_CTRL_FRCDPX | IGB_CTRL_RFCE | IGB_CTRL_TFCE);
	intel_write(nic, IGB_CTRL, 0, ctrl | IGB_CTRL_SLU);
	never_sleep(nic);
	if (intel_read(nic, IGB_CTRL_EXT, 0) & IGB_CTRL_EXT_LINK_MODE)
		return E_OK;
	return igb_phy_start(nic);
}

static uint32_t speed_mbps(struct nic *nic, uint32_t status)
{
	static const uint32_t mbps[] = {10, 100, 1000, 1000};
	const uint32_t speed = mbps[status >> IGB_STATUS_SPEED_SHIFT & IGB_STATUS_SPEED_MASK];
	return igb_device(nic)->chip->fast && speed == 1000 && status & IGB_STATUS_2500 ? 2500 : speed;
}

void igb_link(struct nic *nic, struct nic_link *out)
{
	/* Acknowledge before reading: a change in between raises the next interrupt. */
	const uint32_t causes = intel_read(nic, IGB_ICR, 0);
	const uint32_t status = intel_read(nic, IGB_STATUS, 0);
	*out = (struct nic_link){.again_us = igb_device(nic)->intel.link_vector ? 0 : INTEL_LINK_LOOK_US};
	if (status == UINT32_MAX) {
		out->gone = true;
	} else if (status & IGB_STATUS_LU) {
		out->up = true;
		out->mbps = speed_mbps(nic, status);
	}
	igb_device(nic)->intel.no_link = !out->up;
	if (causes & IGB_IMS_FER && !out->gone) { /* frames may be wrong until a reset */
		out->restart = true;
		out->why = "an error in the card's memory (ICR.FER)";
	}
}
