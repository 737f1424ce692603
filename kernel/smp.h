/* Start and end of the other cores. */
#ifndef KERNEL_SMP_H
#define KERNEL_SMP_H

#include "kernel/acpi.h"

/* Starts the other cores, which wait for smp_release(); returns how many cores there are now, this
 * one included, at most `limit`. Waits 10 ms, and 200 ms for one that does not come. */
unsigned smp_start(const struct acpi *acpi, unsigned limit);

/* Lets the started cores run their programs. */
void smp_release(void);

/* The end of the machine: tells all other cores to stop for good. The first core that calls goes
 * on, at every call; any other that comes to it as well stops. */
void smp_stop_others(void);

/* On an NMI: does not return when that is what another core means by it. */
void smp_stop_if_asked(void);

#endif
