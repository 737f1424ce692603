/*
 * Rate limits of transmit queues (7.7.2, 8.2.3.10.16), see device.h. The chip represents a rate as
 * a factor by which it stretches a frame's time on the link.
 *
 * ERRATUM: with 64-byte frames at rates above 64/84 of the link speed the chip does not keep the
 * requested rate. Source: libmoon, by measurement. Send without a limit at such rates.
 */
#include "drivers/ixgbe/device.h"

#define LARGE 4096 /* bytes: above this frame size the limiter needs the larger window */

int ixgbe_rate(struct nic *nic, unsigned pair, uint32_t kbps, uint32_t *set)
{
	uint64_t factor = 0;
	const uint64_t line = ixgbe_link_mbps(nic) * 1000ull;
	if (line == 0)
		return intel_fail(nic, E_AGAIN, "the link is down");
	*set = (uint32_t)line;
	if (kbps) {
		factor = ((line << IXGBE_RTTBCNRC_FACTOR_SHIFT) + kbps - 1) / kbps; /* never above */
		if (kbps >= line || factor > IXGBE_RTTBCNRC_FACTOR_MAX)
			return intel_fail(nic, E_INVAL, "a rate that the limiter does not have");
		*set = (uint32_t)((line << IXGBE_RTTBCNRC_FACTOR_SHIFT) / factor);
	}
	bool large = intel_read(nic, IXGBE_MAXFRS, 0) >> IXGBE_MAXFRS_SHIFT > LARGE;
	intel_write(nic, IXGBE_RTTBCNRM, 0, large ? IXGBE_RTTBCNRM_JUMBO : IXGBE_RTTBCNRM_STANDARD);
	intel_write(nic, IXGBE_RTTDQSEL, 0, pair);
	intel_write(nic, IXGBE_RTTBCNRC, 0,
	            factor ? IXGBE_RTTBCNRC_RS_ENA | (uint32_t)factor : 0);
	return E_OK;
}
