/* The kernel around kernel/iommu.c, for the tests of its kinds: memory for tables, and what the console said. */
#ifndef TESTS_UNIT_RIG_IOMMU_KERNEL_H
#define TESTS_UNIT_RIG_IOMMU_KERNEL_H

#define PAGES 64

static uint8_t ram[PAGES * PAGE_BYTES] __attribute__((aligned(4096)));
static uint64_t next_page;
static char said[1000];

void console_print(const char *format, ...)
{
	size_t at = strlen(said);
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(said + at, sizeof said - at, format, args);
	__builtin_va_end(args);
}
int64_t pci_msix_aim(uint64_t index, uint64_t phys, uint32_t data)
{
	(void)index, (void)phys, (void)data;
	return E_INVAL;
}
bool regions_overlap(uint64_t at, uint64_t bytes)
{
	(void)at, (void)bytes;
	return false;
}
/* Exactly what the maps of the tests need: one table of 512 GiB, two of 1 GiB. */
uint64_t vm_ram_tables_bytes(void) { return 3 * PAGE_BYTES; }
uint64_t vm_take_zeroed_pages(uint64_t bytes, const char *what)
{
	(void)what;
	bytes = align_up(bytes, PAGE_BYTES);
	assert_true(next_page * PAGE_BYTES + bytes <= sizeof ram);
	uint8_t *at = ram + next_page * PAGE_BYTES;
	next_page += bytes / PAGE_BYTES;
	memset(at, 0, bytes);
	return (uint64_t)(uintptr_t)at;
}

#endif
