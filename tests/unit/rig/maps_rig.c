/* See maps_rig.h. */
#include "tests/unit/rig/maps_rig.h"

#include "tests/unit/rig/host.h"

struct rig_map *rig_map_of(const struct bpf_map_def *def, unsigned cores)
{
	struct bpf_reason why = {""};
	if (!bpf_map_check(def, &why))
		fail_msg("%s", why.text);
	struct rig_map *rig = aligned_alloc(64, (sizeof *rig + 63) / 64 * 64);
	memset(rig, 0, sizeof *rig);
	rig->def = *def;
	rig->shared_bytes = bpf_map_shared_bytes(def, cores);
	rig->own_bytes = bpf_map_own_bytes(def, cores);
	assert_int_equal(rig->shared_bytes % 64 + rig->own_bytes % 64, 0);
	if (rig->shared_bytes) {
		rig->shared = aligned_alloc(64, rig->shared_bytes);
		memset(rig->shared, 0, rig->shared_bytes);
	}
	for (unsigned c = 0; c < cores && rig->own_bytes; c++) {
		rig->own[c] = aligned_alloc(64, rig->own_bytes);
		memset(rig->own[c], 0, rig->own_bytes);
	}
	const uint64_t key[2] = {random64(), random64()};
	bpf_map_init(&rig->map, def, rig->shared, rig->own_bytes ? rig->own : NULL, cores, key);
	return rig;
}

struct rig_map *rig_map(uint32_t type, uint32_t key_bytes, uint32_t value_bytes, uint32_t entries)
{
	return rig_map_of(&(struct bpf_map_def){.name = "rig", .type = type, .key_bytes = key_bytes,
	                                        .value_bytes = value_bytes, .entries = entries},
	                  RIG_CORES);
}

void rig_map_free(struct rig_map *rig)
{
	free(rig->shared);
	for (unsigned c = 0; c < BPF_CORES_MAX; c++)
		free(rig->own[c]);
	free(rig);
}

static _Thread_local unsigned steps_left;
static _Thread_local jmp_buf death;

static void die_at_last(void)
{
	if (steps_left-- == 0) {
		bpf_step = NULL;
		longjmp(death, 1);
	}
}

bool rig_dies_at(unsigned n, int64_t (*act)(void *), void *arg, int64_t *result)
{
	steps_left = n;
	if (setjmp(death))
		return true;
	bpf_step = die_at_last;
	*result = act(arg);
	bpf_step = NULL;
	return false;
}
