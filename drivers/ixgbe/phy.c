/*
 * The PHY of X540 and X550, over MDIO with the frames of IEEE 802.3 clause 45. Its firmware negotiates and brings the
 * link up by itself. The driver does two things. Other systems (Linux, DPDK) put the PHY into low power when they let
 * a port go, and after a warm reboot it is still there. And the PHY advertises PAUSE, which is off (init.c).
 */
#include "drivers/ixgbe/device.h"

#define MDIO_US 10000
#define PHYS 32
#define PMA 1               /* clause 45, 45.2.1: device 1 */
#define PMA_STATUS2 8
#define STATUS2_PRESENT 0x8000u /* of the two bits that say so: a device responds at this address */
#define STATUS2_PRESENT_MASK 0xc000u
#define NEGOTIATION 7       /* 45.2.7 */
#define NEGOTIATION_CONTROL 0
#define CONTROL_RESTART 0x0200u
#define NEGOTIATION_ADVERTISED 16
#define ADVERTISED_PAUSE 0x0c00u /* symmetric, asymmetric (28B.2) */
#define VENDOR1 30
#define VENDOR1_CONTROL 0
#define CONTROL_LOW_POWER 0x0800u /* source: Intel's own drivers (Linux, ixgbe_set_copper_phy_power) */

static int command(struct nic *nic, uint32_t what)
{
	intel_write(nic, IXGBE_MSCA, 0, what | IXGBE_MSCA_COMMAND);
	return intel_poll(nic, IXGBE_MSCA, 0, IXGBE_MSCA_COMMAND, INTEL_UNTIL_CLEAR, MDIO_US,
	                  "the PHY's management bus does not answer (MSCA)");
}

static int transfer(struct nic *nic, uint32_t operation, unsigned phy, unsigned device, uint16_t reg)
{
	const uint32_t where = phy << IXGBE_MSCA_PHY_SHIFT | device << IXGBE_MSCA_DEVICE_SHIFT | reg;
	int e = command(nic, where | IXGBE_MSCA_ADDRESS);
	return e == E_OK ? command(nic, where | operation) : e;
}

static int phy_read(struct nic *nic, unsigned phy, unsigned device, uint16_t reg, uint16_t *value)
{
	int e = transfer(nic, IXGBE_MSCA_READ, phy, device, reg);
	*value = e == E_OK ? (uint16_t)(intel_read(nic, IXGBE_MSRWD, 0) >> IXGBE_MSRWD_READ_SHIFT) : 0;
	return e;
}

static int phy_write(struct nic *nic, unsigned phy, unsigned device, uint16_t reg, uint16_t value)
{
	intel_write(nic, IXGBE_MSRWD, 0, value);
	return transfer(nic, IXGBE_MSCA_WRITE, phy, device, reg);
}

static int wake(struct nic *nic, unsigned phy)
{
	uint16_t control;
	int e = phy_read(nic, phy, VENDOR1, VENDOR1_CONTROL, &control);
	if (e != E_OK || !(control & CONTROL_LOW_POWER))
		return e;
	return phy_write(nic, phy, VENDOR1, VENDOR1_CONTROL, (uint16_t)(control & ~CONTROL_LOW_POWER));
}

/* A new negotiation takes the link for seconds, so only what is advertised wrongly is corrected: once a power-on. */
static int advertise_no_pause(struct nic *nic, unsigned phy)
{
	uint16_t advertised, control;
	int e = phy_read(nic, phy, NEGOTIATION, NEGOTIATION_ADVERTISED, &advertised);
	if (e != E_OK || !(advertised & ADVERTISED_PAUSE))
		return e;
	e = phy_write(nic, phy, NEGOTIATION, NEGOTIATION_ADVERTISED, (uint16_t)(advertised & ~ADVERTISED_PAUSE));
	if (e == E_OK)
		e = phy_read(nic, phy, NEGOTIATION, NEGOTIATION_CONTROL, &control);
	return e == E_OK ? phy_write(nic, phy, NEGOTIATION, NEGOTIATION_CONTROL, (uint16_t)(control | CONTROL_RESTART))
	                 : e;
}

/* A bus on which nobody answers is no error: the firmware may manage the PHY alone. */
static int find_and_wake(struct nic *nic)
{
	for (unsigned phy = 0; phy < PHYS; phy++) {
		uint16_t status;
		int e = phy_read(nic, phy, PMA, PMA_STATUS2, &status);
		if (e != E_OK)
			return e;
		if ((status & STATUS2_PRESENT_MASK) == STATUS2_PRESENT) {
			e = wake(nic, phy);
			return e == E_OK ? advertise_no_pause(nic, phy) : e;
		}
	}
	return E_OK;
}

int ixgbe_phy_start(struct nic *nic)
{
	const uint32_t ours = ixgbe_phy_semaphore(nic);
	int e = intel_lock(nic, ours);
	if (e != E_OK)
		return e;
	e = find_and_wake(nic);
	intel_unlock(nic, ours);
	return e;
}
