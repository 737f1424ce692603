/*
 * The objects that queues consist of (PRM, "Objects"): those that all share (UAR pages, protection
 * and transport domain, memory key, transport interface, counters, an RQ without buffers that
 * drops), and for each pair two CQs, an SQ and an RQ, and an EQ that wakes its core if there are
 * enough vectors.
 *
 * A pair is stopped by destroying its objects while received frames are steered to others, or to the
 * RQ that drops. A port that is parked has lost all its pairs in this way. Nothing else of the
 * device changes, so the link stays.
 *
 * Their memory is the data core's (drivers/nic.h, rule 2): only its address is used here. It is
 * zeroed. An RQ has nothing to complete before the core posts buffers, so it may be in RDY before
 * its CQ is initialised (mlx5_rx_init).
 */
#include "drivers/mlx5/device.h"

#include "drivers/mlx5/ring.h"
#include "hal/dma.h"
#include "lib/assert.h"
#include "lib/mem.h"

/* Puts the pages of a contiguous queue into the input, from the offset on. */
static void put_pages(uint8_t *in, uint32_t offset, const uint8_t *queue, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i += MLX5_PAGE_BYTES)
		mlx5_set64(in, offset + i / MLX5_PAGE_BYTES * 8, dma_addr(queue + i).bus);
}

/* Pages of a queue, which has at least one. */
static uint32_t pages_of(uint32_t bytes)
{
	return (bytes + MLX5_PAGE_BYTES - 1) / MLX5_PAGE_BYTES;
}

static uint8_t *begin(struct nic *nic, enum mlx5_command command, uint32_t in_bytes)
{
	return mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, command, 0, in_bytes, MLX5_PLAIN_BYTES);
}

/* Runs a command without arguments that creates an object. */
static int alloc(struct nic *nic, enum mlx5_command command, enum mlx5_command undo, uint32_t *id)
{
	begin(nic, command, MLX5_PLAIN_BYTES);
	return mlx5_create(nic, undo, id);
}

/* --- shared --- */

/* All of memory by its bus address: access control is left to the IOMMU. Frames may be written, and
 * read, in any order (PCI Express 3.0, 2.4.1: relaxed ordering), as in Linux: CQEs are not accessed by
 * this key, and a write without that attribute, such as a CQE, passes no earlier write. */
static int create_mkey(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	uint32_t index, at = MLX5_CREATE_MKEY_CONTEXT;
	uint8_t *in = begin(nic, MLX5_CREATE_MKEY, MLX5_CREATE_MKEY_BYTES);
	mlx5_set(in, MLX5_AT(at, MLX5_MKC_RELAXED_WRITE), d->caps.relaxed_write);
	mlx5_set(in, MLX5_AT(at, MLX5_MKC_RELAXED_READ), d->caps.relaxed_read);
	mlx5_set(in, MLX5_AT(at, MLX5_MKC_LOCAL_READ), 1);
	mlx5_set(in, MLX5_AT(at, MLX5_MKC_LOCAL_WRITE), 1);
	mlx5_set(in, MLX5_AT(at, MLX5_MKC_QPN), MLX5_MKC_QPN_ANY);
	mlx5_set(in, MLX5_AT(at, MLX5_MKC_LENGTH64), 1);
	mlx5_set(in, MLX5_AT(at, MLX5_MKC_PD), d->pd);
	int e = mlx5_create(nic, MLX5_DESTROY_MKEY, &index);
	d->lkey = index << 8; /* its low byte, the key of our choice, is 0 */
	return e;
}

static int create_tis(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	uint8_t *in = begin(nic, MLX5_CREATE_TIS, MLX5_CREATE_TIS_BYTES);
	mlx5_set(in, MLX5_TIS_DOMAIN, d->domain);
	return mlx5_create(nic, MLX5_DESTROY_TIS, &d->tis);
}

/* --- pairs --- */

