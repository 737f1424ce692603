/*
 * The firmware's health (PRM, "Initialization Segment": health buffer, health counter). The counter
 * advances several times a second as long as the firmware runs. The buffer holds a syndrome when
 * something is wrong with it, permanently if it requests recovery (rfr). After a fatal error the
 * firmware may also disable its interface, as its driver does at the end. A reset of the firmware by another function
 * of the card shows there, too.
 *
 * Registers are read every two seconds, and a counter that has not moved for six means that the
 * firmware has died, as in Linux's mlx5_core. A read costs the control core a microsecond on a bus,
 * and a hundred or more where a model or a hypervisor answers. There is no hurry, because an event
 * reports a link that goes down. So a card that was pulled out is noticed after two seconds,
 * firmware that has died after eight at the latest, even by a core that sleeps: no interrupt
 * reports either.
 */
#include "drivers/mlx5/device.h"

#include "lib/fmt.h"

#define STANDS_STILL_US 6000000

/* In the words of mlx5_core. */
static const char *syndrome_text(uint32_t syndrome)
{
	switch (syndrome) {
	case 0x01: return "firmware internal error";
	case 0x07: return "irisc not responding";
	case 0x08: return "unrecoverable hardware error";
	case 0x09: return "firmware CRC error";
	case 0x0a: return "ICM fetch PCI error";
	case 0x0b: return "HW fatal error";
	case 0x0c: return "async EQ buffer overrun";
	case 0x0d: return "EQ error";
	case 0x0e: return "invalid EQ referenced";
	case 0x0f: return "FFSER error";
	case 0x10: return "high temperature";
	default: return "unrecognized error";
	}
}

static bool counts(struct nic *nic, uint32_t counter)
{
	struct mlx5_device *d = mlx5_device(nic);
	if (MLX5_HEALTH_COUNT(counter) != d->health.count) {
		d->health.count = MLX5_HEALTH_COUNT(counter);
		d->health.end = nic_deadline(nic, STANDS_STILL_US);
	}
	return !nic_past(d->health.end);
}

/* Reports a syndrome when it appears, and when it becomes permanent. True: it is permanent. */
static bool tells_of_its_end(struct nic *nic, const char **why)
{
	struct mlx5_device *d = mlx5_device(nic);
	uint8_t was = d->health.syndrome;
	uint8_t now = (uint8_t)MLX5_HEALTH_SYNDROME(mlx5_read(nic, MLX5_HEALTH_SYND));
	bool end = now && mlx5_read(nic, MLX5_HEALTH_RFR) & MLX5_HEALTH_RFR_BIT;
	d->health.syndrome = now;
	if (now && (end || now != was)) {
		fmt_format(d->memory->error, MLX5_ERROR_BYTES, "firmware reports syndrome 0x%x: %s",
		           now, syndrome_text(now));
		*why = d->memory->error;
	}
	return end;
}

void mlx5_health_start(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	d->health.syndrome = 0;
	d->health.due = nic_deadline(nic, MLX5_HEALTH_LOOK_US);
	d->health.end = nic_deadline(nic, STANDS_STILL_US);
}

bool mlx5_health_turn(struct nic *nic, const char **why)
{
	struct mlx5_device *d = mlx5_device(nic);
	if (d->dead) {
		*why = nic->error;
		return false;
	}
	if (!nic_past(d->health.due))
		return true;
	d->health.due = nic_deadline(nic, MLX5_HEALTH_LOOK_US);
	uint32_t counter = mlx5_read(nic, MLX5_HEALTH_COUNTER);
	if (counter == UINT32_MAX && mlx5_gone(nic))
		return false;
	if (!counts(nic, counter)) {
		*why = "the firmware's health counter stands still";
		return false;
	}
	switch (mlx5_read(nic, MLX5_CMDQ_ADDR_LOW) & MLX5_NIC_INTERFACE_MASK) {
	case MLX5_NIC_DISABLED:
		*why = "the firmware has disabled its interface to the driver";
		return false;
	case MLX5_NIC_RESET:
		*why = "another function of the card resets the firmware";
		return false;
	}
	return !tells_of_its_end(nic, why);
}
