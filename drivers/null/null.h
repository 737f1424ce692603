/* The driver of null ports, for the table in drivers/nic.c. */
#ifndef DRIVERS_NULL_NULL_H
#define DRIVERS_NULL_NULL_H

#include "drivers/nic.h"

extern const struct nic_ops null_ops;

#endif
