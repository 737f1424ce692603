/*
 * kernel/regions: which regions are accepted, what each core's page tables then map, and writing code. The
 * page tables are a list of what was asked for. tests/system/test_regions.py has the real ones.
 */
#include "tests/unit/rig/host.h"

#include "kernel/vm.h"

/* physical memory is the test's own */
static void *host_phys(uint64_t phys);
#define vm_phys host_phys
#include "kernel/regions.c"

#define TABLES_PHYS 0x40000000ull
#define TABLES_HUGE 16
#define MAPS_MAX 64

static struct boot_info info;
struct boot_info *boot_info = &info;
struct core cores[CORES_MAX];
static uint8_t *memory; /* of the tables */
static bool sealed[TABLES_HUGE];
static uint64_t pages_free, pages_missing;
static int iommu_error;
static unsigned audits, withdrawn, readables;
static uint64_t withdrawn_at, withdrawn_bytes; /* the last one */
static const uint8_t *program; /* readable memory of the caller, at its own address */
static size_t program_bytes;

static struct map {
	vm_space_t space;
	uint64_t virt, phys, bytes;
	unsigned flags;
} maps[MAPS_MAX];
static unsigned map_count;

static void *host_phys(uint64_t phys)
{
	assert_in_range(phys, TABLES_PHYS, TABLES_PHYS + TABLES_HUGE * HUGE_BYTES - 1);
	return memory + (phys - TABLES_PHYS);
}

void vm_map(vm_space_t space, uint64_t virt, uint64_t phys, uint64_t bytes, unsigned flags)
{
	assert_true(map_count < MAPS_MAX);
	maps[map_count++] = (struct map){space, virt, phys, bytes, flags};
}
void vm_change(vm_space_t space, uint64_t virt, uint64_t bytes, unsigned flags)
{
	vm_map(space, virt, virt - MEMORY_WINDOW, bytes, flags);
}
static void set_seal(uint64_t phys, uint64_t bytes, bool value)
{
	assert_true((phys | bytes) % HUGE_BYTES == 0 && bytes);
	for (uint64_t i = 0; i < bytes; i += HUGE_BYTES)
		sealed[(phys + i - TABLES_PHYS) / HUGE_BYTES] = value;
}
void vm_seal(uint64_t phys, uint64_t bytes) { set_seal(phys, bytes, true); }
void vm_unseal(uint64_t phys, uint64_t bytes) { set_seal(phys, bytes, false); }
uint64_t vm_tables_missing(vm_space_t space, uint64_t virt, uint64_t bytes)
{
	(void)space, (void)virt, (void)bytes;
	return pages_missing;
}
uint64_t vm_free(void) { return pages_free; }
bool vm_user_may_read(vm_space_t space, uint64_t virt, size_t bytes)
{
	const uint64_t offset = virt - (uint64_t)(uintptr_t)program;
	return space == cores[0].space && offset <= program_bytes && bytes <= program_bytes - offset;
}
bool vm_copy_from_user(vm_space_t space, void *dst, uint64_t virt, size_t bytes)
{
	if (!vm_user_may_read(space, virt, bytes))
		return false;
	memcpy(dst, (const void *)(uintptr_t)virt, bytes);
	return true;
}
int iommu_withdraw(uint64_t window, uint64_t bytes, bool readable)
{
	assert_int_equal(map_count, 0); /* before anything else */
	assert_true((window | bytes) % HUGE_BYTES == 0);
	withdrawn++;
	withdrawn_at = window;
	withdrawn_bytes = bytes;
	readables += readable;
	return iommu_error;
}
void audit_address_spaces(unsigned n, bool say)
{
	(void)say;
	assert_int_equal(n, info.cores);
	audits++;
}

static void machine(unsigned n)
{
	info = (struct boot_info){.cores = n, .first_data_core = n > 1, .data_cores = n > 1 ? n - 1 : 1};
	for (unsigned i = 0; i < n; i++) {
		cores[i] = (struct core){.id = i, .space = 100 + i};
		info.core[i].roles = (i == 0 ? CORE_CONTROL : 0) | (i >= info.first_data_core ? CORE_DATA : 0);
	}
	info.core[0].tables = MEMORY_WINDOW + TABLES_PHYS;
	info.core[0].tables_bytes = TABLES_HUGE * HUGE_BYTES;
	map_count = audits = withdrawn = readables = 0;
	memset(memory, 0x5a, TABLES_HUGE * HUGE_BYTES);
	memset(sealed, 0, sizeof sealed);
}

