/* Host twin of hal/random.h, found first by -Itests/unit/twin_random: the test provides the values
 * of the CPU's generator. */
#ifndef TESTS_UNIT_TWIN_RANDOM_H
#define TESTS_UNIT_TWIN_RANDOM_H

#include "lib/types.h"

struct random_cpu {
	bool rdrand, rdseed;
};

static inline struct random_cpu random_cpu(void)
{
	return (struct random_cpu){true, true};
}

bool random_word(const struct random_cpu *cpu, uint64_t *out);

#endif
