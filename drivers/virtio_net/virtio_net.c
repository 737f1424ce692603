/*
 * virtio-net: the device half (VIRTIO 1.2: 3.1 initialisation, 4.1 PCI, 5.1 network device) and the
 * table of operations. ring.c has the rings, reg.c the registers, ctrl.c the commands.
 *
 * Modern interface only; a transitional device is driven through its modern capabilities.
 * Negotiated when offered: checksum offload in both directions, segmentation of sent TCP and UDP,
 * mergeable buffers, MAC, MTU, link status, control queue, multi-queue, RSS, use in order, reset of
 * one queue. Omitted on purpose: EVENT_IDX (costs a fence per batch while polling), indirect
 * descriptors (the device would have to read a second place; a frame in pieces is a chain in the
 * ring), packed rings (measured slower for forwarding), received frames larger than the MTU (a
 * router has no use for them).
 */
#include "drivers/virtio_net/virtio_net.h"

#include "drivers/virtio_net/device.h"
#include "hal/dma.h"
#include "hal/mmio.h"
#include "lib/mem.h"

#define VECTOR_CONFIG 0 /* MSI-X entry of configuration changes; pair q has entry 1 + q */
#define CTRL_RING_SIZE 64

/* VIRTIO_F_ACCESS_PLATFORM (6.1): the device uses bus addresses and may be behind an IOMMU.
 * dma_addr() returns bus addresses in any case, and a device that offers the feature may refuse a
 * driver that does not accept it. */
#define FEATURES_WANTED \
	(VIRTIO_NET_F_CSUM | VIRTIO_NET_F_GUEST_CSUM | VIRTIO_NET_F_MTU | VIRTIO_NET_F_MAC | \
	 VIRTIO_NET_F_MRG_RXBUF | VIRTIO_NET_F_STATUS | VIRTIO_NET_F_CTRL_VQ | VIRTIO_NET_F_MQ | \
	 VIRTIO_NET_F_RSS | SEGMENTATION | VIRTIO_F_VERSION_1 | VIRTIO_F_IN_ORDER | \
	 VIRTIO_F_ACCESS_PLATFORM | VIRTIO_F_RING_RESET)
#define SEGMENTATION (VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6 | VIRTIO_NET_F_HOST_ECN | \
                      VIRTIO_NET_F_HOST_USO)

/* What a data core needs to know, in nic_shared.priv. */
struct shared {
	uint64_t notify; /* address of the doorbells */
	bool rx_csum;    /* GUEST_CSUM: the device may leave checksums to us */
	bool tx_csum;    /* CSUM: we may leave them to the device */
	bool tx_ecn;     /* HOST_ECN: it segments frames with CWR as RFC 3168 requires */
	bool in_order;   /* IN_ORDER: it uses buffers in the order they were made available */
	bool irq;
	struct shared_queue {
		uint32_t doorbell; /* from `notify` */
		uint16_t size;
	} queue[2 * NIC_PAIRS_MAX]; /* rx of pair q at 2q, tx at 2q + 1 */
};
_Static_assert(sizeof(struct shared) <= sizeof(((struct nic_shared *)0)->priv), "fits");

/* Driver state of the queue half, in nic_queue.priv. */
struct pair {
	struct virtio_ring rx, tx;
	bool rx_csum, irq;
};
_Static_assert(sizeof(struct pair) <= sizeof(((struct nic_queue *)0)->priv), "fits");

static struct pair *pair_of(struct nic_queue *q) { return (struct pair *)(void *)q->priv; }

static uint8_t status_read(struct nic *nic)
{
	return (uint8_t)virtio_read(nic, VIRTIO_DEVICE_STATUS, 1);
}

static void status_add(struct nic *nic, uint8_t bits)
{
	virtio_write(nic, VIRTIO_DEVICE_STATUS, 1, status_read(nic) | bits);
}

static bool match(const struct pci_dev *dev)
{
	return dev->vendor == VIRTIO_VENDOR && (dev->device == VIRTIO_DEVICE_NET ||
	                                        dev->device == VIRTIO_DEVICE_NET_TRANSITIONAL);
}

