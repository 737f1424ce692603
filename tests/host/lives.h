/*
 * Successive lives of the control program: the process executes itself again, its variables as
 * linked, and memory that outlives the program stays where it was. The data core is simulated: it
 * does at once what it is asked, sleeps otherwise, and forwards nothing.
 *
 * The process has to be linked at a fixed address (-no-pie): kept memory holds addresses of its
 * variables, as in the image.
 */
#ifndef TESTS_HOST_LIVES_H
#define TESTS_HOST_LIVES_H

#include <stddef.h>

#include "abi/boot_info.h"
#include "lib/types.h"

/* Zeroed memory that outlives the program. The same sequence of requests gets the same memory in
 * each life. */
void *lives_memory(size_t bytes);

/* True if this is a later life. Then the kernel's state and the time are as before, except for
 * the configuration's address, and the refusals are in force that the last life asked for at its
 * end. */
bool lives_go_on(struct boot_info *info, uint64_t *tsc);

/* The program has failed. In its next life the n-th request for memory is refused, with `on` all
 * after it too; n 0: none. */
_Noreturn void lives_end(const struct boot_info *info, uint64_t tsc, uint64_t n, bool on);

/* The data core does what it is asked. */
void lives_data_core(void);

#endif
