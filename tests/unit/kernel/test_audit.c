/*
 * kernel/audit: each rule on pieces of a map that obey it and pieces that break it. The walk over
 * real tables runs in tests/system/test_isolation.py.
 */
#include "tests/unit/rig/host.h"

#include "kernel/audit.c"

#define CODE 0x101000ull
#define CONSTANTS 0x120000ull
#define PROGRAM 0x130000ull
#define PROGRAM_END 0x170000ull
#define DATA 0x180000ull
#define END 0x200000ull
#define ARENA 0x40000000ull
#define ARENA_BYTES 0x800000ull
#define KERNEL_HALF 0xffff800000000000ull

char kernel_text[1], kernel_rodata[1], kernel_data[1], kernel_end[1];
char program_image[1], program_image_end[1];
struct core cores[CORES_MAX];
static struct boot_info info;
struct boot_info *boot_info = &info;

void console_print(const char *format, ...) { (void)format; }
_Noreturn void panic(const char *format, ...) { (void)format; abort(); }
void vm_visit(vm_space_t space, void (*piece)(void *, const struct vm_piece *), void *arg)
{
	(void)space, (void)piece, (void)arg;
}

static struct audit a;
struct lent lent_to[CORES_MAX];

static int setup(void **s)
{
	(void)s;
	a = (struct audit){.image = {CODE, CONSTANTS, PROGRAM, PROGRAM_END, DATA, END}};
	return 0;
}

static const char *note(uint64_t virt, uint64_t phys, uint64_t bytes, unsigned flags)
{
	const struct vm_piece p = {virt, phys, bytes, flags};
	return audit_note(&a, &p);
}

static const char *compare(unsigned core, uint64_t phys, uint64_t bytes, unsigned flags)
{
	const struct vm_piece p = {phys, phys, bytes, flags};
	a.core = core;
	return audit_compare(&a, &p);
}

static void executable(void **s)
{
	(void)s;
	assert_null(note(KERNEL_HALF, CODE, CONSTANTS - CODE, VM_EXEC));
	assert_null(note(0x400000, PROGRAM, PROGRAM_END - PROGRAM, VM_EXEC | VM_USER));
	/* code of one unit is not code of the other */
	assert_non_null(note(KERNEL_HALF, CODE, CONSTANTS - CODE + 0x1000, VM_EXEC));
	assert_non_null(note(KERNEL_HALF, PROGRAM, 0x1000, VM_EXEC));
	assert_non_null(note(0x400000, CODE, 0x1000, VM_EXEC | VM_USER));
	assert_non_null(note(0x400000, PROGRAM - 0x1000, 0x2000, VM_EXEC | VM_USER));
	assert_non_null(note(0x400000, PROGRAM_END - 0x1000, 0x2000, VM_EXEC | VM_USER));
	assert_non_null(note(0x400000, PROGRAM, 0x1000, VM_EXEC | VM_USER | VM_WRITE));
	assert_non_null(note(KERNEL_HALF, CODE, 0x1000, VM_EXEC | VM_WRITE));
	assert_non_null(note(KERNEL_HALF, DATA, 0x1000, VM_EXEC));
	assert_non_null(note(KERNEL_HALF, DATA - 0x1000, 0x2000, VM_EXEC));
	assert_non_null(note(KERNEL_HALF, CODE - 0x1000, 0x2000, VM_EXEC));
	assert_non_null(note(ARENA, ARENA, ARENA_BYTES, VM_EXEC | VM_USER));
}

static void alias_of_code(void **s)
{
	(void)s;
	assert_null(note(KERNEL_HALF, 0, CODE, VM_WRITE));
	assert_null(note(KERNEL_HALF + CODE, CODE, DATA - CODE, 0));
	assert_null(note(KERNEL_HALF + DATA, DATA, ARENA, VM_WRITE));
	assert_non_null(note(KERNEL_HALF, 0, CODE + 1, VM_WRITE));
	assert_non_null(note(KERNEL_HALF, DATA - 1, HUGE_BYTES, VM_WRITE));
	assert_non_null(note(KERNEL_HALF, 0, ARENA, VM_WRITE));
}

static void ring3(void **s)
{
	(void)s;
	assert_null(note(ARENA, ARENA, ARENA_BYTES, VM_USER | VM_WRITE));
	assert_null(note(0x400000, PROGRAM, 0x1000, VM_USER)); /* its constants */
	assert_non_null(note(0x400000, CODE, 0x1000, VM_USER));
	assert_non_null(note(0x400000, CONSTANTS, 0x1000, VM_USER));
	assert_non_null(note(0x400000, PROGRAM_END, 0x1000, VM_USER));
	assert_non_null(note(KERNEL_HALF, ARENA, 0x1000, VM_USER));
	assert_non_null(note(1ull << 47, ARENA, 0x1000, VM_USER));
	assert_non_null(note(ARENA, DATA, 0x1000, VM_USER));
	assert_non_null(note(ARENA, END - 1, 0x1000, VM_USER | VM_WRITE));
}

