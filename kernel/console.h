/* The console: serial port COM1 and, after fbcon_init, the framebuffer (output only). */
#ifndef KERNEL_CONSOLE_H
#define KERNEL_CONSOLE_H

#include "lib/fmt.h"
#include "lib/types.h"

/* Sets COM1 to 115200 8N1 with FIFOs and a receive interrupt (16550 data sheet). */
void console_init(void);

/* Prints bytes as they are, at the pace of the serial line. Any core, any time. */
void console_write(const char *text, size_t bytes);

/* Prints lines, \n sent as \r\n, with an empty one before them; nobody else's come between. */
void console_print_whole(const char *text, size_t bytes);

/* Prints a text of 511 bytes at the most, the rest is cut off; \n is sent as \r\n. */
void console_print(const char *format, ...) PRINTF_LIKE(1, 2);
void console_vprint(const char *format, fmt_va_list args) PRINTF_LIKE(1, 0);

/* Next byte typed on the serial line, 0 to 255, or E_AGAIN. */
int console_read(void);

/* Interrupt handler: moves what the UART holds to the input buffer. */
void console_interrupt(void);

/* The other cores have been stopped (machine_seize), perhaps while they held the console's lock:
 * from here on it is not asked for. */
void console_seize(void);

#endif
