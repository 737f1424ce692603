/*
 * The async event queue (PRM, "Event Queues"), polled from time to time: changes of the port, pages
 * that the firmware wants, and queues that have failed without a CQE to report it, which are
 * counted. Its interrupt wakes the control core, which then calls nic_ops.link. The firmware's
 * health is read from registers (health.c).
 */
#include "drivers/mlx5/device.h"

#include "hal/barrier.h"
#include "hal/dma.h"
#include "hal/mmio.h"
#include "lib/mem.h"

#define SIZE (1u << MLX5_EQ_LOG_SIZE)
#define VECTOR 0
_Static_assert(SIZE * MLX5_EQE_BYTES == MLX5_PAGE_BYTES, "one page");

#define BIT(event) (1ull << (event))
#define EVENTS \
	(BIT(MLX5_EVENT_CQ_ERROR) | BIT(MLX5_EVENT_WQ_CATASTROPHIC) | \
	 BIT(MLX5_EVENT_PORT_CHANGE) | BIT(MLX5_EVENT_PAGE_REQUEST) | \
	 BIT(MLX5_EVENT_WQ_INVALID_REQUEST) | BIT(MLX5_EVENT_WQ_ACCESS))

/* Tells the device our consumer index, and requests an interrupt at the next event. */
static void arm(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	uint32_t word = d->eqn << MLX5_EQ_ARM_EQN_SHIFT | (d->eq_index & MLX5_INDEX_MASK);
	barrier_write();
	nic->mmio_writes++;
	mmio_write32(d->regs + (size_t)d->uar[0] * MLX5_UAR_BYTES + MLX5_UAR_EQ_ARM,
	             be32_make(word).raw);
}

int mlx5_events_start(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	uint8_t *eq = d->memory->eq;
	memset(eq, 0, MLX5_PAGE_BYTES);
	for (unsigned i = 0; i < SIZE; i++) /* not owned as in the first pass */
		eq[i * MLX5_EQE_BYTES + MLX5_EQE_OWNER] = 1;
	uint8_t *in = mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, MLX5_CREATE_EQ, 0, MLX5_CREATE_EQ_PAS + 8,
	                             MLX5_PLAIN_BYTES);
	mlx5_set(in, MLX5_AT(MLX5_CREATE_EQ_CONTEXT, MLX5_EQC_LOG_SIZE), MLX5_EQ_LOG_SIZE);
	mlx5_set(in, MLX5_AT(MLX5_CREATE_EQ_CONTEXT, MLX5_EQC_UAR_PAGE), d->uar[0]);
	mlx5_set(in, MLX5_AT(MLX5_CREATE_EQ_CONTEXT, MLX5_EQC_INTR), VECTOR);
	mlx5_set64(in, MLX5_CREATE_EQ_EVENTS, EVENTS);
	mlx5_set64(in, MLX5_CREATE_EQ_PAS, dma_addr(eq).bus);
	int e = mlx5_create(nic, MLX5_DESTROY_EQ, &d->eqn);
	if (e != E_OK)
		return e;
	d->eq_index = 0;
	d->has_eq = true;
	arm(nic);
	return E_OK;
}

static void take_event(struct nic *nic, const uint8_t *eqe)
{
	struct mlx5_device *d = mlx5_device(nic);
	switch (eqe[MLX5_EQE_TYPE]) {
	case MLX5_EVENT_PORT_CHANGE:
		d->port_changed = true;
		break;
	case MLX5_EVENT_PAGE_REQUEST:
		mlx5_pages_event(nic, be16_load(eqe + MLX5_EQE_PAGES_FUNCTION),
		                 (int32_t)be32_load(eqe + MLX5_EQE_PAGES_NUMBER));
		break;
	case MLX5_EVENT_CQ_ERROR:
	case MLX5_EVENT_WQ_CATASTROPHIC:
	case MLX5_EVENT_WQ_INVALID_REQUEST:
	case MLX5_EVENT_WQ_ACCESS:
		d->news.queue_errors++;
		break;
	default:
		break; /* not used */
	}
}

void mlx5_events_poll(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	uint32_t first = d->eq_index;
	while (d->has_eq && d->eq_index - first < SIZE) {
		const uint8_t *eqe = d->memory->eq + (d->eq_index % SIZE) * MLX5_EQE_BYTES;
		uint8_t owner = __atomic_load_n(&eqe[MLX5_EQE_OWNER], __ATOMIC_ACQUIRE);
		if ((owner & 1) != (d->eq_index >> MLX5_EQ_LOG_SIZE & 1))
			break;
		take_event(nic, eqe);
		d->eq_index++;
	}
	if (d->eq_index != first)
		arm(nic);
}
