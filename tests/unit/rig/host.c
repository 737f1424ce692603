#include "tests/unit/rig/host.h"

#include <time.h>

#include "lib/assert.h"

_Noreturn void assert_fail(const char *expr, const char *file, unsigned line)
{
	fprintf(stderr, "%s:%u: assertion failed: %s\n", file, line, expr);
	abort();
}

static uint64_t state;

void seed_random(const char *test)
{
	const char *given = getenv("SEED");
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	state = given ? strtoull(given, NULL, 0) : (uint64_t)t.tv_sec * 1000000007u ^ (uint64_t)t.tv_nsec;
	printf("%s: SEED=%llu\n", test, (unsigned long long)state);
	fflush(stdout);
}

/* splitmix64 (Steele, Lea, Flood 2014) */
uint64_t random64(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

void random_fill(void *p, size_t n)
{
	uint8_t *b = p;
	while (n--)
		*b++ = (uint8_t)random64();
}
