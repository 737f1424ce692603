/*
 * Keys and values of maps as text, in the dialect of bpftool:
 *
 *     key hex 0a 00 00 00 value hex 01 00 00 00 00 00 00 00     every byte, in the order of memory
 *     key 10 0 0 0 value 1 0 0 0 0 0 0 0                        the same in decimal or 0x…
 *     key 10 value 1                                            one number for a size of 1, 2, 4 or 8
 *                                                               bytes, little-endian
 *     ... cpu 2                                                 of a per-CPU map, that core alone; else all
 *     value program NAME                                        of a program array: of its own object
 */
#include "control/programs/programs.h"

#include "bpf/layout.h"
#include "bpf/object/reason.h"
#include "dataplane/state.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "runtime/runtime.h"

/* --- bytes --- */

static bool number_of(struct text w, bool hex, uint64_t *out)
{
	const bool prefix = w.len > 2 && w.at[0] == '0' && text_lower(w.at[1]) == 'x';
	const unsigned base = hex || prefix ? 16 : 10;
	uint64_t n = 0;
	size_t i = prefix ? 2 : 0;
	if (i == w.len)
		return false;
	for (; i < w.len; i++) {
		const int d = hex_digit(w.at[i]);
		if (d < 0 || (unsigned)d >= base || n > (UINT64_MAX - (unsigned)d) / base)
			return false;
		n = n * base + (unsigned)d;
	}
	*out = n;
	return true;
}

