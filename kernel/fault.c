/*
 * Failures. A report names the exception, the core, the registers, a backtrace with function names,
 * and the packet that the program was working on. Then the program is restarted on that core, or the
 * core is stopped if its program has failed too often. A failure of the kernel itself ends the
 * machine (kernel/panic.c). Every failure is reported.
 */
#include "hal/clock.h"
#include "abi/current_packet.h"
#include "abi/layout.h"
#include "kernel/apic.h"
#include "kernel/console.h"
#include "kernel/core.h"
#include "kernel/crash.h"
#include "kernel/cpu.h"
#include "kernel/keep.h"
#include "kernel/mce.h"
#include "kernel/panic.h"
#include "kernel/program.h"
#include "kernel/coredump.h"
#include "kernel/trap.h"
#include "kernel/tsc.h"

#define FAULTS_MAX 5      /* a core is stopped after more than this many faults ... */
#define FAULT_WINDOW_S 10 /* ... in this many seconds */
#define BACKTRACE_MAX 16
#define PACKET_BYTES 64 /* of the current packet, in a report */

static const char *const exception_names[TRAP_EXCEPTIONS] = {
	"divide error", "debug", "non-maskable interrupt", "breakpoint", "overflow",
	"bound range exceeded", "invalid opcode", "device not available", "double fault",
	"coprocessor overrun", "invalid TSS", "segment not present", "stack fault",
	"general protection", "page fault", "reserved", "x87 error", "alignment check",
	"machine check", "SIMD floating-point error", "virtualization", "control protection",
	[28] = "hypervisor injection", [29] = "VMM communication", [30] = "security",
};

/*
 * Appends to this core's kept report, or prints on the console at once if there is none. A kept report
 * is printed whole when it is complete, by the kernel or by the control core's program (runtime/crash.c).
 */
static void say(const char *format, ...) PRINTF_LIKE(1, 2);
static void say(const char *format, ...)
{
	char text[256];
	fmt_va_list args;
	__builtin_va_start(args, format);
	size_t n = fmt_vformat(text, sizeof text, format, args);
	__builtin_va_end(args);
	n = n < sizeof text ? n : sizeof text - 1;
	keep_add(text, n);
	if (core_has_stack() && core_self()->crash)
		crash_add(core_self()->crash, text, n);
	else
		console_print("%s", text);
}

static void print_address(const char *label, uint64_t addr, bool returns)
{
	uint64_t offset = 0;
	const char *name = function_of(addr, returns, &offset);
	struct crash *k = core_has_stack() ? core_self()->crash : NULL;
	if (k && k->code == 0 && CODE_WINDOW_HAS(addr - returns))
		k->code = addr - returns;
	if (name)
		say("%s%016llx  %s+0x%llx\n", label, (unsigned long long)addr, name,
		              (unsigned long long)offset);
	else
		say("%s%016llx\n", label, (unsigned long long)addr);
}

/* True if two words at `at` lie in the stack of `bytes` bytes that ends at `top`. */
static bool within(uint64_t at, uint64_t top, uint64_t bytes)
{
	return at >= top - bytes && at <= top - 16;
}

static bool read_words(vm_space_t space, bool user, uint64_t addr, uint64_t word[2])
{
	if (user)
		return vm_copy_from_user(space, word, addr, 16);
	/* The kernel's own frames lie on this core's stack slot. */
	uint64_t slot = (uint64_t)__builtin_frame_address(0) & ~(STACK_SLOT - 1), at = addr - slot;
	if (addr & 7 || (!within(at, STACK_TRAP_TOP, STACK_TRAP_BYTES) &&
	                 !within(at, STACK_EMERGENCY_TOP, STACK_EMERGENCY_BYTES)))
		return false;
	word[0] = *(const uint64_t *)addr;
	word[1] = *(const uint64_t *)(addr + 8);
	return true;
}

static void print_backtrace(const struct trap_frame *f, vm_space_t space)
{
	uint64_t frame = f->rbp, word[2];
	bool user = (f->cs & 3) == 3;
	say("  backtrace\n");
	/* After a kernel call rip points behind the instruction, which may be the last of its function. */
	print_address("    ", f->rip - (f->vector == TRAP_BREAKPOINT), false);
	for (unsigned i = 0; i < BACKTRACE_MAX && read_words(space, user, frame, word); i++) {
		if (word[1] == 0)
			break;
		print_address("    ", word[1], true);
		if (word[0] <= frame)
			break;
		frame = word[0];
	}
}

