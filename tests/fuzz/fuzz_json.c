/*
 * JSON of a PUT (control/text/json.h), the input as the content: the reader stays within it, comes to an end, and
 * finds the same objects a second time from a copied position.
 */
#include "tests/fuzz/input.h"

#include "control/text/json.h"

#define FIELDS 3

static void within(const uint8_t *data, size_t size, const struct json_field *f)
{
	const uint8_t *at = (const uint8_t *)f->value.at;
	if (!f->there)
		assert(f->value.len == 0);
	else
		assert(at >= data && f->value.len <= size && at + f->value.len <= data + size);
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
	return 0;
}
