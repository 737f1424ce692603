/* The driver for VMware's vmxnet3, for the table in drivers/nic.c. */
#ifndef DRIVERS_VMXNET3_VMXNET3_H
#define DRIVERS_VMXNET3_VMXNET3_H

#include "drivers/nic.h"

extern const struct nic_ops vmxnet3_ops;

#endif
