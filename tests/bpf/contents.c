/*
 * Maps here and in Linux: see contents.h. Program arrays have no contents here: the caller fills them.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bpf/contents.h"

static uint8_t *zeroed(uint64_t bytes)
{
	uint8_t *p = aligned_alloc(64, (bytes + 63) & ~63ull);
	memset(p, 0, bytes);
	return p;
}

static void stay(struct maps *m)
{
	const int cpu = sched_getcpu();
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof set, &set);
	m->cpu = (unsigned)cpu;
	m->cpus = linux_cpus();
}

void maps_make(struct maps *m)
{
	static const uint64_t key[2] = {1, 2};
	stay(m);
	for (unsigned i = 0; i < GENERATED_MAPS; i++) {
		const struct bpf_map_def *def = &generated_maps[i];
		const uint64_t shared = bpf_map_shared_bytes(def, 1), own = bpf_map_own_bytes(def, 1);
		uint8_t *owns[1] = {own ? zeroed(own) : NULL};
		bpf_map_init(&m->map[i], def, shared ? zeroed(shared) : NULL, owns, 1, key);
		m->pointers[i] = &m->map[i];
		m->theirs[i] = linux_map(def->type, def->key_bytes, def->value_bytes, def->entries, def->flags);
		if (m->theirs[i] < 0) {
			fprintf(stderr, "Linux makes no map %s: %s\n", def->name, strerror(-m->theirs[i]));
			exit(2);
		}
	}
	if (!linux_ring_open(&m->ring, m->theirs[GENERATED_RING], generated_maps[GENERATED_RING].entries)) {
		fprintf(stderr, "Linux' ring buffer cannot be mapped\n");
		exit(2);
	}
}

/* --- keys --- */

static bool is_array(unsigned map)
{
	return generated_maps[map].type == BPF_MAP_ARRAY || generated_maps[map].type == BPF_MAP_PERCPU_ARRAY;
}

static bool is_per_cpu(unsigned map)
{
	return generated_maps[map].type == BPF_MAP_PERCPU_ARRAY || generated_maps[map].type == BPF_MAP_PERCPU_HASH;
}

static unsigned keys_of(unsigned map)
{
	switch (generated_maps[map].type) {
	case BPF_MAP_PROG_ARRAY:
	case BPF_MAP_RINGBUF: return 0;
	case BPF_MAP_LPM_TRIE: return CONTENTS_KEYS;
	default: return is_array(map) ? generated_maps[map].entries : GENERATED_KEYS;
	}
}

/*
 * Key n. Of a trie the prefixes that programs insert: of 0, 8, 16, 24 and 32 bits, each byte 0 or 1. Prefix n has
 * as many bytes as n + 1 has binary digits behind the first, and these digits are the bytes.
 */
static uint64_t key_of(unsigned map, unsigned n)
{
	if (generated_maps[map].type != BPF_MAP_LPM_TRIE)
		return n;
	uint8_t key[8] = {0};
	unsigned bytes = 0;
	while (n + 1 >= 2u << bytes)
		bytes++;
	key[0] = (uint8_t)(8 * bytes);
	for (unsigned b = 0; b < bytes; b++)
		key[4 + b] = (n + 1) >> (bytes - 1 - b) & 1;
	uint64_t k;
	memcpy(&k, key, sizeof k);
	return k;
}

/* --- contents --- */

void contents_random(struct contents *c, struct random *r)
{
	memset(c, 0, sizeof *c);
	for (unsigned map = 0; map < GENERATED_MAPS; map++) {
		unsigned in_map = is_array(map) ? keys_of(map) : random_below(r, 8);
		for (unsigned n = 0; n < keys_of(map); n++) {
			if (!is_array(map) && (in_map == 0 || random_below(r, 2)))
				continue;
			in_map--;
			c->at[map][n].present = true;
			for (unsigned b = 0; b < generated_maps[map].value_bytes; b++)
				c->at[map][n].value[b] = (uint8_t)random_next(r);
		}
	}
}

/* Entries come and go. A mutated program may enter keys that no other program uses: they must go, too. */
static bool has_entries(unsigned map)
{
	return keys_of(map) > 0 && !is_array(map);
}

