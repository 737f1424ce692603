/* drivers/nic.c: the names of cards without driver. */
#include "tests/unit/rig/host.h"

#include "drivers/nic.c"

const struct nic_ops virtio_net_ops, ixgbe_ops, igb_ops, mlx5_ops, vmxnet3_ops, null_ops;

static void names(void **s)
{
	(void)s;
	assert_string_equal(nic_name_without_driver(0x8086, 0x10ed), "virtual function of an Intel 82599 (ixgbevf)");
	assert_string_equal(nic_name_without_driver(0x8086, 0x10ca), "virtual function of an Intel 82576 (igbvf)");
	assert_string_equal(nic_name_without_driver(0x15b3, 0xa2d3), "virtual function of a BlueField (mlx5)");
	assert_null(nic_name_without_driver(0x15b3, 0x10ed)); /* another vendor's number */
	assert_null(nic_name_without_driver(0x15b3, 0x1017));
	for (unsigned i = 0; i < ARRAY_LEN(without_driver); i++)
		assert_ptr_equal(nic_name_without_driver(without_driver[i].vendor, without_driver[i].device),
		                 without_driver[i].name); /* no ID is there twice */
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