/* --- initialisation (3.1.1), in its order --- */

static int reset(struct nic *nic)
{
	uint64_t end = nic_deadline(nic, VIRTIO_WAIT_US);
	bool last;
	virtio_write(nic, VIRTIO_DEVICE_STATUS, 1, 0);
	do { /* 4.1.4.3.2: wait until the status reads 0 */
		last = nic_past(end); /* taken before the read, so that a late read still counts */
		if (status_read(nic) == 0)
			return E_OK;
	} while (!last);
	return virtio_fail(nic, E_TIMEOUT, "reset does not complete");
}

/* Resets the device after error `e`, and keeps the error's reason. */
static int give_up(struct nic *nic, int e)
{
	const char *why = nic->error;
	reset(nic);
	nic->error = why;
	return e;
}

static uint64_t features_offered(struct nic *nic)
{
	virtio_write(nic, VIRTIO_DEVICE_FEATURE_SELECT, 4, 0);
	uint64_t low = virtio_read(nic, VIRTIO_DEVICE_FEATURE, 4);
	virtio_write(nic, VIRTIO_DEVICE_FEATURE_SELECT, 4, 1);
	return low | (uint64_t)virtio_read(nic, VIRTIO_DEVICE_FEATURE, 4) << 32;
}

/* 5.1.3.1: a feature that depends on a missing one is dropped. */
static uint64_t features_that_fit(uint64_t f)
{
	if (!(f & VIRTIO_NET_F_CTRL_VQ))
		f &= ~(VIRTIO_NET_F_MQ | VIRTIO_NET_F_RSS);
	if (!(f & VIRTIO_NET_F_CSUM))
		f &= ~SEGMENTATION;
	if (!(f & (VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6)))
		f &= ~VIRTIO_NET_F_HOST_ECN;
	return f;
}

static int negotiate(struct nic *nic)
{
	struct device *d = virtio_device(nic);
	status_add(nic, VIRTIO_STATUS_ACKNOWLEDGE);
	status_add(nic, VIRTIO_STATUS_DRIVER);
	uint64_t f = features_that_fit(features_offered(nic) & FEATURES_WANTED);
	if (!(f & VIRTIO_F_VERSION_1))
		return virtio_fail(nic, E_NOTSUP, "device does not offer VIRTIO 1.x");
	if (d->t.config_bytes < VIRTIO_NET_CFG_HASH_TYPES + 4) /* its fields are not there */
		f &= ~VIRTIO_NET_F_RSS;
	if (d->t.common_bytes < VIRTIO_COMMON_BYTES_RESET) /* its register is not there */
		f &= ~VIRTIO_F_RING_RESET;
	if (f & VIRTIO_NET_F_MTU) {
		/* 5.1.4.1: a driver that accepts the MTU must have buffers for it. */
		d->mtu = virtio_config16(nic, VIRTIO_NET_CFG_MTU);
		if (d->mtu > NIC_MTU_MAX || d->mtu < 68)
			f &= ~VIRTIO_NET_F_MTU;
	}
	virtio_write(nic, VIRTIO_DRIVER_FEATURE_SELECT, 4, 0);
	virtio_write(nic, VIRTIO_DRIVER_FEATURE, 4, (uint32_t)f);
	virtio_write(nic, VIRTIO_DRIVER_FEATURE_SELECT, 4, 1);
	virtio_write(nic, VIRTIO_DRIVER_FEATURE, 4, (uint32_t)(f >> 32));
	status_add(nic, VIRTIO_STATUS_FEATURES_OK);
	if (!(status_read(nic) & VIRTIO_STATUS_FEATURES_OK))
		return virtio_fail(nic, E_DEVICE, "device refuses the features it offered");
	d->features = f;
	return E_OK;
}

