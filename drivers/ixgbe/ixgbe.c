/*
 * ixgbe: Intel 82599 and X540, the table of operations. Read it beside the 82599 datasheet, 4.6.3:
 * start() follows its list of steps.
 */
#include "drivers/ixgbe/ixgbe.h"

#include "drivers/ixgbe/device.h"
#include "drivers/ixgbe/ring.h"
#include "hal/barrier.h"
#include "hal/mmio.h"
#include "lib/mem.h"

/* What a data core needs to know, in nic_shared.priv. */
struct shared {
	uint64_t regs;
	uint32_t buf_bytes;
	bool irq; /* enough MSI-X vectors to wake every core */
};
_Static_assert(sizeof(struct shared) <= sizeof(((struct nic_shared *)0)->priv), "fits");

/* In nic_queue.priv. */
struct pair {
	struct ixgbe_rx rx;
	struct ixgbe_tx tx;
	volatile void *irq_on, *irq_off; /* EIMS_EX, EIMC_EX */
	uint32_t irq_bit;                /* 0: nothing would wake us */
};
_Static_assert(sizeof(struct pair) <= sizeof(((struct nic_queue *)0)->priv), "fits");

static struct pair *pair_of(struct nic_queue *q) { return (struct pair *)(void *)q->priv; }

/* 9.3.3; later boards from the PCI ID list. */
static const struct id {
	uint16_t device;
	uint8_t kind, media;
} ids[] = {
	{0x10f7, IXGBE_82599, IXGBE_BACKPLANE}, /* KX4 */
	{0x10f8, IXGBE_82599, IXGBE_BACKPLANE}, /* KX, KX4, KR */
	{0x10f9, IXGBE_82599, IXGBE_BACKPLANE}, /* CX4 */
	{0x10fb, IXGBE_82599, IXGBE_SFP},       /* X520 */
	{0x10fc, IXGBE_82599, IXGBE_BACKPLANE}, /* XAUI */
	{0x1507, IXGBE_82599, IXGBE_SFP},       /* X520 mezzanine */
	{0x1514, IXGBE_82599, IXGBE_BACKPLANE}, /* KX4 mezzanine */
	{0x1517, IXGBE_82599, IXGBE_BACKPLANE}, /* KR */
	{0x1529, IXGBE_82599, IXGBE_SFP},       /* with FCoE */
	{0x152a, IXGBE_82599, IXGBE_BACKPLANE}, /* with FCoE */
	{0x154a, IXGBE_82599, IXGBE_SFP},       /* X520-4 */
	{0x154d, IXGBE_82599, IXGBE_SFP},       /* X520-2 */
	{0x1557, IXGBE_82599, IXGBE_SFP},       /* 82599EN */
	{0x1528, IXGBE_X540, IXGBE_COPPER},     /* X540-T2 */
	{0x1560, IXGBE_X540, IXGBE_COPPER},     /* X540-T1 */
};

static const struct id *find_id(const struct pci_dev *dev)
{
	for (unsigned i = 0; dev->vendor == IXGBE_VENDOR && i < ARRAY_LEN(ids); i++)
		if (ids[i].device == dev->device)
			return &ids[i];
	return NULL;
}

static bool match(const struct pci_dev *dev)
{
	return find_id(dev) != NULL;
}

/* --- device half --- */

/* 4.6.3: after reset the EEPROM's station address lies in entry 0. */
static int learn_mac(struct nic *nic)
{
	uint32_t low = ixgbe_read(nic, IXGBE_RAL, 0), high = ixgbe_read(nic, IXGBE_RAH, 0);
	for (unsigned i = 0; i < 6; i++)
		nic->mac[i] = (uint8_t)(i < 4 ? low >> 8 * i : high >> 8 * (i - 4));
	if (!(high & IXGBE_RAH_AV) || nic->mac[0] & 1 || !(low | (high & 0xffff)))
		return ixgbe_fail(nic, E_DEVICE, "no station address in the EEPROM");
	return E_OK;
}

