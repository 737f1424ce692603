/*
 * The machine's store of XDP programs (docs/xdp.md): objects by name, as the boot module or a PUT over
 * HTTP brought them, their maps, and the chains of the ports.
 *
 *     store.c    the objects, what of them outlives the control program
 *     load.c     from the bytes of an ELF file to an object: loader, verifier, compiler, in slices
 *     maps.c     its memory and its maps
 *     chains.c   which programs run on which port, and their counts
 *     entries.c  keys and values of maps as text
 *     print.c    lines of bpf_trace_printk
 *
 * An object is loaded as a whole or not at all. It replaces another of its name without losing a packet:
 * the new code is written, the chains that use the name are published, core_quiesce(), then the old code
 * is freed. Maps of the old object whose name and shape are those of the new one's go on with their
 * entries, but for the sections .data, .bss and .rodata and program arrays, which belong to the code.
 *
 * Where things lie (runtime.h, core_region_alloc): code in REGION_CODE; struct bpf_map, the objects and
 * maps that the control core alone writes in REGION_CONTROL; other maps in REGION_SHARED and
 * REGION_OWN. All of it outlives the control program: a sealed list in memory of
 * core_persist_alloc(CORE_PERSIST_PROGRAMS) says what there is, and data cores run the programs meanwhile.
 * A machine without programs takes no memory for any of this.
 *
 * Time: an object is loaded in slices of a quarter of a millisecond, one a turn of the control core, which
 * does everything else between them. load.c says what takes longer. PROGRAMS_STEPS bounds the whole.
 */
#ifndef CONTROL_PROGRAMS_PROGRAMS_H
#define CONTROL_PROGRAMS_PROGRAMS_H

#include "bpf/maps/map.h"
#include "bpf/program.h"
#include "control/config/config.h"
#include "control/text/module.h"
#include "dataplane/xdp.h"
#include "lib/fmt.h"

#define PROGRAMS_OBJECTS_MAX 32
#define PROGRAMS_FILE_MAX (1u << 20)
#define PROGRAMS_STEPS 1000000 /* of the verifier, for one program: as Linux */

struct programs_map {
	struct bpf_map_def def; /* initial is NULL; layout lies in the object's `layouts` */
	struct bpf_map *map;
	uint8_t *shared;  /* NULL: none */
	uint8_t *own;     /* of data core 0; NULL: none */
	uint8_t *own_control; /* the control core's part, if it is no data core */
	uint64_t shared_bytes, own_bytes;
	uint32_t region;  /* enum region_kind of shared */
	bool kept;        /* the object before had it */
};

struct programs_program {
	char name[BPF_NAME], section[BPF_NAME];
	uint32_t insns, steps, states, stack;
	uint32_t priority, chain_on;
	bool changes; /* may change the packet, itself or by a tail call */
	bool tail_calls;
	uint8_t *code;
	uint32_t code_bytes;
	uint32_t *where; /* see struct bpf_code */
};

struct programs_object {
	uint64_t seal; /* hash of all that follows */
	char name[CONFIG_OBJECT_SIZE];
	char license[BPF_NAME];
	uint32_t file_bytes;
	uint32_t version; /* how often an object of this name was loaded */
	uint64_t loaded_tsc;
	uint32_t verify_us, compile_us;
	uint32_t longest_us; /* the control core did nothing else so long */
	uint8_t *layouts; /* those of all maps, behind each other; NULL: none */
	uint32_t layout_bytes;
	uint32_t map_count, program_count;
	struct programs_map maps[BPF_OBJECT_MAPS];
	struct programs_program programs[BPF_OBJECT_PROGRAMS];
};

/* --- store.c --- */

/* In the first control_plane_start, before the configuration is checked: finds what the previous control
 * program has left, then loads the boot module's files `program/NAME` that are not there. Errors are logged. */
void programs_start(const struct module *m);

/* In control_plane_start: lists the maps in the new data-plane state. programs_chains_start calls it. */
void programs_publish(void);

/* When the tables that control_plane_start has built are in force: frees what only those before used. */
void programs_settled(void);

const struct programs_object *programs_at(unsigned i); /* i from 0; NULL: no more */
const struct programs_object *programs_find(struct text name);
const struct programs_program *programs_program_of(const struct programs_object *o, struct text program);

/* The map of that name, "MAP" or "OBJECT/MAP". NULL: there is none, or several objects have one. *why, if
 * not NULL, gets a sentence about it. */
const struct programs_map *programs_map_of(struct text name, const struct programs_object **object,
                                           const char **why);

enum programs_progress { PROGRAMS_DONE, PROGRAMS_REFUSED, PROGRAMS_MORE };

/*
 * Begins to load an object from the bytes of an ELF file, which must stay as they are until that ends; a load
 * before it that has not ended is stopped. PROGRAMS_REFUSED: *why says why; nothing has changed.
 * PROGRAMS_MORE: call programs_put_go, once a turn, until it returns something else. PROGRAMS_DONE: the object
 * is in force under this name, and *loaded is it.
 */
enum programs_progress programs_put(struct text name, const uint8_t *file, size_t bytes, struct bpf_reason *why);
enum programs_progress programs_put_go(struct bpf_reason *why, const struct programs_object **loaded);

