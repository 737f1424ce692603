/*
 * Physical memory (vm.h): the machine's ranges as the loader has them, of which small pieces are
 * taken from the bottom and large ones from the top. Nothing here is looked at through an address,
 * so the unit tests divide machines that nobody has.
 */
#include "kernel/boot.h"
#include "kernel/panic.h"
#include "kernel/vm.h"

#define LOW_MEMORY_END 0x100000ull
#define LOW_PAGE 0x8000ull /* clear of the BIOS data area and the boot sector */

static struct boot_range ram[BOOT_RANGES_MAX + 4]; /* free memory, page aligned */
static unsigned ram_count;
static uint64_t total_bytes, taken_bytes, ram_tables_bytes;
static bool low_page_usable;

static void ram_add(uint64_t start, uint64_t end)
{
	if (start < end && ram_count < ARRAY_LEN(ram))
		ram[ram_count++] = (struct boot_range){start, end};
}

/* Cuts [start, end) out of the free ranges. */
static void ram_reserve(uint64_t start, uint64_t end)
{
	unsigned n = ram_count;
	for (unsigned i = 0; i < n; i++) {
		struct boot_range r = ram[i];
		if (end <= r.start || start >= r.end)
			continue;
		ram[i].end = start > r.start ? start : r.start;
		ram_add(end > r.start ? end : r.start, r.end);
	}
}

void vm_ram_init(const struct boot *boot)
{
	for (unsigned i = 0; i < boot->ram_count; i++) {
		uint64_t start = align_up(boot->ram[i].start, PAGE_BYTES);
		uint64_t end = align_down(boot->ram[i].end, PAGE_BYTES);
		low_page_usable |= start <= LOW_PAGE && end >= LOW_PAGE + PAGE_BYTES;
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
	taken_bytes = vm_image_bytes();
}

uint64_t vm_take_pages(uint64_t bytes)
{
	bytes = align_up(bytes, PAGE_BYTES);
	/* From the bottom of memory: the first page tables must lie where the boot tables reach. */
	struct boot_range *from = NULL;
	for (unsigned i = 0; i < ram_count; i++)
		if (ram[i].end - ram[i].start >= bytes && (!from || ram[i].start < from->start))
			from = &ram[i];
	if (!from)
		panic("out of memory: %llu pages asked for",
		      (unsigned long long)(bytes / PAGE_BYTES));
	uint64_t phys = from->start;
	from->start += bytes;
	taken_bytes += bytes;
	return phys;
}

static uint64_t huge_start(const struct boot_range *r, uint64_t bytes)
{
	uint64_t end = align_down(r->end, HUGE_BYTES);
	return end >= r->start + bytes && end >= bytes ? end - bytes : 0;
}

uint64_t vm_take_huge_pages(uint64_t bytes)
{
	uint64_t best = 0;
	unsigned from = 0;
	for (unsigned i = 0; i < ram_count; i++) {
		uint64_t start = huge_start(&ram[i], bytes);
		if (start > best) {
			best = start;
			from = i;
		}
	}
	if (best == 0)
		return 0;
	uint64_t end = ram[from].end;
	ram[from].end = best;
	ram_add(best + bytes, end);
	taken_bytes += bytes;
	return best;
}

/* How often vm_take_huge_pages(bytes) would find some: what it takes off a range's end leaves the
 * others of that range as they were. */
static uint64_t huge_pieces(uint64_t bytes)
{
	uint64_t n = 0;
	for (unsigned i = 0; i < ram_count; i++) {
		uint64_t start = align_up(ram[i].start, HUGE_BYTES);
		uint64_t end = align_down(ram[i].end, HUGE_BYTES);
		n += end > start ? (end - start) / bytes : 0;
	}
	return n;
}

uint64_t vm_huge_share(unsigned pieces, uint64_t most)
{
	uint64_t fits = 0, step = 1; /* 2 MiB pages */
	while (step * 2 <= most / HUGE_BYTES)
		step *= 2;
	for (; step; step /= 2)
		if (fits + step <= most / HUGE_BYTES && huge_pieces((fits + step) * HUGE_BYTES) >= pieces)
			fits += step;
	return fits * HUGE_BYTES;
}

uint64_t vm_free(void)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < ram_count; i++)
		bytes += ram[i].end - ram[i].start;
	return bytes;
}

uint64_t vm_low_page(void)
{
	if (!low_page_usable)
		panic("no usable page at 0x8000 for starting the other cores");
	return LOW_PAGE;
}

uint64_t vm_ram_tables_bytes(void) { return ram_tables_bytes; }
uint64_t vm_total(void) { return total_bytes; }
uint64_t vm_taken(void) { return taken_bytes; }
