/* The console on the serial line and the screen, and lines that belong to no command. */
#ifndef CONTROL_CONSOLE_SERIAL_H
#define CONTROL_CONSOLE_SERIAL_H

#include "control/console/shell.h"

extern struct shell serial_console;

/* Makes its shell; what is logged comes out from now on. Once. */
void console_init(void);

/* control_hooks.key. */
void console_key(uint8_t c);

/* A line on the console that belongs to no command; 255 characters at most. */
void console_log(const char *format, ...) PRINTF_LIKE(1, 2);

#endif
