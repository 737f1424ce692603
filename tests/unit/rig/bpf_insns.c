/* The verifier called with programs of tests (bpf_insns.h). */
#include "tests/unit/rig/bpf_insns.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t constants[16] = {1, 2, 3, 4, 5, 6, 7, 0x88};

const struct bpf_map_def rig_maps[RIG_MAPS] = {
	[ARRAY48] = {"array48", BPF_MAP_ARRAY, 4, 48, 4, 0, NULL, false, NULL},
	[HASH8] = {"hash8", BPF_MAP_HASH, 8, 8, 16, 0, NULL, false, NULL},
	[RODATA] = {".rodata", BPF_MAP_ARRAY, 4, 16, 1, BPF_F_RDONLY_PROG, constants, true, NULL},
	[RING] = {"ring", BPF_MAP_RINGBUF, 0, 0, 4096, 0, NULL, false, NULL},
	[PROGS] = {"progs", BPF_MAP_PROG_ARRAY, 4, 4, 4, 0, NULL, false, NULL},
	[DEVICES] = {"devices", BPF_MAP_DEVMAP, 4, 4, 4, 0, NULL, false, NULL},
	[WRITE_ONLY] = {"write_only", BPF_MAP_ARRAY, 4, 8, 1, BPF_F_WRONLY_PROG, NULL, false, NULL},
	[BSS] = {".bss", BPF_MAP_ARRAY, 4, 16, 1, 0, NULL, true, NULL},
};

/* In slices of `steps`, which must give the same. */
static void verify_in_slices(const struct bpf_program *program, enum bpf_context context, uint32_t memory_bytes,
                             uint32_t steps, struct bpf_memory memory, const struct bpf_note *notes,
                             const struct bpf_verdict *verdict)
{
	struct bpf_note *mine = malloc(program->count * sizeof *mine);
	struct bpf_verdict other;
	struct verifier *v = bpf_verify_begin(program, rig_maps, RIG_MAPS, context, memory_bytes, BPF_LIMITS_DEFAULT,
	                                      memory, mine, &other);
	assert(v);
	while (!bpf_verify_go(v, steps))
		;
	assert(memcmp(verdict, &other, sizeof other) == 0);
	assert(!verdict->ok || memcmp(notes, mine, program->count * sizeof *mine) == 0);
	free(mine);
}

struct bpf_verdict rig_verify(const struct bpf_insn *insns, uint32_t count, enum bpf_context context,
                              uint32_t memory_bytes, struct bpf_note *notes)
{
	static uint8_t *space;
	if (!space)
		space = malloc(BPF_VERIFY_MEMORY);
	struct bpf_note *mine = notes ? notes : malloc(count * sizeof *mine);
	struct bpf_insn *exact = malloc(count * sizeof *exact);
	for (uint32_t n = 0; n < count; n++)
		exact[n] = insns[n];
	const struct bpf_program program = {.name = "test", .section = "xdp", .insns = exact, .count = count};
	struct bpf_memory memory = {space, space + BPF_VERIFY_MEMORY};
	struct bpf_verdict verdict;
	bpf_verify(&program, rig_maps, RIG_MAPS, context, memory_bytes, BPF_LIMITS_DEFAULT, &memory, mine, &verdict);
	verify_in_slices(&program, context, memory_bytes, 1 + count % 7, memory, mine, &verdict);
	free(exact);
	if (!notes)
		free(mine);
	return verdict;
}
