/* kernel/boot.c, kernel/vm_ram.c: memory maps as large machines have them. Hostile ones are
 * tests/fuzz/fuzz_boot.c's. */
#include "tests/unit/rig/phys_window.h"

#include "kernel/boot.c"
#include "kernel/vm_ram.c"

#define AT 0x10000u
#define MAP_AT 0x12000u
#define MODULES_AT 0x14000u
#define GIB (1ull << 30)

static struct boot boot;

_Noreturn void panic(const char *format, ...)
{
	(void)format;
	abort();
}

void console_print(const char *format, ...) { (void)format; }
uint64_t vm_image_bytes(void) { return 0x400000; }

/* Reads a map of n entries by PVH, and gives its memory to the allocator. */
static void take_map(const struct memory_entry *e, unsigned n)
{
	const struct pvh_info pvh = {.magic = PVH_MAGIC, .version = PVH_WITH_MAP, .memmap = MAP_AT, .memmap_entries = n};
	window_open();
	memcpy(window + AT, &pvh, sizeof pvh);
	memcpy(window + MAP_AT, e, n * sizeof *e);
	memset(&boot, 0, sizeof boot);
	memset(&ram, 0, sizeof ram);
	total_bytes = module_bytes = ram_tables_bytes = 0;
	boot_parse(&boot, BOOT_PVH, AT);
	vm_ram_init(&boot);
}

static uint64_t usable(void)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < boot.ram_count; i++)
		sum += boot.ram[i].end - boot.ram[i].start;
	return sum;
}

/* Two sockets of 512 GiB each, with a hole for devices below 4 GiB and one between the sockets' memory. */
static void one_tib(void **s)
{
	(void)s;
	static const struct memory_entry map[] = {
		{0, 0x9f000, 1, 0},
		{0x9f000, 0x61000, 2, 0},
		{0x100000, 2 * GIB - 0x100000, 1, 0},
		{2 * GIB, 0x10000000, 2, 0}, /* ECAM */
		{4 * GIB, 510 * GIB, 1, 0},
		{514 * GIB, 510 * GIB, 2, 0},
		{1024 * GIB, 512 * GIB, 1, 0},
		{0xfd00000000, 0x300000000, 2, 0}, /* HyperTransport's hole on AMD, in the reserved part */
	};
	take_map(map, ARRAY_LEN(map));
	assert_int_equal(boot.ram_count, 4);
	assert_int_equal(usable(), 0x9f000 + 2 * GIB - 0x100000 + 1022 * GIB);
	assert_true(boot_has_ram(&boot, 1535 * GIB, 1536 * GIB) && !boot_has_ram(&boot, 600 * GIB, 1024 * GIB));
	assert_int_equal(vm_take_huge_pages(256 * GIB), 1280 * GIB); /* from the top */
	assert_int_equal(vm_take_huge_pages(400 * GIB), 114 * GIB);  /* in the other socket's */
	assert_int_equal(vm_take_huge_pages(400 * GIB), 0);
	assert_int_equal(vm_huge_share(2, 1024 * GIB), 128 * GIB);
	assert_true(vm_ram_tables_bytes() < 16 << 20); /* 2 MiB pages: 8 bytes each, and some */
}

/* 4 GiB as firmware of a desktop leaves them: many small pieces that it keeps. */
static void four_gib_with_holes(void **s)
{
	(void)s;
	struct memory_entry map[48] = {{0, 0xa0000, 1, 0}, {0x100000, 3 * GIB - 0x100000, 1, 0}, {4 * GIB, GIB, 1, 0}};
	unsigned n = 3;
	for (unsigned i = 0; i < 40; i++) /* reserved, ACPI, NVS, in turn; each splits a piece */
		map[n++] = (struct memory_entry){GIB + i * 0x1001000ull, 0x3000, 2 + i % 3, 0};
	take_map(map, n);
	assert_int_equal(boot.ram_count, 3 + 40);
	assert_int_equal(usable(), 0xa0000 + 4 * GIB - 0x100000 - 40 * 0x3000);
	for (unsigned i = 0; i < 40; i++)
		assert_false(boot_has_ram(&boot, map[3 + i].addr, map[3 + i].addr + 0x3000));
	uint64_t at, least = UINT64_MAX, taken = 0;
	while ((at = vm_take_huge_pages(HUGE_BYTES)) != 0) {
		for (unsigned i = 0; i < 40; i++)
			assert_false(at < map[3 + i].addr + 0x3000 && map[3 + i].addr < at + HUGE_BYTES);
		least = at < least ? at : least;
		taken += HUGE_BYTES;
	}
	assert_true(taken > 3 * GIB + GIB / 2 && least >= HUGE_BYTES);
}

/* Reads a map and a module; returns the page for the start of the other cores. */
static uint64_t low_page_with(const struct memory_entry *e, unsigned n, uint64_t start, uint64_t end)
{
	const struct pvh_info pvh = {.magic = PVH_MAGIC, .version = PVH_WITH_MAP, .memmap = MAP_AT, .memmap_entries = n,
	                             .modules = 1, .module_list = MODULES_AT};
	const struct pvh_module m = {.addr = start, .bytes = end - start};
	window_open();
	memcpy(window + AT, &pvh, sizeof pvh);
	memcpy(window + MAP_AT, e, n * sizeof *e);
	memcpy(window + MODULES_AT, &m, sizeof m);
	memset(&boot, 0, sizeof boot);
	memset(&ram, 0, sizeof ram);
	total_bytes = module_bytes = ram_tables_bytes = 0;
	boot_parse(&boot, BOOT_PVH, AT);
	assert_true(boot.module.start == start && boot.module.end == end);
	vm_ram_init(&boot);
	return vm_low_page();
}

/* The other cores start in a page that no module has: GRUB on UEFI may put it at 0x8000. */
static void low_pages(void **s)
{
	(void)s;
	static const struct memory_entry map[] = {{0, 0x9f000, 1, 0}, {0x100000, GIB - 0x100000, 1, 0}};
	static const struct memory_entry odd[] = {{0x3800, 0x3000, 1, 0}, {0x9fff0, 0x10, 1, 0}, {0x100000, GIB - 0x100000, 1, 0}};
	assert_int_equal(low_page_with(map, 2, 0x40000000 - 0x1000, 0x40000000), 0x8000);
	assert_int_equal(low_page_with(map, 2, 0x9000, 0x9100), 0x8000);
	assert_int_equal(low_page_with(map, 2, 0x8000, 0x8010), 0x1000);
	assert_int_equal(low_page_with(map, 2, 0x1000, 0x8010), 0x9000);
	assert_int_equal(low_page_with(map, 2, 0x8fff, 0x9000), 0x1000);
	assert_int_equal(low_page_with(map, 2, 0x1000, 0x9e800), 0);
	assert_int_equal(low_page_with(odd, 3, 0x800000, 0x800010), 0x4000); /* whole pages only */
	assert_int_equal(low_page_with(odd, 3, 0x4000, 0x4010), 0x5000);
	assert_int_equal(low_page_with(odd, 3, 0x4000, 0x5010), 0);
	assert_int_equal(low_page_with(map + 1, 1, 0x800000, 0x800010), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(one_tib), cmocka_unit_test(four_gib_with_holes),
	                                   cmocka_unit_test(low_pages)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
