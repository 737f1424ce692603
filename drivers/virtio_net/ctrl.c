/* See device.h: commands by the control queue (VIRTIO 1.2, 5.1.6.5). */
#include "drivers/virtio_net/device.h"

#include "hal/barrier.h"
#include "hal/dma.h"
#include "hal/mmio.h"
#include "lib/mem.h"

#define CTRL_DATA_OFFSET 8192 /* in nic->dma, behind the ring */
#define RSS_TABLE 128

/* Descriptor i of the command. Descriptors follow each other, also from command to command, as
 * IN_ORDER requires (2.7.9). */
static uint16_t place(const struct virtio_ring *r, unsigned i)
{
	return (uint16_t)((3u * r->head + i) & (r->size - 1u));
}

/* Sends a command and waits for its answer. */
static int control(struct nic *nic, uint8_t class, uint8_t command, const void *data, uint32_t bytes)
{
	struct virtio_ring *r = &virtio_device(nic)->ctrl;
	uint8_t *head = (uint8_t *)nic->dma + CTRL_DATA_OFFSET;
	uint8_t *body = head + 64, *ack = head + 64 + 4096;
	head[0] = class;
	head[1] = command;
	memcpy(body, data, bytes);
	*ack = 0xff;
	r->desc[place(r, 0)] =
		(struct virtq_desc){dma_addr(head).bus, 2, VIRTQ_DESC_F_NEXT, place(r, 1)};
	r->desc[place(r, 1)] =
		(struct virtq_desc){dma_addr(body).bus, bytes, VIRTQ_DESC_F_NEXT, place(r, 2)};
	r->desc[place(r, 2)] = (struct virtq_desc){dma_addr(ack).bus, 1, VIRTQ_DESC_F_WRITE, 0};
	r->avail->ring[r->head & (r->size - 1)] = place(r, 0);
	r->head++;
	__atomic_store_n(&r->avail->idx, r->head, __ATOMIC_RELEASE);
	barrier_full();
	mmio_write16(r->doorbell, r->queue);
	nic->mmio_writes++;
	uint64_t end = nic_deadline(nic, VIRTIO_WAIT_US);
	while (__atomic_load_n(&r->used->idx, __ATOMIC_ACQUIRE) != r->head) {
		if (nic_past(end))
			return virtio_fail(nic, E_TIMEOUT, "control queue does not answer");
		cpu_relax();
	}
	if (*(volatile uint8_t *)ack != VIRTIO_NET_OK)
		return virtio_fail(nic, E_DEVICE, "device refuses a control command");
	return E_OK;
}

/* 5.1.6.5.6.4: all hash types over IPv4 and IPv6, and the table. Packets that are not hashed go where bucket 0
 * goes. */
static int send_rss(struct nic *nic, const uint8_t *pair_of)
{
	struct {
		uint32_t hash_types;
		uint16_t table_mask, unclassified;
		uint16_t table[RSS_TABLE];
		uint16_t max_tx;
		uint8_t key_bytes;
		uint8_t key[NIC_RSS_KEY_BYTES];
	} __attribute__((packed)) c = {
		.hash_types = VIRTIO_NET_HASH_TYPE_IP4 | VIRTIO_NET_HASH_TYPE_TCP4 |
		              VIRTIO_NET_HASH_TYPE_UDP4 | VIRTIO_NET_HASH_TYPE_IP6 |
		              VIRTIO_NET_HASH_TYPE_TCP6 | VIRTIO_NET_HASH_TYPE_UDP6,
		.table_mask = RSS_TABLE - 1,
		.unclassified = pair_of[0],
		.max_tx = (uint16_t)virtio_device(nic)->pairs,
		.key_bytes = NIC_RSS_KEY_BYTES,
		.key = NIC_RSS_KEY,
	};
	nic->mmio_reads++;
	c.hash_types &= mmio_read32(virtio_device(nic)->t.config + VIRTIO_NET_CFG_HASH_TYPES);
	for (unsigned i = 0; i < RSS_TABLE; i++)
		c.table[i] = pair_of[i];
	return control(nic, VIRTIO_NET_CTRL_MQ, VIRTIO_NET_CTRL_MQ_RSS_CONFIG, &c, sizeof c);
}

/* Without RSS the device itself remembers which queue a flow was sent by, and takes no
 * instructions. */
uint16_t virtio_buckets(const struct device *d)
{
	return d->features & VIRTIO_NET_F_RSS && d->rss_table_max >= RSS_TABLE ? RSS_TABLE : 0;
}

int virtio_table(struct nic *nic, const uint8_t *pair_of)
{
	return virtio_buckets(virtio_device(nic)) ? send_rss(nic, pair_of) : E_NOTSUP;
}

int virtio_choose_pairs(struct nic *nic)
{
	const struct device *d = virtio_device(nic);
	uint16_t n = (uint16_t)d->pairs;
	uint8_t pair_of[RSS_TABLE];
	for (unsigned i = 0; i < RSS_TABLE; i++)
		pair_of[i] = (uint8_t)(i % n);
	if (virtio_buckets(d))
		return send_rss(nic, pair_of);
	if (d->features & VIRTIO_NET_F_MQ)
		return control(nic, VIRTIO_NET_CTRL_MQ, VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET, &n, 2);
	return E_OK;
}
