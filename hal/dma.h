/* DMA addresses have a type of their own, so a virtual address in a descriptor does not compile. */
#ifndef HAL_DMA_H
#define HAL_DMA_H

#include "abi/layout.h"
#include "lib/types.h"

typedef struct { uint64_t bus; } dma_addr_t;

/* Bus address of memory in the MEMORY_WINDOW. */
static inline dma_addr_t dma_addr(const volatile void *p)
{
	return (dma_addr_t){(uint64_t)(uintptr_t)p - MEMORY_WINDOW};
}

#endif
