/* See device.h: locates the registers of a virtio device (VIRTIO 1.2, 4.1.4) and accesses them. */
#include "drivers/virtio_net/device.h"

#include "hal/mmio.h"

#define CFG_CAPS 0x34
#define CAPS_MAX 48
#define CAP_LAST (256 - 20) /* last offset at which the longest capability (4.1.4.4) fits */

uint32_t virtio_read(struct nic *nic, enum virtio_common reg, unsigned bytes)
{
	volatile uint8_t *a = virtio_device(nic)->common + reg;
	nic->mmio_reads++;
	return bytes == 1 ? mmio_read8(a) : bytes == 2 ? mmio_read16(a) : mmio_read32(a);
}

void virtio_write(struct nic *nic, enum virtio_common reg, unsigned bytes, uint32_t v)
{
	volatile uint8_t *a = virtio_device(nic)->common + reg;
	nic->mmio_writes++;
	if (bytes == 1)
		mmio_write8(a, (uint8_t)v);
	else if (bytes == 2)
		mmio_write16(a, (uint16_t)v);
	else
		mmio_write32(a, v);
}

uint16_t virtio_config16(struct nic *nic, enum virtio_net_config offset)
{
	nic->mmio_reads++;
	return mmio_read16(virtio_device(nic)->config + offset);
}

/* Address of the structure that the capability at `cap` describes, or NULL unless it fits its BAR
 * and is aligned (4.1.4: to 4 bytes; the doorbells, 4.1.4.4.1, to 2). */
static volatile uint8_t *structure_at(const struct pci_dev *dev, unsigned cap, uint32_t bytes_min,
                                      unsigned align, uint32_t *bytes)
{
	unsigned bar = pci_read(dev, cap + VIRTIO_PCI_CAP_BAR, 1);
	uint32_t offset = pci_read(dev, cap + VIRTIO_PCI_CAP_OFFSET, 4);
	*bytes = pci_read(dev, cap + VIRTIO_PCI_CAP_LENGTH, 4);
	if (bar >= PCI_BARS || dev->bar[bar].addr == 0 || *bytes < bytes_min || offset % align ||
	    (uint64_t)offset + *bytes > dev->bar[bar].bytes)
		return NULL;
	return (volatile uint8_t *)(uintptr_t)(dev->bar[bar].addr + offset);
}

static void use_capability(struct device *d, const struct pci_dev *dev, unsigned cap)
{
	uint32_t bytes;
	switch (pci_read(dev, cap + VIRTIO_PCI_CAP_TYPE, 1)) {
	case VIRTIO_PCI_CAP_COMMON_CFG:
		if (!d->common) {
			d->common = structure_at(dev, cap, VIRTIO_COMMON_BYTES, 4, &bytes);
			d->common_bytes = bytes;
		}
		break;
	case VIRTIO_PCI_CAP_NOTIFY_CFG:
		if (!d->notify) {
			d->notify = structure_at(dev, cap, 2, 2, &bytes);
			d->notify_bytes = bytes;
			d->notify_multiplier = pci_read(dev, cap + VIRTIO_PCI_CAP_NOTIFY_MULTIPLIER, 4);
		}
		break;
	case VIRTIO_PCI_CAP_DEVICE_CFG:
		if (!d->config) {
			d->config = structure_at(dev, cap, VIRTIO_NET_CFG_MTU + 2, 4, &bytes);
			d->config_bytes = bytes;
		}
		break;
	default:
		break;
	}
}

int virtio_find_structures(struct nic *nic)
{
	struct device *d = virtio_device(nic);
	unsigned cap = pci_read(nic->pci, CFG_CAPS, 1) & 0xfc;
	for (unsigned i = 0; cap >= 0x40 && i < CAPS_MAX; i++) {
		if (pci_read(nic->pci, cap, 1) == PCI_CAP_VENDOR && cap <= CAP_LAST)
			use_capability(d, nic->pci, cap);
		cap = pci_read(nic->pci, cap + 1, 1) & 0xfc;
	}
	if (!d->common || !d->notify || !d->config)
		return virtio_fail(nic, E_NOTSUP, "no modern (VIRTIO 1.x) interface");
	return E_OK;
}