static int create_eq(struct nic *nic, const uint8_t *eq, unsigned vector, uint32_t uar,
                     uint32_t *eqn)
{
	uint32_t at = MLX5_CREATE_EQ_CONTEXT, bytes = MLX5_EQE_BYTES << MLX5_PAIR_EQ_LOG_SIZE;
	uint8_t *in = begin(nic, MLX5_CREATE_EQ, MLX5_CREATE_EQ_PAS + bytes / MLX5_PAGE_BYTES * 8);
	mlx5_set(in, MLX5_AT(at, MLX5_EQC_LOG_SIZE), MLX5_PAIR_EQ_LOG_SIZE);
	mlx5_set(in, MLX5_AT(at, MLX5_EQC_UAR_PAGE), uar);
	mlx5_set(in, MLX5_AT(at, MLX5_EQC_INTR), vector);
	put_pages(in, MLX5_CREATE_EQ_PAS, eq, bytes);
	return mlx5_create(nic, MLX5_DESTROY_EQ, eqn);
}

static int create_cq(struct nic *nic, unsigned log_size, const uint8_t *cq, const uint8_t *dbr,
                     uint32_t uar, uint32_t eqn, bool compress, uint32_t *cqn)
{
	uint32_t at = MLX5_CREATE_CQ_CONTEXT, bytes = MLX5_CQE_BYTES << log_size;
	uint8_t *in = begin(nic, MLX5_CREATE_CQ, MLX5_CREATE_CQ_PAS + pages_of(bytes) * 8);
	if (compress) {
		mlx5_set(in, MLX5_AT(at, MLX5_CQC_COMPRESS), 1);
		mlx5_set(in, MLX5_AT(at, MLX5_CQC_MINI_FORMAT), MLX5_MINI_WITH_CHECKSUM);
	}
	mlx5_set(in, MLX5_AT(at, MLX5_CQC_LOG_SIZE), log_size);
	mlx5_set(in, MLX5_AT(at, MLX5_CQC_UAR_PAGE), uar);
	mlx5_set(in, MLX5_AT(at, MLX5_CQC_EQN), eqn);
	mlx5_set64(in, at + MLX5_CQC_DBR_ADDR, dma_addr(dbr).bus);
	put_pages(in, MLX5_CREATE_CQ_PAS, cq, bytes);
	return mlx5_create(nic, MLX5_DESTROY_CQ, cqn);
}

/* Begins the common part of SQ and RQ contexts: 2^log_size units of 2^log_stride bytes. */
static uint8_t *begin_wq(struct nic *nic, enum mlx5_command command, const uint8_t *queue,
                         const uint8_t *dbr, unsigned log_size, unsigned log_stride)
{
	uint32_t wq = MLX5_WQ_CONTEXT + MLX5_WQ, bytes = 1u << (log_size + log_stride);
	uint8_t *in = begin(nic, command, wq + MLX5_WQ_PAS + pages_of(bytes) * 8);
	mlx5_set(in, MLX5_AT(wq, MLX5_WQ_TYPE), MLX5_WQ_TYPE_CYCLIC);
	mlx5_set(in, MLX5_AT(wq, MLX5_WQ_PD), mlx5_device(nic)->pd);
	mlx5_set(in, MLX5_AT(wq, MLX5_WQ_LOG_STRIDE), log_stride);
	mlx5_set(in, MLX5_AT(wq, MLX5_WQ_LOG_SIZE), log_size);
	mlx5_set64(in, wq + MLX5_WQ_DBR_ADDR, dma_addr(dbr).bus);
	put_pages(in, wq + MLX5_WQ_PAS, queue, bytes);
	return in;
}

void mlx5_modify_begin(struct nic *nic, enum mlx5_slot_name slot, const struct mlx5_pair *pair,
                       enum mlx5_queue queue, uint32_t from, uint32_t to)
{
	bool send = queue == MLX5_QUEUE_SEND;
	uint32_t state = send ? MLX5_SQC_STATE : MLX5_RQC_STATE;
	uint8_t *in = mlx5_cmd_begin(nic, slot, send ? MLX5_MODIFY_SQ : MLX5_MODIFY_RQ, 0,
	                             MLX5_MODIFY_WQ_BYTES, MLX5_PLAIN_BYTES);
	mlx5_set(in, MLX5_IN_ID, send ? pair->sqn : pair->rqn);
	mlx5_set(in, MLX5_MODIFY_STATE, from);
	mlx5_set(in, MLX5_AT(MLX5_WQ_CONTEXT, state), to);
}

static int make_ready(struct nic *nic, const struct mlx5_pair *pair, enum mlx5_queue queue)
{
	mlx5_modify_begin(nic, MLX5_SLOT_MAIN, pair, queue, MLX5_STATE_RST, MLX5_STATE_RDY);
	return mlx5_cmd_run(nic);
}

