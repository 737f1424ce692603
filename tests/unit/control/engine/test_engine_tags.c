/* control/engine/tags.c against an array, seeded. */
#include "tests/unit/rig/host.h"

#include "control/engine/tags.h"

#define IDS 300u
#define KINDS 4u
#define STEPS 200000u

static struct tags tags;
static const struct siphash_key key = {1, 2};

static enum fpm_protocol protocol_of(unsigned kind) { return kind / 2 ? FPM_BGP : FPM_OSPF; }

static void test_tags(void **state)
{
	(void)state;
	tags_init(&tags, &key);
	assert_int_equal(tags_find(&tags, 1, FPM_BGP, false), TAG_NONE);
	const uint16_t a = tags_take(&tags, 1, FPM_BGP, false);
	assert_int_not_equal(a, TAG_NONE);
	assert_int_equal(tags_take(&tags, 1, FPM_BGP, false), a);
	assert_int_not_equal(tags_take(&tags, 1, FPM_BGP, true), a);
	assert_int_not_equal(tags_take(&tags, 1, FPM_OSPF, false), a);
	tags_forget(&tags, 1, FPM_BGP, false);
	assert_int_equal(tags_find(&tags, 1, FPM_BGP, false), TAG_NONE);
	tags_forget(&tags, 1, FPM_BGP, false);
	/* a forgotten tag is not given again soon, not even after all are forgotten */
	tags_clear(&tags);
	for (uint32_t id = 0; id < 1000; id++)
		assert_int_not_equal(tags_take(&tags, id, FPM_BGP, false), a);
}

static void test_full(void **state)
{
	(void)state;
	tags_init(&tags, &key);
	for (uint32_t id = 0; id < TAGS_MAX; id++)
		assert_int_not_equal(tags_take(&tags, id, FPM_BGP, false), TAG_NONE);
	assert_int_equal(tags_take(&tags, TAGS_MAX, FPM_BGP, false), TAG_NONE);
	assert_int_not_equal(tags_take(&tags, 7, FPM_BGP, false), TAG_NONE);
	tags_forget(&tags, 9, FPM_BGP, false);
	assert_int_not_equal(tags_take(&tags, TAGS_MAX, FPM_BGP, false), TAG_NONE);
}

static void test_oracle(void **state)
{
	static uint16_t want[IDS][KINDS];
	static bool used[65536];
	uint32_t seed = 12345;
	(void)state;
	tags_init(&tags, &key);
	for (unsigned n = 0; n < STEPS; n++) {
		seed = seed * 1664525 + 1013904223;
		const uint32_t id = (seed >> 8) % IDS;
		const unsigned kind = seed >> 30;
		uint16_t *w = &want[id][kind];
		if (seed >> 7 & 1) {
			const uint16_t tag = tags_take(&tags, id, protocol_of(kind), kind & 1);
			assert_int_not_equal(tag, TAG_NONE);
			assert_true(*w ? *w == tag : !used[tag]);
			*w = tag;
			used[tag] = true;
		} else {
			tags_forget(&tags, id, protocol_of(kind), kind & 1);
			used[*w] = false;
			*w = TAG_NONE;
		}
		const uint32_t other = seed % IDS;
		assert_int_equal(tags_find(&tags, other, protocol_of(kind), kind & 1), want[other][kind]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tags), cmocka_unit_test(test_full), cmocka_unit_test(test_oracle),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
