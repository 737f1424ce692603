/*
 * The objects; see programs.h.
 *
 * What outlives the control program is a list of the objects' addresses (runtime/sealed.h). While an object
 * replaces another, both are in the list, because data cores may use either: the old one is `retired`. A
 * restarted program claims the memory of both, and frees the retired one when its own tables are in force.
 */
#include "control/programs/programs.h"

#include "bpf/object/reason.h"
#include "control/config/running.h"
#include "control/console/log.h"
#include "dataplane/state.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "runtime/sealed.h"

#define MODULE_PREFIX "program/"

static struct list {
	struct programs_object *object[PROGRAMS_OBJECTS_MAX]; /* NULL: none */
	struct programs_object *retired;
} now;
static struct sealed list = SEALED(CORE_PERSIST_PROGRAMS, 2, struct list);
static uint8_t *upload;
static bool live;    /* there is a data-plane state to publish in */
static bool settled; /* and data cores use it */

/* --- look-up --- */

const struct programs_object *programs_at(unsigned i)
{
	for (unsigned k = 0; k < PROGRAMS_OBJECTS_MAX; k++)
		if (now.object[k] && i-- == 0)
			return now.object[k];
	return NULL;
}

static int index_of(struct text name)
{
	for (unsigned k = 0; k < PROGRAMS_OBJECTS_MAX; k++)
		if (now.object[k] && text_equal(text_of(now.object[k]->name), name))
			return (int)k;
	return -1;
}

const struct programs_object *programs_find(struct text name)
{
	const int k = index_of(name);
	return k < 0 ? NULL : now.object[k];
}

const struct programs_program *programs_program_of(const struct programs_object *o, struct text program)
{
	for (unsigned i = 0; i < o->program_count; i++)
		if (program.len == 0 || text_equal(text_of(o->programs[i].name), program))
			return &o->programs[i];
	return NULL;
}

static const struct programs_map *map_in(const struct programs_object *o, struct text name)
{
	for (unsigned i = 0; i < o->map_count; i++)
		if (text_equal(text_of(o->maps[i].def.name), name))
			return &o->maps[i];
	return NULL;
}

const struct programs_map *programs_map_of(struct text name, const struct programs_object **object,
                                           const char **why)
{
	const struct programs_map *found = NULL;
	const struct programs_object *o, *in = NULL;
	const size_t slash = text_find(name, '/');
	const char *reason = "no object has such a map";
	if (slash < name.len) {
		in = programs_find((struct text){name.at, slash});
		found = in ? map_in(in, (struct text){name.at + slash + 1, name.len - slash - 1}) : NULL;
	} else {
		for (unsigned i = 0; (o = programs_at(i)) != NULL; i++) {
			const struct programs_map *m = map_in(o, name);
			if (m && found)
				reason = "several objects have such a map: name it as OBJECT/MAP";
			found = m && !found ? m : m ? NULL : found;
			in = m ? o : in;
			if (m && !found)
				break;
		}
	}
	if (object)
		*object = in;
	if (why && !found)
		*why = reason;
	return found;
}

int programs_check(const struct config *c, struct text_error *err)
{
	for (unsigned i = 0; i < c->xdp_count; i++) {
		const struct config_xdp *x = &c->xdp[i];
		const struct programs_object *o = programs_find(text_of(x->object));
		if (!o)
			return text_fail(err, x->line, text_of(x->object),
			                 "there is no object of that name; `show xdp` lists them");
		if (!programs_program_of(o, text_of(x->program)))
			return text_fail(err, x->line, text_of(x->program), "the object %s has no program of that name",
			                 x->object);
	}
	return E_OK;
}

/* --- changes --- */

/* Lists the maps for data cores that restart (xdp_tables): those in which they can hold a lock. */
static void publish_maps(void)
{
	struct dp_xdp *x = &dp_get()->xdp;
	uint32_t n = 0;
	for (unsigned k = 0; k < PROGRAMS_OBJECTS_MAX; k++)
		for (unsigned i = 0; now.object[k] && i < now.object[k]->map_count; i++)
			if (n < DP_XDP_MAPS_MAX && (now.object[k]->maps[i].region != REGION_CONTROL ||
			                            now.object[k]->maps[i].own))
				__atomic_store_n(&x->map[n++], now.object[k]->maps[i].map, __ATOMIC_RELEASE);
	for (uint32_t i = n; i < DP_XDP_MAPS_MAX; i++)
		__atomic_store_n(&x->map[i], NULL, __ATOMIC_RELEASE);
	__atomic_store_n(&x->maps, n, __ATOMIC_RELEASE);
}

