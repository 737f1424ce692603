/* See vm.h; vm_ram.c manages physical memory. Page tables as in Intel SDM vol. 3A, 4.5 (4-level
 * paging). */
#include "kernel/vm.h"

#include "kernel/boot.h"
#include "kernel/cpu.h"
#include "lib/assert.h"
#include "lib/mem.h"

#define PTE_PRESENT (1ull << 0)
#define PTE_WRITE (1ull << 1)
#define PTE_USER (1ull << 2)
#define PTE_PWT (1ull << 3)
#define PTE_PCD (1ull << 4)
#define PTE_LARGE (1ull << 7)
#define PTE_NX (1ull << 63)
#define PTE_ADDR 0x000ffffffffff000ull

extern char kernel_text[], kernel_rodata[], kernel_data[], kernel_end[];
extern uint64_t boot_pdpt[]; /* boot/entry.asm: maps the first 4 GiB */

static uint64_t device_next = DEVICE_BASE;
static uint64_t kernel_pml4[512] __attribute__((aligned(4096)));
uint64_t vm_kernel_space; /* its physical address; boot/ap.asm loads it */

uint64_t vm_image_bytes(void) { return (uint64_t)kernel_end - KERNEL_BASE - VM_IMAGE_PHYS; }

uint64_t vm_take_zeroed_pages(uint64_t bytes, const char *what)
{
	uint64_t phys = vm_take_pages(bytes, what);
	memset(vm_phys(phys), 0, align_up(bytes, PAGE_BYTES));
	return phys;
}

/* --- page tables --- */

static uint64_t pte_bits(unsigned flags)
{
	return PTE_PRESENT | (flags & VM_WRITE ? PTE_WRITE : 0) | (flags & VM_USER ? PTE_USER : 0) |
	       (flags & VM_DEVICE ? PTE_PCD | PTE_PWT : flags & VM_COMBINE ? PTE_PWT : 0) | (flags & VM_EXEC ? 0 : PTE_NX);
}

/* The table below entry *e; it is created if absent. Only the last level restricts access rights. */
static uint64_t *table_below(uint64_t *e, unsigned flags)
{
	if (!(*e & PTE_PRESENT))
		*e = vm_take_zeroed_pages(PAGE_BYTES, "page tables") | PTE_PRESENT | PTE_WRITE;
	assert(!(*e & PTE_LARGE));
	if (flags & VM_USER)
		*e |= PTE_USER;
	return vm_phys(*e & PTE_ADDR);
}

/* Fills consecutive entries of one table, `count` at most; returns the number filled. */
static size_t fill(uint64_t *table, unsigned first, size_t count, uint64_t entry, uint64_t step)
{
	size_t room = 512 - first;
	size_t n = count < room ? count : room;
	for (size_t i = 0; i < n; i++, entry += step)
		table[first + i] = entry;
	return n;
}

void vm_map(vm_space_t space, uint64_t virt, uint64_t phys, uint64_t bytes, unsigned flags)
{
	assert(((virt | phys | bytes) & (PAGE_BYTES - 1)) == 0);
	uint64_t bits = pte_bits(flags);
	while (bytes) {
		uint64_t *t = vm_phys(space), step = HUGE_BYTES;
		size_t n;
		t = table_below(&t[virt >> 39 & 511], flags);
		t = table_below(&t[virt >> 30 & 511], flags);
		unsigned i = virt >> 21 & 511;
		if (((virt | phys) & (HUGE_BYTES - 1)) == 0 && bytes >= HUGE_BYTES) {
			n = fill(t, i, bytes / HUGE_BYTES, phys | bits | PTE_LARGE, HUGE_BYTES);
		} else {
			uint64_t to_next = (HUGE_BYTES - (virt & (HUGE_BYTES - 1))) / PAGE_BYTES;
			size_t pages = bytes / PAGE_BYTES < to_next ? bytes / PAGE_BYTES : to_next;
			step = PAGE_BYTES;
			n = fill(table_below(&t[i], flags), virt >> 12 & 511, pages, phys | bits, step);
		}
		virt += n * step;
		phys += n * step;
		bytes -= n * step;
	}
}

