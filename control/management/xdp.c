/*
 * XDP programs and their maps over HTTP (docs/http.md): /api/v1/programs, /api/v1/programs/NAME,
 * /api/v1/maps, /api/v1/maps/NAME and /api/v1/maps/NAME/events; PUT and DELETE of programs. Entries of maps are
 * changed in xdp_entries.c. Keys and values are hex digits, two a byte, in the order of memory.
 */
#include "bpf/layout.h"
#include "control/management/page.h"
#include "control/programs/programs.h"
#include "dataplane/state.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "runtime/runtime.h"

#define HEX_KEY 128    /* bytes shown of a key; a longer one is cut */
#define HEX_VALUE 400
#define NAMED_MAX 1000 /* a key and a value with names; longer ones are left out */
#define NAMED_BESIDE 32 /* what may follow them in the item */

typedef unsigned long long ull;

static const char *truth(bool b) { return b ? "true" : "false"; }

static void put_hex(struct page_text *t, const char *name, const uint8_t *at, uint32_t bytes, uint32_t most)
{
	page_print(t, ",\"%s\":\"", name);
	for (uint32_t i = 0; i < bytes && i < most; i++)
		page_print(t, "%02x", at[i]);
	page_print(t, "\"");
	if (bytes > most)
		page_print(t, ",\"%s_cut\":true", name);
}

static void put_name(struct page_text *t, const char *name, const char *value)
{
	page_print(t, "\"%s\":", name);
	page_json(t, value);
}

/* --- programs --- */

static void put_program(struct page_text *t, const struct programs_program *p)
{
	page_print(t, "{");
	put_name(t, "name", p->name);
	page_print(t, ",");
	put_name(t, "section", p->section);
	page_print(t, ",\"instructions\":%u,\"verified_steps\":%u,\"stack_bytes\":%u,\"code_bytes\":%u,"
	              "\"priority\":%u,\"chain_on\":%u}",
	           p->insns, p->steps, p->stack, p->code_bytes, p->priority, p->chain_on);
}

static void put_map(struct page_text *t, const struct programs_object *o, const struct programs_map *m)
{
	page_print(t, "{");
	put_name(t, "name", m->def.name);
	page_print(t, ",");
	put_name(t, "object", o->name);
	page_print(t, ",\"type\":\"%s\",\"key_bytes\":%u,\"value_bytes\":%u,\"max_entries\":%u,\"kept\":%s",
	           programs_map_type(m->def.type), m->def.key_bytes, m->def.value_bytes, m->def.entries,
	           truth(m->kept));
}

static void put_head(struct page_text *t, const struct programs_object *o)
{
	page_print(t, "{");
	put_name(t, "name", o->name);
	page_print(t, ",");
	put_name(t, "license", o->license);
	page_print(t, ",\"version\":%u,\"file_bytes\":%u,\"verify_us\":%u,\"compile_us\":%u,\"longest_us\":%u",
	           o->version, o->file_bytes, o->verify_us, o->compile_us, o->longest_us);
}

static bool part_objects(struct page_walk *w, struct page_text *t)
{
	const struct programs_object *o = programs_at(w->item);
	if (w->item == 0)
		page_print(t, "{\"objects\":[");
	if (!o) {
		page_print(t, "],\"interfaces\":[");
		return false;
	}
	page_print(t, "%s\n", page_comma(w));
	put_head(t, o);
	page_print(t, ",\"programs\":%u,\"maps\":%u,\"in_use\":%s}", o->program_count, o->map_count,
	           truth(programs_in_use(o)));
	return true;
}

/* cursor.own: the port, the program of its chain, whether one has been written. */
static bool part_chains(struct page_walk *w, struct page_text *t)
{
	struct programs_running r;
	const unsigned port = (unsigned)w->cursor.own[0];
	if (port >= core_port_count()) {
		page_print(t, "]}\n");
		return false;
	}
	if (!programs_running_at(port, (unsigned)w->cursor.own[1], &r)) {
		w->cursor.own[0]++;
		w->cursor.own[1] = 0;
		return true;
	}
	page_print(t, "%s\n{\"interface\":\"%s\",\"ifindex\":%u,\"position\":%u,", w->cursor.own[2] ? "," : "",
	           dp_name(dp_get(), port), dp_ifindex(port), (unsigned)w->cursor.own[1] + 1);
	put_name(t, "object", r.object->name);
	page_print(t, ",");
	put_name(t, "program", r.program->name);
	for (unsigned a = 0; a < XDP_ACTIONS; a++)
		page_print(t, ",\"%s\":%llu", programs_action_word(a), (ull)r.total[a]);
	page_print(t, "}");
	w->cursor.own[1]++;
	w->cursor.own[2] = 1;
	return true;
}

