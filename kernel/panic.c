/* The end of the machine; see panic.h. */
#include "kernel/panic.h"

#include "kernel/console.h"
#include "kernel/cpu.h"
#include "kernel/smp.h"
#include "kernel/tsc.h"

#define RESET_CONTROL 0xcf9
#define KEYBOARD_COMMAND 0x64
#define RESET_WAIT_US 50000

static uint16_t exit_port;

void panic(const char *format, ...)
{
	fmt_va_list args;
	machine_seize();
	console_print("\n*** kernel panic: ");
	__builtin_va_start(args, format);
	console_vprint(format, args);
	__builtin_va_end(args);
	console_print("\n");
	machine_exit(EXIT_PANIC);
}

void assert_fail(const char *expr, const char *file, unsigned line)
{
	panic("assertion failed: %s, %s:%u", expr, file, line);
}

void machine_set_exit_port(uint16_t port)
{
	exit_port = port;
}

void machine_seize(void)
{
	smp_stop_others();
	console_seize();
}

void machine_exit(unsigned code)
{
	machine_seize();
	if (exit_port)
		out32(exit_port, code);
	console_print("\nmachine stopped (exit code %u); it may be switched off\n", code);
	cpu_halt_forever();
}

void machine_reboot(void)
{
	smp_stop_others();
	out8(RESET_CONTROL, 0x02); /* hard reset, then pull the line */
	out8(RESET_CONTROL, 0x06);
	tsc_wait_us(RESET_WAIT_US);
	out8(KEYBOARD_COMMAND, 0xfe); /* pulse the reset line */
	tsc_wait_us(RESET_WAIT_US);
	struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) none = {0, 0};
	__asm__ volatile("lidt %0; ud2" : : "m"(none));
	cpu_halt_forever();
}
