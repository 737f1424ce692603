/*
 * The interpreter: runs a program instruction by instruction, checking every access. It is the oracle of
 * the tests for verifier and compiler; the image does not contain it.
 */
#ifndef BPF_INTERPRET_H
#define BPF_INTERPRET_H

#include "bpf/program.h"

/* Memory that the program may touch beside its own stack. */
struct bpf_range {
	uint8_t *from;
	size_t bytes;
	bool writable;
};

struct bpf_xdp;

/* A program with what it runs with. In tests of the interpreter the entries of program arrays, which are
 * addresses of code otherwise, are addresses of these. */
struct bpf_loaded {
	const struct bpf_program *program;
	const struct bpf_note *notes; /* NULL: none */
	const struct bpf_env *env;
};

struct bpf_run {
	const struct bpf_range *ranges;
	unsigned range_count;
	struct bpf_xdp *context; /* what R1 points to; NULL: R1 is something else */
	uint64_t steps;          /* in: at most so many; out: what is left */
	uint64_t result;         /* R0 */
	uint32_t insn;           /* where it stopped */
	struct bpf_reason why;   /* if it did */
};

/*
 * Runs with R1 = r1 and R2 = r2. False: it did something that no verified program may do; run->why. The
 * callback `ranges_now`, if not NULL, is asked for further memory before an access is refused (the
 * packet after it has moved). Values that a look-up has returned, reserved memory of ring buffers and
 * the values of arrays need no range.
 */
bool bpf_interpret(const struct bpf_program *program, const struct bpf_note *notes, const struct bpf_env *env,
                   uint64_t r1, uint64_t r2, bool (*ranges_now)(const void *at, size_t bytes, bool write),
                   struct bpf_run *run);

#endif
