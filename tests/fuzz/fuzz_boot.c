/*
 * What a boot loader leaves (kernel/boot.c): Multiboot2 information and PVH's structure with any
 * contents, and the memory map made from it (kernel/vm_ram.c). Nothing outside of the information
 * is read, nor anything from 4 GiB on. No memory is listed twice; a module lies in memory, and a
 * framebuffer does not.
 *
 * Input: which loader and where. Multiboot2: its information. PVH: which of its pointers are
 * correct, the structure, a module's entry, the map's entries.
 */
#include "tests/fuzz/rig.h"

#include <sanitizer/asan_interface.h>
#include <setjmp.h>
#include <sys/mman.h>

/* The kernel's window to physical memory lies where a host process has no memory. */
#define vm_phys vm_phys_of_the_kernel
#include "kernel/vm.h"
#undef vm_phys
#define WINDOW_BYTES (4ull << 30)
#define GUARD_BYTES 0x10000u
static uint8_t *window;
static uint64_t first, past; /* bounds of what may be read */
static inline void *vm_phys(uint64_t phys)
{
	assert_true(phys >= first && phys < past);
	return window + phys;
}

#include "kernel/boot.c"
#include "kernel/vm_ram.c"

#define AT 0x10000u
#define MODULES_AT 0x11000u
#define MAP_AT 0x12000u
#define TEXT_AT 0x13000u
#define ENTRIES_MOST 40

static jmp_buf panicked;

_Noreturn void panic(const char *format, ...)
{
	(void)format;
	longjmp(panicked, 1);
}

void console_print(const char *format, ...)
{
	(void)format;
}

uint64_t vm_image_bytes(void)
{
	return 0x400000;
}

static uint64_t u64(void)
{
	uint64_t low = rig_u32();
	return low | (uint64_t)rig_u32() << 32;
}

/* --- what the loader leaves --- */

/* An address or a length: any value, or a plausible one. */
static uint64_t some(void)
{
	static const uint64_t likely[] = {0,          0x1000,      0x8000,      0x9000,
	                                  0x9fc00,    0x100000,    0x200000,    0x500000,
	                                  0x8000000,  0x80000000,  0xffffffff,  1ull << 32,
	                                  1ull << 40, 16ull << 40, 1ull << 52,  UINT64_MAX};
	uint8_t how = rig_u8();
	return how & 0x80 ? u64() : likely[how % 16] + (how & 0x40 ? rig_u16() : 0);
}

static uint64_t put_multiboot2(void)
{
	bool last = rig_u8() & 1; /* nothing is mapped behind it */
	uint32_t bytes = 8 + rig_u16() % 4096;
	uint64_t at = last ? WINDOW_BYTES - bytes : AT;
	uint8_t *p = window + at;
	ASAN_UNPOISON_MEMORY_REGION(p, bytes);
	random_fill(p + 4, bytes - 4);
	memcpy(p, &bytes, 4);
	ASAN_POISON_MEMORY_REGION(p + bytes, last ? 1 : 4096);
	first = at;
	past = at + bytes;
	return at;
}

static struct memory_entry entries[ENTRIES_MOST];

static uint64_t put_pvh(void)
{
	unsigned right = rig_u8();
	struct pvh_info pvh = {
		.magic = right & 1 ? PVH_MAGIC : rig_u32(),
		.version = right & 2 ? PVH_WITH_MAP : rig_u8(),
		.modules = right & 4 ? 1 : 0,
		.module_list = right & 8 ? MODULES_AT : u64(),
		.cmdline = right & 16 ? TEXT_AT : u64(),
		.rsdp = u64(),
		.memmap = right & 32 ? MAP_AT : u64(),
		.memmap_entries = right & 64 ? rig_u8() % ENTRIES_MOST : rig_u32(),
	};
	struct pvh_module m = {.addr = some(), .bytes = some()};
	memcpy(window + AT, &pvh, sizeof pvh);
	memcpy(window + MODULES_AT, &m, sizeof m);
	memset(window + TEXT_AT, 'x', 2 * BOOT_CMDLINE_MAX);
	for (unsigned i = 0; i < ENTRIES_MOST; i++)
		entries[i] = (struct memory_entry){some(), some(), rig_u8() % 4, 0};
	memcpy(window + MAP_AT, entries, sizeof entries);
	first = 1;
	past = WINDOW_BYTES;
	return AT;
}

