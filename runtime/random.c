/*
 * Random bytes for keys (sequence numbers, cookies, hash tables): SipHash in counter mode. Its key is
 * derived from
 *
 *     the CPU's random generator, if it has one (hal/random.h);
 *     the duration by the TSC of JITTER_ROUNDS short pieces of work, which depends on caches, other
 *     hardware threads, a host, and the times at which devices write;
 *     this core's number and the time since boot.
 *
 * Every part is absorbed; none replaces another. Without a generator in the CPU only the jitter is
 * secret. This protects against an attacker on the network, not against one that shares the host's CPU.
 *
 * Invariant: no two cores have the same key (the core's number is absorbed), and no two calls on a core
 * give the same output (the counter).
 */
#include "runtime/shared.h"
#include "hal/random.h"
#include "lib/mem.h"
#include "lib/siphash.h"

#define JITTER_ROUNDS 256
#define JITTER_STRIDE 67 /* lines of `scratch` between rounds; too irregular for a prefetcher */
#define HARDWARE_WORDS 8

/* Mixes v into both halves of *k, which lose no secrecy by this. */
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

void random_share(void)
{
	uint64_t *key = published_header()->secret;
	if (!key[0] && !key[1])
		core_random(key, sizeof published_header()->secret);
}

void core_secret(uint64_t key[2])
{
	memcpy(key, published_header()->secret, sizeof published_header()->secret);
}
