/*
 * Divides the memory of the machine, in 2 MiB pages (ARCHITECTURE.md, Address spaces). The kernel
 * does not know the configuration: a router with a million routes needs tables and published
 * memory, a server with a million connections needs arenas. The rules:
 *
 * 1. The control core gets one piece for its tables and published memory. The piece is a quarter of
 *    the memory, 1 GiB at most, plus two to three times the boot module in whole 2 MiB pages. A
 *    router's configuration makes tables twice its size. The traces that a generator replays are laid
 *    out in the published memory (tools/pktgen/frames/replay.h). Published memory starts small; the
 *    control core enlarges it when it knows the size (KCALL_SHARE). If the piece is too large for the
 *    machine, it shrinks. If even the minimum does not fit beside the module, the module is dropped.
 * 2. The data cores share the rest equally. No other program would use it, and untouched memory costs
 *    nothing. Only the page tables' memory is held back.
 * 3. With several NUMA nodes each core's regions lie on its node, if all arenas can be half as large then as
 *    equal shares of all memory, or more; otherwise on the nearest node that has room.
 * 4. Data cores read published memory for every packet. The control core's piece therefore lies on the node
 *    of most readers (readers_node), if the arenas can all lie on the nodes of their cores then.
 * 5. Each region is contiguous in physical memory. The small ones are taken first; the arenas are
 *    then as large as the holes in the machine's memory allow.
 *
 * This code does not access memory: tests/unit/kernel/test_shares.c divides machines of all sizes.
 */
#include "kernel/shares.h"

#include "abi/layout.h"
#include "kernel/core.h"
#include "kernel/numa.h"

#define MIB (1ull << 20)
#define SHARE_LOW (8 * MIB)    /* some 16,000 routes; or the rings of 16 ports and their buffers */
#define SHARE_HIGH (512 * MIB) /* twice as much is more than a million routes take */
#define CONTROL_LEAST (2 * SHARE_LOW)
#define TEXT_HIGH (64 * MIB) /* largest configuration text; a larger module contains captures */
/* About what the largest configurable number of connections (control/config/config_statements.c)
 * and of buffers (runtime/data.c) take together. */
#define ARENA_HIGH (4096 * MIB)

/* An eighth of the memory, within SHARE_LOW and SHARE_HIGH, in whole 2 MiB pages. */
static uint64_t eighth(void)
{
	uint64_t v = vm_total() / 8;
	v = v < SHARE_LOW ? SHARE_LOW : v > SHARE_HIGH ? SHARE_HIGH : v;
	return align_up(v, HUGE_BYTES);
}

/* The first allocation that failed. */
struct want {
	uint64_t bytes;
	const char *what; /* NULL: none failed */
};

/* Takes huge pages near the node and stores their memory window address in *at. Does nothing after a
 * failure. */
static void take(struct want *missing, unsigned node, uint64_t bytes, const char *what, uint64_t *at)
{
	const uint64_t phys = missing->what ? 0 : vm_take_huge_pages_near(bytes, node);
	*at = MEMORY_WINDOW + phys;
	if (phys == 0 && !missing->what)
		*missing = (struct want){bytes, what};
}

static void take_shm(struct want *missing, struct core_memory *m)
{
	m->shm_bytes = m->roles & CORE_CONTROL ? 2 * MIB * (1 + boot_info->data_cores) : 0;
	m->shm_bytes += m->roles & CORE_DATA ? 4 * MIB : 0;
	take(missing, m->node, m->shm_bytes, "a core's shared memory", &m->shm);
}

/* Upper bound of the page tables that a core still needs (map_windows, kernel/partition.c). The control
 * core maps nearly all memory. A data core may need fewer tables, but the difference is negligible: all
 * tables of 256 cores are a thousandth of the memory. */
static uint64_t tables_bytes(void)
{
	uint64_t bytes = vm_ram_tables_bytes();
	bytes += vm_tables_bytes((uint64_t)boot_info, sizeof *boot_info);
	bytes += vm_tables_bytes(boot_info->config, boot_info->config_bytes);
	for (unsigned d = 0; d < boot_info->pci_count; d++)
		for (unsigned b = 0; b < PCI_BARS; b++) {
			const struct pci_bar *bar = &boot_info->pci[d].bar[b];
			bytes += vm_tables_bytes(bar->addr, bar->bytes);
		}
	return bytes;
}

static unsigned data_cores_on(unsigned node)
{
	unsigned n = 0;
	for (unsigned i = boot_info->first_data_core; i < boot_info->cores; i++)
		n += boot_info->core[i].node == node;
	return n;
}

