/*
 * The ACPI table that assigns devices to AMD's IOMMUs: AMD I/O Virtualization Technology (IOMMU) Specification,
 * publication 48882, I/O Virtualization Reporting Structure (IVRS): blocks of units (IVHD) of types 10h, 11h and
 * 40h, and of memory that firmware still uses (IVMD). The table is untrusted, so every length is checked. An
 * inconsistent table is rejected as a whole: half of it could leave a device out. This code does not access the
 * machine: tests/unit/kernel/test_ivrs.c passes tables that no firmware would write.
 *
 * Missing: devices named by ACPI identifiers (type F0h), which are no PCI functions; timers; other PCI segments
 * than 0.
 */
#ifndef KERNEL_IVRS_H
#define KERNEL_IVRS_H

#include "lib/types.h"

#define IVRS_UNITS_MAX 32
#define IVRS_RANGES_MAX 512
#define IVRS_IOAPICS_MAX 16
#define IVRS_RESERVED_MAX 64

struct ivrs_unit {
	uint64_t regs;  /* physical address of its registers, at a multiple of 16 KiB */
	uint16_t bdf;   /* the unit's own function */
	uint8_t flags;  /* of the block: IVRS_FLAG_ */
};
#define IVRS_FLAG_HT_TUNNEL 1u  /* each is a bit of the control register */
#define IVRS_FLAG_PASS_PW 2u
#define IVRS_FLAG_RES_PASS_PW 4u
#define IVRS_FLAG_ISOCHRONOUS 8u

/* Functions from `first` to `last` that a unit serves. */
struct ivrs_range {
	uint16_t first, last;
	uint8_t unit;
	bool all;     /* the entry for all functions that no other names */
	bool aliased; /* their requests bear the ID of `alias` */
	uint16_t alias;
};

struct ivrs_ioapic {
	uint8_t id; /* as in the MADT */
	uint8_t unit;
	uint16_t source; /* the function that its messages claim to come from */
};

struct ivrs {
	struct ivrs_unit unit[IVRS_UNITS_MAX];
	unsigned units;
	struct ivrs_range range[IVRS_RANGES_MAX];
	unsigned ranges;
	struct ivrs_ioapic ioapic[IVRS_IOAPICS_MAX];
	unsigned ioapics;
	struct {
		uint16_t first, last; /* functions that firmware still uses */
	} reserved[IVRS_RESERVED_MAX];
	unsigned reserveds;
};

/* Parses a table of `bytes` bytes, header included, whose checksum the caller has verified. E_INVAL:
 * malformed; E_NOTSUP: more units or devices than fit. On error v is empty. */
int ivrs_parse(struct ivrs *v, const uint8_t *table, uint32_t bytes);

/* The unit that serves the function; -1: none. */
int ivrs_unit_of(const struct ivrs *v, uint16_t bdf);

/* The ID that the function's requests bear. */
uint16_t ivrs_requester(const struct ivrs *v, uint16_t bdf);

/* The I/O APIC with this ID; NULL: the table does not name it. */
const struct ivrs_ioapic *ivrs_ioapic_of(const struct ivrs *v, uint8_t id);

#endif
