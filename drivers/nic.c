/* The table of drivers. To add one, add it here. And names of cards that have none. */
#include "drivers/nic.h"

#include "drivers/igb/igb.h"
#include "drivers/ixgbe/ixgbe.h"
#include "drivers/mlx5/mlx5.h"
#include "drivers/null/null.h"
#include "drivers/virtio_net/virtio_net.h"
#include "drivers/vmxnet3/vmxnet3.h"

const struct nic_ops *const nic_drivers[] = {
	&virtio_net_ops,
	&ixgbe_ops,
	&igb_ops,
	&mlx5_ops,
	&vmxnet3_ops,
	&null_ops,
};
const unsigned nic_driver_count = ARRAY_LEN(nic_drivers);

/* Device IDs as in the drivers of Linux that the names mention. */
static const struct {
	uint16_t vendor, device;
	const char *name;
} without_driver[] = {
	{0x8086, 0x10ed, "virtual function of an Intel 82599 (ixgbevf)"},
	{0x8086, 0x152e, "virtual function of an Intel 82599 on Hyper-V (ixgbevf)"},
	{0x8086, 0x1515, "virtual function of an Intel X540 (ixgbevf)"},
	{0x8086, 0x1530, "virtual function of an Intel X540 on Hyper-V (ixgbevf)"},
	{0x8086, 0x1565, "virtual function of an Intel X550 (ixgbevf)"},
	{0x8086, 0x1564, "virtual function of an Intel X550 on Hyper-V (ixgbevf)"},
	{0x8086, 0x15a8, "virtual function of an Intel X552 (ixgbevf)"},
	{0x8086, 0x15a9, "virtual function of an Intel X552 on Hyper-V (ixgbevf)"},
	{0x8086, 0x15c5, "virtual function of an Intel X553 (ixgbevf)"},
	{0x8086, 0x57ad, "virtual function of an Intel E610 (ixgbevf)"},
	{0x8086, 0x10ca, "virtual function of an Intel 82576 (igbvf)"},
	{0x8086, 0x152d, "virtual function of an Intel 82576 on Hyper-V (igbvf)"},
	{0x8086, 0x1520, "virtual function of an Intel I350 (igbvf)"},
	{0x8086, 0x152f, "virtual function of an Intel I350 on Hyper-V (igbvf)"},
	{0x8086, 0x154c, "virtual function of an Intel X710 or XL710 (iavf)"},
	{0x8086, 0x37cd, "virtual function of an Intel X722 (iavf)"},
	{0x8086, 0x1889, "adaptive virtual function of an Intel card (iavf)"},
	{0x15b3, 0xa2d3, "virtual function of a BlueField (mlx5)"},
};

const char *nic_name_without_driver(uint16_t vendor, uint16_t device)
{
	for (unsigned i = 0; i < ARRAY_LEN(without_driver); i++)
		if (without_driver[i].vendor == vendor && without_driver[i].device == device)
			return without_driver[i].name;
	return NULL;
}