/* --- the result --- */

static uint64_t common(const struct boot_range *a, uint64_t start, uint64_t end)
{
	start = start > a->start ? start : a->start;
	end = end < a->end ? end : a->end;
	return start < end ? end - start : 0;
}

static void check(const struct boot *b)
{
	uint64_t module = 0;
	assert_in_range(b->ram_count, 0, BOOT_RANGES_MAX);
	for (unsigned i = 0; i < b->ram_count; i++) {
		const struct boot_range *r = &b->ram[i];
		assert_true(r->start < r->end && r->end <= RAM_END);
		for (unsigned k = 0; k < i; k++)
			assert_true(common(&b->ram[k], r->start, r->end) == 0);
		module += common(r, b->module.start, b->module.end);
		if (b->fb.addr)
			assert_true(!common(r, b->fb.addr,
			                    b->fb.addr + (uint64_t)b->fb.pitch * b->fb.height));
	}
	assert_true(b->module.start <= b->module.end);
	assert_true(module == b->module.end - b->module.start);
	assert_true(!common(&b->module, VM_IMAGE_PHYS, VM_IMAGE_PHYS + vm_image_bytes()));
	assert_non_null(memchr(b->cmdline, 0, sizeof b->cmdline));
	assert_non_null(memchr(b->loader, 0, sizeof b->loader));
	if (b->fb.addr)
		assert_true(b->fb.pitch >= b->fb.width * (b->fb.bits / 8) && b->fb.red_shift <= 24);
}

/* What the map marks as used is not memory, if it has fewer entries than ranges are kept. */
static void check_used(const struct boot *b, const struct memory_entry *e, unsigned n)
{
	for (; n--; e++)
		for (unsigned i = 0; e->type != MEMORY_USABLE && i < b->ram_count; i++)
			assert_true(!common(&b->ram[i], e->addr,
			                    e->addr + e->bytes < e->addr ? UINT64_MAX : e->addr + e->bytes));
}

/* Memory that is taken was available from the loader, is not yet in use, and is taken once. */
static void take_some(const struct boot *b)
{
	struct boot_range taken[16];
	memset(&ram, 0, sizeof ram);
	total_bytes = module_bytes = ram_tables_bytes = 0;
	vm_ram_init(b);
	for (unsigned i = 0; i < ARRAY_LEN(taken); i++) {
		uint64_t bytes = i % 2 ? HUGE_BYTES : (i + 1) * PAGE_BYTES, given = 0;
		uint64_t at = i % 2 ? vm_take_huge_pages(bytes) : vm_take_pages(bytes, "a test");
		taken[i] = (struct boot_range){at, at ? at + bytes : at};
		for (unsigned k = 0; k < i; k++)
			assert_true(!common(&taken[k], at, taken[i].end));
		for (unsigned k = 0; k < b->ram_count; k++)
			given += common(&b->ram[k], at, taken[i].end);
		assert_true(given == taken[i].end - at);
		assert_true(!common(&b->module, at, taken[i].end));
		assert_true(!common(&taken[i], VM_IMAGE_PHYS, VM_IMAGE_PHYS + vm_image_bytes()));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct boot boot;
	if (!window) {
		window = mmap(NULL, WINDOW_BYTES + GUARD_BYTES, PROT_READ | PROT_WRITE,
		              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		assert_true(window != MAP_FAILED);
		assert_int_equal(mprotect(window + WINDOW_BYTES, GUARD_BYTES, PROT_NONE), 0);
	}
	ASAN_UNPOISON_MEMORY_REGION(window + AT, 0x10000);
	memset(&boot, 0, sizeof boot);
	rig_input(data, size);
	bool pvh = rig_u8() & 1;
	uint64_t info = pvh ? put_pvh() : put_multiboot2();
	if (setjmp(panicked))
		return 0;
	boot_parse(&boot, pvh ? BOOT_PVH : BOOT_MULTIBOOT2, info);
	check(&boot);
	const struct pvh_info *p = (const void *)(window + AT);
	if (pvh && p->memmap == MAP_AT)
		check_used(&boot, entries, p->memmap_entries < ENTRIES_MOST ? p->memmap_entries : ENTRIES_MOST);
	take_some(&boot);
	return 0;
}
