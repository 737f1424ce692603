/*
 * Tristate numbers against brute force: all tnums of some bits, all numbers in them. The result of each
 * operation contains all concrete results.
 */
#include "tests/unit/rig/host.h"

#include "bpf/verifier/tnum.h"

#define BITS 5u
#define ALL (1u << BITS)

static bool in(struct tnum t, uint64_t x)
{
	return (x & ~t.mask) == t.value;
}

static bool next(struct tnum *t)
{
	do {
		if (++t->value == ALL) {
			t->value = 0;
			if (++t->mask == ALL)
				return false;
		}
	} while (t->value & t->mask);
	return true;
}

typedef struct tnum (*tnum_op)(struct tnum, struct tnum);

static uint64_t concrete(unsigned op, uint64_t x, uint64_t y)
{
	switch (op) {
	case 0: return x + y;
	case 1: return x - y;
	case 2: return x * y;
	case 3: return x & y;
	case 4: return x | y;
	default: return x ^ y;
	}
}

static void contains_all(unsigned op, struct tnum a, struct tnum b, struct tnum r)
{
	assert_int_equal(r.value & r.mask, 0);
	for (uint64_t x = 0; x < ALL; x++)
		for (uint64_t y = 0; y < ALL && in(a, x); y++)
			if (in(b, y) && !in(r, concrete(op, x, y)))
				fail_msg("op %u of %#lx and %#lx is not in %#lx/%#lx", op, x, y, r.value, r.mask);
}

static void operations(void **s)
{
	(void)s;
	const tnum_op ops[] = {tnum_add, tnum_sub, tnum_mul, tnum_and, tnum_or, tnum_xor};
	struct tnum a = {0, 0};
	do {
		struct tnum b = {0, 0};
		do {
			for (unsigned op = 0; op < ARRAY_LEN(ops); op++)
				contains_all(op, a, b, ops[op](a, b));
		} while (next(&b));
	} while (next(&a));
}

/* Bitwise operations lose nothing: each number in the result is one of some x and y. */
static void bitwise_operations_are_exact(void **s)
{
	(void)s;
	const tnum_op ops[] = {tnum_and, tnum_or, tnum_xor};
	struct tnum a = {0, 0};
	do {
		struct tnum b = {0, 0};
		do {
			for (unsigned op = 0; op < ARRAY_LEN(ops); op++) {
				uint64_t made = 0; /* bit n: n is a result */
				for (uint64_t x = 0; x < ALL; x++)
					for (uint64_t y = 0; y < ALL && in(a, x); y++)
						if (in(b, y))
							made |= 1ull << concrete(op + 3, x, y);
				const struct tnum r = ops[op](a, b);
				for (uint64_t x = 0; x < ALL; x++)
					assert_int_equal(in(r, x), made >> x & 1);
			}
		} while (next(&b));
	} while (next(&a));
}

/* The same patterns at the top of a 32-bit and a 64-bit number, so that the sign is unknown, too. */
static void shifts(void **s)
{
	(void)s;
	struct tnum a = {0, 0};
	do {
		for (unsigned width = 32; width <= 64; width += 32) {
			const uint64_t cut = UINT64_MAX >> (64 - width);
			const struct tnum top = tnum_lsh(a, width - BITS);
			for (unsigned k = 0; k < width; k++)
				for (uint64_t x = 0; x < ALL; x++) {
					const uint64_t big = x << (width - BITS);
					if (!in(a, x))
						continue;
					assert_true(in(tnum_lsh(a, k), x << k));
					assert_true(in(tnum_rsh(top, k), big >> k));
					const int64_t wide = (int64_t)(big << (64 - width)) >> (64 - width);
					assert_true(in(tnum_arsh(top, k, width), (uint64_t)(wide >> k) & cut));
				}
		}
	} while (next(&a));
}

static void extensions(void **s)
{
	(void)s;
	struct tnum a = {0, 0};
	do {
		for (unsigned bits = 1; bits <= 64; bits++)
			for (uint64_t x = 0; x < ALL; x++)
				if (in(a, x)) {
					const unsigned up = 64 - bits;
					assert_true(in(tnum_zero_extend(a, bits), x << up >> up));
					assert_true(in(tnum_sign_extend(a, bits), (uint64_t)((int64_t)(x << up) >> up)));
				}
	} while (next(&a));
}

static void ranges(void **s)
{
	(void)s;
	for (uint64_t min = 0; min < 64; min++)
		for (uint64_t max = min; max < 64; max++)
			for (uint64_t x = min; x <= max; x++)
				assert_true(in(tnum_range(min, max), x));
	assert_true(tnum_range(0, UINT64_MAX).mask == UINT64_MAX);
	assert_true(tnum_range(5, 5).mask == 0);
}

static void intersection_and_inclusion(void **s)
{
	(void)s;
	struct tnum a = {0, 0};
	do {
		struct tnum b = {0, 0};
		do {
			struct tnum both;
			const bool some = tnum_intersect(a, b, &both);
			bool inside = true;
			for (uint64_t x = 0; x < ALL; x++) {
				if (in(a, x) && in(b, x))
					assert_true(some && in(both, x));
				else if (some)
					assert_false(in(both, x));
				inside = inside && (!in(b, x) || in(a, x));
			}
			assert_int_equal(tnum_contains(a, b), inside);
		} while (next(&b));
	} while (next(&a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations), cmocka_unit_test(bitwise_operations_are_exact),
		cmocka_unit_test(shifts), cmocka_unit_test(extensions), cmocka_unit_test(ranges),
		cmocka_unit_test(intersection_and_inclusion),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
