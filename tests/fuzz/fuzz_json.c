/*
 * JSON of a PUT (control/text/json.h), the input as the content: the reader stays within it, comes to an end, and
 * finds the same objects a second time from a copied position. As statements (control/text/json_statements.h): the
 * text is no longer than the input, and lines of printable characters.
 */
#include "tests/fuzz/input.h"

#include "control/text/json.h"
#include "control/text/json_statements.h"

#define FIELDS 3

static void within(const uint8_t *data, size_t size, const struct json_field *f)
{
	const uint8_t *at = (const uint8_t *)f->value.at;
	if (!f->there)
		assert(f->value.len == 0);
	else
		assert(at >= data && f->value.len <= size && at + f->value.len <= data + size);
}

static void statements(const uint8_t *data, size_t size)
{
	uint8_t *input = exactly(data, size);
	const char *why;
	size_t where;
	const int64_t n = json_statements((char *)input, size, &why, &where);
	assert(n <= (int64_t)size && where <= size && (n >= 0) == (why == NULL));
	for (int64_t i = 0; i < n; i++)
		assert(input[i] == '\n' || text_is_printable((char)input[i]));
	assert(n <= 0 || input[n - 1] == '\n');
	free(input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_field fields[FIELDS] = {{.name = "key"}, {.name = "value"}, {.name = "k"}};
	struct json_field again[FIELDS] = {{.name = "key"}, {.name = "value"}, {.name = "k"}};
	struct json_objects o, copy;
	size_t objects = 0;
	uint8_t *input = exactly(data, size);
	if (json_begin(&o, (struct text){(const char *)input, size})) {
		enum json_step step = JSON_OBJECT;
		while (step == JSON_OBJECT) {
			copy = o;
			step = json_next(&o, fields, FIELDS);
			assert(json_next(&copy, again, FIELDS) == step);
			for (unsigned i = 0; step == JSON_OBJECT && i < FIELDS; i++) {
				within(input, size, &fields[i]);
				assert(fields[i].value.at == again[i].value.at || !fields[i].there);
			}
			assert(++objects <= size + 1);
		}
	}
	free(input);
	statements(data, size);
	return 0;
}
