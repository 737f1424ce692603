/* The virtio-net driver (VIRTIO 1.2, 5.1). */
#ifndef DRIVERS_VIRTIO_NET_VIRTIO_NET_H
#define DRIVERS_VIRTIO_NET_VIRTIO_NET_H

#include "drivers/nic.h"

extern const struct nic_ops virtio_net_ops;

#endif
