/* What every unit test includes first: cmocka and its prerequisites, the host's assert_fail(),
 * seeded random numbers. Set SEED in the environment to repeat a run. */
#ifndef TESTS_UNIT_RIG_HOST_H
#define TESTS_UNIT_RIG_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/types.h"

/* Starts the generator from SEED or the clock and prints the seed under the name of the test. */
void seed_random(const char *test);

uint64_t random64(void);

/* Uniform in 0 .. n - 1. */
static inline uint32_t random_below(uint32_t n)
{
	return (uint32_t)((random64() >> 32) * n >> 32);
}

void random_fill(void *p, size_t n);

/* How many of n rounds of a random test this build runs. The sanitizers of gcc's builds make a round
 * up to four times as long; clang's builds run all rounds without them. */
static inline unsigned random_rounds(unsigned n)
{
#ifdef __SANITIZE_ADDRESS__
	return n / 4;
#else
	return n;
#endif
}

#endif
