/* Makes the card of model_port.h a ConnectX-5. */
#ifndef TESTS_UNIT_RIG_MLX5_PORT_H
#define TESTS_UNIT_RIG_MLX5_PORT_H

#include "tests/unit/rig/model_port.h"

#include "drivers/mlx5/mlx5.h"

#define ALL (NIC_RX_CSUM | NIC_TX_CSUM | NIC_LINK | NIC_RSS | NIC_TSO | NIC_SG)

#endif
