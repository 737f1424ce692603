/* See device.h: counted accesses to the registers of a virtio device. */
#include "drivers/virtio_net/device.h"

#include "hal/mmio.h"

uint32_t virtio_read(struct nic *nic, enum virtio_common reg, unsigned bytes)
{
	nic->mmio_reads++;
	return virtio_get(&virtio_device(nic)->t, reg, bytes);
}

void virtio_write(struct nic *nic, enum virtio_common reg, unsigned bytes, uint32_t v)
{
	nic->mmio_writes++;
	virtio_put(&virtio_device(nic)->t, reg, bytes, v);
}

uint16_t virtio_config16(struct nic *nic, enum virtio_net_config offset)
{
	nic->mmio_reads++;
	return mmio_read16(virtio_device(nic)->t.config + offset);
}

int virtio_find_structures(struct nic *nic)
{
	if (!virtio_find(&virtio_device(nic)->t, nic->pci, VIRTIO_NET_CFG_MTU + 2))
		return virtio_fail(nic, E_NOTSUP, "no modern (VIRTIO 1.x) interface");
	return E_OK;
}
