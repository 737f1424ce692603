/* net/counters: every row has the name of its enum and a text, and names are unique. */
#include "tests/unit/rig/host.h"

#include "net/counters.h"

static void table_is_whole(void **s)
{
	(void)s;
	for (unsigned i = 0; i < CNT_MAX; i++) {
		assert_non_null(counter_desc[i].name);
		assert_true(strlen(counter_desc[i].help) > 0);
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(counter_desc[i].name, counter_desc[k].name);
		bool drop = strncmp(counter_desc[i].name, "drop_", 5) == 0;
		assert_int_equal(drop, counter_desc[i].kind == COUNTER_DROP);
		assert_int_equal(drop, i >= CNT_DROP_FIRST && i < CNT_FATES); /* they are contiguous */
	}
	assert_string_equal(counter_desc[CNT_drop_ip4_ttl].name, "drop_ip4_ttl");
	assert_int_equal(counter_desc[CNT_forwarded].kind, COUNTER_FATE);
	assert_int_equal(counter_desc[CNT_arp_conflict].kind, COUNTER_INFO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(table_is_whole)};
	return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