static int create_sq(struct nic *nic, const uint8_t *mem, uint32_t uar, struct mlx5_pair *pair)
{
	struct mlx5_device *d = mlx5_device(nic);
	struct mlx5_layout l = mlx5_layout(MLX5_RING_LOG_SIZE);
	uint8_t *in = begin_wq(nic, MLX5_CREATE_SQ, mem + l.sq, mem + l.sq_dbr,
	                       MLX5_RING_LOG_SIZE, 6);
	uint32_t at = MLX5_WQ_CONTEXT;
	_Static_assert(MLX5_WQEBB_BYTES == 1 << 6, "the stride");
	mlx5_set(in, MLX5_AT(at, MLX5_SQC_ALLOW_MULTI_SEND), d->caps.multi_send);
	mlx5_set(in, MLX5_AT(at, MLX5_SQC_CQN), pair->tx_cqn);
	mlx5_set(in, MLX5_AT(at, MLX5_SQC_TIS_LIST_SIZE), 1);
	mlx5_set(in, MLX5_AT(at, MLX5_SQC_TIS), d->tis);
	mlx5_set(in, MLX5_AT(at + MLX5_WQ, MLX5_WQ_UAR_PAGE), uar);
	if (d->caps.vport_inline)
		mlx5_set(in, MLX5_AT(at, MLX5_SQC_MIN_INLINE), d->caps.inline_mode);
	int e = mlx5_create(nic, MLX5_DESTROY_SQ, &pair->sqn);
	return e == E_OK ? make_ready(nic, pair, MLX5_QUEUE_SEND) : e;
}

static int create_rq(struct nic *nic, unsigned log_size, const uint8_t *rq, const uint8_t *dbr,
                     uint32_t features, struct mlx5_pair *pair)
{
	uint8_t *in = begin_wq(nic, MLX5_CREATE_RQ, rq, dbr, log_size, 4);
	uint32_t at = MLX5_WQ_CONTEXT;
	_Static_assert(MLX5_RX_WQE_BYTES == 1 << 4, "the stride");
	mlx5_set(in, MLX5_AT(at, MLX5_RQC_VLAN_STRIP_DISABLE), !(features & NIC_VLAN));
	mlx5_set(in, MLX5_AT(at, MLX5_RQC_CQN), pair->rx_cqn);
	mlx5_set(in, MLX5_AT(at, MLX5_RQC_COUNTER_SET), mlx5_device(nic)->counter_set);
	int e = mlx5_create(nic, MLX5_DESTROY_RQ, &pair->rqn);
	return e == E_OK ? make_ready(nic, pair, MLX5_QUEUE_RECEIVE) : e;
}

/* An RQ that is ready but never gets a buffer, as in Linux (mlx5e_open_drop_rq): frames are counted as
 * without buffer. */
static int create_drop(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	struct mlx5_memory *m = d->memory;
	struct mlx5_pair drop = {.sqn = 0};
	memset(m->drop_records, 0, sizeof m->drop_records);
	int e = create_cq(nic, 0, m->drop_cq, m->drop_records[0], d->uar[0], d->eqn, false, &drop.rx_cqn);
	if (e == E_OK)
		e = create_rq(nic, 0, m->drop_rq, m->drop_records[1], 0, &drop);
	d->drop_rqn = drop.rqn;
	return e;
}

static int alloc_uar(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	uint32_t uar;
	int e = alloc(nic, MLX5_ALLOC_UAR, MLX5_DEALLOC_UAR, &uar);
	/* Page 0 has the registers of the device half. */
	if (e == E_OK && (uar == 0 || uar > 0xffff ||
	                  (uar + 1ull) * MLX5_UAR_BYTES > nic->pci->bar[0].bytes))
		e = mlx5_fail(nic, E_DEVICE, "the page of doorbells lies beyond BAR 0");
	if (e == E_OK)
		d->uar[d->uars++] = (uint16_t)uar;
	return e;
}

