/* What the files of the device half share: virtio_net.c, reg.c (registers), ctrl.c (control queue). */
#ifndef DRIVERS_VIRTIO_NET_DEVICE_H
#define DRIVERS_VIRTIO_NET_DEVICE_H

#include "drivers/nic.h"
#include "drivers/virtio/transport.h"
#include "drivers/virtio_net/ring.h"

#define VIRTIO_WAIT_US 5000000 /* the standard sets no bound; a host may leave QEMU without a CPU */

/* Driver state of the device half, in nic->priv. */
struct device {
	struct virtio_transport t;
	uint32_t pairs; /* pairs started */
	uint64_t features;
	uint16_t mtu; /* read once: the device may change it */
	uint16_t max_pairs;
	uint16_t rss_table_max;
	bool irq; /* enough MSI-X vectors to wake every core */
	struct virtio_ring ctrl; /* the control queue, if there is one */
};
_Static_assert(sizeof(struct device) <= sizeof(((struct nic *)0)->priv), "fits");

static inline struct device *virtio_device(struct nic *nic)
{
	return (struct device *)(void *)nic->priv;
}

/* Returns `error` and records why, as text to be shown; static. */
static inline int virtio_fail(struct nic *nic, int error, const char *why)
{
	nic->error = why;
	return error;
}

/* --- reg.c --- */

/* Finds the registers by the capabilities of nic->pci (4.1.4). E_NOTSUP. */
int virtio_find_structures(struct nic *nic);

/* Access to the common configuration structure (4.1.4.3), 1, 2 or 4 bytes, and to the device's
 * (5.1.4). Counted. */
uint32_t virtio_read(struct nic *nic, enum virtio_common reg, unsigned bytes);
void virtio_write(struct nic *nic, enum virtio_common reg, unsigned bytes, uint32_t v);
uint16_t virtio_config16(struct nic *nic, enum virtio_net_config offset);

/* --- ctrl.c --- */

/* Tells a started device, whose control queue is in `ctrl` of struct device, how many pairs to use,
 * or over which to spread what it receives. E_TIMEOUT, E_DEVICE. */
int virtio_choose_pairs(struct nic *nic);

/* Entries of the indirection table; 0: the device has none, or a shorter one. */
uint16_t virtio_buckets(const struct device *d);
/* As nic_ops.table. */
int virtio_table(struct nic *nic, const uint8_t *pair_of);

#endif
