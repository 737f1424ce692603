/*
 * Maps on the host: memory of exactly the size that the map asks for, so that ASan sees each access outside.
 */
#ifndef TESTS_UNIT_RIG_MAPS_RIG_H
#define TESTS_UNIT_RIG_MAPS_RIG_H

#include "bpf/maps/map.h"

#define RIG_CORES 4

struct rig_map {
	struct bpf_map map;
	struct bpf_map_def def;
	uint8_t *shared;
	uint8_t *own[BPF_CORES_MAX];
	uint64_t shared_bytes, own_bytes;
};

/* A map with RIG_CORES cores; the test fails if bpf_map_check refuses it. */
struct rig_map *rig_map(uint32_t type, uint32_t key_bytes, uint32_t value_bytes, uint32_t entries);
struct rig_map *rig_map_of(const struct bpf_map_def *def, unsigned cores);
/* All keys of a hash get the same hash. Before its first use. */
static inline void rig_map_collide(struct rig_map *rig) { rig->map.hash_key[1] = 0; }

void rig_map_free(struct rig_map *rig);

/* Runs `act` until the n-th of its stores to shared memory, from 0, and abandons it there, as a core does that dies.
 * False: it ended before, and *result is what it returned. */
bool rig_dies_at(unsigned n, int64_t (*act)(void *), void *arg, int64_t *result);

#endif
