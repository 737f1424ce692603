/* A ticket spinlock for the kernel's cold paths: console, configuration space. */
#ifndef KERNEL_LOCK_H
#define KERNEL_LOCK_H

#include "hal/barrier.h"
#include "lib/types.h"

struct lock {
	uint32_t next, serving;
};

static inline void lock_take(struct lock *l)
{
	uint32_t me = __atomic_fetch_add(&l->next, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&l->serving, __ATOMIC_ACQUIRE) != me)
		cpu_relax();
}

static inline void lock_drop(struct lock *l)
{
	__atomic_store_n(&l->serving, l->serving + 1, __ATOMIC_RELEASE);
}

#endif
