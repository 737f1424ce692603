/*
 * vmxnet3 as a driver sees it: registers, commands, descriptors, and the memory that it shares with the device.
 * VMware publishes no manual. Names and layouts are those on which the public drivers agree: FreeBSD's
 * sys/dev/vmware/vmxnet3/if_vmxreg.h, Linux' drivers/net/vmxnet3/vmxnet3_defs.h and QEMU's hw/net/vmxnet3.h.
 * Everything is little-endian. Only what is in use is here.
 */
#ifndef DRIVERS_VMXNET3_SPEC_H
#define DRIVERS_VMXNET3_SPEC_H

#include "lib/types.h"

#define VMXNET3_VENDOR 0x15ad
#define VMXNET3_DEVICE 0x07b0
#define VMXNET3_BAR_BYTES 4096 /* of BAR 0 and of BAR 1 */

/* BAR 0: registers of queues and vectors, 8 bytes apart, 32 bits wide. */
enum vmxnet3_queue_reg {
	VMXNET3_IMR = 0x000,    /* of a vector: 1 masks it */
	VMXNET3_TXPROD = 0x600, /* of a transmit queue: index of the next descriptor to be filled */
	VMXNET3_RXPROD = 0x800, /* of a receive queue: the same, of its first ring */
};
#define VMXNET3_REG_STRIDE 8

/* BAR 1, 32 bits wide. */
enum vmxnet3_reg {
	VMXNET3_VRRS = 0x00, /* read: revisions of the device, a bit each; write: the one to use */
	VMXNET3_UVRS = 0x08, /* the same of UPT, its data path */
	VMXNET3_DSAL = 0x10, /* bus address of struct vmxnet3_shared, low half first */
	VMXNET3_DSAH = 0x18,
	VMXNET3_CMD = 0x20,  /* write: a command, complete when the write returns; read: its result */
	VMXNET3_MACL = 0x28, /* the address in use, first byte lowest */
	VMXNET3_MACH = 0x30,
	VMXNET3_ECR = 0x40,  /* write: clears these events */
};

#define VMXNET3_REVISION_1 (1u << 0)
#define VMXNET3_REVISION_2 (1u << 1)
#define VMXNET3_REVISION_4 (1u << 3)
#define VMXNET3_UPT_1 (1u << 0)

enum vmxnet3_command {
	VMXNET3_ACTIVATE = 0xcafe0000, /* result 0: active */
	VMXNET3_QUIESCE = 0xcafe0001,
	VMXNET3_RESET = 0xcafe0002,
	VMXNET3_UPDATE_RX_MODE = 0xcafe0003,
	VMXNET3_UPDATE_VLAN_FILTERS = 0xcafe0005,
	VMXNET3_SET_RSS_FIELDS = 0xcafe0010, /* revision 4; its argument is vmxnet3_shared.argument */
	VMXNET3_GET_QUEUE_STATUS = 0xf00d0000,
	VMXNET3_GET_STATS = 0xf00d0001,
	VMXNET3_GET_LINK = 0xf00d0002, /* bit 0: up; from bit 16 on: Mbit/s */
	VMXNET3_GET_PERM_MAC_LO = 0xf00d0003,
	VMXNET3_GET_PERM_MAC_HI = 0xf00d0004,
	VMXNET3_GET_CONF_INTR = 0xf00d0008, /* bits 2 and 3: how vectors are masked; 0: by themselves */
};
#define VMXNET3_LINK_UP 1u
#define VMXNET3_LINK_SPEED_SHIFT 16
#define VMXNET3_CONF_MASK_SHIFT 2
#define VMXNET3_CONF_MASK_MODE 3u

/* Events, in vmxnet3_shared.ecr. */
#define VMXNET3_EVENT_RX_ERROR (1u << 0) /* a queue has stopped */
#define VMXNET3_EVENT_TX_ERROR (1u << 1)

/* --- rings --- */

/*
 * A descriptor or completion is valid when its generation bit is that of the reader's round: 1 in the first round,
 * 0 in the second, and so on. Rings have a multiple of 32 entries and begin at a multiple of 512 bytes.
 */
