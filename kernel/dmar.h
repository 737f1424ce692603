/*
 * The ACPI table that assigns devices to DMA remapping units: Intel Virtualization Technology for Directed I/O,
 * Architecture Specification, rev. 3.0, 8.1 (DMAR), 8.3 (units), 8.3.1 (scopes), 8.4 (reserved memory), 8.6
 * (proximity domains). The table is untrusted, so every length is checked. An inconsistent table is rejected as a
 * whole: half of it could leave a device out. This code does not access the machine: tests/unit/kernel/test_dmar.c
 * passes tables that no firmware would write.
 */
#ifndef KERNEL_DMAR_H
#define KERNEL_DMAR_H

#include "lib/types.h"

#define DMAR_UNITS_MAX 16
#define DMAR_SCOPES_MAX 128
#define DMAR_HOPS_MAX 8
#define DMAR_IOAPICS_MAX 16
#define DMAR_NO_DOMAIN UINT32_MAX

/* A function, or a bridge and all functions behind it. */
struct dmar_scope {
	bool bridge;
	uint8_t bus;  /* bus at which the path begins */
	uint8_t hops; /* 1 to DMAR_HOPS_MAX: the bridges on the path, then the device itself */
	uint8_t devfn[DMAR_HOPS_MAX];
};

struct dmar_unit {
	uint64_t regs; /* physical address of its registers, page aligned */
	bool all;      /* covers the devices that no other unit of the segment names (INCLUDE_PCI_ALL) */
	uint16_t first_scope, scopes;
	uint32_t domain; /* proximity domain, as in SRAT; DMAR_NO_DOMAIN: not told */
};

/* An I/O APIC: the unit that receives its messages, and the function that they claim to come from. */
struct dmar_ioapic {
	uint8_t id; /* as in the MADT */
	uint8_t unit;
	struct dmar_scope source;
};

struct dmar {
	bool remaps_interrupts; /* the platform supports interrupt remapping (8.1, INTR_REMAP) */
	struct dmar_unit unit[DMAR_UNITS_MAX]; /* of PCI segment 0, the only one supported */
	unsigned units;
	struct dmar_scope scope[DMAR_SCOPES_MAX];
	unsigned scopes;
	struct dmar_ioapic ioapic[DMAR_IOAPICS_MAX];
	unsigned ioapics;
	uint16_t first_reserved; /* the scopes from here on are devices that firmware still uses */
};

/* The buses behind the bridge `bdf`: secondary | subordinate << 8; 0 if it is no bridge. */
typedef unsigned (*dmar_buses_fn)(uint16_t bdf);

/* Parses a table of `bytes` bytes, header included, whose checksum the caller has verified. E_INVAL:
 * malformed; E_NOTSUP: more units or devices than fit. On error d is empty. */
int dmar_parse(struct dmar *d, const uint8_t *table, uint32_t bytes);

/* The unit that remaps the function; -1: none. */
int dmar_unit_of(const struct dmar *d, uint16_t bdf, dmar_buses_fn buses);

/* The I/O APIC with this ID; NULL: the table does not name it. */
const struct dmar_ioapic *dmar_ioapic_of(const struct dmar *d, uint8_t id);

/* The function or bridge that a scope names; -1 if a bridge on its path does not exist. */
int dmar_scope_bdf(const struct dmar_scope *s, dmar_buses_fn buses);

#endif
