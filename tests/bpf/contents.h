/*
 * The maps of generated programs, made here and in Linux, and their contents as one structure that can be
 * compared.
 */
#ifndef TESTS_BPF_CONTENTS_H
#define TESTS_BPF_CONTENTS_H

#include "bpf/maps/map.h"
#include "tests/bpf/generate.h"
#include "tests/bpf/linux.h"

#define CONTENTS_KEYS 31  /* of one map, at most */
#define CONTENTS_VALUE 32 /* bytes */
#define CONTENTS_RING 4096

struct maps {
	struct bpf_map map[GENERATED_MAPS];
	struct bpf_map *pointers[GENERATED_MAPS];
	int theirs[GENERATED_MAPS];
	unsigned cpus, cpu; /* of the machine; on which this process stays */
	struct linux_ring ring;
};

/* What a look-up of each key that programs use gives, and the records of the ring, each behind its length. */
struct contents {
	struct {
		bool present;
		uint8_t value[CONTENTS_VALUE];
	} at[GENERATED_MAPS][CONTENTS_KEYS];
	uint32_t ring_bytes;
	uint8_t ring[CONTENTS_RING];
};

/* Makes all maps. The process stays on its CPU from now on: the values of per-CPU maps are that CPU's. Ends the
 * process if Linux makes no such map. */
void maps_make(struct maps *m);

void contents_random(struct contents *c, struct random *r);
/* Sets the contents of all maps but the ring's records, which are taken away. */
void contents_put_ours(struct maps *m, const struct contents *c);
void contents_put_linux(struct maps *m, const struct contents *c);
void contents_get_ours(const struct maps *m, struct contents *c);
void contents_get_linux(struct maps *m, struct contents *c);
/* The name of a map whose contents differ, or NULL. */
const char *contents_differ(const struct contents *a, const struct contents *b);

#endif