static void print_registers(const struct trap_frame *f)
{
	static const struct {
		const char *name;
		uint16_t offset;
	} r[] = {
		{"rax", offsetof(struct trap_frame, rax)}, {"rbx", offsetof(struct trap_frame, rbx)},
		{"rcx", offsetof(struct trap_frame, rcx)}, {"rdx", offsetof(struct trap_frame, rdx)},
		{"rsi", offsetof(struct trap_frame, rsi)}, {"rdi", offsetof(struct trap_frame, rdi)},
		{"rbp", offsetof(struct trap_frame, rbp)}, {"rsp", offsetof(struct trap_frame, rsp)},
		{"r8 ", offsetof(struct trap_frame, r8)},  {"r9 ", offsetof(struct trap_frame, r9)},
		{"r10", offsetof(struct trap_frame, r10)}, {"r11", offsetof(struct trap_frame, r11)},
		{"r12", offsetof(struct trap_frame, r12)}, {"r13", offsetof(struct trap_frame, r13)},
		{"r14", offsetof(struct trap_frame, r14)}, {"r15", offsetof(struct trap_frame, r15)},
	};
	for (unsigned i = 0; i < ARRAY_LEN(r); i++) {
		uint64_t v = *(const uint64_t *)(const void *)((const uint8_t *)f + r[i].offset);
		say("  %s %016llx%s", r[i].name, (unsigned long long)v,
		              i % 4 == 3 ? "\n" : "");
	}
	say("  rip %016llx  cs %llx  rflags %llx  cr2 %016llx\n", (unsigned long long)f->rip,
	              (unsigned long long)f->cs, (unsigned long long)f->rflags,
	              (unsigned long long)cr2_read());
}

/* Prints the packet that the program was working on, by its own account (abi/current_packet.h). */
static void print_packet(vm_space_t space)
{
	struct core_current current;
	uint8_t bytes[PACKET_BYTES];
	uint64_t addr = program_symbol("core_current");
	if (!addr || !vm_copy_from_user(space, &current, addr, sizeof current) || current.data == 0)
		return;
	size_t n = current.len < sizeof bytes ? current.len : sizeof bytes;
	say("  current packet: port %u, %u bytes, one of a vector of %u\n", current.port, current.len, current.vector);
	if (!vm_copy_from_user(space, bytes, current.data, n))
		return;
	for (size_t i = 0; i < n; i++)
		say("%s%02x%s", i % 16 ? " " : "    ", bytes[i],
		              i % 16 == 15 || i + 1 == n ? "\n" : "");
}

static const char *exception_name(uint64_t vector)
{
	return vector < ARRAY_LEN(exception_names) && exception_names[vector]
	               ? exception_names[vector]
	               : "unknown exception";
}

static void print_page_fault(const struct trap_frame *f)
{
	uint64_t e = f->error;
	say("  %s at %016llx: %s\n", e & 16 ? "execute" : e & 2 ? "write" : "read",
	              (unsigned long long)cr2_read(),
	              e & 1 ? "the page does not allow it" : "no page is there");
}

/* Build and configuration, for a reader who has only the report. */
static void print_identity(void)
{
	say("  build %s\n", kernel_build_id);
	if (boot_info && boot_info->config_hash)
		say("  configuration %016llx\n", (unsigned long long)boot_info->config_hash);
}

static void report(const struct trap_frame *f, const struct core *c, const char *what)
{
	bool user = (f->cs & 3) == 3;
	if (!c->crash) /* say() prints directly */
		console_print("\n");
	say("*** %s on core %u in %s", what ? what : exception_name(f->vector), c->id,
	              user ? "the core program" : "the kernel");
	if (!what)
		say(" (vector %llu, error %llx)", (unsigned long long)f->vector,
		              (unsigned long long)f->error);
	say("\n");
	if (f->vector == TRAP_PAGE_FAULT)
		print_page_fault(f);
	print_identity();
	print_registers(f);
	print_backtrace(f, c->space);
	if (user)
		print_packet(c->space);
}

