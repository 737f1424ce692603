/*
 * Look-up tables on this host, compared: net/fib as in the image, by each of its methods, and
 * DPDK's. For each size of table: bytes, load time per route, changes a second (a random prefix of
 * the table is removed and added again), and million look-ups a second on one core, in vectors of
 * 256:
 *     random    any address (IPv6: in 2000::/3): most match no route or a short one
 *     inside    an address inside a random prefix of the table
 *     zipf      65,536 of those, number i as often as 1/i
 * In each of ROUNDS rounds every method measures every pattern for some 0.2 ms, of which the first
 * third is not counted; times are CPU time of the thread. The best round and the median are
 * printed: the test machines' clock varies by up to two, and other work evicts tables from the
 * caches.
 *
 * The footprint is the cache lines of the table that DESTINATIONS addresses inside its prefixes touch.
 * That of rte_fib (DIR-24-8, two bytes an entry) follows from the routes: a line of its first table
 * holds 32 neighbouring /24, and a /24 with longer prefixes has 256 entries of its own.
 *
 * Usage: fib_bench [words of table names to measure]. PREFIXES=file, SEED=n.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "net/fib/fib.h"
#include "net/fib/trie.h"
#include "tests/bench/fib/fib_bench.h"
#include "tests/unit/rig/fib_paths.h"
#include "tests/unit/rig/host.h"
#include "tests/unit/rig/prefixes.h"

#define ADDRESSES (1u << 20)
#define HOT 65536u
#define DESTINATIONS (1u << 22)
#define WINDOW (1u << 16)
#define WARM (1u << 15)
#define ROUNDS 60
#define CHANGES 65536u
#define PATTERNS 3
#define TABLES_MOST 4
#define WAYS_MOST (TABLES_MOST * 3)

static const char *const pattern_name[PATTERNS] = {"random", "inside", "zipf"};
static struct bench_addresses pattern[PATTERNS];
static uint32_t sink; /* keeps the compiler from dropping a look-up */

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *memory(size_t n)
{
	n = (n + 0x1fffff) & ~(size_t)0x1fffff;
	void *p = aligned_alloc(0x200000, n);
	if (!p)
		exit(1);
	madvise(p, n, MADV_HUGEPAGE);
	memset(p, 0, n);
	return p;
}

/* --- net/fib as one of the tables --- */

struct ours {
	struct fib_writer w;
	void *shared, *priv;
};

static const char *const our_ways[] = {"scalar", "AVX2", "AVX-512", NULL};

static struct ours *ours_new(size_t shared, size_t priv)
{
	struct ours *o = calloc(1, sizeof *o);
	o->shared = memory(shared);
	o->priv = memory(priv);
	return o;
}

static void *ours_make4(uint32_t routes)
{
	size_t shared = fib4_shared_bytes(routes), priv = fib4_private_bytes(routes, shared);
	struct ours *o = ours_new(shared, priv);
	return fib4_init(&o->w, o->shared, shared, o->priv, priv) == E_OK ? o : NULL;
}

static void *ours_make6(uint32_t routes)
{
	size_t shared = fib6_shared_bytes(routes), priv = fib6_private_bytes(routes, shared);
	struct ours *o = ours_new(shared, priv);
	return fib6_init(&o->w, o->shared, shared, o->priv, priv) == E_OK ? o : NULL;
}

static uint32_t ip4_of(const uint8_t *a)
{
	return (uint32_t)a[0] << 24 | (uint32_t)a[1] << 16 | (uint32_t)a[2] << 8 | a[3];
}

static bool ours_add4(void *t, const struct bench_route *r)
{
	return fib4_insert(&((struct ours *)t)->w, ip4_of(r->addr), r->plen, r->nh) == E_OK;
}

static bool ours_remove4(void *t, const struct bench_route *r)
{
	return fib4_remove(&((struct ours *)t)->w, ip4_of(r->addr), r->plen) == E_OK;
}

