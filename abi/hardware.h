/*
 * What the kernel found in the machine, for reports (`show hardware`). The kernel fills it while it boots;
 * afterwards it changes the errors of PCI functions only. Addresses are physical. Texts come from the firmware; the
 * kernel has replaced all characters but printable ASCII.
 */
#ifndef ABI_HARDWARE_H
#define ABI_HARDWARE_H

#include "abi/pci.h"
#include "lib/types.h"

#define HARDWARE_TEXT 64
#define HARDWARE_CORES_MAX 256
#define HARDWARE_TABLES_MAX 48
#define HARDWARE_RANGES_MAX 64
#define HARDWARE_ECAMS_MAX 16
#define HARDWARE_IOAPICS_MAX 16
#define HARDWARE_UNITS_MAX 32
#define HARDWARE_FUNCTIONS_MAX 512 /* the uncore of two Xeons has some hundreds */
#define HARDWARE_NOT_LISTED 0xffff

enum hardware_firmware { HARDWARE_FIRMWARE_UNKNOWN, HARDWARE_FIRMWARE_BIOS, HARDWARE_FIRMWARE_UEFI };

/* Features of the processor that Hayate uses where they exist. X(name in enum, word) */
#define HARDWARE_FEATURES(X) \
	X(X2APIC, "x2apic") X(TSC_DEADLINE, "tsc-deadline") X(TSC_INVARIANT, "tsc-invariant") \
	X(SMEP, "smep") X(SMAP, "smap") X(UMIP, "umip") X(XSAVE, "xsave") X(AVX2, "avx2") X(AVX512, "avx512") \
	X(RDRAND, "rdrand") X(RDSEED, "rdseed") X(GUEST, "hypervisor")
enum hardware_feature {
#define X(name, word) HARDWARE_##name,
	HARDWARE_FEATURES(X)
#undef X
	HARDWARE_FEATURE_COUNT
};

struct hardware_range {
	uint64_t start, end; /* [start, end) */
};

/* A table that ACPI's root table lists. */
struct hardware_table {
	char signature[5], oem[7], oem_table[9];
	uint8_t revision;
	bool damaged; /* its length or checksum is wrong; the kernel verifies the tables that it uses */
	uint32_t bytes;
	uint64_t addr;
};

struct hardware_ecam {
	uint64_t base; /* of bus 0 */
	uint16_t segment;
	uint8_t first_bus, last_bus;
};

enum hardware_bar_state {
	HARDWARE_BAR_NONE,
	HARDWARE_BAR_READ,       /* its address was read; its size was not, as the kernel does not use it */
	HARDWARE_BAR_MAPPED,     /* core programs see it */
	HARDWARE_BAR_ASSIGNED,   /* likewise; the kernel gave it its address */
	HARDWARE_BAR_UNASSIGNED, /* firmware gave it no address, and the kernel found none */
	HARDWARE_BAR_ODD,        /* its size is impossible, or its address is no multiple of it */
	HARDWARE_BAR_BEYOND,     /* beyond what the CPU addresses */
	HARDWARE_BAR_TAKEN,      /* something else is there */
};

struct hardware_bar {
	uint64_t addr, bytes;
	uint8_t state; /* enum hardware_bar_state */
	bool io, wide; /* ports instead of memory; 64 bits */
	bool prefetchable; /* known of network functions' */
};

/* Windows of a bridge. X(name in enum, word) */
#define HARDWARE_WINDOW_KINDS(X) X(MEMORY, "memory") X(PREFETCHABLE, "prefetchable")
enum hardware_window_kind {
#define X(name, word) HARDWARE_WINDOW_##name,
	HARDWARE_WINDOW_KINDS(X)
#undef X
	HARDWARE_WINDOWS
};

/* A PCI function. */
struct hardware_function {
	uint16_t segment, bdf, vendor, device, subvendor, subdevice;
	uint16_t listed; /* its index in boot_info.pci; HARDWARE_NOT_LISTED: core programs do not see it */
	uint16_t msix_vectors, vfs; /* vfs: virtual functions that it may have (SR-IOV) */
	uint32_t class; /* 23:16 base class, 15:8 subclass, 7:0 interface */
	uint8_t revision;
	uint8_t header; /* type: 0 a device, 1 a bridge, 2 CardBus */
	uint8_t first_bus, last_bus; /* of a bridge: the buses behind it */
	struct hardware_range window[HARDWARE_WINDOWS]; /* of a bridge: those that the kernel opened; else empty */
	/* PCI Express; 0: none. Speed as in the link registers: 1 is 2.5 GT/s, 2 is 5, 3 is 8 and so on. */
	uint8_t link_speed, link_width, link_speed_max, link_width_max;
	bool reports_errors; /* PCI Express Advanced Error Reporting; then, by KCALL_PCI_ERRORS: */
	volatile uint32_t errors[2]; /* corrected, uncorrectable */
	volatile uint32_t error_bits[2]; /* all bits seen, as in the status registers (PCIe 5.0, 7.8.4.5 and 7.8.4.2) */
	struct hardware_bar bar[PCI_BARS];
};

struct hardware_serial {
	uint64_t addr; /* a port, or memory */
	bool mmio;
	uint32_t baud; /* 0: as firmware left it */
};

struct hardware {
	uint32_t firmware; /* enum hardware_firmware */
	/* System Management BIOS; empty without. */
	char bios_vendor[HARDWARE_TEXT], bios_version[HARDWARE_TEXT], bios_date[HARDWARE_TEXT];
	char vendor[HARDWARE_TEXT], product[HARDWARE_TEXT], version[HARDWARE_TEXT];
	char board_vendor[HARDWARE_TEXT], board[HARDWARE_TEXT];

	uint32_t cpu_signature; /* CPUID leaf 1, EAX */
	uint32_t cpu_features;  /* bit enum hardware_feature */
	uint32_t phys_bits;     /* of an address */
	uint32_t cpus;          /* that firmware lists as usable */
	uint32_t apic_id[HARDWARE_CORES_MAX]; /* of each core in use */

	uint32_t ranges; /* of usable memory, ascending */
	struct hardware_range range[HARDWARE_RANGES_MAX];

	uint32_t tables, tables_left_out;
	struct hardware_table table[HARDWARE_TABLES_MAX];
	uint32_t ecams;
	struct hardware_ecam ecam[HARDWARE_ECAMS_MAX];

	bool x2apic; /* the local APICs run in this mode */
	uint32_t ioapics;
	struct {
		uint64_t addr;
		uint32_t first_gsi;
	} ioapic[HARDWARE_IOAPICS_MAX];
	uint32_t iommus; /* remapping units, used or not (boot_info.iommu) */
	uint64_t iommu_regs[HARDWARE_UNITS_MAX];

	uint32_t serials; /* 0 or 1: the console's */
	struct hardware_serial serial;
	uint64_t screen; /* the framebuffer; 0: none */
	uint32_t screen_width, screen_height, screen_bits;

	bool error_reporting; /* some function reports errors */
	uint32_t functions, functions_left_out;
	struct hardware_function function[HARDWARE_FUNCTIONS_MAX]; /* by segment, bus, device, function */
};

#endif
