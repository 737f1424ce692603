/* The end of the machine; see panic.h. */
#include "kernel/panic.h"

#include "kernel/console.h"
#include "kernel/cpu.h"
#include "kernel/keep.h"
#include "kernel/program.h"
#include "kernel/smp.h"
#include "kernel/tsc.h"
#include "lib/mem.h"

#define IDENTITY_BYTES 64 /* room for a report's second line */
#define RESET_CONTROL 0xcf9
#define KEYBOARD_COMMAND 0x64
#define RESET_WAIT_US 50000
#define REBOOT_DELAY_S 3 /* time to read the report; also slows down a reboot loop */

static uint16_t exit_port;
static enum { END_EXIT, END_HALT, END_REBOOT } ending; /* END_EXIT without a port halts */

void panic(const char *format, ...)
{
	fmt_va_list args;
	char text[512];
	struct fmt_buf b = {.at = text, .size = sizeof text - IDENTITY_BYTES};
	machine_seize();
	fmt_put(&b, "*** kernel panic: ");
	__builtin_va_start(args, format);
	fmt_vput(&b, format, args);
	__builtin_va_end(args);
	b = (struct fmt_buf){.at = text, .size = sizeof text, .used = b.used};
	fmt_put(&b, "\n  build %s\n", kernel_build_id);
	console_print("\n%s", text);
	keep_add(text, b.used);
	machine_fail(EXIT_PANIC);
}

void assert_fail(const char *expr, const char *file, unsigned line)
{
	panic("assertion failed: %s, %s:%u", expr, file, line);
}

void machine_set_exit_port(uint16_t port)
{
	exit_port = port;
}

void machine_set_panic(const char *word)
{
	static const char *const words[] = {
		[END_EXIT] = "exit", [END_HALT] = "halt", [END_REBOOT] = "reboot"};
	for (unsigned i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(word, words[i]) == 0) {
			ending = i;
			return;
		}
	console_print("panic=%s: not one of exit, halt, reboot\n", word);
}

void machine_seize(void)
{
	smp_stop_others();
	console_seize();
	keep_begin();
}

_Noreturn static void halt(unsigned code)
{
	console_print("\nmachine stopped (exit code %u); it may be switched off\n", code);
	cpu_halt_forever();
}

void machine_exit(unsigned code)
{
	machine_seize();
	if (exit_port)
		out32(exit_port, code);
	halt(code);
}

void machine_fail(unsigned code)
{
	machine_seize();
	keep_end();
	if (ending == END_EXIT)
		machine_exit(code);
	if (ending == END_HALT)
		halt(code);
	console_print("\n*** restarting in %u seconds\n", REBOOT_DELAY_S);
	tsc_wait_us(REBOOT_DELAY_S * 1000000ull);
	machine_reboot();
}

void machine_reboot(void)
{
	smp_stop_others();
	out8(RESET_CONTROL, 0x02); /* select hard reset; the next write triggers it */
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
