/*
 * How long firmware is waited for. The values are Linux's (lib/tout.c), and the device overrides
 * them: in its initialisation segment how long it takes to accept a command queue and to execute a
 * command, in the register DTOR how long it takes to let go of a driver and of its pages.
 *
 * Firmware that is still initialising, as after power-on or a reset, is waited for up to two
 * minutes. An operating system that boots within a second meets it, and other ports need not wait:
 * so probe and start return E_AGAIN after two seconds, and nic_ops.ready looks from then on.
 * Firmware that does not become ready is reset once and gets the same time again.
 */
#include "drivers/mlx5/device.h"

#include "hal/barrier.h"

#define MS 1000u
#define QUEUE_US (2000 * MS)     /* FW_INIT */
#define COMMAND_US (60000 * MS)  /* CMD */
#define TEARDOWN_US (3000 * MS)  /* TEARDOWN */
#define RECLAIM_US (5000 * MS)   /* RECLAIM_PAGES */
#define READY_US (120000 * MS)   /* FW_PRE_INIT_TIMEOUT */
#define SOON_US (2000 * MS)
#define LONGEST_MS 600000u       /* whatever the device states */

void mlx5_timeouts_start(struct nic *nic)
{
	mlx5_device(nic)->timeouts = (struct mlx5_timeouts){.queue = QUEUE_US,
	                                                    .command = COMMAND_US,
	                                                    .teardown = TEARDOWN_US,
	                                                    .reclaim = RECLAIM_US};
}

/* Takes a time-out as the device states it; 0 is none. */
static void take(uint32_t *us, uint32_t word)
{
	static const uint32_t unit_ms[] = {1, 1000, 60000, 3600000};
	uint8_t at[4];
	be32_store(at, word);
	uint64_t ms = (uint64_t)mlx5_get(at, MLX5_TIMEOUT_VALUE) *
	              unit_ms[mlx5_get(at, MLX5_TIMEOUT_UNIT) & 3];
	if (ms)
		*us = (uint32_t)(ms < LONGEST_MS ? ms : LONGEST_MS) * MS;
}

void mlx5_timeouts_read(struct nic *nic)
{
	struct mlx5_timeouts *t = &mlx5_device(nic)->timeouts;
	uint32_t queue = mlx5_read(nic, MLX5_CMDQ_INIT_TO);
	mlx5_timeouts_start(nic);
	t->stated = queue && queue != UINT32_MAX; /* all ones: the device is gone */
	if (!t->stated)
		return;
	take(&t->queue, queue);
	take(&t->command, mlx5_read(nic, MLX5_CMD_EXEC_TO));
}

/* Firmware that refuses the register is not an error. */
void mlx5_timeouts_query(struct nic *nic)
{
	struct mlx5_timeouts *t = &mlx5_device(nic)->timeouts;
	if (!t->stated)
		return;
	uint8_t *in = mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, MLX5_ACCESS_REG, MLX5_ACCESS_REG_READ,
	                             MLX5_ACCESS_REG_DATA + MLX5_DTOR_BYTES,
	                             MLX5_ACCESS_REG_DATA + MLX5_DTOR_BYTES);
	mlx5_set(in, MLX5_ACCESS_REG_ID, MLX5_DTOR);
	if (mlx5_cmd_run(nic) != E_OK) {
		if (!mlx5_device(nic)->dead)
			nic->error = NULL;
		return;
	}
	const uint8_t *reg = mlx5_cmd_out(nic, MLX5_SLOT_MAIN) + MLX5_ACCESS_REG_DATA;
	take(&t->teardown, be32_load(reg + MLX5_DTOR_TEARDOWN));
	take(&t->reclaim, be32_load(reg + MLX5_DTOR_RECLAIM));
}

static int not_ready(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	bool first = d->starting.end == 0, late = !first && nic_past(d->starting.end);
	if (late && (d->starting.reset || mlx5_reset(nic) != E_OK))
		return mlx5_fail(nic, E_TIMEOUT, d->starting.reset
		                         ? "firmware stays in its initialisation, also after a reset"
		                         : "firmware stays in its initialisation");
	d->starting.reset |= late;
	if (first || late)
		d->starting.end = nic_deadline(nic, READY_US);
	return mlx5_fail(nic, E_AGAIN, "firmware is still in its initialisation");
}

int mlx5_ready(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	uint32_t word = mlx5_read(nic, MLX5_INITIALIZING);
	if (word == UINT32_MAX && mlx5_gone(nic))
		return mlx5_fail(nic, E_DEVICE, "");
	if (word & MLX5_INITIALIZING_BIT)
		return not_ready(nic);
	d->starting.end = 0;
	d->starting.reset = false;
	return E_OK;
}

int mlx5_ready_soon(struct nic *nic)
{
	uint64_t end = nic_deadline(nic, SOON_US);
	for (;;) {
		bool last = nic_past(end);
		int e = mlx5_ready(nic);
		if (e != E_AGAIN || last)
			return e;
		cpu_relax();
	}
}
