/*
 * The file format ELF-64, little-endian: what the kernel reads of the core program's image and the loader
 * of an object file of BPF (System V ABI, chapters 4 and 5). Every file is checked by its reader.
 */
#ifndef LIB_ELF_H
#define LIB_ELF_H

#include "lib/types.h"

#define ELF_MAGIC 0x464c457fu

enum elf_section_type {
	ELF_NULL = 0, ELF_PROGBITS = 1, ELF_SYMTAB = 2, ELF_STRTAB = 3, ELF_RELA = 4, ELF_NOBITS = 8, ELF_REL = 9,
};
enum elf_section_flags { ELF_EXECUTE = 4 };
enum elf_symbol_type { ELF_NOTYPE, ELF_OBJECT, ELF_FUNC, ELF_SECTION, ELF_FILE };

struct elf64_header {
	uint32_t magic;
	uint8_t class, data, ident_version, abi, pad[8];
	uint16_t type, machine;
	uint32_t version;
	uint64_t entry, phoff, shoff;
	uint32_t flags;
	uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};
_Static_assert(sizeof(struct elf64_header) == 64, "Elf64_Ehdr");

struct elf64_section {
	uint32_t name, type;
	uint64_t flags, addr, offset, size;
	uint32_t link, info;
	uint64_t align, entsize;
};
_Static_assert(sizeof(struct elf64_section) == 64, "Elf64_Shdr");

struct elf64_symbol {
	uint32_t name;
	uint8_t info, other; /* info: the type in the low four bits, the binding above */
	uint16_t section;
	uint64_t value, size;
};
_Static_assert(sizeof(struct elf64_symbol) == 24, "Elf64_Sym");

#endif
