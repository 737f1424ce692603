/*
 * Layouts of maps (bpf/layout.h) out of BTF: of keys and values whose types the object names, and of
 * the variables of a section of data.
 *
 * BTF is untrusted: types may contain themselves, members may lie outside of their struct, sizes may
 * disagree with the map's. What is wrong, or has more nodes, names or depth than a layout may have, has no
 * layout; it is not a reason to refuse the object, because programs do not depend on it. Every type that is
 * looked at counts as a step, and their number is limited.
 *
 * As in C, members of an anonymous struct or union are those of the struct that it is in.
 */
#include "bpf/object/loader.h"

#include "bpf/layout.h"
#include "bpf/maps/map.h"
#include "bpf/object/reason.h"
#include "lib/bytes.h"
#include "lib/mem.h"

#define STEPS_MAX 1024
#define NAME_MAX 128
#define ENUMERATORS_MAX 64 /* an enumeration with more is shown as a number */
#define VARIABLES_MAX 64 /* of a section */
#define LAYOUTS_MAX (256u << 10) /* bytes of all maps of an object */

/* BTF_INT: what is in the word behind the common part. */
enum int_encoding { INT_SIGNED = 1, INT_BOOL = 4 };

/* The layout that is being made. */
struct layout_builder {
	struct bpf_node node[BPF_LAYOUT_NODES];
	char names[BPF_LAYOUT_NAMES];
	unsigned nodes, name_bytes, steps;
};

struct build {
	const struct btf *btf;
	struct layout_builder *to;
};

/* A place for a type: its name, and where in how much room. */
struct place {
	const char *name;
	uint64_t at, room;  /* bits */
	uint32_t bits;      /* of a bit field; 0: it is none */
	unsigned depth;     /* that is left */
	bool member;        /* of a struct, not an element of an array */
};

static bool add_type(struct build *b, uint32_t id, struct place place);

/* --- nodes and names --- */

static bool add_name(struct layout_builder *to, const char *name, uint16_t *offset)
{
	unsigned n = 0;
	for (; name[n]; n++)
		if (n == NAME_MAX || !object_name_char(name[n]))
			return false;
	*offset = 0;
	if (n == 0)
		return true; /* the first name is empty */
	if (n + 1 > sizeof to->names - to->name_bytes)
		return false;
	memcpy(to->names + to->name_bytes, name, n + 1);
	*offset = (uint16_t)to->name_bytes;
	to->name_bytes += n + 1;
	return true;
}

static struct bpf_node *add_node(struct layout_builder *to, enum bpf_node_kind kind, const char *name)
{
	struct bpf_node *n = &to->node[to->nodes];
	if (to->nodes == BPF_LAYOUT_NODES)
		return NULL;
	*n = (struct bpf_node){.kind = (uint8_t)kind};
	if (!add_name(to, name, &n->name))
		return NULL;
	to->nodes++;
	return n;
}

/* All nodes behind n belong to it. */
static bool close_node(struct layout_builder *to, struct bpf_node *n)
{
	n->below = (uint16_t)(&to->node[to->nodes] - n - 1);
	return true;
}

/* --- kinds of types --- */

static bool add_int(struct bpf_node *n, const struct btf_type *t, const struct place *place)
{
	const uint32_t word = raw32_load(t->more), bits = word & 0xff, skip = word >> 16 & 0xff, encoding = word >> 24 & 15;
	n->kind = encoding & INT_BOOL ? BPF_NODE_BOOL : encoding & INT_SIGNED ? BPF_NODE_SIGNED : BPF_NODE_UNSIGNED;
	if (place->bits)
		return true;
	if (skip + bits > n->bits || bits == 0)
		return false;
	n->at += skip;
	n->bits = bits;
	return true;
}

static bool add_enum(struct build *b, struct bpf_node *n, const struct btf_type *t)
{
	const bool wide = t->kind == BTF_ENUM64;
	n->is_signed = t->flag;
	for (uint32_t i = 0; t->vlen <= ENUMERATORS_MAX && i < t->vlen; i++) {
		const uint8_t *e = t->more + i * (wide ? 12 : 8);
		struct bpf_node *value = add_node(b->to, BPF_NODE_ENUMERATOR, btf_string(b->btf, raw32_load(e)));
		if (!value)
			return false;
		value->at = raw32_load(e + 4);
		value->bits = wide ? raw32_load(e + 8) : t->flag && value->at >> 31 ? UINT32_MAX : 0;
	}
	return close_node(b->to, n);
}

static bool is_char(const struct btf *b, uint32_t id)
{
	const struct btf_type t = btf_type(b, btf_resolve(b, id));
	return t.kind == BTF_INT && t.size_or_type == 1 && strcmp(t.name, "char") == 0;
}

static bool add_array(struct build *b, struct bpf_node *n, const struct btf_type *t, const struct place *place)
{
	const uint32_t element = raw32_load(t->more);
	uint32_t bytes;
	n->count = raw32_load(t->more + 8);
	if (is_char(b->btf, element)) {
		n->kind = BPF_NODE_TEXT;
		return true;
	}
	/* An array of nothing, or of no bytes, is as long as it likes. */
	return btf_bytes(b->btf, element, &bytes) && bytes && n->count &&
	       add_type(b, element, (struct place){"", 0, n->bits, 0, place->depth - 1, false}) && close_node(b->to, n);
}

/* The members of a struct or union, which begins at `at` of what has `room`. */
static bool add_members(struct build *b, const struct btf_type *t, uint64_t at, uint64_t room, unsigned depth)
{
	for (uint32_t i = 0; i < t->vlen; i++) {
		const struct btf_member m = btf_struct_member(b->btf, t, i);
		const struct place place = {m.name, at + (t->flag ? m.offset & 0xffffff : m.offset), room,
		                            t->flag ? m.offset >> 24 : 0, depth, true};
		if (!add_type(b, m.type, place))
			return false;
	}
	return true;
}

