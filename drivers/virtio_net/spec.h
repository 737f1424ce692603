/* Layouts and constants of network devices, VIRTIO 1.2, 5.1. */
#ifndef DRIVERS_VIRTIO_NET_SPEC_H
#define DRIVERS_VIRTIO_NET_SPEC_H

#include "drivers/virtio/spec.h"

#define VIRTIO_DEVICE_NET 0x1041              /* 4.1.2.1: 0x1040 + device ID 1 */
#define VIRTIO_DEVICE_NET_TRANSITIONAL 0x1000 /* 4.1.2.3 */

/* 5.1.3 feature bits */
#define VIRTIO_NET_F_CSUM (1ull << 0)
#define VIRTIO_NET_F_GUEST_CSUM (1ull << 1)
#define VIRTIO_NET_F_MTU (1ull << 3)
#define VIRTIO_NET_F_MAC (1ull << 5)
#define VIRTIO_NET_F_HOST_TSO4 (1ull << 11)
#define VIRTIO_NET_F_HOST_TSO6 (1ull << 12)
#define VIRTIO_NET_F_HOST_ECN (1ull << 13)
#define VIRTIO_NET_F_MRG_RXBUF (1ull << 15)
#define VIRTIO_NET_F_STATUS (1ull << 16)
#define VIRTIO_NET_F_CTRL_VQ (1ull << 17)
#define VIRTIO_NET_F_MQ (1ull << 22)
#define VIRTIO_NET_F_HOST_USO (1ull << 56)
#define VIRTIO_NET_F_RSS (1ull << 60)

/* 5.1.4 device configuration, offsets */
enum virtio_net_config {
	VIRTIO_NET_CFG_MAC = 0,
	VIRTIO_NET_CFG_STATUS = 6,
	VIRTIO_NET_CFG_MAX_PAIRS = 8,
	VIRTIO_NET_CFG_MTU = 10,
	VIRTIO_NET_CFG_RSS_MAX_TABLE = 18,
	VIRTIO_NET_CFG_HASH_TYPES = 20,
};
#define VIRTIO_NET_S_LINK_UP 1

/* 5.1.6 header before every frame */
struct virtio_net_hdr {
	uint8_t flags;
	uint8_t gso_type;
	uint16_t hdr_len;
	uint16_t gso_size;
	uint16_t csum_start;
	uint16_t csum_offset;
	uint16_t num_buffers;
};
_Static_assert(sizeof(struct virtio_net_hdr) == 12, "5.1.6");
#define VIRTIO_NET_HDR_F_NEEDS_CSUM 1
#define VIRTIO_NET_HDR_F_DATA_VALID 2
#define VIRTIO_NET_HDR_GSO_NONE 0
#define VIRTIO_NET_HDR_GSO_TCPV4 1
#define VIRTIO_NET_HDR_GSO_TCPV6 4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#define VIRTIO_NET_HDR_GSO_ECN 0x80

/* 5.1.6.5 control queue */
#define VIRTIO_NET_CTRL_MQ 4
#define VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET 0
#define VIRTIO_NET_CTRL_MQ_RSS_CONFIG 1
#define VIRTIO_NET_OK 0
#define VIRTIO_NET_HASH_TYPE_IP4 (1u << 0)
#define VIRTIO_NET_HASH_TYPE_TCP4 (1u << 1)
#define VIRTIO_NET_HASH_TYPE_UDP4 (1u << 2)
#define VIRTIO_NET_HASH_TYPE_IP6 (1u << 3)
#define VIRTIO_NET_HASH_TYPE_TCP6 (1u << 4)
#define VIRTIO_NET_HASH_TYPE_UDP6 (1u << 5)

#endif
