/*
 * One life of the control program after the other: the process begins anew (exec), its variables as
 * linked, and what outlives the program lies where it was. Its data core is played: it does at once
 * what it is asked, sleeps otherwise, and forwards nothing.
 *
 * The process has to be linked where it always lies (-no-pie): what is kept has addresses of its
 * variables, as in the image.
 */
#ifndef TESTS_HOST_LIVES_H
#define TESTS_HOST_LIVES_H

#include <stddef.h>

#include "hal/boot_info.h"
#include "lib/types.h"

/* Zeroed memory that outlives the program. Who asks in the same order gets the same in each life. */
void *lives_memory(size_t bytes);

/* Is this a later life? Then all that is the kernel's, and the time, is as it was, but for the
 * configuration's address; and the refusals are in force that the end of the last one asked for. */
bool lives_go_on(struct boot_info *info, uint64_t *tsc);

/* The program has failed. In its next life the n-th request for memory is refused, with `on` all after
 * it too; n 0: none. */
_Noreturn void lives_end(const struct boot_info *info, uint64_t tsc, uint64_t n, bool on);

/* The data core does what it is asked. */
void lives_data_core(void);

#endif