#define VMXNET3_RING_ALIGN 512
#define VMXNET3_RING_MULTIPLE 32

struct vmxnet3_rx_desc {
	uint64_t addr;
	uint32_t len_gen; /* length of the buffer, 14 bits; bit 14 clear: a frame may begin in it */
	uint32_t reserved;
};
#define VMXNET3_RXD_GEN (1u << 31)
#define VMXNET3_LEN_MAX 0x3fffu

struct vmxnet3_rx_comp {
	uint32_t index; /* of the descriptor, 12 bits, and: */
	uint32_t rss_hash;
	uint32_t len;   /* 14 bits, and: */
	uint32_t flags;
};
#define VMXNET3_RXC_INDEX 0xfffu
#define VMXNET3_RXC_EOP (1u << 14)
#define VMXNET3_RXC_SOP (1u << 15)
#define VMXNET3_RXC_QUEUE_SHIFT 16 /* of the first ring: the queue's number */
#define VMXNET3_RXC_QUEUE 0x3ffu
#define VMXNET3_RXC_NO_CSUM (1u << 30)
/* of len and flags, as one 64-bit word */
#define VMXNET3_RXC_ERROR (1ull << 14)
#define VMXNET3_RXC_TAG (1ull << 15)
#define VMXNET3_RXC_TCI_SHIFT 16
#define VMXNET3_RXC_L4_OK (1ull << 48)
#define VMXNET3_RXC_UDP (1ull << 49)
#define VMXNET3_RXC_TCP (1ull << 50)
#define VMXNET3_RXC_IP_OK (1ull << 51)
#define VMXNET3_RXC_IP6 (1ull << 52)
#define VMXNET3_RXC_IP4 (1ull << 53)
#define VMXNET3_RXC_FRAGMENT (1ull << 54)

struct vmxnet3_tx_desc {
	uint64_t addr;
	uint32_t len_gen; /* length, 14 bits, and: */
	uint32_t how;
};
#define VMXNET3_TXD_GEN (1u << 14)
#define VMXNET3_TXD_MSS_SHIFT 18 /* 14 bits: segment size, or offset of the checksum field in the frame */
/* of `how` */
#define VMXNET3_TXD_HEADERS_MAX 0x3ffu /* bytes up to the payload (segmentation), or to the L4 header */
#define VMXNET3_TXD_CSUM (2u << 10)
#define VMXNET3_TXD_TSO (3u << 10)
#define VMXNET3_TXD_EOP (1u << 12)
#define VMXNET3_TXD_CQ (1u << 13) /* a completion is wanted */
#define VMXNET3_TXD_TAG (1u << 15)
#define VMXNET3_TXD_TCI_SHIFT 16

struct vmxnet3_tx_comp {
	uint32_t index; /* of the frame's last descriptor, 12 bits */
	uint32_t reserved[2];
	uint32_t gen; /* bit 31 */
};
#define VMXNET3_TXC_INDEX 0xfffu

/* Descriptors of a sent frame: more stop the queue. */
#define VMXNET3_PIECES_MAX 16
#define VMXNET3_PIECES_MAX_TSO 24

/* --- shared memory, which the device reads when a command says so --- */

struct vmxnet3_tx_queue {
	uint32_t deferred, threshold; /* how long doorbells may wait; not used */
	uint64_t reserved0;
	uint64_t ring, data_ring, comp_ring, driver_data, reserved1;
	uint32_t ring_size, data_ring_size, comp_ring_size, driver_data_len;
	uint8_t vector, pad0;
	uint16_t data_desc_size;
	uint8_t pad1[4];
	/* written by the device */
	uint8_t stopped, pad2[3];
	uint32_t error;
	uint64_t tso_pkts, tso_bytes, ucast_pkts, ucast_bytes, mcast_pkts, mcast_bytes, bcast_pkts, bcast_bytes;
	uint64_t errors, discards;
	uint8_t pad3[88];
};

