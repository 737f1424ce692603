/*
 * The device half's work on queues that is the same in all of Intel's cards: RSS, and the stop of queues (82599
 * datasheet, 7.1.2.8, 4.6.7.1, 4.6.8.1). Their start differs; each driver has its own.
 *
 * What has been written to the table of RSS is kept in nic->dma, which is not for the device here: only registers that
 * change are written.
 */
#include "drivers/intel/device.h"

#include "drivers/intel/ring.h"
#include "lib/bytes.h"
#include "lib/mem.h"

#define QUEUE_US 100000
#define RETA_REGS 32 /* of four entries */

unsigned intel_buckets(const struct intel_chip *chip)
{
	return 4 * (RETA_REGS + chip->ereta_regs);
}

/* Register i of the table. */
static void write_four(struct nic *nic, unsigned i, uint32_t four)
{
	const struct intel_chip *chip = intel_device(nic)->chip;
	((uint32_t *)nic->dma)[i] = four;
	if (i < RETA_REGS)
		intel_write(nic, chip->reta, i, four);
	else
		intel_write(nic, chip->ereta, i - RETA_REGS, four);
}

void intel_rss(struct nic *nic, unsigned pairs)
{
	static const uint8_t key[NIC_RSS_KEY_BYTES] = NIC_RSS_KEY;
	for (unsigned i = 0; i < NIC_RSS_KEY_BYTES; i += 4)
		intel_write(nic, intel_device(nic)->chip->rssrk, i / 4, raw32_load(key + i));
	for (unsigned i = 0, q = 0; i < intel_buckets(intel_device(nic)->chip) / 4; i++) {
		uint32_t four = 0;
		for (unsigned k = 0; k < 4; k++, q++)
			four |= q % pairs << 8 * k;
		write_four(nic, i, four);
	}
}

/* Reading STATUS flushes the writes (PCI: a read passes no posted write). */
int intel_table(struct nic *nic, const uint8_t *pair_of)
{
	const uint32_t *has = nic->dma;
	for (unsigned i = 0; i < intel_buckets(intel_device(nic)->chip) / 4; i++) {
		const uint32_t four = raw32_load(pair_of + 4 * i);
		if (four != has[i])
			write_four(nic, i, four);
	}
	return intel_gone(nic) ? intel_fail(nic, E_DEVICE, "") : E_OK;
}

unsigned intel_nic_tx_left(struct nic *nic, unsigned pair, const void *mem)
{
	const struct intel_device *d = intel_device(nic);
	const struct intel_chip *chip = d->chip;
	if (!(intel_read(nic, chip->txdctl, pair) & INTEL_QUEUE_ENABLE))
		return intel_tx_left(mem, INTEL_RING_SIZE, d->unsent[pair].head, d->unsent[pair].tail);
	const uint32_t head = intel_read(nic, chip->tdh, pair), tail = intel_read(nic, chip->tdt, pair);
	if (head >= INTEL_RING_SIZE || tail >= INTEL_RING_SIZE) /* all ones: it is gone */
		return 0;
	return intel_tx_left(mem, INTEL_RING_SIZE, head, tail);
}

static int rx_stop(struct nic *nic, unsigned q)
{
	const unsigned rxdctl = intel_device(nic)->chip->rxdctl;
	intel_clear(nic, rxdctl, q, INTEL_QUEUE_ENABLE);
	return intel_poll(nic, rxdctl, q, INTEL_QUEUE_ENABLE, INTEL_UNTIL_CLEAR, QUEUE_US,
	                  "a receive queue does not stop");
}

/* Until when a queue may send what it has: if the link is down, and returns meanwhile, that would be late. */
static uint64_t drain_end(const struct nic *nic, const struct intel_device *d)
{
	return d->no_link ? clock_tsc() : nic_deadline(nic, d->chip->drain_us);
}

/* Waits until `end` at most for the queue to send what it has, then disables it and notes what it has not sent. */
static int tx_stop(struct nic *nic, unsigned q, uint64_t end)
{
	struct intel_device *d = intel_device(nic);
	const struct intel_chip *chip = d->chip;
	while (intel_read(nic, chip->tdh, q) != intel_read(nic, chip->tdt, q) && !nic_past(end))
		;
	intel_clear(nic, chip->txdctl, q, INTEL_QUEUE_ENABLE);
	const int e = intel_poll(nic, chip->txdctl, q, INTEL_QUEUE_ENABLE, INTEL_UNTIL_CLEAR, QUEUE_US,
	                         "a transmit queue does not stop");
	const uint32_t head = intel_read(nic, chip->tdh, q), tail = intel_read(nic, chip->tdt, q);
	if (head < INTEL_RING_SIZE && tail < INTEL_RING_SIZE) { /* all ones: it is gone */
		d->unsent[q].head = (uint16_t)head;
		d->unsent[q].tail = (uint16_t)tail;
	}
	return e;
}

void intel_queues_stop(struct nic *nic, unsigned pairs)
{
	const struct intel_chip *chip = intel_device(nic)->chip;
	int e = E_OK;
	memset(intel_device(nic)->unsent, 0, sizeof intel_device(nic)->unsent);
	for (unsigned q = 0; q < pairs && e != E_DEVICE; q++)
		e = rx_stop(nic, q);
	intel_delay(nic, chip->quiet_us);
	const uint64_t end = drain_end(nic, intel_device(nic));
	for (unsigned q = 0; q < pairs && e != E_DEVICE; q++)
		e = tx_stop(nic, q, end);
}

int intel_pair_stop(struct nic *nic, unsigned pair)
{
	const struct intel_chip *chip = intel_device(nic)->chip;
	int e = rx_stop(nic, pair);
	intel_delay(nic, chip->quiet_us);
	return e == E_OK ? tx_stop(nic, pair, drain_end(nic, intel_device(nic))) : e;
}