static bool ours_add6(void *t, const struct bench_route *r)
{
	struct net_addr a;
	memcpy(a.w, r->addr, 16);
	return fib6_insert(&((struct ours *)t)->w, &a, r->plen, r->nh) == E_OK;
}

static bool ours_remove6(void *t, const struct bench_route *r)
{
	struct net_addr a;
	memcpy(a.w, r->addr, 16);
	return fib6_remove(&((struct ours *)t)->w, &a, r->plen) == E_OK;
}

static void ours_turn(void *t) { fib_reclaim(&((struct ours *)t)->w); }
static size_t ours_bytes(void *t) { return fib_bytes(&((struct ours *)t)->w); }
static void ours_use(void *t, unsigned way) { fib_use(&((struct ours *)t)->w, way); }

static void ours_lookup4(void *t, const struct bench_addresses *a, uint32_t from, uint32_t *nh)
{
	fib4_lookup_batch(((struct ours *)t)->w.fib, a->ip4 + from, nh, FIB_VECTOR);
}

static void ours_lookup6(void *t, const struct bench_addresses *a, uint32_t from, uint32_t *nh)
{
	fib6_lookup_batch(((struct ours *)t)->w.fib, a->at6 + from, nh, FIB_VECTOR);
}

static void ours_drop(void *t)
{
	struct ours *o = t;
	free(o->shared);
	free(o->priv);
	free(o);
}

static const struct bench_table our_table4 = {
	"Hayate", our_ways, ours_make4, ours_add4, ours_remove4, ours_turn, ours_bytes, ours_use,
	ours_lookup4, ours_drop, UINT32_MAX, NULL,
};
static const struct bench_table our_table6 = {
	"Hayate", our_ways, ours_make6, ours_add6, ours_remove6, ours_turn, ours_bytes, ours_use,
	ours_lookup6, ours_drop, UINT32_MAX, NULL,
};

/* --- addresses --- */

static void inside(const struct bench_route *r, uint8_t *a)
{
	prefix_draw(a, 16, r->addr, r->plen);
}

static void address_set(struct bench_addresses *a, uint32_t i, const uint8_t *addr)
{
	a->ip4[i] = ip4_of(addr);
	memcpy(a->ip6[i], addr, 16);
	a->at6[i] = a->ip6[i];
}

static void choose_addresses(const struct bench_route *r, uint32_t n, bool ip6)
{
	static uint8_t hot[HOT][16];
	static double upto[HOT]; /* cumulative sum of 1/i */
	double sum = 0;
	for (uint32_t i = 0; i < HOT; i++) {
		inside(&r[random_below(n)], hot[i]);
		upto[i] = sum += 1.0 / (i + 1);
	}
	for (uint32_t i = 0; i < ADDRESSES; i++) {
		uint8_t a[16];
		random_fill(a, 16);
		if (ip6)
			a[0] = 0x20 | (a[0] & 0x1f);
		address_set(&pattern[0], i, a);
		inside(&r[random_below(n)], a);
		address_set(&pattern[1], i, a);
		double at = (double)(random64() >> 11) * 0x1p-53 * sum;
		uint32_t low = 0, high = HOT - 1;
		while (low < high) {
			uint32_t middle = (low + high) / 2;
			if (upto[middle] < at)
				low = middle + 1;
			else
				high = middle;
		}
		address_set(&pattern[2], i, hot[low]);
	}
}

/* --- footprint --- */

struct lines {
	uint64_t *seen; /* a bit for each line */
	uint32_t count;
};

static struct lines lines_new(size_t bytes)
{
	struct lines l = {calloc(bytes / CACHE_LINE / 64 + 1, 8), 0};
	if (!l.seen)
		exit(1);
	return l;
}

static void touch(struct lines *l, size_t at)
{
	size_t line = at / CACHE_LINE;
	uint64_t bit = 1ull << line % 64;
	l->count += !(l->seen[line / 64] & bit);
	l->seen[line / 64] |= bit;
}

