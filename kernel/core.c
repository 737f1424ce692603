/*
 * Per-core state: GDT, TSS, stacks (Intel SDM vol. 3A, 3.4.5 and 7.7), and the control registers,
 * which are the same on all cores.
 */
#include "kernel/core.h"

#include "kernel/apic.h"
#include "kernel/cpu.h"
#include "kernel/mce.h"
#include "kernel/trap.h"

#define XCR0_X87_SSE 3ull
#define XCR0_AVX 4ull
#define XCR0_AVX512 0xe0ull

struct core cores[CORES_MAX];
struct boot_info *boot_info;

bool core_has_stack(void)
{
	return (uint64_t)__builtin_frame_address(0) - STACK_BASE < CORES_MAX * STACK_SLOT;
}

struct core *core_self(void)
{
	uint64_t sp = (uint64_t)__builtin_frame_address(0);
	return &cores[(sp - STACK_BASE) / STACK_SLOT];
}

static void load_gdt(struct core *c)
{
	uint64_t base = (uint64_t)&c->tss;
	c->gdt[SEG_KERNEL_CODE / 8] = 0x00af9a000000ffff;
	c->gdt[SEG_KERNEL_DATA / 8] = 0x00cf92000000ffff;
	c->gdt[SEG_USER_DATA / 8] = 0x00cff2000000ffff;
	c->gdt[SEG_USER_CODE / 8] = 0x00affa000000ffff;
	c->gdt[SEG_TSS / 8] = (sizeof c->tss - 1) | (base & 0xffffff) << 16 | 0x89ull << 40 |
	                      (base >> 24 & 0xff) << 56;
	c->gdt[SEG_TSS / 8 + 1] = base >> 32;
	uint64_t slot = STACK_BASE + c->id * STACK_SLOT;
	c->tss.rsp0 = slot + STACK_TRAP_TOP;
	c->tss.ist[IST_EMERGENCY - 1] = slot + STACK_EMERGENCY_TOP;
	c->tss.io_map = sizeof c->tss; /* beyond the limit: ring 3 may access no port */
	struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) gdtr = {sizeof c->gdt - 1, (uint64_t)c->gdt};
	__asm__ volatile("lgdt %0\n\t"
	                 "pushq %1\n\t"
	                 "leaq 1f(%%rip), %%rax\n\t"
	                 "pushq %%rax\n\t"
	                 "lretq\n"
	                 "1:\n\t"
	                 "ltr %w2"
	                 :
	                 : "m"(gdtr), "i"(SEG_KERNEL_CODE), "r"(SEG_TSS)
	                 : "rax", "memory");
}

/* Enables vector registers for ring 3, and SMEP, SMAP and UMIP where the CPU has them. */
static void set_control_registers(void)
{
	struct cpuid features = cpu_id(1, 0), more = cpu_id(7, 0);
	uint64_t cr4 = cr4_read() | CR4_OSFXSR | CR4_OSXMMEXCPT;
	cr4 |= more.b >> 7 & 1 ? CR4_SMEP : 0;
	cr4 |= more.b >> 20 & 1 ? CR4_SMAP : 0;
	cr4 |= more.c >> 2 & 1 ? CR4_UMIP : 0;
	bool xsave = features.c >> 26 & 1;
	cr4_write(cr4 | (xsave ? CR4_OSXSAVE : 0));
	if (xsave) {
		uint64_t have = cpu_id(0xd, 0).a, want = XCR0_X87_SSE | XCR0_AVX;
		want |= (have & XCR0_AVX512) == XCR0_AVX512 ? XCR0_AVX512 : 0;
		xcr0_write(have & want);
	}
}

/*
 * Pages with PWT alone are write-combining (Intel SDM vol. 3A, 11.12.2 to 11.12.4): only the framebuffer has
 * such pages (VM_COMBINE), which is mapped later, so no cache or TLB needs to be flushed. The other seven
 * entries keep their reset values. Without PAT such pages are write-through; the MTRRs make them uncached.
 */
static void set_memory_types(void)
{
	if (cpu_id(1, 0).d >> 16 & 1)
		msr_write(MSR_PAT, 0x0007040600070106ull);
}

void core_load_tables(struct core *c)
{
	set_memory_types();
	load_gdt(c);
	trap_load();
}

void core_setup(struct core *c)
{
	core_load_tables(c);
	set_control_registers();
	mce_init();
	apic_enable();
}
