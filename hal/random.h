/*
 * Random numbers of the CPU: RDSEED and RDRAND (Intel SDM Vol. 1, 7.3.17; both are allowed at ring 3).
 * Neither is trusted alone: runtime/random.c mixes the result with the jitter of the TSC. A broken
 * generator, or one that reports success without random bits, therefore does no harm.
 */
#ifndef HAL_RANDOM_H
#define HAL_RANDOM_H

#include "hal/cpuid.h"
#include "lib/types.h"

#define RANDOM_TRIES 10 /* SDM 7.3.17.1: ten failures in a row mean that it is broken */

struct random_cpu {
	bool rdrand, rdseed;
};

/* What this CPU has: CPUID.1:ECX.30, CPUID.7:EBX.18. */
static inline struct random_cpu random_cpu(void)
{
	return (struct random_cpu){cpu_id(1, 0).c >> 30 & 1, cpu_id(7, 0).b >> 18 & 1};
}

/* One word from the best generator available. False if there is none or it failed; *out is then
 * unchanged. */
static inline bool random_word(const struct random_cpu *cpu, uint64_t *out)
{
	uint64_t v;
	uint8_t ok = 0;
	for (unsigned i = 0; cpu->rdseed && !ok && i < RANDOM_TRIES; i++)
		__asm__ volatile("rdseed %0\n\tsetc %1" : "=r"(v), "=qm"(ok) : : "cc");
	for (unsigned i = 0; cpu->rdrand && !ok && i < RANDOM_TRIES; i++)
		__asm__ volatile("rdrand %0\n\tsetc %1" : "=r"(v), "=qm"(ok) : : "cc");
	if (!ok)
		return false;
	*out = v;
	return true;
}

#endif
