/*
 * Host twin of hal/mmio.h, found first by -Itests/unit/twin: the test provides the device
 * registers. It supplies the two functions and so sees every access, in order.
 */
#ifndef HAL_MMIO_H
#define HAL_MMIO_H

#include "lib/types.h"

uint32_t host_mmio_read(const volatile void *a, unsigned bytes);
void host_mmio_write(volatile void *a, unsigned bytes, uint32_t v);
void host_mmio_write64(volatile void *a, uint64_t v); /* for tests whose driver uses it */

static inline uint8_t mmio_read8(const volatile void *a) { return (uint8_t)host_mmio_read(a, 1); }
static inline uint16_t mmio_read16(const volatile void *a) { return (uint16_t)host_mmio_read(a, 2); }
static inline uint32_t mmio_read32(const volatile void *a) { return host_mmio_read(a, 4); }

static inline void mmio_write8(volatile void *a, uint8_t v) { host_mmio_write(a, 1, v); }
static inline void mmio_write16(volatile void *a, uint16_t v) { host_mmio_write(a, 2, v); }
static inline void mmio_write32(volatile void *a, uint32_t v) { host_mmio_write(a, 4, v); }
static inline void mmio_write64(volatile void *a, uint64_t v) { host_mmio_write64(a, v); }

#endif
