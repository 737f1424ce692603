/* See serial.h. */
#include "control/console/serial.h"

#include "lib/fmt.h"
#include "runtime/runtime.h"

struct shell serial_console;

static void write_out(struct shell *sh, const char *text, size_t len)
{
	(void)sh;
	core_console_write(text, len);
}

static bool initialized;

void console_init(void)
{
	shell_init(&serial_console, NULL, 0, write_out);
	initialized = true;
}

void console_key(uint8_t c) { shell_input(&serial_console, (char)c); }

void console_log_line(const char *line) { shell_log(&serial_console, line); }

void console_log(const char *format, ...)
{
	char text[448]; /* a wrong line of a configuration, with its reason */
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(text, sizeof text, format, args);
	__builtin_va_end(args);
	if (initialized)
		shell_log(&serial_console, text);
}
