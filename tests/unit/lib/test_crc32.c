/* CRC-32 (lib/crc32.h): the check value of the polynomial, each bit, and pieces. */
#include "tests/unit/rig/host.h"

#include "lib/crc32.h"

/* By the definition: bit by bit. */
static uint32_t plain(const uint8_t *data, size_t n)
{
	uint32_t crc = ~0u;
	for (size_t i = 0; i < n; i++) {
		crc ^= data[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static void check_value(void **s)
{
	(void)s;
	assert_int_equal(crc32_add(0, "123456789", 9), 0xcbf43926);
	assert_int_equal(crc32_add(0, "", 0), 0);
}

static void any_data(void **s)
{
	(void)s;
	uint8_t data[300];
	seed_random("any_data");
	for (unsigned round = 0; round < 2000; round++) {
		const unsigned n = random_below(sizeof data), cut = n ? random_below(n) : 0;
		random_fill(data, n);
		assert_int_equal(crc32_add(0, data, n), plain(data, n));
		assert_int_equal(crc32_add(crc32_add(0, data, cut), data + cut, n - cut), plain(data, n));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(check_value), cmocka_unit_test(any_data)};
	return cmocka_run_group_tests_name("crc32", tests, NULL, NULL);
}