static int probe(struct nic *nic, const struct pci_dev *dev)
{
	struct ixgbe_device *d = ixgbe_device(nic);
	const struct id *id = find_id(dev);
	nic->pci = dev;
	memset(nic->priv, 0, sizeof nic->priv);
	if (dev->bar[0].addr == 0 || dev->bar[0].bytes < IXGBE_BAR_BYTES) {
		nic->error = "registers (BAR 0) are not mapped";
		return E_NOTSUP;
	}
	d->regs = (volatile uint8_t *)(uintptr_t)dev->bar[0].addr;
	d->kind = (enum ixgbe_kind)id->kind;
	d->media = (enum ixgbe_media)id->media;
	pci_enable(dev);
	int e = ixgbe_reset(nic);
	if (e == E_OK)
		e = ixgbe_eeprom_check(nic);
	if (e == E_OK)
		e = learn_mac(nic);
	d->autoc = ixgbe_read(nic, IXGBE_AUTOC, 0);
	nic->pairs_max = IXGBE_RSS_QUEUES;
	nic->mtu_max = NIC_MTU_MAX;
	/* UDP: 7.2.4.2 defines its L4T, and Linux's ixgbe uses it on all devices in this table. */
	nic->features = NIC_RX_CSUM | NIC_TX_CSUM | NIC_LINK | NIC_RSS | NIC_TSO | NIC_USO | NIC_VLAN |
	                NIC_SG;
	return e;
}

static size_t ring_bytes(const struct nic *nic)
{
	(void)nic;
	return ixgbe_layout(IXGBE_RING_SIZE).bytes;
}

/* The list of 4.6.3, from the first step to the last. */
static int start_device(struct nic *nic, const struct nic_config *config, bool irq)
{
	int e = ixgbe_reset(nic); /* 1 to 4 */
	if (e == E_OK)
		e = ixgbe_link_start(nic);
	if (e == E_OK)
		ixgbe_stats_start(nic);
	if (e == E_OK)
		e = ixgbe_rx_start(nic, config);
	if (e == E_OK)
		e = ixgbe_tx_start(nic, config);
	if (e == E_OK)
		ixgbe_set(nic, IXGBE_CTRL_EXT, 0, IXGBE_CTRL_EXT_DRV_LOAD);
	if (e == E_OK && irq)
		e = ixgbe_interrupts_start(nic, config);
	return e;
}

static int start(struct nic *nic, const struct nic_config *config, struct nic_shared *shared)
{
	struct shared *s = (struct shared *)(void *)shared->priv;
	/* Without a vector for each pair, cores on this port poll and never sleep. */
	bool irq = nic->pci->msix_vectors > config->pairs;
	int e = nic_config_check(nic, config, ring_bytes(nic), IXGBE_RING_ALIGN);
	if (e != E_OK)
		return e;
	e = start_device(nic, config, irq);
	if (e != E_OK) {
		const char *why = nic->error;
		ixgbe_reset(nic);
		nic->error = why;
		return e;
	}
	ixgbe_device(nic)->pairs = config->pairs;
	*s = (struct shared){.regs = (uint64_t)(uintptr_t)ixgbe_device(nic)->regs,
	                     .buf_bytes = config->buf_bytes,
	                     .irq = irq};
	shared->pairs = (uint8_t)config->pairs;
	shared->features = nic->features & config->features;
	return E_OK;
}

static void stop(struct nic *nic)
{
	if (ixgbe_device(nic)->pairs) /* else RETA would direct frames to queues that are off */
		ixgbe_rx_halt(nic);
	ixgbe_queues_stop(nic);
	if (ixgbe_device(nic)->pairs)
		ixgbe_clear(nic, IXGBE_CTRL_EXT, 0, IXGBE_CTRL_EXT_DRV_LOAD);
	ixgbe_device(nic)->pairs = 0;
	ixgbe_reset(nic);
}

/* What data cores know of a pair does not change. */
static int pair_start(struct nic *nic, const struct nic_config *config, unsigned pair,
                      struct nic_shared *shared)
{
	(void)shared;
	int e = nic_config_check(nic, config, ring_bytes(nic), IXGBE_RING_ALIGN);
	return e == E_OK ? ixgbe_pair_start(nic, config, pair) : e;
}

static int spread(struct nic *nic, uint64_t pairs)
{
	ixgbe_spread(nic, pairs);
	return ixgbe_gone(nic) ? ixgbe_fail(nic, E_DEVICE, "") : E_OK;
}

/* --- queue half --- */

