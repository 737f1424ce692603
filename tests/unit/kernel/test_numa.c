/* kernel/numa: tables as firmware writes them, and malformed ones. */
#include "tests/unit/rig/host.h"

#include "kernel/numa.h"
#include "lib/bytes.h"

#define GIB (1ull << 30)

static uint8_t table[8192];
static uint32_t used;

static int setup(void **s)
{
	(void)s;
	memset(table, 0, sizeof table);
	used = 48;
	return 0;
}

static uint8_t *entry(uint8_t type, uint8_t bytes)
{
	uint8_t *p = table + used;
	p[0] = type;
	p[1] = bytes;
	used += bytes;
	return p;
}

static void core(uint32_t domain, uint8_t id, uint32_t flags)
{
	uint8_t *p = entry(0, 16);
	p[2] = (uint8_t)domain;
	p[3] = id;
	raw32_store(p + 4, flags);
	p[8] = 0xee; /* local SAPIC EID */
	p[9] = (uint8_t)(domain >> 8);
	p[10] = (uint8_t)(domain >> 16);
	p[11] = (uint8_t)(domain >> 24);
}

static void x2apic(uint32_t domain, uint32_t id)
{
	uint8_t *p = entry(2, 24);
	raw32_store(p + 4, domain);
	raw32_store(p + 8, id);
	raw32_store(p + 12, 1);
}

static void memory(uint32_t domain, uint64_t start, uint64_t bytes, uint32_t flags)
{
	uint8_t *p = entry(1, 40);
	raw32_store(p + 2, domain);
	raw64_store(p + 8, start);
	raw64_store(p + 16, bytes);
	raw32_store(p + 28, flags);
}

/* Copies of the exact size, so that ASan detects each byte that is read beyond. */
static int parse_by(int (*parser)(const uint8_t *, uint32_t), const uint8_t *from, uint32_t bytes)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);
	memcpy(copy, from, bytes);
	int e = parser(copy, bytes);
	free(copy);
	return e;
}

static int parse(void) { return parse_by(numa_parse_srat, table, used); }

static int distances(uint64_t count, const uint8_t *d)
{
	uint8_t slit[44 + 64] = {0};
	raw64_store(slit + 36, count);
	memcpy(slit + 44, d, count * count);
	return parse_by(numa_parse_slit, slit, (uint32_t)(44 + count * count));
}

/* Domains 7 and 0x12345678 become nodes 0 and 1. */
static void two_nodes(void)
{
	core(7, 0, 1);
	core(0x12345678, 1, 1);
	core(7, 2, 0); /* not enabled */
	x2apic(0x12345678, 256);
	memory(7, 0, 640 << 10, 1);
	memory(7, 1 << 20, 2 * GIB - (1 << 20), 1);
	memory(0x12345678, 4 * GIB, 4 * GIB, 1);
	memory(7, 8 * GIB, GIB, 0);
	memory(7, 16 * GIB, GIB, 3); /* may be plugged in */
	entry(9, 20);                /* a type that we do not know */
}

static void nodes(void **s)
{
	(void)s;
	two_nodes();
	assert_int_equal(parse(), E_OK);
	assert_int_equal(numa_nodes(), 2);
	assert_int_equal(numa_node_of_core(0), 0);
	assert_int_equal(numa_node_of_core(1), 1);
	assert_int_equal(numa_node_of_core(256), 1);
	assert_int_equal(numa_node_of_core(2), 0); /* not named */
	assert_int_equal(numa_node_of_domain(0x12345678), 1);
	assert_int_equal(numa_node_of_domain(1), NUMA_NONE);
	assert_int_equal(numa_node_of_memory(0), 0);
	assert_int_equal(numa_node_of_memory(2 * GIB - 1), 0);
	assert_int_equal(numa_node_of_memory(2 * GIB), NUMA_NONE);
	assert_int_equal(numa_node_of_memory(4 * GIB), 1);
	assert_int_equal(numa_node_of_memory(8 * GIB - 1), 1);
	assert_int_equal(numa_node_of_memory(8 * GIB), NUMA_NONE);
	assert_int_equal(numa_node_of_memory(16 * GIB), NUMA_NONE);
	assert_true(numa_border(0) == 0 && numa_border(1) == 640 << 10 && numa_border(5) == 8 * GIB);
	assert_true(numa_border(6) == UINT64_MAX);
}

