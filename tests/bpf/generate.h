/* Random BPF programs that verifiers accept: see generate.c. */
#ifndef TESTS_BPF_GENERATE_H
#define TESTS_BPF_GENERATE_H

#include "bpf/program.h"

#define GENERATED_MAX 4096

/* The maps that a generated program uses, by their indices. */
enum { GENERATED_ARRAY, GENERATED_HASH, GENERATED_PER_CPU, GENERATED_MAPS };
extern const struct bpf_map_def generated_maps[GENERATED_MAPS];
#define GENERATED_KEYS 16 /* of the hash: 0 to 15, more than it has room for */

struct generated {
	struct bpf_insn insns[GENERATED_MAX];
	struct bpf_note notes[GENERATED_MAX]; /* what a verifier must find out */
	uint32_t count;
};

/* Random numbers that depend on the seed alone. */
struct random {
	uint64_t state;
};
uint64_t random_next(struct random *r);
uint32_t random_below(struct random *r, uint32_t n);

/* v4: with the instructions of clang's -mcpu=v4, which Linux has since 6.6. csum: with bpf_csum_diff, whose
 * result is the same on all machines since 6.13. */
void generate(struct generated *g, struct random *r, bool v4, bool csum);

#endif
