/*
 * What the device counts by itself (8.19). These registers are cleared by reading, but for RQDPC of some chips. A
 * 32-bit counter lasts for half an hour at the highest frame rate.
 *
 * Deliberately missing: RUC, good frames shorter than 64 bytes. QEMU's card counts there each frame that it pads
 * before it delivers it.
 */
#include "drivers/igb/device.h"

/* ERRATUM: reading does not clear RQDPC in the I210 and later chips. Source: Linux igb and igc. Frames dropped
 * between the read and the write are not counted. */
static uint32_t no_descriptor(struct nic *nic, unsigned q)
{
	const uint32_t drops = intel_read(nic, IGB_RQDPC, q);
	if (drops && igb_device(nic)->chip->rqdpc_stays)
		intel_write(nic, IGB_RQDPC, q, 0);
	return drops;
}

void igb_stats(struct nic *nic, struct nic_stats *sum)
{
	struct nic_stats now = {0};
	now.rx_missed = intel_read(nic, IGB_MPC, 0);
	for (unsigned q = 0; q < igb_device(nic)->chip->queues; q++)
		now.rx_no_desc += no_descriptor(nic, q);
	now.rx_crc = intel_read(nic, IGB_CRCERRS, 0);
	now.rx_length = (uint64_t)intel_read(nic, IGB_RLEC, 0) + intel_read(nic, IGB_RFC, 0) +
	                intel_read(nic, IGB_ROC, 0) + intel_read(nic, IGB_RJC, 0);
	now.rx_error = (uint64_t)intel_read(nic, IGB_ALGNERRC, 0) + intel_read(nic, IGB_RXERRC, 0);
	now.tx_error = (uint64_t)intel_read(nic, IGB_ECOL, 0) + intel_read(nic, IGB_LATECOL, 0);
	if (intel_gone(nic))
		return; /* all ones are not counts */
	sum->rx_missed += now.rx_missed;
	sum->rx_no_desc += now.rx_no_desc;
	sum->rx_crc += now.rx_crc;
	sum->rx_length += now.rx_length;
	sum->rx_error += now.rx_error;
	sum->tx_error += now.tx_error;
}

void igb_stats_start(struct nic *nic)
{
	struct nic_stats gone = {0};
	igb_stats(nic, &gone);
}
