/* runtime/entropy: each source good, broken and absent; the cutoffs of both health tests. */
#include "tests/unit/rig/host.h"

#include <sys/wait.h>
#include <unistd.h>

#include "runtime/entropy.h"
#include "hal/random.h"

/* What a source gives; the cutoffs are those of SP 800-90B 4.4 for the assessments in entropy.c. */
enum kind { GOOD, SAME, DEAD, BIASED };
static enum kind cpu_kind, jitter_kind;
static uint64_t seed = 1, tsc, words;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

bool random_word(const struct random_cpu *cpu, uint64_t *out)
{
	(void)cpu;
	words++;
	*out = next();
	if (cpu_kind == SAME)
		*out = 0xaaaaaaaaaaaaaaaa;
	else if (cpu_kind == BIASED) /* every fourth byte is 0x55 */
		*out = (*out & 0xffffff00ffffff00) | 0x0000005500000055;
	return cpu_kind != DEAD;
}

uint64_t host_clock_tsc(void)
{
	const uint64_t r = next() % 64;
	return tsc += jitter_kind == SAME ? 100 : jitter_kind == BIASED ? 100 + (r == 0) : 100 + r % 16;
}

/* The tests run in processes of their own, because a source that has failed stays out of use. */
static void apart(void (*run)(void))
{
	int status;
	const pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		run();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#define CHECK(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			_exit(1); \
		} \
	} while (0)

static bool failed(enum entropy_source source, const char *why)
{
	const char *failure = entropy_state(source)->failure;
	return why ? failure && strcmp(failure, why) == 0 : !failure;
}

/* Both good: no two outputs are equal, all bytes are written, and none beyond. */
static void run_good(void)
{
	uint8_t a[70], b[70];
	cpu_kind = jitter_kind = GOOD;
	for (unsigned n = 1; n < 70; n++) {
		memset(a, 0, sizeof a);
		memset(b, 0, sizeof b);
		CHECK(entropy_get(a, n) && entropy_get(b, n));
		CHECK(n < 8 || memcmp(a, b, n) != 0);
		for (unsigned i = n; i < sizeof a; i++)
			CHECK(a[i] == 0 && b[i] == 0);
	}
	CHECK(failed(ENTROPY_CPU, NULL) && failed(ENTROPY_JITTER, NULL));
	CHECK(entropy_state(ENTROPY_CPU)->samples >= 1024 && entropy_state(ENTROPY_JITTER)->samples >= 1024);
}

/* One source is enough; what it is asked for then is more. */
static void run_no_cpu(void)
{
	uint8_t out[32] = {0};
	cpu_kind = DEAD;
	CHECK(entropy_get(out, sizeof out));
	CHECK(failed(ENTROPY_CPU, "the generator gives no numbers") && failed(ENTROPY_JITTER, NULL));
	CHECK(entropy_state(ENTROPY_JITTER)->samples >= 1024 + 4096);
}

static void run_no_jitter(void)
{
	uint8_t out[32];
	jitter_kind = SAME;
	CHECK(entropy_get(out, sizeof out));
	CHECK(failed(ENTROPY_JITTER, "repetition count test") && failed(ENTROPY_CPU, NULL));
	CHECK(entropy_state(ENTROPY_JITTER)->samples < 200);
}

static void run_biased(void)
{
	uint8_t out[32];
	cpu_kind = jitter_kind = BIASED;
	CHECK(!entropy_get(out, sizeof out));
	CHECK(failed(ENTROPY_CPU, "adaptive proportion test") || failed(ENTROPY_CPU, "repetition count test"));
	CHECK(!failed(ENTROPY_JITTER, NULL));
}

/* Neither: nothing comes out, also later when they seem good again. */
static void run_nothing(void)
{
	uint8_t out[40];
	cpu_kind = jitter_kind = SAME;
	memset(out, 0xa5, sizeof out);
	CHECK(!entropy_get(out, sizeof out));
	for (unsigned i = 0; i < sizeof out; i++)
		CHECK(out[i] == 0);
	cpu_kind = jitter_kind = GOOD;
	const uint64_t before = words;
	CHECK(!entropy_get(out, sizeof out) && words == before);
}

/* A source that fails in the middle of the work, long after its start-up tests. */
static void run_fails_later(void)
{
	uint8_t out[32];
	for (unsigned i = 0; i < 100; i++)
		CHECK(entropy_get(out, sizeof out));
	jitter_kind = SAME;
	for (unsigned i = 0; i < 3; i++)
		CHECK(entropy_get(out, sizeof out));
	CHECK(failed(ENTROPY_JITTER, "repetition count test"));
	cpu_kind = SAME;
	CHECK(!entropy_get(out, sizeof out));
	CHECK(failed(ENTROPY_CPU, "repetition count test"));
}

#define TEST(name) \
	static void name(void **s) \
	{ \
		(void)s; \
		apart(run_##name); \
	}
TEST(good)
TEST(no_cpu)
TEST(no_jitter)
TEST(biased)
TEST(nothing)
TEST(fails_later)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good), cmocka_unit_test(no_cpu), cmocka_unit_test(no_jitter),
		cmocka_unit_test(biased), cmocka_unit_test(nothing), cmocka_unit_test(fails_later),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