/* The node with most data cores; of several, the one nearest to the control core. On the control core's own
 * node this core counts like one more data core, because it writes what they read; if there are no data
 * cores, it does not count. */
static unsigned readers_node(void)
{
	const unsigned own = boot_info->core[0].node;
	unsigned best = own, most = data_cores_on(own);
	most += most > 0;
	for (unsigned n = 1; n < numa_nodes(); n++) {
		const unsigned node = numa_nearest(own, n), readers = data_cores_on(node);
		best = readers > most ? node : best;
		most = readers > most ? readers : most;
	}
	return best;
}

/* The size of arenas that all lie on the nodes of their cores, at most `most` bytes. */
static uint64_t near_bytes(uint64_t most)
{
	for (unsigned node = 0; node < numa_nodes(); node++) {
		const unsigned pieces = data_cores_on(node);
		most = pieces ? vm_huge_share_on(node, pieces, most) : most;
	}
	return most;
}

static uint64_t arena_bytes(void)
{
	uint64_t kept = boot_info->cores * tables_bytes(), free = vm_free();
	uint64_t most = free > kept ? (free - kept) / boot_info->data_cores : 0;
	most = most < ARENA_HIGH ? most : ARENA_HIGH;
	uint64_t equal = vm_huge_share(boot_info->data_cores, most), near = near_bytes(most);
	return near >= equal / 2 ? near : equal;
}

static void take_arenas(struct want *missing)
{
	const uint64_t bytes = arena_bytes();
	if (bytes < SHARE_LOW && !missing->what)
		*missing = (struct want){SHARE_LOW, "a core's packets"};
	for (unsigned i = boot_info->first_data_core; i < boot_info->cores; i++) {
		struct core_memory *m = &boot_info->core[i];
		m->arena_bytes = bytes;
		take(missing, m->node, bytes, "a core's packets", &m->arena);
		m->arena_node = numa_node_of_memory(m->arena - MEMORY_WINDOW);
	}
}

/* Takes all regions, with `control` bytes near `node` for tables and published memory; returns the first
 * failure. */
static struct want take_all(uint64_t control, unsigned node)
{
	struct core_memory *m = boot_info->core;
	struct want missing = {0, NULL};
	take(&missing, node, control, "the tables", &boot_info->published);
	m->arena_node = numa_node_of_memory(boot_info->published - MEMORY_WINDOW);
	boot_info->published_bytes = SHARE_LOW;
	m->tables = boot_info->published + SHARE_LOW;
	m->tables_bytes = control - SHARE_LOW;
	for (unsigned i = 0; i < boot_info->cores; i++) {
		m[i].roles = (i == 0 ? CORE_CONTROL : 0) |
		             (i >= boot_info->first_data_core ? CORE_DATA : 0);
		take_shm(&missing, &m[i]);
	}
	take_arenas(&missing);
	return missing;
}

static uint64_t control_most(void)
{
	const uint64_t module = align_down(boot_info->config_bytes, HUGE_BYTES);
	return 2 * eighth() + 2 * module + (module < TEXT_HIGH ? module : TEXT_HIGH);
}

/* Takes all regions, with as much for the control core as the others' minimum leaves. */
static struct want take_most(unsigned node)
{
	uint64_t control = control_most();
	struct want missing;
	vm_ram_mark();
	while ((missing = take_all(control, node)).what && control > CONTROL_LEAST) {
		vm_ram_rewind();
		control = align_down(control - control / 16 - 1, HUGE_BYTES);
		control = control < CONTROL_LEAST ? CONTROL_LEAST : control;
	}
	return missing;
}

/* Does the control core's piece lie on `node`, and every arena on the node of its core? Several cores. */
static bool all_near(unsigned node)
{
	bool near = boot_info->core[0].arena_node == node;
	for (unsigned i = boot_info->first_data_core; i < boot_info->cores; i++)
		near &= boot_info->core[i].arena_node == boot_info->core[i].node;
	return near;
}

/* take_most, on the readers' node if rule 4 allows it. */
static struct want take_best(void)
{
	const unsigned node = readers_node(), own = boot_info->core[0].node;
	struct want missing = take_most(node);
	if (node == own || (!missing.what && all_near(node)))
		return missing;
	vm_ram_rewind();
	return take_most(own);
}

void shares_take(const struct boot *boot)
{
	struct want missing = take_best();
	if (missing.what && boot_info->config_bytes) {
		vm_ram_rewind();
		boot_info->config_left_out = boot_info->config_bytes;
		boot_info->config = boot_info->config_bytes = 0;
		vm_ram_give_module(boot);
		missing = take_best();
	}
	if (missing.what)
		vm_refuse(missing.bytes, missing.what);
}
