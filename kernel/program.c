/*
 * The program image is an ELF64 file linked by runtime/program.ld and embedded in .rodata of the kernel
 * (ELF-64 Object File Format, version 1.5). Read-only segments are mapped from there into every address
 * space. Of each writable segment every core has its own copy at the same address (ARCHITECTURE.md,
 * invariant 1), restored from the image at every start.
 *
 * The image is checked once, before use (tests/fuzz/fuzz_program.c): every part lies within the image,
 * no segment is both writable and executable, and no two segments overlap.
 */
#include "kernel/program.h"

#include "hal/clock.h"
#include "abi/layout.h"
#include "kernel/cpu.h"
#include "kernel/panic.h"
#include "kernel/trap.h"
#include "kernel/watchdog.h"
#include "lib/elf.h"
#include "lib/mem.h"

#define ELF_LOAD 1
#define ELF_EXEC 1
#define ELF_WRITE 2
#define SEGMENTS_MAX 8
#define RFLAGS_RESERVED 2 /* bit 1 is always set */

struct elf_segment {
	uint32_t type, flags;
	uint64_t offset, vaddr, paddr, filesz, memsz, align;
};
_Static_assert(sizeof(struct elf_segment) == 56, "Elf64_Phdr");

extern const uint8_t program_image[], program_image_end[];

static const uint8_t *image;
static size_t image_bytes;
static const struct elf64_header *elf;
static const struct elf_segment *segments;
static const struct elf64_symbol *symbols;
static size_t symbol_count;
static const char *symbol_names;
/* Physical address of each core's copy of each writable segment. */
static uint64_t copies[CORES_MAX][SEGMENTS_MAX];

static bool inside(uint64_t offset, uint64_t bytes)
{
	return offset <= image_bytes && bytes <= image_bytes - offset;
}

/* True if n entries of this size lie within the image, aligned to 8 bytes. */
static bool table_sound(uint64_t offset, uint64_t n, uint64_t entry_bytes)
{
	return offset % 8 == 0 && inside(offset, n * entry_bytes);
}

static bool segment_sound(const struct elf_segment *s)
{
	const uint64_t end = CODE_WINDOW;
	bool writable = s->flags & ELF_WRITE, runs = s->flags & ELF_EXEC;
	if (s->vaddr % PAGE_BYTES || s->offset % PAGE_BYTES || !inside(s->offset, s->filesz))
		return false;
	if (s->vaddr < PROGRAM_BASE || s->vaddr > end || s->memsz > end - s->vaddr)
		return false;
	return writable ? s->filesz <= s->memsz && !runs : s->filesz == s->memsz;
}

static bool overlap(const struct elf_segment *a, const struct elf_segment *b)
{
	return a->vaddr < b->vaddr + align_up(b->memsz, PAGE_BYTES) &&
	       b->vaddr < a->vaddr + align_up(a->memsz, PAGE_BYTES);
}

static bool segments_sound(void)
{
	bool entered = false;
	for (unsigned i = 0; i < elf->phnum; i++) {
		const struct elf_segment *s = &segments[i];
		if (s->type != ELF_LOAD)
			continue;
		if (!segment_sound(s))
			return false;
		entered |= s->flags & ELF_EXEC && elf->entry - s->vaddr < s->memsz;
		for (unsigned k = 0; k < i; k++)
			if (segments[k].type == ELF_LOAD && overlap(s, &segments[k]))
				return false;
	}
	return entered;
}

/* Records the symbol table s; false if a table or name is not within its bounds. */
static bool take_symbols(const struct elf64_section *all, const struct elf64_section *s)
{
	if (s->link >= elf->shnum || !table_sound(s->offset, s->size / sizeof *symbols, sizeof *symbols))
		return false;
	const struct elf64_section *text = &all[s->link];
	if (text->size == 0 || !inside(text->offset, text->size) ||
	    image[text->offset + text->size - 1] != '\0')
		return false;
	symbols = (const void *)(image + s->offset);
	symbol_count = s->size / sizeof *symbols;
	symbol_names = (const char *)image + text->offset;
	for (size_t i = 0; i < symbol_count; i++)
		if (symbols[i].name >= text->size)
			return false;
	return true;
}

