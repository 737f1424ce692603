/* See iomap.h. */
#include "kernel/iomap.h"

#include "abi/layout.h"
#include "kernel/cpu.h"
#include "kernel/vm.h"
#include "lib/assert.h"

#define LEVEL_ADDR 0x000ffffffffff000ull

static struct {
	const struct iomap_format *format;
	uint64_t start, next, end;
	unsigned maps;
	uint64_t top[BOOT_PCI_MAX];
} mem;

uint64_t iomap_bytes(unsigned maps, unsigned more)
{
	return maps * (PAGE_BYTES + vm_ram_tables_bytes()) + more * PAGE_BYTES;
}

uint64_t iomap_page(void)
{
	assert(mem.next < mem.end);
	mem.next += PAGE_BYTES;
	return mem.next - PAGE_BYTES;
}

void iomap_init(const struct iomap_format *format, unsigned maps, uint64_t at, uint64_t bytes)
{
	assert(maps <= BOOT_PCI_MAX);
	mem.start = mem.next = at;
	mem.end = at + align_up(bytes, PAGE_BYTES);
	mem.format = format;
	mem.maps = maps;
	for (unsigned n = 0; n < maps; n++)
		mem.top[n] = iomap_page();
}

/* The table below an entry, of this level; it is created if the entry is empty. */
static uint64_t *below(uint64_t *entry, unsigned level)
{
	if (*entry == 0)
		*entry = iomap_page() | mem.format->table[level];
	return vm_phys(*entry & LEVEL_ADDR);
}

void iomap_add(uint64_t window, uint64_t bytes)
{
	const uint64_t begin = window - MEMORY_WINDOW;
	assert(((begin | bytes) & (HUGE_BYTES - 1)) == 0);
	for (unsigned n = 0; n < mem.maps; n++)
		for (uint64_t phys = begin; phys < begin + bytes; phys += HUGE_BYTES) {
			uint64_t *top = vm_phys(mem.top[n]);
			uint64_t *t = below(&top[phys >> 39 & 511], 3);
			t = below(&t[phys >> 30 & 511], 2);
			t[phys >> 21 & 511] = phys | mem.format->leaf;
		}
}

/* The entry of a page that was added. */
static uint64_t *leaf(unsigned map, uint64_t phys)
{
	uint64_t *t = vm_phys(mem.top[map]);
	t = vm_phys(t[phys >> 39 & 511] & LEVEL_ADDR);
	t = vm_phys(t[phys >> 30 & 511] & LEVEL_ADDR);
	return &t[phys >> 21 & 511];
}

void iomap_set(unsigned map, uint64_t window, uint64_t bytes, enum iomap_access access)
{
	const uint64_t bits = mem.format->leaf & ~(access == IOMAP_READ ? mem.format->writes : 0);
	uint64_t phys = window - MEMORY_WINDOW;
	for (uint64_t end = phys + bytes; phys < end; phys += HUGE_BYTES) {
		uint64_t *e = leaf(map, phys);
		*e = access == IOMAP_NONE ? 0 : phys | bits;
		cpu_flush(e, sizeof *e);
	}
}

uint64_t iomap_top(unsigned map, bool wide)
{
	const uint64_t *top = vm_phys(mem.top[map]);
	return wide ? mem.top[map] : top[0] & LEVEL_ADDR;
}

/* Units that are not coherent (VT-d, 10.4.3, C) bypass the caches when they read tables. */
void iomap_flush(void)
{
	cpu_flush(vm_phys(mem.start), mem.next - mem.start);
}
