/*
 * Memory order, and two hints to the CPU.
 *
 * x86-64 keeps loads in order and stores in order (Intel SDM vol. 3A, 8.2.2), also as a device sees
 * them in write-back memory; only the compiler must be held. The one case that needs an instruction
 * is a store followed by a load of something else (barrier_full). A word that is a flag for other
 * cores is loaded with acquire, stored with release (shared_load, shared_store), and needs none.
 */
#ifndef HAL_BARRIER_H
#define HAL_BARRIER_H

#include "lib/types.h"

/* Earlier stores are visible before later ones: publish, then tell. */
static inline void barrier_write(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Earlier stores are visible before later loads are done: ask for a wake-up, then look again. */
static inline void barrier_full(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/*
 * Fetches the line of p for writing, so that a core that has it gives it up once: after a plain
 * prefetch the first store would ask a second time. (GCC makes __builtin_prefetch(p, 1) a plain
 * one for a CPU that may lack the instruction; every x86-64 CPU takes it, if only as a no-op.)
 */
static inline void prefetch_write(const volatile void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const volatile char *)p));
#else
	__builtin_prefetch((const void *)(uintptr_t)p, 1);
#endif
}

/* In every loop that waits for another core, a device or the time. */
static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

#endif
