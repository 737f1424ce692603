/*
 * Maps: tables that programs on data cores and the control core share, as bpf(2) and Linux'
 * Documentation/bpf/map_*.rst describe them. Values are what struct bpf_map_def says; the key and value
 * bytes belong to the program.
 *
 * Where a map's memory is
 * - `shared`: written by all data cores and the control core: the one exception to the rule that every
 *   memory has one writer (ARCHITECTURE.md, Invariants, 2). For program arrays and maps of ports or
 *   cores it is published memory, which the control core alone writes. Absent for per-CPU maps and ring
 *   buffers.
 * - `own[c]`: of core c: written by that core, and by the control core when an operator asks. Absent
 *   for other maps.
 * struct bpf_map itself is published memory: data cores read it and cannot write it. So a program, or a
 * data core gone mad, damages values, chains and locks, but no address: every index that lies in shared
 * or own memory is checked against the map's shape before it is used.
 *
 * Concurrency
 * - A look-up takes no lock. An entry that another core deletes meanwhile may be reused under the
 *   reader, as in Linux' preallocated maps: the reader sees old or new bytes, never memory outside the
 *   map.
 * - Update and delete lock one bucket. The lock's word has the number of the core that holds it; a
 *   restarted core calls bpf_map_recover, which releases what its predecessor held and mends the
 *   bucket. So a core's failure loses no map.
 * - Atomic instructions on values work between cores; ordinary ones race, as in Linux.
 */
#ifndef BPF_MAPS_MAP_H
#define BPF_MAPS_MAP_H

#include "bpf/program.h"
#include "lib/types.h"

#define BPF_CORES_MAX 64
#define BPF_KEY_MAX 512      /* bytes */
#define BPF_VALUE_MAX 65536  /* bytes */

struct bpf_map {
	uint32_t type; /* enum bpf_map_type */
	uint32_t key_bytes, value_bytes;
	uint32_t value_stride; /* from value to value: value_bytes, rounded up to 8 */
	uint32_t entries;
	uint32_t flags;
	uint32_t buckets_mask; /* hash maps */
	uint32_t cores;        /* own[0] to own[cores - 1] */
	uint64_t hash_key[2];  /* SipHash, per map */
	uint8_t *shared;
	uint8_t *own[BPF_CORES_MAX];
	/* Array: the values start here in `shared`, per-CPU array in own[c]: at 0. */
	char name[BPF_NAME];
};

/* The number of the core that runs this, 0 or more: own[bpf_core] is its memory. Set once at the start
 * of a core's program. */
extern uint32_t bpf_core;

/* False: no map of this shape can be made; why says what is wrong with it. */
bool bpf_map_check(const struct bpf_map_def *def, struct bpf_reason *why);

/* Who writes `shared`. Maps that hold addresses of code, or ports and cores to send to, are written by the
 * control core alone: a program cannot change them, in Linux neither. */
enum bpf_place { BPF_PLACE_ALL, BPF_PLACE_CONTROL };
enum bpf_place bpf_map_place(const struct bpf_map_def *def);

/* Bytes that a map needs of memory that all write (or the control core alone: bpf_map_place), and of each
 * core's own; a multiple of 64. Only for what bpf_map_check has accepted. */
uint64_t bpf_map_shared_bytes(const struct bpf_map_def *def);
uint64_t bpf_map_own_bytes(const struct bpf_map_def *def);

/*
 * Makes the map at *map in zeroed memory of the caller, aligned to 64 bytes, with def->initial as its
 * value if there is one. own has `cores` addresses. Either may be NULL if its bytes are 0.
 */
void bpf_map_init(struct bpf_map *map, const struct bpf_map_def *def, uint8_t *shared, uint8_t *const *own,
                  unsigned cores, const uint64_t hash_key[2]);

/* The three operations of programs, on the calling core. key and value are the caller's memory of the
 * map's sizes. Errors are Linux' as negative numbers: -2 ENOENT, -7 E2BIG (full), -17 EEXIST, -22 EINVAL
 * (flags), and so on: what bpf-helpers(7) says. */
enum bpf_update { BPF_ANY, BPF_NOEXIST, BPF_EXIST };
void *bpf_map_lookup(const struct bpf_map *map, const void *key);
int64_t bpf_map_update(const struct bpf_map *map, const void *key, const void *value, uint64_t flags);
int64_t bpf_map_delete(const struct bpf_map *map, const void *key);

/* --- the control core's --- */

/* The key behind `key` in an order of the map's own, or the first one if key is NULL; false: the end. As
 * BPF_MAP_GET_NEXT_KEY: if `key` is gone, it starts again. */
bool bpf_map_next(const struct bpf_map *map, const void *key, void *next);

/* The value under key as core `core` sees it; `core` matters for per-CPU maps only. NULL: none. */
void *bpf_map_value(const struct bpf_map *map, const void *key, unsigned core);

/* Sets it; of a per-CPU map for that core. Errors as bpf_map_update. */
int64_t bpf_map_set(const struct bpf_map *map, const void *key, const void *value, unsigned core);

/* Entries in use; of an array all. Walks the map. */
uint32_t bpf_map_used(const struct bpf_map *map);

/* After the restart of core `core`: releases the locks that it held. */
void bpf_map_recover(const struct bpf_map *map, unsigned core);

#endif
