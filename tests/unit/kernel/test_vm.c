/*
 * kernel/vm: page tables against an oracle with a row for each page of a window that crosses the
 * end of a top-level table's range: the mappings, their rights, the number of tables, and what the
 * kernel reads of it for a program.
 */
#include "tests/unit/rig/host.h"

#include "kernel/cpu.h"
#include "kernel/vm.h"

/* physical memory is the test's own */
static void *host_phys(uint64_t phys) { return (void *)(uintptr_t)phys; }
#define vm_phys host_phys
static unsigned forgotten; /* pages of which the TLB has been cleared */
static void host_forget_page(uint64_t virt) { forgotten += virt % HUGE_BYTES == 0; }
#define cpu_forget_page host_forget_page
#include "kernel/vm.c"

#define WINDOW_HUGE 4
#define WINDOW_PAGES (WINDOW_HUGE * (HUGE_BYTES / PAGE_BYTES))
#define WINDOW ((1ull << 39) - WINDOW_HUGE / 2 * HUGE_BYTES)
#define MEMORY_BYTES (WINDOW_HUGE * HUGE_BYTES) /* mapped, in any order and more than once */
#define TABLES 64

char kernel_text[1], kernel_rodata[1], kernel_data[1], kernel_end[1];
uint64_t boot_pdpt[4];

static uint8_t *memory;
static uint8_t tables[TABLES * PAGE_BYTES] __attribute__((aligned(4096)));
static uint64_t taken; /* bytes of tables */

void vm_ram_init(const struct boot *boot) { (void)boot; }

uint64_t vm_take_pages(uint64_t bytes, const char *what)
{
	(void)what;
	assert_true(bytes % PAGE_BYTES == 0 && taken + bytes <= sizeof tables);
	taken += bytes;
	return (uint64_t)(uintptr_t)tables + taken - bytes;
}

static struct row {
	uint64_t phys; /* 0: not mapped */
	unsigned flags;
} oracle[WINDOW_PAGES];

static vm_space_t begin(void)
{
	taken = 0;
	memset(oracle, 0, sizeof oracle);
	return vm_space_new();
}

/* Maps pages [first, first + n) of the window to bytes of the memory from `at` on. */
static void map(vm_space_t space, uint64_t first, uint64_t n, uint64_t at, unsigned flags)
{
	const uint64_t virt = WINDOW + first * PAGE_BYTES, bytes = n * PAGE_BYTES, before = taken;
	const uint64_t phys = (uint64_t)(uintptr_t)memory + at;
	const bool alike = (virt ^ phys) % HUGE_BYTES == 0;
	const uint64_t missing = vm_tables_missing(space, virt, bytes);
	vm_map(space, virt, phys, bytes, flags);
	if (alike)
		assert_true(taken - before <= vm_tables_bytes(virt, bytes));
	if (alike && virt % HUGE_BYTES == 0 && bytes % HUGE_BYTES == 0)
		assert_int_equal(taken - before, missing);
	for (uint64_t i = 0; i < n; i++)
		oracle[first + i] = (struct row){phys + i * PAGE_BYTES, flags};
}

/* --- vm_visit --- */

static uint64_t visited, shown_tables, end_of_last;

static void compare(void *arg, const struct vm_piece *p)
{
	assert_ptr_equal(arg, oracle);
	if (p->flags & VM_TABLE) {
		shown_tables += PAGE_BYTES;
		return;
	}
	assert_true(p->bytes > 0 && p->virt >= end_of_last && p->virt >= WINDOW);
	end_of_last = p->virt + p->bytes;
	for (uint64_t at = 0; at < p->bytes; at += PAGE_BYTES, visited++) {
		const uint64_t page = (p->virt + at - WINDOW) / PAGE_BYTES;
		assert_true(page < WINDOW_PAGES);
		assert_int_equal(p->phys + at, oracle[page].phys);
		assert_int_equal(p->flags, oracle[page].flags);
	}
}

static void look(vm_space_t space)
{
	uint64_t mapped = 0;
	visited = shown_tables = end_of_last = 0;
	vm_visit(space, compare, oracle);
	for (uint64_t i = 0; i < WINDOW_PAGES; i++)
		mapped += oracle[i].phys != 0;
	assert_int_equal(visited, mapped);
	assert_int_equal(shown_tables, taken); /* all that were made, none twice */
}

