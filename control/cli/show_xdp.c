/* `show xdp`, `xdp map`: XDP programs and their maps. docs/console.md specifies the form, which is an
 * interface. */
#include "control/cli/show.h"
#include "control/console/shell.h"
#include "control/programs/programs.h"
#include "control/text/interface_name.h"
#include "dataplane/state.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "runtime/runtime.h"

#define SHOWN_MAX 256 /* bytes of a key, value or record; the rest is left out */
#define SHOWN_ROW 32
#define NAMED_MAX 600 /* bytes of text of a key or value by names; a longer one is shown as bytes */
#define EVENTS_MAX 1000 /* records a command */

typedef unsigned long long ull;

/* --- objects and chains --- */

static void show_object(struct shell *sh, const struct programs_object *o)
{
	shell_print(sh, "object %s version %u, %u bytes, license %s, verified in %u us, compiled in %u us, "
	                "%u us at a time\n", o->name, o->version, o->file_bytes, o->license[0] ? o->license : "none",
	            o->verify_us, o->compile_us, o->longest_us);
	for (unsigned i = 0; i < o->program_count; i++) {
		const struct programs_program *p = &o->programs[i];
		shell_print(sh, "  program %s section %s, %u instructions, %u verified, stack %u, code %u bytes, "
		                "priority %u\n", p->name, p->section, p->insns, p->steps, p->stack,
		            p->code_bytes, p->priority);
	}
	for (unsigned i = 0; i < o->map_count; i++) {
		const struct programs_map *m = &o->maps[i];
		shell_print(sh, "  map %s %s, key %u, value %u, entries %u%s\n", m->def.name,
		            programs_map_type(m->def.type), m->def.key_bytes, m->def.value_bytes,
		            m->def.entries, m->kept ? ", kept" : "");
	}
}

static void show_counts(struct shell *sh, const uint64_t action[XDP_ACTIONS])
{
	static const uint8_t order[] = {XDP_PASS, XDP_DROP, XDP_TX, XDP_REDIRECT, XDP_ABORTED};
	for (unsigned i = 0; i < ARRAY_LEN(order); i++)
		shell_print(sh, " %s %llu", programs_action_word(order[i]), (ull)action[order[i]]);
	shell_print(sh, "\n");
}

void show_xdp(struct shell *sh)
{
	const struct programs_object *o;
	struct programs_running r;
	if (!programs_at(0))
		shell_print(sh, "there are no XDP programs\n");
	for (unsigned i = 0; (o = programs_at(i)) != NULL; i++)
		show_object(sh, o);
	for (unsigned p = 0; p < core_port_count(); p++)
		for (unsigned i = 0; programs_running_at(p, i, &r); i++) {
			shell_print(sh, "%s ifindex %u #%u %s %s:", dp_name(dp_get(), p), dp_ifindex(p), i + 1,
			            r.object->name, r.program->name);
			show_counts(sh, r.action);
		}
}

void show_xdp_interfaces(struct shell *sh)
{
	const struct dp_state *v = dp_get();
	for (unsigned n = 0; n < v->ifs; n++)
		if (dp_exists(v, n))
			shell_print(sh, INTERFACE_COLUMN " ifindex %u\n", dp_name(v, n), dp_ifindex(n));
}

void clear_xdp(struct shell *sh)
{
	(void)sh;
	programs_clear();
}

/* --- maps --- */

/* The map that the command's first argument names; NULL: an error has been printed. */
static const struct programs_map *map_of(struct shell *sh)
{
	const char *why = "";
	const struct programs_map *m = programs_map_of(text_of(sh->argv[0]), NULL, &why);
	if (!m)
		shell_print(sh, "%s: %s\n", sh->argv[0], why);
	return m;
}

static void show_bytes(struct shell *sh, const uint8_t *at, uint32_t bytes)
{
	const uint32_t shown = bytes < SHOWN_MAX ? bytes : SHOWN_MAX;
	for (uint32_t i = 0; i < shown; i++)
		shell_print(sh, "%s%02x", i && i % SHOWN_ROW == 0 ? "\n    " : " ", at[i]);
	if (bytes > shown)
		shell_print(sh, " ... %u more", bytes - shown);
}

/* With the names that the object has for its parts, else, or if `hex` is wanted, as bytes. */
static void show_part(struct shell *sh, const struct programs_map *m, const uint8_t *at, bool is_key, bool hex)
{
	char named[NAMED_MAX];
	struct fmt_buf b = {.at = named, .size = sizeof named};
	if (!hex && (is_key ? programs_key_print(m, at, &b) : programs_value_print(m, at, &b)))
		shell_print(sh, " %s", named);
	else
		show_bytes(sh, at, is_key ? m->def.key_bytes : m->def.value_bytes);
}

/* The position of `show xdp map`: the object by its seal, which no other has, and the entry. */
struct map_at {
	uint64_t seal;
	uint32_t map, n, core;
	bool begun, hex;
};
_Static_assert(sizeof(struct map_at) <= SHELL_STREAM_BYTES, "fits");

