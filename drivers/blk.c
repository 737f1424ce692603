/* The table of drivers of disks. To add one, add it here. */
#include "drivers/blk.h"

#include "drivers/nvme/nvme.h"
#include "drivers/virtio_blk/virtio_blk.h"

const struct blk_ops *const blk_drivers[] = {&nvme_ops, &virtio_blk_ops};
const unsigned blk_driver_count = ARRAY_LEN(blk_drivers);