static void print_lines(const char *name, struct lines *l)
{
	printf("  %s %.1f", name, (double)l->count * CACHE_LINE / (1 << 20));
	free(l->seen);
}

/* The entries that a look-up reads: fib4_lookup and fib6_lookup. */
static void touch_ours(struct lines *l, const struct fib *fib, const uint8_t *a, bool ip6)
{
	const uint32_t top = ip4_of(a) >> (32 - (ip6 ? TRIE_TOP6 : TRIE_TOP4));
	uint32_t e = trie_top(fib, top), bits = ip4_of(a) << TRIE_TOP4;
	touch(l, (size_t)top * 4);
	for (unsigned b = ip6 ? 2 : 3; trie_is_node(e); b++) {
		if (ip6)
			bits = (uint32_t)a[b] << 24;
		uint32_t place = trie_place(e, bits);
		touch(l, place);
		e = trie_cut(fib, e, place);
		bits = (uint32_t)a[b] << 24;
	}
}

static void print_footprint(const struct ours *o, const struct bench_route *r, uint32_t n, bool ip6)
{
	struct lines ours = lines_new(ip6 ? fib6_shared_bytes(n) : fib4_shared_bytes(n));
	const size_t behind = (size_t)2 << 24; /* bytes of the first table of DIR-24-8 */
	struct lines dir = lines_new(ip6 ? 0 : behind + ((size_t)2 << 32));
	struct lines longer = lines_new((size_t)CACHE_LINE << 24); /* a line for each /24 */
	for (uint32_t i = 0; !ip6 && i < n; i++)
		if (r[i].plen > 24)
			touch(&longer, (size_t)(ip4_of(r[i].addr) >> 8) * CACHE_LINE);
	for (uint32_t i = 0; i < DESTINATIONS; i++) {
		uint8_t a[16];
		inside(&r[random_below(n)], a);
		touch_ours(&ours, o->w.fib, a, ip6);
		if (ip6)
			continue;
		uint32_t of = ip4_of(a) >> 8;
		touch(&dir, (size_t)of * 2);
		if (longer.seen[of / 64] >> of % 64 & 1)
			touch(&dir, behind + (size_t)ip4_of(a) * 2);
	}
	printf("  footprint of %u destinations inside, MiB of cache lines:", DESTINATIONS);
	print_lines("Hayate", &ours);
	if (ip6)
		free(dir.seen);
	else
		print_lines("rte_fib", &dir);
	printf("\n");
	free(longer.seen);
}

/* --- measuring --- */

struct loaded {
	const struct bench_table *table;
	void *t;
	double build_s, changes; /* negative: not measured */
};

struct figure {
	const struct loaded *of;
	unsigned way;
	double rate[PATTERNS][ROUNDS];
};

static const struct loaded *reference;

static uint32_t answer4(uint32_t dst)
{
	return fib4_lookup(((struct ours *)reference->t)->w.fib, dst);
}

/* Loads the routes, and measures changes. */
static bool load(struct loaded *l, const struct bench_table *table, const struct bench_route *r,
                 uint32_t n)
{
	*l = (struct loaded){table, table->make(n), -1, -1};
	if (!l->t)
		return false;
	if (n > table->most) {
		table->fill(l->t, answer4);
		return true;
	}
	uint64_t t0 = cpu_ns();
	for (uint32_t i = 0; i < n; i++) {
		if (!table->add(l->t, &r[i]))
			return false;
		if (table->turn && i % 1024 == 0)
			table->turn(l->t);
	}
	l->build_s = (double)(cpu_ns() - t0) / 1e9;
	t0 = cpu_ns();
	for (uint32_t i = 0; i < CHANGES / 2; i++) {
		const struct bench_route *q = &r[random_below(n)];
		if (!table->remove(l->t, q) || !table->add(l->t, q))
			return false;
		if (table->turn && i % 512 == 0)
			table->turn(l->t);
	}
	l->changes = CHANGES * 1e3 / (double)(cpu_ns() - t0);
	return true;
}

