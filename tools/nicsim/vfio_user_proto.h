/*
 * vfio-user on the wire, as QEMU's documentation specifies it ("vfio-user Protocol Specification",
 * version 0.9.2): a Unix stream socket, little-endian structs, file descriptors by SCM_RIGHTS.
 * Flags and indices are those of Linux's VFIO.
 */
#ifndef NICSIM_VFIO_USER_PROTO_H
#define NICSIM_VFIO_USER_PROTO_H

#include <stdint.h>

enum vu_command {
	VU_VERSION = 1,
	VU_DMA_MAP = 2,
	VU_DMA_UNMAP = 3,
	VU_GET_INFO = 4,
	VU_GET_REGION_INFO = 5,
	VU_GET_IRQ_INFO = 7,
	VU_SET_IRQS = 8,
	VU_REGION_READ = 9,
	VU_REGION_WRITE = 10,
	VU_DEVICE_RESET = 13,
};

#define VU_TYPE_MASK  0x0fu /* of flags: 0 command, 1 reply */
#define VU_REPLY      0x01u
#define VU_NO_REPLY   0x10u
#define VU_ERROR      0x20u

struct vu_header {
	uint16_t id, command;
	uint32_t bytes; /* including this header */
	uint32_t flags;
	uint32_t error;
};

struct vu_version {
	uint16_t major, minor; /* JSON follows, with its NUL */
};

struct vu_dma_map {
	uint32_t argsz, flags;
	uint64_t offset, address, bytes;
};
#define VU_MAP_WRITE 2u
#define VU_MAP_FLAGS 7u /* 1: read; 4: may be mapped, which we always do */

struct vu_dma_unmap {
	uint32_t argsz, flags;
	uint64_t address, bytes;
};
#define VU_UNMAP_ALL 2u

struct vu_device_info {
	uint32_t argsz, flags, regions, irqs;
};
#define VU_DEVICE_RESETS 1u
#define VU_DEVICE_PCI    2u

struct vu_region_info {
	uint32_t argsz, flags, index, capability;
	uint64_t bytes, offset;
};
#define VU_REGION_READS  1u
#define VU_REGION_WRITES 2u
#define VU_REGION_MMAP   4u
#define VU_REGION_CAPS   8u
#define VU_REGION_CONFIG 7u /* index: 0 to 5 are the BARs, 6 the ROM */
#define VU_REGIONS       9u

struct vu_sparse { /* capability 1: which parts of a region can be mapped */
	uint16_t id, version;
	uint32_t next, count, reserved;
};

struct vu_area {
	uint64_t offset, bytes;
};

struct vu_irq_info {
	uint32_t argsz, flags, index, count;
};
#define VU_IRQ_EVENTFD  1u
#define VU_IRQ_NORESIZE 8u
#define VU_IRQ_MSIX     2u /* index */
#define VU_IRQS         5u

struct vu_irq_set {
	uint32_t argsz, flags, index, start, count;
};
#define VU_DATA_NONE    0x01u
#define VU_DATA_EVENTFD 0x04u
#define VU_DATA_MASK    0x07u
#define VU_TRIGGER      0x20u
#define VU_ACTION_MASK  0x38u

struct vu_access {
	uint64_t offset;
	uint32_t region, count; /* the data follows */
};

_Static_assert(sizeof(struct vu_header) == 16, "wire format");
_Static_assert(sizeof(struct vu_dma_map) == 32, "wire format");
_Static_assert(sizeof(struct vu_dma_unmap) == 24, "wire format");
_Static_assert(sizeof(struct vu_region_info) == 32, "wire format");
_Static_assert(sizeof(struct vu_sparse) == 16, "wire format");
_Static_assert(sizeof(struct vu_irq_set) == 20, "wire format");
_Static_assert(sizeof(struct vu_access) == 16, "wire format");

#endif
