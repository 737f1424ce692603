/* The table of drivers. To add one, add it here. */
#include "drivers/nic.h"

#include "drivers/igb/igb.h"
#include "drivers/ixgbe/ixgbe.h"
#include "drivers/mlx5/mlx5.h"
#include "drivers/null/null.h"
#include "drivers/virtio_net/virtio_net.h"

const struct nic_ops *const nic_drivers[] = {
	&virtio_net_ops,
	&ixgbe_ops,
	&igb_ops,
	&mlx5_ops,
	&null_ops,
};
const unsigned nic_driver_count = ARRAY_LEN(nic_drivers);
