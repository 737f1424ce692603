/* model=mlx5: a port of a ConnectX-5; mlx5.c lists what is modelled and what is missing. */
#ifndef NICSIM_MLX5_H
#define NICSIM_MLX5_H

#include "tools/nicsim/model.h"

extern const struct model_ops connectx5_ops;

#endif