static void two_writers(void **s)
{
	unsigned own = VM_USER | VM_WRITE;
	(void)s;
	a.core = 1;
	assert_null(note(ARENA, ARENA, ARENA_BYTES, own));
	assert_null(note(ARENA, 0xf0000000, 0x4000, own | VM_DEVICE));
	assert_null(compare(1, ARENA, ARENA_BYTES, own));
	assert_null(compare(2, ARENA + ARENA_BYTES, 0x1000, own));
	assert_null(compare(0, ARENA, ARENA_BYTES, VM_USER)); /* reads */
	assert_null(compare(0, 0, 4 * ARENA, VM_WRITE));      /* the kernel */
	assert_null(compare(2, 0xf0000000, 0x4000, own | VM_DEVICE));
	assert_non_null(compare(2, ARENA + ARENA_BYTES - 1, 0x1000, own));
	assert_non_null(compare(0, ARENA - 0x1000, 0x1001, own));
}

/* Core 1 has lent the second half of its arena to core 2, and to core 3 of that the last page. */
static void lent(void **s)
{
	static struct lent to[4];
	const uint64_t half = ARENA_BYTES / 2, end = ARENA + ARENA_BYTES;
	unsigned own = VM_USER | VM_WRITE;
	(void)s;
	to[2] = (struct lent){ARENA + half, half, 1};
	to[3] = (struct lent){end - PAGE_BYTES, PAGE_BYTES, 1};
	a.lent = to;
	a.core = 1;
	assert_null(note(ARENA, ARENA, ARENA_BYTES, own));
	assert_null(compare(2, ARENA + half, half, own));
	assert_null(compare(2, ARENA + half, half + HUGE_BYTES, own)); /* with its own behind */
	assert_non_null(compare(2, ARENA + half - PAGE_BYTES, half, own));
	assert_null(compare(3, end - PAGE_BYTES, PAGE_BYTES, own));
	assert_non_null(compare(3, ARENA + half, half, own));
	assert_non_null(compare(0, ARENA + half, half, own));
	a.core = 2;
	assert_null(note(ARENA + half, ARENA + half, half, own));
	assert_null(compare(3, end - PAGE_BYTES, PAGE_BYTES, own)); /* both borrow it */
	assert_null(compare(1, ARENA, ARENA_BYTES, own));
	assert_non_null(compare(0, end - PAGE_BYTES, PAGE_BYTES, own));
}

static void tables(void **s)
{
	(void)s;
	a.core = 1;
	assert_null(note(0, ARENA + ARENA_BYTES, PAGE_BYTES, VM_TABLE));
	assert_null(note(ARENA, ARENA, ARENA_BYTES, VM_USER | VM_WRITE));
	assert_null(compare(1, ARENA + ARENA_BYTES, PAGE_BYTES, VM_TABLE));
	assert_non_null(compare(1, ARENA, PAGE_BYTES, VM_TABLE));
	assert_non_null(compare(2, ARENA + ARENA_BYTES - PAGE_BYTES, PAGE_BYTES, VM_TABLE));
}

/* --- regions: tables of the control core, and in them code in two pieces, and maps of each kind --- */

#define TABLES ARENA
#define PART(n) (TABLES + (n) * HUGE_BYTES)
#define OWN (VM_USER | VM_WRITE)

static const struct region some[] = {
	{MEMORY_WINDOW + PART(8), HUGE_BYTES, REGION_CODE, 0},
	{MEMORY_WINDOW + PART(6), 2 * HUGE_BYTES, REGION_CODE, HUGE_BYTES},
	{MEMORY_WINDOW + PART(2), HUGE_BYTES, REGION_SHARED, 0},
	{MEMORY_WINDOW + PART(3), HUGE_BYTES, REGION_OWN, 0}, /* of core 1, and of core 2 behind it */
	{MEMORY_WINDOW + PART(10), HUGE_BYTES, REGION_CONTROL, 0},
	{MEMORY_WINDOW + PART(12), HUGE_BYTES, REGION_CONTENT, 0},
};

static int with_regions(void **s)
{
	setup(s);
	a.region = some;
	a.regions = ARRAY_LEN(some);
	a.first_data_core = 1;
	a.data_cores = 2;
	return 0;
}

static const char *of(unsigned core, unsigned first, unsigned n, unsigned flags)
{
	a.core = core;
	return note(MEMORY_WINDOW + PART(first), PART(first), n * HUGE_BYTES, flags);
}

