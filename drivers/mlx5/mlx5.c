/*
 * mlx5: ConnectX-4, 4 Lx, 5, 6, 6 Dx, 6 Lx and 7, the table of operations. Functions with a port set
 * to Ethernet, physical and virtual ones. A virtual function has the port that its host gives it: it
 * sets neither the port's state nor its flow control, and receives groups (so also IPv6's neighbour
 * discovery) only if the host trusts it.
 *
 * Omitted: compressed CQEs in their enhanced layout (ConnectX-7), UDP
 * segmentation (the device does not set each datagram's length), rate limits, the card's clock
 * (time stamps). Firmware that has stopped answering is reset at the next start, which mlx5_link asks for.
 */
#include "drivers/mlx5/mlx5.h"

#include "drivers/mlx5/device.h"
#include "drivers/mlx5/ring.h"
#include "hal/barrier.h"
#include "hal/mmio.h"
#include "lib/mem.h"

#define RING_SIZE (1u << MLX5_RING_LOG_SIZE)
#define WQE_BYTES_SG 1024 /* headers and all pieces of the longest chain */
#define LSO_BYTES_MIN 65536
_Static_assert(NIC_SLOTS_MAX == RING_SIZE, "a slot for each WQEBB");
_Static_assert((2 + (MLX5_INLINE_MAX + 13) / 16 + 1 + PKT_FRAGS_MAX) * MLX5_SEGMENT_BYTES <=
                       WQE_BYTES_SG, "fits");

/* What a data core needs to know, in nic_shared.priv. */
struct shared {
	uint64_t regs; /* of the device */
	uint16_t uar[MLX5_UARS_MAX], uars; /* our pages of doorbells, as in struct mlx5_device */
	uint32_t buf_bytes;
	uint32_t lkey;
	uint32_t inline_bytes;
	uint32_t frame_bytes; /* longest frame on this port, FCS not counted */
	bool multi_send;
	bool compressed; /* CQEs of received frames */
	bool irq; /* enough MSI-X vectors to wake every core */
	struct {
		uint32_t sqn, rx_cqn;
		uint16_t eqn; /* of 8 bits */
		struct mlx5_fate fate;
	} pair[NIC_PAIRS_MAX];
};
_Static_assert(sizeof(struct shared) <= sizeof(((struct nic_shared *)0)->priv), "fits");

/* In nic_queue.priv. */
struct pair {
	struct mlx5_rx rx;
	struct mlx5_tx tx;
	volatile uint8_t *uar;
	const uint8_t *eq;
	const struct mlx5_fate *fate;
	uint32_t eqn, cqn;
	uint32_t eq_index; /* events taken, which is also how often the CQ has fired */
	bool armed;        /* since the last event */
	bool irq;          /* false: nothing would wake us */
};
_Static_assert(sizeof(struct pair) <= sizeof(((struct nic_queue *)0)->priv), "fits");

static struct pair *pair_of(struct nic_queue *q) { return (struct pair *)(void *)q->priv; }

/* From the PCI ID list. */
static const struct id {
	uint16_t device;
	bool virtual;
} ids[] = {
	{0x1013, false}, /* ConnectX-4 */
	{0x1014, true},
	{0x1015, false}, /* ConnectX-4 Lx */
	{0x1016, true},
	{0x1017, false}, /* ConnectX-5 */
	{0x1018, true},
	{0x1019, false}, /* ConnectX-5 Ex */
	{0x101a, true},
	{0x101b, false}, /* ConnectX-6 */
	{0x101c, true},
	{0x101d, false}, /* ConnectX-6 Dx */
	{0x101e, true},  /* of this and later ones */
	{0x101f, false}, /* ConnectX-6 Lx */
	{0x1021, false}, /* ConnectX-7 */
};

static const struct id *find_id(const struct pci_dev *dev)
{
	for (unsigned i = 0; dev->vendor == MLX5_VENDOR && i < ARRAY_LEN(ids); i++)
		if (ids[i].device == dev->device)
			return &ids[i];
	return NULL;
}

