/*
 * What one kind of IOMMU does for iommu.c: VT-d (vtd_kind.c) or AMD-Vi (amdvi_kind.c). A machine has units of
 * one kind. The kind knows firmware's table, the units' registers and the formats of the tables; iommu.c knows
 * the cards and decides what they reach.
 *
 * Units are numbered from 0, in the order of firmware's table. Physical addresses, functions as
 * bus << 8 | device << 3 | function of PCI segment 0. Only the boot core calls, except for `forget`,
 * `forget_interrupts` and `take_refusal`: iommu.c has one core at a time call the first two, and always the
 * same core the third.
 */
#ifndef KERNEL_IOMMU_KIND_H
#define KERNEL_IOMMU_KIND_H

#include "kernel/acpi.h"
#include "kernel/iomap.h"
#include "kernel/irt.h"

#define IOMMU_UNITS_MAX 32

/* The registers of the units, used or not. */
struct iommu_units {
	unsigned units;
	struct iommu_unit {
		uint64_t regs; /* page aligned */
		uint32_t bytes;
	} unit[IOMMU_UNITS_MAX];
};

/* The table of interrupts (irt.h): its physical address, its entries, whether they are wide, and the first
 * entry of each card. */
struct iommu_interrupts {
	uint64_t phys;
	unsigned log2;
	bool wide;
	const uint32_t *first;
};

/* An access that a unit refused. */
struct iommu_refusal {
	uint64_t addr; /* bus address, of the page at least. Of an interrupt: see messages_by_index */
	uint16_t bdf;
	uint8_t reason; /* a number of the kind's specification */
	bool read;
	bool interrupt; /* a message, not an access to memory */
};

struct iommu_kind {
	enum boot_iommu_kind number;
	const char *name;           /* of this kind */
	const char *table;          /* name of its ACPI table */
	bool messages_by_index;     /* `addr` of a refused interrupt is its index; otherwise the bus address */
	const struct iomap_format *maps;
	const struct irt_kind *interrupts;

	/* Reads firmware's table. E_NOENT: there is none; E_INVAL: malformed; E_NOTSUP: more than fits. The kind has
	 * no units then. */
	int (*find)(const struct acpi *acpi);
	unsigned (*units)(void);
	struct iommu_unit (*unit)(unsigned n);
	int (*unit_of)(uint16_t bdf);          /* the unit that serves the function; -1: none */
	uint32_t (*proximity)(unsigned n);     /* proximity domain, as in SRAT; UINT32_MAX: not told */

	/* Opens the units that used[] marks; the array stays valid. NULL, or the reason why they cannot be used. */
	const char *(*open)(const bool *used);

	/* Of all used units, once open: how many domains they tell apart (1: all cards must share one), and the first
	 * address beyond their range. */
	unsigned (*domains)(void);
	uint64_t (*limit)(void);

	/* True if all used units remap interrupts. `*wide`: by 32-bit APIC IDs. */
	bool (*remaps_interrupts)(bool *wide);

	/* The function by which a used unit knows the I/O APIC with this ID; -1: no used unit receives its messages. */
	int (*ioapic_source)(uint8_t id);

	/* Takes memory for tables of the kind's own; returns how many pages it will also take by iomap_page(). */
	unsigned (*take_memory)(void);

	/* Makes tables by which no device reaches anything. Then `install` gives card info->pci[card] the map and the
	 * domain; and `exempt` leaves the devices that firmware still uses, other than cards, as they are. `in`: NULL
	 * without interrupt remapping. Domains begin at 1. */
	void (*make_tables)(const struct iommu_interrupts *in);
	void (*install)(unsigned card, unsigned map, unsigned domain, const struct iommu_interrupts *in);
	void (*exempt)(unsigned domain);

	/* Starts unit n with these tables, written to memory. E_TIMEOUT: it does not answer, and is off. */
	int (*start)(unsigned n, const struct iommu_interrupts *in);
	void (*stop)(unsigned n);

	/* Has unit n forget what it has cached of domains 1 to `domains`, and waits until accesses under way by it have
	 * ended; or what it has cached of the table of interrupts. E_TIMEOUT: it does not answer. */
	int (*forget)(unsigned n, unsigned domains);
	int (*forget_interrupts)(unsigned n);

	/* Takes one recorded refusal of unit n; false if there is none. `*more`: some went unrecorded. */
	bool (*take_refusal)(unsigned n, struct iommu_refusal *r, bool *more);
	const char *(*reason)(const struct iommu_refusal *r);
};

extern const struct iommu_kind iommu_vtd, iommu_amdvi;

/* True if the function is one of info->pci in segment 0, the only one whose cards are isolated. */
bool iommu_is_card(uint16_t bdf);

#endif