static int setup(void **s)
{
	(void)s;
	memory = malloc(TABLES_HUGE * HUGE_BYTES);
	assert_non_null(memory);
	pages_free = 10 * PAGE_BYTES;
	pages_missing = PAGE_BYTES;
	iommu_error = E_OK;
	machine(3);
	return 0;
}

static int teardown(void **s)
{
	(void)s;
	free(memory);
	return 0;
}

/* The n-th 2 MiB page of the tables. */
static uint64_t page(unsigned n)
{
	return MEMORY_WINDOW + TABLES_PHYS + n * HUGE_BYTES;
}

static int add(unsigned n, unsigned pages, uint64_t kind)
{
	map_count = 0;
	return regions_add(page(n), pages * HUGE_BYTES, kind);
}

static void is_mapped(unsigned i, unsigned core, uint64_t virt, unsigned at, unsigned pages, unsigned flags)
{
	assert_true(i < map_count);
	assert_int_equal(maps[i].space, cores[core].space);
	assert_int_equal(maps[i].virt, virt);
	assert_int_equal(maps[i].phys, TABLES_PHYS + at * HUGE_BYTES);
	assert_int_equal(maps[i].bytes, pages * HUGE_BYTES);
	assert_int_equal(maps[i].flags, flags);
}

static void views(void **s)
{
	(void)s;
	assert_int_equal(add(8, 2, REGION_SHARED), E_OK);
	assert_int_equal(map_count, 2); /* the control core has its tables */
	is_mapped(0, 1, page(8), 8, 2, VM_USER | VM_WRITE);
	is_mapped(1, 2, page(8), 8, 2, VM_USER | VM_WRITE);
	assert_int_equal(add(10, 1, REGION_CONTROL), E_OK);
	is_mapped(0, 1, page(10), 10, 1, VM_USER);
	is_mapped(1, 2, page(10), 10, 1, VM_USER);
	assert_int_equal(add(7, 1, REGION_CONTENT), E_OK);
	is_mapped(0, 1, page(7), 7, 1, VM_USER);
	is_mapped(1, 2, page(7), 7, 1, VM_USER);
	assert_int_equal(add(11, 2, REGION_OWN), E_OK);
	assert_int_equal(map_count, 2);
	is_mapped(0, 1, page(11), 11, 2, VM_USER | VM_WRITE);
	is_mapped(1, 2, page(13), 13, 2, VM_USER | VM_WRITE);
	assert_int_equal(withdrawn, 4);
	assert_true(withdrawn_at == page(11) && withdrawn_bytes == 4 * HUGE_BYTES); /* both parts */
	assert_int_equal(readables, 1); /* content */
	assert_int_equal(info.regions, 4);
}

static void code(void **s)
{
	(void)s;
	assert_int_equal(add(2, 1, REGION_CODE), E_OK);
	assert_int_equal(map_count, 4);
	is_mapped(0, 0, page(2), 2, 1, VM_NOTHING);
	is_mapped(1, 0, CODE_WINDOW, 2, 1, VM_USER);
	is_mapped(2, 1, CODE_WINDOW, 2, 1, VM_USER | VM_EXEC);
	is_mapped(3, 2, CODE_WINDOW, 2, 1, VM_USER | VM_EXEC);
	assert_int_equal(add(0, 2, REGION_CODE), E_OK);
	is_mapped(3, 2, CODE_WINDOW + HUGE_BYTES, 0, 2, VM_USER | VM_EXEC);
	for (unsigned i = 0; i < TABLES_HUGE; i++) {
		assert_int_equal(sealed[i], i < 3);
		assert_int_equal(memory[i * HUGE_BYTES + 77], i < 3 ? 0xcc : 0x5a);
	}
}

