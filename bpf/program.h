/*
 * An object file's programs and maps, as the loader (bpf/object/) leaves them; what the verifier
 * (bpf/verifier/) learns about a program; and what both the compiler (bpf/compiler/) and the
 * interpreter (bpf/interpret.c) run.
 *
 *     bytes of an ELF file → object_load → struct bpf_object
 *     → for each program: bpf_verify → struct bpf_note of each instruction
 *     → bpf_compile with a struct bpf_env → machine code, or bpf_interpret
 *
 * Everything in this room is a pure function of its arguments: memory is lent by the caller, there is
 * no clock and no device, and it runs on the host unchanged. An object file is untrusted; only what
 * bpf_verify has accepted may be compiled for a data core.
 */
#ifndef BPF_PROGRAM_H
#define BPF_PROGRAM_H

#include "bpf/insn.h"
#include "lib/types.h"

#define BPF_NAME 64             /* bytes of a name, with its NUL; a longer one is refused */
#define BPF_INSNS_MAX 65536     /* of one program with its functions */
#define BPF_OBJECT_MAPS 64
#define BPF_OBJECT_PROGRAMS 64
#define BPF_OBJECT_SLOTS 256
#define BPF_FUNCTIONS_MAX 256   /* of one program */
#define BPF_STACK 512           /* bytes of stack of one function */
#define BPF_STACK_ALL 512       /* bytes of stack of a chain of calls, as Linux limits it */
#define BPF_CALLS_MAX 8         /* functions in a chain of calls, the first among them */
#define BPF_TAIL_CALLS_MAX 33   /* tail calls of one packet, as Linux' MAX_TAIL_CALL_CNT */

/* Memory that the caller lends; taken from the front, never given back. */
struct bpf_memory {
	uint8_t *at, *end;
};

/* Zeroed memory, aligned for any type; NULL: there is not enough. */
void *bpf_take(struct bpf_memory *m, size_t bytes);

/* Why something was refused, for the programmer; ends in NUL, without a newline. */
struct bpf_reason {
	char text[256];
};

/* The types of maps, by their numbers in Linux' uapi/linux/bpf.h (enum bpf_map_type). */
enum bpf_map_type {
	BPF_MAP_HASH = 1,
	BPF_MAP_ARRAY = 2,
	BPF_MAP_PROG_ARRAY = 3,
	BPF_MAP_PERF_EVENT_ARRAY = 4, /* what it is given goes to a ring buffer */
	BPF_MAP_PERCPU_HASH = 5,
	BPF_MAP_PERCPU_ARRAY = 6,
	BPF_MAP_LRU_HASH = 9,
	BPF_MAP_LRU_PERCPU_HASH = 10,
	BPF_MAP_LPM_TRIE = 11,
	BPF_MAP_DEVMAP = 14,
	BPF_MAP_CPUMAP = 16,
	BPF_MAP_XSKMAP = 17,          /* always empty: there are no AF_XDP sockets */
	BPF_MAP_DEVMAP_HASH = 25,
	BPF_MAP_RINGBUF = 27,
};

/* Flags of a map, as in Linux' uapi. Others are refused. */
enum bpf_map_flags {
	BPF_F_NO_PREALLOC = 1, /* accepted and ignored: all entries are allocated at the start */
	BPF_F_RDONLY_PROG = 0x80,
	BPF_F_WRONLY_PROG = 0x100,
	BPF_F_MMAPABLE = 0x400, /* accepted and ignored */
};

struct bpf_layout;

struct bpf_map_def {
	char name[BPF_NAME];
	uint32_t type; /* enum bpf_map_type */
	uint32_t key_bytes, value_bytes;
	uint32_t entries; /* at most; bytes of a ring buffer */
	uint32_t flags;   /* enum bpf_map_flags */
	/* The section .data, .rodata or .bss that this map stands for: its only value at the start. All
	 * zero if NULL. */
	const uint8_t *initial;
	bool is_data;
	const struct bpf_layout *layout; /* names of what its keys and values consist of (bpf/layout.h); NULL: unknown */
};

struct bpf_program {
	char name[BPF_NAME];    /* of the function */
	char section[BPF_NAME]; /* such as xdp or xdp/frags */
	const struct bpf_insn *insns;
	uint32_t count;         /* the program first, behind it the functions that it calls */
	/* For a chain (libxdp's section .xdp_run_config); 50 and 1 << XDP_PASS if the object says
	 * nothing. */
	uint32_t priority;      /* lower runs first */
	uint32_t chain_on;      /* bit 1 << action: the next program runs on this result */
};

/* An entry of a program array that the object itself fills: maps[map][index] is programs[program]. */
struct bpf_slot {
	uint8_t map, program;
	uint32_t index;
};

struct bpf_object {
	struct bpf_map_def maps[BPF_OBJECT_MAPS];
	unsigned map_count;
	struct bpf_program programs[BPF_OBJECT_PROGRAMS];
	unsigned program_count;
	struct bpf_slot slots[BPF_OBJECT_SLOTS];
	unsigned slot_count;
	char license[BPF_NAME]; /* for show; no helper depends on it */
};

/* What the verifier found out about an instruction. All zero is right for code that never was verified
 * (bpf-run's tests of instructions). */
enum bpf_note_kind {
	BPF_NOTE_NONE,
	BPF_NOTE_CONTEXT, /* a load from struct xdp_md: the field at `offset` (bpf/xdp.h says where it is) */
	BPF_NOTE_MAP,     /* a helper whose argument of that type is always the map `map` */
	BPF_NOTE_DEAD,    /* no path leads here */
};
struct bpf_note {
	uint8_t kind;  /* enum bpf_note_kind */
	uint8_t map;
};
_Static_assert(BPF_OBJECT_MAPS <= 256, "an index of a map fits into a note");

/* A helper: R1 to R5 in, R0 out. */
typedef uint64_t (*bpf_helper)(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5);

struct bpf_map; /* bpf/maps/map.h */

/* A map's look-up: the value, or NULL. */
typedef void *bpf_lookup(const struct bpf_map *map, const void *key);

/* What a program runs with. Addresses of maps are the same on all cores. */
struct bpf_env {
	struct bpf_map *const *maps;  /* by index in the object */
	unsigned map_count;
	const bpf_helper *helpers;    /* by number (bpf/helpers.h); NULL: none of that number */
	unsigned helper_count;
	/* For compiled code; all may be NULL, and then it calls the helper. */
	bpf_lookup *(*lookup_for)(const struct bpf_map *map); /* bpf_map_lookup_for */
	const uint32_t *core; /* where each core has its number: &bpf_core, the same address on all */
};

#endif
