/* Host twin of hal/random.h, found first by -Itests/host: a generator that returns 1, 2, 3 ..., so
 * that every run of a test sees the same. */
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