static bool sections_sound(void)
{
	if (elf->shnum == 0)
		return true;
	if (elf->shentsize != sizeof(struct elf64_section) ||
	    !table_sound(elf->shoff, elf->shnum, sizeof(struct elf64_section)))
		return false;
	const struct elf64_section *s = (const void *)(image + elf->shoff);
	for (unsigned i = 0; i < elf->shnum; i++)
		if (s[i].type == ELF_SYMTAB && !take_symbols(s, &s[i]))
			return false;
	return true;
}

/* Checks the image; false: it is damaged and must not be used. */
static bool read_image(const uint8_t *at, size_t bytes)
{
	image = at;
	image_bytes = bytes;
	elf = (const void *)image;
	symbol_count = 0;
	if (!inside(0, sizeof *elf) || elf->magic != ELF_MAGIC || elf->phnum > SEGMENTS_MAX)
		return false;
	if (elf->phentsize != sizeof *segments || !table_sound(elf->phoff, elf->phnum, sizeof *segments))
		return false;
	segments = (const void *)(image + elf->phoff);
	return sections_sound() && segments_sound();
}

void program_init(void)
{
	if (read_image(program_image, (size_t)(program_image_end - program_image)))
		return;
	symbol_count = 0; /* the panic report looks up names */
	panic("the core program in the kernel's image is damaged");
}

void program_map(struct core *c)
{
	for (unsigned i = 0; i < elf->phnum; i++) {
		const struct elf_segment *s = &segments[i];
		uint64_t bytes = align_up(s->memsz, PAGE_BYTES);
		if (s->type != ELF_LOAD || bytes == 0)
			continue;
		if (s->flags & ELF_WRITE) {
			copies[c->id][i] = vm_take_pages_near(bytes, boot_info->core[c->id].node, "a core's program");
			vm_map(c->space, s->vaddr, copies[c->id][i], bytes, VM_USER | VM_WRITE);
		} else {
			uint64_t phys = (uint64_t)image + s->offset - KERNEL_BASE;
			vm_map(c->space, s->vaddr, phys, bytes,
			       VM_USER | (s->flags & ELF_EXEC ? VM_EXEC : 0));
		}
	}
	vm_map(c->space, PROGRAM_STACK_TOP - PROGRAM_STACK_BYTES,
	       vm_take_pages_near(PROGRAM_STACK_BYTES, boot_info->core[c->id].node, "a core's stack"),
	       PROGRAM_STACK_BYTES, VM_USER | VM_WRITE);
}

uint64_t program_boot_info(void)
{
	return MEMORY_WINDOW + ((uint64_t)boot_info - PHYS_BASE);
}

/* Restores the core's copies of writable segments from the image. */
static void renew(const struct core *c)
{
	for (unsigned i = 0; i < elf->phnum; i++) {
		const struct elf_segment *s = &segments[i];
		uint8_t *copy = vm_phys(copies[c->id][i]);
		if (s->type != ELF_LOAD || !(s->flags & ELF_WRITE) || s->memsz == 0)
			continue;
		memcpy(copy, image + s->offset, s->filesz);
		memset(copy + s->filesz, 0, align_up(s->memsz, PAGE_BYTES) - s->filesz);
	}
}

_Noreturn void program_run(struct core *c)
{
	renew(c);
	struct trap_frame f = {
		.rip = elf->entry,
		.cs = SEG_USER_CODE,
		.rflags = RFLAGS_RESERVED | watchdog_rflags(),
		.rsp = PROGRAM_STACK_TOP,
		.ss = SEG_USER_DATA,
		.rdi = program_boot_info(),
		.rsi = c->id,
	};
	__atomic_store_n(&c->called_tsc, clock_tsc(), __ATOMIC_RELAXED);
	boot_info->sleep[c->id].asleep = 0; /* a restart may have ended a sleep */
	boot_info->status[c->id].state = CORE_RUNNING;
	watchdog_start(c);
	cr3_write(c->space);
	trap_return(&f);
}

uint64_t program_symbol(const char *name)
{
	for (size_t i = 0; i < symbol_count; i++)
		if (strcmp(symbol_names + symbols[i].name, name) == 0)
			return symbols[i].value;
	return 0;
}

const char *program_function(uint64_t addr, uint64_t *offset)
{
	for (size_t i = 0; i < symbol_count; i++) {
		const struct elf64_symbol *s = &symbols[i];
		if ((s->info & 15) == ELF_FUNC && addr - s->value < (s->size ? s->size : 1)) {
			*offset = addr - s->value;
			return symbol_names + s->name;
		}
	}
	return NULL;
}
