/*
 * Returns queues that the device has put into their error state to service, one after the other, by
 * commands in the background slot (PRM, "MODIFY_SQ", "MODIFY_RQ"). The counters of the data core
 * that polls a queue reveal the error; ring_mend.c has what that core does.
 *
 *     step       entered by                        leaves when
 *     NOTHING    start                             a queue has more errors than were mended
 *     TO_RESET   above: ERR → RST requested        the command ended
 *     TO_READY   above: RST → RDY requested        the command ended: `mended` is the count
 *
 * A queue for which a command fails is hopeless, and so are all queues of a device that no longer
 * answers.
 */
#include "drivers/mlx5/device.h"

enum step { NOTHING, TO_RESET, TO_READY };

/* Modulo 2^16, as it is published. */
static uint16_t errors_of(const struct mlx5_pair *p, enum mlx5_queue queue)
{
	const uint64_t *count = queue == MLX5_QUEUE_SEND ? &p->cnt->tx_queue_errors
	                                                 : &p->cnt->rx_queue_errors;
	return (uint16_t)__atomic_load_n(count, __ATOMIC_ACQUIRE);
}

static struct mlx5_pair *pair_at_hand(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	return &d->memory->pair[d->mend.pair];
}

static void ask(struct nic *nic, enum step step)
{
	struct mlx5_device *d = mlx5_device(nic);
	const struct mlx5_pair *p = pair_at_hand(nic);
	bool reset = step == TO_RESET;
	d->mend.step = (uint8_t)step;
	mlx5_modify_begin(nic, MLX5_SLOT_BACKGROUND, p, (enum mlx5_queue)d->mend.queue,
	                  reset ? MLX5_STATE_ERR : MLX5_STATE_RST,
	                  reset ? MLX5_STATE_RST : MLX5_STATE_RDY);
	mlx5_cmd_post(nic, MLX5_SLOT_BACKGROUND);
}

void mlx5_mend_start(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	d->mend.step = NOTHING;
	for (unsigned i = 0; i < d->pairs; i++)
		mlx5_mend_pair(nic, i);
}

void mlx5_mend_pair(struct nic *nic, unsigned pair)
{
	const struct mlx5_pair *p = &mlx5_device(nic)->memory->pair[pair];
	for (unsigned q = 0; q < MLX5_QUEUES; q++)
		p->fate->mended[q] = errors_of(p, (enum mlx5_queue)q);
	__atomic_store_n(&p->fate->hopeless, false, __ATOMIC_RELEASE);
}

int mlx5_mend_leave(struct nic *nic, unsigned pair)
{
	struct mlx5_device *d = mlx5_device(nic);
	if (d->mend.step != NOTHING && d->mend.pair == pair)
		return mlx5_fail(nic, E_AGAIN, "one of its queues is being mended");
	__atomic_store_n(&d->memory->pair[pair].fate->hopeless, true, __ATOMIC_RELEASE);
	return E_OK;
}

bool mlx5_mend_turn(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	for (unsigned i = 0; i < d->pairs * MLX5_QUEUES; i++) {
		const struct mlx5_pair *p = &d->memory->pair[i / MLX5_QUEUES];
		enum mlx5_queue queue = (enum mlx5_queue)(i % MLX5_QUEUES);
		uint16_t errors = errors_of(p, queue);
		if (errors == p->fate->mended[queue] || p->fate->hopeless)
			continue;
		d->mend.pair = (uint8_t)(i / MLX5_QUEUES);
		d->mend.queue = (uint8_t)queue;
		d->mend.errors = errors;
		ask(nic, TO_RESET);
		return true;
	}
	return false;
}

bool mlx5_mend_answered(struct nic *nic, int error)
{
	struct mlx5_device *d = mlx5_device(nic);
	struct mlx5_fate *fate = pair_at_hand(nic)->fate;
	enum step was = (enum step)d->mend.step;
	d->mend.step = NOTHING;
	if (was != NOTHING && error != E_OK)
		__atomic_store_n(&fate->hopeless, true, __ATOMIC_RELEASE);
	else if (was == TO_RESET)
		ask(nic, TO_READY);
	else if (was == TO_READY)
		__atomic_store_n(&fate->mended[d->mend.queue], d->mend.errors, __ATOMIC_RELEASE);
	return was != NOTHING;
}

void mlx5_mend_end(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	for (unsigned i = 0; i < d->pairs; i++)
		__atomic_store_n(&d->memory->pair[i].fate->hopeless, true, __ATOMIC_RELEASE);
}