static bool match(const struct pci_dev *dev)
{
	return find_id(dev) != NULL;
}

/* --- device half --- */

static uint32_t inline_bytes(uint8_t mode)
{
	static const uint8_t bytes[] = {0, MLX5_INLINE_L2, MLX5_INLINE_IP, MLX5_INLINE_L4};
	return bytes[mode < ARRAY_LEN(bytes) ? mode : ARRAY_LEN(bytes) - 1];
}

static int learn(struct nic *nic)
{
	const struct mlx5_caps *c = &mlx5_device(nic)->caps;
	if (c->log_wq_size < MLX5_RING_LOG_SIZE || c->log_cq_size < MLX5_RING_LOG_SIZE)
		return mlx5_fail(nic, E_NOTSUP, "queues are too short");
	nic->pairs_max = c->pairs < c->rqt_size ? c->pairs : c->rqt_size;
	nic->mtu_max = NIC_MTU_MAX;
	nic->features = NIC_LINK | NIC_RSS;
	if (c->csum)
		nic->features |= NIC_RX_CSUM | NIC_TX_CSUM;
	if (c->vlan_strip)
		nic->features |= NIC_VLAN;
	if (c->wqe_bytes >= WQE_BYTES_SG)
		nic->features |= NIC_SG;
	if (c->csum && c->wqe_bytes >= WQE_BYTES_SG && c->lso_bytes >= LSO_BYTES_MIN)
		nic->features |= NIC_TSO;
	return E_OK;
}

/* All that probe learns, by a bring-up that is undone. */
static int learn_device(struct nic *nic)
{
	int e = mlx5_hca_up(nic);
	if (e == E_OK)
		e = mlx5_vport_learn(nic);
	if (e == E_OK)
		e = learn(nic);
	mlx5_hca_down(nic);
	return e;
}

static int probe(struct nic *nic, const struct pci_dev *dev)
{
	struct mlx5_device *d = mlx5_device(nic);
	const bool revived = d->revived; /* by the probe before, if that returned E_AGAIN */
	nic->pci = dev;
	memset(nic->priv, 0, sizeof nic->priv);
	d->revived = revived;
	d->virtual = find_id(dev)->virtual;
	mlx5_timeouts_start(nic);
	if (dev->bar[0].addr == 0 || dev->bar[0].bytes < MLX5_INIT_SEGMENT_BYTES) {
		nic->error = "registers (BAR 0) are not mapped";
		return E_NOTSUP;
	}
	d->regs = (volatile uint8_t *)(uintptr_t)dev->bar[0].addr;
	int e = mlx5_ready_soon(nic);
	if (e == E_OK)
		e = mlx5_hca_forget(nic);
	if (e == E_OK)
		e = mlx5_ready_soon(nic); /* after a reset */
	if (e != E_OK)
		return e;
	d->memory = nic->dma_more(sizeof *d->memory);
	if (!d->memory) {
		nic->error = "no memory for commands";
		return E_NOMEM;
	}
	pci_enable(dev);
	e = learn_device(nic);
	int again = d->dead ? mlx5_revive(nic) : E_NOTSUP;
	if (again == E_OK)
		e = learn_device(nic);
	else if (again == E_AGAIN)
		return again;
	if (e == E_OK && d->dead)
		e = mlx5_fail(nic, E_TIMEOUT, "no answer from firmware, or a refusal, at the end of its probe");
	return e;
}

static size_t ring_bytes(const struct nic *nic)
{
	(void)nic;
	return mlx5_layout(MLX5_RING_LOG_SIZE).bytes;
}

static int route_vectors(struct nic *nic, const struct nic_config *config)
{
	int e = pci_msix_route(nic->pci, 0, 0);
	for (unsigned q = 0; q < config->pairs && e == E_OK; q++)
		e = pci_msix_route(nic->pci, 1 + q, config->mem[q].core);
	return e == E_OK ? E_OK : mlx5_fail(nic, e, "interrupt vectors cannot be routed");
}

