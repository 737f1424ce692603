/*
 * kernel/shares: the memory of small and large machines, contiguous and full of holes. Every piece
 * lies in memory that the firmware lists, no two overlap, and enough pages remain for the tables of
 * the address spaces, as kernel/partition.c maps them.
 */
#include "tests/unit/rig/host.h"

#include "abi/boot_info.h"
#include "kernel/vm.h"

/* partition_cores clears the headers of regions: all lie here */
static uint8_t header[BOOT_HEADER_BYTES];
static void *host_phys(uint64_t phys)
{
	(void)phys;
	return header;
}
#define vm_phys host_phys
#include "kernel/numa.c"
#include "kernel/partition.c"
#include "kernel/shares.c"
#include "kernel/vm_ram.c"

#define GIB (1024 * MIB)
#define KIB 1024ull
#define IMAGE_BYTES (400 * KIB)
#define PROGRAM_PAGES (600 * KIB) /* for a core: copies of .data and .bss, stack, page tables */
#define CONNECTION_BYTES 536ull   /* struct tcp_conn, and its part of the hash table */
#define PIECES_MAX (2 + 2 * CORES_MAX)
#define TABLES_MAX 4096
#define BOOT_INFO_PHYS (8 * MIB - PAGE_BYTES) /* one page is in one table, the next ones in another */

static struct boot_info info;
struct boot_info *boot_info = &info;
struct core cores[CORES_MAX];
static jmp_buf refused;
static char report[300];    /* from the last panic */
static unsigned pages_left; /* the page after these is missing */
static uint64_t config_bytes; /* of the module */
static struct pci_dev pci[BOOT_PCI_MAX];
static unsigned pci_count;
static uint64_t table[TABLES_MAX]; /* of one address space, by the range they cover */
static unsigned tables;

uint64_t vm_image_bytes(void) { return IMAGE_BYTES; }
uint64_t program_boot_info(void) { return MEMORY_WINDOW + BOOT_INFO_PHYS; }
static bool region_there;
bool regions_overlap(uint64_t at, uint64_t bytes)
{
	return region_there && at == info.core[0].tables && bytes;
}
vm_space_t vm_space_new(void) { return 0; }
void program_map(struct core *c) { (void)c; }

static uint64_t table_key(unsigned shift, uint64_t virt)
{
	return (uint64_t)shift << 57 | virt >> shift;
}

static bool is_there(uint64_t key)
{
	for (unsigned i = tables; i > 0; i--)
		if (table[i - 1] == key)
			return true;
	return false;
}

/* Takes a page for the table of that level, the first time. */
static void need_table(unsigned shift, uint64_t virt)
{
	if (is_there(table_key(shift, virt)))
		return;
	assert_true(tables < TABLES_MAX);
	table[tables++] = table_key(shift, virt);
	if (pages_left-- == 0)
		ram.count = 0;
	vm_take_pages(PAGE_BYTES, "page tables");
}

/* Reads the existing tables as the real one does. */
uint64_t vm_tables_missing(vm_space_t space, uint64_t virt, uint64_t bytes)
{
	uint64_t missing = 0;
	(void)space;
	for (uint64_t at = virt; at < virt + bytes; at = align_down(at, GIB) + GIB) {
		missing += !is_there(table_key(30, at));
		missing += !is_there(table_key(39, at)) && (at == virt || at % (512 * GIB) == 0);
	}
	return missing * PAGE_BYTES;
}

/* The tables that Intel SDM vol. 3A, 4.5 requires: what the real one makes. */
void vm_map(vm_space_t space, uint64_t virt, uint64_t phys, uint64_t bytes, unsigned flags)
{
	(void)space;
	(void)flags;
	assert_true(((virt | phys | bytes) & (PAGE_BYTES - 1)) == 0);
	assert_int_equal(virt % HUGE_BYTES, phys % HUGE_BYTES);
	uint64_t end = virt + bytes;
	for (uint64_t at = virt; at < end; at = align_down(at, GIB) + GIB) {
		need_table(39, at);
		need_table(30, at);
	}
	if (bytes && (virt % HUGE_BYTES || bytes < HUGE_BYTES))
		need_table(21, virt);
	if (bytes && end % HUGE_BYTES)
		need_table(21, end);
}

