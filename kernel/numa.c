/* See numa.h. */
#include "kernel/numa.h"

#include "lib/bytes.h"

#define SRAT_HEADER 48 /* 5.2.16, with the 36 bytes of the ACPI header */
#define SLIT_HEADER 44 /* 5.2.17, with the number of localities */
#define RANGES_MAX 128
#define ENABLED 1u
#define HOT_PLUGGABLE 2u /* the range is room for memory that may be added */
#define LOCAL 10 /* distance of a node from itself */
#define FAR 20

enum srat_type { SRAT_CORE = 0, SRAT_MEMORY = 1, SRAT_X2APIC = 2 }; /* 5.2.16.1 to 5.2.16.3 */

static struct numa {
	uint32_t domain[NODES_MAX]; /* proximity domain of each node */
	unsigned nodes;
	struct {
		uint64_t start, end;
		unsigned node;
	} range[RANGES_MAX];
	unsigned ranges;
	struct {
		uint32_t apic_id;
		unsigned node;
	} core[CORES_MAX];
	unsigned cores;
	uint8_t distance[NODES_MAX][NODES_MAX];
} numa;

unsigned numa_node_of_domain(uint32_t domain)
{
	for (unsigned n = 0; n < numa.nodes; n++)
		if (numa.domain[n] == domain)
			return n;
	return NUMA_NONE;
}

/* The node of a proximity domain, which is added if it is new; NUMA_NONE: there are too many. */
static unsigned node_of(uint32_t domain)
{
	const unsigned known = numa_node_of_domain(domain);
	if (known != NUMA_NONE || numa.nodes == NODES_MAX)
		return known;
	numa.domain[numa.nodes] = domain;
	return numa.nodes++;
}

static int add_core(uint32_t domain, uint32_t apic_id)
{
	unsigned node = node_of(domain);
	if (node == NUMA_NONE || numa.cores == CORES_MAX)
		return E_NOTSUP;
	numa.core[numa.cores].apic_id = apic_id;
	numa.core[numa.cores++].node = node;
	return E_OK;
}

static int add_memory(uint32_t domain, uint64_t start, uint64_t bytes)
{
	if (bytes == 0)
		return E_OK;
	if (bytes > UINT64_MAX - start)
		return E_INVAL;
	for (unsigned i = 0; i < numa.ranges; i++)
		if (start < numa.range[i].end && numa.range[i].start < start + bytes)
			return E_INVAL;
	unsigned node = node_of(domain);
	if (node == NUMA_NONE || numa.ranges == RANGES_MAX)
		return E_NOTSUP;
	numa.range[numa.ranges].start = start;
	numa.range[numa.ranges].end = start + bytes;
	numa.range[numa.ranges++].node = node;
	return E_OK;
}

/* Parses one entry of `bytes` bytes. */
static int parse_entry(const uint8_t *p, unsigned bytes)
{
	static const uint8_t least[] = {[SRAT_CORE] = 16, [SRAT_MEMORY] = 40, [SRAT_X2APIC] = 24};
	if (p[0] >= ARRAY_LEN(least))
		return E_OK;
	if (bytes < least[p[0]])
		return E_INVAL;
	uint32_t flags = raw32_load(p + (p[0] == SRAT_CORE ? 4 : p[0] == SRAT_MEMORY ? 28 : 12));
	if (!(flags & ENABLED))
		return E_OK;
	if (p[0] == SRAT_CORE)
		return add_core(p[2] | (raw32_load(p + 8) & 0xffffff00u), p[3]);
	if (p[0] == SRAT_X2APIC)
		return add_core(raw32_load(p + 4), raw32_load(p + 8));
	return flags & HOT_PLUGGABLE ? E_OK
	                             : add_memory(raw32_load(p + 2), raw64_load(p + 8), raw64_load(p + 16));
}

static void forget(void)
{
	numa = (struct numa){.nodes = 0};
	for (unsigned a = 0; a < NODES_MAX; a++)
		for (unsigned b = 0; b < NODES_MAX; b++)
			numa.distance[a][b] = a == b ? LOCAL : FAR;
}

int numa_parse_srat(const uint8_t *table, uint32_t bytes)
{
	int e = bytes < SRAT_HEADER ? E_INVAL : E_OK;
	forget();
	for (uint32_t at = SRAT_HEADER; e == E_OK && at < bytes;) {
		const uint8_t *p = table + at;
		if (bytes - at < 2 || p[1] < 2 || p[1] > bytes - at) {
			e = E_INVAL;
			break;
		}
		e = parse_entry(p, p[1]);
		at += p[1];
	}
	if (e != E_OK)
		forget();
	return e;
}

int numa_parse_slit(const uint8_t *table, uint32_t bytes)
{
	uint64_t count = bytes < SLIT_HEADER ? 0 : raw64_load(table + 36);
	if (count == 0 || count > UINT32_MAX || count * count > bytes - SLIT_HEADER)
		return E_INVAL;
	for (unsigned a = 0; a < numa.nodes; a++)
		for (unsigned b = 0; b < numa.nodes; b++)
			if (a != b && numa.domain[a] < count && numa.domain[b] < count)
				numa.distance[a][b] = table[SLIT_HEADER + numa.domain[a] * count + numa.domain[b]];
	return E_OK;
}

unsigned numa_nodes(void) { return numa.nodes ? numa.nodes : 1; }

unsigned numa_node_of_core(uint32_t apic_id)
{
	for (unsigned i = 0; i < numa.cores; i++)
		if (numa.core[i].apic_id == apic_id)
			return numa.core[i].node;
	return 0;
}

unsigned numa_node_of_memory(uint64_t phys)
{
	for (unsigned i = 0; i < numa.ranges; i++)
		if (phys >= numa.range[i].start && phys < numa.range[i].end)
			return numa.range[i].node;
	return numa.nodes ? NUMA_NONE : 0;
}

/* True if a is nearer to `node` than b. The node itself is nearest, whatever the table says. */
static bool nearer(unsigned node, unsigned a, unsigned b)
{
	if (a == node || b == node)
		return a == node && b != node;
	const uint8_t *d = numa.distance[node];
	return d[a] < d[b] || (d[a] == d[b] && a < b);
}

unsigned numa_nearest(unsigned node, unsigned n)
{
	for (unsigned a = 0; a < numa.nodes; a++) {
		unsigned before = 0;
		for (unsigned b = 0; b < numa.nodes; b++)
			before += nearer(node, b, a);
		if (before == n)
			return a;
	}
	return node;
}

uint64_t numa_border(unsigned n)
{
	return n / 2 >= numa.ranges ? UINT64_MAX : n % 2 ? numa.range[n / 2].end : numa.range[n / 2].start;
}