static void code_of_programs(void **s)
{
	const unsigned exec = VM_USER | VM_EXEC;
	(void)s;
	a.core = 1;
	assert_null(note(CODE_WINDOW, PART(8), HUGE_BYTES, exec));
	assert_null(note(CODE_WINDOW + HUGE_BYTES, PART(6), 2 * HUGE_BYTES, exec));
	assert_null(note(CODE_WINDOW, PART(8), HUGE_BYTES, VM_USER)); /* the control core's */
	assert_null(note(KERNEL_HALF, PART(6), 3 * HUGE_BYTES, 0));   /* the kernel's */
	/* at another address, of another region, beyond it, writable, at ring 0 */
	assert_non_null(note(CODE_WINDOW + PAGE_BYTES, PART(8), PAGE_BYTES, exec));
	assert_non_null(note(CODE_WINDOW, PART(6), HUGE_BYTES, exec));
	assert_non_null(note(CODE_WINDOW, PART(2), HUGE_BYTES, exec));
	assert_non_null(note(CODE_WINDOW, PART(8), 2 * HUGE_BYTES, exec));
	assert_non_null(note(CODE_WINDOW, PART(8), HUGE_BYTES, exec | VM_WRITE));
	assert_non_null(note(CODE_WINDOW, PART(8), HUGE_BYTES, VM_EXEC));
	assert_non_null(note(KERNEL_HALF, PART(8), PAGE_BYTES, VM_WRITE));
	assert_non_null(note(KERNEL_HALF, 0, 4 * ARENA, VM_WRITE));
	assert_non_null(of(0, 8, 1, VM_USER));
	assert_non_null(of(0, 0, 16, OWN)); /* all tables, as if none had been given away */
	assert_non_null(note(0, PART(7), PAGE_BYTES, VM_TABLE));
}

static void maps(void **s)
{
	(void)s;
	assert_null(of(0, 0, 6, OWN)); /* the control core writes all maps, */
	assert_null(of(0, 9, 7, OWN));
	for (unsigned core = 1; core <= 2; core++) {
		assert_null(of(core, 2, 1, OWN)); /* data cores the shared one, */
		assert_null(of(core, 2 + core, 1, OWN)); /* their own, */
		assert_null(of(core, 10, 1, VM_USER)); /* and read the control core's */
		assert_non_null(of(core, 10, 1, OWN));
		assert_null(of(core, 12, 1, VM_USER)); /* and its content */
		assert_non_null(of(core, 12, 1, OWN));
		assert_non_null(of(core, 5 - core, 1, OWN)); /* the other's own */
		assert_non_null(of(core, 5 - core, 1, VM_USER));
	}
	assert_null(of(1, 2, 2, OWN)); /* two regions side by side are one piece of the map */
	assert_non_null(of(1, 2, 3, OWN));
	assert_non_null(of(1, 2, 1, OWN | VM_EXEC));
	for (unsigned i = 2; i <= 4; i++)
		assert_non_null(note(0, PART(i), PAGE_BYTES, VM_TABLE));
}

/* What only the control core writes is compared as before; of regions nothing is. */
static void beside_regions(void **s)
{
	(void)s;
	assert_null(of(0, 0, 6, OWN));
	assert_null(of(0, 9, 7, OWN));
	const unsigned whole[][2] = {{0, 2}, {5, 1}, {9, 1}, {11, 1}, {13, 3}};
	assert_int_equal(a.owned_count, ARRAY_LEN(whole));
	for (unsigned i = 0; i < ARRAY_LEN(whole); i++) {
		assert_int_equal(a.owned[i].phys, PART(whole[i][0]));
		assert_int_equal(a.owned[i].bytes, whole[i][1] * HUGE_BYTES);
	}
	assert_null(compare(1, PART(2), 2 * HUGE_BYTES, OWN));
	assert_non_null(compare(1, PART(2) - 1, HUGE_BYTES, OWN));
	assert_non_null(compare(2, PART(4), HUGE_BYTES + 1, OWN));
	assert_non_null(compare(2, PART(9), PAGE_BYTES, OWN));
}

/* More pieces than can be recorded are reported. */
static void too_many(void **s)
{
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(a.owned); i++)
		assert_null(note(ARENA, ARENA + 2 * i * PAGE_BYTES, PAGE_BYTES, VM_USER | VM_WRITE));
	assert_non_null(note(ARENA, 2 * ARENA, PAGE_BYTES, VM_USER | VM_WRITE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(executable, setup),  cmocka_unit_test_setup(alias_of_code, setup),
		cmocka_unit_test_setup(ring3, setup),       cmocka_unit_test_setup(two_writers, setup),
		cmocka_unit_test_setup(lent, setup),
		cmocka_unit_test_setup(tables, setup),      cmocka_unit_test_setup(too_many, setup),
		cmocka_unit_test_setup(code_of_programs, with_regions),
		cmocka_unit_test_setup(maps, with_regions),
		cmocka_unit_test_setup(beside_regions, with_regions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
