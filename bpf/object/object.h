/*
 * The loader: from the bytes of an ELF object as `clang -O2 -g -target bpf -c` makes it to a struct
 * bpf_object. The bytes are untrusted: every offset, size, index and string is checked where it is
 * read, and damage anywhere, BTF included, is a refusal with a reason. loader.h lists the parts.
 */
#ifndef BPF_OBJECT_OBJECT_H
#define BPF_OBJECT_OBJECT_H

#include "bpf/program.h"

/*
 * Loads an object. `file` must stay as long as the result is used; instructions with their relocations
 * applied are in `memory`, of which BPF_OBJECT_MEMORY(bytes) are enough. False: why says what is wrong,
 * with the section, symbol or offset; *object is then undefined.
 *
 * What a program does is bpf_verify's to judge, and the shape of a map bpf_map_check's. The loader vouches
 * for this: every wide instruction of kind BPF_WIDE_MAP names a map of the object, of kind BPF_WIDE_VALUE a
 * place inside of a map of data; every local call leads to the beginning of a function of the program.
 */
#define BPF_OBJECT_MEMORY(bytes) (16 * (size_t)(bytes) + (1u << 20))
bool bpf_object_load(const uint8_t *file, size_t bytes, struct bpf_memory *memory, struct bpf_object *object,
                     struct bpf_reason *why);

#endif
