/*
 * Intel SDM vol. 3A, chapter 6. Interrupts are taken inside KCALL_SLEEP; while ring 3 runs,
 * only the watchdog's deadline is (ARCHITECTURE.md, invariant 3). All other entries from ring 3 are an
 * exception, an NMI, a machine check or a kernel call.
 */
#include "kernel/trap.h"

#include "abi/layout.h"
#include "kernel/apic.h"
#include "kernel/console.h"
#include "kernel/core.h"
#include "kernel/smp.h"
#include "kernel/watchdog.h"
#include "lib/fmt.h"

#define GATE_INTERRUPT 0x8e00u /* present, DPL 0 */
#define GATE_RING3 0x6000u

struct gate {
	uint16_t offset0, selector, ist_and_type_lo, offset1;
	uint32_t offset2, reserved;
};
_Static_assert(sizeof(struct gate) == 16, "IDT gate");

extern const uint8_t trap_stubs[];

static struct gate idt[256];

static void set_gate(unsigned vector, unsigned type, unsigned ist)
{
	uint64_t a = (uint64_t)trap_stubs + 16 * vector;
	idt[vector] = (struct gate){(uint16_t)a,         SEG_KERNEL_CODE, (uint16_t)(type | ist),
	                            (uint16_t)(a >> 16), (uint32_t)(a >> 32), 0};
}

void trap_init(void)
{
	for (unsigned v = 0; v < 256; v++)
		set_gate(v, GATE_INTERRUPT, 0);
	set_gate(TRAP_BREAKPOINT, GATE_INTERRUPT | GATE_RING3, 0); /* kernel calls */
}

void trap_use_stacks(void)
{
	set_gate(TRAP_NMI, GATE_INTERRUPT, IST_EMERGENCY);
	set_gate(TRAP_DOUBLE_FAULT, GATE_INTERRUPT, IST_EMERGENCY);
	set_gate(TRAP_MACHINE_CHECK, GATE_INTERRUPT, IST_EMERGENCY);
}

void trap_load(void)
{
	struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) idtr = {sizeof idt - 1, (uint64_t)idt};
	__asm__ volatile("lidt %0" : : "m"(idtr));
}

static void deadline(struct trap_frame *f)
{
	char what[40];
	const unsigned stuck_ms = watchdog_look(core_self());
	if (!stuck_ms)
		return;
	apic_eoi();
	fmt_format(what, sizeof what, "stuck for %u ms", stuck_ms);
	fault_in_program(f, what);
}

static void interrupt(struct trap_frame *f, bool from_program)
{
	if (f->vector == VECTOR_DEADLINE && from_program)
		deadline(f);
	if (f->vector == VECTOR_SERIAL)
		console_interrupt();
	if (f->vector != VECTOR_SPURIOUS)
		apic_eoi();
}

/* An NMI from hardware is a failure. An NMI from another core asks this core to restart its program; in
 * the kernel such an NMI is ignored (KCALL_RESTART). */
static void non_maskable(struct trap_frame *f, bool from_program)
{
	smp_stop_if_asked(); /* another core may be ending the machine */
	bool asked = core_has_stack() &&
	             __atomic_exchange_n(&core_self()->restart_asked, false, __ATOMIC_ACQUIRE);
	if (from_program)
		fault_in_program(f, asked ? "stuck" : NULL);
	if (!asked)
		fault_in_kernel(f);
}

void trap_handler(struct trap_frame *f)
{
	bool from_program = (f->cs & 3) == 3;
	if (f->vector == TRAP_NMI)
		non_maskable(f, from_program);
	else if (f->vector >= TRAP_EXCEPTIONS)
		interrupt(f, from_program);
	else if (!from_program || f->vector == TRAP_MACHINE_CHECK) /* not caused by the program */
		fault_in_kernel(f);
	else if (f->vector == TRAP_BREAKPOINT && CODE_WINDOW_HAS(f->rip - 1)) /* an erased byte */
		fault_in_program(f, "xdp code left its program");
	else if (f->vector == TRAP_BREAKPOINT)
		kcall_serve(f);
	else
		fault_in_program(f, NULL);
}