static unsigned maps_now(const struct programs_object *without)
{
	unsigned n = 0;
	for (unsigned k = 0; k < PROGRAMS_OBJECTS_MAX; k++)
		n += now.object[k] && now.object[k] != without ? now.object[k]->map_count : 0;
	return n;
}

/* Data cores synchronize before they run a program again. */
static bool code_is_new(void)
{
	__atomic_store_n(&dp_get()->xdp.code_tsc, clock_tsc(), __ATOMIC_RELEASE);
	return core_quiesce();
}

/* Does the new object have all programs by which ports use the old one? */
static bool still_there(const struct programs_object *o, struct bpf_reason *why)
{
	for (unsigned i = 0; i < running.config.xdp_count; i++) {
		const struct config_xdp *x = &running.config.xdp[i];
		char port[CONFIG_IF_NAME_SIZE];
		if (strcmp(x->object, o->name) == 0 && !programs_program_of(o, text_of(x->program)))
			return object_refuse(why, "%s runs its program %s, which this file does not have",
			                     config_key_name(port, x->interface), x->program);
	}
	return true;
}

/* Frees what is retired, once no data core uses it. */
static void free_retired(void)
{
	struct programs_object *old = now.retired;
	if (!old)
		return;
	now.retired = NULL;
	sealed_write(&list, &now);
	programs_free(old, programs_find(text_of(old->name)));
}

/* Puts a loaded object in the place of another, or into a free one. If a data core does not answer, the
 * ports are being restarted, and programs_settled() frees the old one. */
static void enter(struct programs_object *o, int at)
{
	now.retired = now.object[at];
	now.object[at] = o;
	sealed_write(&list, &now);
	if (!live)
		return; /* there is no data core that runs a program */
	publish_maps();
	if (code_is_new() && programs_chains_change(&running.config))
		free_retired();
}

static int place_for(struct text name)
{
	const int at = index_of(name);
	for (unsigned k = 0; at < 0 && k < PROGRAMS_OBJECTS_MAX; k++)
		if (!now.object[k])
			return (int)k;
	return at;
}

/* What programs_put has begun. */
static struct {
	bool begun;
	int at;                       /* its place in `now` */
	struct programs_object *made; /* it is ready, but ports are being started; or NULL */
} put;

void programs_put_stop(void)
{
	if (put.made)
		programs_free(put.made, now.object[put.at]);
	programs_load_stop();
	put.made = NULL;
	put.begun = false;
}

enum programs_progress programs_put(struct text name, const uint8_t *file, size_t bytes, struct bpf_reason *why)
{
	programs_put_stop();
	put.at = place_for(name);
	if (!config_is_object_name(name))
		object_refuse(why, "an object's name has 1 to %d letters, digits, and characters of \"-_.\"",
		              CONFIG_OBJECT_SIZE - 1);
	else if (bytes == 0 || bytes > PROGRAMS_FILE_MAX)
		object_refuse(why, "the file has %llu bytes; up to %u are taken", (unsigned long long)bytes,
		              PROGRAMS_FILE_MAX);
	else if (put.at < 0)
		object_refuse(why, "there are %d objects already", PROGRAMS_OBJECTS_MAX);
	else if (!sealed_take(&list))
		object_refuse(why, "there is not enough memory for programs");
	else
		put.begun = programs_load_begin(name, now.object[put.at], file, bytes, why);
	return put.begun ? PROGRAMS_MORE : PROGRAMS_REFUSED;
}

/* The object is ready: the last checks, and it is in force. */
static bool finish(struct programs_object *o, struct bpf_reason *why)
{
	if (maps_now(now.object[put.at]) + o->map_count > DP_XDP_MAPS_MAX)
		return object_refuse(why, "all objects together have at most %d maps", DP_XDP_MAPS_MAX);
	if (!still_there(o, why))
		return false;
	enter(o, put.at);
	return true;
}

enum programs_progress programs_put_go(struct bpf_reason *why, const struct programs_object **loaded)
{
	if (!put.made) {
		const enum programs_progress progress = programs_load_go(why, &put.made);
		if (progress != PROGRAMS_DONE) {
			put.begun = progress == PROGRAMS_MORE;
			return progress;
		}
	}
	if (now.retired || live != settled)
		return PROGRAMS_MORE; /* ports are being started */
	struct programs_object *o = put.made;
	put.made = NULL;
	put.begun = false;
	if (!finish(o, why)) {
		programs_free(o, now.object[put.at]);
		return PROGRAMS_REFUSED;
	}
	*loaded = o;
	return PROGRAMS_DONE;
}