/* The entry of the 2 MiB page at virt, which exists. */
static uint64_t *huge_entry(vm_space_t space, uint64_t virt)
{
	uint64_t *t = vm_phys(space);
	for (unsigned shift = 39; shift > 21; shift -= 9) {
		uint64_t e = t[virt >> shift & 511];
		assert(e & PTE_PRESENT && !(e & PTE_LARGE));
		t = vm_phys(e & PTE_ADDR);
	}
	t += virt >> 21 & 511;
	assert(*t & PTE_PRESENT && *t & PTE_LARGE);
	return t;
}

void vm_change(vm_space_t space, uint64_t virt, uint64_t bytes, unsigned flags)
{
	assert(((virt | bytes) & (HUGE_BYTES - 1)) == 0);
	for (uint64_t end = virt + bytes; virt < end; virt += HUGE_BYTES) {
		uint64_t *e = huge_entry(space, virt), phys = *e & PTE_ADDR & ~(HUGE_BYTES - 1);
		*e = flags == VM_NOTHING ? 0 : phys | pte_bits(flags) | PTE_LARGE;
		cpu_forget_page(virt);
	}
}

void vm_seal(uint64_t phys, uint64_t bytes)
{
	vm_change(vm_kernel_space, PHYS_BASE + phys, bytes, 0);
}

void vm_unseal(uint64_t phys, uint64_t bytes)
{
	vm_change(vm_kernel_space, PHYS_BASE + phys, bytes, VM_WRITE);
}

uint64_t vm_tables_missing(vm_space_t space, uint64_t virt, uint64_t bytes)
{
	const uint64_t *pml4 = vm_phys(space), end = virt + bytes;
	uint64_t missing = 0, seen = UINT64_MAX; /* the top-level entry examined last */
	for (uint64_t at = virt; at < end; at = align_down(at, 1ull << 30) + (1ull << 30)) {
		const uint64_t top = pml4[at >> 39 & 511];
		const bool there = top & PTE_PRESENT;
		missing += !there && at >> 39 != seen;
		missing += !there || !(((uint64_t *)vm_phys(top & PTE_ADDR))[at >> 30 & 511] & PTE_PRESENT);
		seen = at >> 39;
	}
	return missing * PAGE_BYTES;
}

static void map_image(const char *from, const char *to, unsigned flags)
{
	uint64_t phys = (uint64_t)from - KERNEL_BASE;
	vm_map(vm_kernel_space, (uint64_t)from, phys, (uint64_t)(to - from), flags);
}

/*
 * Makes the image's code and constants read-only in the physical map too. The 2 MiB pages that contain
 * them are mapped anew, in a copy of the first GiB's table.
 */
static void protect_image(uint64_t *pdpt)
{
	uint64_t from = (uint64_t)kernel_text - KERNEL_BASE, to = (uint64_t)kernel_data - KERNEL_BASE;
	uint64_t start = align_down(from, HUGE_BYTES), end = align_up(to, HUGE_BYTES);
	uint64_t phys = vm_take_pages(PAGE_BYTES, "page tables"), *pd = vm_phys(phys);
	assert(end <= 1ull << 30);
	memcpy(pd, vm_phys(pdpt[0] & PTE_ADDR), PAGE_BYTES);
	for (uint64_t at = start; at < end; at += HUGE_BYTES)
		pd[at / HUGE_BYTES] = 0;
	pdpt[0] = phys | PTE_PRESENT | PTE_WRITE | PTE_NX;
	vm_map(vm_kernel_space, PHYS_BASE + start, start, from - start, VM_WRITE);
	vm_map(vm_kernel_space, PHYS_BASE + from, from, to - from, 0);
	vm_map(vm_kernel_space, PHYS_BASE + to, to, end - to, VM_WRITE);
}

/*
 * Builds the physical map, in 2 MiB pages. The first 4 GiB (with loader data and ACPI tables) use the
 * boot tables, made non-executable one level up. Above 4 GiB only the memory that firmware lists is
 * mapped. Its ranges are widened to whole pages; the surplus is supervisor-only and never accessed.
 */
