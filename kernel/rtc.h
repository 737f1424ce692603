/* The CMOS clock of a PC, which runs on a battery while the machine is off. */
#ifndef KERNEL_RTC_H
#define KERNEL_RTC_H

#include "kernel/acpi.h"

/*
 * The time of day by the clock, which is taken for UTC: ns since 1970, in whole seconds, so up to a second late. 0:
 * it is not known, because the machine has no such clock, or the clock says that its battery was empty, or shows no
 * valid date, or one before RTC_YEAR_MIN or after RTC_YEAR_MAX; the console says why. Waits up to 50 ms. After
 * tsc_init.
 */
uint64_t rtc_read(const struct acpi *acpi);

/* A clock whose battery was replaced begins at 1970, 1980 or 2000. No machine ran this program before this year. */
#define RTC_YEAR_MIN 2024
#define RTC_YEAR_MAX 2399

#endif
