/*
 * Maps: tables that programs on data cores and the control core share, as bpf(2) and Linux'
 * Documentation/bpf/map_*.rst describe them. Values are what struct bpf_map_def says; the key and value
 * bytes belong to the program.
 *
 * Where a map's memory is
 * - `shared`: written by all data cores and the control core: the one exception to the rule that every
 *   memory has one writer (ARCHITECTURE.md, Invariants, 2). For program arrays and maps of ports or
 *   cores it is published memory, which the control core alone writes. Absent for per-CPU arrays and
 *   ring buffers.
 * - `own[c]`: of core c: written by that core, and by the control core: values when an operator asks,
 *   and how far it has read a ring buffer. Per-CPU hashes have their keys in `shared`, as in Linux,
 *   where a key that one core inserts is there for all, and their values here.
 * struct bpf_map itself is published memory: data cores read it and cannot write it. So a data core that writes at
 * random damages values, chains and locks, but no address: every index that lies in shared
 * or own memory is checked against the map's shape before it is used, and every loop has a bound.
 *
 * Concurrency
 * - A look-up takes no lock. An entry that another core deletes meanwhile may be reused under the
 *   reader, as in Linux' preallocated maps: a program that holds a value's address sees old or new bytes,
 *   never memory outside the map.
 * - Update and delete lock one bucket, or one trie. The lock's word has the number of the core that
 *   holds it; a restarted core calls bpf_map_recover, which completes or undoes what its predecessor
 *   was doing and releases what it held. So a core's failure loses no map and no entry.
 * - Waiting is bounded: an update that cannot get the lock returns -16 (EBUSY), as in Linux.
 * - Updates of hashes and tries put a new entry in the old one's place, as in Linux: a look-up sees the
 *   old value or the new one, never a mixture. Arrays and per-CPU hashes are written in place.
 * - Atomic instructions on values work between cores; ordinary ones race, as in Linux.
 *
 * What Linux does otherwise: an LRU map here evicts by CLOCK and only when it is full; a ring buffer is one ring a
 * core, without order among cores and without wake-ups; a perf_event_array's rings have BPF_PERF_RING bytes, and
 * records have no padding. BPF_F_LOCK is refused: values have no spin locks.
 *
 * After a core has written at random, contents are undefined (entries may be lost until the map is made anew),
 * accesses and times are not.
 *
 * x86-64 only: little-endian, ordinary loads and stores are not reordered among themselves.
 */
#ifndef BPF_MAPS_MAP_H
#define BPF_MAPS_MAP_H

#include "bpf/maps/core.h"
#include "bpf/program.h"
#include "lib/types.h"

#define BPF_CORES_MAX 256
#define BPF_KEY_MAX 512         /* bytes */
#define BPF_VALUE_MAX 65536     /* bytes */
#define BPF_LPM_KEY_MAX 260     /* bytes: the length of the prefix, 32 bits, and up to 256 bytes */
#define BPF_LPM_ENTRIES_MAX ((1u << 22) - 4)
#define BPF_ENTRIES_MAX (1u << 30)
#define BPF_PERF_RING 65536     /* bytes of each core's ring of a perf_event_array */

struct bpf_map {
	uint32_t type; /* enum bpf_map_type */
	uint32_t key_bytes, value_bytes;
	uint32_t value_stride; /* from value to value: value_bytes, rounded up to 8 */
	uint32_t entries;      /* of a ring buffer or perf_event_array: bytes of each core's ring */
	uint32_t flags;
	uint32_t cores;        /* own[0] to own[cores - 1]; the control core has one of these numbers too */
	/*
	 * Array and devmap, cpumap, xskmap: value i is at shared + i * value_stride.
	 * Per-CPU array: at own[core] + i * value_stride.
	 * Program array: ((uint64_t *)shared)[i] is the address of the program's code; 0: none.
	 */
	uint8_t *shared;

	/* hash maps and tries (hash.c, lpm.c) */
	uint64_t hash_key[2];  /* secret, per map */
	uint8_t *buckets, *pool; /* the buckets, or the nodes; the entries */
	uint32_t buckets_mask;   /* of a trie: the number of nodes */
	uint32_t pool_entries; /* entries and the spare ones */
	uint32_t entry_stride, value_at; /* in the pool: bytes an entry, offset of its value */
	uint32_t own_stride;   /* of a per-CPU hash: bytes a value in own[] with its generation */

	uint8_t *own[BPF_CORES_MAX];
	char name[BPF_NAME];
};

/* False: no map of this shape can be made; why says what is wrong with it. */
bool bpf_map_check(const struct bpf_map_def *def, struct bpf_reason *why);

/* Which cores write `shared`. Maps that hold addresses of code, or ports and cores to send to, are written by the
 * control core alone: a program cannot change them, in Linux neither. */
enum bpf_place { BPF_PLACE_ALL, BPF_PLACE_CONTROL };
enum bpf_place bpf_map_place(const struct bpf_map_def *def);

/* Bytes that a map needs of memory that all write (or the control core alone: bpf_map_place), and of each
 * core's own; a multiple of 64. cores: 1 to BPF_CORES_MAX. Only for what bpf_map_check has accepted. */
