/* Compiled programs on the host: memory that is first written and then executed, never both. */
#ifndef TESTS_BPF_EXECUTE_H
#define TESTS_BPF_EXECUTE_H

#include "bpf/compile.h"

struct executable {
	uint8_t *at;
	size_t bytes;        /* of the mapping */
	uint32_t code_bytes;
	uint32_t *where;     /* as in struct bpf_code */
};

/* Compiles into new memory. False: why says what the compiler does not accept. */
bool executable_make(struct executable *x, const struct bpf_program *program, const struct bpf_note *notes,
                     const struct bpf_env *env, struct bpf_reason *why);
void executable_free(struct executable *x);

#endif
