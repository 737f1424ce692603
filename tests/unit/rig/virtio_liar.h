/* A virtio device that lies at random (test_virtio_hostile.c, tests/fuzz/fuzz_virtio.c). */
#ifndef TESTS_UNIT_RIG_VIRTIO_LIAR_H
#define TESTS_UNIT_RIG_VIRTIO_LIAR_H

#include "tests/unit/rig/virtio_rig.h"

/* From here on the device lies, so it can no longer check the driver. */
void hostile(void);

/* A machine with such a device. */
void liar_start(void);

/* The device misbehaves, the driver receives and sends, packets are released. Received packets are
 * valid, every buffer has one owner. */
void liar_round(void);

#endif
