/* kernel/keep: what was written is reported once, by the next boot; incomplete records are
 * ignored. */
#include "tests/unit/rig/host.h"

#define cpu_flush(at, bytes) ((void)(at), (void)(bytes))
#define KERNEL_CPU_H
#include "kernel/keep.c"

struct keep kernel_keep;
static char said[2 * KEEP_BYTES];
static size_t said_bytes;

void console_write(const char *text, size_t bytes)
{
	assert_true(said_bytes + bytes <= sizeof said);
	memcpy(said + said_bytes, text, bytes);
	said_bytes += bytes;
}

void console_print(const char *format, ...) { (void)format; }

static int setup(void **s)
{
	(void)s;
	memset(&kernel_keep, 0, sizeof kernel_keep);
	begun = false;
	told = said_bytes = 0;
	return 0;
}

static void end_by(const char *text)
{
	keep_begin();
	keep_add(text, strlen(text));
	keep_end();
}

static size_t boot(void)
{
	static struct boot_before before;
	memset(&before, 0, sizeof before);
	begun = false;
	told = said_bytes = 0;
	keep_tell();
	keep_take(&before); /* programs get the same */
	assert_int_equal(before.bytes, said_bytes);
	assert_memory_equal(before.text, said, said_bytes);
	return said_bytes;
}

static void told_once(void **s)
{
	(void)s;
	assert_int_equal(boot(), 0);
	end_by("page fault\n");
	assert_int_equal(boot(), 11);
	assert_memory_equal(said, "page fault\n", 11);
	assert_int_equal(boot(), 0);
}

/* A machine that is switched off normally leaves nothing, nor does one that dies while it
 * writes. */
static void not_ended(void **s)
{
	(void)s;
	keep_begin();
	keep_end();
	assert_int_equal(boot(), 0);
	keep_begin();
	keep_add("half", 4);
	assert_int_equal(boot(), 0);
	keep_add("not begun", 9);
	assert_int_equal(boot(), 0);
	end_by("old\n");
	keep_begin(); /* called again to end the machine after a failure of the report: it continues */
	keep_add("new\n", 4);
	keep_end();
	assert_int_equal(boot(), 8);
	assert_memory_equal(said, "old\nnew\n", 8);
}

static void too_long(void **s)
{
	char line[100];
	(void)s;
	memset(line, 'x', sizeof line);
	keep_begin();
	for (unsigned i = 0; i < KEEP_BYTES / 50; i++)
		keep_add(line, sizeof line);
	keep_end();
	assert_int_equal(boot(), sizeof kernel_keep.text);
	assert_memory_equal(said + said_bytes - strlen(REPORT_CUT), REPORT_CUT, strlen(REPORT_CUT));
	assert_int_equal(said[said_bytes - strlen(REPORT_CUT) - 1], 'x');
}

/* A text that fits exactly is not truncated. */
static void just_fits(void **s)
{
	static char text[sizeof kernel_keep.text];
	(void)s;
	memset(text, 'y', sizeof text);
	keep_begin();
	keep_add(text, sizeof text);
	keep_add(text, 0);
	keep_end();
	assert_int_equal(boot(), sizeof text);
	assert_memory_equal(said, text, sizeof text);
}

/* A failure of this boot, before programs were told of the last one: its report has replaced
 * that. */
static void begun_anew(void **s)
{
	struct boot_before before = {0};
	(void)s;
	end_by("old\n");
	begun = false;
	keep_tell();
	keep_begin();
	keep_add("new\n", 4);
	keep_take(&before);
	assert_int_equal(before.bytes, 0);
}

/* Any changed byte makes the record invalid. */
static void damaged(void **s)
{
	struct keep good;
	(void)s;
	end_by("double fault on core 0 in the kernel\n");
	good = kernel_keep;
	for (size_t i = 0; i < offsetof(struct keep, text) + good.bytes; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			kernel_keep = good;
			((uint8_t *)&kernel_keep)[i] ^= (uint8_t)(1u << bit);
			assert_int_equal(boot(), 0);
		}
	memset(&kernel_keep, 0xff, sizeof kernel_keep);
	assert_int_equal(boot(), 0);
	kernel_keep = good;
	assert_int_equal(boot(), good.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(told_once, setup),
		cmocka_unit_test_setup(not_ended, setup),
		cmocka_unit_test_setup(too_long, setup),
		cmocka_unit_test_setup(just_fits, setup),
		cmocka_unit_test_setup(begun_anew, setup),
		cmocka_unit_test_setup(damaged, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
