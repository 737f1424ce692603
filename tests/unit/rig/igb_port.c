#include "tests/unit/rig/igb_port.h"

#include "tools/nicsim/i226/i226.h"

const struct card card = {
	.model = &intel_i226_ops,
	.driver = &igb_ops,
	.vendor = 0x8086,
	.device = 0x125c,
	.rx_writes = 1, /* the tail */
	.only_pair_alone = true,
	.assert_owners = intel_assert_owners,
};