static void one_cpu(void **s)
{
	(void)s;
	machine(1);
	assert_int_equal(add(3, 1, REGION_SHARED), E_OK);
	assert_int_equal(add(4, 1, REGION_OWN), E_OK);
	assert_int_equal(add(5, 1, REGION_CONTROL), E_OK);
	assert_int_equal(map_count, 0);
	assert_int_equal(add(6, 1, REGION_CODE), E_OK);
	is_mapped(0, 0, page(6), 6, 1, VM_NOTHING);
	is_mapped(1, 0, CODE_WINDOW, 6, 1, VM_USER | VM_EXEC);
}

static void nothing_changed(unsigned regions)
{
	assert_int_equal(map_count, 0);
	assert_int_equal(info.regions, regions);
}

static void wrong_arguments(void **s)
{
	static const struct {
		uint64_t at, bytes, kind;
	} wrong[] = {
		{0, HUGE_BYTES, REGION_SHARED},
		{HUGE_BYTES, 0, REGION_SHARED},
		{HUGE_BYTES + PAGE_BYTES, HUGE_BYTES, REGION_SHARED},
		{HUGE_BYTES, PAGE_BYTES, REGION_SHARED},
		{HUGE_BYTES, HUGE_BYTES, REGION_KINDS},
		{HUGE_BYTES, HUGE_BYTES, UINT64_MAX},
		{HUGE_BYTES, TABLES_HUGE * HUGE_BYTES, REGION_SHARED},
		{HUGE_BYTES, (TABLES_HUGE / 2) * HUGE_BYTES, REGION_OWN}, /* times two cores */
		{HUGE_BYTES, -HUGE_BYTES, REGION_SHARED},
		{HUGE_BYTES, 1ull << 63, REGION_OWN}, /* times two: 0 */
		{TABLES_HUGE * HUGE_BYTES, HUGE_BYTES, REGION_SHARED},
		{-HUGE_BYTES, HUGE_BYTES, REGION_SHARED}, /* below: published memory */
		{4 * HUGE_BYTES, HUGE_BYTES, REGION_CODE}, /* in a region */
		{3 * HUGE_BYTES, 2 * HUGE_BYTES, REGION_CODE},
		{7 * HUGE_BYTES, HUGE_BYTES, REGION_SHARED}, /* in the second core's part */
		{8 * HUGE_BYTES, ((TABLES_HUGE - 8) / 2 + 1) * HUGE_BYTES, REGION_OWN}, /* the second part is not all there */
	};
	(void)s;
	assert_int_equal(add(4, 2, REGION_OWN), E_OK);
	map_count = 0;
	for (unsigned i = 0; i < ARRAY_LEN(wrong); i++) {
		const uint64_t at = i == 0 ? 0 : page(0) + wrong[i].at;
		assert_int_equal(regions_add(at, wrong[i].bytes, wrong[i].kind), E_INVAL);
		nothing_changed(1);
	}
	assert_int_equal(regions_add(UINT64_MAX & ~(HUGE_BYTES - 1), HUGE_BYTES, REGION_SHARED), E_INVAL);
	assert_int_equal(withdrawn, 1);
	assert_int_equal(add(8, TABLES_HUGE - 8, REGION_SHARED), E_OK); /* to the last byte */
}

static void no_room(void **s)
{
	(void)s;
	pages_free = 2 * PAGE_BYTES - 1; /* two data cores need a page each */
	assert_int_equal(add(4, 1, REGION_SHARED), E_NOMEM);
	nothing_changed(0);
	pages_free++;
	assert_int_equal(add(4, 1, REGION_SHARED), E_OK);
	pages_free += 10 * PAGE_BYTES;
	iommu_error = E_DEVICE;
	assert_int_equal(add(5, 1, REGION_CODE), E_DEVICE);
	nothing_changed(1);
	assert_false(sealed[5]);
	iommu_error = E_OK;
	info.regions = REGIONS_MAX;
	assert_int_equal(add(6, 1, REGION_CONTROL), E_NOMEM);
	nothing_changed(REGIONS_MAX);
}

