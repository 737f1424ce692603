/*
 * Layouts and constants of "Virtual I/O Device (VIRTIO) Version 1.2", OASIS, that are common to all devices, as far as
 * used here.
 * All fields are little-endian (1.4), as the CPU is.
 */
#ifndef DRIVERS_VIRTIO_SPEC_H
#define DRIVERS_VIRTIO_SPEC_H

#include "lib/types.h"

#define VIRTIO_VENDOR 0x1af4

/* 4.1.4: vendor capability that says where a structure lies */
#define PCI_CAP_VENDOR 0x09
enum virtio_cfg_type {
	VIRTIO_PCI_CAP_COMMON_CFG = 1,
	VIRTIO_PCI_CAP_NOTIFY_CFG = 2,
	VIRTIO_PCI_CAP_DEVICE_CFG = 4,
};
enum virtio_pci_cap { /* offsets in the capability */
	VIRTIO_PCI_CAP_TYPE = 3,
	VIRTIO_PCI_CAP_BAR = 4,
	VIRTIO_PCI_CAP_OFFSET = 8,
	VIRTIO_PCI_CAP_LENGTH = 12,
	VIRTIO_PCI_CAP_NOTIFY_MULTIPLIER = 16,
};

/* 4.1.4.3 common configuration: offsets, with the bytes of each field. */
enum virtio_common {
	VIRTIO_DEVICE_FEATURE_SELECT = 0x00, /* 4 */
	VIRTIO_DEVICE_FEATURE = 0x04,        /* 4, read only */
	VIRTIO_DRIVER_FEATURE_SELECT = 0x08, /* 4 */
	VIRTIO_DRIVER_FEATURE = 0x0c,        /* 4 */
	VIRTIO_CONFIG_MSIX_VECTOR = 0x10,    /* 2 */
	VIRTIO_NUM_QUEUES = 0x12,            /* 2, read only */
	VIRTIO_DEVICE_STATUS = 0x14,         /* 1 */
	VIRTIO_CONFIG_GENERATION = 0x15,     /* 1, read only */
	VIRTIO_QUEUE_SELECT = 0x16,          /* 2 */
	VIRTIO_QUEUE_SIZE = 0x18,            /* 2 */
	VIRTIO_QUEUE_MSIX_VECTOR = 0x1a,     /* 2 */
	VIRTIO_QUEUE_ENABLE = 0x1c,          /* 2 */
	VIRTIO_QUEUE_NOTIFY_OFF = 0x1e,      /* 2, read only */
	VIRTIO_QUEUE_DESC_LO = 0x20,         /* 4 */
	VIRTIO_QUEUE_DESC_HI = 0x24,         /* 4 */
	VIRTIO_QUEUE_DRIVER_LO = 0x28,       /* 4 */
	VIRTIO_QUEUE_DRIVER_HI = 0x2c,       /* 4 */
	VIRTIO_QUEUE_DEVICE_LO = 0x30,       /* 4 */
	VIRTIO_QUEUE_DEVICE_HI = 0x34,       /* 4 */
	VIRTIO_QUEUE_NOTIFY_DATA = 0x38,     /* 2, read only */
	VIRTIO_QUEUE_RESET = 0x3a,           /* 2 */
	VIRTIO_COMMON_BYTES = 0x38,          /* on every device */
	VIRTIO_COMMON_BYTES_RESET = 0x3c,    /* on a device with VIRTIO_F_RING_RESET */
};
#define VIRTIO_NO_VECTOR 0xffff

/* 2.1 device status */
#define VIRTIO_STATUS_ACKNOWLEDGE 1
#define VIRTIO_STATUS_DRIVER 2
#define VIRTIO_STATUS_DRIVER_OK 4
#define VIRTIO_STATUS_FEATURES_OK 8

/* 6: feature bits of all devices */
#define VIRTIO_F_VERSION_1 (1ull << 32)
#define VIRTIO_F_ACCESS_PLATFORM (1ull << 33)
#define VIRTIO_F_IN_ORDER (1ull << 35)
#define VIRTIO_F_RING_RESET (1ull << 40)

/* 2.7 split virtqueues */
struct virtq_desc {
	uint64_t addr;
	uint32_t len;
	uint16_t flags;
	uint16_t next;
};
_Static_assert(sizeof(struct virtq_desc) == 16, "2.7.5");
#define VIRTQ_DESC_F_NEXT 1
#define VIRTQ_DESC_F_WRITE 2

struct virtq_avail {
	uint16_t flags;
	uint16_t idx;
	uint16_t ring[];
};
#define VIRTQ_AVAIL_F_NO_INTERRUPT 1

struct virtq_used_elem {
	uint32_t id;
	uint32_t len;
};

struct virtq_used {
	uint16_t flags;
	uint16_t idx;
	struct virtq_used_elem ring[];
};
#define VIRTQ_USED_F_NO_NOTIFY 1

#endif