/* Publishes what the data core has to know of a pair. */
static void tell_pair(struct nic *nic, struct shared *s, unsigned q)
{
	const struct mlx5_pair *pair = &mlx5_device(nic)->memory->pair[q];
	s->pair[q].sqn = pair->sqn;
	s->pair[q].rx_cqn = pair->rx_cqn;
	s->pair[q].eqn = (uint16_t)pair->eqn;
}

static int start_pairs(struct nic *nic, const struct nic_config *config, struct shared *s)
{
	struct mlx5_pair *pair = mlx5_device(nic)->memory->pair;
	int e = E_OK;
	for (unsigned q = 0; q < config->pairs && e == E_OK; q++) {
		pair[q] = (struct mlx5_pair){.cnt = config->mem[q].cnt, .fate = &s->pair[q].fate};
		e = mlx5_pair_start(nic, config, q, s->irq, &pair[q]);
		tell_pair(nic, s, q);
	}
	s->frame_bytes = config->buf_bytes - BUF_DATA_OFFSET;
	return e;
}

static int start_device(struct nic *nic, const struct nic_config *config, struct shared *s)
{
	int e = mlx5_hca_up(nic);
	if (e == E_OK)
		e = mlx5_vport_learn(nic);
	if (e == E_OK && s->irq)
		e = route_vectors(nic, config);
	if (e == E_OK)
		e = mlx5_shared_start(nic, config->pairs);
	if (e == E_OK)
		e = start_pairs(nic, config, s);
	if (e == E_OK)
		e = mlx5_steering_start(nic, config->pairs);
	return e == E_OK ? mlx5_port_start(nic, &s->frame_bytes) : e;
}

static uint32_t is_promiscuous(const struct nic_config *config)
{
	return (config->features & NIC_PROMISC) != 0;
}

/* Gives a parked device its queues again. False: it has to be stopped and started. */
static bool restart_queues(struct nic *nic, const struct nic_config *config, struct shared *s)
{
	struct mlx5_device *d = mlx5_device(nic);
	const bool alike = d->parked == config->pairs && d->promiscuous == is_promiscuous(config);
	int e = alike && !d->dead ? E_OK : E_NOTSUP;
	if (e == E_OK && s->irq)
		e = route_vectors(nic, config);
	if (e == E_OK)
		e = start_pairs(nic, config, s);
	if (e == E_OK)
		e = mlx5_port_again(nic, &s->frame_bytes);
	if (e == E_OK)
		e = mlx5_spread(nic, UINT64_MAX >> (NIC_PAIRS_MAX - config->pairs));
	d->parked = 0;
	return e == E_OK;
}

/* The queues exist: publishes what data cores have to know. */
static void started(struct nic *nic, const struct nic_config *config, struct nic_shared *shared)
{
	struct mlx5_device *d = mlx5_device(nic);
	struct shared *s = (struct shared *)(void *)shared->priv;
	d->pairs = config->pairs;
	mlx5_mend_start(nic);
	s->regs = (uint64_t)(uintptr_t)d->regs;
	memcpy(s->uar, d->uar, sizeof s->uar);
	s->uars = (uint16_t)d->uars;
	s->buf_bytes = config->buf_bytes;
	s->lkey = d->lkey;
	s->inline_bytes = inline_bytes(d->caps.inline_mode);
	s->compressed = d->caps.cqe_compression;
	s->multi_send = d->caps.multi_send && s->inline_bytes == 0;
	shared->pairs = (uint8_t)config->pairs;
	shared->buckets = mlx5_buckets(d);
	shared->features = nic->features & config->features;
}