void contents_put_ours(struct maps *m, const struct contents *c)
{
	for (unsigned map = 0; map < GENERATED_MAPS; map++) {
		if (has_entries(map))
			for (uint64_t key; bpf_map_next(&m->map[map], NULL, &key);)
				bpf_map_delete(&m->map[map], &key);
		for (unsigned n = 0; n < keys_of(map); n++) {
			const uint64_t key = key_of(map, n);
			if (c->at[map][n].present)
				bpf_map_update(&m->map[map], &key, c->at[map][n].value, BPF_ANY);
		}
	}
	uint32_t bytes;
	while (bpf_ring_next(&m->map[GENERATED_RING], 0, &bytes))
		bpf_ring_release(&m->map[GENERATED_RING], 0);
}

static void put_record(struct contents *c, const void *record, uint32_t bytes)
{
	if (c->ring_bytes + 4 + bytes > sizeof c->ring)
		return;
	memcpy(c->ring + c->ring_bytes, &bytes, 4);
	memcpy(c->ring + c->ring_bytes + 4, record, bytes);
	c->ring_bytes += 4 + bytes;
}

void contents_get_ours(const struct maps *m, struct contents *c)
{
	memset(c, 0, sizeof *c);
	for (unsigned map = 0; map < GENERATED_MAPS; map++) {
		for (unsigned n = 0; n < keys_of(map); n++) {
			const uint64_t key = key_of(map, n);
			const void *value = bpf_map_lookup(&m->map[map], &key);
			c->at[map][n].present = value != NULL;
			if (value)
				memcpy(c->at[map][n].value, value, generated_maps[map].value_bytes);
		}
	}
	const void *record;
	uint32_t bytes;
	while ((record = bpf_ring_next(&m->map[GENERATED_RING], 0, &bytes))) {
		put_record(c, record, bytes);
		bpf_ring_release(&m->map[GENERATED_RING], 0);
	}
}

/* bpf(2) has the values of all CPUs one behind the other, each rounded up to 8 bytes: here all have 8 * n. */
void contents_put_linux(struct maps *m, const struct contents *c)
{
	uint8_t values[CONTENTS_VALUE * m->cpus];
	for (unsigned map = 0; map < GENERATED_MAPS; map++) {
		if (has_entries(map))
			for (uint64_t key; linux_map_next(m->theirs[map], NULL, &key) == 0;)
				linux_map_delete(m->theirs[map], &key);
		for (unsigned n = 0; n < keys_of(map); n++) {
			const uint64_t key = key_of(map, n);
			const unsigned bytes = generated_maps[map].value_bytes;
			for (unsigned cpu = 0; cpu < (is_per_cpu(map) ? m->cpus : 1); cpu++)
				memcpy(values + bytes * cpu, c->at[map][n].value, bytes);
			if (c->at[map][n].present)
				linux_map_update(m->theirs[map], &key, values);
		}
	}
	uint32_t bytes;
	while (linux_ring_next(&m->ring, &bytes))
		;
}

void contents_get_linux(struct maps *m, struct contents *c)
{
	uint8_t values[CONTENTS_VALUE * m->cpus];
	memset(c, 0, sizeof *c);
	for (unsigned map = 0; map < GENERATED_MAPS; map++) {
		for (unsigned n = 0; n < keys_of(map); n++) {
			const uint64_t key = key_of(map, n);
			const unsigned bytes = generated_maps[map].value_bytes;
			if (linux_map_lookup(m->theirs[map], &key, values))
				continue;
			c->at[map][n].present = true;
			memcpy(c->at[map][n].value, values + (is_per_cpu(map) ? bytes * m->cpu : 0), bytes);
		}
	}
	const void *record;
	uint32_t bytes;
	while ((record = linux_ring_next(&m->ring, &bytes)))
		put_record(c, record, bytes);
}

const char *contents_differ(const struct contents *a, const struct contents *b)
{
	for (unsigned map = 0; map < GENERATED_MAPS; map++)
		if (memcmp(a->at[map], b->at[map], sizeof a->at[map]))
			return generated_maps[map].name;
	if (a->ring_bytes != b->ring_bytes || memcmp(a->ring, b->ring, a->ring_bytes))
		return generated_maps[GENERATED_RING].name;
	return NULL;
}