static void learn(struct nic *nic)
{
	struct device *d = virtio_device(nic);
	uint64_t f = d->features;
	for (unsigned i = 0; i < 6; i++) {
		nic->mmio_reads++;
		nic->mac[i] = mmio_read8(d->t.config + VIRTIO_NET_CFG_MAC + i);
	}
	/* If the device has no MAC address: a locally administered one, made of the PCI address. */
	if (!(f & VIRTIO_NET_F_MAC) || (nic->mac[0] & 1)) {
		uint8_t own[6] = {0x02, 'h', 'y', 0, (uint8_t)(nic->pci->bdf >> 8),
		                  (uint8_t)nic->pci->bdf};
		memcpy(nic->mac, own, 6);
	}
	d->max_pairs = 1;
	if (f & (VIRTIO_NET_F_MQ | VIRTIO_NET_F_RSS))
		d->max_pairs = virtio_config16(nic, VIRTIO_NET_CFG_MAX_PAIRS);
	d->rss_table_max = f & VIRTIO_NET_F_RSS ? virtio_config16(nic, VIRTIO_NET_CFG_RSS_MAX_TABLE) : 0;
	if (d->max_pairs == 0 || d->max_pairs > 0x8000)
		d->max_pairs = 1;
	nic->pairs_max = d->max_pairs < NIC_PAIRS_MAX ? d->max_pairs : NIC_PAIRS_MAX;
	nic->mtu_max = f & VIRTIO_NET_F_MTU ? d->mtu : NIC_MTU_MAX;
	nic->features = NIC_SG | (f & VIRTIO_NET_F_GUEST_CSUM ? NIC_RX_CSUM : 0) |
	                (f & VIRTIO_NET_F_CSUM ? NIC_TX_CSUM : 0) |
	                (f & VIRTIO_NET_F_HOST_TSO4 ? NIC_TSO4 : 0) |
	                (f & VIRTIO_NET_F_HOST_TSO6 ? NIC_TSO6 : 0) |
	                (f & VIRTIO_NET_F_HOST_USO ? NIC_USO : 0) |
	                (f & VIRTIO_NET_F_STATUS ? NIC_LINK : 0) |
	                (f & VIRTIO_NET_F_RSS ? NIC_RSS : 0);
}

static int probe(struct nic *nic, const struct pci_dev *dev)
{
	nic->pci = dev;
	memset(nic->priv, 0, sizeof nic->priv);
	int e = virtio_find_structures(nic);
	if (e != E_OK)
		return e;
	pci_enable(dev);
	e = reset(nic);
	if (e != E_OK)
		return e;
	e = negotiate(nic);
	if (e != E_OK)
		return give_up(nic, e);
	learn(nic);
	/* The device stays in reset until start: it may not access memory before it is given
	 * any. */
	return reset(nic);
}

static size_t ring_bytes(const struct nic *nic)
{
	(void)nic;
	return 2 * virtio_ring_bytes(VIRTIO_RING_MAX);
}

static void write_address(struct nic *nic, enum virtio_common low, const volatile void *p)
{
	uint64_t bus = dma_addr(p).bus;
	virtio_write(nic, low, 4, (uint32_t)bus);
	virtio_write(nic, low + 4, 4, (uint32_t)(bus >> 32));
}

/* Sets up one queue (4.1.5.1.3). `size` is what we want, a power of two; the device may allow
 * less. */
