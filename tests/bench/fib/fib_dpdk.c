/* DPDK's rte_lpm, rte_fib and rte_fib6 for fib_bench.c. */
#include "tests/bench/fib/fib_bench.h"

#include <stdio.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_eal.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_lpm.h>

#define GROUPS4 4096u     /* of 256 entries after the first 24 bits */
#define GROUPS6 (1u << 19) /* half as many are too few for 250,000 prefixes */

static const char *const one_way[] = {"bulk", NULL};
static const char *const fib_ways[] = {"scalar", "AVX-512", NULL};
static unsigned made; /* numbers the tables: names must be unique */

bool dpdk_start(void)
{
	static char a0[] = "fib_bench", a1[] = "--in-memory", a2[] = "--no-pci", a3[] = "--log-level=3",
	            a4[] = "--no-telemetry", a5[] = "--single-file-segments";
	static char *args[] = {a0, a1, a2, a3, a4, a5};
	return rte_eal_init(6, args) >= 0;
}

static uint32_t ip4_of(const struct bench_route *r)
{
	uint32_t v;
	memcpy(&v, r->addr, 4);
	return rte_be_to_cpu_32(v);
}

static const char *new_name(void)
{
	static char name[16];
	snprintf(name, sizeof name, "bench%u", made++);
	return name;
}

/* --- rte_lpm --- */

static void *lpm_make(uint32_t routes)
{
	const struct rte_lpm_config c = {.max_rules = routes, .number_tbl8s = GROUPS4};
	return rte_lpm_create(new_name(), 0, &c);
}

static bool lpm_add(void *t, const struct bench_route *r)
{
	return rte_lpm_add(t, ip4_of(r), (uint8_t)r->plen, r->nh) == 0;
}

static bool lpm_remove(void *t, const struct bench_route *r)
{
	return rte_lpm_delete(t, ip4_of(r), (uint8_t)r->plen) == 0;
}

static size_t lpm_bytes(void *t)
{
	(void)t;
	return 4 * ((1u << 24) + GROUPS4 * 256);
}

static void lpm_lookup(void *t, const struct bench_addresses *a, uint32_t from, uint32_t *nh)
{
	rte_lpm_lookup_bulk(t, a->ip4 + from, nh, FIB_VECTOR);
	for (unsigned i = 0; i < FIB_VECTOR; i++)
		nh[i] &= 0x00ffffff; /* clears the valid flag */
}

/* Adding searches all rules of the same length: 470 s for the global table. After /24, entries have
 * the answer of the first of 256 addresses. */
static void lpm_fill(void *t, uint32_t (*answer)(uint32_t dst))
{
	struct rte_lpm *lpm = t;
	for (uint32_t i = 0; i < 1u << 24; i++) {
		uint32_t nh = answer(i << 8);
		lpm->tbl24[i] = (struct rte_lpm_tbl_entry){.next_hop = nh, .valid = nh != 0};
	}
}

static void lpm_drop(void *t)
{
	rte_lpm_free(t);
}

/* --- rte_fib --- */

static void *fib_make(uint32_t routes)
{
	/* two bytes an entry: with one byte there are only 127 groups after /24, too few for the
	 * global table */
	struct rte_fib_conf c = {
		.type = RTE_FIB_DIR24_8,
		.max_routes = (int)(2 * routes),
		.dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_2B, .num_tbl8 = GROUPS4},
	};
	return rte_fib_create(new_name(), 0, &c);
}

static bool fib_add(void *t, const struct bench_route *r)
{
	return rte_fib_add(t, ip4_of(r), (uint8_t)r->plen, r->nh) == 0;
}

static bool fib_remove(void *t, const struct bench_route *r)
{
	return rte_fib_delete(t, ip4_of(r), (uint8_t)r->plen) == 0;
}

static size_t fib_bytes(void *t)
{
	(void)t;
	return 2 * ((1u << 24) + GROUPS4 * 256);
}

static void fib_use(void *t, unsigned way)
{
	rte_fib_select_lookup(t, way ? RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512
	                             : RTE_FIB_LOOKUP_DIR24_8_SCALAR_MACRO);
}

static void narrow(const uint64_t *wide, uint32_t *nh)
{
	for (unsigned i = 0; i < FIB_VECTOR; i++)
		nh[i] = (uint32_t)wide[i];
}

static void fib_lookup(void *t, const struct bench_addresses *a, uint32_t from, uint32_t *nh)
{
	uint64_t wide[FIB_VECTOR];
	rte_fib_lookup_bulk(t, a->ip4 + from, wide, FIB_VECTOR);
	narrow(wide, nh);
}

static void fib_drop(void *t)
{
	rte_fib_free(t);
}

/* --- rte_fib6 --- */

static void *fib6_make(uint32_t routes)
{
	struct rte_fib6_conf c = {
		.type = RTE_FIB6_TRIE,
		.max_routes = (int)(2 * routes),
		.trie = {.nh_sz = RTE_FIB6_TRIE_4B, .num_tbl8 = GROUPS6},
	};
	return rte_fib6_create(new_name(), 0, &c);
}

static bool fib6_add(void *t, const struct bench_route *r)
{
	return rte_fib6_add(t, r->addr, (uint8_t)r->plen, r->nh) == 0;
}

static bool fib6_remove(void *t, const struct bench_route *r)
{
	return rte_fib6_delete(t, r->addr, (uint8_t)r->plen) == 0;
}

static size_t fib6_bytes(void *t)
{
	(void)t;
	return 4ul * ((1u << 24) + GROUPS6 * 256ul);
}

static void fib6_use(void *t, unsigned way)
{
	rte_fib6_select_lookup(t, way ? RTE_FIB6_LOOKUP_TRIE_VECTOR_AVX512
	                              : RTE_FIB6_LOOKUP_TRIE_SCALAR);
}

static void fib6_lookup(void *t, const struct bench_addresses *a, uint32_t from, uint32_t *nh)
{
	uint64_t wide[FIB_VECTOR];
	rte_fib6_lookup_bulk(t, a->ip6 + from, wide, FIB_VECTOR);
	narrow(wide, nh);
}

static void fib6_drop(void *t)
{
	rte_fib6_free(t);
}

const struct bench_table dpdk_tables4[] = {
	{"rte_lpm", one_way, lpm_make, lpm_add, lpm_remove, NULL, lpm_bytes, NULL, lpm_lookup, lpm_drop,
	 20000, lpm_fill},
	{"rte_fib", fib_ways, fib_make, fib_add, fib_remove, NULL, fib_bytes, fib_use, fib_lookup,
	 fib_drop, UINT32_MAX, NULL},
	{0},
};

const struct bench_table dpdk_tables6[] = {
	{"rte_fib6", fib_ways, fib6_make, fib6_add, fib6_remove, NULL, fib6_bytes, fib6_use,
	 fib6_lookup, fib6_drop, UINT32_MAX, NULL},
	{0},
};