static bool is_record(uint8_t kind) { return kind == BTF_STRUCT || kind == BTF_UNION; }

static enum bpf_node_kind kind_of(uint8_t kind)
{
	switch (kind) {
	case BTF_STRUCT: case BTF_UNION: return BPF_NODE_STRUCT;
	case BTF_ARRAY: return BPF_NODE_ARRAY;
	case BTF_PTR: return BPF_NODE_POINTER;
	case BTF_ENUM: case BTF_ENUM64: return BPF_NODE_ENUM;
	default: return BPF_NODE_BYTES;
	}
}

static bool add_type(struct build *b, uint32_t id, struct place place)
{
	uint32_t bytes;
	id = btf_resolve(b->btf, id);
	const struct btf_type t = btf_type(b->btf, id);
	if (++b->to->steps > STEPS_MAX || place.depth == 0 || !btf_bytes(b->btf, id, &bytes))
		return false;
	const uint64_t bits = place.bits ? place.bits : 8ull * bytes;
	if (bits > 8ull * bytes || bits > 8ull * BPF_VALUE_MAX || place.at > place.room || bits > place.room - place.at)
		return false;
	if (is_record(t.kind) && place.member && !*place.name && !place.bits)
		return add_members(b, &t, place.at, place.at + bits, place.depth - 1);
	struct bpf_node *n = add_node(b->to, kind_of(t.kind), place.name);
	if (!n)
		return false;
	n->at = (uint32_t)place.at;
	n->bits = (uint32_t)bits;
	switch (t.kind) {
	case BTF_INT: return add_int(n, &t, &place);
	case BTF_ENUM: case BTF_ENUM64: return add_enum(b, n, &t);
	case BTF_ARRAY: return !place.bits && add_array(b, n, &t, &place);
	case BTF_STRUCT: case BTF_UNION:
		return !place.bits && add_members(b, &t, 0, bits, place.depth - 1) && close_node(b->to, n);
	default: return true;
	}
}

/* --- a map --- */

static void start(struct layout_builder *to)
{
	to->nodes = to->steps = 0;
	to->name_bytes = 1;
	to->names[0] = 0;
}

/* A key or value of that type and of so many bytes. Returns 1 + the index of its node; 0, and nothing has been
 * added, if it cannot be shown. */
static uint16_t add_root(struct build *b, uint32_t id, uint32_t bytes)
{
	const unsigned nodes = b->to->nodes, name_bytes = b->to->name_bytes;
	uint32_t known;
	if (id && btf_bytes(b->btf, id, &known) && known == bytes &&
	    add_type(b, id, (struct place){"", 0, 8ull * bytes, 0, BPF_LAYOUT_DEPTH, false}))
		return (uint16_t)(nodes + 1);
	b->to->nodes = nodes;
	b->to->name_bytes = name_bytes;
	return 0;
}

/* The variables of a section as members. BTF has no places of them before a linker has filled them in: the
 * symbols have. */
static uint16_t add_section(struct loader *l, struct build *b, const struct bpf_map_def *m, uint32_t section)
{
	const struct btf_type t = btf_type(b->btf, btf_find_section(b->btf, m->name));
	struct bpf_node *n = t.vlen && t.vlen <= VARIABLES_MAX ? add_node(b->to, BPF_NODE_STRUCT, "") : NULL;
	if (!n)
		return 0;
	n->bits = 8 * m->value_bytes;
	for (uint32_t i = 0; i < t.vlen; i++) {
		struct btf_member v;
		const struct symbol *s = btf_section_variable(b->btf, &t, i, &v) ? elf_symbol(&l->elf, v.name, section) : NULL;
		if (!s || !*v.name || s->value > m->value_bytes ||
		    !add_type(b, v.type, (struct place){v.name, 8 * s->value, n->bits, 0, BPF_LAYOUT_DEPTH - 1, true})) {
			start(b->to);
			return 0;
		}
	}
	close_node(b->to, n);
	return 1;
}

/* A copy of what has been made. */
static const struct bpf_layout *keep(struct loader *l, const struct layout_builder *from, uint16_t key, uint16_t value)
{
	const size_t nodes = from->nodes * sizeof from->node[0];
	const size_t bytes = sizeof(struct bpf_layout) + nodes + from->name_bytes;
	if ((!key && !value) || bytes > LAYOUTS_MAX - l->layout_bytes)
		return NULL;
	struct bpf_layout *to = bpf_take(l->memory, bytes);
	if (!to)
		return NULL;
	*to = (struct bpf_layout){.bytes = (uint32_t)bytes, .nodes = (uint16_t)from->nodes, .key = key, .value = value};
	memcpy(to->node, from->node, nodes);
	memcpy((uint8_t *)to + sizeof *to + nodes, from->names, from->name_bytes);
	l->layout_bytes += (uint32_t)bytes;
	return to;
}

void object_load_layouts(struct loader *l)
{
	struct build b = {&l->btf, bpf_take(l->memory, sizeof *b.to)};
	for (unsigned i = 0; b.to && l->btf.count && i < l->object->map_count; i++) {
		struct bpf_map_def *m = &l->object->maps[i];
		uint16_t key = 0, value;
		start(b.to);
		if (m->is_data) {
			value = add_section(l, &b, m, l->map_section[i]);
		} else {
			key = add_root(&b, l->map_key[i], m->key_bytes);
			value = add_root(&b, l->map_value[i], m->value_bytes);
		}
		m->layout = keep(l, b.to, key, value);
	}
}
