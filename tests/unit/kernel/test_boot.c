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

/* Memory comes from the node, then from the nearest one that has it, then from anywhere. */
static void nearest_node(void **s)
{
	static const struct memory_entry map[] = {{0x100000, 3 * GIB - 0x100000, 1, 0}, {4 * GIB, GIB, 1, 0}};
	static const uint8_t distances[9] = {10, 15, 30, 15, 10, 20, 30, 20, 10};
	uint8_t srat[48 + 3 * 40] = {0}, slit[44 + 9] = {0};
	(void)s;
	for (uint32_t n = 0; n < 3; n++) {
		uint8_t *e = srat + 48 + 40 * n;
		const uint64_t start = n * GIB, bytes = GIB;
		e[0] = 1, e[1] = 40, e[2] = (uint8_t)n, e[28] = 1;
		memcpy(e + 8, &start, 8);
		memcpy(e + 16, &bytes, 8);
	}
	slit[36] = 3;
	memcpy(slit + 44, distances, sizeof distances);
	take_map(map, ARRAY_LEN(map));
	assert_int_equal(numa_parse_srat(srat, sizeof srat), E_OK);
	assert_int_equal(numa_parse_slit(slit, sizeof slit), E_OK);
	vm_ram_learn_nodes();
	assert_int_equal(vm_node_bytes(1), GIB);
	assert_int_equal(vm_node_bytes(0), GIB - 0x500000); /* without the image, and what is below 1 MiB */
	assert_int_equal(vm_take_pages_near(PAGE_BYTES, 2, "a test"), 2 * GIB);
	assert_int_equal(vm_take_huge_pages_near(GIB / 2, 0), GIB / 2);
	assert_int_equal(vm_take_huge_pages_near(GIB / 2, 0), GIB + GIB / 2); /* node 1, though node 2 is higher */
	assert_int_equal(vm_take_huge_pages_near(GIB / 2, 0), GIB);
	assert_int_equal(vm_take_huge_pages_near(GIB / 2, 0), 2 * GIB + GIB / 2);
	assert_int_equal(vm_take_huge_pages_near(GIB / 2, 0), 4 * GIB + GIB / 2); /* no node's */
	assert_int_equal(vm_take_pages_near(PAGE_BYTES, 1, "a test"), 0x500000);  /* node 1 has none left */
	numa_parse_srat(srat, 0); /* one node again */
}

/* A module that is given up joins the free memory on both sides to one piece. */
static void module_given_up(void **s)
{
	static const struct memory_entry map[] = {{0, 0x9f000, 1, 0}, {0x100000, GIB - 0x100000, 1, 0}};
	(void)s;
	low_page_with(map, 2, GIB / 2, GIB / 2 + HUGE_BYTES);
	assert_int_equal(vm_take_huge_pages(GIB / 2), 0);
	vm_ram_give_module(&boot);
	assert_int_equal(vm_take_huge_pages(GIB - 4 * HUGE_BYTES), 4 * HUGE_BYTES);
}

/* A module lies in memory, also across ranges that the map has in any order, and outside of the image. */
static void modules(void **s)
{
	static const struct memory_entry map[] = {{2 * GIB, GIB, 1, 0}, {GIB, GIB, 1, 0}, {0x100000, GIB - 0x100000, 1, 0}};
	static const struct {
		uint64_t start, end;
		bool good;
	} row[] = {{GIB - 0x1000, 2 * GIB + 0x1000, true}, {3 * GIB - 0x1000, 3 * GIB, true},
	           {3 * GIB - 0x1000, 3 * GIB + 1, false}, {0x500000, 0x501000, true}, {0x4fffff, 0x501000, false},
	           {0x200000, 0x201000, false}, {0xff000, 0x100000, false}, {2 * GIB, GIB, false}};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		const struct pvh_info pvh = {.magic = PVH_MAGIC, .version = PVH_WITH_MAP, .memmap = MAP_AT,
		                             .memmap_entries = ARRAY_LEN(map), .modules = 1, .module_list = MODULES_AT};
		const struct pvh_module m = {.addr = row[i].start, .bytes = row[i].end - row[i].start};
		window_open();
		memcpy(window + AT, &pvh, sizeof pvh);
		memcpy(window + MAP_AT, map, sizeof map);
		memcpy(window + MODULES_AT, &m, sizeof m);
		memset(&boot, 0, sizeof boot);
		boot_parse(&boot, BOOT_PVH, AT);
		assert_int_equal(boot.module.start, row[i].good ? row[i].start : 0);
		assert_int_equal(boot.module.end, row[i].good ? row[i].end : 0);
	}
}

/* --- Multiboot2 (3.6) --- */

static uint32_t mb2_bytes;

static uint8_t *tag(uint32_t type, uint32_t bytes)
{
	uint8_t *t = window + AT + mb2_bytes;
	memset(t, 0, bytes);
	memcpy(t, &type, 4);
	memcpy(t + 4, &bytes, 4);
	mb2_bytes += (uint32_t)align_up(bytes, 8);
	return t;
}

static void tag32(uint8_t *t, unsigned at, uint32_t v) { memcpy(t + at, &v, 4); }
static void tag64(uint8_t *t, unsigned at, uint64_t v) { memcpy(t + at, &v, 8); }

