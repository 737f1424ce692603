/* Disks of the NVM Express standard: the contract of blk.h. */
#ifndef DRIVERS_NVME_NVME_H
#define DRIVERS_NVME_NVME_H

#include "drivers/blk.h"

extern const struct blk_ops nvme_ops;

#endif
