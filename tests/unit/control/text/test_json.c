/* control/text/json.h: the three shapes, and texts that are none of them. */
#include "tests/unit/rig/host.h"

#include "control/text/json.h"

#define OBJECTS 4

static struct json_objects o;
static struct json_field fields[] = {{.name = "key"}, {.name = "value"}};

static void expect(const char *key, const char *value)
{
	assert_int_equal(json_next(&o, fields, ARRAY_LEN(fields)), JSON_OBJECT);
	assert_true(text_equal(fields[0].value, text_of(key)));
	assert_true(text_equal(fields[1].value, text_of(value)));
}

static void expect_end(void)
{
	assert_int_equal(json_next(&o, fields, ARRAY_LEN(fields)), JSON_END);
	assert_int_equal(json_next(&o, fields, ARRAY_LEN(fields)), JSON_END);
}

static void begin(const char *text, bool list)
{
	assert_true(json_begin(&o, text_of(text)));
	assert_int_equal(json_is_list(&o), list);
}

static void one_object(void **s)
{
	(void)s;
	begin("{\"key\":\"0a00\",\"value\":17}", false);
	expect("0a00", "17");
	expect_end();
	begin(" \r\n{ \"value\" : true\t, \"other\" : \"x \\\" } y\" ,\"key\":null } \n", false);
	expect("null", "true");
	expect_end();
	begin("{}", false);
	expect("", "");
	expect_end();
	begin("{\"key\":\"\"}", false);
	expect("", "");
	expect_end();
}

static void lists(void **s)
{
	(void)s;
	begin("[]", true);
	expect_end();
	begin("[{\"key\":\"01\",\"value\":\"02\"},\n {\"value\":\"04\",\"key\":\"03\"}]\n", true);
	expect("01", "02");
	expect("03", "04");
	expect_end();
	/* what GET answers */
	begin("{\"name\":\"m\",\"kept\":false,\"entries\":[\n{\"entry\":0,\"key\":\"01\",\"value\":\"02\"}]}\n", true);
	expect("01", "02");
	expect_end();
	begin("{\"entries\":[{\"key\":\"01\"}],\"more\":1}", true);
	expect("01", "");
	expect_end();
	begin("{\"entries\":[],\"entries\":1}", true);
	expect_end();
}

/* Other names may have any value: what GET answers of a map whose types are known. */
static void nested(void **s)
{
	(void)s;
	begin("[{\"key\":\"01\",\"formatted\":{\"key\":{\"value\":[1,\"]}\"],\"z\":[]}},\"value\":\"02\"}]", true);
	expect("01", "02");
	expect_end();
	begin("{\"x\":[],\"entries\":[{\"key\":\"01\"}],\"y\":{ \"entries\" : [ {} ] }}", true);
	expect("01", "");
	expect_end();
	for (unsigned depth = 1; depth <= JSON_DEPTH + 1; depth++) {
		char text[2 * JSON_DEPTH + 40] = "{\"x\":";
		memset(text + strlen(text), '[', depth);
		memset(text + strlen(text), ']', depth);
		strcat(text, "}");
		assert_int_equal(json_begin(&o, text_of(text)), depth <= JSON_DEPTH);
	}
}

/* Each is refused at once, or when its end is read. */
static void damaged(void **s)
{
	(void)s;
	static const char *const text[] = {
		"", " ", "1", "\"key\"", "key=1", "{", "{\"key\"}", "{\"key\":}", "{\"key\":1", "{\"key\":1,}", "{,}",
		"{\"key\":1 \"value\":2}", "{\"key\":\"1}", "{\"key\":\"1\n\"}", "{\"key\":{}}", "{\"key\":[]}", "{\"key\":1}{",
		"{\"key\":1} x", "{\"key\":1,\"key\":1}", "{\"key\":\"\\u0031\"}", "{\"k\\u0065y\":1}", "{\"key\":1,\"x\":\"\\",
		"[", "[{\"key\":1}", "[{\"key\":1},]", "[,{\"key\":1}]", "[{\"key\":1}{\"key\":1}]", "[1]", "[{\"key\":1}]]",
		"[{\"key\":1}],", "{\"entries\":[{\"key\":1}]", "{\"entries\":[{\"key\":1}],}", "{\"entries\":[{\"key\":1}]]",
		"[[{\"key\":1}]]", "{key:1}", "{\"x\":{", "{\"x\":[}", "{\"x\":{]}", "{\"x\":[{}}", "{\"x\":[\"]}",
		"{\"x\":{}", "{\"key\":{\"key\":1}}",
	};
	for (unsigned i = 0; i < ARRAY_LEN(text); i++) {
		const size_t n = strlen(text[i]);
		char *copy = malloc(n + 1); /* without a NUL: a byte too far is seen */
		memcpy(copy, text[i], n);
		copy = realloc(copy, n ? n : 1);
		enum json_step step = JSON_BAD;
		unsigned objects = 0;
		if (json_begin(&o, (struct text){copy, n}))
			while ((step = json_next(&o, fields, ARRAY_LEN(fields))) == JSON_OBJECT)
				assert_true(++objects < OBJECTS);
		if (step != JSON_BAD)
			fail_msg("%s is accepted", text[i]);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_object),
		cmocka_unit_test(lists),
		cmocka_unit_test(nested),
		cmocka_unit_test(damaged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
