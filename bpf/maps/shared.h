/*
 * Access to memory that several cores use at the same time.
 *
 * `put` and `get` are single stores and loads that the compiler neither divides nor moves across one
 * another. x86-64 does not reorder stores with stores nor loads with loads (Intel SDM vol. 3A, 9.2), so
 * the order of the text is the order in which other cores see the stores. The recovery of a dead core's
 * operation relies on it.
 */
#ifndef BPF_MAPS_SHARED_H
#define BPF_MAPS_SHARED_H

#include "bpf/maps/core.h"
#include "lib/types.h"

#define put(at, value) \
	do { \
		BPF_STEP(); \
		__atomic_store_n((at), (value), __ATOMIC_RELEASE); \
	} while (0)
#define get(at) \
	({ \
		BPF_LOOK(); \
		__atomic_load_n((at), __ATOMIC_ACQUIRE); \
	})

/* All loads before it are done before those behind it. */
static inline void loads_done(void) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }

/* A lock is held for some hundred cycles; waiting ends after some hundred microseconds, because the
 * holder may have died. */
#define LOCK_TRIES 16384

static inline bool lock_try(uint32_t *lock, uint32_t owner)
{
	uint32_t none = 0;
	BPF_STEP();
	return get(lock) == 0 &&
	       __atomic_compare_exchange_n(lock, &none, owner, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* owner: the number of the core + 1. */
static inline bool lock_take(uint32_t *lock, uint32_t owner)
{
	for (unsigned i = 0; i < LOCK_TRIES; i++) {
		if (lock_try(lock, owner))
			return true;
		__builtin_ia32_pause();
	}
	return false;
}

static inline void lock_drop(uint32_t *lock) { put(lock, 0); }

#endif
