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

void console_print(const char *format, ...) { (void)format; }
_Noreturn void panic(const char *format, ...) { (void)format; abort(); }
void vm_visit(vm_space_t space, void (*piece)(void *, const struct vm_piece *), void *arg)
{
	(void)space, (void)piece, (void)arg;
}

static struct audit a;

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
		cmocka_unit_test_setup(tables, setup),      cmocka_unit_test_setup(too_many, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
