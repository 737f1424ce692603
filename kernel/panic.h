/* The end of the machine: a bug in ring 0, or an unsupported machine. */
#ifndef KERNEL_PANIC_H
#define KERNEL_PANIC_H

#include "lib/assert.h"
#include "lib/types.h"

enum exit_code {
	EXIT_POWEROFF = 0,
	EXIT_PANIC = 1,      /* ring 0 failed */
	EXIT_FAULT_LOOP = 2, /* the control core's program faulted too often */
};

/* Prints the reason and ends the machine by machine_fail(EXIT_PANIC). */
_Noreturn void panic(const char *format, ...) PRINTF_LIKE(1, 2);

/* Prepares the end of the machine: stops all other cores, takes the console, and begins the kept report
 * (keep_begin). If several cores call, only one returns. */
void machine_seize(void);

/*
 * Ends the machine: through QEMU's isa-debug-exit if the command line names its port
 * (debug-exit=PORT), else by halting all cores with a message.
 */
_Noreturn void machine_exit(unsigned code);

/* Ends a machine that has failed: reboots, halts or exits, as set by panic=. The next boot prints the
 * kept report (kernel/keep.h). */
_Noreturn void machine_fail(unsigned code);

/* Sets the value of panic= on the command line. The default is to exit if there is a port for it, else
 * to halt. */
void machine_set_panic(const char *word);

/* Restarts the machine: reset port 0xcf9, keyboard controller, triple fault, in this order. */
_Noreturn void machine_reboot(void);

/* Sets the port of isa-debug-exit; 0: none. */
void machine_set_exit_port(uint16_t port);

#endif
