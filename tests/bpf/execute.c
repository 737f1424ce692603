/*
 * Compiled programs on the host: see execute.h.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/bpf/execute.h"

static size_t pages(size_t bytes)
{
	return (bytes + 4095) & ~(size_t)4095;
}

bool executable_make(struct executable *x, const struct bpf_program *program, const struct bpf_note *notes,
                     const struct bpf_env *env, struct bpf_reason *why)
{
	const size_t room = bpf_code_room(program->count), work = BPF_COMPILE_MEMORY(program->count);
	uint8_t *memory = malloc(work);
	struct bpf_memory lent = {memory, memory + work};
	struct bpf_code code;
	x->bytes = pages(room);
	/* below 2 GiB, as in the image: from a program that is not position-independent, helpers are in reach */
	x->at = mmap(NULL, x->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	memset(x->at, 0xcc, x->bytes);
	/* in slices; bpf_compile does it in one go */
	struct compiler *c = bpf_compile_begin(program, notes, env, (uint64_t)(uintptr_t)x->at, x->at, room, lent, &code,
	                                       why);
	while (c && !bpf_compile_go(c, 1 + program->count % 5))
		;
	const bool ok = code.ok;
	x->where = NULL;
	if (ok) {
		x->code_bytes = code.bytes;
		x->where = malloc(program->count * sizeof *x->where);
		memcpy(x->where, code.where, program->count * sizeof *x->where);
		mprotect(x->at, x->bytes, PROT_READ | PROT_EXEC);
	} else {
		munmap(x->at, x->bytes);
		x->at = NULL;
	}
	free(memory);
	return ok;
}

void executable_free(struct executable *x)
{
	free(x->where);
	if (x->at)
		munmap(x->at, x->bytes);
	*x = (struct executable){0};
}
