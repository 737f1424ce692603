/* Makes the card of model_port.h an X550. */
#include "tests/unit/rig/ixgbe_port.h"
#include "tools/nicsim/82599/82599.h"

const struct card card = {
	.model = &intel_x550_ops,
	.driver = &ixgbe_ops,
	.vendor = 0x8086,
	.device = 0x1563,
	.rx_writes = 1, /* the tail */
	.only_pair_alone = true,
	.assert_owners = intel_assert_owners,
};