static int attach(struct nic_queue *q, const struct nic_shared *shared, unsigned pair, void *mem)
{
	const struct shared *s = (const struct shared *)(const void *)shared->priv;
	volatile uint8_t *regs = (volatile uint8_t *)(uintptr_t)s->regs;
	struct pair *p = pair_of(q);
	if (q->pool->stride != s->buf_bytes)
		return E_INVAL; /* the device would write past them */
	ixgbe_rx_init(&p->rx, mem, IXGBE_RING_SIZE, q->rx_buffers, q->pool);
	q->rx_buffers = p->rx.most;
	ixgbe_tx_init(&p->tx, mem, IXGBE_RING_SIZE);
	p->rx.tail_reg = ixgbe_reg_at(regs, IXGBE_RDT, pair);
	p->tx.tail_reg = ixgbe_reg_at(regs, IXGBE_TDT, pair);
	p->rx.port = q->port;
	if (shared->features & NIC_RX_CSUM)
		p->rx.csum_mask = IXGBE_RXD_L4I | IXGBE_RXD_TCPE | IXGBE_RXD_IPE;
	if (shared->features & NIC_VLAN)
		p->rx.vlan_mask = IXGBE_RXD_VP;
	p->irq_on = ixgbe_reg_at(regs, IXGBE_EIMS_EX, 0);
	p->irq_off = ixgbe_reg_at(regs, IXGBE_EIMC_EX, 0);
	p->irq_bit = s->irq ? 1u << (1 + pair) : 0;
	ixgbe_rx_fill(&p->rx, q->pool, q->cnt);
	return E_OK;
}

static unsigned rx_left(const struct nic_shared *shared, unsigned pair, const void *mem,
                        uint64_t place)
{
	(void)shared;
	(void)pair;
	return ixgbe_rx_left(mem, IXGBE_RING_SIZE, place);
}

static unsigned rx_burst(struct nic_queue *q, struct pkt *v, unsigned max)
{
	return ixgbe_rx_burst(&pair_of(q)->rx, q->pool, q->cnt, v, max);
}

static unsigned tx_burst(struct nic_queue *q, const struct pkt *v, unsigned n)
{
	return ixgbe_tx_burst(&pair_of(q)->tx, q->pool, q->cnt, v, n, &q->broken);
}

static unsigned slots_open(struct nic_queue *q)
{
	return ixgbe_slots_open(&pair_of(q)->tx, q->pool, q->cnt, &q->broken);
}

static void slots_put(struct nic_queue *q, unsigned first, const struct nic_slot *s, unsigned n)
{
	ixgbe_slots_put(&pair_of(q)->tx, first, s, n);
}

static void slot_stamp(struct nic_queue *q, unsigned slot)
{
	ixgbe_slot_stamp(&pair_of(q)->tx, slot);
}

static unsigned slots_free(struct nic_queue *q)
{
	return ixgbe_slots_free(&pair_of(q)->tx, q->cnt, &q->broken);
}

static void slots_send(struct nic_queue *q, unsigned n, uint64_t bytes)
{
	ixgbe_slots_send(&pair_of(q)->tx, q->cnt, n, bytes);
}

static bool rx_interrupt(struct nic_queue *q, bool arm)
{
	struct pair *p = pair_of(q);
	if (!p->irq_bit)
		return true;
	q->cnt->irq_arms += arm;
	q->cnt->mmio_writes++;
	mmio_write32(arm ? p->irq_on : p->irq_off, p->irq_bit);
	/* A frame that arrives before this write takes effect has set its cause: the device then
	 * fires. */
	barrier_full();
	return ixgbe_rx_waiting(&p->rx);
}

static const struct nic_word words[] = {
	NIC_WORD(struct pair, rx.head),     NIC_WORD(struct pair, rx.tail),
	NIC_WORD(struct pair, rx.told),     NIC_WORD(struct pair, rx.most),
	NIC_WORD(struct pair, rx.dropping), NIC_WORD(struct pair, tx.head),
	NIC_WORD(struct pair, tx.tail),     {0},
};

const struct nic_ops ixgbe_ops = {
	.name = "ixgbe",
	.words = words,
	.match = match,
	.probe = probe,
	.ring_bytes = ring_bytes,
	.start = start,
	.stop = stop,
	.rx_left = rx_left,
	.pair_stop = ixgbe_pair_stop,
	.pair_start = pair_start,
	.spread = spread,
	.link = ixgbe_link,
	.stats = ixgbe_stats,
	.attach = attach,
	.rx_burst = rx_burst,
	.tx_burst = tx_burst,
	.rx_interrupt = rx_interrupt,
	.slots_open = slots_open,
	.slots_put = slots_put,
	.slot_stamp = slot_stamp,
	.slots_free = slots_free,
	.slots_send = slots_send,
	.rate = ixgbe_rate,
	.time_start = ixgbe_time_start,
	.time_now = ixgbe_time_now,
	.time_stamps = ixgbe_time_stamps,
};
