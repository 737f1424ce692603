/*
 * Physical memory (vm.h): the ranges in the loader's map. Small pieces are taken from the bottom, large
 * ones from the top. This code does not access the memory, so the unit tests can divide machines of
 * any kind.
 */
#include "kernel/boot.h"
#include "kernel/numa.h"
#include "kernel/panic.h"
#include "kernel/vm.h"

#define LOW_MEMORY_END 0x100000ull
#define LOW_PAGE_FIRST 0x1000ull /* behind the BIOS data area */
#define LOW_PAGES_END 0xa0000ull /* start-up IPIs have no vectors A0 to BF */

static struct ram {
	struct boot_range range[4 * BOOT_RANGES_MAX]; /* free memory, page aligned */
	unsigned count;
	uint64_t taken_bytes; /* memory that is no longer free */
} ram, marked;
static uint64_t total_bytes, module_bytes, ram_tables_bytes;
static uint64_t low_page; /* 0: there is none */
static uint64_t node_bytes[NODES_MAX];
#define ANY_NODE NUMA_NONE

static void ram_add(uint64_t start, uint64_t end)
{
	if (start < end && ram.count < ARRAY_LEN(ram.range))
		ram.range[ram.count++] = (struct boot_range){start, end};
}

/* Cuts [start, end) out of the free ranges. */
static void ram_reserve(uint64_t start, uint64_t end)
{
	unsigned n = ram.count;
	for (unsigned i = 0; i < n; i++) {
		struct boot_range r = ram.range[i];
		if (end <= r.start || start >= r.end)
			continue;
		ram.range[i].end = start > r.start ? start : r.start;
		ram_add(end > r.start ? end : r.start, r.end);
	}
}

static bool is_free_below(const struct boot *boot, uint64_t page)
{
	const struct boot_range *m = &boot->module;
	bool usable = false;
	for (unsigned i = 0; i < boot->ram_count; i++)
		usable |= boot->ram[i].start <= page && page + PAGE_BYTES <= boot->ram[i].end;
	return usable && (page >= m->end || m->start >= page + PAGE_BYTES);
}

/* VM_LOW_PAGE if it is free: GRUB may put the module there. */
static uint64_t choose_low_page(const struct boot *boot)
{
	if (is_free_below(boot, VM_LOW_PAGE))
		return VM_LOW_PAGE;
	for (uint64_t page = LOW_PAGE_FIRST; page < LOW_PAGES_END; page += PAGE_BYTES)
		if (is_free_below(boot, page))
			return page;
	return 0;
}

void vm_ram_init(const struct boot *boot)
{
	low_page = choose_low_page(boot);
	for (unsigned i = 0; i < boot->ram_count; i++) {
		uint64_t start = align_up(boot->ram[i].start, PAGE_BYTES);
		uint64_t end = align_down(boot->ram[i].end, PAGE_BYTES);
		start = start < LOW_MEMORY_END ? LOW_MEMORY_END : start;
		if (start >= end)
			continue;
		ram_add(start, end);
		total_bytes += end - start;
		uint64_t whole = align_down(start, HUGE_BYTES);
		ram_tables_bytes += vm_tables_bytes(whole, align_up(end, HUGE_BYTES) - whole);
	}
	ram_reserve(VM_IMAGE_PHYS, VM_IMAGE_PHYS + vm_image_bytes());
	ram_reserve(align_down(boot->module.start, PAGE_BYTES),
	            align_up(boot->module.end, PAGE_BYTES));
	module_bytes = boot->module.end - boot->module.start;
	ram.taken_bytes = vm_image_bytes();
}

void vm_refuse(uint64_t bytes, const char *what)
{
	panic("not enough memory: no %llu KiB in one piece for %s; of %llu MiB the boot module has %llu "
	      "and %llu are in use; give the machine more, or use fewer cores (cores=N)",
	      (unsigned long long)(bytes >> 10), what, (unsigned long long)(total_bytes >> 20),
	      (unsigned long long)(align_up(module_bytes, 1u << 20) >> 20),
	      (unsigned long long)(ram.taken_bytes >> 20));
}

void vm_ram_mark(void) { marked = ram; }
void vm_ram_rewind(void) { ram = marked; }

/* Adds a range and merges it with adjacent ones, because memory is taken in one piece. */
static void ram_join(uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < ram.count; i++) {
		struct boot_range *r = &ram.range[i];
		if (r->start == r->end || (r->end != start && r->start != end))
			continue;
		start = r->end == start ? r->start : start;
		end = r->start == end ? r->end : end;
		r->end = r->start;
	}
	ram_add(start, end);
}

void vm_ram_give_module(const struct boot *boot)
{
	const uint64_t start = align_up(boot->module.start, PAGE_BYTES);
	const uint64_t end = align_down(boot->module.end, PAGE_BYTES);
	for (unsigned i = 0; i < boot->ram_count; i++) { /* the module may span several ranges */
		uint64_t from = align_up(boot->ram[i].start, PAGE_BYTES);
		uint64_t to = align_down(boot->ram[i].end, PAGE_BYTES);
		from = from < LOW_MEMORY_END ? LOW_MEMORY_END : from;
		from = from < start ? start : from;
		to = to > end ? end : to;
		if (from < to)
			ram_join(from, to);
	}
	module_bytes = 0;
}