static void map_ram(const struct boot *boot)
{
	uint64_t low = 4ull << 30;
	uint64_t *pdpt = table_below(&kernel_pml4[PHYS_BASE >> 39 & 511], 0);
	for (unsigned i = 0; i < 4; i++)
		pdpt[i] = (boot_pdpt[i] & PTE_ADDR) | PTE_PRESENT | PTE_WRITE | PTE_NX;
	protect_image(pdpt);
	for (unsigned i = 0; i < boot->ram_count; i++) {
		uint64_t start = align_down(boot->ram[i].start, HUGE_BYTES);
		uint64_t end = align_up(boot->ram[i].end, HUGE_BYTES);
		start = start < low ? low : start;
		if (start < end)
			vm_map(vm_kernel_space, PHYS_BASE + start, start, end - start, VM_WRITE);
	}
}

void vm_init(const struct boot *boot)
{
	vm_ram_init(boot);
	vm_kernel_space = (uint64_t)kernel_pml4 - KERNEL_BASE;
	/* Address spaces copy the top-level entries of the kernel half, so all that will be used must
	 * exist now. */
	uint64_t top[] = {PHYS_BASE, DEVICE_BASE, STACK_BASE, KERNEL_BASE};
	for (unsigned i = 0; i < ARRAY_LEN(top); i++)
		table_below(&kernel_pml4[top[i] >> 39 & 511], 0);
	map_image(kernel_text, kernel_rodata, VM_EXEC);
	map_image(kernel_rodata, kernel_data, 0);
	map_image(kernel_data, kernel_end, VM_WRITE);
	map_ram(boot);
	cr3_write(vm_kernel_space);
}

static void *map_for_kernel(uint64_t phys, uint64_t bytes, unsigned flags)
{
	uint64_t start = align_down(phys, PAGE_BYTES);
	uint64_t length = align_up(phys + bytes, PAGE_BYTES) - start;
	/* A large region (ECAM, framebuffer) keeps its alignment, so it can use 2 MiB pages. */
	if (length >= HUGE_BYTES)
		device_next = align_up(device_next, HUGE_BYTES) + (start & (HUGE_BYTES - 1));
	uint64_t virt = device_next;
	device_next += length;
	vm_map(vm_kernel_space, virt, start, length, flags);
	return (void *)(virt + (phys - start));
}

void *vm_map_device(uint64_t phys, uint64_t bytes)
{
	return map_for_kernel(phys, bytes, VM_WRITE | VM_DEVICE);
}

void *vm_map_framebuffer(uint64_t phys, uint64_t bytes)
{
	return map_for_kernel(phys, bytes, VM_WRITE | VM_COMBINE);
}

const void *vm_map_firmware(uint64_t phys, uint64_t bytes)
{
	return map_for_kernel(phys, bytes, 0);
}

void vm_map_stack(unsigned core)
{
	uint64_t slot = STACK_BASE + core * STACK_SLOT;
	uint64_t top[] = {STACK_TRAP_TOP, STACK_EMERGENCY_TOP};
	uint64_t bytes[] = {STACK_TRAP_BYTES, STACK_EMERGENCY_BYTES};
	for (unsigned i = 0; i < ARRAY_LEN(top); i++)
		vm_map(vm_kernel_space, slot + top[i] - bytes[i],
		       vm_take_zeroed_pages(bytes[i], "a core's stack"), bytes[i], VM_WRITE);
}

vm_space_t vm_space_new(void)
{
	vm_space_t space = vm_take_zeroed_pages(PAGE_BYTES, "page tables");
	uint64_t *t = vm_phys(space);
	memcpy(t + 256, kernel_pml4 + 256, 256 * sizeof *t);
	return space;
}

/* --- vm_visit --- */

struct visitor {
	void (*piece)(void *arg, const struct vm_piece *p);
	void *arg;
	struct vm_piece last; /* not reported yet, because the next page may extend it; 0 bytes: none */
};

