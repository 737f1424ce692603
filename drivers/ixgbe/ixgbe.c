/*
 * ixgbe: Intel 82599, X540 and X550, the table of operations. Read it beside the 82599 datasheet, 4.6.3:
 * start() follows its list of steps.
 */
#include "drivers/ixgbe/ixgbe.h"

#include "drivers/intel/pair.h"
#include "drivers/intel/ring.h"
#include "drivers/ixgbe/device.h"
#include "lib/mem.h"

static bool match(const struct pci_dev *dev)
{
	return ixgbe_board(dev) != NULL;
}

/* --- device half --- */

static int probe(struct nic *nic, const struct pci_dev *dev)
{
	struct ixgbe_device *d = ixgbe_device(nic);
	const struct ixgbe_board *board = ixgbe_board(dev);
	nic->pci = dev;
	memset(nic->priv, 0, sizeof nic->priv);
	if (board->not_driven) {
		nic->error = board->not_driven;
		return E_NOTSUP;
	}
	if (dev->bar[0].addr == 0 || dev->bar[0].bytes < INTEL_BAR_BYTES) {
		nic->error = "registers (BAR 0) are not mapped";
		return E_NOTSUP;
	}
	d->intel.bar = (volatile uint8_t *)(uintptr_t)dev->bar[0].addr;
	d->chip = board->chip;
	d->intel.chip = &board->chip->intel;
	d->media = board->media;
	pci_enable(dev);
	int e = ixgbe_reset(nic);
	if (e == E_OK)
		e = ixgbe_eeprom_check(nic);
	if (e == E_OK)
		e = intel_learn_mac(nic);
	d->autoc = intel_read(nic, IXGBE_AUTOC, 0);
	nic->pairs_max = IXGBE_RSS_QUEUES;
	nic->mtu_max = NIC_MTU_MAX;
	nic->no_clock = d->chip->no_clock;
	/* UDP: 7.2.4.2 defines its L4T, and Linux's ixgbe uses it on all devices in this table. */
	nic->features = NIC_RX_CSUM | NIC_TX_CSUM | NIC_LINK | NIC_RSS | NIC_TSO | NIC_USO | NIC_VLAN |
	                NIC_SG;
	return e;
}

/* The list of 4.6.3, from the first step to the last. */
static int start_device(struct nic *nic, const struct nic_config *config)
{
	int e = ixgbe_reset(nic); /* 1 to 4 */
	ixgbe_link_start(nic);
	if (e == E_OK && ixgbe_device(nic)->media == IXGBE_COPPER)
		e = ixgbe_phy_start(nic);
	if (e == E_OK)
		ixgbe_stats_start(nic);
	if (e == E_OK)
		e = ixgbe_rx_start(nic, config);
	if (e == E_OK)
		e = ixgbe_tx_start(nic, config);
	if (e == E_OK)
		intel_set(nic, IXGBE_CTRL_EXT, 0, IXGBE_CTRL_EXT_DRV_LOAD);
	ixgbe_device(nic)->intel.link_vector = intel_has_vectors(nic, config);
	if (e == E_OK && ixgbe_device(nic)->intel.link_vector)
		e = ixgbe_interrupts_start(nic, config);
	return e;
}

static int start(struct nic *nic, const struct nic_config *config, struct nic_shared *shared)
{
	int e = nic_config_check(nic, config, intel_ring_bytes(nic), INTEL_RING_ALIGN);
	if (e != E_OK)
		return e;
	e = start_device(nic, config);
	if (e != E_OK) {
		const char *why = nic->error;
		ixgbe_reset(nic);
		nic->error = why;
		return e;
	}
	ixgbe_device(nic)->pairs = config->pairs;
	intel_share(nic, config, shared);
	return E_OK;
}

static void stop(struct nic *nic)
{
	ixgbe_link_stop(nic);
	if (ixgbe_device(nic)->pairs) /* else RETA would direct frames to queues that are off */
		ixgbe_rx_halt(nic);
	intel_queues_stop(nic, ixgbe_device(nic)->pairs);
	if (ixgbe_device(nic)->pairs)
		intel_clear(nic, IXGBE_CTRL_EXT, 0, IXGBE_CTRL_EXT_DRV_LOAD);
	ixgbe_device(nic)->pairs = 0;
	ixgbe_reset(nic);
}

/* What data cores know of a pair does not change. */
static int pair_start(struct nic *nic, const struct nic_config *config, unsigned pair,
                      struct nic_shared *shared)
{
	(void)shared;
	int e = nic_config_check(nic, config, intel_ring_bytes(nic), INTEL_RING_ALIGN);
	return e == E_OK ? ixgbe_pair_start(nic, config, pair) : e;
}

/* What the queue half needs to know of a chip is the same for all. */
static int attach(struct nic_queue *q, const struct nic_shared *shared, unsigned pair, void *mem)
{
	return intel_attach(&ixgbe_82599.intel, q, shared, pair, mem);
}

const struct nic_ops ixgbe_ops = {
	.name = "ixgbe",
	INTEL_OPS,
	.match = match,
	.probe = probe,
	.start = start,
	.stop = stop,
	.pair_stop = intel_pair_stop,
	.pair_start = pair_start,
	.table = intel_table,
	.rules_refused = ixgbe_rules_refused,
	.rules = ixgbe_rules,
	.link = ixgbe_link,
	.stats = ixgbe_stats,
	.attach = attach,
	.slot_stamp = intel_nic_slot_stamp,
	.rate = ixgbe_rate,
	.time_start = ixgbe_time_start,
	.time_now = ixgbe_time_now,
	.time_stamps = ixgbe_time_stamps,
};
