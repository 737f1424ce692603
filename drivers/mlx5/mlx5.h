/* The driver for NVIDIA (Mellanox) ConnectX-4 and later NICs, for the table in drivers/nic.c. */
#ifndef DRIVERS_MLX5_MLX5_H
#define DRIVERS_MLX5_MLX5_H

#include "drivers/nic.h"

extern const struct nic_ops mlx5_ops;

#endif