static void mb2_memory(uint64_t start, uint64_t bytes)
{
	uint8_t *t = tag(6, 16 + 2 * 32); /* entries of 32 bytes: later versions may be longer */
	tag32(t, 8, 32);
	tag64(t, 16, start);
	tag64(t, 24, bytes);
	tag32(t, 32, 1);
	tag64(t, 48, 0xe0000000);
	tag64(t, 56, 0x10000000);
	tag32(t, 64, 2);
}

static void mb2_framebuffer(uint8_t type, uint8_t bits, uint32_t pitch)
{
	uint8_t *t = tag(8, 38);
	tag64(t, 8, 0xd0000000);
	tag32(t, 16, pitch);
	tag32(t, 20, 1024);
	tag32(t, 24, 768);
	t[28] = bits;
	t[29] = type;
	t[32] = 16, t[34] = 8, t[36] = 0;
}

static void mb2_module(uint32_t start, uint32_t end)
{
	uint8_t *t = tag(3, 20);
	tag32(t, 8, start);
	tag32(t, 12, end);
}

static void mb2_begin(void)
{
	window_open();
	mb2_bytes = 8;
}

static void mb2_parse(void)
{
	tag(0, 8);
	memcpy(window + AT, &mb2_bytes, 4);
	memset(&boot, 0, sizeof boot);
	boot_parse(&boot, BOOT_MULTIBOOT2, AT);
}

static const uint8_t *rsdp_copy(void) { return (const uint8_t *)(boot.rsdp + KERNEL_BASE); }

static void multiboot2(void **s)
{
	(void)s;
	mb2_begin();
	memcpy(tag(1, 8 + 7) + 8, "cores=2", 7); /* without its NUL */
	memcpy(tag(2, 8 + 5) + 8, "GRUB", 5);
	mb2_memory(0x100000, GIB);
	mb2_memory(2 * GIB, GIB); /* a second map does not count */
	mb2_module(0x1000000, 0x1000100);
	mb2_module(0x2000000, 0x2000100); /* nor a second module */
	mb2_framebuffer(1, 32, 4096);
	tag64(tag(12, 16), 8, 0x12345678);
	mb2_parse();
	assert_string_equal(boot.cmdline, "cores=2");
	assert_string_equal(boot.loader, "GRUB");
	assert_true(boot.ram_count == 1 && boot.ram[0].start == 0x100000 && boot.ram[0].end == 0x100000 + GIB);
	assert_true(boot.reserved_count == 1 && boot.reserved[0].start == 0xe0000000 && boot.reserved[0].end == 0xf0000000);
	assert_true(boot.module.start == 0x1000000 && boot.module.end == 0x1000100);
	assert_true(boot.fb.addr == 0xd0000000 && boot.fb.pitch == 4096 && boot.fb.width == 1024 && boot.fb.height == 768);
	assert_true(boot.fb.bits == 32 && boot.fb.red_shift == 16 && boot.fb.green_shift == 8 && boot.fb.blue_shift == 0);
	assert_true(boot.uefi && boot.efi_system == 0x12345678 && boot.rsdp == 0);
}

/* The newer RSDP counts, in any order (3.6.11, 3.6.12). */
static void multiboot2_rsdp(void **s)
{
	(void)s;
	for (unsigned newer_first = 0; newer_first < 2; newer_first++) {
		mb2_begin();
		for (unsigned i = 0; i < 2; i++)
			memset(tag(i == newer_first ? 14 : 15, 8 + 36) + 8, i == newer_first ? 0x11 : 0x22, 36);
		mb2_parse();
		assert_true(rsdp_copy()[0] == 0x22 && rsdp_copy()[35] == 0x22 && rsdp_copy()[36] == 0);
	}
	mb2_begin();
	memset(tag(14, 8 + 20) + 8, 0x11, 20);
	tag(15, 8 + 19); /* too short */
	mb2_parse();
	assert_true(rsdp_copy()[0] == 0x11 && rsdp_copy()[20] == 0 && !boot.uefi);
}

static void multiboot2_framebuffers(void **s)
{
	static const struct {
		uint8_t type, bits;
		uint32_t pitch;
		bool good;
	} row[] = {{1, 32, 4096, true}, {1, 24, 3072, true}, {1, 24, 3071, false}, {1, 32, 4095, false}, {2, 32, 4096, false},
	           {0, 32, 4096, false}, {1, 16, 4096, false}, {1, 32, 8 * 16384, true}, {1, 32, 8 * 16384 + 1, false}};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		mb2_begin();
		mb2_memory(0x100000, GIB);
		mb2_framebuffer(row[i].type, row[i].bits, row[i].pitch);
		mb2_parse();
		assert_int_equal(boot.fb.addr, row[i].good ? 0xd0000000 : 0);
	}
	mb2_begin();
	mb2_memory(0xd0000000 + 767 * 4096, GIB); /* memory is there */
	mb2_framebuffer(1, 32, 4096);
	mb2_parse();
	assert_int_equal(boot.fb.addr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_tib), cmocka_unit_test(four_gib_with_holes), cmocka_unit_test(low_pages),
		cmocka_unit_test(nearest_node),
		cmocka_unit_test(module_given_up), cmocka_unit_test(modules), cmocka_unit_test(multiboot2), cmocka_unit_test(multiboot2_rsdp),
		cmocka_unit_test(multiboot2_framebuffers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
