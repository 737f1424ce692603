/* Host twin of hal/random.h, found first by -Itests/host: a generator that gives 1, 2, 3 ...: what
 * a test sees does not change from run to run. */
#ifndef TESTS_HOST_RANDOM_H
#define TESTS_HOST_RANDOM_H

#include "lib/types.h"

struct random_cpu {
	bool rdrand, rdseed;
};

static inline struct random_cpu random_cpu(void)
{
	return (struct random_cpu){true, true};
}

static inline bool random_word(const struct random_cpu *cpu, uint64_t *out)
{
	static uint64_t word;
	(void)cpu;
	*out = ++word;
	return true;
}

#endif
