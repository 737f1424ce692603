/* Start and stop of the other cores. */
#ifndef KERNEL_SMP_H
#define KERNEL_SMP_H

#include "kernel/acpi.h"

/* Starts the other cores, which then wait for smp_release(). Returns the number of running cores, this
 * one included, at most `limit`. Waits 10 ms, and seconds more if a core does not start. */
unsigned smp_start(const struct acpi *acpi, unsigned limit);

/* Lets the started cores run their programs. */
void smp_release(void);

/* Stops all other cores permanently, for the end of the machine. Returns only to the first core that
 * calls, also at its later calls; any other caller stops. */
void smp_stop_others(void);

/* Called on an NMI. Does not return if another core is ending the machine. */
void smp_stop_if_asked(void);

#endif