static bool is_number_size(size_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* "0a000000", as JSON and URLs have it. */
static bool read_digits(struct text w, uint8_t *to, size_t size)
{
	return text_parse_hex(w, to, size) == E_OK;
}

bool programs_bytes_read(struct text t, uint8_t *to, size_t size)
{
	struct text rest = t, word, first;
	uint64_t n;
	const unsigned words = text_count_words(t);
	if (!text_next_word(&rest, &first))
		return false;
	const bool hex = text_is_word(first, text_of("hex"));
	if (hex && words == 2 && text_next_word(&rest, &word) && word.len > 2)
		return read_digits(word, to, size);
	if (words == 1 && is_number_size(size)) {
		if (!number_of(first, false, &n) || (size < 8 && n >> 8 * size))
			return false;
		memcpy(to, &n, size);
		return true;
	}
	if (words - hex != size)
		return false;
	rest = t;
	if (hex)
		text_next_word(&rest, &word);
	for (size_t i = 0; i < size; i++) {
		if (!text_next_word(&rest, &word) || !number_of(word, hex, &n) || n > 255)
			return false;
		to[i] = (uint8_t)n;
	}
	return true;
}

/* --- kinds of maps --- */

const char *programs_map_type(unsigned type)
{
	switch (type) {
	case BPF_MAP_HASH: return "hash";
	case BPF_MAP_ARRAY: return "array";
	case BPF_MAP_PROG_ARRAY: return "prog_array";
	case BPF_MAP_PERF_EVENT_ARRAY: return "perf_event_array";
	case BPF_MAP_PERCPU_HASH: return "percpu_hash";
	case BPF_MAP_PERCPU_ARRAY: return "percpu_array";
	case BPF_MAP_LRU_HASH: return "lru_hash";
	case BPF_MAP_LRU_PERCPU_HASH: return "lru_percpu_hash";
	case BPF_MAP_LPM_TRIE: return "lpm_trie";
	case BPF_MAP_DEVMAP: return "devmap";
	case BPF_MAP_CPUMAP: return "cpumap";
	case BPF_MAP_XSKMAP: return "xskmap";
	case BPF_MAP_DEVMAP_HASH: return "devmap_hash";
	case BPF_MAP_RINGBUF: return "ringbuf";
	default: return "?";
	}
}

bool programs_map_per_core(const struct programs_map *m)
{
	return m->def.type == BPF_MAP_PERCPU_HASH || m->def.type == BPF_MAP_PERCPU_ARRAY ||
	       m->def.type == BPF_MAP_LRU_PERCPU_HASH;
}

bool programs_map_is_ring(const struct programs_map *m)
{
	return m->def.type == BPF_MAP_RINGBUF || m->def.type == BPF_MAP_PERF_EVENT_ARRAY;
}

/* --- names --- */

/* The bytes that its object has from the layout on: what lies there is read with care, because a control
 * program that has failed may have damaged it. */
static size_t layout_room(const struct programs_map *m)
{
	const struct programs_object *o;
	for (unsigned i = 0; (o = programs_at(i)) != NULL; i++)
		if (m >= o->maps && m < o->maps + o->map_count)
			return (size_t)(o->layouts + o->layout_bytes - (const uint8_t *)m->def.layout);
	return 0;
}

bool programs_key_print(const struct programs_map *m, const uint8_t *key, struct fmt_buf *out)
{
	const struct bpf_layout *l = m->def.layout;
	return l && bpf_layout_print(l, layout_room(m), l->key, key, m->def.key_bytes, out);
}

bool programs_value_print(const struct programs_map *m, const uint8_t *value, struct fmt_buf *out)
{
	const struct bpf_layout *l = m->def.layout;
	return l && bpf_layout_print(l, layout_room(m), l->value, value, m->def.value_bytes, out);
}

/* --- an entry --- */

/* Cuts the words up to the next `value` or `cpu` off *rest. */
static struct text take_part(struct text *rest)
{
	struct text part = {rest->at, 0}, before = *rest, word;
	while (text_next_word(rest, &word)) {
		if (text_is_word(word, text_of("value")) || text_is_word(word, text_of("cpu")))
			break;
		part.len = (size_t)(word.at + word.len - part.at);
		before = *rest;
	}
	*rest = before;
	return part;
}

/* The code of a program of the same object, for a program array. */
static bool read_program(const struct programs_map *m, struct text t, uint8_t *to, struct bpf_reason *why)
{
	const struct programs_object *o;
	struct text word;
	for (unsigned i = 0; (o = programs_at(i)) != NULL; i++)
		if (m >= o->maps && m < o->maps + o->map_count)
			break;
	if (!text_next_word(&t, &word) || !text_is_word(word, text_of("program")) || !text_next_word(&t, &word))
		return object_refuse(why, "the value of a program array is `program NAME`");
	const struct programs_program *p = o ? programs_program_of(o, word) : NULL;
	if (!p)
		return object_refuse(why, "its object has no program of that name");
	const uint64_t code = (uint64_t)(uintptr_t)p->code;
	memcpy(to, &code, sizeof code);
	return true;
}

static bool read_value(const struct programs_map *m, struct text t, struct programs_entry *e,
                       struct bpf_reason *why)
{
	e->has_value = true;
	if (m->def.type == BPF_MAP_PROG_ARRAY)
		return read_program(m, t, e->value, why);
	return programs_bytes_read(t, e->value, m->def.value_bytes) ||
	       object_refuse(why, "the value has %u bytes: %u words of two hex digits behind `hex`", m->def.value_bytes,
	                     m->def.value_bytes);
}

bool programs_entry_read(const struct programs_map *m, struct text t, struct programs_entry *e,
                         struct bpf_reason *why)
{
	struct text word;
	bool has_key = false;
	e->has_value = false;
	e->core = UINT32_MAX;
	while (text_next_word(&t, &word)) {
		const struct text part = take_part(&t);
		if (text_is_word(word, text_of("key"))) {
			has_key = programs_bytes_read(part, e->key, m->def.key_bytes);
			if (!has_key)
				return object_refuse(why,
				                     "the key has %u bytes: %u words of two hex digits behind `hex`",
				                     m->def.key_bytes, m->def.key_bytes);
		} else if (text_is_word(word, text_of("value"))) {
			if (!read_value(m, part, e, why))
				return false;
		} else if (text_is_word(word, text_of("cpu"))) {
			uint32_t core;
			if (!programs_map_per_core(m))
				return object_refuse(why, "the cores share this map: it takes no cpu");
			if (text_parse_u32(text_trim(part), 0, self.info->cores - 1, &core) != E_OK)
				return object_refuse(why, "cpu is a number from 0 to %u", self.info->cores - 1);
			e->core = core;
		} else {
			return object_refuse(why, "expected `key`, `value` or `cpu`");
		}
	}
	return has_key || object_refuse(why, "there is no key");
}

/* --- one after the other --- */

#define READERS 8

/* Where readers have got to: the key of entry n. */
static struct reader {
	const struct bpf_map *map;
	uint32_t n;
	uint64_t used; /* when */
	uint8_t key[BPF_KEY_MAX];
} readers[READERS];

/* The reader that is at n, or one before it; else one that is free for it, at no entry. */
static struct reader *reader_for(const struct bpf_map *map, uint32_t n)
{
	struct reader *oldest = &readers[0];
	for (unsigned i = 0; i < READERS; i++) {
		struct reader *r = &readers[i];
		if (r->map == map && (r->n == n || r->n + 1 == n))
			return r;
		oldest = r->used < oldest->used ? r : oldest;
	}
	oldest->map = NULL;
	return oldest;
}

bool programs_entry_at(const struct programs_map *m, uint32_t n, uint8_t key[BPF_KEY_MAX])
{
	struct reader *r = reader_for(m->map, n);
	bool there = r->map != NULL && n > 0; /* entry 0 is looked for anew: a walk may have ended long ago */
	if (n >= m->def.entries)
		return false;
	if (!there) {
		there = bpf_map_next(m->map, NULL, r->key);
		r->n = 0;
	}
	r->map = m->map;
	r->used = core_now_ns();
	while (there && r->n < n) {
		memcpy(key, r->key, m->def.key_bytes);
		there = bpf_map_next(m->map, key, r->key);
		r->n++;
	}
	if (!there) {
		r->map = NULL;
		return false;
	}
	memcpy(key, r->key, m->def.key_bytes);
	return true;
}

static bool say(int64_t error, struct bpf_reason *why)
{
	switch (error) {
	case 0: return true;
	case BPF_ENOENT: return object_refuse(why, "there is no such entry");
	case BPF_E2BIG: return object_refuse(why, "the map is full, or has no such index");
	case BPF_EEXIST: return object_refuse(why, "there is such an entry already");
	case BPF_EBUSY: return object_refuse(why, "a data core is changing the map; try again");
	default: return object_refuse(why, "this map does not allow it (error %lld)", (long long)-error);
	}
}

/* A device map's ifindex is one of this machine. */
static bool is_device(const struct programs_map *m, const uint8_t *value, struct bpf_reason *why)
{
	const uint32_t index = raw32_load(value);
	if (m->def.type != BPF_MAP_DEVMAP && m->def.type != BPF_MAP_DEVMAP_HASH)
		return true;
	return (index && dp_has_link(dp_get(), dp_interface_of_index(index))) ||
	       object_refuse(why, "no interface has the ifindex %u; `show xdp interfaces` lists them", index);
}

bool programs_entry_set(const struct programs_map *m, const struct programs_entry *e, struct bpf_reason *why)
{
	int64_t error = 0;
	if (!e->has_value)
		return object_refuse(why, "there is no value");
	if (programs_map_is_ring(m) || (m->def.is_data && m->def.flags & BPF_F_RDONLY_PROG))
		return object_refuse(why, "this map has no entries that can be set");
	if (m->def.type == BPF_MAP_PROG_ARRAY)
		return say(bpf_prog_array_set(m->map, raw32_load(e->key), raw64_load(e->value)), why);
	if (!is_device(m, e->value, why))
		return false;
	if (!programs_map_per_core(m))
		return say(bpf_map_set(m->map, e->key, e->value, self.id), why);
	for (unsigned c = 0; error == 0 && c < self.info->cores; c++)
		if (e->core == UINT32_MAX || e->core == c)
			error = bpf_map_set(m->map, e->key, e->value, c);
	return say(error, why);
}

bool programs_entry_delete(const struct programs_map *m, const uint8_t *key, struct bpf_reason *why)
{
	if (m->def.type == BPF_MAP_PROG_ARRAY)
		return say(bpf_prog_array_set(m->map, raw32_load(key), 0), why);
	return say(bpf_map_delete(m->map, key), why);
}
