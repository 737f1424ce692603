/*
 * Builds objects of BPF piece by piece, right ones and wrong ones. Sections get their numbers in the order
 * of make_section, from 1 on; the tables of symbols, names and types come behind them.
 */
#ifndef TESTS_UNIT_RIG_BPF_ELF_H
#define TESTS_UNIT_RIG_BPF_ELF_H

#include "tests/unit/rig/host.h"

#include "bpf/object/btf.h"
#include "bpf/object/elf.h"

#define MOV(r, n) {BPF_ALU64 | BPF_MOV | BPF_K, r, 0, 0, n}
#define EXIT {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}

#define MAKE_SECTIONS 300
#define MAKE_SYMBOLS 400
#define MAKE_RELOCATIONS 64
#define MAKE_FILE (1u << 20)

struct make_section {
	char name[100];
	uint32_t type;
	uint64_t flags;
	uint8_t *data; /* freed by make_end */
	uint32_t bytes, link, info;
	uint64_t entry;
};

struct make {
	struct make_section sections[MAKE_SECTIONS];
	unsigned section_count;
	struct {
		char name[100];
		uint8_t info;
		uint16_t section;
		uint64_t value, size;
	} symbols[MAKE_SYMBOLS];
	unsigned symbol_count;
	struct {
		unsigned section;
		uint64_t offset;
		uint32_t type, symbol;
	} relocations[MAKE_RELOCATIONS];
	unsigned relocation_count;
	uint8_t types[4096];
	unsigned type_bytes, type_count;
	char strings[4096];
	unsigned string_bytes;
	uint8_t ext[1024]; /* CO-RE relocations, if any */
	unsigned ext_bytes;
	bool no_btf;
	uint8_t file[MAKE_FILE];
	size_t bytes;
	size_t headers; /* offset of the section headers */
};

void make_begin(struct make *m);
void make_end(struct make *m);

/* data NULL: bytes of zero, or none in the file for ELF_NOBITS. */
unsigned make_section(struct make *m, const char *name, uint32_t type, uint64_t flags, const void *data, uint32_t bytes);
unsigned make_symbol(struct make *m, const char *name, uint8_t type, uint8_t bind, unsigned section, uint64_t value,
                     uint64_t size);
void make_relocation(struct make *m, unsigned section, uint64_t offset, uint32_t type, unsigned symbol);
/* A section of code with one global function of its size. */
unsigned make_code(struct make *m, const char *section, const char *function, const struct bpf_insn *insns, unsigned n);

/* A type of BTF, with n words behind the common part; returns its number. */
uint32_t make_string(struct make *m, const char *s);
uint32_t make_type(struct make *m, const char *name, uint8_t kind, uint32_t vlen, uint32_t size_or_type,
                   const uint32_t *words, unsigned n);
uint32_t make_int(struct make *m);
/* int (*)[n]; a pointer to a type */
uint32_t make_number(struct make *m, uint32_t n);
uint32_t make_pointer(struct make *m, uint32_t type);
/* A struct of 8-byte members, alternately a name and a type; then a variable of it; then a section of
 * variables. */
uint32_t make_struct(struct make *m, unsigned members, const char *const *names, const uint32_t *types);
uint32_t make_variable(struct make *m, const char *name, uint32_t type);
uint32_t make_datasec(struct make *m, const char *name, unsigned n, const uint32_t *variables);

/* Assembles the file. */
void make_file(struct make *m);

/* Loads a copy of exactly those bytes. The result stays valid until the next call. */
extern struct bpf_object made;
extern struct bpf_reason made_why;
bool make_load(const uint8_t *file, size_t bytes);
/* Assembles the file and loads it; ends it. It must load if `reason` is NULL, else be refused with a reason
 * that contains it. */
void make_expect(struct make *m, const char *reason);
/* The same with less memory. */
bool make_load_in(const uint8_t *file, size_t bytes, size_t memory);

#endif