void pci_map_bars(vm_space_t space, bool all)
{
	(void)all;
	for (unsigned d = 0; d < pci_count; d++)
		for (unsigned b = 0; b < PCI_BARS; b++) {
			uint64_t at = align_down(pci[d].bar[b].addr, PAGE_BYTES);
			vm_map(space, at, at - MMIO_WINDOW, align_up(pci[d].bar[b].bytes, PAGE_BYTES), 0);
		}
}

_Noreturn void panic(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(report, sizeof report, format, args);
	va_end(args);
	longjmp(refused, 1);
}

/* Discards the previous machine, and starts one with `n` cores up to where its memory is
 * divided. */
static void boot_with(const struct boot *boot, unsigned n)
{
	memset(&info, 0, sizeof info);
	memset(&ram, 0, sizeof ram);
	pages_left = UINT32_MAX;
	total_bytes = ram_tables_bytes = 0;
	info.cores = n;
	info.first_data_core = n > 1;
	info.data_cores = n > 1 ? n - 1 : 1;
	info.config = MEMORY_WINDOW + boot->module.start;
	info.config_bytes = config_bytes;
	info.pci_count = pci_count;
	memcpy(info.pci, pci, sizeof pci);
	vm_ram_init(boot);
	vm_ram_learn_nodes();
	for (unsigned i = 0; i < n; i++)
		info.core[i].node = numa_node_of_core(i);
	for (unsigned i = 0; i < n; i++)
		vm_take_pages(PROGRAM_PAGES, "a program");
}

/* As QEMU's q35 lists it: a little below 1 MiB, and a hole below 4 GiB for the devices. */
static struct boot machine(uint64_t bytes)
{
	uint64_t low = bytes < 2816 * MIB ? bytes : 2 * GIB;
	struct boot b = {.ram = {{0, 636 * KIB}, {MIB, low - 128 * KIB}}, .ram_count = 2};
	if (bytes > low)
		b.ram[b.ram_count++] = (struct boot_range){4 * GIB, 4 * GIB + bytes - low};
	return b;
}

static struct boot_range piece[PIECES_MAX];
static unsigned pieces;
static uint64_t left; /* unassigned bytes */

static void add_piece(const struct boot *b, uint64_t window_addr, uint64_t bytes)
{
	uint64_t start = window_addr - MEMORY_WINDOW, end = start + bytes;
	bool listed = false;
	assert_true(bytes > 0 && start % HUGE_BYTES == 0 && bytes % HUGE_BYTES == 0);
	for (unsigned i = 0; i < b->ram_count; i++)
		listed |= start >= b->ram[i].start && end <= b->ram[i].end;
	assert_true(listed && start >= MIB + IMAGE_BYTES);
	if (!info.config_left_out)
		assert_true(end <= b->module.start || start >= b->module.end);
	for (unsigned i = 0; i < pieces; i++)
		assert_true(end <= piece[i].start || start >= piece[i].end);
	piece[pieces++] = (struct boot_range){start, end};
}

static void check(const struct boot *b)
{
	pieces = 0;
	add_piece(b, info.published, info.published_bytes);
	add_piece(b, info.core[0].tables, info.core[0].tables_bytes);
	assert_int_equal(info.core[0].tables, info.published + info.published_bytes);
	assert_int_equal(info.core[0].roles, info.cores == 1 ? CORE_CONTROL | CORE_DATA : CORE_CONTROL);
	for (unsigned i = 0; i < info.cores; i++) {
		const struct core_memory *m = &info.core[i];
		add_piece(b, m->shm, m->shm_bytes);
		if (!(m->roles & CORE_DATA)) {
			assert_int_equal(m->arena_bytes, 0);
			continue;
		}
		add_piece(b, m->arena, m->arena_bytes);
		assert_true(m->arena_bytes >= SHARE_LOW && m->arena_bytes <= ARENA_HIGH);
		assert_int_equal(m->arena_bytes, info.core[info.first_data_core].arena_bytes);
	}
	left = vm_free();
	if (setjmp(refused))
		fail_msg("no pages are left for the address spaces");
	for (unsigned i = 0; i < info.cores; i++) {
		cores[i].id = i;
		tables = 0;
		map_windows(&cores[i]);
		assert_true(tables * PAGE_BYTES <= tables_bytes());
	}
}