static void visit_flush(struct visitor *v)
{
	if (v->last.bytes)
		v->piece(v->arg, &v->last);
	v->last.bytes = 0;
}

static void visit_page(struct visitor *v, const struct vm_piece *p)
{
	struct vm_piece *l = &v->last;
	if (l->bytes && l->flags == p->flags && l->virt + l->bytes == p->virt &&
	    l->phys + l->bytes == p->phys) {
		l->bytes += p->bytes;
		return;
	}
	visit_flush(v);
	*l = *p;
}

/* Rights of an entry, given those of the tables above it: every level can remove rights. */
static unsigned entry_flags(uint64_t e, unsigned above)
{
	unsigned have = (e & PTE_WRITE ? VM_WRITE : 0) | (e & PTE_USER ? VM_USER : 0) |
	                (e & PTE_NX ? 0 : VM_EXEC);
	return (have & above) | (e & PTE_PCD ? VM_DEVICE : 0);
}

/* Visits the table at `phys`, whose entries cover 1 << shift bytes each, from virt on. */
static void visit_table(struct visitor *v, uint64_t phys, unsigned shift, uint64_t virt,
                        unsigned above)
{
	const uint64_t *t = vm_phys(phys);
	struct vm_piece self = {virt, phys, PAGE_BYTES, VM_TABLE};
	v->piece(v->arg, &self);
	for (uint64_t i = 0; i < 512; i++) {
		uint64_t e = t[i], at = virt | i << shift;
		if (!(e & PTE_PRESENT))
			continue;
		at |= shift == 39 && i > 255 ? 0xffffull << 48 : 0; /* canonical */
		if (shift == 12 || (shift < 39 && e & PTE_LARGE)) {
			uint64_t bytes = 1ull << shift;
			struct vm_piece p = {at, e & PTE_ADDR & ~(bytes - 1), bytes,
			                     entry_flags(e, above)};
			visit_page(v, &p);
		} else {
			visit_table(v, e & PTE_ADDR, shift - 9, at,
			            entry_flags(e, above) & ~(unsigned)VM_DEVICE);
		}
	}
}

void vm_visit(vm_space_t space, void (*piece)(void *arg, const struct vm_piece *p), void *arg)
{
	struct visitor v = {.piece = piece, .arg = arg};
	visit_table(&v, space, 39, 0, VM_WRITE | VM_USER | VM_EXEC);
	visit_flush(&v);
}

/* --- reading for a program --- */

/* Translates virt to a physical address; false if ring 3 may not read it in `space`. */
static bool user_to_phys(vm_space_t space, uint64_t virt, uint64_t *phys)
{
	if (virt >> 47)
		return false;
	const uint64_t *t = vm_phys(space);
	for (unsigned shift = 39;; shift -= 9) {
		uint64_t e = t[virt >> shift & 511];
		if (!(e & PTE_PRESENT) || !(e & PTE_USER))
			return false;
		if (shift == 12 || e & PTE_LARGE) {
			uint64_t mask = (1ull << shift) - 1;
			*phys = (e & PTE_ADDR & ~mask) | (virt & mask);
			return !(e & PTE_PCD); /* device registers are not memory */
		}
		t = vm_phys(e & PTE_ADDR);
	}
}

bool vm_user_may_read(vm_space_t space, uint64_t virt, size_t bytes)
{
	uint64_t phys, end = virt + bytes;
	if (end < virt)
		return false;
	for (; virt < end; virt = align_down(virt, PAGE_BYTES) + PAGE_BYTES)
		if (!user_to_phys(space, virt, &phys))
			return false;
	return true;
}

bool vm_copy_from_user(vm_space_t space, void *dst, uint64_t virt, size_t bytes)
{
	uint8_t *d = dst;
	while (bytes) {
		uint64_t phys;
		size_t in_page = PAGE_BYTES - (virt & (PAGE_BYTES - 1));
		size_t n = bytes < in_page ? bytes : in_page;
		if (!user_to_phys(space, virt, &phys))
			return false;
		memcpy(d, vm_phys(phys), n);
		d += n;
		virt += n;
		bytes -= n;
	}
	return true;
}
