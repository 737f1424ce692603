/*
 * BTF, the description of a program's types (Linux' Documentation/bpf/btf.rst). A loader needs of it the
 * definitions of maps and of places in a chain, which are structs whose members' types carry the numbers.
 *
 * btf_open checks the section as a whole once: every record lies within it, every name in the table of
 * strings, and every number of a type is one that exists. What a type refers to may still be of a wrong
 * kind or refer to itself: the functions below return 0 or false then.
 */
#ifndef BPF_OBJECT_BTF_H
#define BPF_OBJECT_BTF_H

#include "bpf/program.h"

/* The headers of .BTF and .BTF.ext begin with these. */
#define BTF_MAGIC 0xeb9f
#define BTF_VERSION 1

enum btf_kind {
	BTF_VOID, BTF_INT, BTF_PTR, BTF_ARRAY, BTF_STRUCT, BTF_UNION, BTF_ENUM, BTF_FWD, BTF_TYPEDEF,
	BTF_VOLATILE, BTF_CONST, BTF_RESTRICT, BTF_FUNC, BTF_FUNC_PROTO, BTF_VAR, BTF_DATASEC, BTF_FLOAT,
	BTF_DECL_TAG, BTF_TYPE_TAG, BTF_ENUM64, BTF_KINDS,
};

struct btf {
	const uint8_t *types; /* the section of types */
	const uint32_t *at;   /* offset in `types` of type i, 1 to count - 1 */
	uint32_t count;       /* numbers of types: those below this; 0 is void. 0: there is no BTF */
	const char *strings;
	uint32_t string_bytes;
};

struct btf_type {
	const char *name;
	uint8_t kind;         /* enum btf_kind */
	uint16_t vlen;        /* members, variables and so on behind it */
	uint32_t size_or_type;
	const uint8_t *more;  /* what follows the common part */
	bool flag;            /* struct: members have a size in bits and an offset (btf_struct_member); enum: signed */
};

/* A member of a struct, or a variable of a section (BTF_DATASEC, whose name is the variable's). */
struct btf_member {
	const char *name;
	uint32_t type;
	uint32_t offset; /* struct: bits; if btf_type.flag: bits of a bit field << 24 | offset in bits; section: bytes,
	                  * which a linker would fill in: 0 here */
};

bool btf_open(struct btf *b, const uint8_t *data, uint32_t bytes, struct bpf_memory *memory,
              struct bpf_reason *why);

/* id below b->count */
struct btf_type btf_type(const struct btf *b, uint32_t id);
/* Member i, below t->vlen, of a struct or union; variable i of a section. False: not a variable. */
struct btf_member btf_struct_member(const struct btf *b, const struct btf_type *t, uint32_t i);
bool btf_section_variable(const struct btf *b, const struct btf_type *t, uint32_t i, struct btf_member *v);

/* The type without typedef, const, volatile, restrict and tags; 0: void, or a cycle. */
uint32_t btf_resolve(const struct btf *b, uint32_t id);
/* Bytes of a type. False: it has no size. */
bool btf_bytes(const struct btf *b, uint32_t id, uint32_t *bytes);
/* The number n of a member int (*member)[n], as libbpf's macro __uint makes it. */
bool btf_number(const struct btf *b, uint32_t id, uint32_t *n);
/* The type that a pointer points to, resolved. */
bool btf_pointee(const struct btf *b, uint32_t id, uint32_t *to);

/* The section of variables (BTF_DATASEC) of that name; 0: none. */
uint32_t btf_find_section(const struct btf *b, const char *name);
/* The string at an offset; NULL: there is none. */
const char *btf_string(const struct btf *b, uint32_t offset);

#endif
