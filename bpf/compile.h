/*
 * The compiler: machine code for x86-64 of a program that bpf_verify has accepted, with its notes.
 *
 * The code is one function, uint64_t (*)(struct bpf_xdp *context), with the calling convention of
 * C (System V ABI). It needs no red zone, keeps the callee's registers, and uses only the baseline
 * instruction set. Each function of a chain of calls takes its own stack (BPF_STACK at most) and up to 48 bytes for
 * saved registers, the return address and alignment. A tail call takes no stack.
 */
#ifndef BPF_COMPILE_H
#define BPF_COMPILE_H

#include "bpf/program.h"

struct bpf_code {
	bool ok;         /* else why has the reason */
	uint32_t bytes;  /* of machine code */
	/* Offset in the code of each instruction, for reports: program->count entries in the lent memory. */
	uint32_t *where;
};

/* Bytes that are enough for the code of a program of `count` instructions, and for compiling it. */
size_t bpf_code_room(uint32_t count);
#define BPF_COMPILE_MEMORY(count) (32 * (size_t)(count) + (64u << 10))

/*
 * Compiles into out, room bytes, for execution at address `at` (which may differ from out: the control
 * core compiles in its own memory, and the kernel copies). memory is working space, of which
 * BPF_COMPILE_MEMORY(program->count) bytes are enough. False: why says what does not fit or is not supported.
 * Only tests use this function; the image compiles in slices.
 */
bool bpf_compile(const struct bpf_program *program, const struct bpf_note *notes, const struct bpf_env *env,
                 uint64_t at, uint8_t *out, size_t room, struct bpf_memory *memory, struct bpf_code *code,
                 struct bpf_reason *why);

/*
 * The same in slices. NULL is a refusal; else call bpf_compile_go, which compiles about `insns` instructions, until
 * it returns true. Until then the arguments and the bytes of the memory belong to the compilation. To stop early,
 * call no more.
 */
struct compiler;
struct compiler *bpf_compile_begin(const struct bpf_program *program, const struct bpf_note *notes,
                                   const struct bpf_env *env, uint64_t at, uint8_t *out, size_t room,
                                   struct bpf_memory memory, struct bpf_code *code, struct bpf_reason *why);
bool bpf_compile_go(struct compiler *c, uint32_t insns);

#endif
