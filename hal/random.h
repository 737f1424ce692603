/*
 * What the CPU has of randomness: RDSEED and RDRAND (Intel SDM Vol. 1, 7.3.17; both may be executed
 * at ring 3). Neither is believed alone: core/random.c mixes what comes from here with the jitter
 * of the TSC, so a generator that is broken, or says yes and gives nothing, makes nothing worse.
 */
#ifndef HAL_RANDOM_H
#define HAL_RANDOM_H

#include "lib/types.h"

#define RANDOM_TRIES 10 /* SDM 7.3.17.1: ten failures in a row mean that it is broken */

struct random_cpu {
	bool rdrand, rdseed;
};

static inline void random_cpuid(uint32_t leaf, uint32_t *max, uint32_t *ebx, uint32_t *ecx)
{
	uint32_t edx;
	__asm__ volatile("cpuid"
	                 : "=a"(*max), "=b"(*ebx), "=c"(*ecx), "=d"(edx)
	                 : "a"(leaf), "c"(0));
}

/* What this CPU has: CPUID.1:ECX.30, CPUID.7:EBX.18. */
static inline struct random_cpu random_cpu(void)
{
	uint32_t max, ebx, ecx, eax;
	struct random_cpu cpu = {0};
	random_cpuid(0, &max, &ebx, &ecx);
	random_cpuid(1, &eax, &ebx, &ecx);
	cpu.rdrand = ecx >> 30 & 1;
	if (max >= 7) {
		random_cpuid(7, &eax, &ebx, &ecx);
		cpu.rdseed = ebx >> 18 & 1;
	}
	return cpu;
}

/* One word from the best generator there is; false, *out untouched: there is none, or it failed. */
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