static int start_queue(struct nic *nic, uint16_t index, void *mem, unsigned size, uint16_t vector,
                       struct virtio_ring *r)
{
	struct device *d = virtio_device(nic);
	virtio_write(nic, VIRTIO_QUEUE_SELECT, 2, index);
	unsigned most = virtio_read(nic, VIRTIO_QUEUE_SIZE, 2);
	if (most == 0 || most > 0x8000)
		return virtio_fail(nic, E_DEVICE, "a queue that should be there is not");
	while (size > most)
		size /= 2;
	virtio_ring_layout(r, mem, size); /* in a data core's arena: that core will fill it */
	virtio_write(nic, VIRTIO_QUEUE_SIZE, 2, size);
	virtio_write(nic, VIRTIO_QUEUE_MSIX_VECTOR, 2, vector);
	if (vector != VIRTIO_NO_VECTOR &&
	    virtio_read(nic, VIRTIO_QUEUE_MSIX_VECTOR, 2) == VIRTIO_NO_VECTOR)
		return virtio_fail(nic, E_DEVICE, "device has no resource for an interrupt vector");
	write_address(nic, VIRTIO_QUEUE_DESC_LO, r->desc);
	write_address(nic, VIRTIO_QUEUE_DRIVER_LO, r->avail);
	write_address(nic, VIRTIO_QUEUE_DEVICE_LO, r->used);
	r->doorbell = virtio_doorbell(&d->t, virtio_read(nic, VIRTIO_QUEUE_NOTIFY_OFF, 2));
	if (!r->doorbell)
		return virtio_fail(nic, E_DEVICE, "doorbell outside of its BAR");
	r->queue = index;
	virtio_write(nic, VIRTIO_QUEUE_ENABLE, 2, 1);
	return E_OK;
}

/* --- start, stop, link --- */

static int route_vectors(struct nic *nic, unsigned pairs, const struct nic_ring_mem *mem)
{
	struct device *d = virtio_device(nic);
	d->irq = nic->pci->msix_vectors > pairs;
	if (!d->irq)
		return E_OK; /* cores on this port poll without sleeping */
	int e = pci_msix_route(nic->pci, VECTOR_CONFIG, 0);
	for (unsigned q = 0; q < pairs && e == E_OK; q++)
		e = pci_msix_route(nic->pci, 1 + q, mem[q].core);
	return e == E_OK ? E_OK : virtio_fail(nic, e, "interrupt vectors cannot be routed");
}

static struct shared_queue shared_queue(const struct device *d, const struct virtio_ring *r)
{
	return (struct shared_queue){
		(uint32_t)((const volatile uint8_t *)r->doorbell - d->t.notify), r->size};
}

static int start_pair(struct nic *nic, unsigned q, const struct nic_ring_mem *mem, struct shared *s)
{
	const struct device *d = virtio_device(nic);
	struct virtio_ring rx, tx;
	uint16_t vector = d->irq ? (uint16_t)(1 + q) : VIRTIO_NO_VECTOR;
	uint8_t *half = (uint8_t *)mem->mem + virtio_ring_bytes(VIRTIO_RING_MAX);
	int e = start_queue(nic, (uint16_t)(2 * q), mem->mem, VIRTIO_RING_MAX, vector, &rx);
	if (e == E_OK)
		e = start_queue(nic, (uint16_t)(2 * q + 1), half, VIRTIO_RING_MAX, VIRTIO_NO_VECTOR,
		                &tx);
	if (e != E_OK)
		return e;
	s->queue[2 * q] = shared_queue(d, &rx);
	s->queue[2 * q + 1] = shared_queue(d, &tx);
	return E_OK;
}

static int start_all(struct nic *nic, unsigned pairs, const struct nic_ring_mem *mem,
                     struct shared *s)
{
	struct device *d = virtio_device(nic);
	int e = negotiate(nic);
	if (e == E_OK)
		e = route_vectors(nic, pairs, mem);
	if (e != E_OK)
		return e;
	if (d->irq)
		virtio_write(nic, VIRTIO_CONFIG_MSIX_VECTOR, 2, VECTOR_CONFIG);
	d->pairs = pairs;
	for (unsigned q = 0; q < pairs && e == E_OK; q++)
		e = start_pair(nic, q, &mem[q], s);
	if (e == E_OK && d->features & VIRTIO_NET_F_CTRL_VQ) {
		memset(nic->dma, 0, NIC_DMA_BYTES);
		/* 5.1.2: the control queue comes after all the pairs that the device has. */
		uint16_t index = d->features & (VIRTIO_NET_F_MQ | VIRTIO_NET_F_RSS)
		                         ? (uint16_t)(2 * d->max_pairs)
		                         : 2;
		e = start_queue(nic, index, nic->dma, CTRL_RING_SIZE, VIRTIO_NO_VECTOR,
		                &d->ctrl);
	}
	if (e != E_OK)
		return e;
	status_add(nic, VIRTIO_STATUS_DRIVER_OK);
	return virtio_choose_pairs(nic);
}