/* Bytes in an arena; 0: the machine was refused. */
static uint64_t divide(const struct boot *b, unsigned n)
{
	if (setjmp(refused))
		return 0;
	boot_with(b, n);
	shares_take(b);
	check(b);
	return info.core[info.first_data_core].arena_bytes;
}

static uint64_t arena_of(uint64_t bytes, unsigned n)
{
	struct boot b = machine(bytes);
	return divide(&b, n);
}

static void small(void **s)
{
	(void)s;
	assert_true(arena_of(64 * MIB, 1) >= 32 * MIB);
	assert_true(arena_of(64 * MIB, 2) >= 32 * MIB);
	assert_true(arena_of(128 * MIB, 4) >= 20 * MIB);
	assert_int_equal(arena_of(32 * MIB, 1), 0);
	assert_int_equal(arena_of(64 * MIB, 16), 0);
}

/* docs/performance.md, TCP and UDP: a million idle connections in a guest of 1 GiB, and 96 MiB of buffers. */
static void million(void **s)
{
	(void)s;
	assert_true(arena_of(1 * GIB, 2) >= 1000000 * CONNECTION_BYTES + 96 * MIB);
	assert_true(arena_of(1 * GIB, 1) >= 1000000 * CONNECTION_BYTES + 96 * MIB);
}

static void large(void **s)
{
	(void)s;
	assert_int_equal(arena_of(64 * GIB, 2), ARENA_HIGH);
	assert_true(arena_of(64 * GIB, 64) >= 900 * MIB);
	assert_int_equal(info.published_bytes + info.core[0].tables_bytes, 2 * SHARE_HIGH);
	assert_true(arena_of(1024 * GIB, 64) == ARENA_HIGH);
}

/* A module of 500 MiB fits twice beside its text's tables; a small one takes nothing from the
 * arena. */
static void module_room(void **s)
{
	(void)s;
	struct boot b = machine(6 * GIB);
	b.module = (struct boot_range){GIB, GIB + 500 * MIB + 17};
	uint64_t without = divide(&b, 2), own = info.core[0].tables_bytes;
	config_bytes = 500 * MIB + 17;
	assert_true(divide(&b, 2) > 0);
	assert_int_equal(info.core[0].tables_bytes, own + 1000 * MIB + TEXT_HIGH);
	config_bytes = HUGE_BYTES - 1;
	assert_int_equal(divide(&b, 2), without);
	config_bytes = 0;
}

/* A machine of that many MiB with a module of that many at its end, as QEMU places it; returns the
 * bytes for tables and published memory. */
static uint64_t with_module(uint64_t mib, uint64_t module, unsigned n)
{
	struct boot b = machine(mib * MIB);
	config_bytes = module * MIB;
	b.module = (struct boot_range){(mib - 1 - module) * MIB, (mib - 1) * MIB};
	const bool there = divide(&b, n) > 0;
	config_bytes = 0;
	return there ? info.published_bytes + info.core[0].tables_bytes : 0;
}

/* A text of 34 MiB gets all it can use where there is much memory, and nearly all there is where
 * there is little. In the end the machine runs without it, in the memory where it was. */
static void module_in_little(void **s)
{
	(void)s;
	assert_int_equal(with_module(1024, 34, 2) / MIB, 2 * 128 + 3 * 34);
	assert_int_equal(info.config_left_out, 0);
	assert_true(with_module(192, 34, 2) >= 128 * MIB);
	assert_true(info.config_left_out == 0 && info.config_bytes == 34 * MIB);
	assert_true(with_module(96, 34, 2) >= 32 * MIB && info.config_left_out == 0);
	for (unsigned mib = 40; mib < 70; mib++) {
		uint64_t control = with_module(mib, 34, 2);
		if (control == 0)
			continue;
		assert_int_equal(info.config_left_out, 34 * MIB);
		assert_true(info.config == 0 && info.config_bytes == 0);
	}
	assert_int_equal(with_module(64, 34, 2), CONTROL_LEAST);
	assert_true(info.core[1].arena_bytes >= 34 * MIB); /* only the module's memory is that large */
	assert_int_equal(with_module(40, 34, 2), CONTROL_LEAST);
	assert_int_equal(with_module(39, 34, 8), 0);
}

