/*
 * The ACPI table that says which unit remaps which device's DMA: Intel Virtualization Technology
 * for Directed I/O, Architecture Specification, rev. 3.0, 8.1 (DMAR), 8.3 (units), 8.3.1 (scopes),
 * 8.4 (reserved memory). Firmware wrote it, so every length is checked; a table that contradicts
 * itself is refused as a whole, for half of it could leave a device out. Nothing here looks at the
 * machine: tests/unit/test_dmar.c reads tables that no firmware would write.
 */
#ifndef KERNEL_DMAR_H
#define KERNEL_DMAR_H

#include "lib/types.h"

#define DMAR_UNITS_MAX 16
#define DMAR_SCOPES_MAX 128
#define DMAR_HOPS_MAX 8

/* A function, or a bridge and all that is behind it. */
struct dmar_scope {
	bool bridge;
	uint8_t bus;  /* where the way begins */
	uint8_t hops; /* 1 to DMAR_HOPS_MAX: bridges, and at last what is meant */
	uint8_t devfn[DMAR_HOPS_MAX];
};

struct dmar_unit {
	uint64_t regs; /* physical address of its registers, page aligned */
	bool all;      /* covers what no other unit of the segment names (INCLUDE_PCI_ALL) */
	uint16_t first_scope, scopes;
};

struct dmar {
	struct dmar_unit unit[DMAR_UNITS_MAX]; /* of PCI segment 0, the one that is reached */
	unsigned units;
	struct dmar_scope scope[DMAR_SCOPES_MAX];
	unsigned scopes;
	uint16_t first_reserved; /* scopes from here on: devices that firmware goes on using */
};

/* The buses behind the bridge `bdf`: secondary | subordinate << 8; 0 when it is no bridge. */
typedef unsigned (*dmar_buses_fn)(uint16_t bdf);

/* Reads a table of so many bytes, header included, whose checksum is right. E_INVAL: it is
 * malformed; E_NOTSUP: it has more units or devices than there is room for. Then d is empty. */
int dmar_parse(struct dmar *d, const uint8_t *table, uint32_t bytes);

/* Which unit remaps the function; -1: none does. */
int dmar_unit_of(const struct dmar *d, uint16_t bdf, dmar_buses_fn buses);

/* The function that a scope means, or the bridge; -1 when the way to it ends before. */
int dmar_scope_bdf(const struct dmar_scope *s, dmar_buses_fn buses);

#endif
