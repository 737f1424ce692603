/* The ACPI information that the kernel uses: cores and interrupt controllers (MADT), ECAM (MCFG), console (SPCR), CMOS
 * clock (FADT); addresses of the tables of NUMA nodes (SRAT, SLIT) and of IOMMUs (DMAR, IVRS). */
#ifndef KERNEL_ACPI_H
#define KERNEL_ACPI_H

#include "abi/boot_info.h"
#include "kernel/boot.h"

#define ACPI_IOAPICS_MAX 8
#define ACPI_ISA_MAX 16
#define ACPI_ECAMS_MAX 16

struct acpi_ecam {
	uint64_t base; /* physical, of bus 0 */
	uint16_t segment;
	uint8_t first_bus, last_bus;
};

/* The console that firmware states (SPCR). */
struct acpi_serial {
	uint64_t addr; /* port or physical address; 0: none is stated */
	bool mmio;
	bool wide;     /* registers of 32 bits */
	uint32_t baud; /* 0: as firmware left it */
	bool has_irq;  /* ISA interrupt irq */
	uint8_t irq;
	bool has_gsi; /* global system interrupt gsi, which goes before irq */
	uint32_t gsi;
};

struct acpi {
	uint32_t apic_ids[CORES_MAX]; /* usable cores, in the firmware's order */
	unsigned cores;
	uint64_t lapic; /* physical */
	struct {
		uint64_t addr;
		uint32_t first_gsi;
		uint8_t id;
	} ioapic[ACPI_IOAPICS_MAX];
	unsigned ioapics;
	struct acpi_isa { /* an ISA interrupt: its global system interrupt, polarity and trigger mode (MADT encoding) */
		uint32_t gsi;
		uint16_t flags;
	} isa[ACPI_ISA_MAX];
	struct acpi_serial serial;
	bool no_rtc;         /* firmware states that there is no CMOS clock */
	uint8_t rtc_century; /* its register of the century; 0: it has none */
	uint32_t com1_gsi;   /* of the console; console_choose sets both. UINT32_MAX: none */
	uint16_t com1_flags;
	struct acpi_ecam ecam[ACPI_ECAMS_MAX]; /* ascending by segment and bus; none overlaps another */
	unsigned ecams;
	struct hardware_table table[HARDWARE_TABLES_MAX]; /* all that the root table lists */
	unsigned tables, tables_left_out;
	/* Whole tables, whose checksums have been verified; NULL: there is none. Their readers: kernel/numa.h, dmar.h,
	 * ivrs.h. */
	const uint8_t *srat, *slit, *dmar, *ivrs;
	uint32_t srat_bytes, slit_bytes, dmar_bytes, ivrs_bytes;
};

/* Finds and checks the tables. Without ACPI: one core, no ECAM, the standard LAPIC address. */
void acpi_init(struct acpi *acpi, const struct boot *boot);

#endif
