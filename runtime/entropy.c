/* See entropy.h. Section numbers are those of NIST SP 800-90B (January 2018). */
#include "runtime/entropy.h"

#include "hal/clock.h"
#include "hal/random.h"
#include "lib/mem.h"
#include "lib/sha256.h"

/*
 * Cutoffs for a false positive rate of 2^-30 (recommended: 2^-20 to 2^-40) and the assessed entropy H of a sample:
 * C = 1 + ceil(30 / H) (4.4.1), C = 1 + critbinom(512, 2^-H, 1 - 2^-30) (4.4.2).
 *
 * CPU: a sample is a byte; Intel and AMD state full entropy for RDSEED, of which half is assumed: H = 4.
 * Jitter: a sample is a duration; H = 1/4 is tested, half of it is counted on.
 */
#define CPU_REPEATS 9
#define CPU_PROPORTION 71
#define JITTER_REPEATS 121
#define JITTER_PROPORTION 477
#define WINDOW 512   /* 4.4.2: samples that are not binary */
#define START_UP 1024 /* 4.3 */

/* For 32 bytes of output: 512 bits of assessed entropy by one source alone. */
#define CPU_WORDS 16
#define JITTER_SAMPLES 64 /* beside the CPU's generator */
#define JITTER_ALONE 4096

struct health {
	uint64_t last, first; /* sample: the one before; the one that began the window */
	unsigned run;         /* samples in a row like `last` */
	unsigned seen, equal; /* samples of the window; of them, those like `first` */
	unsigned repeats, proportion; /* the cutoffs */
};

static struct entropy_state states[ENTROPY_SOURCES] = {{.name = "CPU"}, {.name = "jitter"}};
static struct health healths[ENTROPY_SOURCES] = {{.repeats = CPU_REPEATS, .proportion = CPU_PROPORTION},
                                                 {.repeats = JITTER_REPEATS, .proportion = JITTER_PROPORTION}};

static bool fail(enum entropy_source source, const char *why)
{
	if (!states[source].failure)
		states[source].failure = why;
	return false;
}

/* Both tests, for one sample. */
static bool test(enum entropy_source source, uint64_t sample)
{
	struct health *h = &healths[source];
	states[source].samples++;
	h->run = h->run && sample == h->last ? h->run + 1 : 1;
	h->last = sample;
	if (h->run >= h->repeats)
		return fail(source, "repetition count test");
	if (h->seen == 0) {
		h->first = sample;
		h->equal = 0;
	}
	h->equal += sample == h->first;
	h->seen = (h->seen + 1) % WINDOW;
	if (h->equal >= h->proportion)
		return fail(source, "adaptive proportion test");
	return true;
}

/* A word of the CPU's generator, tested, into *h. */
static bool add_word(struct sha256 *h)
{
	const struct random_cpu cpu = random_cpu();
	uint64_t word;
	if (!cpu.rdseed && !cpu.rdrand)
		return fail(ENTROPY_CPU, "this CPU has no generator");
	if (!random_word(&cpu, &word))
		return fail(ENTROPY_CPU, "the generator gives no numbers");
	for (unsigned i = 0; i < sizeof word; i++)
		if (!test(ENTROPY_CPU, (uint8_t)(word >> 8 * i)))
			return false;
	sha256_add(h, &word, sizeof word);
	return true;
}

/* A duration, tested, into *h. What is measured is the addition of the one before, a SHA-256 block. */
static bool add_jitter(struct sha256 *h)
{
	static uint8_t scratch[64 * 64]; /* a page of cache lines */
	static uint64_t record[SHA256_BLOCK / sizeof(uint64_t)];
	const uint64_t before = clock_tsc();
	sha256_add(h, record, sizeof record);
	scratch[h->state.h[0] % sizeof scratch]++;
	record[0] = clock_tsc() - before;
	record[1] = before;
	return test(ENTROPY_JITTER, record[0]);
}

static bool add(enum entropy_source source, struct sha256 *h)
{
	return source == ENTROPY_CPU ? add_word(h) : add_jitter(h);
}

/* Adds so many of a source, which passes its start-up tests first. False: it is out of use. */
static bool add_many(enum entropy_source source, struct sha256 *h, unsigned n)
{
	struct entropy_state *s = &states[source];
	while (!s->failure && s->samples < START_UP)
		add(source, h);
	for (unsigned i = 0; !s->failure && i < n; i++)
		add(source, h);
	return !s->failure;
}

bool entropy_get(void *out, size_t bytes)
{
	static uint64_t number; /* no two outputs are equal, not even by the same samples */
	uint8_t *to = out, digest[SHA256_BYTES];
	for (size_t done = 0; done < bytes; done += sizeof digest) {
		struct sha256 h;
		sha256_init(&h);
		number++;
		sha256_add(&h, &number, sizeof number);
		const bool cpu = add_many(ENTROPY_CPU, &h, CPU_WORDS);
		const bool jitter = add_many(ENTROPY_JITTER, &h, cpu ? JITTER_SAMPLES : JITTER_ALONE);
		if (!cpu && !jitter) {
			memset(out, 0, bytes);
			return false;
		}
		sha256_end(&h, digest);
		memcpy(to + done, digest, bytes - done < sizeof digest ? bytes - done : sizeof digest);
	}
	return true;
}

const struct entropy_state *entropy_state(enum entropy_source source)
{
	return &states[source];
}
