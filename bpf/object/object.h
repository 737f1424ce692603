/*
 * The loader: from the bytes of an ELF object as `clang -O2 -g -target bpf -c` makes it to a struct
 * bpf_object. The bytes are untrusted: every offset, size, index and string is checked where it is
 * read, and damage anywhere, BTF included, is a refusal with a reason.
 */
#ifndef BPF_OBJECT_OBJECT_H
#define BPF_OBJECT_OBJECT_H

#include "bpf/program.h"

/*
 * Loads an object. `file` must stay as long as the result is used; instructions with their relocations
 * applied are in `memory`, of which BPF_OBJECT_MEMORY(bytes) are enough. False: why says what is wrong,
 * with the section, symbol or offset; *object is then undefined.
 */
#define BPF_OBJECT_MEMORY(bytes) (16 * (size_t)(bytes) + (1u << 20))
bool bpf_object_load(const uint8_t *file, size_t bytes, struct bpf_memory *memory, struct bpf_object *object,
                     struct bpf_reason *why);

#endif
