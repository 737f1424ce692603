/*
 * Memory order. x86-64 keeps loads in order and stores in order (Intel SDM vol. 3A, 8.2.2), also
 * as a device sees them in write-back memory; only the compiler must be held. The one case that
 * needs an instruction is a store followed by a load of something else (barrier_full).
 */
#ifndef HAL_BARRIER_H
#define HAL_BARRIER_H

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

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

#endif