/* The control core lets the others read more and more of its own memory. */
static void sharing(void **s)
{
	(void)s;
	assert_true(arena_of(256 * MIB, 3) > 0);
	const uint64_t end = info.core[0].tables + info.core[0].tables_bytes;
	const uint64_t at = info.published_bytes, all = info.core[0].tables_bytes;
	const uint64_t bad[] = {0, 1, PAGE_BYTES, HUGE_BYTES + PAGE_BYTES, all, all + HUGE_BYTES,
	                        UINT64_MAX & ~(HUGE_BYTES - 1)};
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(partition_share(bad[i]), E_INVAL);
	assert_int_equal(info.published_bytes, at);
	region_there = true;
	assert_int_equal(partition_share(3 * HUGE_BYTES), E_INVAL);
	region_there = false;
	assert_int_equal(partition_share(3 * HUGE_BYTES), E_OK);
	assert_int_equal(partition_share(all - 4 * HUGE_BYTES), E_OK);
	assert_int_equal(info.published_bytes, at + all - HUGE_BYTES);
	assert_int_equal(info.core[0].tables, info.published + info.published_bytes);
	assert_int_equal(info.core[0].tables + info.core[0].tables_bytes, end);
	assert_int_equal(partition_share(HUGE_BYTES), E_INVAL);
}

/* The n-th page for the tables of the address spaces is missing: the panic says what it was for.
 * Returns how many were needed; 0: that one. */
static unsigned without_page(unsigned n, unsigned cores_total)
{
	const struct boot b = machine(256 * MIB);
	boot_with(&b, cores_total);
	shares_take(&b);
	pages_left = n;
	tables = 0;
	if (setjmp(refused))
		return 0;
	for (unsigned i = 0; i < cores_total; i++) {
		cores[i].id = i;
		tables = 0;
		map_windows(&cores[i]);
	}
	return n - pages_left;
}

static void page_is_missing(void **s)
{
	(void)s;
	for (unsigned n = 1; n <= 4; n++) {
		unsigned wanted = 0;
		while (!without_page(wanted, n)) {
			assert_non_null(strstr(report, "no 4 KiB in one piece for page tables"));
			report[0] = 0;
			wanted++;
		}
		assert_true(wanted >= 2 * n);
	}
}

/* A page for a data core's view of shared memory is missing, too: sharing is refused until there is
 * one. */
static void page_for_sharing_is_missing(void **s)
{
	(void)s;
	assert_true(arena_of(4 * GIB, 2) > 0);
	const struct ram all = ram;
	const struct core_memory before = info.core[0];
	const uint64_t bytes = align_down(before.tables_bytes - 1, HUGE_BYTES);
	tables = 0; /* of a core that has mapped nothing yet */
	const uint64_t wanted = vm_tables_missing(0, before.tables, bytes);
	assert_true(wanted >= 2 * PAGE_BYTES);
	for (uint64_t have = 0; have < wanted; have += PAGE_BYTES) {
		ram.count = 1;
		ram.range[0] = (struct boot_range){16 * MIB, 16 * MIB + have};
		assert_int_equal(partition_share(bytes), E_NOMEM);
		assert_memory_equal(&info.core[0], &before, sizeof before);
		assert_int_equal(tables, 0);
	}
	ram.range[0].end = 16 * MIB + wanted;
	assert_int_equal(partition_share(bytes), E_OK);
	assert_int_equal(vm_free(), 0);
	assert_int_equal(info.core[0].tables_bytes, before.tables_bytes - bytes);
	ram = all;
}

/* No memory is idle except for what is kept for page tables, and what does not make a page for
 * each. */
