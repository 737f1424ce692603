/*
 * First code of a core program: it resets the floating-point and vector state, which a restarted program
 * must not inherit, and starts the runtime. Only core_main may set the guard word: it never returns, so
 * it never compares. RDI = boot information, RSI = this core's number.
 */
#include "runtime/shared.h"
#include "abi/kcall.h"
#include "lib/cmdline.h"
#include "lib/fmt.h"
#include "lib/mem.h"

#define MXCSR_DEFAULT 0x1f80u

/* Compiler code compares this with the words behind local arrays (GUARD in the Makefile). It is new at
 * each start of each core's program. */
uintptr_t __stack_chk_guard;

struct core_self self;
struct core_current core_current;
const struct core_pulse *core_pulse; /* for the kernel */

_Noreturn void core_main(const struct boot_info *info, unsigned id);
void program_start(void);
_Noreturn void __stack_chk_fail(void);

__attribute__((naked)) void program_start(void)
{
	__asm__ volatile("fninit\n\t"
	                 "pushq %0\n\t"
	                 "ldmxcsr (%%rsp)\n\t"
	                 "popq %%rax\n\t"
	                 "xorl %%ebp, %%ebp\n\t"
	                 "call core_main\n\t"
	                 "ud2"
	                 :
	                 : "i"(MXCSR_DEFAULT));
}

_Noreturn void core_main(const struct boot_info *info, unsigned id)
{
	uintptr_t guard;
	self.info = info;
	self.id = id;
	self.roles = info->core[id].roles;
	self.clock = clock_make(info->tsc_hz);
	self.now_tsc = clock_tsc();
	core_random(&guard, sizeof guard);
	__stack_chk_guard = guard & ~0xffull; /* a zero byte: a string copy cannot reproduce it */
	self.counters = &core_shm_of(id)->counters;
	self.fates = core_shm_fates(id);
	if (!core_shm_of(id)->fates_clean) { /* done here, to keep ring-0 work short */
		memset(self.fates, 0, sizeof *self.fates);
		shared_store(&core_shm_of(id)->fates_clean, 1);
	}
	self.pulse = (struct core_pulse *)(void *)&core_shm_of(id)->stats;
	(void)core_pace(PACE_LONG);
	core_pulse = self.pulse;
	core_events_start();
	lines_start();
	core_event(EVENT_start, self.roles, info->status[id].faults);
	rings_restart();
	ring_account_restart();
	if (self.roles & CORE_DATA)
		data_init();
	if (self.roles & CORE_CONTROL)
		control_init();
	loop_run();
}

uint64_t core_now_ns(void)
{
	return clock_ns(&self.clock, self.now_tsc);
}

void core_print(const char *line)
{
	char text[CORE_LINE + 2];
	if (self.id == 0 && control_log(line))
		return;
	size_t n = fmt_format(text, CORE_LINE, "%s", line);
	n = n < CORE_LINE - 1 ? n : CORE_LINE - 1;
	text[n++] = '\r';
	text[n++] = '\n';
	kcall(KCALL_LOG, (uint64_t)(uintptr_t)text, n, 0);
}

static void log_line(enum log_level level, const char *format, fmt_va_list args)
{
	char line[CORE_LINE];
	fmt_vformat(line, sizeof line, format, args);
	if (self.id != 0)
		lines_note(level, line);
	else if (!control_event(level, line))
		return;
	core_print(line);
}

void core_log(const char *format, ...)
{
	fmt_va_list args;
	__builtin_va_start(args, format);
	log_line(LOG_NOTICE, format, args);
	__builtin_va_end(args);
}

void core_log_at(enum log_level level, const char *format, ...)
{
	fmt_va_list args;
	__builtin_va_start(args, format);
	log_line(level, format, args);
	__builtin_va_end(args);
}

void core_exit(unsigned code)
{
	kcall(KCALL_EXIT, code, 0, 0);
	__builtin_unreachable();
}

void core_reboot(void)
{
	kcall(KCALL_REBOOT, 0, 0, 0);
	__builtin_unreachable();
}

void assert_fail(const char *expr, const char *file, unsigned line)
{
	kcall(KCALL_ASSERT, (uint64_t)(uintptr_t)expr, (uint64_t)(uintptr_t)file, line);
	__builtin_unreachable();
}

/* Called by the compiler's code instead of a return. */
void __stack_chk_fail(void)
{
	/* The call may be the last instruction of its function, so the byte before is looked up. */
	kcall(KCALL_SMASHED, (uint64_t)(uintptr_t)__builtin_return_address(0) - 1, 0, 0);
	__builtin_unreachable();
}

bool core_option(const char *name, char *buf, size_t size)
{
	return cmdline_option(self.info->cmdline, name, buf, size);
}

uint64_t core_option_number(const char *name, uint64_t fallback)
{
	return cmdline_number(self.info->cmdline, name, fallback);
}
