/* See transport.h. */
#include "drivers/virtio/transport.h"

#include "hal/mmio.h"

#define CFG_CAPS 0x34
#define CAPS_MAX 48
#define CAP_LAST (256 - 20) /* last offset at which the longest capability (4.1.4.4) fits */

uint32_t virtio_get(const struct virtio_transport *t, enum virtio_common reg, unsigned bytes)
{
	volatile uint8_t *a = t->common + reg;
	return bytes == 1 ? mmio_read8(a) : bytes == 2 ? mmio_read16(a) : mmio_read32(a);
}

void virtio_put(const struct virtio_transport *t, enum virtio_common reg, unsigned bytes, uint32_t v)
{
	volatile uint8_t *a = t->common + reg;
	if (bytes == 1)
		mmio_write8(a, (uint8_t)v);
	else if (bytes == 2)
		mmio_write16(a, (uint16_t)v);
	else
		mmio_write32(a, v);
}

volatile uint8_t *virtio_doorbell(const struct virtio_transport *t, uint32_t off)
{
	const uint64_t at = (uint64_t)off * t->notify_multiplier;
	return at + 2 > t->notify_bytes || at % 2 ? NULL : t->notify + at;
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

static void use_capability(struct virtio_transport *t, const struct pci_dev *dev, unsigned cap, uint32_t config_least)
{
	uint32_t bytes;
	switch (pci_read(dev, cap + VIRTIO_PCI_CAP_TYPE, 1)) {
	case VIRTIO_PCI_CAP_COMMON_CFG:
		if (!t->common) {
			t->common = structure_at(dev, cap, VIRTIO_COMMON_BYTES, 4, &bytes);
			t->common_bytes = bytes;
		}
		break;
	case VIRTIO_PCI_CAP_NOTIFY_CFG:
		if (!t->notify) {
			t->notify = structure_at(dev, cap, 2, 2, &bytes);
			t->notify_bytes = bytes;
			t->notify_multiplier = pci_read(dev, cap + VIRTIO_PCI_CAP_NOTIFY_MULTIPLIER, 4);
		}
		break;
	case VIRTIO_PCI_CAP_DEVICE_CFG:
		if (!t->config) {
			t->config = structure_at(dev, cap, config_least, 4, &bytes);
			t->config_bytes = bytes;
		}
		break;
	default:
		break;
	}
}

bool virtio_find(struct virtio_transport *t, const struct pci_dev *dev, uint32_t config_least)
{
	*t = (struct virtio_transport){0};
	unsigned cap = pci_read(dev, CFG_CAPS, 1) & 0xfc;
	for (unsigned i = 0; cap >= 0x40 && i < CAPS_MAX; i++) {
		if (pci_read(dev, cap, 1) == PCI_CAP_VENDOR && cap <= CAP_LAST)
			use_capability(t, dev, cap, config_least);
		cap = pci_read(dev, cap + 1, 1) & 0xfc;
	}
	return t->common && t->notify && t->config;
}
