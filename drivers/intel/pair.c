/* See pair.h. */
#include "drivers/intel/pair.h"

#include "drivers/intel/ring.h"
#include "hal/barrier.h"
#include "hal/mmio.h"

/* What a data core needs to know, in nic_shared.priv. */
struct shared {
	uint64_t bar;
	uint32_t buf_bytes;
	bool irq; /* enough MSI-X vectors to wake every core */
};
_Static_assert(sizeof(struct shared) <= sizeof(((struct nic_shared *)0)->priv), "fits");

/* In nic_queue.priv. */
struct pair {
	struct intel_rx rx;
	struct intel_tx tx;
	volatile void *irq_on, *irq_off;
	uint32_t irq_bit; /* 0: nothing would wake us */
};
_Static_assert(sizeof(struct pair) <= sizeof(((struct nic_queue *)0)->priv), "fits");

static struct pair *pair_of(struct nic_queue *q) { return (struct pair *)(void *)q->priv; }

size_t intel_ring_bytes(const struct nic *nic)
{
	(void)nic;
	return intel_layout(INTEL_RING_SIZE).bytes;
}

bool intel_has_vectors(const struct nic *nic, const struct nic_config *config)
{
	return nic->pci->msix_vectors > config->pairs;
}

void intel_share(struct nic *nic, const struct nic_config *config, struct nic_shared *shared)
{
	struct shared *s = (struct shared *)(void *)shared->priv;
	*s = (struct shared){.bar = (uint64_t)(uintptr_t)intel_device(nic)->bar,
	                     .buf_bytes = config->buf_bytes,
	                     .irq = intel_has_vectors(nic, config)};
	shared->pairs = (uint8_t)config->pairs;
	shared->buckets = (uint16_t)intel_buckets(intel_device(nic)->chip);
	shared->features = nic->features & config->features;
}

int intel_attach(const struct intel_chip *chip, struct nic_queue *q, const struct nic_shared *shared, unsigned pair,
                 void *mem)
{
	const struct shared *s = (const struct shared *)(const void *)shared->priv;
	volatile uint8_t *bar = (volatile uint8_t *)(uintptr_t)s->bar;
	struct pair *p = pair_of(q);
	if (q->pool->stride != s->buf_bytes)
		return E_INVAL; /* the device would write past them */
	intel_rx_init(&p->rx, mem, INTEL_RING_SIZE, q->rx_buffers, q->pool);
	q->rx_buffers = p->rx.most;
	intel_tx_init(&p->tx, mem, INTEL_RING_SIZE);
	p->rx.tail_reg = intel_reg_at(chip, bar, chip->rdt, pair);
	p->tx.tail_reg = intel_reg_at(chip, bar, chip->tdt, pair);
	p->rx.port = q->port;
	p->rx.bad_mask = chip->rxd_mac;
	if (shared->features & NIC_RX_CSUM)
		p->rx.csum_mask = INTEL_RXD_L4I | chip->rxd_csum;
	if (shared->features & NIC_VLAN)
		p->rx.vlan_mask = INTEL_RXD_VP;
	p->irq_on = intel_reg_at(chip, bar, chip->irq_on, 0);
	p->irq_off = intel_reg_at(chip, bar, chip->irq_off, 0);
	p->irq_bit = s->irq ? 1u << (1 + pair) : 0;
	intel_rx_fill(&p->rx, q->pool, q->cnt);
	return E_OK;
}

void intel_nic_release(struct nic_queue *q)
{
	intel_rx_release(&pair_of(q)->rx, q->pool);
	intel_tx_release(&pair_of(q)->tx, q->pool);
}

unsigned intel_nic_rx_left(const struct nic_shared *shared, unsigned pair, const void *mem, uint64_t place)
{
	(void)shared;
	(void)pair;
	return intel_rx_left(mem, INTEL_RING_SIZE, place);
}

unsigned intel_nic_rx_burst(struct nic_queue *q, struct pkt *v, unsigned max)
{
	return intel_rx_burst(&pair_of(q)->rx, q->pool, q->cnt, v, max);
}

unsigned intel_nic_tx_burst(struct nic_queue *q, const struct pkt *v, unsigned n)
{
	return intel_tx_burst(&pair_of(q)->tx, q->pool, q->cnt, v, n, &q->broken);
}

unsigned intel_nic_tx_pending(const struct nic_queue *q)
{
	const struct intel_tx *r = &((const struct pair *)(const void *)q->priv)->tx;
	return r->head - r->tail;
}

unsigned intel_nic_slots_open(struct nic_queue *q)
{
	return intel_slots_open(&pair_of(q)->tx, q->pool, q->cnt, &q->broken);
}

void intel_nic_slots_put(struct nic_queue *q, unsigned first, const struct nic_slot *s, unsigned n)
{
	intel_slots_put(&pair_of(q)->tx, first, s, n);
}

void intel_nic_slot_stamp(struct nic_queue *q, unsigned slot)
{
	intel_slot_stamp(&pair_of(q)->tx, slot);
}

unsigned intel_nic_slots_free(struct nic_queue *q)
{
	return intel_slots_free(&pair_of(q)->tx, q->cnt, &q->broken);
}

void intel_nic_slots_send(struct nic_queue *q, unsigned n, uint64_t bytes)
{
	intel_slots_send(&pair_of(q)->tx, q->cnt, n, bytes);
}

bool intel_nic_rx_interrupt(struct nic_queue *q, bool arm)
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
	return intel_rx_waiting(&p->rx);
}

const struct nic_word intel_words[] = {
	NIC_WORD(struct pair, rx.head),     NIC_WORD(struct pair, rx.tail),
	NIC_WORD(struct pair, rx.told),     NIC_WORD(struct pair, rx.most),
	NIC_WORD(struct pair, rx.dropping), NIC_WORD(struct pair, tx.head),
	NIC_WORD(struct pair, tx.tail),     {0},
};