const page_part page_programs[] = {part_objects, part_chains, NULL};

bool page_program_exists(const char *below) { return programs_find(text_of(below)) != NULL; }

static bool part_program(struct page_walk *w, struct page_text *t)
{
	const struct programs_object *o = programs_find(text_of(w->below));
	t->broken = !o; /* it has been removed meanwhile */
	if (!o)
		return false;
	if (w->item == 0) {
		put_head(t, o);
		page_print(t, ",\"programs\":[");
	}
	if (w->item >= o->program_count) {
		page_print(t, "],\"maps\":[");
		return false;
	}
	page_print(t, "%s\n", page_comma(w));
	put_program(t, &o->programs[w->item]);
	return true;
}

static bool part_program_maps(struct page_walk *w, struct page_text *t)
{
	const struct programs_object *o = programs_find(text_of(w->below));
	t->broken = !o;
	if (!o)
		return false;
	if (w->item >= o->map_count) {
		page_print(t, "]}\n");
		return false;
	}
	page_print(t, "%s\n", page_comma(w));
	put_map(t, o, &o->maps[w->item]);
	page_print(t, "}");
	return true;
}

const page_part page_program[] = {part_program, part_program_maps, NULL};

static unsigned put_object(struct page_write *w)
{
	const struct programs_object *o;
	enum programs_progress progress;
	struct bpf_reason why = {.text = ""};
	if (!config_is_object_name(text_of(w->below)))
		return page_refuse(w, 400, "an object's name has 1 to 31 letters, digits, and characters of -_.");
	progress = w->again ? programs_put_go(&why, &o) : programs_put(text_of(w->below), w->content, w->bytes, &why);
	if (progress == PROGRAMS_MORE)
		return 0;
	if (progress == PROGRAMS_REFUSED)
		return page_refuse(w, 422, why.text);
	put_head(&w->reply, o);
	page_print(&w->reply, ",\"programs\":[");
	for (unsigned i = 0; i < o->program_count; i++) {
		page_print(&w->reply, "%s", i ? "," : "");
		page_json(&w->reply, o->programs[i].name);
	}
	for (unsigned kept = 0; kept < 2; kept++) {
		bool any = false;
		page_print(&w->reply, "],\"maps_%s\":[", kept ? "kept" : "new");
		for (unsigned i = 0; i < o->map_count; i++)
			if (o->maps[i].kept == kept) {
				page_print(&w->reply, "%s", any ? "," : "");
				page_json(&w->reply, o->maps[i].def.name);
				any = true;
			}
	}
	page_print(&w->reply, "]}\n");
	return o->version > 1 ? 200 : 201;
}

/* Also for entries of maps. */
uint8_t *page_program_take(struct page_write *w, unsigned *status)
{
	uint8_t *at = w->bytes <= PROGRAMS_FILE_MAX ? programs_upload() : NULL;
	*status = w->bytes <= PROGRAMS_FILE_MAX ? 503 : 413;
	return at;
}

unsigned page_program_write(struct page_write *w)
{
	struct bpf_reason why = {.text = ""};
	if (!w->remove)
		return put_object(w);
	switch (programs_delete(text_of(w->below), &why)) {
	case E_OK:
		page_print(&w->reply, "{}\n");
		return 200;
	case E_NOENT:
		return page_refuse(w, 404, why.text);
	default:
		return page_refuse(w, 409, why.text);
	}
}

/* --- maps --- */

static const char events_word[] = "/events";

/* The map that a path names; *events: its records are wanted. */
static const struct programs_map *map_of(const char *below, const struct programs_object **o, bool *events)
{
	struct text name = text_of(below);
	const size_t n = sizeof events_word - 1;
	*events = name.len > n && memcmp(name.at + name.len - n, events_word, n) == 0;
	if (*events)
		name.len -= n;
	const struct programs_map *m = programs_map_of(name, o, NULL);
	return *events && m && !programs_map_is_ring(m) ? NULL : m;
}

bool page_map_exists(const char *below)
{
	bool events;
	return map_of(below, NULL, &events) != NULL;
}