static int start(struct nic *nic, const struct nic_config *config, struct nic_shared *shared)
{
	struct shared *s = (struct shared *)(void *)shared->priv;
	int e = reset(nic);
	if (e != E_OK)
		return e;
	e = start_all(nic, config->pairs, config->mem, s);
	if (e != E_OK)
		return give_up(nic, e);
	const struct device *d = virtio_device(nic);
	s->notify = (uint64_t)(uintptr_t)d->t.notify;
	s->rx_csum = (d->features & VIRTIO_NET_F_GUEST_CSUM) != 0;
	s->tx_csum = (d->features & VIRTIO_NET_F_CSUM) != 0;
	s->tx_ecn = (d->features & VIRTIO_NET_F_HOST_ECN) != 0;
	s->in_order = (d->features & VIRTIO_F_IN_ORDER) != 0;
	s->irq = d->irq;
	shared->pairs = (uint8_t)config->pairs;
	shared->buckets = virtio_buckets(d);
	shared->features = nic->features;
	for (unsigned q = 0; q < config->pairs; q++) /* 2.7.5: no chain is longer than its queue */
		if (s->queue[2 * q + 1].size < VIRTIO_CHAIN_MAX)
			shared->features &= ~(uint32_t)NIC_SG;
	return E_OK;
}

static void stop(struct nic *nic)
{
	reset(nic);
}

/* --- one pair alone (2.6.1) --- */

static int reset_queue(struct nic *nic, unsigned index)
{
	uint64_t end = nic_deadline(nic, VIRTIO_WAIT_US);
	bool last;
	virtio_write(nic, VIRTIO_QUEUE_SELECT, 2, index);
	virtio_write(nic, VIRTIO_QUEUE_RESET, 2, 1);
	do { /* 4.1.4.3.2: wait until it reads 0 */
		last = nic_past(end);
		if (virtio_read(nic, VIRTIO_QUEUE_RESET, 2) == 0)
			return E_OK;
	} while (!last);
	return virtio_fail(nic, E_TIMEOUT, "reset of a queue does not complete");
}

static int pair_stop(struct nic *nic, unsigned pair)
{
	if (!(virtio_device(nic)->features & VIRTIO_F_RING_RESET))
		return virtio_fail(nic, E_NOTSUP, "the device cannot reset one queue");
	int e = reset_queue(nic, 2 * pair);
	return e == E_OK ? reset_queue(nic, 2 * pair + 1) : e;
}

static int pair_start(struct nic *nic, const struct nic_config *config, unsigned pair,
                      struct nic_shared *shared)
{
	return start_pair(nic, pair, &config->mem[pair], (struct shared *)(void *)shared->priv);
}

static void link(struct nic *nic, struct nic_link *out)
{
	bool status = virtio_device(nic)->features & VIRTIO_NET_F_STATUS;
	*out = (struct nic_link){
		.up = !status || virtio_config16(nic, VIRTIO_NET_CFG_STATUS) & VIRTIO_NET_S_LINK_UP};
}

/* --- queue half --- */

static void attach_ring(struct virtio_ring *r, void *mem, const struct shared *s, unsigned queue)
{
	virtio_ring_init(r, mem, s->queue[queue].size);
	r->doorbell = (volatile void *)(uintptr_t)(s->notify + s->queue[queue].doorbell);
	r->queue = (uint16_t)queue;
	r->in_order = s->in_order;
}