/* Stops a load that has begun, if there is one. Nothing has changed. */
void programs_put_stop(void);

/* Removes an object. E_NOENT: there is none. E_AGAIN: the running configuration uses it, or an object is being
 * loaded. */
int programs_delete(struct text name, struct bpf_reason *why);

/* Checks that the store has what the configuration names. E_INVAL: *err says what is missing. */
int programs_check(const struct config *c, struct text_error *err);

/* The memory for a file of up to PROGRAMS_FILE_MAX bytes that comes over the network; NULL: there is not
 * enough. The caller sees to it that there is one at a time. */
uint8_t *programs_upload(void);

/* control_hooks.code_name. */
bool programs_code_name(uint64_t at, uint64_t tsc, char *text, size_t size);

/* --- load.c, for store.c --- */

/* Begins to make an object; `before`, if not NULL, is the one it will replace, whose maps it takes over where
 * they agree. False: *why says why not. Otherwise programs_load_go makes a slice of it, and *loaded gets the
 * object when it is done; if it is refused, or stopped, nothing is left behind. */
bool programs_load_begin(struct text name, const struct programs_object *before, const uint8_t *file, size_t bytes,
                         struct bpf_reason *why);
enum programs_progress programs_load_go(struct bpf_reason *why, struct programs_object **loaded);
void programs_load_stop(void);

/* --- maps.c, for load.c and store.c --- */

/* Makes the object's next map, or takes it over from the object before. */
bool programs_make_map(struct programs_object *o, const struct bpf_map_def *def,
                       const struct programs_object *before, struct bpf_reason *why);

/* Copies the layouts of all maps, which have been made. Without memory for that, they have none. */
void programs_keep_layouts(struct programs_object *o, const struct bpf_object *from);

/* Frees an object's memory, but for the maps that `after`, if not NULL, has taken over. */
void programs_free(struct programs_object *o, const struct programs_object *after);

/* Claims an object's memory for this control program, but for maps that `claimed`, if not NULL, shares with
 * it. False: it is not all there. */
bool programs_claim(const struct programs_object *o, const struct programs_object *claimed);

uint64_t programs_seal_of(const struct programs_object *o); /* load.c */

/* --- chains.c --- */

/* In control_plane_start: makes the chains of the running configuration in the new data-plane state. */
void programs_chains_start(const struct config *c);

/* Puts the chains of a configuration into force while data cores run. False: a data core has not answered,
 * and may use the chains before: core_quiesce(). */
bool programs_chains_change(const struct config *c);

/* Program i of a port's chain, in the order in which they run; false: there are no more. */
struct programs_running {
	const struct programs_object *object;
	const struct programs_program *program;
	uint64_t action[XDP_ACTIONS]; /* since the object was put on the port, or `clear xdp counters` */
	uint64_t total[XDP_ACTIONS];  /* the same, never cleared */
};
bool programs_running_at(unsigned port, unsigned i, struct programs_running *r);

/* Sets the counts that the console shows to 0. */
void programs_clear(void);

/* Is the object on a port? */
bool programs_in_use(const struct programs_object *o);

const char *programs_action_word(unsigned action); /* "drop" and so on */

/* --- entries.c --- */

/* Reads bytes of a key or value: words of two hex digits behind "hex", or decimal numbers of one byte, as
 * bpftool has them; one number, decimal or 0x…, of the size 1, 2, 4 or 8 little-endian. False: not that. */
bool programs_bytes_read(struct text t, uint8_t *to, size_t size);

/* Cuts "key BYTES value BYTES [cpu N]" or "key BYTES". */
struct programs_entry {
	uint8_t key[BPF_KEY_MAX];
	uint8_t *value;   /* of the map's value_bytes; the caller's */
	bool has_value;
	unsigned core;    /* UINT32_MAX: all cores' */
};
bool programs_entry_read(const struct programs_map *m, struct text t, struct programs_entry *e,
                         struct bpf_reason *why);

/* The key of entry n, counted from 0 in the map's own order; false: there are not so many. Entries that come
 * or go meanwhile may be left out or come twice. Asked for one entry after the other, it walks on; several
 * readers may do so. */
bool programs_entry_at(const struct programs_map *m, uint32_t n, uint8_t key[BPF_KEY_MAX]);

/* Sets or removes an entry. `flags`: enum bpf_update. False: *why says why not. */
bool programs_entry_set(const struct programs_map *m, const struct programs_entry *e, struct bpf_reason *why);
bool programs_entry_delete(const struct programs_map *m, const uint8_t *key, struct bpf_reason *why);

/* Writes a key or value as JSON by the names that the object has for its parts. False, and nothing has been
 * written: it has none, or the text does not fit. */
bool programs_key_print(const struct programs_map *m, const uint8_t *key, struct fmt_buf *out);
bool programs_value_print(const struct programs_map *m, const uint8_t *value, struct fmt_buf *out);

/* Is the map one of values that differ from core to core? */
bool programs_map_per_core(const struct programs_map *m);
bool programs_map_is_ring(const struct programs_map *m);
const char *programs_map_type(unsigned type);

/* --- print.c --- */

/* Prints lines of bpf_trace_printk; watches for cores that died with a map's lock. Returns core_now_ns() of
 * the next call. */
uint64_t programs_timer(void);

#endif