static void window_is_full(void **s)
{
	(void)s;
	info.core[0].tables_bytes = 4 * CODE_WINDOW_BYTES;
	info.regions = 1;
	info.region[0] = (struct region){page(1000), CODE_WINDOW_BYTES - HUGE_BYTES, REGION_CODE, 0};
	assert_int_equal(add(0, 2, REGION_CODE), E_NOMEM);
	nothing_changed(1);
	assert_int_equal(add(0, 1, REGION_CODE), E_OK);
	assert_int_equal(info.region[1].offset, CODE_WINDOW_BYTES - HUGE_BYTES);
	assert_int_equal(add(1, 1, REGION_CODE), E_NOMEM);
	assert_int_equal(add(20, 40, REGION_CONTENT), E_OK); /* other kinds do not lie in the window */
}

static int write(uint64_t offset, const void *from, uint64_t bytes)
{
	return regions_code_write(&cores[0], offset, (uint64_t)(uintptr_t)from, bytes);
}

/* Across the border of two regions that lie apart in memory, the second below the first. */
static void writing(void **s)
{
	static uint8_t text[3000];
	(void)s;
	for (unsigned i = 0; i < sizeof text; i++)
		text[i] = (uint8_t)(i % 200);
	program = text;
	program_bytes = sizeof text;
	assert_int_equal(add(9, 1, REGION_CODE), E_OK);
	assert_int_equal(add(10, 1, REGION_SHARED), E_OK);
	assert_int_equal(add(5, 1, REGION_CODE), E_OK);
	assert_int_equal(write(HUGE_BYTES - 1000, text, sizeof text), E_OK);
	assert_memory_equal(memory + 10 * HUGE_BYTES - 1000, text, 1000);
	assert_memory_equal(memory + 5 * HUGE_BYTES, text + 1000, 2000);
	assert_int_equal(memory[5 * HUGE_BYTES + 2000], 0xcc);
	assert_int_equal(memory[10 * HUGE_BYTES - 1001], 0xcc);
	assert_int_equal(memory[10 * HUGE_BYTES], 0x5a);
	assert_true(sealed[9] && sealed[5] && !sealed[10]);
	assert_int_equal(write(HUGE_BYTES - 1, NULL, 2), E_OK);
	assert_int_equal(memory[10 * HUGE_BYTES - 1], 0xcc);
	assert_int_equal(memory[5 * HUGE_BYTES], 0xcc);
	assert_int_equal(memory[5 * HUGE_BYTES + 1], text[1001]);
	assert_int_equal(write(2 * HUGE_BYTES - 1, text, 1), E_OK); /* the last byte */
}

static void writing_refused(void **s)
{
	static const uint8_t text[100];
	(void)s;
	program = text;
	program_bytes = sizeof text;
	assert_int_equal(write(0, text, 1), E_INVAL); /* there is no region */
	assert_int_equal(add(9, 1, REGION_CODE), E_OK);
	assert_int_equal(write(HUGE_BYTES, text, 1), E_INVAL);
	assert_int_equal(write(HUGE_BYTES - 1, text, 2), E_INVAL);
	assert_int_equal(write(0, NULL, HUGE_BYTES + 1), E_INVAL);
	assert_int_equal(write(1, NULL, UINT64_MAX), E_INVAL);
	assert_int_equal(write(UINT64_MAX, NULL, 1), E_INVAL);
	assert_int_equal(write(0, text, sizeof text + 1), E_INVAL); /* the last byte is not the program's */
	for (uint64_t i = 0; i < HUGE_BYTES; i++)
		assert_int_equal(memory[9 * HUGE_BYTES + i], 0xcc);
	assert_true(sealed[9]);
}

/* With test=1 the page tables are checked after each change. */
static void checked(void **s)
{
	(void)s;
	assert_int_equal(add(9, 1, REGION_CODE), E_OK);
	assert_int_equal(audits, 0);
	strcpy(info.cmdline, "test=1");
	assert_int_equal(add(5, 1, REGION_CODE), E_OK);
	assert_int_equal(audits, 1);
	assert_int_equal(write(0, NULL, 1), E_OK);
	assert_int_equal(audits, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(views), TEST(code), TEST(one_cpu), TEST(wrong_arguments), TEST(no_room),
		TEST(window_is_full), TEST(writing), TEST(writing_refused), TEST(checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
