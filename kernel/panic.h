/* The end of the machine: our own bug in ring 0, or a machine we cannot run on. */
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

/* The machine is about to end: from here on this core runs alone and has the console, and what is
 * said by keep_add is kept. Of several that call only one goes on. */
void machine_seize(void);

/*
 * Ends the machine: through QEMU's isa-debug-exit when the command line names its port
 * (debug-exit=PORT), else halts all cores with a message.
 */
_Noreturn void machine_exit(unsigned code);

/* The end of a machine that has failed: reboots, halts or exits, as panic= says; what was kept of
 * the report (kernel/keep.h) is told by the next boot. */
_Noreturn void machine_fail(unsigned code);

/* panic= of the command line, `word` being its value. Else: exit where there is a port for it,
 * halt where there is none. */
void machine_set_panic(const char *word);

/* Restarts the machine: reset port 0xcf9, keyboard controller, triple fault, in this order. */
_Noreturn void machine_reboot(void);

/* Port of isa-debug-exit, 0: there is none. */
void machine_set_exit_port(uint16_t port);

#endif
