/*
 * Virtio devices on PCI: where their registers lie (VIRTIO 1.2, 4.1.4), for the drivers of the kinds of devices. Modern
 * interface only; a transitional device is driven through its modern capabilities.
 */
#ifndef DRIVERS_VIRTIO_TRANSPORT_H
#define DRIVERS_VIRTIO_TRANSPORT_H

#include "abi/pci.h"
#include "drivers/virtio/spec.h"

struct virtio_transport {
	volatile uint8_t *common, *notify, *config;
	uint32_t common_bytes;
	uint32_t notify_multiplier;
	uint32_t notify_bytes;
	uint32_t config_bytes; /* of the device's configuration, at least what virtio_find asked for */
};

/* Finds the registers by the capabilities of `dev`. config_least: bytes that the driver needs of the device's
 * configuration. False: the device has no modern interface. */
bool virtio_find(struct virtio_transport *t, const struct pci_dev *dev, uint32_t config_least);

/* Access to the common configuration structure (4.1.4.3), 1, 2 or 4 bytes. */
uint32_t virtio_get(const struct virtio_transport *t, enum virtio_common reg, unsigned bytes);
void virtio_put(const struct virtio_transport *t, enum virtio_common reg, unsigned bytes, uint32_t v);

/* The doorbell of a queue whose QUEUE_NOTIFY_OFF is `off` (4.1.4.4); NULL: it would lie outside of its BAR. */
volatile uint8_t *virtio_doorbell(const struct virtio_transport *t, uint32_t off);

#endif