static void distance(void **s)
{
	(void)s;
	for (uint32_t d = 0; d < 3; d++)
		x2apic(d, d);
	assert_int_equal(parse(), E_OK);
	for (unsigned a = 0; a < 3; a++) /* without SLIT: itself, then by number */
		for (unsigned n = 0; n < 3; n++)
			assert_int_equal(numa_nearest(a, n), n == 0 ? a : n - 1 + (n > a));
	assert_int_equal(distances(3, (uint8_t[]){10, 40, 20, 40, 10, 30, 20, 30, 10}), E_OK);
	assert_true(numa_nearest(0, 0) == 0 && numa_nearest(0, 1) == 2 && numa_nearest(0, 2) == 1);
	assert_true(numa_nearest(1, 0) == 1 && numa_nearest(1, 1) == 2 && numa_nearest(1, 2) == 0);
	/* from a row's node to a column's */
	assert_int_equal(distances(3, (uint8_t[]){10, 20, 40, 50, 10, 30, 20, 60, 10}), E_OK);
	assert_true(numa_nearest(0, 1) == 1 && numa_nearest(1, 1) == 2 && numa_nearest(2, 1) == 0);
	assert_int_equal(distances(3, (uint8_t[]){99, 1, 1, 1, 99, 1, 1, 1, 99}), E_OK);
	assert_int_equal(numa_nearest(1, 0), 1); /* itself, whatever the table says */
	assert_int_equal(distances(0, table), E_INVAL);
	uint8_t slit[44] = {0};
	raw64_store(slit + 36, 1);
	assert_int_equal(parse_by(numa_parse_slit, slit, 44), E_INVAL);
	raw64_store(slit + 36, 1ull << 32); /* its square is 0 */
	assert_int_equal(parse_by(numa_parse_slit, slit, 44), E_INVAL);
	assert_int_equal(parse_by(numa_parse_slit, slit, 43), E_INVAL);
	assert_int_equal(distances(1, (uint8_t[]){10}), E_OK); /* fewer than there are nodes */
}

static void assert_refused(int e)
{
	assert_int_equal(parse(), e);
	assert_int_equal(numa_nodes(), 1);
	assert_int_equal(numa_node_of_memory(100 * GIB), 0);
	assert_int_equal(numa_node_of_core(1), 0);
	assert_int_equal(numa_nearest(0, 0), 0);
	assert_true(numa_border(0) == UINT64_MAX);
}

static void malformed(void **s)
{
	used = 47;
	assert_refused(E_INVAL);
	setup(s), two_nodes(), used++;
	assert_refused(E_INVAL);
	setup(s), two_nodes(), table[49] = 0;
	assert_refused(E_INVAL); /* the walk would never end */
	setup(s), two_nodes(), table[49] = 1;
	assert_refused(E_INVAL);
	setup(s), two_nodes(), entry(1, 39);
	assert_refused(E_INVAL);
	setup(s), two_nodes(), entry(0, 16)[1] = 17;
	assert_refused(E_INVAL); /* beyond the table */
	setup(s), two_nodes(), memory(7, 8 * GIB - 1, 1, 1);
	assert_refused(E_INVAL); /* overlaps */
	setup(s), two_nodes(), memory(7, UINT64_MAX - 4095, 8192, 1);
	assert_refused(E_INVAL);
	setup(s);
	for (unsigned n = 0; n < NODES_MAX; n++)
		x2apic(n, n);
	assert_int_equal(parse(), E_OK);
	assert_int_equal(numa_nodes(), NODES_MAX);
	x2apic(NODES_MAX, 99);
	assert_refused(E_NOTSUP);
	setup(s);
	for (unsigned n = 0; n <= 128; n++)
		memory(0, n * GIB, GIB, 1);
	assert_refused(E_NOTSUP);
}

/* Every byte of a good table changed in every way: refused or accepted, but never read beyond its end. */
static void any_byte(void **s)
{
	(void)s;
	two_nodes();
	for (uint32_t i = 48; i < used; i++)
		for (unsigned v = 0; v < 256; v++) {
			uint8_t was = table[i];
			table[i] = (uint8_t)v;
			if (parse() == E_OK) {
				assert_in_range(numa_nodes(), 1, 3);
				assert_true(numa_node_of_core(1) < numa_nodes());
				for (unsigned n = 0; n < numa_nodes(); n++)
					assert_true(numa_nearest(0, n) < numa_nodes());
			}
			table[i] = was;
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nodes, setup),
		cmocka_unit_test_setup(distance, setup),
		cmocka_unit_test_setup(malformed, setup),
		cmocka_unit_test_setup(any_byte, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
