/* The driver for Intel's 1 and 2.5 Gb/s NICs (82576, I350, I210, I211, I225, I226), for the table in drivers/nic.c. */
#ifndef DRIVERS_IGB_IGB_H
#define DRIVERS_IGB_IGB_H

#include "drivers/nic.h"

extern const struct nic_ops igb_ops;

#endif