/* cursor.own: object, map. */
static bool part_maps(struct page_walk *w, struct page_text *t)
{
	const struct programs_object *o = programs_at((unsigned)w->cursor.own[0]);
	if (w->item == 0)
		page_print(t, "{\"maps\":[");
	if (!o) {
		page_print(t, "]}\n");
		return false;
	}
	if (w->cursor.own[1] >= o->map_count) {
		w->cursor.own[0]++;
		w->cursor.own[1] = 0;
		return true;
	}
	page_print(t, "%s\n", w->cursor.own[2] ? "," : "");
	put_map(t, o, &o->maps[w->cursor.own[1]++]);
	page_print(t, "}");
	w->cursor.own[2] = 1;
	return true;
}

const page_part page_maps[] = {part_maps, NULL};

/* Records as lines of JSON; a record is gone once it is written. cursor.n: the core. */
static bool put_event(struct page_walk *w, struct page_text *t, const struct programs_map *m)
{
	uint32_t bytes;
	const unsigned core = (unsigned)w->cursor.n;
	if (core >= self.info->cores)
		return false;
	const uint8_t *at = bpf_ring_next(m->map, core, &bytes);
	if (!at) {
		w->cursor.n++;
		return true;
	}
	page_print(t, "{\"cpu\":%u,\"bytes\":%u", core, bytes);
	put_hex(t, "data", at, bytes, HEX_VALUE);
	page_print(t, "}\n");
	if (!t->out.full) /* else it comes again */
		bpf_ring_release(m->map, core);
	return true;
}

/* Key and value with the names that the object has, in an item that began at `begun`. */
static void put_named(struct page_text *t, size_t begun, const struct programs_map *m, const uint8_t *key,
                      const uint8_t *value)
{
	static char named[NAMED_MAX];
	const size_t most = PAGE_ITEM_MAX - NAMED_BESIDE - (t->out.used - begun);
	struct fmt_buf b = {.at = named, .size = u64_min(most, sizeof named)};
	const struct bpf_layout *l = m->def.layout;
	fmt_put(&b, ",\"formatted\":{%s", l->key ? "\"key\":" : "");
	const bool has_key = l->key && programs_key_print(m, key, &b);
	fmt_put(&b, "%s", l->value ? has_key ? ",\"value\":" : "\"value\":" : "");
	const bool has_value = l->value && programs_value_print(m, value, &b);
	if (has_key == !!l->key && has_value == !!l->value && !b.full)
		page_print(t, "%s}", named);
	else
		page_print(t, ",\"formatted_cut\":true");
}

/* cursor.own: the entry's number, the core. */
static bool put_entry(struct page_walk *w, struct page_text *t, const struct programs_map *m)
{
	uint8_t key[BPF_KEY_MAX];
	const uint32_t n = (uint32_t)w->cursor.own[0];
	const unsigned core = (unsigned)w->cursor.own[1];
	const bool all = programs_map_per_core(m);
	if (n >= page_number(w->query, "limit", UINT32_MAX) || !programs_entry_at(m, n, key)) {
		page_print(t, "]}\n");
		return false;
	}
	const uint8_t *value = bpf_map_value(m->map, key, all ? core : self.id);
	if (value) {
		const size_t begun = t->out.used;
		page_print(t, "%s\n{\"entry\":%u", w->cursor.own[2] ? "," : "", n);
		put_hex(t, "key", key, m->def.key_bytes, HEX_KEY);
		if (all)
			page_print(t, ",\"cpu\":%u", core);
		put_hex(t, "value", value, m->def.value_bytes, HEX_VALUE);
		if (m->def.layout)
			put_named(t, begun, m, key, value);
		page_print(t, "}");
		w->cursor.own[2] = 1;
	}
	w->cursor.own[1] = all && core + 1 < self.info->cores ? core + 1 : 0;
	w->cursor.own[0] += w->cursor.own[1] == 0;
	return true;
}

static bool part_map(struct page_walk *w, struct page_text *t)
{
	const struct programs_object *o = NULL;
	bool events;
	const struct programs_map *m = map_of(w->below, &o, &events);
	t->broken = !m;
	if (!m)
		return false;
	if (events)
		return put_event(w, t, m);
	if (w->item == 0) {
		put_map(t, o, m);
		page_print(t, ",\"entries\":[");
	}
	if (programs_map_is_ring(m)) {
		page_print(t, "]}\n");
		return false;
	}
	return put_entry(w, t, m);
}

const page_part page_map[] = {part_map, NULL};
