/*
 * Look-up speed of net/fib on this host, per table and kind of traffic. The test machines' clock
 * jumps by up to two: each figure is the best of ROUNDS, with the median beside it.
 * Usage: fib_bench. PREFIXES=file for another table, SEED=n.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "net/fib/fib.h"
#include "tests/unit/host.h"
#include "tests/unit/prefixes.h"

#define VECTOR 256
#define ADDRESSES (1u << 22) /* 16 MiB: streams, does not stay in cache */
#define ADDRESSES6 (1u << 20) /* the same 16 MiB */
#define ROUNDS 15

static uint32_t *dst;
static const uint8_t **dst6;
static uint8_t (*addr6)[16]; /* that dst6[] points to */
static uint32_t sink; /* so that the compiler may not drop a look-up */

static uint64_t ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t tsc(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return ns();
#endif
}

static void *memory(size_t n)
{
	n = (n + 0x1fffff) & ~(size_t)0x1fffff;
	void *p = aligned_alloc(0x200000, n);
	madvise(p, n, MADV_HUGEPAGE);
	memset(p, 0, n);
	return p;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void run_batch(const struct fib *fib, unsigned addresses)
{
	uint32_t nh[VECTOR];
	for (unsigned i = 0; i < ADDRESSES; i += VECTOR) {
		fib4_lookup_batch(fib, dst + i % addresses, nh, VECTOR);
		sink += nh[0];
	}
}

static void run_single(const struct fib *fib, unsigned addresses)
{
	for (unsigned i = 0; i < ADDRESSES; i++)
		sink += fib4_lookup(fib, dst[i % addresses]);
}

static void run_batch6(const struct fib *fib, unsigned addresses)
{
	uint32_t nh[VECTOR];
	for (unsigned i = 0; i < ADDRESSES; i += VECTOR) {
		fib6_lookup_batch(fib, dst6 + i % addresses, nh, VECTOR);
		sink += nh[0];
	}
}

static void measure(const char *what, const struct fib *fib, unsigned addresses,
                    void (*run)(const struct fib *, unsigned))
{
	double cycles[ROUNDS], rate = 0;
	for (int r = 0; r < ROUNDS; r++) {
		uint64_t t0 = ns(), c0 = tsc();
		run(fib, addresses);
		cycles[r] = (double)(tsc() - c0) / ADDRESSES;
		double m = ADDRESSES * 1e3 / (double)(ns() - t0);
		rate = m > rate ? m : rate;
	}
	qsort(cycles, ROUNDS, sizeof *cycles, by_value);
	printf("  %-44s %7.1f M/s  %6.2f TSC cycles (median %.2f)\n", what, rate, cycles[0],
	       cycles[ROUNDS / 2]);
}

static void table(const char *name, const struct prefix *p, unsigned n)
{
	struct fib_writer w;
	size_t shared = fib4_shared_bytes(n), priv = fib4_private_bytes(n, shared);
	void *s = memory(shared), *v = memory(priv);
	if (fib4_init(&w, s, shared, v, priv) != 0)
		exit(1);
	uint64_t t0 = ns();
	for (unsigned i = 0; i < n; i++)
		if (fib4_insert(&w, p[i].addr, p[i].plen, prefix_nh(p[i])) != 0)
			exit(1);
	printf("%s: %u prefixes, %.0f ns each to insert, memory shared %.1f MiB, private %.1f MiB\n",
	       name, fib_count(&w), (double)(ns() - t0) / n, (double)shared / 1048576,
	       (double)priv / 1048576);

	for (unsigned i = 0; i < ADDRESSES; i++)
		dst[i] = p[0].addr | (i & 3);
	measure("one hot route, batch", w.fib, VECTOR, run_batch);
	measure("one hot route, one by one", w.fib, VECTOR, run_single);
	for (unsigned i = 0; i < ADDRESSES; i++) {
		struct prefix q = p[random_below(n)];
		dst[i] = q.addr | (uint32_t)(random64() & (q.plen == 32 ? 0 : ~0u >> q.plen));
	}
	measure("a random prefix each, batch", w.fib, ADDRESSES, run_batch);
	measure("a random prefix each, one by one", w.fib, ADDRESSES, run_single);
	for (unsigned i = 0; i < ADDRESSES; i++)
		dst[i] = (uint32_t)random64();
	measure("random over all addresses, batch", w.fib, ADDRESSES, run_batch);

	t0 = ns();
	for (unsigned i = 0; i < n; i++)
		fib4_remove(&w, p[i].addr, p[i].plen);
	printf("  %.0f ns each to remove\n", (double)(ns() - t0) / n);
	free(s);
	free(v);
}

struct prefix6 {
	uint8_t b[16];
	unsigned plen;
};

/* Number i of n: all /48 side by side, or as providers have them: /32, /48 in these, some /64. */
static struct prefix6 prefix6_make(unsigned i, unsigned n, bool mixed)
{
	static const uint8_t first[] = {0x20, 0x24, 0x26, 0x2a};
	struct prefix6 p = {{0x2a, 0x10, 0, 0, (uint8_t)(i >> 8), (uint8_t)i}, 48};
	if (!mixed)
		return p;
	unsigned provider = random_below(n / 4), kind = random_below(10);
	p = (struct prefix6){{first[provider % 4], (uint8_t)(provider / 4 % 8),
	                      (uint8_t)(provider >> 10), (uint8_t)(provider >> 2)}, 32};
	if (kind >= 3) {
		p.plen = kind < 9 ? 48 : 64;
		p.b[4] = (uint8_t)random_below(4);
		p.b[5] = (uint8_t)random64();
		p.b[7] = kind < 9 ? 0 : (uint8_t)random64();
	}
	return p;
}

/* A random one of the first `from` prefixes for each address. */
static void choose6(const struct prefix6 *p, unsigned from)
{
	for (unsigned i = 0; i < ADDRESSES6; i++) {
		memcpy(addr6[i], p[random_below(from)].b, 8);
		random_fill(addr6[i] + 8, 8);
		dst6[i] = addr6[i];
	}
}

static void table6(const char *name, unsigned n, bool mixed)
{
	struct fib_writer w;
	size_t shared = fib6_shared_bytes(n), priv = fib6_private_bytes(n, shared);
	void *s = memory(shared), *v = memory(priv);
	struct prefix6 *p = calloc(n, sizeof *p);
	if (!p || fib6_init(&w, s, shared, v, priv) != 0)
		exit(1);
	for (unsigned i = 0; i < n; i++) {
		struct net_addr prefix;
		p[i] = prefix6_make(i, n, mixed);
		memcpy(prefix.w, p[i].b, 16);
		if (fib6_insert(&w, &prefix, p[i].plen, 1 + i % 60) != 0)
			exit(1);
	}
	printf("%s: %u prefixes, memory shared %.1f MiB\n", name, fib_count(&w),
	       (double)shared / 1048576);
	choose6(p, n);
	measure("a random prefix each, batch", w.fib, ADDRESSES6, run_batch6);
	choose6(p, n < 2000 ? n : 2000);
	measure("one of the first 2000 each, batch", w.fib, ADDRESSES6, run_batch6);
	free(p);
	free(s);
	free(v);
}

int main(void)
{
	struct prefix *p;
	const struct prefix one16 = {0x0a000000, 16}, one24 = {0xc0000200, 24};
	dst = memory(ADDRESSES * sizeof *dst);
	seed_random("fib_bench");
	table("one /16", &one16, 1);
	table("one /24", &one24, 1);
	unsigned n = prefixes_make(&p, 16384);
	table("16k made up", p, n);
	free(p);
	n = prefixes_load(&p);
	if (n == 0)
		n = prefixes_make(&p, GLOBAL_COUNT);
	table(n == GLOBAL_COUNT ? "global table" : "table", p, n);
	free(p);
	dst6 = memory(ADDRESSES6 * sizeof *dst6);
	addr6 = memory(ADDRESSES6 * sizeof *addr6);
	table6("IPv6, one /48", 1, false);
	table6("IPv6, 16k /48", 16384, false);
	table6("IPv6, 200k made up", 200000, true);
	return sink == 0x12345678;
}