static void whole(void **s)
{
	(void)s;
	for (uint64_t mib = 128; mib <= 2560; mib += 97)
		for (unsigned n = 1; n <= 4; n++) {
			assert_true(arena_of(mib * MIB, n) > 0);
			assert_true(left < n * (64 * KIB + HUGE_BYTES) + 2 * HUGE_BYTES);
		}
}

/* 64 functions, each BAR in a GiB of its own and across 2 MiB: 24 MiB of tables for four cores. */
static void page_tables(void **s)
{
	(void)s;
	pci_count = BOOT_PCI_MAX;
	for (unsigned i = 0; i < BOOT_PCI_MAX * PCI_BARS; i++)
		pci[i / PCI_BARS].bar[i % PCI_BARS] = (struct pci_bar){
			MMIO_WINDOW + 16 * GIB + i * GIB + HUGE_BYTES - 64 * KIB, 128 * KIB};
	for (uint64_t mib = 512; mib <= 2560; mib += 509)
		for (unsigned n = 1; n <= 16; n *= 2)
			assert_true(arena_of(mib * MIB, n) > 0);
	assert_int_equal(arena_of(128 * MIB, 8), 0);
	assert_true(arena_of(1024 * GIB, 64) == ARENA_HIGH);
	pci_count = 0;
	memset(pci, 0, sizeof pci);
	for (uint64_t gib = 3; gib <= 300; gib += 33)
		for (unsigned n = 1; n <= CORES_MAX && n <= 21 * gib; n += 9) /* 48 MiB for each */
			assert_true(arena_of(gib * GIB, n) > 0);
}

/* The hole below 4 GiB: one core's arena is the larger half, two cores have one half each. */
static void hole(void **s)
{
	(void)s;
	uint64_t one = arena_of(4 * GIB, 2), two = arena_of(4 * GIB, 3);
	assert_true(one >= 1900 * MIB);
	assert_true(two >= 900 * MIB && two <= one);
}

/* Memory in random pieces, with a configuration in the middle: divided correctly or refused. A
 * machine with enough memory in one piece is not refused. */
static void holes(void **s)
{
	unsigned refusals = 0;
	(void)s;
	seed_random("holes");
	for (unsigned round = 0; round < 3000; round++) {
		struct boot b = {.ram_count = 1 + random64() % 12};
		unsigned n = 1 + random64() % 8;
		uint64_t at = MIB, largest = 0;
		for (unsigned i = 0; i < b.ram_count; i++) {
			uint64_t bytes = (i ? 0 : 16 * MIB) + random64() % (1 + (random64() & 0x1fffffff));
			b.ram[i] = (struct boot_range){at, at + bytes};
			largest = bytes > largest ? bytes : largest;
			at += bytes + 4096 + random64() % (64 * MIB);
		}
		b.module.start = b.ram[0].start + 8 * MIB;
		b.module.end = b.module.start + random64() % (4 * MIB);
		uint64_t arena = divide(&b, n);
		refusals += arena == 0;
		if (arena == 0)
			assert_true(largest < total_bytes / 2 + (64 + 16 * n) * MIB);
	}
	print_message("%u of 3000 machines refused\n", refusals);
}

/* Core i is on node i % nodes. Memory of node k ends at end[k], and begins where that of node k - 1 ends. */
static void make_nodes(unsigned nodes, const uint64_t *end, unsigned count)
{
	forget();
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(add_core(i % nodes, i), E_OK);
	for (unsigned k = 0; k < nodes; k++)
		assert_int_equal(add_memory(k, k ? end[k - 1] : 0, end[k] - (k ? end[k - 1] : 0)), E_OK);
}

static unsigned node_at(uint64_t window) { return numa_node_of_memory(window - MEMORY_WINDOW); }

