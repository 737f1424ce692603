/*
 * The verifier: proves that a program ends, and that it reads and writes only what it may: its stack,
 * the packet between data and data_end, its context, values of its maps, reserved memory of its ring
 * buffers. What it cannot prove it refuses, with the instruction, the register and the reason.
 */
#ifndef BPF_VERIFY_H
#define BPF_VERIFY_H

#include "bpf/program.h"

/* What the first argument points to: a packet's struct xdp_md, or, for tests of instructions, R2 bytes of
 * memory that may be read and written. */
enum bpf_context { BPF_CONTEXT_XDP, BPF_CONTEXT_MEMORY };

struct bpf_limits {
	uint32_t steps;  /* instructions looked at, over all paths */
	uint32_t states; /* states remembered at joins */
};
#define BPF_LIMITS_DEFAULT ((struct bpf_limits){1000000, 65536})

struct bpf_verdict {
	bool ok;
	uint32_t insn;           /* where it was refused */
	struct bpf_reason why;   /* such as "instruction 17: R3 may be null: check it before the load" */
	uint32_t steps, states;  /* used */
	uint32_t stack;          /* bytes that the deepest chain of calls uses */
	/* Somewhere it may write into the packet or its metadata, or move their bounds: by a store, or by a helper.
	 * A tail call is apart: the program that it starts may do the same. */
	bool writes_packet, tail_calls;
};

/*
 * Verifies one program of an object with `map_count` maps. notes has program->count entries and is
 * filled for the compiler. memory is working space: BPF_VERIFY_MEMORY bytes are enough for the default
 * limits; with less, fewer programs are accepted. memory_bytes: of BPF_CONTEXT_MEMORY.
 *
 * The caller promises that the value of a map with is_data and BPF_F_RDONLY_PROG stays def->initial as long
 * as the program may run: the verifier takes it for a constant. Nobody, an operator included, may write it.
 *
 * bpf_verify, which only tests use, returns with the final verdict. The image verifies in slices:
 * bpf_verify_begin returns NULL, with *verdict final, if there is no memory even to begin. Else call bpf_verify_go
 * until it returns true: then *verdict is final. Until then the arguments of bpf_verify_begin and the bytes of the
 * memory belong to the verification. To stop early, call no more. `steps` bounds a call: about as many
 * instructions are looked at. A call takes up to some milliseconds more with BPF_INSNS_MAX instructions.
 *
 * Time: an ordinary filter of 4,000 instructions takes some milliseconds. The worst input known (as many
 * states as steps) takes about a second before it is refused; test_bpf_verify prints both.
 */
#define BPF_VERIFY_MEMORY (96u << 20)
void bpf_verify(const struct bpf_program *program, const struct bpf_map_def *maps, unsigned map_count,
                enum bpf_context context, uint32_t memory_bytes, struct bpf_limits limits,
                struct bpf_memory *memory, struct bpf_note *notes, struct bpf_verdict *verdict);

struct verifier;
struct verifier *bpf_verify_begin(const struct bpf_program *program, const struct bpf_map_def *maps, unsigned map_count,
                                  enum bpf_context context, uint32_t memory_bytes, struct bpf_limits limits,
                                  struct bpf_memory memory, struct bpf_note *notes, struct bpf_verdict *verdict);
bool bpf_verify_go(struct verifier *v, uint32_t steps);

#endif
