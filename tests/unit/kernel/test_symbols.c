/* kernel/symbols: the function that contains an address of a backtrace. */
#include "tests/unit/rig/host.h"

#include "kernel/symbols.c"

/* The kernel's text: two adjacent functions of 16 bytes. */
__asm__(".pushsection .data\n"
        ".balign 16\n"
        ".globl kernel_text, kernel_rodata, kernel_symbols, kernel_symbol_count, kernel_symbol_names\n"
        "kernel_text: .zero 32\n"
        "kernel_rodata: .quad 0\n"
        "kernel_symbols: .quad kernel_text, 0, kernel_text + 16, 6\n"
        "kernel_symbol_count: .quad 2\n"
        "kernel_symbol_names: .asciz \"first\", \"second\"\n"
        ".popsection\n");

#define PROGRAM 0x400000 /* and the program's: one function of 16 bytes */

const char *program_function(uint64_t addr, uint64_t *offset)
{
	*offset = addr - PROGRAM;
	return *offset < 16 ? "only" : NULL;
}

static void is(const char *name, uint64_t distance, uint64_t addr, bool returns)
{
	uint64_t offset = 0;
	const char *found = function_of(addr, returns, &offset);
	if (!name) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found, name);
	assert_int_equal(offset, distance);
}

/* For an instruction's own address. */
static void instructions(void **s)
{
	const uint64_t text = (uint64_t)(uintptr_t)kernel_text;
	(void)s;
	is("first", 0, text, false);
	is("first", 15, text + 15, false);
	is("second", 0, text + 16, false);
	is(NULL, 0, text - 1, false);
	is(NULL, 0, text + 32, false);
	is("only", 0, PROGRAM, false);
	is(NULL, 0, PROGRAM + 16, false);
	is(NULL, 0, 0, false);
}

/* XDP programs' code, from the first byte of its window to the last. */
static void xdp_code(void **s)
{
	(void)s;
	is("xdp code", 0, CODE_WINDOW, false);
	is("xdp code", CODE_WINDOW_BYTES - 1, CODE_WINDOW + CODE_WINDOW_BYTES - 1, false);
	is(NULL, 0, CODE_WINDOW - 1, false);
	is(NULL, 0, CODE_WINDOW + CODE_WINDOW_BYTES, false);
	is("xdp code", CODE_WINDOW_BYTES, CODE_WINDOW + CODE_WINDOW_BYTES, true); /* the call was the last */
	is(NULL, 0, CODE_WINDOW, true);
}

/* A call that does not return may be at the end: its return address still belongs to that
 * function. */
static void return_addresses(void **s)
{
	const uint64_t text = (uint64_t)(uintptr_t)kernel_text;
	(void)s;
	is("first", 5, text + 5, true);
	is("first", 16, text + 16, true);
	is("second", 1, text + 17, true);
	is("second", 16, text + 32, true);
	is(NULL, 0, text, true);
	is("only", 16, PROGRAM + 16, true);
	is(NULL, 0, PROGRAM, true);
	is(NULL, 0, 0, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions),
		cmocka_unit_test(xdp_code),
		cmocka_unit_test(return_addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