uint64_t bpf_map_shared_bytes(const struct bpf_map_def *def, unsigned cores);
uint64_t bpf_map_own_bytes(const struct bpf_map_def *def, unsigned cores);

/*
 * Makes the map at *map in zeroed memory of the caller, aligned to 64 bytes, with def->initial as its
 * value if there is one. own has `cores` addresses. Either may be NULL if its bytes are 0. hash_key is
 * random and secret.
 */
void bpf_map_init(struct bpf_map *map, const struct bpf_map_def *def, uint8_t *shared, uint8_t *const *own,
                  unsigned cores, const uint64_t hash_key[2]);

/* The three operations of programs, on the calling core. key and value are the caller's memory of the
 * map's sizes. Errors are Linux' as negative numbers: what bpf-helpers(7) says. */
enum bpf_update { BPF_ANY, BPF_NOEXIST, BPF_EXIST, BPF_F_LOCK = 4 };
enum bpf_errno {
	BPF_ENOENT = -2, BPF_E2BIG = -7, BPF_EAGAIN = -11, BPF_ENOMEM = -12, BPF_EFAULT = -14, BPF_EBUSY = -16,
	BPF_EEXIST = -17, BPF_EINVAL = -22, BPF_ENOSPC = -28, BPF_EOVERFLOW = -75, BPF_EOPNOTSUPP = -95,
};
void *bpf_map_lookup(const struct bpf_map *map, const void *key);
int64_t bpf_map_update(const struct bpf_map *map, const void *key, const void *value, uint64_t flags);
int64_t bpf_map_delete(const struct bpf_map *map, const void *key);

/* The look-up of this map's type and key size, for compiled code that calls it directly; never NULL. */
bpf_lookup *bpf_map_lookup_for(const struct bpf_map *map);

/* The look-ups of single types, which bpf_map_lookup_for chooses from. */
bpf_lookup bpf_array_lookup, bpf_percpu_array_lookup, bpf_port_lookup, bpf_none_lookup;
bpf_lookup bpf_lpm_lookup, bpf_lpm_lookup4, bpf_lpm_lookup16;
bpf_lookup bpf_hash_lookup, bpf_hash_lookup4, bpf_hash_lookup8, bpf_hash_lookup16;
bpf_lookup bpf_lru_lookup, bpf_lru_lookup4, bpf_lru_lookup8, bpf_lru_lookup16;
bpf_lookup bpf_percpu_hash_lookup, bpf_lru_percpu_hash_lookup;

/* The helpers that need only maps, the packet and the number of the core (helpers.c): puts them into their
 * places of the table of all helpers, which has BPF_HELPERS entries, and leaves the others alone. */
void bpf_map_helpers(bpf_helper *helpers);

/* --- ring buffers: one ring a core, which that core fills and the control core empties --- */

/* Memory for a record of so many bytes, for exactly one bpf_ring_commit; NULL: no room (counted as lost), or
 * another size than a ring takes. */
void *bpf_ring_reserve(const struct bpf_map *map, uint64_t bytes);
void bpf_ring_commit(void *record, bool discard);
/* 0, BPF_EAGAIN: no room; BPF_EINVAL: flags. */
int64_t bpf_ring_output(const struct bpf_map *map, const void *data, uint64_t bytes, uint64_t flags);
/* bpf_perf_event_output(): flags as there; the first bytes of the packet follow those of data. */
int64_t bpf_perf_output(const struct bpf_map *map, uint64_t flags, const void *data, uint64_t bytes,
                        const uint8_t *packet, uint64_t packet_bytes);

/* --- the control core's --- */

/* The oldest record of that core's ring, 8-byte aligned, which stays until bpf_ring_release; NULL: none, or the
 * program has not yet committed it. */
const void *bpf_ring_next(const struct bpf_map *map, unsigned core, uint32_t *bytes);
void bpf_ring_release(const struct bpf_map *map, unsigned core);
/* Records that did not fit since the map was made, plus the number of times that a damaged ring was emptied. */
uint64_t bpf_ring_lost(const struct bpf_map *map, unsigned core);

/* Sets the code of slot `index` of a program array; 0: none. BPF_E2BIG: there is no such slot. */
int64_t bpf_prog_array_set(const struct bpf_map *map, uint32_t index, uint64_t code);

/* Copies the key behind `key`, in an order of the map's own, to next; NULL: the first one. False: there is none. As
 * BPF_MAP_GET_NEXT_KEY: if `key` is gone, the walk starts again. So a walk while programs write, or of a damaged
 * map, may meet keys more than once. The caller sets a bound, such as map->entries. */
bool bpf_map_next(const struct bpf_map *map, const void *key, void *next);

/* The value under key as core `core` sees it; `core` matters for per-CPU maps only. NULL: none. */
void *bpf_map_value(const struct bpf_map *map, const void *key, unsigned core);

/* Sets it; of a per-CPU map for that core. Errors as bpf_map_update. */
int64_t bpf_map_set(const struct bpf_map *map, const void *key, const void *value, unsigned core);

/* Entries in use; of an array all. Walks the map. */
uint32_t bpf_map_used(const struct bpf_map *map);

/* After the restart of core `core`, while it runs no program: completes or undoes the operation in which
 * it died, releases its locks, discards records that it had not committed. */
void bpf_map_recover(const struct bpf_map *map, unsigned core);

#endif
