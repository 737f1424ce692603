/*
 * Descriptor tables of each core and the start of the other cores: INIT, 10 ms, SIPI
 * (Intel SDM vol. 3A, 9.4.4.1). All are started at once; each takes a ticket (boot/ap.asm).
 */
#include "hal/barrier.h"
#include "hal/clock.h"
#include "kernel/apic.h"
#include "kernel/console.h"
#include "kernel/core.h"
#include "kernel/cpu.h"
#include "kernel/panic.h"
#include "kernel/program.h"
#include "kernel/tsc.h"
#include "lib/mem.h"

#define AP_START_US 200000 /* a core that is not there by then is left out */
#define XCR0_X87_SSE 3ull
#define XCR0_AVX 4ull
#define XCR0_AVX512 0xe0ull

extern const uint8_t ap_trampoline[], ap_trampoline_end[];
extern volatile uint32_t ap_ticket;

struct core cores[CORES_MAX];
uint64_t ap_stacks[CORES_MAX];
static volatile bool released;
static volatile bool stopping;
static volatile uint64_t ap_tsc[CORES_MAX]; /* TSC that the core read when it arrived */

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
	c->tss.io_map = sizeof c->tss; /* beyond the limit: no port for ring 3 */
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

/* Vector registers for ring 3, and what keeps ring 0 from ring 3's memory. */
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

void core_load_tables(struct core *c)
{
	load_gdt(c);
	trap_load();
}

void core_setup(struct core *c)
{
	core_load_tables(c);
	set_control_registers();
	apic_enable();
}

/* First C code of another core, on its own trap stack. */
_Noreturn void ap_main(uint32_t ticket);
_Noreturn void ap_main(uint32_t ticket)
{
	struct core *c = &cores[ticket];
	c->id = ticket;
	core_setup(c);
	c->apic_id = apic_id();
	ap_tsc[ticket] = clock_tsc();
	while (!__atomic_load_n(&released, __ATOMIC_ACQUIRE))
		cpu_relax();
	if (ticket >= boot_info->cores)
		cpu_halt_forever(); /* came after AP_START_US: there is no address space for it */
	program_run(c);
}

unsigned smp_start(const struct acpi *acpi, unsigned limit)
{
	uint32_t self = apic_id();
	unsigned want = acpi->cores < limit ? acpi->cores : limit;
	if (want <= 1)
		return 1;
	memcpy(vm_phys(vm_low_page()), ap_trampoline, (size_t)(ap_trampoline_end - ap_trampoline));
	ap_ticket = 1;
	for (unsigned i = 1; i < want; i++) {
		vm_map_stack(i);
		ap_stacks[i] = STACK_BASE + i * STACK_SLOT + STACK_TRAP_TOP;
	}
	uint64_t before = clock_tsc();
	for (unsigned i = 0, n = 1; i < acpi->cores && n < want; i++)
		if (acpi->apic_ids[i] != self && ++n)
			apic_send_init(acpi->apic_ids[i]);
	tsc_wait_us(10000);
	for (unsigned i = 0, n = 1; i < acpi->cores && n < want; i++)
		if (acpi->apic_ids[i] != self && ++n)
			apic_send_sipi(acpi->apic_ids[i], vm_low_page());
	uint64_t end = clock_tsc() + AP_START_US * (tsc_hz() / 1000000);
	unsigned n = 1;
	while (n < want && clock_tsc() < end)
		for (n = 1; n < want && ap_tsc[n]; n++)
			;
	uint64_t after = clock_tsc();
	for (unsigned i = 1; i < n; i++)
		if (ap_tsc[i] < before || ap_tsc[i] > after)
			console_print("tsc: core %u is out of step with core 0\n", i);
	if (n < want)
		console_print("smp: %u of %u cores did not start\n", want - n, want);
	return n;
}

void smp_release(void)
{
	__atomic_store_n(&released, true, __ATOMIC_RELEASE);
}

void smp_stop_others(void)
{
	stopping = true;
	for (unsigned i = 0; boot_info && i < boot_info->cores; i++)
		if (cores[i].apic_id != apic_id())
			apic_send_nmi(cores[i].apic_id);
}

void smp_stop_self_if_asked(struct trap_frame *f)
{
	if (stopping)
		cpu_halt_forever();
	if ((f->cs & 3) == 3)
		fault_in_program(f, "non-maskable interrupt");
	fault_in_kernel(f);
}