static int attach(struct nic_queue *q, const struct nic_shared *shared, unsigned pair, void *mem)
{
	const struct shared *s = (const struct shared *)(const void *)shared->priv;
	struct pair *p = pair_of(q);
	attach_ring(&p->rx, mem, s, 2 * pair);
	attach_ring(&p->tx, (uint8_t *)mem + virtio_ring_bytes(VIRTIO_RING_MAX), s, 2 * pair + 1);
	p->rx.port = q->port;
	p->rx_csum = s->rx_csum;
	p->tx.csum = s->tx_csum;
	p->tx.ecn = s->tx_ecn;
	p->irq = s->irq;
	virtio_rx_fill(&p->rx, q->rx_buffers, q->pool, q->cnt);
	q->rx_buffers = p->rx.most;
	return E_OK;
}

static void release(struct nic_queue *q)
{
	virtio_release(&pair_of(q)->rx, q->pool);
	virtio_release(&pair_of(q)->tx, q->pool);
}

static unsigned rx_left(const struct nic_shared *shared, unsigned pair, const void *mem,
                        uint64_t place)
{
	const struct shared *s = (const struct shared *)(const void *)shared->priv;
	return virtio_rx_left(mem, s->queue[2 * pair].size, place);
}

static unsigned rx_burst(struct nic_queue *q, struct pkt *v, unsigned max)
{
	struct pair *p = pair_of(q);
	unsigned n = virtio_rx_burst(&p->rx, q->pool, q->cnt, v, max, p->rx_csum, &q->broken);
	if (n == 0)
		virtio_settle(&p->rx, q->cnt);
	virtio_settle(&p->tx, q->cnt); /* counts turns without sending, whatever is received */
	return n;
}

static unsigned tx_burst(struct nic_queue *q, const struct pkt *v, unsigned n)
{
	return virtio_tx_burst(&pair_of(q)->tx, q->pool, q->cnt, v, n, &q->broken);
}

static unsigned tx_pending(const struct nic_queue *q)
{
	const struct virtio_ring *r = &((const struct pair *)(const void *)q->priv)->tx;
	return (uint16_t)(r->head - r->tail);
}

static unsigned slots_open(struct nic_queue *q)
{
	return virtio_slots_open(&pair_of(q)->tx, q->pool, q->cnt, &q->broken);
}

static void slots_put(struct nic_queue *q, unsigned first, const struct nic_slot *s, unsigned n)
{
	virtio_slots_put(&pair_of(q)->tx, first, s, n);
}

static unsigned slots_free(struct nic_queue *q)
{
	return virtio_slots_free(&pair_of(q)->tx, q->cnt, &q->broken);
}

static void slots_send(struct nic_queue *q, unsigned n, uint64_t bytes)
{
	virtio_slots_send(&pair_of(q)->tx, q->cnt, n, bytes);
}

static bool rx_interrupt(struct nic_queue *q, bool arm)
{
	struct pair *p = pair_of(q);
	if (!p->irq)
		return true; /* nothing would wake us */
	q->cnt->irq_arms += arm;
	for (unsigned i = 0; arm && i < 2; i++) { /* nobody looks again while the core sleeps */
		virtio_settle(&p->rx, q->cnt);
		virtio_settle(&p->tx, q->cnt);
	}
	return virtio_rx_interrupt(&p->rx, arm);
}

static const struct nic_word words[] = {
	NIC_WORD(struct pair, rx.head),    NIC_WORD(struct pair, rx.tail),
	NIC_WORD(struct pair, rx.size),    NIC_WORD(struct pair, rx.most),
	NIC_WORD(struct pair, rx.missing), NIC_WORD(struct pair, rx.notify),
	NIC_WORD(struct pair, tx.head),    NIC_WORD(struct pair, tx.tail),
	NIC_WORD(struct pair, tx.next),    NIC_WORD(struct pair, tx.done),
	NIC_WORD(struct pair, tx.size),    NIC_WORD(struct pair, tx.notify),
	{0},
};

const struct nic_ops virtio_net_ops = {
	.name = "virtio_net",
	.words = words,
	.match = match,
	.probe = probe,
	.ring_bytes = ring_bytes,
	.start = start,
	.stop = stop,
	.rx_left = rx_left,
	.pair_stop = pair_stop,
	.pair_start = pair_start,
	.table = virtio_table,
	.link = link,
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
