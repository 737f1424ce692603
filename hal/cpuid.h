/* CPUID (Intel SDM Vol. 2A), executable at any ring. */
#ifndef HAL_CPUID_H
#define HAL_CPUID_H

#include "lib/types.h"

struct cpuid {
	uint32_t a, b, c, d;
};

static inline struct cpuid cpuid(uint32_t leaf, uint32_t sub)
{
	struct cpuid r;
	__asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(sub));
	return r;
}

/* All zero for a leaf that does not exist; the CPU itself may return the data of another leaf. */
static inline struct cpuid cpu_id(uint32_t leaf, uint32_t sub)
{
	uint32_t first = leaf & 0xffff0000; /* basic, extended or hypervisor leaves; its EAX is the last */
	return leaf <= cpuid(first, 0).a ? cpuid(leaf, sub) : (struct cpuid){0};
}

#endif