/* --- vm_copy_from_user --- */

static bool may_read(uint64_t from, uint64_t bytes)
{
	for (uint64_t at = from; at < from + bytes; at = align_down(at, PAGE_BYTES) + PAGE_BYTES) {
		const uint64_t page = at / PAGE_BYTES;
		if (page >= WINDOW_PAGES || !oracle[page].phys || !(oracle[page].flags & VM_USER) ||
		    oracle[page].flags & VM_DEVICE)
			return false;
	}
	return true;
}

/* from: offset in the window. True: the oracle permits the read. */
static bool copy(vm_space_t space, uint64_t from, uint64_t bytes)
{
	static uint8_t to[3 * PAGE_BYTES];
	const bool may = may_read(from, bytes);
	assert_int_equal(vm_copy_from_user(space, to, WINDOW + from, bytes), may);
	assert_int_equal(vm_user_may_read(space, WINDOW + from, bytes), may);
	for (uint64_t i = 0; may && i < bytes; i++) {
		const uint8_t *phys = host_phys(oracle[(from + i) / PAGE_BYTES].phys);
		if (to[i] != phys[(from + i) % PAGE_BYTES])
			fail_msg("byte %u of %u at 0x%x", (unsigned)i, (unsigned)bytes, (unsigned)from);
	}
	return may;
}

/* --- tests --- */

static void windows_of_pieces(void **s)
{
	static const unsigned rights[] = {VM_USER, VM_USER | VM_WRITE, VM_USER | VM_EXEC, VM_WRITE, 0,
	                                  VM_USER | VM_WRITE | VM_DEVICE};
	unsigned read = 0, refused = 0;
	(void)s;
	for (unsigned round = 0; round < 2000; round++) {
		const vm_space_t space = begin();
		uint64_t page = random_below(600);
		while (page < WINDOW_PAGES) {
			uint64_t n = 1 + random_below(random_below(3) ? 20 : 1200), at;
			if (random_below(4) == 0) { /* whole pages of 2 MiB */
				page = align_up(page, HUGE_BYTES / PAGE_BYTES);
				n = HUGE_BYTES / PAGE_BYTES * (1 + random_below(2));
			}
			if (page >= WINDOW_PAGES)
				break;
			n = n < WINDOW_PAGES - page ? n : WINDOW_PAGES - page;
			at = random_below((unsigned)(WINDOW_PAGES - n + 1)) * PAGE_BYTES;
			if (random_below(2)) /* at its offset in the 2 MiB page */
				at = page * PAGE_BYTES;
			map(space, page, n, at, rights[random_below(ARRAY_LEN(rights))]);
			page += n + (random_below(3) ? 0 : random_below(400));
		}
		look(space);
		for (unsigned i = 0; i < 50; i++) {
			bool may = copy(space, random64() % (WINDOW_PAGES * PAGE_BYTES), random_below(3 * PAGE_BYTES));
			read += may;
			refused += !may;
		}
	}
	assert_true(read > 10000 && refused > 10000);
}

/* The limits of what may be read for a program, to the byte. */
static void reads_for_programs(void **s)
{
	const vm_space_t space = begin();
	const uint64_t page = PAGE_BYTES;
	uint8_t byte;
	(void)s;
	map(space, 1, 2, 5 * page, VM_USER);
	map(space, 3, 1, 0, VM_USER | VM_DEVICE);
	map(space, 4, 1, 0, VM_WRITE);
	map(space, 5, 1, 9 * page, VM_USER | VM_WRITE);
	assert_true(copy(space, page, 2 * page));
	assert_true(copy(space, 5 * page, page));
	assert_true(copy(space, 7 * page, 0)); /* nothing is read */
	assert_false(copy(space, page - 1, 1));
	assert_false(copy(space, page - 1, 2));
	assert_false(copy(space, 3 * page - 1, 2));
	assert_false(copy(space, 3 * page, 1));
	assert_false(copy(space, 4 * page, 1));
	assert_false(copy(space, 6 * page - 1, 2));
	/* The kernel's half, and an invalid address. */
	assert_false(vm_copy_from_user(space, &byte, PHYS_BASE, 1));
	assert_false(vm_copy_from_user(space, &byte, 1ull << 47, 1));
	assert_false(vm_copy_from_user(space, &byte, (1ull << 48) + WINDOW + page, 1));
	assert_false(vm_user_may_read(space, PHYS_BASE, 1));
	assert_false(vm_user_may_read(space, 1ull << 47, 1));
	assert_false(vm_user_may_read(space, WINDOW + page, UINT64_MAX)); /* its end is below its beginning */
	assert_false(vm_user_may_read(space, WINDOW + page, 1ull << 46));
}

