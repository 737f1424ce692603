/* Privileged instructions as functions. Ring 0 only. Section numbers of the Intel SDM, here and
 * elsewhere, are those of its editions up to 2021. */
#ifndef KERNEL_CPU_H
#define KERNEL_CPU_H

#include "hal/cpuid.h"
#include "lib/types.h"

#define MSR_APIC_BASE 0x1b
#define MSR_PAT 0x277
#define MSR_TSC_DEADLINE 0x6e0
#define MSR_X2APIC 0x800

#define CR0_WP (1ull << 16) /* read-only pages are read-only at ring 0 too */
#define CR4_MCE (1ull << 6)
#define CR4_OSFXSR (1ull << 9)
#define CR4_OSXMMEXCPT (1ull << 10)
#define CR4_UMIP (1ull << 11)
#define CR4_OSXSAVE (1ull << 18)
#define CR4_SMEP (1ull << 20)
#define CR4_SMAP (1ull << 21)

static inline bool cpu_is_guest(void)
{
	return cpu_id(1, 0).c >> 31 & 1;
}

static inline void out8(uint16_t port, uint8_t v)
{
	__asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port));
}

static inline void out16(uint16_t port, uint16_t v)
{
	__asm__ volatile("outw %0, %1" : : "a"(v), "Nd"(port));
}

static inline void out32(uint16_t port, uint32_t v)
{
	__asm__ volatile("outl %0, %1" : : "a"(v), "Nd"(port));
}

static inline uint8_t in8(uint16_t port)
{
	uint8_t v;
	__asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static inline uint16_t in16(uint16_t port)
{
	uint16_t v;
	__asm__ volatile("inw %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static inline uint32_t in32(uint16_t port)
{
	uint32_t v;
	__asm__ volatile("inl %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static inline uint64_t msr_read(uint32_t msr)
{
	uint32_t lo, hi;
	__asm__ volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr));
	return (uint64_t)hi << 32 | lo;
}

static inline void msr_write(uint32_t msr, uint64_t v)
{
	__asm__ volatile("wrmsr" : : "c"(msr), "a"((uint32_t)v), "d"((uint32_t)(v >> 32)) : "memory");
}

static inline uint64_t cr2_read(void)
{
	uint64_t v;
	__asm__ volatile("mov %%cr2, %0" : "=r"(v));
	return v;
}

static inline uint64_t cr0_read(void)
{
	uint64_t v;
	__asm__ volatile("mov %%cr0, %0" : "=r"(v));
	return v;
}

static inline void cr3_write(uint64_t v)
{
	__asm__ volatile("mov %0, %%cr3" : : "r"(v) : "memory");
}

/* Forgets the translation of the page at `virt` on this CPU. */
static inline void cpu_forget_page(uint64_t virt)
{
	__asm__ volatile("invlpg (%0)" : : "r"(virt) : "memory");
}

static inline uint64_t cr4_read(void)
{
	uint64_t v;
	__asm__ volatile("mov %%cr4, %0" : "=r"(v));
	return v;
}

static inline void cr4_write(uint64_t v)
{
	__asm__ volatile("mov %0, %%cr4" : : "r"(v) : "memory");
}

static inline void xcr0_write(uint64_t v)
{
	__asm__ volatile("xsetbv" : : "c"(0), "a"((uint32_t)v), "d"((uint32_t)(v >> 32)));
}

/* Flushes the cache lines of [at, at + bytes) to memory. */
static inline void cpu_flush(const volatile void *at, size_t bytes)
{
	const volatile uint8_t *p = at;
	for (size_t i = 0; i < bytes; i += CACHE_LINE)
		__asm__ volatile("clflush %0" : : "m"(p[i]) : "memory");
	__asm__ volatile("mfence" : : : "memory");
}

/* CR8 is the task priority of the local APIC: vectors up to 16 * class + 15 wait (Intel SDM vol. 3A, 10.8.6). */
static inline void cr8_write(uint64_t class)
{
	__asm__ volatile("mov %0, %%cr8" : : "r"(class) : "memory");
}

/* Halts until an interrupt. sti enables interrupts after the next instruction, the hlt, so none is lost in between. */
static inline void cpu_wait_for_interrupt(void)
{
	__asm__ volatile("sti; hlt; cli" : : : "memory");
}

_Noreturn static inline void cpu_halt_forever(void)
{
	for (;;)
		__asm__ volatile("cli; hlt" : : : "memory");
}

#endif