static int start(struct nic *nic, const struct nic_config *config, struct nic_shared *shared)
{
	struct mlx5_device *d = mlx5_device(nic);
	struct shared *s = (struct shared *)(void *)shared->priv;
	int e = nic_config_check(nic, config, ring_bytes(nic), MLX5_PAGE_BYTES);
	if (e != E_OK)
		return e;
	/* Without a vector for each pair, cores on this port poll and never sleep. */
	s->irq = nic->pci->msix_vectors > config->pairs;
	if (d->parked && restart_queues(nic, config, s)) {
		started(nic, config, shared);
		return E_OK;
	}
	mlx5_hca_down(nic);
	d->refused = 0;
	d->promiscuous = is_promiscuous(config);
	if (d->dead)
		e = mlx5_revive(nic);
	if (e == E_AGAIN)
		return e;
	if (d->dead)
		return mlx5_fail(nic, E_DEVICE, "firmware has stopped answering, or did not let go, before");
	e = mlx5_ready_soon(nic);
	if (e != E_OK)
		return e;
	e = start_device(nic, config, s);
	if (e != E_OK)
		mlx5_hca_down(nic);
	if (d->dead) {
		int again = mlx5_revive(nic);
		if (again == E_OK)
			e = start_device(nic, config, s);
		if (again == E_OK && e != E_OK)
			mlx5_hca_down(nic);
		e = again == E_AGAIN ? again : e;
	}
	if (e != E_OK)
		return e;
	d->revived = false;
	mlx5_health_start(nic);
	started(nic, config, shared);
	return E_OK;
}

static void stop(struct nic *nic)
{
	mlx5_hca_down(nic);
	mlx5_device(nic)->pairs = 0;
}

static int pair_start(struct nic *nic, const struct nic_config *config, unsigned pair,
                      struct nic_shared *shared)
{
	struct shared *s = (struct shared *)(void *)shared->priv;
	int e = nic_config_check(nic, config, ring_bytes(nic), MLX5_PAGE_BYTES);
	if (e == E_OK)
		e = mlx5_pair_again(nic, config, pair, s->irq);
	tell_pair(nic, s, pair);
	return e;
}

/* --- queue half --- */

static int attach(struct nic_queue *q, const struct nic_shared *shared, unsigned pair, void *mem)
{
	const struct shared *s = (const struct shared *)(const void *)shared->priv;
	struct mlx5_layout l = mlx5_layout(MLX5_RING_LOG_SIZE);
	struct pair *p = pair_of(q);
	uint8_t *eq = (uint8_t *)mem + l.eq;
	if (q->pool->stride != s->buf_bytes)
		return E_INVAL; /* the device would write past them */
	mlx5_rx_init(&p->rx, mem, MLX5_RING_LOG_SIZE, q->pool, s->lkey);
	mlx5_tx_init(&p->tx, mem, MLX5_RING_LOG_SIZE);
	if (s->compressed)
		mlx5_rx_compressed(&p->rx);
	p->uar = (volatile uint8_t *)(uintptr_t)s->regs +
	         (size_t)s->uar[pair % s->uars] * MLX5_UAR_BYTES;
	p->rx.port = q->port;
	p->rx.most = q->rx_buffers = u32_min(q->rx_buffers, p->rx.most);
	p->rx.csum_mask = shared->features & NIC_RX_CSUM ? MLX5_CQE_H_OK : 0;
	p->rx.vlan_mask = shared->features & NIC_VLAN ? MLX5_CQE_H_VLAN : 0;
	p->tx.doorbell = p->uar + MLX5_UAR_SQ_DOORBELL;
	p->tx.sqn_word = s->pair[pair].sqn << MLX5_WQE_SQN_SHIFT;
	p->tx.lkey = s->lkey;
	p->tx.inline_bytes = s->inline_bytes;
	p->tx.multi = s->multi_send;
	p->fate = &s->pair[pair].fate;
	p->irq = s->irq;
	q->slot_len_max = s->frame_bytes;
	p->eqn = s->pair[pair].eqn;
	p->cqn = s->pair[pair].rx_cqn;
	p->eq = eq;
	for (unsigned i = 0; i < 1u << MLX5_PAIR_EQ_LOG_SIZE; i++) /* not owned as in the first pass */
		eq[i * MLX5_EQE_BYTES + MLX5_EQE_OWNER] = 1;
	mlx5_rx_fill(&p->rx, q->pool, q->cnt);
	return E_OK;
}

