/*
 * What the files of bpf/object/ share while one object is loaded. In the order of their work:
 *
 *     elf.c        sections and symbols
 *     btf.c        types
 *     maps.c       maps: BTF-defined, legacy, and sections of data
 *     functions.c  the code of each section, and which function each instruction belongs to
 *     core.c       CO-RE relocations: what they ask for exists here, or their function cannot be used
 *     relocate.c   maps, data and calls in a function's instructions
 *     programs.c   programs: a function with all functions that it calls, behind each other
 *     types.c      layouts: names of what the keys and values of maps consist of
 *     object.c     the order of all this; license, places in a chain
 *
 * Everything that damage can be seen in without its use is checked for the whole file. What this loader
 * does not support is refused only if an XDP program uses it: an object may have other programs too.
 */
#ifndef BPF_OBJECT_LOADER_H
#define BPF_OBJECT_LOADER_H

#include "bpf/object/btf.h"
#include "bpf/object/elf.h"
#include "bpf/program.h"

/* Limits that keep the time to load in proportion to the size of the file. */
#define CODE_SECTIONS_MAX 256
#define KCONFIG_MAX 256

struct function {
	const char *name;
	uint32_t section;
	uint32_t first, count;  /* its instructions in the section */
	bool global;
	bool relocated;
	uint32_t core;          /* its first CO-RE relocation without an answer: offset in .BTF.ext; 0: none */
	uint32_t place;         /* while a program is put together: where in its list of functions */
	uint8_t program;        /* 1 + its index in object->programs; 0: it is not a program */
};

/* The code of a section: a copy, to which relocations are applied function by function. */
struct code {
	struct bpf_insn *insns;
	uint32_t count;
	uint32_t *owner; /* of each instruction: 1 + index of its function; 0: none */
	uint32_t *patch; /* of each instruction: 1 + index of its relocation; 0: none */
	const struct section *relocations;
};

/* What a section is to the loader. */
struct role {
	struct code *code; /* NULL: no code */
	bool has_maps;     /* .maps or maps */
	uint8_t data;      /* 1 + index of the map that stands for its data; 0: none */
};

struct loader {
	struct elf elf;
	struct btf btf;
	uint32_t kconfig;             /* the type that lists the variables of .kconfig; 0: none */
	struct role *roles;           /* of each section */
	uint32_t code_sections[CODE_SECTIONS_MAX];
	unsigned code_section_count;
	struct function *functions;
	uint32_t function_count;
	uint32_t map_section[BPF_OBJECT_MAPS], map_offset[BPF_OBJECT_MAPS]; /* where each map is defined */
	uint32_t map_values[BPF_OBJECT_MAPS]; /* where initial entries begin in its definition; 0: none */
	uint32_t map_key[BPF_OBJECT_MAPS], map_value[BPF_OBJECT_MAPS]; /* types; 0: unknown */
	uint32_t layout_bytes;        /* of all layouts */
	const struct section *ext;    /* .BTF.ext; NULL: none */
	struct bpf_memory *memory;
	struct bpf_object *object;
	struct bpf_reason *why;
};

/* All return false with a reason in l->why. */
bool object_load_maps(struct loader *l);
bool object_load_functions(struct loader *l);
bool object_load_core(struct loader *l);
bool object_load_programs(struct loader *l);
bool object_load_slots(struct loader *l);
bool object_load_chain(struct loader *l);
/* Leaves maps without a layout whose types are wrong or too large, or if there is no memory. */
void object_load_layouts(struct loader *l);

/* Applies the relocations in one function, once. Afterwards the imm of a local call is the index of the
 * function that it calls. */
bool object_relocate(struct loader *l, struct function *f);
/* Says what the CO-RE relocation f->core asks for; returns false. */
bool object_refuse_core(struct loader *l, const struct function *f);

/* The function that begins at an offset in bytes of a section; NULL: none does. */
struct function *object_function_at(struct loader *l, uint32_t section, uint64_t offset);

#endif