/* Every core's memory is on its node, from the first byte to the last. */
static void near(void **s)
{
	(void)s;
	for (unsigned nodes = 2; nodes <= 4; nodes++) {
		uint64_t end[4];
		for (unsigned k = 0; k < nodes; k++)
			end[k] = 2 * GIB + (k + 1) * 4 * GIB; /* node 0 has the hole */
		make_nodes(nodes, end, 9);
		assert_true(arena_of(nodes * 4 * GIB, 9) >= 512 * MIB);
		for (unsigned i = 0; i < 9; i++) {
			const struct core_memory *m = &info.core[i];
			assert_int_equal(m->node, i % nodes);
			assert_int_equal(node_at(m->shm), m->node);
			assert_int_equal(node_at(m->shm + m->shm_bytes - 1), m->node);
			assert_int_equal(m->arena_node, m->node);
			if (i > 0) {
				assert_int_equal(node_at(m->arena), m->node);
				assert_int_equal(node_at(m->arena + m->arena_bytes - 1), m->node);
			}
		}
		assert_int_equal(node_at(info.published), 0);
		uint64_t sum = 0;
		for (unsigned k = 0; k < nodes; k++)
			sum += vm_node_bytes(k);
		assert_true(sum <= total_bytes && sum > total_bytes - 2 * MIB);
	}
	forget();
}

/* A node without memory, or with little: its cores take the nearest other node's, and arenas are as large as
 * without nodes. */
static void far_from_memory(void **s)
{
	(void)s;
	uint64_t alone = arena_of(8 * GIB, 4);
	for (uint64_t little = 0; little <= 64 * MIB; little += 64 * MIB) {
		uint64_t end[3] = {6 * GIB, 6 * GIB + little, 10 * GIB};
		make_nodes(3, end, 4);
		numa.distance[1][0] = 30; /* node 2 is nearer to node 1 */
		assert_true(arena_of(8 * GIB, 4) >= alone / 2);
		assert_int_equal(info.core[1].node, 1);
		assert_int_equal(info.core[1].arena_node, 2);
		assert_int_equal(info.core[2].arena_node, 2);
		assert_int_equal(info.core[3].arena_node, 0);
	}
	forget();
}

/* Divides a machine where core i is on node on[i] of three; node n has gib[n] GiB. Returns the node of
 * published memory. Node 2 is nearest to node 0. */
static unsigned published_on(const unsigned *on, unsigned count, const unsigned *gib)
{
	uint64_t at = 0, bytes = 0;
	forget();
	for (unsigned n = 0; n < 3; n++) {
		const uint64_t end = at + gib[n] * GIB + (n == 0 ? 2 * GIB : 0); /* node 0 has the hole */
		assert_int_equal(node_of(n), n);
		assert_int_equal(add_memory(n, at, end - at), E_OK);
		at = end;
		bytes += gib[n] * GIB;
	}
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(add_core(on[i], i), E_OK);
	numa.distance[0][2] = 15;
	assert_true(arena_of(bytes, count) > 0);
	const unsigned node = node_at(info.published);
	assert_int_equal(node_at(info.core[0].tables + info.core[0].tables_bytes - 1), node);
	if (count > 1)
		assert_int_equal(info.core[0].arena_node, node);
	assert_int_equal(node_at(info.core[0].shm), on[0]);
	return node;
}

/* Every arena lies on its core's node. */
static bool arenas_are_near(void)
{
	bool near = true;
	for (unsigned i = info.first_data_core; i < info.cores; i++)
		near &= node_at(info.core[i].arena) == info.core[i].node;
	return near;
}

/* Published memory lies where most data cores are; where the numbers are equal, at the control core, and then
 * at the nearest. */
static void near_readers(void **s)
{
	static const struct {
		unsigned on[8], cores, node;
	} machine_of[] = {
		{{0, 1}, 2, 1}, /* nobody reads it at the control core */
		{{0, 1, 1}, 3, 1},
		{{0, 0, 1}, 3, 0},
		{{0, 0, 1, 1}, 4, 0}, /* the control core decides */
		{{0, 0, 1, 1, 1}, 5, 1},
		{{0, 1, 2}, 3, 2}, /* the nearest */
		{{0, 1, 1, 2, 2}, 5, 2},
		{{0, 1, 1, 1, 2, 2}, 6, 1},
		{{0, 0, 0, 1, 1, 2, 2, 2}, 8, 0},
		{{1, 1, 0, 0, 0}, 5, 0},
		{{2, 2, 2, 0, 0, 1, 1}, 7, 2},
		{{1}, 1, 1}, /* one CPU */
	};
	static const unsigned gib[] = {32, 32, 32};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(machine_of); i++) {
		assert_int_equal(published_on(machine_of[i].on, machine_of[i].cores, gib), machine_of[i].node);
		assert_true(arenas_are_near());
	}
	forget();
}

