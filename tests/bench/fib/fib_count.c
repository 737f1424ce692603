/*
 * A fixed amount of look-ups for the gate (tests/bench/gate.py), whose callgrind counts measured():
 *
 *   fib_count fib4|fib6 scalar|avx2
 *
 * The table is made up like the global one (tests/unit/rig/prefixes.h). The destinations are random
 * addresses inside random prefixes of it, in vectors of 256. The last line is `counted LOOKUPS`.
 * Next hops have the numbers of neighbours in a router (dataplane/state.h).
 */
#include "lib/bytes.h"
#include "net/fib/fib.h"
#include "tests/unit/rig/host.h"
#include "tests/unit/rig/prefixes.h"

#define ROUTES 20000
#define VECTORS 64
#define NH_FIRST 144u
#define NH_FIRST6 4240u

static struct fib_writer table;
static uint8_t destination[VECTORS][FIB_BATCH_MAX][16];
static const uint8_t *dst6[VECTORS][FIB_BATCH_MAX];
static uint32_t dst4[VECTORS][FIB_BATCH_MAX];
static uint32_t nh[FIB_BATCH_MAX];
static bool six;

__attribute__((noinline)) static uint32_t measured(void)
{
	uint32_t sum = 0;
	for (unsigned i = 0; i < VECTORS; i++) {
		if (six)
			fib6_lookup_batch(table.fib, dst6[i], nh, FIB_BATCH_MAX);
		else
			fib4_lookup_batch(table.fib, dst4[i], nh, FIB_BATCH_MAX);
		sum += nh[0];
	}
	return sum;
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "fib_count: %s\n", what);
	exit(1);
}

static void *memory(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
	if (!p)
		die("no memory");
	return p;
}

static void add(const uint8_t *prefix, unsigned plen, uint32_t hop)
{
	struct net_addr addr;
	memcpy(addr.w, prefix, sizeof addr.w);
	int e = six ? fib6_insert(&table, &addr, plen, NH_FIRST6 + hop)
	            : fib4_insert(&table, be32_load(prefix), plen, NH_FIRST + hop);
	if (e != E_OK)
		die("a prefix does not fit");
	fib_reclaim(&table);
}

/* Returns the prefixes as on the wire. */
static struct prefix6 *prefixes(void)
{
	struct prefix6 *p6;
	struct prefix *p4;
	if (six) {
		prefixes6_make(&p6, ROUTES);
		return p6;
	}
	prefixes_make(&p4, ROUTES);
	p6 = calloc(ROUTES, sizeof *p6);
	for (unsigned i = 0; i < ROUTES; i++) {
		be32_store(p6[i].addr, p4[i].addr);
		p6[i].plen = p4[i].plen;
		p6[i].nh = p4[i].nh;
	}
	free(p4);
	return p6;
}

static void make(void)
{
	size_t shared = six ? fib6_shared_bytes(ROUTES) : fib4_shared_bytes(ROUTES);
	size_t priv = six ? fib6_private_bytes(ROUTES, shared) : fib4_private_bytes(ROUTES, shared);
	void *at = memory(shared), *beside = memory(priv);
	if ((six ? fib6_init(&table, at, shared, beside, priv)
	         : fib4_init(&table, at, shared, beside, priv)) != E_OK)
		die("no table");
	if (six)
		fib6_favour(&table, NH_FIRST, NH_FIRST6);
	struct prefix6 *p = prefixes();
	for (unsigned i = 0; i < ROUTES; i++)
		add(p[i].addr, p[i].plen, p[i].nh);
	for (unsigned i = 0; i < VECTORS; i++)
		for (unsigned k = 0; k < FIB_BATCH_MAX; k++) {
			const struct prefix6 *q = &p[random_below(ROUTES)];
			prefix_draw(destination[i][k], 16, q->addr, q->plen);
			dst6[i][k] = destination[i][k];
			dst4[i][k] = be32_load(destination[i][k]);
		}
	free(p);
}

int main(int argc, char **argv)
{
	const bool avx2 = argc == 3 && strcmp(argv[2], "avx2") == 0;
	if (argc != 3 || (!avx2 && strcmp(argv[2], "scalar") != 0))
		die("usage: fib_count fib4|fib6 scalar|avx2");
	seed_random("fib_count");
	six = strcmp(argv[1], "fib6") == 0;
	make();
	fib_use(&table, avx2 ? FIB_AVX2 : FIB_SCALAR);
	if (measured() < VECTORS * NH_FIRST)
		die("a destination has no route");
	printf("counted %u\n", VECTORS * FIB_BATCH_MAX);
	return 0;
}