static void release(struct nic_queue *q)
{
	mlx5_rx_release(&pair_of(q)->rx, q->pool);
	mlx5_tx_free(&pair_of(q)->tx, q->pool);
}

static unsigned rx_left(const struct nic_shared *shared, unsigned pair, const void *mem,
                        uint64_t place)
{
	(void)shared;
	(void)pair;
	const size_t cq = mlx5_layout(MLX5_RING_LOG_SIZE).rx_cq;
	return mlx5_rx_left((const uint8_t *)mem + cq, MLX5_RING_LOG_SIZE, place);
}

static unsigned rx_burst(struct nic_queue *q, struct pkt *v, unsigned max)
{
	return mlx5_rx_burst(&pair_of(q)->rx, q->pool, q->cnt, v, max, &q->broken);
}

static unsigned tx_burst(struct nic_queue *q, const struct pkt *v, unsigned n)
{
	return mlx5_tx_burst(&pair_of(q)->tx, q->pool, q->cnt, v, n, &q->broken);
}

static unsigned tx_pending(const struct nic_queue *q)
{
	const struct mlx5_tx *r = &((const struct pair *)(const void *)q->priv)->tx;
	return r->frame_head - r->frame_tail;
}

static bool is_mended(const struct pair *p, enum mlx5_queue queue, uint64_t errors)
{
	return __atomic_load_n(&p->fate->mended[queue], __ATOMIC_ACQUIRE) == (uint16_t)errors;
}

static bool mend(struct nic_queue *q)
{
	struct pair *p = pair_of(q);
	if (!p->rx.failed && !p->tx.failed)
		return false; /* the device broke the protocol */
	if (p->rx.failed && is_mended(p, MLX5_QUEUE_RECEIVE, q->cnt->rx_queue_errors))
		mlx5_rx_restart(&p->rx, q->pool, q->cnt);
	if (p->tx.failed && is_mended(p, MLX5_QUEUE_SEND, q->cnt->tx_queue_errors))
		mlx5_tx_restart(&p->tx, q->pool);
	q->broken = p->rx.failed || p->tx.failed;
	if (!q->broken || !__atomic_load_n(&p->fate->hopeless, __ATOMIC_ACQUIRE))
		return true;
	q->error = "the firmware does not take it out of its error state";
	return false;
}

static unsigned slots_open(struct nic_queue *q)
{
	struct pair *p = pair_of(q);
	/* Longer headers would make the WQE longer than a slot. A caller without slots sends
	 * packets. */
	return p->tx.inline_bytes <= MLX5_INLINE_L2
	               ? mlx5_slots_open(&p->tx, q->pool, q->cnt, &q->broken)
	               : 0;
}

static void slots_put(struct nic_queue *q, unsigned first, const struct nic_slot *s, unsigned n)
{
	mlx5_slots_put(&pair_of(q)->tx, first, s, n);
}

static unsigned slots_free(struct nic_queue *q)
{
	return mlx5_slots_free(&pair_of(q)->tx, q->cnt, &q->broken);
}

static void slots_send(struct nic_queue *q, unsigned n, uint64_t bytes)
{
	mlx5_slots_send(&pair_of(q)->tx, q->cnt, n, bytes);
}

