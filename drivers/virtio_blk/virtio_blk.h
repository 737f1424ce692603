/* Disks of a hypervisor, virtio-blk: the contract of blk.h. */
#ifndef DRIVERS_VIRTIO_BLK_VIRTIO_BLK_H
#define DRIVERS_VIRTIO_BLK_VIRTIO_BLK_H

#include "drivers/blk.h"

extern const struct blk_ops virtio_blk_ops;

#endif
