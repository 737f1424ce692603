/*
 * The program image is an ELF64 file linked by core/program.ld and carried in .rodata of the kernel
 * (ELF-64 Object File Format, version 1.5). Segments that are not writable are mapped straight
 * from there into every address space; of writable ones each core has its own copy at the same
 * address (ARCHITECTURE.md, invariant 1), renewed from the image at every start.
 */
#include "kernel/program.h"

#include "hal/layout.h"
#include "kernel/cpu.h"
#include "kernel/panic.h"
#include "kernel/trap.h"
#include "lib/mem.h"

#define ELF_MAGIC 0x464c457fu
#define ELF_LOAD 1
#define ELF_EXEC 1
#define ELF_WRITE 2
#define ELF_SYMTAB 2
#define ELF_FUNC 2
#define SEGMENTS_MAX 8
#define RFLAGS_RESERVED 2 /* always one; interrupts off */

struct elf_header {
	uint32_t magic;
	uint8_t ident[12];
	uint16_t type, machine;
	uint32_t version;
	uint64_t entry, phoff, shoff;
	uint32_t flags;
	uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};
_Static_assert(sizeof(struct elf_header) == 64, "Elf64_Ehdr");

struct elf_segment {
	uint32_t type, flags;
	uint64_t offset, vaddr, paddr, filesz, memsz, align;
};
_Static_assert(sizeof(struct elf_segment) == 56, "Elf64_Phdr");

struct elf_section {
	uint32_t name, type;
	uint64_t flags, addr, offset, size;
	uint32_t link, info;
	uint64_t align, entsize;
};
_Static_assert(sizeof(struct elf_section) == 64, "Elf64_Shdr");

struct elf_symbol {
	uint32_t name;
	uint8_t info, other;
	uint16_t section;
	uint64_t value, size;
};
_Static_assert(sizeof(struct elf_symbol) == 24, "Elf64_Sym");

extern const uint8_t program_image[], program_image_end[];

static const struct elf_header *elf;
static const struct elf_segment *segments;
static const struct elf_symbol *symbols;
static size_t symbol_count;
static const char *symbol_names;
/* Physical address of each core's copy of each writable segment. */
static uint64_t copies[CORES_MAX][SEGMENTS_MAX];

void program_init(void)
{
	elf = (const void *)program_image;
	assert(elf->magic == ELF_MAGIC && elf->phnum <= SEGMENTS_MAX);
	segments = (const void *)(program_image + elf->phoff);
	const struct elf_section *s = (const void *)(program_image + elf->shoff);
	for (unsigned i = 0; i < elf->shnum; i++)
		if (s[i].type == ELF_SYMTAB) {
			symbols = (const void *)(program_image + s[i].offset);
			symbol_count = s[i].size / sizeof *symbols;
			symbol_names = (const char *)program_image + s[s[i].link].offset;
		}
	for (unsigned i = 0; i < elf->phnum; i++) {
		const struct elf_segment *load = &segments[i];
		if (load->type == ELF_LOAD)
			assert(load->vaddr % PAGE_BYTES == 0 && load->offset % PAGE_BYTES == 0 &&
			       load->vaddr >= PROGRAM_BASE &&
			       load->vaddr + load->memsz < PROGRAM_STACK_TOP - PROGRAM_STACK_BYTES);
	}
}

void program_map(struct core *c)
{
	for (unsigned i = 0; i < elf->phnum; i++) {
		const struct elf_segment *s = &segments[i];
		uint64_t bytes = align_up(s->memsz, PAGE_BYTES);
		if (s->type != ELF_LOAD || bytes == 0)
			continue;
		if (s->flags & ELF_WRITE) {
			copies[c->id][i] = vm_take_pages(bytes, "a core's program");
			vm_map(c->space, s->vaddr, copies[c->id][i], bytes, VM_USER | VM_WRITE);
		} else {
			uint64_t phys = (uint64_t)program_image + s->offset - KERNEL_BASE;
			vm_map(c->space, s->vaddr, phys, bytes,
			       VM_USER | (s->flags & ELF_EXEC ? VM_EXEC : 0));
		}
	}
	vm_map(c->space, PROGRAM_STACK_TOP - PROGRAM_STACK_BYTES,
	       vm_take_pages(PROGRAM_STACK_BYTES, "a core's stack"), PROGRAM_STACK_BYTES, VM_USER | VM_WRITE);
}

uint64_t program_boot_info(void)
{
	return MEMORY_WINDOW + ((uint64_t)boot_info - PHYS_BASE);
}

_Noreturn void program_run(struct core *c)
{
	for (unsigned i = 0; i < elf->phnum; i++) {
		const struct elf_segment *s = &segments[i];
		uint8_t *copy = vm_phys(copies[c->id][i]);
		if (s->type != ELF_LOAD || !(s->flags & ELF_WRITE))
			continue;
		memcpy(copy, program_image + s->offset, s->filesz);
		memset(copy + s->filesz, 0, align_up(s->memsz, PAGE_BYTES) - s->filesz);
	}
	struct trap_frame f = {
		.rip = elf->entry,
		.cs = SEG_USER_CODE,
		.rflags = RFLAGS_RESERVED,
		.rsp = PROGRAM_STACK_TOP,
		.ss = SEG_USER_DATA,
		.rdi = program_boot_info(),
		.rsi = c->id,
	};
	boot_info->status[c->id].state = CORE_RUNNING;
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
		const struct elf_symbol *s = &symbols[i];
		if ((s->info & 15) == ELF_FUNC && addr - s->value < (s->size ? s->size : 1)) {
			*offset = addr - s->value;
			return symbol_names + s->name;
		}
	}
	return NULL;
}
