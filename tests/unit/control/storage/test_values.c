/*
 * control/storage/values.c: an archive of named values against a plain list, and archives that are damaged. tests/fuzz/fuzz_store.c
 * has any bytes.
 */
#include "control/storage/values.h"
#include "tests/unit/rig/host.h"

#define ROOM (64u << 10)
#define NAMES 12
#define VALUE_MAX 3000

static uint8_t room[ROOM];
static struct values v;

static struct {
	bool there;
	size_t n;
	uint8_t data[VALUE_MAX];
	uint64_t time_s;
} model[NAMES];

static const char *name_of(unsigned i)
{
	static char name[32];
	snprintf(name, sizeof name, i % 2 ? "folder/value-%u" : "value_%u.x", i);
	return name;
}

static void empty(void)
{
	v = (struct values){.at = room, .room = sizeof room};
	memset(room, 0xa5, sizeof room);
	memset(model, 0, sizeof model);
	values_clear(&v);
}

static void compare(void)
{
	struct values_entry e;
	unsigned count = 0, there = 0;
	assert_true(v.bytes % 512 == 0 && v.bytes <= v.room && values_are_whole(&v));
	for (size_t at = 0; values_next(&v, &at, &e); count++)
		assert_true(e.data >= v.at && e.data + e.bytes <= v.at + v.bytes);
	for (unsigned i = 0; i < NAMES; i++) {
		const uint8_t *data;
		size_t n;
		assert_int_equal(values_get(&v, name_of(i), &data, &n), model[i].there ? E_OK : E_NOENT);
		there += model[i].there;
		if (!model[i].there)
			continue;
		assert_int_equal(n, model[i].n);
		assert_memory_equal(data, model[i].data, n);
	}
	assert_int_equal(count, there);
}

static void against_a_list(void **s)
{
	(void)s;
	seed_random("against_a_list");
	empty();
	for (unsigned round = 0; round < 4000; round++) {
		const unsigned i = random_below(NAMES);
		uint8_t data[VALUE_MAX];
		if (random_below(4) == 0) {
			assert_int_equal(values_remove(&v, name_of(i)), model[i].there ? E_OK : E_NOENT);
			model[i].there = false;
		} else {
			const size_t n = random_below(VALUE_MAX + 1);
			random_fill(data, n);
			const uint8_t *from = data;
			size_t behind;
			uint8_t *at = values_behind(&v, &behind);
			assert_int_equal(behind, v.room - v.bytes);
			if (random_below(2) && behind >= n) { /* built behind the archive */
				memcpy(at, data, n);
				from = at;
			}
			assert_int_equal(values_put(&v, name_of(i), from, n, round), E_OK);
			model[i].there = true;
			model[i].n = n;
			memcpy(model[i].data, data, n);
		}
		compare();
	}
}

/* A value that does not fit changes nothing; one that fits exactly is taken. */
static void room_of_any_size(void **s)
{
	(void)s;
	static uint8_t data[ROOM];
	for (size_t n = 0; n < 4000; n += 37) {
		empty();
		assert_int_equal(values_put(&v, "a", "first", 5, 0), E_OK);
		const size_t need = v.bytes + 512 + (n + 511) / 512 * 512;
		v.room = need + 512; /* it reserves up to a block more than it needs */
		assert_int_equal(values_put(&v, "b", data, n, 0), E_OK);
		assert_true(v.bytes <= v.room);
		empty();
		assert_int_equal(values_put(&v, "a", "first", 5, 0), E_OK);
		v.room = need - 1;
		assert_int_equal(values_put(&v, "b", data, n, 0), E_NOMEM);
		assert_true(values_are_whole(&v) && v.bytes == 2048);
	}
}

static void names(void **s)
{
	static const char *const good[] = {"a", "startup-config", "history/12", "a.b/c_d", "..a", "a.."};
	static const char *const bad[] = {"", "/", "a/", "/a", "a//b", "a b", "a\n", "..", "a/..", "../a", "a/../b", "\xc3\xa9"};
	char longest[VALUES_NAME_MAX + 2];
	(void)s;
	empty();
	for (unsigned i = 0; i < ARRAY_LEN(good); i++)
		assert_int_equal(values_put(&v, good[i], "x", 1, 0), E_OK);
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(values_put(&v, bad[i], "x", 1, 0), E_INVAL);
	memset(longest, 'n', sizeof longest);
	longest[VALUES_NAME_MAX + 1] = 0;
	assert_int_equal(values_put(&v, longest, "x", 1, 0), E_INVAL);
	longest[VALUES_NAME_MAX] = 0;
	assert_int_equal(values_put(&v, longest, "x", 1, 0), E_OK);
	assert_true(values_are_whole(&v));
}

/* Cut anywhere, or with a byte changed anywhere in a header, it is not whole, or says the same names. */
static void damaged(void **s)
{
	(void)s;
	empty();
	assert_int_equal(values_put(&v, "one", "1", 1, 5), E_OK);
	assert_int_equal(values_put(&v, "two", "22", 2, 5), E_OK);
	const size_t whole = v.bytes;
	for (size_t n = 0; n < whole - 512; n++) {
		v.bytes = n;
		assert_false(values_are_whole(&v));
	}
	v.bytes = whole;
	for (size_t at = 0; at < 512; at++) {
		if (at >= 148 && at < 156)
			continue; /* of its own field the end may be written in several ways */
		room[at] ^= 1;
		assert_false(values_are_whole(&v)); /* the checksum covers the header */
		room[at] ^= 1;
	}
	memcpy(room + 1024, room, 1024); /* one name twice */
	assert_false(values_are_whole(&v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_a_list), cmocka_unit_test(room_of_any_size), cmocka_unit_test(names), cmocka_unit_test(damaged),
	};
	return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
