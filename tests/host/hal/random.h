/* Host twin of hal/random.h, found first by -Itests/host: a generator that returns the numbers of
 * SplitMix64, so that every run of a test sees the same, and the tests of runtime/entropy.c pass. */
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
	uint64_t v = word += 0x9e3779b97f4a7c15;
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9;
	v = (v ^ v >> 27) * 0x94d049bb133111eb;
	*out = v ^ v >> 31;
	return true;
}

#endif
