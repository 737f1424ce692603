/* Collects what the other files of the kernel have found. Intel SDM vol. 2A, CPUID: leaves 1, 7, 0x80000007
 * and 0x80000008. */
#include "kernel/hardware.h"

#include "hal/vector.h"
#include "kernel/apic.h"
#include "kernel/console.h"
#include "kernel/core.h"
#include "kernel/cpu.h"
#include "kernel/pci_errors.h"
#include "kernel/smbios.h"
#include "kernel/tsc.h"
#include "lib/mem.h"

static uint32_t features(void)
{
	const struct cpuid base = cpu_id(1, 0), more = cpu_id(7, 0);
	/* kernel/core.c enables what CPUID has. XCR0 itself is not read: hypervisors that emulate ring 0 know no
	 * XGETBV there. */
	const uint32_t states = base.c >> 26 & 1 ? cpu_id(0xd, 0).a : 0;
	const bool avx2 = (states & XCR0_SSE_AVX) == XCR0_SSE_AVX && more.b >> 5 & 1;
	const bool avx512 = avx2 && (states & XCR0_OPMASK_ZMM) == XCR0_OPMASK_ZMM && (more.b >> 16 & 3) == 3;
	return (uint32_t)apic_is_x2apic() << HARDWARE_X2APIC | (base.c >> 24 & 1) << HARDWARE_TSC_DEADLINE |
	       (uint32_t)tsc_is_invariant() << HARDWARE_TSC_INVARIANT | (more.b >> 7 & 1) << HARDWARE_SMEP |
	       (more.b >> 20 & 1) << HARDWARE_SMAP | (more.c >> 2 & 1) << HARDWARE_UMIP |
	       (base.c >> 26 & 1) << HARDWARE_XSAVE | (uint32_t)avx2 << HARDWARE_AVX2 |
	       (uint32_t)avx512 << HARDWARE_AVX512 | (base.c >> 30 & 1) << HARDWARE_RDRAND |
	       (more.b >> 18 & 1) << HARDWARE_RDSEED | (base.c >> 31 & 1) << HARDWARE_GUEST;
}

/* Ascending; the loader's map may be in any order. */
static void describe_memory(struct hardware *hw, const struct boot *boot)
{
	for (unsigned i = 0; i < boot->ram_count && hw->ranges < HARDWARE_RANGES_MAX; i++) {
		unsigned at = hw->ranges++;
		for (; at && hw->range[at - 1].start > boot->ram[i].start; at--)
			hw->range[at] = hw->range[at - 1];
		hw->range[at] = (struct hardware_range){boot->ram[i].start, boot->ram[i].end};
	}
}

static void describe_tables(struct hardware *hw, const struct acpi *acpi, const struct iommu_units *units)
{
	hw->cpus = acpi->cores;
	hw->tables = acpi->tables;
	hw->tables_left_out = acpi->tables_left_out;
	memcpy(hw->table, acpi->table, sizeof hw->table);
	for (unsigned i = 0; i < acpi->ecams && hw->ecams < HARDWARE_ECAMS_MAX; i++)
		hw->ecam[hw->ecams++] = (struct hardware_ecam){.base = acpi->ecam[i].base,
		                                               .segment = acpi->ecam[i].segment,
		                                               .first_bus = acpi->ecam[i].first_bus,
		                                               .last_bus = acpi->ecam[i].last_bus};
	for (unsigned i = 0; i < acpi->ioapics && hw->ioapics < HARDWARE_IOAPICS_MAX; i++, hw->ioapics++) {
		hw->ioapic[i].addr = acpi->ioapic[i].addr;
		hw->ioapic[i].first_gsi = acpi->ioapic[i].first_gsi;
	}
	for (unsigned i = 0; i < units->units && hw->iommus < HARDWARE_UNITS_MAX; i++)
		hw->iommu_regs[hw->iommus++] = units->unit[i].regs;
}

/* Cores that have not started have APIC ID 0, and are not in boot_info->cores. */
static void describe_cores(struct hardware *hw)
{
	_Static_assert(CORES_MAX <= HARDWARE_CORES_MAX, "each core has a place");
	for (unsigned i = 0; i < CORES_MAX; i++)
		hw->apic_id[i] = cores[i].apic_id;
}

void hardware_describe(struct hardware *hw, const struct acpi *acpi, const struct iommu_units *units,
                       const struct boot *boot)
{
	smbios_read(hw, boot);
	hw->cpu_signature = cpu_id(1, 0).a;
	hw->cpu_features = features();
	hw->phys_bits = cpu_id(0x80000008, 0).a & 0xff;
	hw->x2apic = apic_is_x2apic();
	describe_cores(hw);
	describe_memory(hw, boot);
	describe_tables(hw, acpi, units);
	pci_errors_init(hw);
	console_describe(hw);
	hw->screen = boot->fb.addr;
	hw->screen_width = boot->fb.width;
	hw->screen_height = boot->fb.height;
	hw->screen_bits = boot->fb.bits;
}
