/* The console on the serial line and the screen, and the log lines that appear on it. */
#ifndef CONTROL_CONSOLE_SERIAL_H
#define CONTROL_CONSOLE_SERIAL_H

#include "control/console/shell.h"

extern struct shell serial_console;

/* Initializes the shell of the console; log lines are printed from now on. Called once. */
void console_init(void);

/* control_hooks.key. */
void console_key(uint8_t c);

/* control_hooks.log. */
void console_log_line(const char *line);

/* Prints a line on the console alone, above the line being typed. Messages for the event log: log_event()
 * (control/console/log.h). */
void console_log(const char *format, ...) PRINTF_LIKE(1, 2);

#endif
