#include "tests/unit/rig/mlx5_port.h"

#include "drivers/mlx5/ring.h"
#include "tools/nicsim/mlx5/mlx5.h"

struct pair_of_driver { /* as in mlx5.c */
	struct mlx5_rx rx;
	struct mlx5_tx tx;
};

static void assert_owners(const struct port_pair *p)
{
	const struct pair_of_driver *d = (const void *)p->q.priv;
	for (uint32_t k = d->rx.head; k != d->rx.tail; k++)
		assert_owner(d->rx.owner[k & d->rx.mask]);
	for (uint32_t k = d->tx.frame_tail; k != d->tx.frame_head && !d->tx.slots; k++)
		assert_owner_word(d->tx.owner[k & d->tx.mask]);
}

const struct card card = {
	.model = &connectx5_ops,
	.driver = &mlx5_ops,
	.vendor = 0x15b3,
	.device = 0x1017,
	.rx_writes = 0, /* a doorbell record in memory announces buffers */
	.only_pair_alone = true,
	.assert_owners = assert_owners,
};