/* Marks the core as failed before the report is written. The control core is woken to give the packets of a data
 * core to others meanwhile (runtime/recovery.c). */
static void announce(const struct core *c)
{
	struct core_status *s = &boot_info->status[c->id];
	s->failed_tsc = clock_tsc();
	s->state = CORE_FAILED;
	if (!(boot_info->core[c->id].roles & CORE_CONTROL))
		apic_send(cores[0].apic_id, VECTOR_WAKE);
}

/* Counts a fault; true if the core has exceeded its limit. */
static bool count_fault(struct core *c)
{
	uint64_t now = clock_tsc();
	boot_info->status[c->id].faults++;
	if (now - c->fault_window_tsc > FAULT_WINDOW_S * tsc_hz()) {
		c->fault_window_tsc = now;
		c->faults_recent = 0;
	}
	return ++c->faults_recent > FAULTS_MAX;
}

/* Reports a fault before core 0 has its own stack, so without per-core state or a backtrace. */
_Noreturn static void report_early(const struct trap_frame *f)
{
	console_print("\n");
	say("*** %s while the kernel starts (vector %llu, error %llx)\n",
	              exception_name(f->vector), (unsigned long long)f->vector,
	              (unsigned long long)f->error);
	print_address("  rip ", f->rip, false);
	say("  cr2 %016llx  rsp %016llx\n", (unsigned long long)cr2_read(),
	              (unsigned long long)f->rsp);
	print_identity();
	machine_fail(EXIT_PANIC);
}

/* The machine cannot run without a control core. */
_Noreturn static void end_of_faults(const struct core *c)
{
	machine_seize();
	say("*** core %u, the control core, has failed too often\n", c->id);
	machine_fail(EXIT_FAULT_LOOP);
}

/* Publishes the complete report. A data core must not wait for the serial line, so the control core
 * prints its report and is woken for it. The kernel prints the report of the control core. */
static void publish_report(struct core *c)
{
	struct crash *k = c->crash;
	c->crash = NULL;
	if (!k)
		return;
	if (boot_info->core[c->id].roles & CORE_CONTROL)
		console_print_whole(k->text, k->bytes);
	crash_end(k);
	if (!(boot_info->core[c->id].roles & CORE_CONTROL))
		apic_send(cores[0].apic_id, VECTOR_WAKE);
}

void fault_in_program(struct trap_frame *f, const char *what)
{
	struct core *c = core_self();
	announce(c);
	c->crash = crash_begin(c->id);
	report(f, c, what);
	if (c->crash)
		coredump_copy(c->space, c->crash);
	bool dead = count_fault(c);
	if (dead)
		say("*** core %u: more than %u faults in %u s, stopped\n", c->id, FAULTS_MAX,
		    FAULT_WINDOW_S);
	else
		say("*** core %u: program restarted\n", c->id);
	if (dead)
		boot_info->status[c->id].state = CORE_DEAD;
	publish_report(c);
	if (!dead)
		program_run(c);
	if (boot_info->core[c->id].roles & CORE_CONTROL)
		end_of_faults(c);
	apic_send(cores[0].apic_id, VECTOR_WAKE); /* the control core may be asleep; it must notice */
	cpu_halt_forever();
}

/* Ends the machine at once if its report has caused another fault. Only the core that ends the machine calls. */
static void refuse_second(const struct trap_frame *f)
{
	static bool failed;
	if (failed) {
		say("\n*** %s at %016llx while this report was printed\n", exception_name(f->vector),
		    (unsigned long long)f->rip);
		machine_fail(EXIT_PANIC);
	}
	failed = true;
}

void fault_in_kernel(struct trap_frame *f)
{
	if (f->vector == TRAP_MACHINE_CHECK && core_has_stack())
		mce_note();
	machine_seize();
	refuse_second(f);
	if (!core_has_stack())
		report_early(f);
	const struct crash *k = core_self()->crash;
	core_self()->crash = NULL; /* from here on say() prints directly */
	if (k) /* a program's report was being written: print the part that exists */
		console_print_whole(k->text, k->bytes);
	report(f, core_self(), NULL);
	if (f->vector == TRAP_MACHINE_CHECK)
		mce_say(say);
	machine_fail(EXIT_PANIC);
}
