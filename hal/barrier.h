/*
 * Memory order, and two hints to the CPU.
 *
 * x86-64 keeps loads in order and stores in order (Intel SDM vol. 3A, 8.2.2), also as a device sees
 * them in write-back memory, so only the compiler must be kept from reordering. One case needs an
 * instruction: a store followed by a load from another location (barrier_full). A flag word shared
 * between cores is loaded with acquire and stored with release (shared_load, shared_store), and needs
 * no barrier.
 */
#ifndef HAL_BARRIER_H
#define HAL_BARRIER_H

#include "lib/types.h"

/* Earlier stores become visible before later ones: publish, then notify. */
static inline void barrier_write(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Earlier stores become visible before later loads: request a wake-up, then check again. */
static inline void barrier_full(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/*
 * Fetches the cache line of p for writing, so the core that owns it gives it up in one transaction.
 * After a plain prefetch the first store would need a second one. (GCC compiles
 * __builtin_prefetch(p, 1) to a plain prefetch if the target CPU may lack PREFETCHW. Every x86-64
 * CPU executes PREFETCHW, at least as a no-op.)
 */
static inline void prefetch_write(const volatile void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const volatile char *)p));
#else
	__builtin_prefetch((const void *)(uintptr_t)p, 1);
#endif
}

/* Belongs in every loop that waits for another core, a device or a point in time. */
static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

#endif
