/* kernel/mce: a bank's status in words. */
#include "tests/unit/host.h"

#include "kernel/mce.c"

struct core cores[CORES_MAX];
struct core *core_self(void) { return cores; }
void tsc_wait_us(uint64_t us) { (void)us; }
void console_print(const char *format, ...) { (void)format; }

#define VALID (1ull << 63)
#define UC (1ull << 61)
#define PCC (1ull << 57)
#define OVER (1ull << 62)

/* 15.9.1 and 15.9.2: each form of code, and what lies between them. */
static void words(void **s)
{
	(void)s;
	static const struct {
		uint64_t status;
		const char *text;
	} row[] = {
		{VALID, "corrected: no error"},
		{VALID | UC | 1, "uncorrected: unclassified"},
		{VALID | UC | PCC | 5, "uncorrected, the CPU's state is lost: internal parity"},
		{VALID | 6, "corrected: code of the SMM handler"},
		{VALID | 7, "corrected: unknown"},
		{VALID | 0x400, "corrected: internal timer"},
		{VALID | 0x401, "corrected: internal, unclassified"},
		{VALID | 0x7ff, "corrected: internal, unclassified"},
		{VALID | 0x000d, "corrected: cache, level 1"},
		{VALID | 0x0016, "corrected: TLB: data, level 2"},
		{VALID | OVER | UC | 0x0151,
		 "uncorrected, more were overwritten: cache: instruction fetch, instruction, level 1"},
		{VALID | 0x0179, "corrected: cache: eviction, generic, level 1"},
		{VALID | 0x01f0, "corrected: cache: access, instruction, level 0"},
		{VALID | UC | 0x0090, "uncorrected: memory controller: read, channel 0"},
		{VALID | 0x00cf, "corrected: memory controller: scrubbing, channel 15 (unknown)"},
		{VALID | 0x02a3, "corrected: memory controller: write, channel 3"},
		{VALID | 0x1090, "corrected: memory controller: read, channel 0"}, /* filtered */
		{VALID | UC | 0x0e0b, "uncorrected: bus or interconnect: error, level 3"},
		{VALID | 0x0200, "corrected: unknown"},
		{VALID | 0xffff0000, "corrected: no error"}, /* the model's own bits */
	};
	char text[MCE_TEXT_MAX];
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		mce_describe(text, row[i].status);
		assert_string_equal(text, row[i].text);
	}
}

static char said[4096];

static void hear(const char *format, ...)
{
	size_t at = strlen(said);
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(said + at, sizeof said - at, format, args);
	__builtin_va_end(args);
}

/* Any code has words, and they fit. */
static void every_code(void **s)
{
	(void)s;
	for (unsigned code = 0; code < 0x10000; code++) {
		char text[MCE_TEXT_MAX];
		memset(text, 'x', sizeof text);
		mce_describe(text, VALID | OVER | UC | PCC | code);
		assert_in_range(strnlen(text, sizeof text), 20, sizeof text - 2);
	}
}

static void notes_of_several_cores(void **s)
{
	(void)s;
	mce_say(hear);
	assert_string_equal(said, "  no bank has an error\n");
	said[0] = 0;
	notes[0] = (struct note){2, 4, 5, VALID | UC | STATUS_ADDRV | 0x90, 0x1234, 0, true};
	notes[1] = (struct note){.core = 3}; /* that core was stopped while it wrote */
	noted = 2;
	mce_say(hear);
	assert_string_equal(said, "  core 2 bank 4: status a400000000000090, uncorrected: memory "
	                          "controller: read, channel 0\n"
	                          "    address 0000000000001234, misc 0000000000000000 (not valid), "
	                          "global status 5\n");
	said[0] = 0;
	noted = NOTES_MAX + 3;
	mce_say(hear);
	assert_non_null(strstr(said, "  and 3 more\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(every_code),
		cmocka_unit_test(notes_of_several_cores),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
