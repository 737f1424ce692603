/* Makes the card of model_port.h a card of ixgbe: ixgbe_port.c an 82599, x550_port.c an X550. */
#ifndef TESTS_UNIT_RIG_IXGBE_PORT_H
#define TESTS_UNIT_RIG_IXGBE_PORT_H

#include "tests/unit/rig/intel_port.h"

#include "drivers/ixgbe/ixgbe.h"

#define ALL \
	(NIC_RX_CSUM | NIC_TX_CSUM | NIC_LINK | NIC_RSS | NIC_TSO | NIC_USO | NIC_SG)

#endif
