/* Layouts and constants of block devices, VIRTIO 1.2, 5.2. Numbers in memory are little-endian. */
#ifndef DRIVERS_VIRTIO_BLK_SPEC_H
#define DRIVERS_VIRTIO_BLK_SPEC_H

#include "drivers/virtio/spec.h"

#define VIRTIO_DEVICE_BLK 0x1042              /* 4.1.2.1: 0x1040 + device ID 2 */
#define VIRTIO_DEVICE_BLK_TRANSITIONAL 0x1001 /* 4.1.2.1 */

/* 5.2.3 feature bits */
#define VIRTIO_BLK_F_SIZE_MAX (1ull << 1)
#define VIRTIO_BLK_F_RO (1ull << 5)
#define VIRTIO_BLK_F_BLK_SIZE (1ull << 6)
#define VIRTIO_BLK_F_FLUSH (1ull << 9)

/* 5.2.4 device configuration, offsets */
enum virtio_blk_config {
	VIRTIO_BLK_CFG_CAPACITY = 0, /* in VIRTIO_BLK_UNIT, 64 bits */
	VIRTIO_BLK_CFG_SIZE_MAX = 8,
	VIRTIO_BLK_CFG_BLK_SIZE = 20,
	VIRTIO_BLK_CFG_BYTES = 24,
};

/* 5.2.6: a request is a head, data, and a byte of status. */
#define VIRTIO_BLK_UNIT 512 /* bytes of a sector of the head, whatever BLK_SIZE is */
enum virtio_blk_head { VIRTIO_BLK_TYPE = 0, VIRTIO_BLK_SECTOR = 8, VIRTIO_BLK_HEAD_BYTES = 16 };
enum virtio_blk_type { VIRTIO_BLK_T_IN = 0, VIRTIO_BLK_T_OUT = 1, VIRTIO_BLK_T_FLUSH = 4, VIRTIO_BLK_T_GET_ID = 8 };
#define VIRTIO_BLK_ID_BYTES 20 /* ended by 0 if it is shorter */
#define VIRTIO_BLK_S_OK 0

#endif
