/*
 * Interrupts: local APIC of this core (xAPIC or x2APIC, chosen once), I/O APIC for the serial
 * line, one-shot deadline. Nothing here ticks: an interrupt is asked for by a core that is about
 * to halt, and its handler does nothing but acknowledge.
 */
#ifndef KERNEL_APIC_H
#define KERNEL_APIC_H

#include "kernel/acpi.h"
#include "lib/types.h"

enum vector {
	VECTOR_WAKE = 0x40,     /* NIC queue or another core: ends the sleep */
	VECTOR_DEADLINE = 0x41, /* one-shot timer */
	VECTOR_SERIAL = 0x42,
	VECTOR_SPURIOUS = 0xff,
};

/* Silences the 8259 PICs and decides how the local APICs are reached. Boot core, once. */
void apic_init(const struct acpi *acpi);

/* Turns on the local APIC of the core that calls. */
void apic_enable(void);

/* APIC ID of the core that calls. Every `id` below is one. */
uint32_t apic_id(void);

/* Ends the handling of an interrupt. */
void apic_eoi(void);

/* Sends an interrupt to a core. */
void apic_send(uint32_t id, enum vector vector);

/* The same as a non-maskable interrupt. */
void apic_send_nmi(uint32_t id);

/* Sends INIT to a core, then, 10 ms later by the caller's clock, SIPI for a page below 1 MiB. */
void apic_send_init(uint32_t id);
void apic_send_sipi(uint32_t id, uint64_t page);

/* Routes the serial line's interrupt to a core; does nothing for an APIC ID above 255, or without
 * an I/O APIC that has the line. */
void apic_route_serial(const struct acpi *acpi, uint32_t id);

/* Speed of the one-shot timer, used where there is no TSC deadline: tsc_init calls start, waits,
 * calls stop, and sets how many timer ticks went with how many TSC ticks. */
void apic_timer_measure_start(void);
uint32_t apic_timer_measure_stop(void);
void apic_timer_set_ratio(uint32_t timer_ticks, uint64_t tsc_ticks);

/* Asks for VECTOR_DEADLINE when the TSC reaches `tsc`; 0 cancels. */
void apic_deadline(uint64_t tsc);

/* Message address and data by which a device raises VECTOR_WAKE on a core (MSI). Its APIC ID has
 * eight bits there. */
uint64_t apic_msi_address(uint32_t id);
uint32_t apic_msi_data(void);

/* Which of the two the local APICs are used as. After apic_init. */
bool apic_is_x2apic(void);

#endif
