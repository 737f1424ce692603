/*
 * An object file of BPF programs (bpf/object/object.h), the input as the file. Either it is refused with a
 * reason, or the promises in tests/unit/rig/bpf_contract.h hold: every instruction and initial value can be
 * read, and every map, place in data and called function that an instruction names exists. Memory is as
 * promised, or too little.
 */
#include "tests/fuzz/input.h"

#include "bpf/object/object.h"
#include "tests/unit/rig/bpf_contract.h"

static void load(const uint8_t *file, size_t bytes, uint8_t *memory, size_t room)
{
	static struct bpf_object object;
	static struct bpf_reason why;
	struct bpf_memory m = {memory, memory + room};
	why.text[0] = 0;
	const bool ok = bpf_object_load(file, bytes, &m, &object, &why);
	bpf_object_contract(ok, &object, &why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t *enough; /* for all inputs: ASan takes half a millisecond for each new megabyte */
	static size_t room;
	const size_t little = 3000 + 4 * size;
	uint8_t *copy = exactly(data, size), *memory = malloc(little);
	if (room < BPF_OBJECT_MEMORY(size)) {
		free(enough);
		room = BPF_OBJECT_MEMORY(size);
		enough = malloc(room);
	}
	load(copy, size, enough, BPF_OBJECT_MEMORY(size));
	load(copy, size, memory, little);
	free(memory);
	free(copy);
	return 0;
}
