/*
 * The device's clock and its time stamps (7.9, 8.2.3.26), see device.h.
 *
 * SYSTIM counts tenths of a nanosecond. A tick of the chip, 6.4 ns at 10 GbE and proportionally
 * longer on slower links, is then a whole number of units, so the clock does not drift by rounding.
 * The clock is never adjusted: users of two clocks compare them.
 *
 * The chip keeps one stamp for each direction until its high half is read. It stamps received PTP
 * event messages (IEEE 1588-2008), in frames of their own or over UDP.
 */
#include "drivers/ixgbe/device.h"

#define UNITS_PER_NS 10
#define TICK_UNITS_MBPS 640000 /* units per tick at 1 Mb/s */

int ixgbe_time_start(struct nic *nic)
{
	if (nic->no_clock) {
		nic->error = "the clock of this chip is not driven";
		return E_NOTSUP;
	}
	const uint32_t mbps = ixgbe_link_mbps(nic);
	if (mbps == 0)
		return intel_fail(nic, E_AGAIN, "the link is down, whose speed is that of the clock");
	const uint32_t period = ixgbe_device(nic)->chip->clock_period;
	const uint32_t tick = TICK_UNITS_MBPS / mbps | period << IXGBE_TIMINCA_IP_SHIFT;
	intel_write(nic, IXGBE_TIMINCA, 0, 0);
	intel_write(nic, IXGBE_SYSTIML, 0, 0);
	intel_write(nic, IXGBE_SYSTIMH, 0, 0);
	intel_write(nic, IXGBE_TIMINCA, 0, tick);
	intel_write(nic, IXGBE_ETQF, IXGBE_ETQF_PTP,
	            IXGBE_ETQF_EN | IXGBE_ETQF_1588 | IXGBE_ETYPE_PTP);
	intel_write(nic, IXGBE_RXMTRL, 0, IXGBE_PTP_EVENT_PORT << IXGBE_RXMTRL_UDPT_SHIFT);
	intel_write(nic, IXGBE_TSYNCRXCTL, 0, IXGBE_TSYNC_EN | IXGBE_TSYNCRXCTL_V2_EVENTS);
	intel_write(nic, IXGBE_TSYNCTXCTL, 0, IXGBE_TSYNC_EN);
	intel_read(nic, IXGBE_RXSTMPH, 0); /* discards the stamp of an earlier frame */
	intel_read(nic, IXGBE_TXSTMPH, 0);
	return E_OK;
}

/* Reads the low half first, which makes the chip keep the high one (Source: Linux ixgbe). */
static uint64_t read_ns(struct nic *nic, enum ixgbe_reg low, enum ixgbe_reg high)
{
	uint64_t units = intel_read(nic, low, 0);
	units |= (uint64_t)intel_read(nic, high, 0) << 32;
	return units / UNITS_PER_NS;
}

uint64_t ixgbe_time_now(struct nic *nic)
{
	return read_ns(nic, IXGBE_SYSTIML, IXGBE_SYSTIMH);
}

/* A stamp waits. A device that is gone reads all ones. */
static bool waits(uint32_t control)
{
	return control & IXGBE_TSYNC_VALID && control != UINT32_MAX;
}

void ixgbe_time_stamps(struct nic *nic, struct nic_stamps *out)
{
	*out = (struct nic_stamps){0};
	if (waits(intel_read(nic, IXGBE_TSYNCTXCTL, 0))) {
		out->sent = true;
		out->sent_ns = read_ns(nic, IXGBE_TXSTMPL, IXGBE_TXSTMPH);
	}
	if (waits(intel_read(nic, IXGBE_TSYNCRXCTL, 0))) {
		/* bytes as received: the first byte of the number is the lower one here. Source:
		 * libmoon */
		uint32_t source = intel_read(nic, IXGBE_RXSATRH, 0);
		out->received = true;
		out->number = (uint16_t)((source >> 8 & 0xff00) | source >> 24);
		out->received_ns = read_ns(nic, IXGBE_RXSTMPL, IXGBE_RXSTMPH);
	}
}