static void window(const struct figure *f, unsigned p, uint32_t from, uint32_t to)
{
	uint32_t nh[FIB_VECTOR];
	for (uint32_t i = from; i < to; i += FIB_VECTOR) {
		f->of->table->lookup(f->of->t, &pattern[p], i, nh);
		sink += nh[0];
	}
}

static void turn(struct figure *f, unsigned p, unsigned round)
{
	uint32_t from = round % (ADDRESSES / (WINDOW + WARM)) * (WINDOW + WARM);
	if (f->of->table->use)
		f->of->table->use(f->of->t, f->way);
	window(f, p, from, from + WARM);
	uint64_t t0 = cpu_ns();
	window(f, p, from + WARM, from + WARM + WINDOW);
	f->rate[p][round] = WINDOW * 1e3 / (double)(cpu_ns() - t0);
}

/* The number of answers that differ from those of the reference's first method. */
static unsigned differing(const struct figure *f, unsigned p)
{
	uint32_t nh[FIB_VECTOR], want[FIB_VECTOR];
	unsigned wrong = 0;
	for (uint32_t i = 0; i < WINDOW; i += FIB_VECTOR) {
		if (f->of->table->use)
			f->of->table->use(f->of->t, f->way);
		f->of->table->lookup(f->of->t, &pattern[p], i, nh);
		reference->table->use(reference->t, 0);
		reference->table->lookup(reference->t, &pattern[p], i, want);
		for (unsigned k = 0; k < FIB_VECTOR; k++)
			wrong += nh[k] != want[k];
	}
	return wrong;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void print_optional(const char *format, double v)
{
	if (v < 0)
		printf("%9s", "-");
	else
		printf(format, v);
}

static void print_figure(struct figure *f)
{
	char name[40];
	snprintf(name, sizeof name, "%s %s", f->of->table->name, f->of->table->way[f->way]);
	printf("  %-17s%9.1f", name, (double)f->of->table->bytes(f->of->t) / (1 << 20));
	print_optional("%9.2f", f->of->build_s);
	print_optional("%9.2f", f->of->changes);
	for (unsigned p = 0; p < PATTERNS; p++) {
		qsort(f->rate[p], ROUNDS, sizeof(double), by_value);
		printf("  %6.0f (%4.0f)", f->rate[p][ROUNDS - 1], f->rate[p][ROUNDS / 2]);
	}
	printf("\n");
}

static bool way_runs(const struct loaded *l, unsigned way)
{
	return l->table->make == ours_make4 || l->table->make == ours_make6 ? fib_path_runs(way)
	                                                                    : true;
}

static void compare(const char *what, const struct bench_table *ours,
                    const struct bench_table *others, const struct bench_route *r, uint32_t n)
{
	static struct loaded loaded[TABLES_MOST];
	static struct figure figure[WAYS_MOST];
	unsigned tables = 0, ways = 0;
	if (!load(&loaded[tables++], ours, r, n))
		exit(1);
	reference = &loaded[0];
	for (; others && others->name; others++) {
		if (load(&loaded[tables], others, r, n))
			tables++;
		else
			printf("%s: %s could not be loaded\n", what, others->name);
	}
	choose_addresses(r, n, ours == &our_table6);
	for (unsigned i = 0; i < tables; i++)
		for (unsigned way = 0; loaded[i].table->way[way]; way++)
			if (way_runs(&loaded[i], way))
				figure[ways++] = (struct figure){.of = &loaded[i], .way = way};
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned p = 0; p < PATTERNS; p++)
			for (unsigned i = 0; i < ways; i++)
				turn(&figure[i], p, round);
	printf("%s, %u prefixes\n  %-17s%9s%9s%9s", what, n, "", "MiB", "load s", "M chg/s");
	for (unsigned p = 0; p < PATTERNS; p++)
		printf("%10s M/s", pattern_name[p]);
	printf("\n");
	for (unsigned i = 0; i < ways; i++) {
		print_figure(&figure[i]);
		for (unsigned p = 0; p < PATTERNS; p++) {
			unsigned wrong = differing(&figure[i], p);
			if (wrong)
				printf("    %s: %u of %u answers differ\n", pattern_name[p], wrong, WINDOW);
		}
	}
	print_footprint(reference->t, r, n, ours == &our_table6);
	fflush(stdout);
	for (unsigned i = 0; i < tables; i++)
		loaded[i].table->drop(loaded[i].t);
}

