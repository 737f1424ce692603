/* core/random: with a good generator, a dead one, and one that always returns the same. */
#include "tests/unit/rig/host.h"

#include "runtime/runtime.h"
#include "hal/random.h"

struct core_self self;
static bool works;
static uint64_t word, tsc;

bool random_word(const struct random_cpu *cpu, uint64_t *out)
{
	assert_true(cpu->rdrand && cpu->rdseed);
	*out = word;
	return works;
}

uint64_t host_clock_tsc(void)
{
	return tsc += 1 + tsc % 3;
}

#define DRAWS 2000

/* No two values of many are equal, and about half of the bits are set. */
static void look_random(unsigned first)
{
	static uint64_t seen[2 * DRAWS];
	uint64_t ones = 0;
	for (unsigned i = 0; i < DRAWS; i++) {
		core_random(&seen[first + i], sizeof seen[0]);
		ones += (unsigned)__builtin_popcountll(seen[first + i]);
		for (unsigned k = 0; k < first + i; k++)
			assert_true(seen[k] != seen[first + i]);
	}
	assert_in_range(ones, 31 * DRAWS, 33 * DRAWS);
}

static void without_generator(void **s)
{
	(void)s;
	works = false;
	look_random(0);
}

static void generator_that_repeats(void **s)
{
	(void)s;
	works = true;
	word = UINT64_MAX;
	look_random(DRAWS);
}

/* All bytes are written, none beyond; time and core make a difference. */
static void any_length(void **s)
{
	uint8_t a[64], b[64];
	(void)s;
	for (unsigned n = 0; n < 40; n++) {
		unsigned same = 0, tries = 0;
		memset(a, 0xa5, sizeof a);
		do {
			core_random(a, n);
			memcpy(b, a, sizeof b);
			self.id++;
			core_random(b, n);
			for (unsigned i = 0; i < n; i++)
				same += a[i] == b[i];
			tries++;
		} while (tries < 4);
		assert_in_range(same, 0, n / 2 + 2);
		for (unsigned i = n; i < sizeof a; i++)
			assert_int_equal(a[i], 0xa5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_generator),
		cmocka_unit_test(generator_that_repeats),
		cmocka_unit_test(any_length),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
