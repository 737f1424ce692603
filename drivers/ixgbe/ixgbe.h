/* The driver for Intel 82599 (X520), X540 and X550 10 Gb/s NICs, for the table in drivers/nic.c. */
#ifndef DRIVERS_IXGBE_IXGBE_H
#define DRIVERS_IXGBE_IXGBE_H

#include "drivers/nic.h"

extern const struct nic_ops ixgbe_ops;

#endif
