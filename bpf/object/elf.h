/*
 * Sections, symbols and relocations of an object file: ELF-64, little-endian, relocatable, for EM_BPF
 * (System V ABI, chapters 4 and "Relocation"; Linux' Documentation/bpf/llvm_reloc.rst). elf_open checks
 * the file as a whole once. Afterwards every struct section lies within the file, every struct symbol
 * names a section that exists, and every string ends in NUL.
 */
#ifndef BPF_OBJECT_ELF_H
#define BPF_OBJECT_ELF_H

#include "bpf/program.h"
#include "lib/elf.h"

/* Of a file, and of a section without bytes in the file. */
#define ELF_BYTES_MAX 0x7fffffffu

enum elf_bind { ELF_LOCAL, ELF_GLOBAL, ELF_WEAK };
/* Section numbers of symbols that are in no section. */
#define ELF_UNDEFINED 0
#define ELF_RESERVED 0xff00u

struct section {
	const char *name;
	uint32_t type;
	uint64_t flags;
	const uint8_t *data; /* NULL: ELF_NOBITS */
	uint32_t bytes;
	uint32_t link, info;
};

struct symbol {
	const char *name; /* of a section symbol: that of the section */
	uint64_t value;   /* offset in the section */
	uint64_t size;
	uint16_t section; /* ELF_UNDEFINED, below section_count, or ELF_RESERVED and above */
	uint8_t type, bind;
};

/* Types of relocations in code (relocate.c). The type of those in .maps is not looked at. */
enum elf_relocation_type { R_BPF_64_64 = 1, R_BPF_64_32 = 10 };

struct relocation {
	uint64_t offset; /* in the section that is relocated */
	uint32_t type;
	uint32_t symbol; /* below symbol_count */
};

struct elf {
	const uint8_t *file;
	size_t bytes;
	struct section *sections;
	uint32_t section_count;
	struct symbol *symbols;
	uint32_t symbol_count;
};

/* False: the file is not such an object, or damaged; why says where. */
bool elf_open(struct elf *e, const uint8_t *file, size_t bytes, struct bpf_memory *memory,
              struct bpf_reason *why);

/* The number of the first section of that name; 0: there is none. */
uint32_t elf_find(const struct elf *e, const char *name);

/* Relocation i of a section of type ELF_REL, i below elf_relocations(). False: its symbol does not exist. */
uint32_t elf_relocations(const struct section *s);
bool elf_relocation(const struct elf *e, const struct section *s, uint32_t i, struct relocation *r);

/* The first symbol of that name in a section, not counting the section's own; NULL: there is none. */
const struct symbol *elf_symbol(const struct elf *e, const char *name, uint32_t section);

/* Whether the section's name is `name`, or begins with `name` and a dot. */
bool elf_named(const struct section *s, const char *name);

#endif
