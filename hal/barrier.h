/*
 * Memory order. x86-64 keeps loads in order and stores in order (Intel SDM vol. 3A, 8.2.2), also
 * as a device sees them in write-back memory; only the compiler must be held. The one case that
 * needs an instruction is a store followed by a load of something else (barrier_full).
 */
#ifndef HAL_BARRIER_H
#define HAL_BARRIER_H

#include "lib/types.h"

/* Earlier stores are visible before later ones: publish, then tell. */
static inline void barrier_write(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Earlier loads are done before later ones: look at the flag, then at what it guards. */
static inline void barrier_read(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* Earlier stores are visible before later loads are done: ask for a wake-up, then look again. */
static inline void barrier_full(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Fetches a line that will be written: one trip to the core that has it instead of two. */
static inline void prefetch_write(const volatile void *p)
{
#if defined(__x86_64__) || defined(__i386__)
	/* not __builtin_prefetch(p, 1): that is a plain prefetch unless -mprfchw; the instruction
	 * does nothing on the few CPUs without it */
	__asm__ volatile("prefetchw %0" : : "m"(*(const volatile uint8_t *)p));
#else
	__builtin_prefetch((const void *)p, 1);
#endif
}

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

#endif
