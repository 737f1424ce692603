/*
 * vmxnet3, the card of VMware's virtual machines: the table of operations, probe and start, and the queue half's
 * calls. spec.h says where its interface is described; ring.h has the rings.
 *
 * Negotiated: revision 4, 2 or 1, and UPT 1. RSS spreads over the pairs. QEMU's device, of revision 1, has eight
 * transmit queues but receives in the first queue only; nothing tells it from an old ESXi. So NIC_RSS is claimed for
 * revision 2 and newer, and asked for in any case.
 *
 * Deliberately missing: restart of one pair and UDP segmentation (neither is in the protocol up to revision 4), LRO,
 * the rings of small frames that are copied into the device's reach ("data rings"), interrupt moderation, the
 * extensions of revisions 5 to 9.
 */
#include "drivers/vmxnet3/vmxnet3.h"

#include "drivers/vmxnet3/device.h"
#include "drivers/vmxnet3/ring.h"
#include "hal/barrier.h"
#include "hal/mmio.h"
#include "lib/mem.h"

/* What a data core needs to know, in nic_shared.priv. */
struct shared {
	uint64_t regs; /* BAR 0 */
	uint32_t buf_bytes;
	bool irq;
};
_Static_assert(sizeof(struct shared) <= sizeof(((struct nic_shared *)0)->priv), "fits");

/* In nic_queue.priv. */
struct pair {
	struct vmxnet3_rx rx;
	struct vmxnet3_tx tx;
	volatile void *mask; /* of its vector; NULL: nothing would wake us */
};
_Static_assert(sizeof(struct pair) <= sizeof(((struct nic_queue *)0)->priv), "fits");

static struct pair *pair_of(struct nic_queue *q) { return (struct pair *)(void *)q->priv; }

static bool match(const struct pci_dev *dev)
{
	return dev->vendor == VMXNET3_VENDOR && dev->device == VMXNET3_DEVICE;
}

/* --- device half --- */

static unsigned pairs_of(const struct nic *nic)
{
	const unsigned vectors = nic->pci->msix_vectors;
	return vectors > 2 ? u32_min(vectors - 2, VMXNET3_PAIRS_MAX) : 1;
}

static int probe(struct nic *nic, const struct pci_dev *dev)
{
	struct vmxnet3_device *d = vmxnet3_device(nic);
	nic->pci = dev;
	memset(nic->priv, 0, sizeof nic->priv);
	for (unsigned b = 0; b < 2; b++) {
		if (dev->bar[b].addr == 0 || dev->bar[b].bytes < VMXNET3_BAR_BYTES) {
			nic->error = "registers (BAR 0 and 1) are not mapped";
			return E_NOTSUP;
		}
	}
	d->queue_regs = (volatile uint8_t *)(uintptr_t)dev->bar[0].addr;
	d->regs = (volatile uint8_t *)(uintptr_t)dev->bar[1].addr;
	d->memory = nic->dma;
	pci_enable(dev);
	int e = vmxnet3_reset(nic);
	if (e == E_OK)
		e = vmxnet3_negotiate(nic);
	if (e == E_OK)
		e = vmxnet3_learn_mac(nic);
	if (e != E_OK)
		return e;
	nic->pairs_max = pairs_of(nic);
	nic->mtu_max = u32_min(NIC_MTU_MAX, VMXNET3_MTU_MAX);
	nic->features = NIC_RX_CSUM | NIC_TX_CSUM | NIC_LINK | NIC_TSO | NIC_VLAN | NIC_SG |
	                (nic->pairs_max > 1 && d->revision != VMXNET3_REVISION_1 ? NIC_RSS : 0);
	return E_OK;
}

static size_t ring_bytes(const struct nic *nic)
{
	(void)nic;
	return vmxnet3_layout(VMXNET3_RING_SIZE).bytes;
}

static void stop(struct nic *nic)
{
	vmxnet3_reset(nic);
	vmxnet3_device(nic)->pairs = 0;
}

static int start(struct nic *nic, const struct nic_config *config, struct nic_shared *shared)
{
	struct shared *s = (struct shared *)(void *)shared->priv;
	int e = nic_config_check(nic, config, ring_bytes(nic), VMXNET3_RING_ALIGN);
	if (e == E_OK)
		e = vmxnet3_reset(nic);
	if (e == E_OK)
		e = vmxnet3_negotiate(nic);
	if (e == E_OK)
		e = vmxnet3_activate(nic, config);
	if (e != E_OK) {
		const char *why = nic->error;
		stop(nic);
		nic->error = why;
		return e;
	}
	const struct vmxnet3_device *d = vmxnet3_device(nic);
	*s = (struct shared){(uint64_t)(uintptr_t)d->queue_regs, config->buf_bytes, d->irq};
	shared->pairs = (uint8_t)config->pairs;
	shared->features = nic->features & config->features;
	return E_OK;
}

