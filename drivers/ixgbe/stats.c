/*
 * What the device counts by itself (7.5, 8.2.3.23). All of these registers are cleared by reading.
 * A 32-bit counter lasts for more than four minutes at the highest frame rate.
 *
 * Frames for others have no counter of their own: they are the good frames before the filters
 * (RXNFGPC) less the good frames after (GPRC). The two are not read at the same moment; a negative
 * difference is carried over to the next read.
 *
 * The chip has no counter of frames that it gave up sending: tx_error stays 0.
 */
#include "drivers/ixgbe/device.h"

#define PACKET_BUFFERS 8
#define QUEUE_COUNTERS 16
#define RQSMR_QUEUES 4 /* per register, one byte each */

static uint64_t read_sum(struct nic *nic, enum ixgbe_reg reg, unsigned n)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < n; i++)
		sum += intel_read(nic, reg, i);
	return sum;
}

void ixgbe_stats(struct nic *nic, struct nic_stats *sum)
{
	struct ixgbe_device *d = ixgbe_device(nic);
	struct nic_stats now = {0};
	now.rx_missed = read_sum(nic, IXGBE_RXMPC, PACKET_BUFFERS);
	now.rx_no_desc = read_sum(nic, IXGBE_QPRDC, QUEUE_COUNTERS);
	now.rx_crc = read_sum(nic, IXGBE_CRCERRS, 1);
	now.rx_length = read_sum(nic, IXGBE_RLEC, 1) + read_sum(nic, IXGBE_RUC, 1) +
	                read_sum(nic, IXGBE_ROC, 1) + read_sum(nic, IXGBE_RFC, 1) +
	                read_sum(nic, IXGBE_RJC, 1);
	now.rx_error = read_sum(nic, IXGBE_ILLERRC, 1) + read_sum(nic, IXGBE_ERRBC, 1);
	uint64_t good = read_sum(nic, IXGBE_GPRC, 1), all = read_sum(nic, IXGBE_RXNFGPC, 1);
	if (intel_gone(nic))
		return; /* all ones are not counts */
	sum->rx_missed += now.rx_missed;
	sum->rx_no_desc += now.rx_no_desc;
	sum->rx_crc += now.rx_crc;
	sum->rx_length += now.rx_length;
	sum->rx_error += now.rx_error;
	d->filtered += (int64_t)(all - good);
	if (d->filtered > 0) {
		sum->rx_filtered += (uint64_t)d->filtered;
		d->filtered = 0;
	}
}

void ixgbe_stats_start(struct nic *nic)
{
	struct nic_stats gone = {0};
	/* Queue i counts in counter i. */
	for (unsigned i = 0; i < QUEUE_COUNTERS; i += RQSMR_QUEUES)
		intel_write(nic, IXGBE_RQSMR, i / RQSMR_QUEUES, 0x03020100u + i * 0x01010101u);
	ixgbe_stats(nic, &gone);
	ixgbe_device(nic)->filtered = 0;
}
