/*
 * ACPI's tables as firmware leaves them (kernel/acpi.c, kernel/dmar.c): MADT, MCFG and DMAR with
 * anything in them, their lengths and checksums right. Nothing behind a table is read, and what was
 * learnt keeps its bounds.
 *
 * Input: whether the root is an XSDT; then tables, each a kind, a length and its bytes.
 */
#include "tests/fuzz/rig.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

/* The kernel's window to physical memory lies where no process of the host has any. */
#define vm_phys vm_phys_of_the_kernel
#include "kernel/vm.h"
#undef vm_phys
#define WINDOW_BYTES 0x200000u
static uint8_t *window;
static inline void *vm_phys(uint64_t phys)
{
	assert_in_range(phys, 0, WINDOW_BYTES - 1);
	return window + phys;
}

#include "kernel/acpi.c"
#include "kernel/dmar.c"

#define ROOT 0xe0100u
#define TABLES 0x100000u
#define TABLES_MAX_HERE 16

void console_print(const char *format, ...)
{
	(void)format;
}

static void make_sum_zero(uint8_t *at, size_t n, uint8_t *checksum)
{
	*checksum = 0;
	for (size_t i = 0; i < n; i++)
		*checksum = (uint8_t)(*checksum - (at + i == checksum ? 0 : at[i]));
}

/* A table from the input at this address, with nothing behind it; returns where the next may be. */
static uint32_t put_table(uint32_t at)
{
	static const char *const names[] = {"APIC", "MCFG", "DMAR", "FACP"};
	struct table *t = (struct table *)(void *)(window + at);
	const char *name = names[rig_u8() % 4];
	uint32_t bytes = (uint32_t)sizeof *t + rig_u16() % 512;
	ASAN_UNPOISON_MEMORY_REGION(t, bytes);
	memset(t, 0, sizeof *t);
	memcpy(t->signature, name, 4);
	t->bytes = bytes;
	random_fill(t + 1, bytes - sizeof *t);
	make_sum_zero((uint8_t *)t, bytes, &t->checksum);
	return (at + bytes + 16) & ~7u;
}

static void put_root(bool wide, const uint32_t *tables, unsigned n)
{
	struct table *root = (struct table *)(void *)(window + ROOT);
	uint8_t *entry = (uint8_t *)(root + 1);
	memcpy(root->signature, wide ? "XSDT" : "RSDT", 4);
	root->bytes = (uint32_t)(sizeof *root + n * (wide ? 8 : 4));
	for (unsigned i = 0; i < n; i++, entry += wide ? 8 : 4)
		memcpy(entry, &tables[i], 4);
	make_sum_zero((uint8_t *)root, root->bytes, &root->checksum);
}

static void put_rsdp(bool wide)
{
	struct rsdp *r = (struct rsdp *)(void *)(window + BIOS_START);
	*r = (struct rsdp){.revision = wide ? 2 : 0, .rsdt = ROOT, .xsdt = wide ? ROOT : 0, .bytes = 36};
	memcpy(r->signature, "RSD PTR ", 8);
	make_sum_zero((uint8_t *)r, 20, &r->checksum);
	make_sum_zero((uint8_t *)r, sizeof *r, &r->checksum2);
}

static unsigned no_bridge(uint16_t bdf)
{
	return bdf & 1 ? 0 : 0x0301;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t tables[TABLES_MAX_HERE], at = TABLES;
	unsigned n = 0;
	struct acpi acpi;
	struct dmar dmar;
	struct boot boot = {.rsdp = 0};
	if (!window)
		window = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	rig_input(data, size);
	bool wide = rig_u8() & 1;
	memset(window + ROOT, 0, 1024);
	ASAN_POISON_MEMORY_REGION(window + TABLES, 16 * 1024);
	for (; rig_more() && n < TABLES_MAX_HERE; n++) {
		tables[n] = at;
		at = put_table(at);
	}
	put_root(wide, tables, n);
	put_rsdp(wide);
	acpi_init(&acpi, &boot);
	assert_true(acpi.cores <= CORES_MAX && acpi.ioapics <= ACPI_IOAPICS_MAX);
	assert_true(acpi.ecams <= ACPI_ECAMS_MAX);
	if (acpi.dmar && dmar_parse(&dmar, acpi.dmar, acpi.dmar_bytes) == E_OK) {
		assert_true(dmar.units <= DMAR_UNITS_MAX && dmar.scopes <= DMAR_SCOPES_MAX);
		for (unsigned bdf = 0; bdf < 0x400; bdf += 7)
			assert_true(dmar_unit_of(&dmar, (uint16_t)bdf, no_bridge) < (int)dmar.units);
	}
	return 0;
}
