/*
 * Interrupts: local APIC of this core (xAPIC or x2APIC, chosen once), I/O APIC for the serial
 * line, one-shot deadline. There is no periodic interrupt.
 *
 * Two classes of vectors: those that end a sleep are held back by the task priority while a program runs, and
 * stay pending until the core sleeps. Only the deadline is taken then, for the watchdog (kernel/watchdog.h).
 */
#ifndef KERNEL_APIC_H
#define KERNEL_APIC_H

#include "kernel/acpi.h"
#include "lib/types.h"

enum vector {
	VECTOR_WAKE = 0x40,     /* NIC queue or another core: ends the sleep */
	VECTOR_SERIAL = 0x42,
	VECTOR_DEADLINE = 0x51, /* one-shot timer: of a sleep, or of the watchdog */
	VECTOR_SPURIOUS = 0xff,
};

#define APIC_ID_SHORT_MAX 254u /* the highest in eight bits: 255 addresses all cores */

/* Masks the 8259 PICs and chooses xAPIC or x2APIC mode. Boot core, once. */
void apic_init(const struct acpi *acpi);

/* Enables the local APIC of the calling core. */
void apic_enable(void);

/* Whether the calling core takes the interrupts that end a sleep; at first it does not. */
void apic_take_wakes(bool take);

/* APIC ID of the calling core. Every `id` below is an APIC ID. */
uint32_t apic_id(void);

/* Signals the end of an interrupt. */
void apic_eoi(void);

/* Sends an interrupt to a core. */
void apic_send(uint32_t id, enum vector vector);

/* Sends a non-maskable interrupt to a core. */
void apic_send_nmi(uint32_t id);

/* Send INIT to a core, and SIPI for a page below 1 MiB. The caller waits 10 ms between the two. */
void apic_send_init(uint32_t id);
void apic_send_sipi(uint32_t id, uint64_t page);

/* True if the serial line is a pin of I/O APIC `n`, and if it is level-triggered. */
bool apic_has_serial(const struct acpi *acpi, unsigned n);
bool apic_serial_is_level(const struct acpi *acpi);

/* Writes the serial line's redirection entry in I/O APIC `n`, which has the line. `route` has the entry's
 * bits that say where the interrupt goes; vector, polarity and trigger mode are added. */
void apic_route_serial(const struct acpi *acpi, unsigned n, uint64_t route);

/* Calibration of the one-shot timer, used on CPUs without TSC deadline. tsc_init calls start, waits,
 * calls stop, and sets the ratio of timer ticks to TSC ticks. */
void apic_timer_measure_start(void);
uint32_t apic_timer_measure_stop(void);
void apic_timer_set_ratio(uint32_t timer_ticks, uint64_t tsc_ticks);

/* Requests VECTOR_DEADLINE at the time `tsc`; 0 cancels the request. */
void apic_deadline(uint64_t tsc);

/* Message address and data by which a device raises VECTOR_WAKE on a core (MSI). The address holds
 * eight bits of the APIC ID. */
uint64_t apic_msi_address(uint32_t id);
uint32_t apic_msi_data(void);

/* True if the local APICs run in x2APIC mode. After apic_init. */
bool apic_is_x2apic(void);

#endif
