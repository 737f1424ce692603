/*
 * Device registers, accessed by plain moves of the exact width. No vector instruction ever accesses a
 * register; some virtual machines stop on one. Little-endian, as PCI is.
 */
#ifndef HAL_MMIO_H
#define HAL_MMIO_H

#include "lib/types.h"

static inline uint8_t mmio_read8(const volatile void *a) { return *(const volatile uint8_t *)a; }
static inline uint16_t mmio_read16(const volatile void *a) { return *(const volatile uint16_t *)a; }
static inline uint32_t mmio_read32(const volatile void *a) { return *(const volatile uint32_t *)a; }
static inline uint64_t mmio_read64(const volatile void *a) { return *(const volatile uint64_t *)a; }

static inline void mmio_write8(volatile void *a, uint8_t v) { *(volatile uint8_t *)a = v; }
static inline void mmio_write16(volatile void *a, uint16_t v) { *(volatile uint16_t *)a = v; }
static inline void mmio_write32(volatile void *a, uint32_t v) { *(volatile uint32_t *)a = v; }
static inline void mmio_write64(volatile void *a, uint64_t v) { *(volatile uint64_t *)a = v; }

#endif
