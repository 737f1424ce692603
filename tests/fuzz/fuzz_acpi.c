/*
 * ACPI tables as firmware leaves them (kernel/acpi.c, kernel/dmar.c, kernel/ivrs.c): MADT, MCFG, DMAR and IVRS with any
 * contents and correct lengths and checksums, or a table that claims to reach beyond 4 GiB. Nothing
 * behind a table is read, and what was learnt keeps its bounds.
 *
 * Input: whether the root is an XSDT, whether it and the root pointer lie at the end of 4 GiB; then
 * tables, each a kind, a length and its bytes.
 */
#include "tests/fuzz/rig.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

/* The kernel's window to physical memory lies where a host process has no memory. */
#define vm_phys vm_phys_of_the_kernel
#include "kernel/vm.h"
#undef vm_phys
#define WINDOW_BYTES (4ull << 30)
#define GUARD_BYTES 0x200000u
static uint8_t *window;
static inline void *vm_phys(uint64_t phys)
{
	assert_true(phys < WINDOW_BYTES);
	return window + phys;
}

#include "kernel/acpi.c"
#include "kernel/dmar.c"
#include "kernel/ivrs.c"

#define ROOT 0xe0100u
#define TABLES 0x100000u
#define TABLES_MAX_HERE 16

void console_print(const char *format, ...)
{
	(void)format;
}

/* Above 4 GiB lies a table without contents. */
const void *vm_map_firmware(uint64_t phys, uint64_t bytes)
{
	static const uint8_t nothing[TABLE_MAX];
	assert_true(phys >= WINDOW_BYTES && bytes <= sizeof nothing);
	return nothing;
}

static void make_sum_zero(uint8_t *at, size_t n, uint8_t *checksum)
{
	*checksum = 0;
	for (size_t i = 0; i < n; i++)
		*checksum = (uint8_t)(*checksum - (at + i == checksum ? 0 : at[i]));
}

static const char *const names[] = {"APIC", "MCFG", "DMAR", "SPCR", "FACP", "IVRS"};

/* Puts the first bytes of a table at the end of memory; returns its address. */
static uint32_t put_cut_off(unsigned kind, unsigned bytes)
{
	struct table t = {.bytes = 4096};
	uint32_t at = (uint32_t)(WINDOW_BYTES - bytes);
	memcpy(t.signature, names[kind % ARRAY_LEN(names)], 4);
	memcpy(window + at, &t, bytes < sizeof t ? bytes : sizeof t);
	return at;
}

/* Puts a table from the input at this address, with nothing behind it; returns where the next may
 * be. */
static uint32_t put_table(unsigned kind, uint32_t at)
{
	struct table *t = (struct table *)(void *)(window + at);
	const char *name = names[kind % ARRAY_LEN(names)];
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

static void put_rsdp(bool wide, uint32_t root)
{
	struct rsdp *r = (struct rsdp *)(void *)(window + BIOS_START);
	*r = (struct rsdp){.revision = wide ? 2 : 0, .rsdt = root, .xsdt = wide ? root : 0, .bytes = 36};
	memcpy(r->signature, "RSD PTR ", 8);
	make_sum_zero((uint8_t *)r, 20, &r->checksum);
	make_sum_zero((uint8_t *)r, sizeof *r, &r->checksum2);
}

static void check(const struct acpi *acpi)
{
	assert_true(acpi->cores <= CORES_MAX && acpi->ioapics <= ACPI_IOAPICS_MAX);
	assert_true(acpi->ecams <= ACPI_ECAMS_MAX && acpi->lapic % PAGE_BYTES == 0);
	for (unsigned i = 0; i < acpi->cores; i++)
		for (unsigned k = 0; k < i; k++)
			assert_true(acpi->apic_ids[i] != acpi->apic_ids[k]);
	for (unsigned i = 0; i < acpi->ecams; i++) {
		const struct acpi_ecam *e = &acpi->ecam[i];
		assert_true(e->first_bus <= e->last_bus && e->base % PAGE_BYTES == 0);
		assert_true(e->base + (((uint64_t)e->last_bus + 1) << 20) <= 1ull << 52);
	}
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
	static struct ivrs ivrs;
	struct boot boot = {.rsdp = 0};
	if (!window) {
		window = mmap(NULL, WINDOW_BYTES + GUARD_BYTES, PROT_READ | PROT_WRITE,
		              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		assert_true(window != MAP_FAILED);
		assert_int_equal(mprotect(window + WINDOW_BYTES, GUARD_BYTES, PROT_NONE), 0);
	}
	rig_input(data, size);
	uint8_t how = rig_u8();
	bool wide = how & 1;
	memset(window + ROOT, 0, 1024);
	ASAN_POISON_MEMORY_REGION(window + TABLES, 16 * 1024);
	for (; rig_more() && n < TABLES_MAX_HERE; n++) {
		unsigned kind = rig_u8();
		tables[n] = kind & 0x80 ? put_cut_off(kind, 1 + rig_u8()) : at;
		at = kind & 0x80 ? at : put_table(kind, at);
	}
	put_root(wide, tables, n);
	put_rsdp(wide, how & 2 ? put_cut_off(0, 1 + rig_u8()) : ROOT);
	if (how & 4)
		boot.rsdp = WINDOW_BYTES - 1 - rig_u8();
	acpi_init(&acpi, &boot);
	check(&acpi);
	if (acpi.dmar && dmar_parse(&dmar, acpi.dmar, acpi.dmar_bytes) == E_OK) {
		assert_true(dmar.units <= DMAR_UNITS_MAX && dmar.scopes <= DMAR_SCOPES_MAX);
		for (unsigned bdf = 0; bdf < 0x400; bdf += 7)
			assert_true(dmar_unit_of(&dmar, (uint16_t)bdf, no_bridge) < (int)dmar.units);
	}
	if (acpi.ivrs && ivrs_parse(&ivrs, acpi.ivrs, acpi.ivrs_bytes) == E_OK) {
		assert_true(ivrs.units <= IVRS_UNITS_MAX && ivrs.ranges <= IVRS_RANGES_MAX);
		assert_true(ivrs.ioapics <= IVRS_IOAPICS_MAX && ivrs.reserveds <= IVRS_RESERVED_MAX);
		for (unsigned bdf = 0; bdf < 0x400; bdf += 7)
			assert_true(ivrs_unit_of(&ivrs, (uint16_t)bdf) < (int)ivrs.units);
		for (unsigned i = 0; i < ivrs.reserveds; i++)
			assert_true(ivrs.reserved[i].first <= ivrs.reserved[i].last);
	}
	return 0;
}
