/*
 * The widest vectors that a program may use (Intel SDM Vol. 1, 14.7.1 and 15.2 to 15.4): the CPU has
 * the instructions, and the operating system has enabled their registers in XCR0 (here
 * kernel/core.c).
 */
#ifndef HAL_VECTOR_H
#define HAL_VECTOR_H

#include "hal/cpuid.h"

#define XCR0_SSE_AVX 0x06u
#define XCR0_OPMASK_ZMM 0xe0u

/* 512: AVX-512 F and DQ; 256: AVX2; else 128. */
static inline unsigned vector_bits(void)
{
	struct cpuid base = cpu_id(1, 0), more = cpu_id(7, 0);
	uint32_t on = 0, high;
	if (base.c >> 27 & 1) /* OSXSAVE */
		__asm__ volatile("xgetbv" : "=a"(on), "=d"(high) : "c"(0));
	if ((on & XCR0_SSE_AVX) != XCR0_SSE_AVX || !(more.b >> 5 & 1))
		return 128;
	if ((on & XCR0_OPMASK_ZMM) != XCR0_OPMASK_ZMM || !(more.b >> 16 & 1) || !(more.b >> 17 & 1))
		return 256;
	return 512;
}

#endif
