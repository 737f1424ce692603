/* control/text/module.h: a text alone, with files, and with what looks like a file and is not. */
#include "tests/unit/rig/host.h"

#include "control/text/module.h"

static struct module m;
static struct text_error error;

static int open_text(const char *text, size_t len)
{
	memset(&error, 0, sizeof error);
	return module_open(&m, (struct text){text, len}, &error);
}

static void expect_text(const char *text)
{
	assert_int_equal(m.text.len, strlen(text));
	assert_memory_equal(m.text.at, text, m.text.len);
}

static void expect_file(const char *name, const char *data, size_t len)
{
	struct text found;
	assert_true(module_file(&m, text_of(name), &found));
	assert_int_equal(found.len, len);
	assert_memory_equal(found.at, data, len);
}

static void text_alone(void **s)
{
	(void)s;
	static const char *const text[] = {"", "\n", "hostname a\nfilet\nfile\n file a 1\n", "no end"};
	for (unsigned i = 0; i < ARRAY_LEN(text); i++) {
		struct text none;
		assert_int_equal(open_text(text[i], strlen(text[i])), E_OK);
		expect_text(text[i]);
		assert_false(module_file(&m, text_of("a"), &none));
	}
}

static void files(void **s)
{
	(void)s;
	static const char text[] = "run\nfile a.pcap 9\n\0file b 1file empty 0\nfile b.pcap 3\nxyz";
	struct text none;
	assert_int_equal(open_text(text, sizeof text - 1), E_OK);
	expect_text("run\n");
	expect_file("a.pcap", "\0file b 1", 9);
	expect_file("empty", "", 0);
	expect_file("b.pcap", "xyz", 3);
	assert_false(module_file(&m, text_of("b"), &none));
	assert_false(module_file(&m, text_of("A.pcap"), &none));
}

static void expect_bad(const char *text, uint32_t line, const char *word, const char *reason)
{
	struct text none;
	assert_int_equal(open_text(text, strlen(text)), E_INVAL);
	assert_int_equal(error.line, line);
	assert_string_equal(error.word, word);
	assert_string_equal(error.reason, reason);
	assert_int_equal(m.files.len, 0);
	assert_false(module_file(&m, text_of("a"), &none));
	expect_text("run\n");
}

static void bad_files(void **s)
{
	(void)s;
	static const char form[] = "expected \"file NAME BYTES\", NAME of up to 63 characters";
	expect_bad("run\nfile a 4\nxyz", 2, "a", "the file has 4 bytes by this line; 3 follow");
	expect_bad("run\nfile a", 2, "file a", form);
	expect_bad("run\nfile a 4294967296\n", 2, "file a 4294967296", form);
	expect_bad("run\nfile a 1 2\nxx", 2, "file a 1 2", form);
	expect_bad("run\nfile a 1\nx\nfile b 1\ny", 2, "", form);
	expect_bad("run\nfile 0123456789012345678901234567890123456789012345678901234567890123 0\n", 2,
	           "file 01234567890123456789012345678901234", form);
}

/* A truncated module: its text is the whole text or its beginning, and a file is whole or
 * absent. */
static void cut_anywhere(void **s)
{
	(void)s;
	static const char text[] = "run\nfile a 3\nxyzfile b 1\n\xff";
	for (size_t len = 0; len < sizeof text; len++) {
		struct text a = {NULL, 0}, b = {NULL, 0};
		char *copy = malloc(len ? len : 1); /* ASan detects reads beyond */
		assert_non_null(copy);
		memcpy(copy, text, len);
		const int e = open_text(copy, len);
		assert_true(e == E_OK || (error.line >= 1 && strlen(error.reason) > 10));
		/* Until the word "file" has its blank the second line is text. */
		assert_int_equal(m.text.len, len < 9 ? len : 4);
		const bool whole[] = {module_file(&m, text_of("a"), &a), module_file(&m, text_of("b"), &b)};
		assert_true(!whole[0] || a.len == 3);
		assert_true(whole[1] == (len == sizeof text - 1) && (!whole[1] || b.len == 1));
		free(copy);
	}
}

/* A module of one single byte, with any value. */
static void one_byte_only(void **s)
{
	(void)s;
	static char text[65536];
	for (unsigned byte = 0; byte < 256; byte++) {
		struct text none;
		memset(text, (int)byte, sizeof text);
		assert_int_equal(open_text(text, sizeof text), E_OK);
		assert_int_equal(m.text.len, sizeof text);
		assert_false(module_file(&m, text_of("a"), &none));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_alone), cmocka_unit_test(files), cmocka_unit_test(bad_files),
		cmocka_unit_test(cut_anywhere), cmocka_unit_test(one_byte_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
