/* The console: a serial port, if there is one, and, after fbcon_init, the framebuffer (output only). */
#ifndef KERNEL_CONSOLE_H
#define KERNEL_CONSOLE_H

#include "abi/hardware.h"
#include "kernel/acpi.h"
#include "lib/fmt.h"
#include "lib/types.h"

/* Sets COM1 to 115200 8N1 with FIFOs and a receive interrupt (16550 data sheet). */
void console_init(void);

/*
 * Chooses the serial port for good: that of the options serial=PORT and baud=N of the command line (serial=off:
 * none), else firmware's (SPCR), else the first of COM1 to COM4 that exists. What has been printed so far is
 * repeated there. Sets the console's interrupt in acpi. After fbcon_init and acpi_init.
 */
void console_choose(struct acpi *acpi, const struct boot *boot);

/* True if input arrives without an interrupt, so that it must be looked for. */
bool console_is_polled(void);

/* Prints bytes unchanged, at the speed of the serial line. Any core, any time. */
void console_write(const char *text, size_t bytes);

/* Prints lines, \n sent as \r\n, with an empty line before them. No other output comes between them. */
void console_print_whole(const char *text, size_t bytes);

/* Prints a text of at most 511 bytes and cuts off the rest; \n is sent as \r\n. */
void console_print(const char *format, ...) PRINTF_LIKE(1, 2);
void console_vprint(const char *format, fmt_va_list args) PRINTF_LIKE(1, 0);

/* Describes the serial port, if there is one. After console_init. */
void console_describe(struct hardware *hw);

/* Next byte typed on the serial line, 0 to 255, or E_AGAIN. */
int console_read(void);

/* Interrupt handler: moves the UART's contents to the input buffer. */
void console_interrupt(void);

/* From here on the console ignores its lock. The other cores have been stopped (machine_seize),
 * possibly while one held the lock. */
void console_seize(void);

#endif