int mlx5_shared_start(struct nic *nic, unsigned pairs)
{
	struct mlx5_device *d = mlx5_device(nic);
	int e = E_OK;
	d->uars = 0;
	while (d->uars < MLX5_UARS_MAX && d->uars < pairs && e == E_OK)
		e = alloc_uar(nic);
	if (e == E_OK)
		e = mlx5_events_start(nic);
	if (e == E_OK)
		e = alloc(nic, MLX5_ALLOC_PD, MLX5_DEALLOC_PD, &d->pd);
	if (e == E_OK)
		e = alloc(nic, MLX5_ALLOC_TRANSPORT_DOMAIN, MLX5_DEALLOC_TRANSPORT_DOMAIN,
		          &d->domain);
	if (e == E_OK)
		e = create_mkey(nic);
	if (e == E_OK)
		e = create_tis(nic);
	if (e == E_OK) {
		d->counter_set = 0;
		e = alloc(nic, MLX5_ALLOC_Q_COUNTER, MLX5_DEALLOC_Q_COUNTER, &d->counter_set);
		e = mlx5_without(nic, MLX5_WITHOUT_Q_COUNTER, e);
	}
	if (e == E_OK)
		e = create_drop(nic);
	d->base = d->objects;
	return e;
}

int mlx5_pair_start(struct nic *nic, const struct nic_config *config, unsigned i, bool irq,
                    struct mlx5_pair *pair)
{
	struct mlx5_layout l = mlx5_layout(MLX5_RING_LOG_SIZE);
	const uint8_t *mem = config->mem[i].mem;
	struct mlx5_device *d = mlx5_device(nic);
	bool compress = d->caps.cqe_compression;
	const uint32_t uar = d->uar[i % d->uars];
	int e = E_OK;
	d->making = pair;
	pair->objects = 0;
	pair->eqn = d->eqn;
	if (irq)
		e = create_eq(nic, mem + l.eq, 1 + i, uar, &pair->eqn);
	if (e == E_OK)
		e = create_cq(nic, MLX5_RING_LOG_SIZE, mem + l.rx_cq, mem + l.rx_cq_dbr, uar,
		              pair->eqn, compress, &pair->rx_cqn);
	if (e == E_OK)
		e = create_cq(nic, MLX5_RING_LOG_SIZE, mem + l.tx_cq, mem + l.tx_cq_dbr, uar,
		              pair->eqn, false, &pair->tx_cqn);
	if (e == E_OK)
		e = create_sq(nic, mem, uar, pair);
	if (e == E_OK)
		e = create_rq(nic, MLX5_RING_LOG_SIZE, mem + l.rq, mem + l.rq_dbr, config->features,
		              pair);
	d->making = NULL;
	return e;
}

/* --- all pairs --- */

int mlx5_park(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	if (d->dead || !d->pairs)
		return mlx5_fail(nic, E_NOTSUP, "does not run");
	mlx5_cmd_drain(nic, MLX5_SLOT_BACKGROUND); /* a queue that is being mended is destroyed */
	int e = mlx5_rules(nic, NULL, 0);
	if (e == E_OK)
		e = mlx5_spread(nic, 0);
	for (unsigned i = d->pairs; i-- && e == E_OK;)
		e = mlx5_destroy_pair(nic, &d->memory->pair[i]);
	if (e != E_OK)
		return e;
	d->parked = d->pairs;
	d->pairs = 0;
	return E_OK;
}

/* --- one pair alone --- */

/* Objects that others depend on cannot be destroyed, and the steering depends on receive queues: it
 * is moved to other queues, or to none. */
int mlx5_pair_stop(struct nic *nic, unsigned i)
{
	struct mlx5_device *d = mlx5_device(nic);
	const uint64_t others = d->spread & ~(1ull << i);
	int e = mlx5_mend_leave(nic, i);
	if (e == E_OK)
		e = mlx5_rules_leave(nic, i);
	if (e == E_OK && others != d->spread)
		e = mlx5_spread(nic, others);
	return e == E_OK ? mlx5_destroy_pair(nic, &d->memory->pair[i]) : e;
}

int mlx5_pair_again(struct nic *nic, const struct nic_config *config, unsigned i, bool irq)
{
	struct mlx5_device *d = mlx5_device(nic);
	struct mlx5_pair *p = &d->memory->pair[i];
	int e = mlx5_pair_start(nic, config, i, irq, p);
	if (e == E_OK)
		mlx5_mend_pair(nic, i);
	return e;
}
