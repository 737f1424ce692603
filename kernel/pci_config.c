/* See pci_config.h. */
#include "kernel/pci_config.h"

#include "hal/mmio.h"
#include "kernel/cpu.h"
#include "kernel/lock.h"
#include "kernel/vm.h"

#define CF8_ADDRESS 0xcf8
#define CF8_DATA 0xcfc
#define CAPS_MAX 48
#define EXTENDED_MAX 96 /* so that a list with a cycle ends */

static const struct acpi *acpi_tables;
static volatile uint8_t *ecam[ACPI_ECAMS_MAX];
static struct lock cf8_lock;

void pci_config_init(const struct acpi *acpi)
{
	acpi_tables = acpi;
	for (unsigned i = 0; i < acpi->ecams; i++) {
		const struct acpi_ecam *e = &acpi->ecam[i];
		uint64_t skip = (uint64_t)e->first_bus << 20;
		uint64_t bytes = (uint64_t)(e->last_bus - e->first_bus + 1) << 20;
		ecam[i] = vm_map_device(e->base + skip, bytes);
	}
}

static volatile uint8_t *ecam_address(pci_address_t at, unsigned offset)
{
	const unsigned bus = pci_bus(at);
	for (unsigned i = 0; i < acpi_tables->ecams; i++) {
		const struct acpi_ecam *e = &acpi_tables->ecam[i];
		if (ecam[i] && pci_segment(at) == e->segment && bus >= e->first_bus && bus <= e->last_bus)
			return ecam[i] + ((uint32_t)(pci_bdf(at) - (e->first_bus << 8)) << 12) + offset;
	}
	return NULL;
}

uint32_t pci_config_get(pci_address_t at, unsigned offset, unsigned size)
{
	volatile uint8_t *a = ecam_address(at, offset);
	if (a)
		return size == 1 ? mmio_read8(a) : size == 2 ? mmio_read16(a) : mmio_read32(a);
	if (offset >= 256 || pci_segment(at))
		return UINT32_MAX >> (32 - 8 * size);
	lock_take(&cf8_lock);
	out32(CF8_ADDRESS, 0x80000000u | at << 8 | (offset & ~3u));
	uint16_t port = (uint16_t)(CF8_DATA + (offset & 3));
	uint32_t v = size == 1 ? in8(port) : size == 2 ? in16(port) : in32(port);
	lock_drop(&cf8_lock);
	return v;
}

void pci_config_put(pci_address_t at, unsigned offset, unsigned size, uint32_t v)
{
	volatile uint8_t *a = ecam_address(at, offset);
	if (a) {
		if (size == 1)
			mmio_write8(a, (uint8_t)v);
		else if (size == 2)
			mmio_write16(a, (uint16_t)v);
		else
			mmio_write32(a, v);
		return;
	}
	if (offset >= 256 || pci_segment(at))
		return;
	lock_take(&cf8_lock);
	out32(CF8_ADDRESS, 0x80000000u | at << 8 | (offset & ~3u));
	uint16_t port = (uint16_t)(CF8_DATA + (offset & 3));
	if (size == 1)
		out8(port, (uint8_t)v);
	else if (size == 2)
		out16(port, (uint16_t)v);
	else
		out32(port, v);
	lock_drop(&cf8_lock);
}

bool pci_config_exists(pci_address_t at)
{
	return pci_config_get(at, CFG_VENDOR, 2) != VENDOR_NONE;
}

unsigned pci_find_capability(pci_address_t at, uint8_t id)
{
	if (!(pci_config_get(at, CFG_COMMAND, 4) & CFG_STATUS_CAPS))
		return 0;
	unsigned cap = pci_config_get(at, CFG_CAPS, 1) & 0xfc;
	for (unsigned i = 0; cap >= 0x40 && i < CAPS_MAX; i++) {
		if (pci_config_get(at, cap, 1) == id)
			return cap;
		cap = pci_config_get(at, cap + 1, 1) & 0xfc;
	}
	return 0;
}

unsigned pci_find_extended(pci_address_t at, uint16_t id)
{
	unsigned cap = CFG_EXTENDED;
	for (unsigned i = 0; cap >= CFG_EXTENDED && i < EXTENDED_MAX; i++) {
		uint32_t head = pci_config_get(at, cap, 4);
		if (head == 0 || head == UINT32_MAX)
			return 0;
		if ((head & 0xffff) == id)
			return cap;
		cap = head >> 20 & 0xffc;
	}
	return 0;
}
