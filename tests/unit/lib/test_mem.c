/* lib/mem.c against the host's functions, which replace it in all other tests. */
#include "tests/unit/rig/host.h"

#define memcpy image_memcpy
#define memmove image_memmove
#define memset image_memset
#define memcmp image_memcmp
#define strlen image_strlen
#define strcmp image_strcmp
#define strncmp image_strncmp
#include "lib/mem.c"
#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef strlen
#undef strcmp
#undef strncmp

#define AREA 128
#define BYTES_MAX 70 /* several words of eight bytes, and every remainder */

static uint8_t ours[AREA], theirs[AREA];

static void same_start(void)
{
	random_fill(ours, AREA);
	memcpy(theirs, ours, AREA);
}

static int sign(int v)
{
	return (v > 0) - (v < 0);
}

static void copy_every_length_and_alignment(void **s)
{
	(void)s;
	uint8_t from[AREA];
	seed_random("copy_every_length_and_alignment");
	random_fill(from, sizeof from);
	for (size_t at = 0; at < 9; at++)
		for (size_t n = 0; n <= BYTES_MAX; n++) {
			same_start();
			assert_ptr_equal(image_memcpy(ours + at, from + 9 - at, n), ours + at);
			memcpy(theirs + at, from + 9 - at, n);
			assert_memory_equal(ours, theirs, AREA);
		}
}

static void move_every_overlap(void **s)
{
	(void)s;
	seed_random("move_every_overlap");
	for (size_t to = 0; to < 40; to++)
		for (size_t n = 0; n <= BYTES_MAX; n++) {
			same_start();
			assert_ptr_equal(image_memmove(ours + to, ours + 20, n), ours + to);
			memmove(theirs + to, theirs + 20, n);
			assert_memory_equal(ours, theirs, AREA);
		}
}

static void set_every_length_and_alignment(void **s)
{
	(void)s;
	seed_random("set_every_length_and_alignment");
	for (size_t at = 0; at < 9; at++)
		for (size_t n = 0; n <= BYTES_MAX; n++) {
			same_start();
			int c = (int)n * 5 - 100; /* only its lower byte counts */
			assert_ptr_equal(image_memset(ours + at, c, n), ours + at);
			memset(theirs + at, c, n);
			assert_memory_equal(ours, theirs, AREA);
		}
}

static void compare(void **s)
{
	static const char *const text[] = {"", "a", "b", "ab", "abc", "abd", "\x80", "a\xff"};
	(void)s;
	for (size_t i = 0; i < ARRAY_LEN(text); i++)
		for (size_t k = 0; k < ARRAY_LEN(text); k++) {
			const char *a = text[i], *b = text[k];
			size_t shorter = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
			assert_int_equal(sign(image_strcmp(a, b)), sign(strcmp(a, b)));
			for (size_t n = 0; n < 5; n++)
				assert_int_equal(sign(image_strncmp(a, b, n)), sign(strncmp(a, b, n)));
			for (size_t n = 0; n <= shorter; n++)
				assert_int_equal(sign(image_memcmp(a, b, n)), sign(memcmp(a, b, n)));
			assert_int_equal(image_strlen(a), strlen(a));
			assert_int_equal(text_is(a, strlen(a), b), i == k);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copy_every_length_and_alignment),
		cmocka_unit_test(move_every_overlap),
		cmocka_unit_test(set_every_length_and_alignment),
		cmocka_unit_test(compare),
	};
	return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
