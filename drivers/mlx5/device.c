/* Registers of the initialisation segment. See device.h. */
#include "drivers/mlx5/device.h"

#include "hal/barrier.h"
#include "hal/mmio.h"

#define SAY_US 1000000

/* Words are big-endian, like everything of the device. */
uint32_t mlx5_read(struct nic *nic, enum mlx5_reg reg)
{
	nic->mmio_reads++;
	return be32_get((be32_t){mmio_read32(mlx5_device(nic)->regs + reg)});
}

void mlx5_write(struct nic *nic, enum mlx5_reg reg, uint32_t value)
{
	nic->mmio_writes++;
	mmio_write32(mlx5_device(nic)->regs + reg, be32_make(value).raw);
}

bool mlx5_gone(struct nic *nic)
{
	return mlx5_read(nic, MLX5_FW_REV) == UINT32_MAX;
}

int mlx5_fail(struct nic *nic, int error, const char *why)
{
	bool gone = mlx5_gone(nic);
	if (!mlx5_device(nic)->unwinding)
		nic->error = gone ? "device no longer answers (registers read all ones)" : why;
	return gone ? E_DEVICE : error;
}

int mlx5_wait(struct nic *nic, enum mlx5_reg reg, uint32_t mask, uint32_t wanted, uint32_t us,
              const char *why)
{
	uint64_t end = nic_deadline(nic, us), due = 0;
	for (;;) {
		bool last = nic_past(end); /* before the read: a late read still counts */
		uint32_t word = mlx5_read(nic, reg);
		if (word == UINT32_MAX && mlx5_gone(nic))
			return mlx5_fail(nic, E_DEVICE, why);
		if ((word & mask) == wanted)
			return E_OK;
		if (last)
			return mlx5_fail(nic, E_TIMEOUT, why);
		mlx5_waits(nic, &due, end, "firmware");
		cpu_relax();
	}
}

void mlx5_waits(struct nic *nic, uint64_t *due, uint64_t end, const char *what)
{
	bool first = *due == 0;
	if (!nic->waits || (!first && !nic_past(*due)))
		return;
	*due = nic_deadline(nic, SAY_US);
	int64_t left = (int64_t)(end - clock_tsc());
	if (!first && left > 0)
		nic->waits(nic, what, (uint32_t)(clock_us(nic->clock, (uint64_t)left) / 1000000));
}

int mlx5_wait_ready(struct nic *nic, uint32_t us, const char *why)
{
	return mlx5_wait(nic, MLX5_INITIALIZING, MLX5_INITIALIZING_BIT, 0, us, why);
}
