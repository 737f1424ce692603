/* Steps 1 to 4 of 4.6.3: interrupts off, global reset, EEPROM read, DMA ready. */
#include "drivers/ixgbe/device.h"

#include "hal/barrier.h"

#define MASTER_US 100000
#define DRAIN_US 3000
#define FLUSHED_US 2000
#define CLEAR_US 20
#define RESET_FIRST_LOOK_US 1000 /* 8.2.3.1.1: no register access before */
#define RESET_US 100000
#define AUTO_READ_US 100000
#define DMA_INIT_US 100000
#define PCIE_DEVICE_STATUS 0xaa /* of the capability at 0xa0 (9.3.10) */
#define PCIE_TRANSACTION_PENDING (1u << 5)
#define PCIE_DEVICE_CONTROL2 0xc8
#define COMPLETION_RANGE 15u /* bits 3:0 */

/* 4.6.3.1: before reset, and once more after it. */
static void interrupts_off(struct nic *nic)
{
	intel_write(nic, IXGBE_EIMC, 0, IXGBE_EIMC_ALL);
	intel_write_all(nic, IXGBE_EIMC_EX, 0, UINT32_MAX);
}

/*
 * How long a request may wait for its completion: the upper end of the range that the system's firmware has set
 * (specification update, clarification 2; PCIe 2.0, 7.8.16), and a tenth. At least 80 ms, as Intel's own drivers
 * (DPDK, ixgbe_pcie_timeout_poll). The ranges above 2 s are cut to it: the control core has other ports to serve.
 */
static uint32_t completion_us(struct nic *nic)
{
	static const uint32_t ms[] = {[6] = 130, [9] = 520, [10] = 2000, [13] = 2000, [14] = 2000};
	const uint32_t range = pci_read(nic->pci, PCIE_DEVICE_CONTROL2, 2) & COMPLETION_RANGE;
	return (range < ARRAY_LEN(ms) && ms[range] ? ms[range] : 80) * 1100;
}

/* 5.2.5.3.2: the PCIe layer keeps requests that cannot complete, such as when the link went
 * down. */
static void flush(struct nic *nic)
{
	/* Loopback keeps frames off the wire; RXCTRL.RXEN, already clear, keeps them out of
	 * memory. */
	intel_set(nic, IXGBE_HLREG0, 0, IXGBE_HLREG0_LPBK);
	intel_delay(nic, DRAIN_US);
	const uint64_t end = nic_deadline(nic, completion_us(nic));
	while (pci_read(nic->pci, PCIE_DEVICE_STATUS, 2) & PCIE_TRANSACTION_PENDING &&
	       !nic_past(end))
		cpu_relax();
	intel_set(nic, IXGBE_GCR_EXT, 0, IXGBE_GCR_EXT_BUFFERS_CLEAR);
	(void)intel_read(nic, IXGBE_STATUS, 0); /* ensures that the write has arrived */
	intel_delay(nic, CLEAR_US);
	intel_clear(nic, IXGBE_GCR_EXT, 0, IXGBE_GCR_EXT_BUFFERS_CLEAR);
	intel_clear(nic, IXGBE_HLREG0, 0, IXGBE_HLREG0_LPBK);
}

/*
 * CTRL.RST while the link is up, because a link reset would take the link from the manageability
 * firmware. CTRL.LRST, which resets the same and the link too, while it is down, unless the firmware
 * shares the PHY.
 */
static int reset_once(struct nic *nic)
{
	struct ixgbe_device *d = ixgbe_device(nic);
	uint32_t bit = IXGBE_CTRL_RST;
	const uint32_t phy = ixgbe_phy_semaphore(nic);
	int e = E_OK;
	if (d->chip->shares_phy)
		e = intel_lock(nic, phy);
	else if (!(intel_read(nic, IXGBE_LINKS, 0) & IXGBE_LINKS_UP))
		bit = IXGBE_CTRL_LRST;
	if (e != E_OK)
		return e;
	intel_set(nic, IXGBE_CTRL, 0, bit);
	intel_delay(nic, RESET_FIRST_LOOK_US);
	e = intel_poll(nic, IXGBE_CTRL, 0, IXGBE_CTRL_RST | IXGBE_CTRL_LRST, INTEL_UNTIL_CLEAR,
	               RESET_US, "reset does not complete (CTRL.RST)");
	intel_delay(nic, d->chip->settle_us);
	if (d->chip->shares_phy)
		intel_unlock(nic, phy);
	return e;
}

/* What the firmware does not do, or not in time, is done without it, as in Intel's own drivers. */
static void rx_off(struct nic *nic)
{
	const bool by_firmware = ixgbe_device(nic)->chip->firmware_rx_off;
	if (!by_firmware ||
	    (intel_read(nic, IXGBE_RXCTRL, 0) & IXGBE_RXCTRL_RXEN && ixgbe_firmware_rx_off(nic) != E_OK))
		intel_write(nic, IXGBE_RXCTRL, 0, 0);
}

/*
 * A system before us may have left any transmit queue on, with frames. All are flushed before DMA is disabled, as in
 * Intel's own drivers (DPDK, ixgbe_stop_adapter_generic). RXCTRL, already clear, stops all receive queues.
 */
static void flush_queues(struct nic *nic)
{
	bool any = false;
	for (unsigned q = 0; q < IXGBE_TX_QUEUES; q++) {
		if (!(intel_read(nic, IXGBE_TXDCTL, q) & INTEL_QUEUE_ENABLE))
			continue;
		intel_write(nic, IXGBE_TXDCTL, q, IXGBE_TXDCTL_SWFLSH);
		any = true;
	}
	if (any)
		intel_delay(nic, FLUSHED_US);
}

int ixgbe_reset(struct nic *nic)
{
	struct ixgbe_device *d = ixgbe_device(nic);
	if (intel_gone(nic))
		return intel_fail(nic, E_DEVICE, "");
	d->lan = intel_read(nic, IXGBE_STATUS, 0) >> IXGBE_STATUS_LAN_ID_SHIFT &
	         IXGBE_STATUS_LAN_ID_MASK;
	interrupts_off(nic);
	/* 5.2.5.3.2, master disable: no request may be pending when the reset comes. */
	rx_off(nic);
	flush_queues(nic);
	intel_set(nic, IXGBE_CTRL, 0, IXGBE_CTRL_GIO_DIS);
	int e = intel_poll(nic, IXGBE_STATUS, 0, IXGBE_STATUS_GIO, INTEL_UNTIL_CLEAR, MASTER_US,
	                   "DMA does not end (STATUS.GIO)");
	if (e == E_TIMEOUT) { /* then two resets in a row, at least 1 us apart */
		flush(nic);
		e = reset_once(nic);
	}
	if (e == E_OK)
		e = reset_once(nic);
	if (e != E_OK)
		return e;
	interrupts_off(nic);
	e = intel_poll(nic, IXGBE_EEC, 0, IXGBE_EEC_ARD, INTEL_UNTIL_SET, AUTO_READ_US,
	               "the device does not read its EEPROM (EEC.ARD)");
	if (e == E_OK)
		e = intel_poll(nic, IXGBE_RDRXCTL, 0, IXGBE_RDRXCTL_DMAIDONE, INTEL_UNTIL_SET,
		               DMA_INIT_US,
		               "DMA initialisation does not complete (RDRXCTL.DMAIDONE)");
	if (e == E_OK)
		nic->error = NULL; /* discards the error of a first try */
	return e;
}
