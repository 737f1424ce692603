/* control/text/json_statements.c: statements as JSON to text, in place; what is refused, and where. */
#include "tests/unit/rig/host.h"

#include "control/text/json_statements.h"

static char *copy;
static const char *why;
static size_t where;

/* Converts a copy of exactly these bytes, so that ASan detects a step beyond them. */
static int64_t convert(const char *json, size_t n)
{
	free(copy);
	copy = malloc(n + !n);
	memcpy(copy, json, n);
	return json_statements(copy, n, &why, &where);
}

static void becomes(const char *json, const char *text)
{
	const int64_t n = convert(json, strlen(json));
	if (n < 0)
		fail_msg("%s: %s at %zu", json, why, where);
	assert_int_equal(n, strlen(text));
	assert_memory_equal(copy, text, (size_t)n);
	/* however it is cut off, it is an error, except behind its end */
	size_t end = strlen(json);
	while (json[end - 1] == ' ' || json[end - 1] == '\n')
		end--;
	for (size_t i = 0; i < end; i++)
		assert_int_equal(convert(json, i), -1);
}

static void refused(const char *json, const char *reason, size_t at)
{
	if (convert(json, strlen(json)) >= 0)
		fail_msg("accepted: %s", json);
	if (strncmp(why, reason, strlen(reason)) != 0 || where != at)
		fail_msg("%s: %s at %zu, expected %s at %zu", json, why, where, reason, at);
}

static void test_text(void **state)
{
	(void)state;
	becomes("[]", "");
	becomes("{\"statements\":[]}", "");
	becomes(" [ \"hostname r1\" , \"mtu 9\" ] \n", "hostname r1\nmtu 9\n");
	becomes("[\"\"]", "\n");
	becomes("[\" a\"]", "a\n");
	becomes("{\"hash\":\"0123\",\"script\":null,\"statements\":[\"a\",{\"block\":\"b\",\"statements\":[\"c\",\"\",\"d\"]},\"e\"]}",
	        "a\nb\n c\n \n d\nexit\ne\n");
	becomes("{\"statements\":[{\"block\":\"b\",\"statements\":[]}],\"script\":\"x\\\"y\\\\\"}", "b\nexit\n");
	becomes("[\"a \\\"b\\\" \\\\ \\/ \\u0041\\u007e\"]", "a \"b\" \\ / A~\n");
}

static void test_refused(void **state)
{
	(void)state;
	refused("", "expected a list of statements", 0);
	refused("hostname r1\n", "expected a list of statements", 0);
	refused("[\"a\" \"b\"]", "expected a comma", 5);
	refused("[\"a\",]", "expected a statement", 5);
	refused("[1]", "expected a statement", 1);
	refused("[[\"a\"]]", "expected a statement", 1);
	refused("[\"a\"] x", "expected the end of the text", 6);
	refused("[\"a\nb\"]", "a statement is one line", 4);
	refused("[\"a\\nb\"]", "a statement is one line", 5);
	refused("[\"\\u00e4\"]", "a statement is one line", 8);
	refused("[\"\\u000a\"]", "a statement is one line", 8);
	refused("[\"\xc3\xa4\"]", "a statement is one line", 3);
	refused("{}", "there are no \"statements\"", 2);
	refused("{\"statement\":[]}", "expected \"statements\", once", 13);
	refused("{\"statements\":\"a\"}", "expected \"statements\", once", 14);
	refused("{\"statements\":[],\"statements\":[]}", "expected \"statements\", once", 30);
	refused("{\"hash\":[],\"statements\":[]}", "expected a string or null", 8);
	refused("{\"a name that is too long\":[]}", "expected a name and a colon", 17);
	refused("[{\"statements\":[],\"block\":\"b\"}]", "expected \"block\"", 15);
	refused("[{\"block\":\"b\"}]", "expected \"statements\", the list", 13);
	refused("[{\"block\":\"b\",\"statements\":[{\"block\":\"c\",\"statements\":[]}]}]", "expected a statement", 28);
	refused("[{\"hidden\":\"x\"}]", "expected \"block\"", 11);
}

/* Random bytes of what JSON consists of: no step beyond them, and the text never overtakes the reader. */
static void test_hostile(void **state)
{
	static const char *const pieces[] = {"[", "]", "{", "}", ",", ":", "\"", "\"block\"", "\"statements\"", "\"a\"", "\\", "\\u0041",
	                                     "x", " ", "\"hash\"", "null", "{\"block\":\"b\",\"statements\":[", "]}"};
	unsigned good = 0;
	(void)state;
	seed_random("test_hostile");
	for (unsigned round = 0; round < 100000; round++) {
		char json[256] = "[";
		for (unsigned i = random_below(12); i; i--)
			strcat(json, pieces[random_below(ARRAY_LEN(pieces))]);
		const int64_t n = convert(json, strlen(json));
		assert_true(n <= (int64_t)strlen(json) && where <= strlen(json) && (n >= 0 || why));
		good += n >= 0;
	}
	assert_true(good > 100);
}

static int tear_down(void **state)
{
	(void)state;
	free(copy);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_hostile),
	};
	return cmocka_run_group_tests_name("json_statements", tests, NULL, tear_down);
}
