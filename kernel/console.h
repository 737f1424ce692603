/* The console: serial port COM1 and, when the loader gave one, the framebuffer (output only). */
#ifndef KERNEL_CONSOLE_H
#define KERNEL_CONSOLE_H

#include "kernel/boot.h"
#include "lib/fmt.h"
#include "lib/types.h"

/* Sets COM1 to 115200 8N1 with FIFOs and a receive interrupt (16550 data sheet). */
void console_init(void);

/* From here on the same text appears on the framebuffer. After vm_init. */
void console_add_framebuffer(const struct boot_framebuffer *fb);

/* Any core, any time. \n is sent as \r\n by console_print, as it is by console_write. */
void console_write(const char *text, size_t bytes);
void console_print(const char *format, ...) PRINTF_LIKE(1, 2);
void console_vprint(const char *format, fmt_va_list args);

/* Next byte typed on the serial line, or E_AGAIN. */
int console_read(void);

/* Interrupt handler: moves what the UART holds to the input buffer. */
void console_interrupt(void);

/* The other cores have been stopped (machine_seize), perhaps while they held the console's lock:
 * from here on it is not asked for. */
void console_seize(void);

#endif