/* Published memory does not drive out the packets. Three arenas are near with 7 GiB, a little more than half of
 * their equal shares (rule 3); only the eighth GiB makes room for published memory beside them. */
static void packets_first(void **s)
{
	static const unsigned on[] = {0, 1, 1, 1};
	(void)s;
	for (unsigned there = 1; there <= 8; there++) {
		const unsigned gib[] = {8, there, 8};
		const unsigned node = published_on(on, 4, gib);
		assert_int_equal(arenas_are_near(), there >= 7);
		assert_int_equal(node, there >= 8 ? 1 : 0);
	}
	forget();
}

/* The readers' node has room for arenas, but for no piece as large as published memory and the tables: these stay at
 * the control core, not at the node that is nearest to the readers. */
static void readers_without_room(void **s)
{
	const struct boot b = {.ram = {{MIB, 40 * MIB}, {48 * MIB, 60 * MIB}, {64 * MIB, 76 * MIB}, {80 * MIB, 92 * MIB},
	                               {96 * MIB, 108 * MIB}, {112 * MIB, 152 * MIB}}, .ram_count = 6};
	(void)s;
	forget();
	assert_int_equal(add_memory(0, 0, 48 * MIB), E_OK);
	assert_int_equal(add_memory(1, 48 * MIB, 64 * MIB), E_OK);
	assert_int_equal(add_memory(2, 112 * MIB, 40 * MIB), E_OK);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(add_core(i > 0, i), E_OK);
	numa.distance[1][2] = 15;
	assert_true(divide(&b, 3) > 0);
	assert_int_equal(node_at(info.published), 0);
	assert_true(arenas_are_near());
	forget();
}

/* A core's node is that of its APIC ID; the headers are cleared; the module is the configuration. */
static void nodes_of_cores(void **s)
{
	struct boot b = machine(16 * GIB);
	(void)s;
	b.module = (struct boot_range){GIB, GIB + 5000};
	forget();
	for (unsigned i = 0; i < 4; i++) {
		cores[i] = (struct core){.id = i, .apic_id = 300 - i};
		assert_int_equal(add_core(i % 2, 300 - i), E_OK);
	}
	assert_int_equal(add_memory(0, 0, 8 * GIB), E_OK);
	assert_int_equal(add_memory(1, 8 * GIB, 10 * GIB), E_OK);
	boot_with(&b, 4);
	info.core[1].node = 0; /* of core 1's number, not of its ID */
	memset(header, 0xee, sizeof header);
	tables = 0;
	partition_cores(4, &b);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(info.core[i].node, i % 2);
	assert_true(header[0] == 0 && header[sizeof header - 1] == 0);
	assert_true(info.config == MEMORY_WINDOW + GIB && info.config_bytes == 5000 && info.config_left_out == 0);
	assert_true(info.nodes == 2 && info.node_bytes[1] == 10 * GIB);
	assert_true(info.cores == 4 && info.data_cores == 3 && info.first_data_core == 1);
	assert_true(info.ram_bytes == vm_total() && info.ram_used_bytes == vm_taken());
	forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readers_without_room), cmocka_unit_test(nodes_of_cores),
		cmocka_unit_test(small), cmocka_unit_test(million), cmocka_unit_test(large),
		cmocka_unit_test(whole), cmocka_unit_test(hole),    cmocka_unit_test(holes),
		cmocka_unit_test(module_room), cmocka_unit_test(module_in_little),
		cmocka_unit_test(page_is_missing), cmocka_unit_test(page_for_sharing_is_missing),
		cmocka_unit_test(sharing),     cmocka_unit_test(page_tables), cmocka_unit_test(near),
		cmocka_unit_test(far_from_memory), cmocka_unit_test(near_readers), cmocka_unit_test(packets_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