static unsigned rx_left(const struct nic_shared *shared, unsigned pair, const void *mem, uint64_t place)
{
	(void)shared;
	(void)pair;
	return vmxnet3_rx_left(mem, VMXNET3_RING_SIZE, place);
}

/* --- queue half --- */

static int attach(struct nic_queue *q, const struct nic_shared *shared, unsigned pair, void *mem)
{
	const struct shared *s = (const struct shared *)(const void *)shared->priv;
	volatile uint8_t *regs = (volatile uint8_t *)(uintptr_t)s->regs + VMXNET3_REG_STRIDE * pair;
	struct pair *p = pair_of(q);
	if (q->pool->stride != s->buf_bytes)
		return E_INVAL; /* the device has been told another size */
	vmxnet3_rx_init(&p->rx, mem, VMXNET3_RING_SIZE, q->rx_buffers);
	q->rx_buffers = p->rx.most;
	vmxnet3_tx_init(&p->tx, mem, VMXNET3_RING_SIZE);
	p->rx.doorbell = regs + VMXNET3_RXPROD;
	p->tx.doorbell = regs + VMXNET3_TXPROD;
	p->rx.queue = pair;
	p->rx.port = q->port;
	p->rx.csum = shared->features & NIC_RX_CSUM;
	p->rx.vlan = shared->features & NIC_VLAN;
	p->mask = s->irq ? regs + VMXNET3_IMR : NULL;
	vmxnet3_rx_fill(&p->rx, q->pool, q->cnt);
	return E_OK;
}

static void release(struct nic_queue *q)
{
	vmxnet3_rx_release(&pair_of(q)->rx, q->pool);
	vmxnet3_tx_release(&pair_of(q)->tx, q->pool);
}

static unsigned rx_burst(struct nic_queue *q, struct pkt *v, unsigned max)
{
	return vmxnet3_rx_burst(&pair_of(q)->rx, q->pool, q->cnt, v, max);
}

static unsigned tx_burst(struct nic_queue *q, const struct pkt *v, unsigned n)
{
	return vmxnet3_tx_burst(&pair_of(q)->tx, q->pool, q->cnt, v, n, &q->broken);
}

static unsigned tx_pending(const struct nic_queue *q)
{
	const struct vmxnet3_tx *r = &((const struct pair *)(const void *)q->priv)->tx;
	return r->head - r->tail;
}

static unsigned slots_open(struct nic_queue *q)
{
	return vmxnet3_slots_open(&pair_of(q)->tx, q->pool, q->cnt, &q->broken);
}

static void slots_put(struct nic_queue *q, unsigned first, const struct nic_slot *s, unsigned n)
{
	vmxnet3_slots_put(&pair_of(q)->tx, first, s, n);
}

static unsigned slots_free(struct nic_queue *q)
{
	return vmxnet3_slots_free(&pair_of(q)->tx, q->cnt, &q->broken);
}

static void slots_send(struct nic_queue *q, unsigned n, uint64_t bytes)
{
	vmxnet3_slots_send(&pair_of(q)->tx, q->cnt, n, bytes);
}

static bool rx_interrupt(struct nic_queue *q, bool arm)
{
	struct pair *p = pair_of(q);
	if (!p->mask)
		return true;
	q->cnt->irq_arms += arm;
	q->cnt->mmio_writes++;
	mmio_write32(p->mask, !arm);
	/* A frame that arrives before this write takes effect is pending: the vector then fires. */
	barrier_full();
	return vmxnet3_rx_waiting(&p->rx);
}

static const struct nic_word words[] = {
	NIC_WORD(struct pair, rx.head), NIC_WORD(struct pair, rx.tail),     NIC_WORD(struct pair, rx.told),
	NIC_WORD(struct pair, rx.done), NIC_WORD(struct pair, rx.most),     NIC_WORD(struct pair, rx.dropping),
	NIC_WORD(struct pair, tx.head), NIC_WORD(struct pair, tx.tail),     NIC_WORD(struct pair, tx.done),
	{0},
};

const struct nic_ops vmxnet3_ops = {
	.name = "vmxnet3",
	.words = words,
	.match = match,
	.probe = probe,
	.ring_bytes = ring_bytes,
	.start = start,
	.stop = stop,
	.rx_left = rx_left,
	.link = vmxnet3_link,
	.stats = vmxnet3_stats,
	.attach = attach,
	.release = release,
	.rx_burst = rx_burst,
	.tx_burst = tx_burst,
	.tx_pending = tx_pending,
	.rx_interrupt = rx_interrupt,
	.slots_open = slots_open,
	.slots_put = slots_put,
	.slots_free = slots_free,
	.slots_send = slots_send,
};
