/* The frequency of the time-stamp counter, and waiting by it. */
#ifndef KERNEL_TSC_H
#define KERNEL_TSC_H

#include "lib/types.h"

/*
 * Determines the frequency: from CPUID (leaf 0x15, or 0x40000010 of a hypervisor) or by measuring
 * against the 8254 timer. Also measures the local APIC timer, so apic_enable() comes first.
 */
void tsc_init(void);

/* The frequency; 0 before tsc_init. */
uint64_t tsc_hz(void);

/* True if CPUID promises a constant rate in all power states. */
bool tsc_is_invariant(void);

/* Busy-waits. After tsc_init. */
void tsc_wait_us(uint64_t us);

#endif