static const struct programs_map *map_at(const struct map_at *at)
{
	const struct programs_object *o;
	for (unsigned i = 0; (o = programs_at(i)) != NULL; i++)
		if (o->seal == at->seal)
			return &o->maps[at->map];
	return NULL;
}

static const struct programs_map *shown_map; /* between show_xdp_map and the first piece */
static bool shown_hex;

static void begin(struct map_at *at)
{
	const struct programs_object *o;
	for (unsigned i = 0; (o = programs_at(i)) != NULL; i++)
		if (shown_map >= o->maps && shown_map < o->maps + o->map_count)
			*at = (struct map_at){.seal = o->seal, .map = (uint32_t)(shown_map - o->maps), .begun = true,
			                      .hex = shown_hex};
}

/* An entry of a program array: what it calls. */
static void show_code(struct shell *sh, uint64_t code)
{
	char name[160];
	if (programs_code_name(code, UINT64_MAX, name, sizeof name))
		shell_print(sh, " %s", name);
}

static bool more_of_map(struct shell *sh, void *state)
{
	struct map_at *at = state;
	uint8_t key[BPF_KEY_MAX];
	if (!at->begun)
		begin(at);
	const struct programs_map *m = map_at(at);
	if (!m || !programs_entry_at(m, at->n, key))
		return false;
	const bool all = programs_map_per_core(m);
	const uint8_t *value = bpf_map_value(m->map, key, all ? at->core : self.id);
	if (value) {
		shell_print(sh, "key:");
		show_part(sh, m, key, true, at->hex);
		if (all)
			shell_print(sh, "  value cpu %u:", at->core);
		else
			shell_print(sh, "  value:");
		if (m->def.type == BPF_MAP_PROG_ARRAY)
			show_code(sh, raw64_load(value));
		else
			show_part(sh, m, value, false, at->hex);
		shell_print(sh, "\n");
	}
	at->core = all && at->core + 1 < self.info->cores ? at->core + 1 : 0;
	at->n += at->core == 0;
	return true;
}

void show_xdp_map(struct shell *sh)
{
	const struct programs_map *m = map_of(sh);
	if (!m)
		return;
	if (sh->argc > 1 && !text_begins_word(text_of(sh->argv[1]), text_of("hex"))) {
		shell_print(sh, "expected `hex` or nothing behind the map\n");
		return;
	}
	if (programs_map_is_ring(m)) {
		for (unsigned c = 0; c < self.info->cores; c++)
			shell_print(sh, "cpu %u: %llu records lost\n", c, (ull)bpf_ring_lost(m->map, c));
		return;
	}
	shell_print(sh, "map %s %s, key %u, value %u, entries %u, used %u\n", m->def.name,
	            programs_map_type(m->def.type), m->def.key_bytes, m->def.value_bytes, m->def.entries,
	            bpf_map_used(m->map));
	shown_map = m;
	shown_hex = sh->argc > 1 && text_begins_word(text_of(sh->argv[1]), text_of("hex"));
	shell_stream(sh, more_of_map);
}

void show_xdp_events(struct shell *sh)
{
	const struct programs_map *m = map_of(sh);
	unsigned shown = 0;
	if (m && !programs_map_is_ring(m)) {
		shell_print(sh, "%s is no ring buffer\n", m->def.name);
		return;
	}
	for (unsigned c = 0; m && c < self.info->cores; c++) {
		uint32_t bytes;
		const uint8_t *at;
		for (; shown < EVENTS_MAX && (at = bpf_ring_next(m->map, c, &bytes)) != NULL; shown++) {
			shell_print(sh, "cpu %u, %u bytes:", c, bytes);
			show_bytes(sh, at, bytes);
			shell_print(sh, "\n");
			bpf_ring_release(m->map, c);
		}
	}
	if (m)
		shell_print(sh, "%u records\n", shown);
}

/* The words behind the map's name and the action. */
static struct text entry_text(const struct shell *sh)
{
	struct text rest = shell_arguments(sh), word;
	text_next_word(&rest, &word);
	text_next_word(&rest, &word);
	return rest;
}

void xdp_map(struct shell *sh)
{
	static struct programs_entry e;
	static uint8_t value[BPF_VALUE_MAX];
	struct bpf_reason why = {.text = ""};
	const bool set = text_begins_word(text_of(sh->argv[1]), text_of("set"));
	const bool delete = text_begins_word(text_of(sh->argv[1]), text_of("delete"));
	const struct programs_map *m = map_of(sh);
	e.value = value;
	if (!m)
		return;
	if (set == delete)
		shell_print(sh, "expected `set` or `delete`\n");
	else if (!programs_entry_read(m, entry_text(sh), &e, &why) ||
	         !(set ? programs_entry_set(m, &e, &why) : programs_entry_delete(m, e.key, &why)))
		shell_print(sh, "%s\n", why.text);
}
