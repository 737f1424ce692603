/*
 * PUT and DELETE of entries of XDP programs' maps over HTTP (docs/http.md): one entry, in the query or as a JSON
 * object, or a list of them. A DELETE has no content (RFC 9110, section 9.3.5).
 *
 * A list is read twice, first to check all of it, then to change the map, so that a list with a mistake changes
 * nothing. What only the map can say, such as that it is full, ends the list where it happens; the answer says how
 * many entries were changed before. Data cores use the map meanwhile: they see one entry change after the other.
 * Each turn of the control core does SLICE_NS of this. The map is looked up by its name in each, and each entry is
 * checked again when it is changed, so the object may be replaced meanwhile.
 */
#include "control/management/page.h"
#include "bpf/object/reason.h"
#include "control/programs/programs.h"
#include "control/text/json.h"
#include "lib/number.h"
#include "runtime/runtime.h"

#define WORDS_MAX 4096 /* bytes of an entry in the words of the console */
#define SLICE_NS (250 * 1000ull)
#define AT_ONCE 8 /* entries between looks at the clock */

enum { KEY, VALUE, CPU, PROGRAM, FIELDS };

/* The request that is being served. */
static struct {
	struct json_objects at; /* of its content: the next object */
	bool list;
	bool checked;           /* the whole content: now the map changes */
	uint32_t entries;       /* read since the check, or the change, began */
} job;

/* The value of a name in a query; it may be kept for as long as the query. */
static void read_query(struct text rest, struct json_field *fields)
{
	while (rest.len) {
		const struct text pair = {rest.at, text_find(rest, '&')};
		const size_t name = text_find(pair, '='), cut = pair.len < rest.len ? pair.len + 1 : pair.len;
		for (unsigned i = 0; name < pair.len && i < FIELDS; i++)
			if (text_equal((struct text){pair.at, name}, text_of(fields[i].name)))
				fields[i].value = (struct text){pair.at + name + 1, pair.len - name - 1};
		rest = (struct text){rest.at + cut, rest.len - cut};
	}
}

/* Hex digits of every byte, or one number. */
static void put_bytes(struct fmt_buf *b, const struct json_field *f, unsigned bytes)
{
	const bool digits = f->value.len == 2ull * bytes;
	if (f->value.len)
		fmt_put(b, "%s %s%.*s ", f->name, digits ? "hex " : "", (int)f->value.len, f->value.at);
}

/* Reads an entry by way of the console's words. */
static bool read_entry(const struct page_write *w, const struct programs_map *m, const struct json_field *fields,
                       struct programs_entry *e, struct bpf_reason *why)
{
	static char words[WORDS_MAX];
	static uint8_t value[BPF_VALUE_MAX];
	struct fmt_buf b = {.at = words, .size = sizeof words};
	words[0] = 0;
	put_bytes(&b, &fields[KEY], m->def.key_bytes);
	put_bytes(&b, &fields[VALUE], m->def.value_bytes);
	put_bytes(&b, &fields[CPU], 0);
	if (fields[PROGRAM].value.len)
		fmt_put(&b, "value program %.*s", (int)fields[PROGRAM].value.len, fields[PROGRAM].value.at);
	e->value = value;
	if (b.full)
		return object_refuse(why, "the entry is too long");
	return programs_entry_read(m, text_of(words), e, why) &&
	       (w->remove || e->has_value || object_refuse(why, "there is no value"));
}

/* An entry of a list is named by its number, from 0. */
static unsigned refuse_entry(struct page_write *w, unsigned status, const char *why)
{
	struct bpf_reason numbered = {.text = ""};
	if (!job.list)
		return page_refuse(w, status, why);
	object_refuse(&numbered, "entry %u: %s", job.entries, why);
	page_print(&w->reply, "{\"error\":");
	page_json(&w->reply, numbered.text);
	page_print(&w->reply, ",\"entries\":%u}\n", job.checked ? job.entries : 0);
	return status;
}

/* Checks one entry, or changes the map by it. 0: it is done; else the status of the refusal. */
static unsigned take_entry(struct page_write *w, const struct programs_map *m, const struct json_field *fields)
{
	static struct programs_entry e;
	struct bpf_reason why = {.text = ""};
	if (!read_entry(w, m, fields, &e, &why))
		return refuse_entry(w, 400, why.text);
	if (job.checked && !(w->remove ? programs_entry_delete(m, e.key, &why) : programs_entry_set(m, &e, &why)))
		return refuse_entry(w, 409, why.text);
	job.entries++;
	return 0;
}

static bool begin_content(const struct page_write *w)
{
	const bool ok = json_begin(&job.at, (struct text){(const char *)w->content, w->bytes});
	job.list = ok && json_is_list(&job.at);
	job.entries = 0;
	return ok;
}

/* Goes on with the content; 0: in the next turn. */
static unsigned take_content(struct page_write *w, const struct programs_map *m, struct json_field *fields)
{
	const uint64_t end = core_now_ns() + SLICE_NS;
	unsigned status = 0;
	do {
		for (unsigned i = 0; status == 0 && i < AT_ONCE; i++)
			switch (json_next(&job.at, fields, FIELDS)) {
			case JSON_BAD:
				return refuse_entry(w, 400, "no JSON object with strings and numbers");
			case JSON_OBJECT:
				status = take_entry(w, m, fields);
				break;
			case JSON_END:
				if (job.checked) {
					page_print(&w->reply, job.list ? "{\"entries\":%u}\n" : "{}\n", job.entries);
					return 200;
				}
				job.checked = true;
				begin_content(w);
				break;
			}
	} while (status == 0 && core_now_ns() < end);
	return status;
}

unsigned page_map_write(struct page_write *w)
{
	struct json_field fields[FIELDS] = {[KEY] = {.name = "key"}, [VALUE] = {.name = "value"},
	                                    [CPU] = {.name = "cpu"}, [PROGRAM] = {.name = "program"}};
	const char *reason = "";
	const struct programs_map *m = programs_map_of(text_of(w->below), NULL, &reason);
	if (!m)
		return page_refuse(w, 404, reason);
	if (w->bytes == 0) {
		job.list = false;
		job.checked = true;
		read_query(text_of(w->query), fields);
		const unsigned status = take_entry(w, m, fields);
		if (status == 0)
			page_print(&w->reply, "{}\n");
		return status ? status : 200;
	}
	if (!w->again) {
		job.checked = false;
		if (!begin_content(w))
			return page_refuse(w, 400, "the content is no JSON object, and no list of JSON objects");
	}
	return take_content(w, m, fields);
}