/* --- tables --- */

static int by_addr(const void *a, const void *b)
{
	const struct bench_route *x = a, *y = b;
	int order = memcmp(x->addr, y->addr, 16);
	return order ? order : (int)x->plen - (int)y->plen;
}

/* Removes duplicates: a peer may refuse them. */
static uint32_t distinct(struct bench_route *r, uint32_t n)
{
	uint32_t kept = 0;
	qsort(r, n, sizeof *r, by_addr);
	for (uint32_t i = 0; i < n; i++)
		if (kept == 0 || by_addr(&r[kept - 1], &r[i]) != 0)
			r[kept++] = r[i];
	return kept;
}

static struct bench_route *routes4(const struct prefix *p, uint32_t n)
{
	struct bench_route *r = calloc(n, sizeof *r);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t a = p[i].addr;
		r[i] = (struct bench_route){
			{(uint8_t)(a >> 24), (uint8_t)(a >> 16), (uint8_t)(a >> 8), (uint8_t)a}, p[i].plen,
			p[i].nh};
	}
	return r;
}

static struct bench_route *routes6(const struct prefix6 *p, uint32_t n)
{
	struct bench_route *r = calloc(n, sizeof *r);
	for (uint32_t i = 0; i < n; i++) {
		memcpy(r[i].addr, p[i].addr, 16);
		r[i].plen = p[i].plen;
		r[i].nh = p[i].nh;
	}
	return r;
}

static const struct bench_table *peers4, *peers6;

static void table4(const char *what, struct prefix *p, uint32_t n)
{
	struct bench_route *r = routes4(p, n);
	compare(what, &our_table4, peers4, r, distinct(r, n));
	free(r);
	free(p);
}

static void table6(const char *what, struct prefix6 *p, uint32_t n)
{
	struct bench_route *r = routes6(p, n);
	compare(what, &our_table6, peers6, r, distinct(r, n));
	free(r);
	free(p);
}

static bool wanted(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return argc == 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		uint32_t n;
		bool ip6;
	} made[] = {{"1k", 1000, false}, {"100k", 100000, false}, {"1M", 1000000, false},
	            {"6-250k", 250000, true}};
	struct prefix *p;
	struct prefix6 *p6;
	seed_random("fib_bench");
	for (unsigned i = 0; i < PATTERNS; i++)
		pattern[i] = (struct bench_addresses){memory(ADDRESSES * 4), memory(ADDRESSES * 16),
		                                      memory(ADDRESSES * sizeof(void *))};
	if (dpdk_start()) {
		peers4 = dpdk_tables4;
		peers6 = dpdk_tables6;
	} else {
		printf("DPDK does not start: Hayate alone\n");
	}
	for (unsigned i = 0; i < ARRAY_LEN(made); i++) {
		char what[40];
		if (!wanted(argc, argv, made[i].name))
			continue;
		snprintf(what, sizeof what, "IPv%c, made up", made[i].ip6 ? '6' : '4');
		if (made[i].ip6) {
			prefixes6_make(&p6, made[i].n);
			table6(what, p6, made[i].n);
		} else {
			prefixes_make(&p, made[i].n);
			table4(what, p, made[i].n);
		}
	}
	uint32_t n = wanted(argc, argv, "global") ? prefixes_load(&p) : 0;
	if (n)
		table4("IPv4, the global table", p, n);
	n = wanted(argc, argv, "6-global") ? prefixes6_load(&p6) : 0;
	if (n)
		table6("IPv6, the global table", p6, n);
	return sink == 0x12345678;
}