/* The rights of mapped pages of 2 MiB change, and pages go; the rest stays, and no table is made. */
static void changes(void **s)
{
	const uint64_t huge = HUGE_BYTES / PAGE_BYTES, user = VM_USER | VM_WRITE;
	const vm_space_t space = begin();
	(void)s;
	map(space, 0, 4 * huge, 0, user);
	const uint64_t before = taken;
	forgotten = 0;
	vm_change(space, WINDOW + HUGE_BYTES, 2 * HUGE_BYTES, VM_USER | VM_EXEC);
	for (uint64_t i = huge; i < 3 * huge; i++)
		oracle[i].flags = VM_USER | VM_EXEC;
	look(space);
	assert_int_equal(forgotten, 2);
	vm_change(space, WINDOW + 2 * HUGE_BYTES, HUGE_BYTES, VM_NOTHING);
	for (uint64_t i = 2 * huge; i < 3 * huge; i++)
		oracle[i].phys = 0;
	look(space);
	assert_int_equal(forgotten, 3);
	assert_int_equal(taken, before);
}

/* A right that a table's entry takes away is not there, whatever the entries below say. */
static void rights_above(void **s)
{
	const vm_space_t space = begin();
	uint64_t *top = (uint64_t *)host_phys(space) + (WINDOW >> 39 & 511);
	(void)s;
	map(space, 0, 512, 0, VM_USER | VM_WRITE | VM_EXEC);
	look(space);
	*top |= PTE_NX;
	for (unsigned i = 0; i < 512; i++)
		oracle[i].flags = VM_USER | VM_WRITE;
	look(space);
	*top &= ~PTE_WRITE;
	for (unsigned i = 0; i < 512; i++)
		oracle[i].flags = VM_USER;
	look(space);
}

/* A table for each GiB and each 512 GiB that the range touches, but those that exist. */
static void tables_missing(void **s)
{
	const vm_space_t space = begin();
	const uint64_t gib = 1ull << 30;
	(void)s;
	assert_int_equal(vm_tables_missing(space, 0, 3 * gib), 4 * PAGE_BYTES);
	assert_int_equal(vm_tables_missing(space, 511 * gib, 2 * gib), 4 * PAGE_BYTES);
	assert_int_equal(vm_tables_missing(space, gib - HUGE_BYTES, 2 * HUGE_BYTES), 3 * PAGE_BYTES);
	vm_map(space, gib, (uint64_t)(uintptr_t)memory, HUGE_BYTES, VM_USER);
	assert_int_equal(vm_tables_missing(space, 0, 3 * gib), 2 * PAGE_BYTES);
	assert_int_equal(vm_tables_missing(space, gib, gib), 0);
}

/* An end of memory that is not a whole page of 2 MiB is mapped in small ones, and no further. */
static void pages_of_both_sizes(void **s)
{
	const vm_space_t space = begin();
	const uint64_t before = taken;
	(void)s;
	map(space, 512, 1024 + 1, 512 * PAGE_BYTES, VM_USER | VM_WRITE);
	assert_int_equal(taken - before, 5 * PAGE_BYTES); /* two of 512 GiB, two of 1 GiB, one of 2 MiB */
	look(space);
	map(space, 0, 512, 0, 0);
	assert_int_equal(taken - before, 5 * PAGE_BYTES);
	look(space);
}

static int setup(void **s)
{
	(void)s;
	memory = aligned_alloc(HUGE_BYTES, MEMORY_BYTES);
	assert_non_null(memory);
	for (uint64_t i = 0; i < MEMORY_BYTES; i += 8) {
		const uint64_t v = random64();
		memcpy(memory + i, &v, 8);
	}
	return 0;
}

static int teardown(void **s)
{
	(void)s;
	free(memory);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_of_pieces),
		cmocka_unit_test(reads_for_programs),
		cmocka_unit_test(pages_of_both_sizes),
		cmocka_unit_test(changes),
		cmocka_unit_test(tables_missing),
		cmocka_unit_test(rights_above),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
