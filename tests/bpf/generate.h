/* Random BPF programs that verifiers accept: see generate.c. */
#ifndef TESTS_BPF_GENERATE_H
#define TESTS_BPF_GENERATE_H

#include "bpf/program.h"

#define GENERATED_MAX 4096

/* The maps that a generated program uses, by their indices. */
enum {
	GENERATED_ARRAY, GENERATED_HASH, GENERATED_PER_CPU, GENERATED_LRU, GENERATED_PER_CPU_HASH, GENERATED_LPM,
	GENERATED_RING, GENERATED_PROGS, GENERATED_MAPS,
};
extern const struct bpf_map_def generated_maps[GENERATED_MAPS];
#define GENERATED_KEYS 16 /* of hashes: 0 to 15, more than two of them have room for */
enum { SLOT_EMPTY, SLOT_OTHER, SLOT_ITSELF }; /* of the program array */

struct generated {
	struct bpf_insn insns[GENERATED_MAX];
	struct bpf_note notes[GENERATED_MAX]; /* what a verifier must find out */
	uint32_t count;
	bool tail_calls; /* has one */
};

/* Random numbers that depend on the seed alone. */
struct random {
	uint64_t state;
};
uint64_t random_next(struct random *r);
uint32_t random_below(struct random *r, uint32_t n);

/*
 * What the kernel can do that the programs are compared with. The last two are faults of Linux' verifier, which
 * docs/xdp.md describes: where a kernel has them, generate.c keeps what they break out of the programs.
 */
struct generate_for {
	bool v4;              /* has the instructions of clang's -mcpu=v4, which Linux has since 6.6 */
	bool csum;            /* bpf_csum_diff has the same result on all machines: since 6.13 */
	bool tries;           /* LPM tries obey the flags of an update: since 6.13 */
	bool empty_is_free;   /* a tail call to an empty slot does not count towards the limit */
	bool fetch_is_load;   /* its verifier knows that a value fetched from the stack depends on the stack */
	bool cmpxchg_extends; /* a 32-bit CMPXCHG clears the upper half of R0 on all paths */
};
void generate(struct generated *g, struct random *r, const struct generate_for *kernel);

/* Changes one to four instructions at random. Most such programs are invalid. */
void mutate(struct generated *g, struct random *r);

#endif
