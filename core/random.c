/*
 * Random bytes for keys (sequence numbers, cookies, hash tables): SipHash in counter mode, its key
 * made from
 *
 *     what the CPU's own generator gives, where there is one (hal/random.h);
 *     how long JITTER_ROUNDS short pieces of work take by the TSC: caches, other hardware threads,
 *     a host below us, and the moments at which devices write;
 *     this core's number and the time since boot.
 *
 * Each part is absorbed, none replaces another. Without a generator of the CPU the jitter is all
 * that is secret: good against who sends packets, not against who shares the host's CPU.
 *
 * Invariant: no two cores have a key in common (the core's number is absorbed), nor one core two
 * calls (the counter).
 */
#include "core/core.h"
#include "hal/random.h"
#include "lib/mem.h"
#include "lib/siphash.h"

#define JITTER_ROUNDS 256
#define JITTER_STRIDE 67 /* lines of `scratch` from round to round: no prefetcher follows */
#define HARDWARE_WORDS 8

/* Mixes v into both halves of *k; what was secret there stays so. */
static void absorb(struct siphash_key *k, uint64_t v)
{
	k->k0 ^= siphash24(k, &v, sizeof v);
	k->k1 ^= siphash24(k, &v, sizeof v);
}

static void absorb_jitter(struct siphash_key *k)
{
	static uint8_t scratch[64 * 64]; /* a page of cache lines */
	for (unsigned i = 0; i < JITTER_ROUNDS; i++) {
		uint64_t before = clock_tsc();
		scratch[i * JITTER_STRIDE % 64 * 64]++;
		absorb(k, clock_tsc() - before);
		absorb(k, before);
	}
}

static void absorb_hardware(struct siphash_key *k)
{
	const struct random_cpu cpu = random_cpu();
	uint64_t v;
	for (unsigned i = 0; i < HARDWARE_WORDS && random_word(&cpu, &v); i++)
		absorb(k, v);
}

void core_random(void *out, size_t bytes)
{
	static struct siphash_key key;
	static uint64_t counter;
	uint8_t *to = out;
	absorb(&key, self.id);
	absorb_jitter(&key);
	absorb_hardware(&key);
	while (bytes > 0) {
		uint64_t v = ++counter;
		size_t n = bytes < sizeof v ? bytes : sizeof v;
		v = siphash24(&key, &v, sizeof v);
		memcpy(to, &v, n);
		to += n;
		bytes -= n;
	}
}