int programs_delete(struct text name, struct bpf_reason *why)
{
	const int at = index_of(name);
	if (at < 0) {
		object_refuse(why, "there is no object of that name");
		return E_NOENT;
	}
	if (now.retired || !settled || put.begun) {
		object_refuse(why, put.begun ? "an object is being loaded; try again" :
		                              "the ports are being started; try again");
		return E_AGAIN;
	}
	struct programs_object *o = now.object[at];
	for (unsigned i = 0; i < running.config.xdp_count; i++) {
		const struct config_xdp *x = &running.config.xdp[i];
		char port[CONFIG_IF_NAME_SIZE];
		if (strcmp(x->object, o->name) == 0) {
			object_refuse(why, "%s runs it: first remove `xdp %s` there",
			              config_key_name(port, x->interface), o->name);
			return E_AGAIN;
		}
	}
	now.object[at] = NULL;
	now.retired = o;
	sealed_write(&list, &now);
	publish_maps();
	if (core_quiesce())
		free_retired();
	return E_OK;
}

uint8_t *programs_upload(void)
{
	if (!upload)
		upload = core_private_alloc(PROGRAMS_FILE_MAX);
	return upload;
}

/* --- start --- */

/* True if the object is what it was when it was sealed, and its memory there. */
static bool resume(struct programs_object *o, const struct programs_object *claimed)
{
	return core_region_claim(REGION_CONTROL, o, sizeof *o) && o->seal == programs_seal_of(o) &&
	       o->map_count <= BPF_OBJECT_MAPS && o->program_count <= BPF_OBJECT_PROGRAMS &&
	       programs_claim(o, claimed);
}

/* The objects that the previous control program has left. */
static void find_left(void)
{
	const struct list *left = sealed_newest(&list);
	if (!left)
		return;
	now = *left;
	const struct programs_object *successor = NULL;
	for (unsigned k = 0; k < PROGRAMS_OBJECTS_MAX; k++) {
		if (now.object[k] && !resume(now.object[k], NULL)) {
			log_event(LOG_ERR, "XDP",
			          "xdp: an object that the previous control program has left is damaged and lost");
			now.object[k] = NULL;
		}
		if (now.object[k] && now.retired && strcmp(now.object[k]->name, now.retired->name) == 0)
			successor = now.object[k];
	}
	if (now.retired && !resume(now.retired, successor))
		now.retired = NULL;
	for (unsigned k = 0; k < PROGRAMS_OBJECTS_MAX; k++)
		for (unsigned i = 0; now.object[k] && i < now.object[k]->map_count; i++)
			bpf_map_recover(now.object[k]->maps[i].map, self.id);
}

static void load_file(struct text file, struct text data)
{
	const struct text name = {file.at + sizeof MODULE_PREFIX - 1, file.len - sizeof MODULE_PREFIX + 1};
	struct bpf_reason why;
	const struct programs_object *loaded;
	enum programs_progress progress = PROGRAMS_DONE;
	char word[CONFIG_OBJECT_SIZE + 8];
	fmt_format(word, sizeof word, "%.*s", (int)u64_min(name.len, CONFIG_OBJECT_SIZE), name.at);
	if (!programs_find(name))
		progress = programs_put(name, (const uint8_t *)data.at, data.len, &why);
	while (progress == PROGRAMS_MORE)
		progress = programs_put_go(&why, &loaded);
	if (progress == PROGRAMS_REFUSED)
		log_event(LOG_ERR, "XDP", "xdp: object %s of the boot module: %s", word, why.text);
}

void programs_start(const struct module *m)
{
	struct text file, data;
	bpf_core = self.id;
	find_left();
	for (size_t at = 0; module_next(m, &at, &file, &data);)
		if (file.len > sizeof MODULE_PREFIX - 1 &&
		    memcmp(file.at, MODULE_PREFIX, sizeof MODULE_PREFIX - 1) == 0)
			load_file(file, data);
}

void programs_publish(void)
{
	live = true;
	settled = false;
	publish_maps();
	dp_get()->xdp.code_tsc = clock_tsc();
}

void programs_settled(void)
{
	settled = true;
	free_retired();
}

/* --- reports --- */

bool programs_code_name(uint64_t at, uint64_t tsc, char *text, size_t size)
{
	const struct programs_object *o;
	for (unsigned i = 0; (o = programs_at(i)) != NULL; i++)
		for (unsigned k = 0; k < o->program_count; k++) {
			const struct programs_program *p = &o->programs[k];
			const uint64_t offset = at - (uint64_t)(uintptr_t)p->code;
			uint32_t n = 0;
			if (offset >= p->code_bytes || o->loaded_tsc > tsc)
				continue;
			while (n + 1 < p->insns && p->where[n + 1] <= offset)
				n++;
			fmt_format(text, size, "program %s of %s, instruction %u", p->name, o->name, n);
			return true;
		}
	return false;
}
