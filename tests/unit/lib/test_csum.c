/* lib/csum against the definition, byte by byte. */
#include "tests/unit/rig/host.h"

#include "lib/csum.h"

/* RFC 1071 1.: the one's complement sum of big-endian 16-bit words, odd byte padded with zero. */
static uint16_t slow_csum(const uint8_t *p, size_t n)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < n; i += 2) {
		sum += (uint32_t)p[i] << 8 | (i + 1 < n ? p[i + 1] : 0);
		if (sum > 0xffff)
			sum -= 0xffff;
	}
	return (uint16_t)~sum;
}

static uint16_t fast_csum(const uint8_t *p, size_t n)
{
	return be16_get((be16_t){csum_fold(csum_partial(p, n, 0))});
}

static void rfc1071_example(void **s)
{
	(void)s;
	const uint8_t data[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
	assert_int_equal(fast_csum(data, sizeof data), (uint16_t)~0xddf2);
}

static void every_length_and_alignment(void **s)
{
	(void)s;
	uint8_t data[300];
	seed_random("every_length_and_alignment");
	random_fill(data, sizeof data);
	for (size_t at = 0; at < 9; at++)
		for (size_t n = 0; n < 280; n++)
			assert_int_equal(fast_csum(data + at, n), slow_csum(data + at, n));
}

static void all_ones_carry(void **s)
{
	(void)s;
	static uint8_t data[65536];
	memset(data, 0xff, sizeof data);
	for (size_t n = 65500; n <= 65536; n++)
		assert_int_equal(fast_csum(data, n), slow_csum(data, n));
	assert_int_equal(csum_fold(csum_partial(data, 65536, UINT32_MAX)), 0);
}

static void pieces_chain(void **s)
{
	(void)s;
	uint8_t data[999];
	seed_random("pieces_chain");
	for (int round = 0; round < 2000; round++) {
		random_fill(data, 64);
		size_t n = 1 + random_below(sizeof data), cut = random_below((uint32_t)n) & ~1u;
		uint32_t sum = csum_partial(data + cut, n - cut, csum_partial(data, cut, 0));
		assert_int_equal(csum_fold(sum), csum_fold(csum_partial(data, n, 0)));
		sum = csum_add(csum_partial(data, cut, 0), csum_partial(data + cut, n - cut, 0));
		assert_int_equal(csum_fold(sum), csum_fold(csum_partial(data, n, 0)));
	}
}

/* Against the pseudo header of RFC 8200 8.1 in memory; bytes of all ones carry most. */
static void pseudo_header_of_ip6(void **s)
{
	(void)s;
	seed_random("pseudo_header_of_ip6");
	for (int round = 0; round < 2000; round++) {
		uint8_t all[41], *src = all + 1;
		uint32_t len = (uint32_t)random64();
		uint8_t proto = (uint8_t)random64();
		random_fill(all, sizeof all);
		if (round % 4 == 0)
			memset(all, 0xff, sizeof all);
		be32_store(src + 32, len);
		be32_store(src + 36, proto);
		uint32_t sum = csum_pseudo6(src, src + 16, proto, len);
		assert_int_equal(be16_get((be16_t){csum_fold(sum)}), slow_csum(src, 40));
	}
}

static void update16_every_pair_of_corners(void **s)
{
	(void)s;
	const uint16_t value[] = {0, 1, 0xff, 0x100, 0x7fff, 0x8000, 0xfeff, 0xfffe, 0xffff, 0x1234};
	for (unsigned a = 0; a < ARRAY_LEN(value); a++)
		for (unsigned b = 0; b < ARRAY_LEN(value); b++)
			for (unsigned rest = 1; rest < 65536; rest += 7) {
				uint16_t m[2] = {value[a], (uint16_t)rest};
				uint16_t was = csum_fold(csum_partial(m, 4, 0));
				m[0] = value[b];
				uint16_t is = csum_update16(was, value[a], value[b]);
				assert_int_equal(is, csum_fold(csum_partial(m, 4, 0)));
			}
}

static void pseudo_header(void **s)
{
	(void)s;
	seed_random("pseudo_header");
	for (int round = 0; round < 1000; round++) {
		uint8_t h[12];
		random_fill(h, sizeof h);
		h[8] = 0;
		uint32_t sum = csum_pseudo4(be32_load(h), be32_load(h + 4), h[9], be16_load(h + 10));
		assert_int_equal(csum_fold(sum), csum_fold(csum_partial(h, 12, 0)));
	}
}

/* Words at the extremes, and the last one chosen so that the sum is right, or off by a little. */
static void right_in_64_bits(void **s)
{
	(void)s;
	seed_random("right_in_64_bits");
	for (int round = 0; round < 200000; round++) {
		static const uint64_t corners[] = {0, 1, 0xffff, UINT32_MAX, 1ull << 32, UINT64_MAX};
		uint64_t words[3];
		random_fill(words, sizeof words);
		for (unsigned i = 0; i < 2; i++)
			if (random_below(2))
				words[i] = corners[random_below(ARRAY_LEN(corners))];
		raw16_store(words + 2, 0);
		uint16_t right = csum_fold(csum_partial(words, sizeof words, 0));
		raw16_store(words + 2, (uint16_t)(right + random_below(3) - 1));
		bool is = csum_fold(csum_partial(words, sizeof words, 0)) == 0;
		assert_int_equal(csum_is_right64(csum_add64(csum_add64(words[0], words[1]), words[2])),
		                 is);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rfc1071_example),
		cmocka_unit_test(every_length_and_alignment),
		cmocka_unit_test(all_ones_carry),
		cmocka_unit_test(pieces_chain),
		cmocka_unit_test(pseudo_header_of_ip6),
		cmocka_unit_test(update16_every_pair_of_corners),
		cmocka_unit_test(pseudo_header),
		cmocka_unit_test(right_in_64_bits),
	};
	return cmocka_run_group_tests_name("csum", tests, NULL, NULL);
}
