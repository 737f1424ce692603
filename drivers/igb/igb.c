/*
 * igb: Intel 82576, I350, I210, I211, I225 and I226, the table of operations. Read it beside the 82576 datasheet,
 * 4.5: start() follows its list of steps. The queue half is that of all of Intel's cards (drivers/intel/).
 *
 * Deliberately missing: UDP segmentation (QEMU's card makes IP fragments of it), the clock, rate limits.
 */
#include "drivers/igb/igb.h"

#include "drivers/igb/device.h"
#include "drivers/intel/pair.h"
#include "drivers/intel/ring.h"
#include "lib/mem.h"

#define RX_QUIET_US 200 /* for frames and descriptors still in flight */
#define DRAIN_US 100000 /* a full ring at 1 Gb/s takes 12.6 ms; at a lower speed the rest is lost */

static const struct intel_reg registers[IGB_REGS] = {IGB_REGISTERS(INTEL_REG)};
IGB_REGISTERS(INTEL_REG_CHECK)

#define CHIP(eerd_register, present) \
	{ \
		.reg = registers, .regs = IGB_REGS, .status = IGB_STATUS, .eec = IGB_EEC, .eerd = eerd_register, \
		.eec_present = present, .swsm = IGB_SWSM, .sw_fw_sync = IGB_SW_FW_SYNC, \
		.firmware_shift = IGB_SYNC_FIRMWARE_SHIFT, \
		.ral = IGB_RAL, .rah = IGB_RAH, .reta = IGB_RETA, .rssrk = IGB_RSSRK, .rxdctl = IGB_RXDCTL, \
		.txdctl = IGB_TXDCTL, .tdh = IGB_TDH, .quiet_us = RX_QUIET_US, .drain_us = DRAIN_US, \
		.rdt = IGB_RDT, .tdt = IGB_TDT, .irq_on = IGB_EIMS, .irq_off = IGB_EIMC, .rxd_mac = IGB_RXD_MAC, \
		.rxd_csum = IGB_RXD_L4E | IGB_RXD_IPE, \
	}

enum kind { I82576, I350, I210, I211, I225 };

static const struct igb_chip chips[] = {
	[I82576] = {CHIP(IGB_EERD, INTEL_EEC_PRES), .queues = 8, .vectors = 25, .mdic_phy = IGB_MDIC_PHY1},
	[I350] = {CHIP(IGB_EERD, INTEL_EEC_PRES), .queues = 8, .vectors = 25, .ivar_by_pairs = true,
	          .mdic_phy = IGB_MDIC_PHY1},
	[I210] = {CHIP(IGB_EERD_I210, INTEL_EEC_PRES), .queues = 4, .vectors = 5, .ivar_by_pairs = true,
	          .no_eeprom = true, .rqdpc_stays = true, .mdic_phy = IGB_MDIC_PHY1},
	[I211] = {CHIP(IGB_EERD_I210, INTEL_EEC_PRES), .queues = 2, .vectors = 5, .ivar_by_pairs = true,
	          .no_eeprom = true, .rqdpc_stays = true, .mdic_phy = IGB_MDIC_PHY1},
	[I225] = {CHIP(IGB_EERD_I210, IGB_EEC_FLASH), .queues = 4, .vectors = 5, .ivar_by_pairs = true,
	          .no_eeprom = true, .rqdpc_stays = true, .fast = true},
};

/* From the PCI ID list. The I220, I221 and I226 are of the kind I225. */
static const struct id {
	uint16_t device;
	uint8_t kind;
} ids[] = {
	{0x10c9, I82576}, /* copper; QEMU's */
	{0x10e6, I82576}, /* fibre */
	{0x10e7, I82576}, /* SerDes */
	{0x10e8, I82576}, /* four ports */
	{0x1526, I82576}, /* four ports, ET2 */
	{0x150a, I82576}, /* NS */
	{0x1518, I82576}, /* NS SerDes */
	{0x150d, I82576}, /* four ports, SerDes */
	{0x1521, I350},   /* copper */
	{0x1522, I350},   /* fibre */
	{0x1523, I350},   /* SerDes */
	{0x1524, I350},   /* SGMII */
	{0x1533, I210},   /* copper */
	{0x1536, I210},   /* fibre */
	{0x1537, I210},   /* SerDes */
	{0x1538, I210},   /* SGMII */
	{0x157b, I210},   /* copper, no flash */
	{0x157c, I210},   /* SerDes, no flash */
	{0x1539, I211},   /* copper */
	{0x15f2, I225},   /* I225-LM */
	{0x15f3, I225},   /* I225-V */
	{0x15f8, I225},   /* I225-I */
	{0x3100, I225},   /* I225-K */
	{0x3101, I225},   /* I225-K2 */
	{0x5502, I225},   /* I225-LMvP */
	{0x0d9f, I225},   /* I225-IT */
	{0x15f7, I225},   /* I220-V */
	{0x125b, I225},   /* I226-LM */
	{0x125c, I225},   /* I226-V */
	{0x125d, I225},   /* I226-IT */
	{0x125e, I225},   /* I221-V */
};