/* Takes the events that the CQ has generated since it was armed: one for each arming. */
static void take_events(struct pair *p)
{
	for (unsigned i = 0; i < 1u << MLX5_PAIR_EQ_LOG_SIZE; i++) {
		uint32_t at = p->eq_index & ((1u << MLX5_PAIR_EQ_LOG_SIZE) - 1);
		uint8_t owner = __atomic_load_n(&p->eq[at * MLX5_EQE_BYTES + MLX5_EQE_OWNER],
		                                __ATOMIC_ACQUIRE);
		if ((owner & 1) != (p->eq_index >> MLX5_PAIR_EQ_LOG_SIZE & 1))
			break;
		p->eq_index++;
		p->armed = false;
	}
}

/*
 * An armed CQ generates one event, and none until it is armed again, so it need not be disarmed. It
 * is not armed again before the event of the last arming has been seen: doorbells take a while to
 * arrive, and each of several would generate an event, more than the EQ can hold.
 */
static void ask_interrupt(struct nic_queue *q, struct pair *p)
{
	uint32_t eq_word = p->eqn << MLX5_EQ_ARM_EQN_SHIFT | (p->eq_index & MLX5_INDEX_MASK);
	uint32_t cq_word = p->rx.cq_head & MLX5_INDEX_MASK;
	cq_word |= (p->eq_index & 3) << MLX5_CQ_ARM_SN_SHIFT;
	uint64_t doorbell = (uint64_t)be32_make(p->cqn).raw << 32 | be32_make(cq_word).raw;
	be32_store(p->rx.cq.dbr + MLX5_DBR_ARM, cq_word);
	barrier_write();
	mmio_write32(p->uar + MLX5_UAR_EQ_ARM, be32_make(eq_word).raw);
	mmio_write64(p->uar + MLX5_UAR_CQ_ARM, doorbell);
	p->armed = true;
	q->cnt->irq_arms++;
	q->cnt->mmio_writes += 2;
}

static bool rx_interrupt(struct nic_queue *q, bool arm)
{
	struct pair *p = pair_of(q);
	if (!p->irq)
		return true;
	if (!arm)
		return false;
	take_events(p);
	if (!p->armed)
		ask_interrupt(q, p);
	/* A frame that arrives before this write takes effect lies beyond the index: the CQ then
	 * fires. */
	barrier_full();
	return mlx5_rx_waiting(&p->rx);
}

static const struct nic_word words[] = {
	NIC_WORD(struct pair, rx.head),         NIC_WORD(struct pair, rx.tail),
	NIC_WORD(struct pair, rx.most),         NIC_WORD(struct pair, rx.cq_head),
	NIC_WORD(struct pair, rx.session.left), NIC_WORD(struct pair, rx.failed),
	NIC_WORD(struct pair, tx.head),         NIC_WORD(struct pair, tx.tail),
	NIC_WORD(struct pair, tx.frame_head),   NIC_WORD(struct pair, tx.frame_tail),
	NIC_WORD(struct pair, tx.cq_head),      NIC_WORD(struct pair, tx.failed),
	NIC_WORD(struct pair, eq_index),        NIC_WORD(struct pair, armed),
	{0},
};

const struct nic_ops mlx5_ops = {
	.name = "mlx5",
	.start_mends = true,
	.words = words,
	.match = match,
	.probe = probe,
	.ready = mlx5_ready,
	.ring_bytes = ring_bytes,
	.start = start,
	.stop = stop,
	.park = mlx5_park,
	.rx_left = rx_left,
	.pair_stop = mlx5_pair_stop,
	.pair_start = pair_start,
	.table = mlx5_table,
	.rules_refused = mlx5_rules_refused,
	.rules = mlx5_rules,
	.link = mlx5_link,
	.stats = mlx5_stats,
	.attach = attach,
	.release = release,
	.rx_burst = rx_burst,
	.tx_burst = tx_burst,
	.tx_pending = tx_pending,
	.mend = mend,
	.rx_interrupt = rx_interrupt,
	.slots_open = slots_open,
	.slots_put = slots_put,
	.slots_free = slots_free,
	.slots_send = slots_send,
};