struct vmxnet3_rx_queue {
	uint8_t update_prod, pad0[7]; /* not used: the doorbell is always rung */
	uint64_t reserved0;
	uint64_t ring[2], comp_ring, driver_data, data_ring;
	uint32_t ring_size[2], comp_ring_size, driver_data_len;
	uint8_t vector, pad1;
	uint16_t data_desc_size;
	uint8_t pad2[4];
	/* written by the device */
	uint8_t stopped, pad3[3];
	uint32_t error;
	uint64_t lro_pkts, lro_bytes, ucast_pkts, ucast_bytes, mcast_pkts, mcast_bytes, bcast_pkts, bcast_bytes;
	uint64_t no_buffer, errors;
	uint8_t pad4[88];
};
_Static_assert(sizeof(struct vmxnet3_tx_queue) == 256 && offsetof(struct vmxnet3_tx_queue, ring) == 16 &&
                       offsetof(struct vmxnet3_tx_queue, vector) == 72 &&
                       offsetof(struct vmxnet3_tx_queue, stopped) == 80 &&
                       offsetof(struct vmxnet3_tx_queue, errors) == 152,
               "as the device has it");
_Static_assert(sizeof(struct vmxnet3_rx_queue) == 256 && offsetof(struct vmxnet3_rx_queue, ring) == 16 &&
                       offsetof(struct vmxnet3_rx_queue, vector) == 72 &&
                       offsetof(struct vmxnet3_rx_queue, stopped) == 80 &&
                       offsetof(struct vmxnet3_rx_queue, no_buffer) == 152,
               "as the device has it");

struct vmxnet3_conf {
	uint32_t version, len;
	uint64_t addr;
};

#define VMXNET3_MAGIC 0xbabefee1
#define VMXNET3_VECTORS_MAX 25
#define VMXNET3_OS_64_LINUX (2u | 1u << 2) /* the device has behaviours by operating system: Linux' */

struct vmxnet3_shared {
	uint32_t magic, pad;
	uint32_t driver_version, os, revisions, upt_versions;
	uint64_t features, driver_data, queues;
	uint32_t driver_data_len, queues_len, mtu;
	uint16_t rx_pieces;
	uint8_t tx_queues, rx_queues;
	uint32_t reserved0[4];
	uint8_t auto_mask, vectors, event_vector, moderation[VMXNET3_VECTORS_MAX];
	uint32_t interrupts_off, reserved1[2]; /* bit 0: no vector fires */
	uint32_t rx_mode;
	uint16_t groups_len, pad1;
	uint64_t groups;
	uint32_t vlans[4096 / 32];
	struct vmxnet3_conf rss, power, plugin;
	uint32_t ecr, reserved2; /* ecr: written by the device, enum of events */
	uint32_t argument, reserved3[3];
};
_Static_assert(offsetof(struct vmxnet3_shared, features) == 24 && offsetof(struct vmxnet3_shared, mtu) == 56 &&
                       offsetof(struct vmxnet3_shared, auto_mask) == 80 &&
                       offsetof(struct vmxnet3_shared, interrupts_off) == 108 &&
                       offsetof(struct vmxnet3_shared, rx_mode) == 120 &&
                       offsetof(struct vmxnet3_shared, rss) == 648 && offsetof(struct vmxnet3_shared, ecr) == 696 &&
                       sizeof(struct vmxnet3_shared) == 720,
               "as the device has it");

/* of `features` */
#define VMXNET3_F_RX_CSUM (1u << 0)
#define VMXNET3_F_RSS (1u << 1)
#define VMXNET3_F_RX_VLAN (1u << 2)
/* of `rx_mode` */
#define VMXNET3_MODE_UCAST (1u << 0)
#define VMXNET3_MODE_BCAST (1u << 2)
#define VMXNET3_MODE_ALL_MULTI (1u << 3)
#define VMXNET3_MODE_PROMISC (1u << 4)

#define VMXNET3_MTU_MAX 9000

struct vmxnet3_rss {
	uint16_t types, function, key_size, table_size;
	uint8_t key[40], table[128];
};
#define VMXNET3_RSS_TYPES 0xfu /* TCP and the rest of IPv4 and IPv6 */
#define VMXNET3_RSS_TOEPLITZ 1
/* argument of SET_RSS_FIELDS: TCP and UDP of IPv4 and IPv6 */
#define VMXNET3_RSS_FIELDS 0xfu

#endif
