/*
 * The compiler: machine code for x86-64 of a program that bpf_verify has accepted, with its notes.
 *
 * The code is one function, uint64_t (*)(struct bpf_xdp *context), with the calling convention of
 * C (System V ABI). It needs no red zone, keeps the callee's registers, and uses only the baseline
 * instruction set.
 */
#ifndef BPF_COMPILE_H
#define BPF_COMPILE_H

#include "bpf/program.h"

struct bpf_code {
	bool ok;         /* else why has the reason */
	uint32_t bytes;  /* of machine code */
	uint32_t *where; /* offset in the code of each instruction, for reports: program->count entries in the lent memory */
};

/*
 * Bytes of stack that a program takes at most on the way to a helper, tail calls in functions left aside
 * (bpf/compiler/call.c): in each of a chain of functions its stack, saved registers, the return address.
 */
#define BPF_STACK_COMPILED (BPF_CALLS_MAX * (BPF_STACK + 48))

/* Bytes that are enough for the code of a program of `count` instructions. */
size_t bpf_code_room(uint32_t count);

#define BPF_COMPILE_MEMORY(count) (32 * (size_t)(count) + (64u << 10))

/*
 * Compiles into out, room bytes, for execution at address `at` (which may differ from out: the control
 * core compiles in its own memory, and the kernel copies). memory is working space, of which
 * BPF_COMPILE_MEMORY(program->count) bytes are enough. False: why says what does not fit or is not supported.
 */
bool bpf_compile(const struct bpf_program *program, const struct bpf_note *notes, const struct bpf_env *env,
                 uint64_t at, uint8_t *out, size_t room, struct bpf_memory *memory, struct bpf_code *code,
                 struct bpf_reason *why);

/*
 * The same in slices, as bpf_verify_begin: NULL is a refusal; call bpf_compile_go until it returns true, which
 * compiles about so many instructions each time. Meanwhile all arguments, the memory's range too, stay its own;
 * to stop early, forget it.
 */
struct compiler;
struct compiler *bpf_compile_begin(const struct bpf_program *program, const struct bpf_note *notes,
                                   const struct bpf_env *env, uint64_t at, uint8_t *out, size_t room,
                                   struct bpf_memory memory, struct bpf_code *code, struct bpf_reason *why);
bool bpf_compile_go(struct compiler *c, uint32_t insns);

#endif