/* True if the range lies on this node. Ranges are divided at the nodes' borders; one that was joined again
 * (vm_ram_give_module) counts by its start. */
static bool is_on(const struct boot_range *r, unsigned node)
{
	return node == ANY_NODE || numa_node_of_memory(r->start) == node;
}

/* From the bottom of memory: the first page tables must lie where the boot tables map. 0: none are left. */
static uint64_t take_low(uint64_t bytes, unsigned node)
{
	struct boot_range *from = NULL;
	for (struct boot_range *r = ram.range; r < ram.range + ram.count; r++)
		if (r->end - r->start >= bytes && (!from || r->start < from->start) && is_on(r, node))
			from = r;
	if (!from)
		return 0;
	uint64_t phys = from->start;
	from->start += bytes;
	ram.taken_bytes += bytes;
	return phys;
}

uint64_t vm_take_pages_near(uint64_t bytes, unsigned node, const char *what)
{
	bytes = align_up(bytes, PAGE_BYTES);
	uint64_t phys = take_low(bytes, node);
	phys = phys ? phys : take_low(bytes, ANY_NODE);
	if (phys == 0)
		vm_refuse(bytes, what);
	return phys;
}

uint64_t vm_take_pages(uint64_t bytes, const char *what)
{
	return vm_take_pages_near(bytes, ANY_NODE, what);
}

/* Divides the free range that contains the address. */
static void divide_at(uint64_t at)
{
	for (unsigned i = 0; i < ram.count; i++) {
		const uint64_t end = ram.range[i].end;
		if (at <= ram.range[i].start || at >= end || ram.count == ARRAY_LEN(ram.range))
			continue;
		ram.range[i].end = at;
		ram_add(at, end);
		return;
	}
}

void vm_ram_learn_nodes(void)
{
	for (unsigned n = 0; numa_border(n) != UINT64_MAX; n++)
		divide_at(align_up(numa_border(n), PAGE_BYTES));
	for (unsigned node = 0; node < NODES_MAX; node++) {
		node_bytes[node] = 0;
		for (unsigned i = 0; i < ram.count; i++)
			if (is_on(&ram.range[i], node))
				node_bytes[node] += ram.range[i].end - ram.range[i].start;
	}
}

static uint64_t huge_start(const struct boot_range *r, uint64_t bytes)
{
	uint64_t end = align_down(r->end, HUGE_BYTES);
	return end >= r->start + bytes && end >= bytes ? end - bytes : 0;
}

static uint64_t take_huge(uint64_t bytes, unsigned node)
{
	uint64_t best = 0;
	unsigned from = 0;
	for (unsigned i = 0; i < ram.count; i++) {
		uint64_t start = is_on(&ram.range[i], node) ? huge_start(&ram.range[i], bytes) : 0;
		if (start > best) {
			best = start;
			from = i;
		}
	}
	if (best == 0)
		return 0;
	uint64_t end = ram.range[from].end;
	ram.range[from].end = best;
	ram_add(best + bytes, end);
	ram.taken_bytes += bytes;
	return best;
}

uint64_t vm_take_huge_pages(uint64_t bytes)
{
	return take_huge(bytes, ANY_NODE);
}

uint64_t vm_take_huge_pages_near(uint64_t bytes, unsigned node)
{
	uint64_t phys = 0;
	for (unsigned n = 0; n < numa_nodes() && phys == 0; n++)
		phys = take_huge(bytes, numa_nearest(node, n));
	return phys ? phys : take_huge(bytes, ANY_NODE); /* memory of no node */
}

/* The number of times that take_huge(bytes, node) can succeed. Each call cuts a piece off the end of
 * a range and leaves the rest usable. */
static uint64_t huge_pieces(uint64_t bytes, unsigned node)
{
	uint64_t n = 0;
	for (unsigned i = 0; i < ram.count; i++) {
		uint64_t start = align_up(ram.range[i].start, HUGE_BYTES);
		uint64_t end = align_down(ram.range[i].end, HUGE_BYTES);
		n += end > start && is_on(&ram.range[i], node) ? (end - start) / bytes : 0;
	}
	return n;
}

uint64_t vm_huge_share_on(unsigned node, unsigned pieces, uint64_t most)
{
	uint64_t fits = 0, step = 1; /* 2 MiB pages */
	while (step * 2 <= most / HUGE_BYTES)
		step *= 2;
	for (; step; step /= 2)
		if (fits + step <= most / HUGE_BYTES && huge_pieces((fits + step) * HUGE_BYTES, node) >= pieces)
			fits += step;
	return fits * HUGE_BYTES;
}

uint64_t vm_huge_share(unsigned pieces, uint64_t most) { return vm_huge_share_on(ANY_NODE, pieces, most); }

uint64_t vm_free(void)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < ram.count; i++)
		bytes += ram.range[i].end - ram.range[i].start;
	return bytes;
}

uint64_t vm_low_page(void) { return low_page; }
uint64_t vm_ram_tables_bytes(void) { return ram_tables_bytes; }
uint64_t vm_node_bytes(unsigned node) { return node_bytes[node]; }
uint64_t vm_total(void) { return total_bytes; }
uint64_t vm_taken(void) { return ram.taken_bytes; }
