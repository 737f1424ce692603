/* kernel/mce: a bank's status in words, and which banks are read, with a simulated CPU. */
#include "tests/unit/rig/host.h"

#include "kernel/cpu.h"

static uint64_t msrs[0x480], cr4;
static uint32_t cpu_features = 1u << 7 | 1u << 14; /* CPUID 1, EDX: MCE, MCA */

static uint64_t host_msr_read(uint32_t number)
{
	assert_true(number < ARRAY_LEN(msrs));
	return msrs[number];
}

static void host_msr_write(uint32_t number, uint64_t v)
{
	assert_true(number < ARRAY_LEN(msrs));
	msrs[number] = v;
}

static struct cpuid host_cpu_id(uint32_t leaf, uint32_t subleaf)
{
	(void)leaf, (void)subleaf;
	return (struct cpuid){.d = cpu_features};
}

static uint64_t host_cr4_read(void) { return cr4; }
static void host_cr4_write(uint64_t v) { cr4 = v; }
#define msr_read host_msr_read
#define msr_write host_msr_write
#define cpu_id host_cpu_id
#define cr4_read host_cr4_read
#define cr4_write host_cr4_write
#include "kernel/mce.c"

struct core cores[CORES_MAX];
struct core *core_self(void) { return cores; }
void tsc_wait_us(uint64_t us) { (void)us; }

#define VALID (1ull << 63)
#define UC (1ull << 61)
#define PCC (1ull << 57)
#define OVER (1ull << 62)

/* 15.9.1 and 15.9.2: each form of code, and values between them. */
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
		{VALID | 0xffff0000, "corrected: no error"}, /* model-specific bits */
	};
	char text[MCE_TEXT_MAX];
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		mce_describe(text, row[i].status);
		assert_string_equal(text, row[i].text);
	}
}

static char said[16384];

void console_print(const char *format, ...)
{
	size_t at = strlen(said);
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(said + at, sizeof said - at, format, args);
	__builtin_va_end(args);
}

/* Every code has words, and they fit. */
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
	mce_say(console_print);
	assert_string_equal(said, "  no bank has an error\n");
	said[0] = 0;
	notes[0] = (struct note){2, 4, 5, VALID | UC | STATUS_ADDRV | 0x90, 0x1234, 0, true};
	notes[1] = (struct note){.core = 3}; /* that core was stopped while writing */
	noted = 2;
	mce_say(console_print);
	assert_string_equal(said, "  core 2 bank 4: status a400000000000090, uncorrected: memory "
	                          "controller: read, channel 0\n"
	                          "    address 0000000000001234, misc 0000000000000000 (not valid), "
	                          "global status 5\n");
	said[0] = 0;
	noted = NOTES_MAX + 3;
	mce_say(console_print);
	assert_non_null(strstr(said, "  and 3 more\n"));
}

static unsigned lines_with(const char *word)
{
	unsigned n = 0;
	for (const char *at = said; (at = strstr(at, word)) != NULL; at++)
		n++;
	return n;
}

/* 15.3.2.2: a bank without valid status holds nothing; one with valid status holds what it
 * flags. */
static void banks_that_hold_something(void **s)
{
	(void)s;
	memset(msrs, 0, sizeof msrs);
	memset(notes, 0, sizeof notes);
	noted = 0;
	said[0] = 0;
	msrs[MSR_MCG_CAP] = 3 | MCG_CAP_CTL;
	for (unsigned bank = 0; bank < 4; bank++) /* one more than exist */
		msrs[MSR_MC0_CTL + 4 * bank + 2] = msrs[MSR_MC0_CTL + 4 * bank + 3] = 0xbad;
	msrs[MSR_MC0_CTL + 1] = 0x90;
	msrs[MSR_MC0_CTL + 5] = VALID | 0x90;
	msrs[MSR_MC0_CTL + 9] = VALID | UC | STATUS_ADDRV | STATUS_MISCV | 0x90;
	msrs[MSR_MC0_CTL + 13] = VALID | 0x90;
	mce_note();
	mce_say(console_print);
	assert_int_equal(lines_with(" bank "), 2);
	assert_int_equal(lines_with("0000000000000bad"), 2);
	assert_int_equal(lines_with("bank 0") + lines_with("bank 3"), 0);
	for (unsigned i = 0; i < NOTES_MAX; i++) /* the last of them do not fit */
		mce_note();
	assert_int_equal(noted, NOTES_MAX + NOTES_MAX / 2 + 1); /* two each time, then one */
	/* The next start reports and clears them. */
	said[0] = 0;
	cr4 = 0;
	mce_init();
	assert_int_equal(lines_with("from before this boot"), 2);
	assert_true(cr4 & CR4_MCE && msrs[MSR_MCG_CTL] == UINT64_MAX);
	for (unsigned bank = 0; bank < 3; bank++)
		assert_true(msrs[MSR_MC0_CTL + 4 * bank] == UINT64_MAX && msrs[MSR_MC0_CTL + 4 * bank + 1] == 0);
	assert_true(msrs[MSR_MC0_CTL + 12] == 0 && msrs[MSR_MC0_CTL + 13] != 0);
	/* CPUs without the architecture are left alone. */
	for (unsigned missing = 7; missing <= 14; missing += 7) {
		cpu_features = (1u << 7 | 1u << 14) & ~(1u << missing);
		cr4 = 0;
		mce_init();
		assert_int_equal(cr4, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(every_code),
		cmocka_unit_test(notes_of_several_cores),
		cmocka_unit_test(banks_that_hold_something),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