static const struct id *find_id(const struct pci_dev *dev)
{
	for (unsigned i = 0; dev->vendor == INTEL_VENDOR && i < ARRAY_LEN(ids); i++)
		if (ids[i].device == dev->device)
			return &ids[i];
	return NULL;
}

static bool match(const struct pci_dev *dev)
{
	return find_id(dev) != NULL;
}

/* --- device half --- */

/* The words of the first port; those of ports 1 to 3 of an I350 have sums of their own, which are not
 * checked. */
static int check_eeprom(struct nic *nic)
{
	uint16_t sum = 0;
	int e = intel_eeprom_find(nic);
	if (e != E_OK && igb_device(nic)->chip->no_eeprom && !intel_gone(nic))
		return E_OK;
	if (e == E_OK)
		e = intel_lock(nic, INTEL_SYNC_EEP);
	if (e != E_OK)
		return e;
	e = intel_eeprom_add(nic, 0, INTEL_EEPROM_CHECKSUM, &sum);
	if (e == E_OK)
		e = intel_eeprom_compare(nic, sum);
	intel_unlock(nic, INTEL_SYNC_EEP);
	return e;
}

static int probe(struct nic *nic, const struct pci_dev *dev)
{
	struct igb_device *d = igb_device(nic);
	nic->pci = dev;
	memset(nic->priv, 0, sizeof nic->priv);
	if (dev->bar[0].addr == 0 || dev->bar[0].bytes < INTEL_BAR_BYTES) {
		nic->error = "registers (BAR 0) are not mapped";
		return E_NOTSUP;
	}
	d->chip = &chips[find_id(dev)->kind];
	d->intel.bar = (volatile uint8_t *)(uintptr_t)dev->bar[0].addr;
	d->intel.chip = &d->chip->intel;
	pci_enable(dev);
	int e = igb_reset(nic);
	if (e == E_OK)
		e = check_eeprom(nic);
	if (e == E_OK)
		e = intel_learn_mac(nic);
	nic->pairs_max = d->chip->queues;
	nic->mtu_max = NIC_MTU_MAX;
	nic->features = NIC_RX_CSUM | NIC_TX_CSUM | NIC_LINK | NIC_RSS | NIC_TSO | NIC_VLAN | NIC_SG;
	return e;
}

/* The list of 4.5, from the first step to the last. */
static int start_device(struct nic *nic, const struct nic_config *config)
{
	int e = igb_reset(nic);
	if (e == E_OK)
		e = igb_link_start(nic);
	if (e == E_OK)
		igb_stats_start(nic);
	if (e == E_OK)
		e = igb_rx_start(nic, config);
	if (e == E_OK)
		e = igb_tx_start(nic, config);
	if (e == E_OK)
		intel_set(nic, IGB_CTRL_EXT, 0, IGB_CTRL_EXT_DRV_LOAD);
	igb_device(nic)->intel.link_vector = intel_has_vectors(nic, config);
	if (e == E_OK && igb_device(nic)->intel.link_vector)
		e = igb_interrupts_start(nic, config);
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
		igb_reset(nic);
		nic->error = why;
		return e;
	}
	igb_device(nic)->pairs = config->pairs;
	intel_share(nic, config, shared);
	return E_OK;
}

static void stop(struct nic *nic)
{
	if (igb_device(nic)->pairs) /* else RETA would direct frames to queues that are off */
		igb_rx_halt(nic);
	intel_queues_stop(nic, igb_device(nic)->pairs);
	if (igb_device(nic)->pairs)
		intel_clear(nic, IGB_CTRL_EXT, 0, IGB_CTRL_EXT_DRV_LOAD);
	igb_device(nic)->pairs = 0;
	igb_reset(nic);
}

/* What data cores know of a pair does not change. */
static int pair_start(struct nic *nic, const struct nic_config *config, unsigned pair, struct nic_shared *shared)
{
	(void)shared;
	int e = nic_config_check(nic, config, intel_ring_bytes(nic), INTEL_RING_ALIGN);
	return e == E_OK ? igb_pair_start(nic, config, pair) : e;
}

/* --- queue half --- */

static int attach(struct nic_queue *q, const struct nic_shared *shared, unsigned pair, void *mem)
{
	return intel_attach(&chips[I82576].intel, q, shared, pair, mem); /* all have these registers */
}

const struct nic_ops igb_ops = {
	.name = "igb",
	INTEL_OPS,
	.match = match,
	.probe = probe,
	.start = start,
	.stop = stop,
	.pair_stop = intel_pair_stop,
	.pair_start = pair_start,
	.table = intel_table,
	.link = igb_link,
	.stats = igb_stats,
	.attach = attach,
};
