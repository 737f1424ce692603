/* BTF: see btf.h. The section is read unaligned. */
#include "bpf/object/btf.h"

#include "bpf/object/reason.h"
#include "lib/bytes.h"
#include "lib/mem.h"

#define COMMON 12 /* bytes of struct btf_type in Linux */
#define CHAIN_MAX 32 /* typedefs of typedefs, arrays of arrays */

struct btf_header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t hdr_len, type_off, type_len, str_off, str_len;
};
_Static_assert(sizeof(struct btf_header) == 24, "struct btf_header");

/* What follows the common part: `fixed` bytes, and `each` for each of vlen, in which the name is first if
 * `named`, and a type at `type`. */
static const struct shape {
	uint8_t fixed, each;
	bool named;
	int8_t type;    /* -1: none */
	bool refers;    /* size_or_type is a type */
} shapes[BTF_KINDS] = {
	[BTF_INT] = {4, 0, false, -1, false},
	[BTF_PTR] = {0, 0, false, -1, true},
	[BTF_ARRAY] = {12, 0, false, -1, false},
	[BTF_STRUCT] = {0, 12, true, 4, false},
	[BTF_UNION] = {0, 12, true, 4, false},
	[BTF_ENUM] = {0, 8, true, -1, false},
	[BTF_FWD] = {0, 0, false, -1, false},
	[BTF_TYPEDEF] = {0, 0, false, -1, true},
	[BTF_VOLATILE] = {0, 0, false, -1, true},
	[BTF_CONST] = {0, 0, false, -1, true},
	[BTF_RESTRICT] = {0, 0, false, -1, true},
	[BTF_FUNC] = {0, 0, false, -1, true}, /* its vlen is the linkage */
	[BTF_FUNC_PROTO] = {0, 8, true, 4, true},
	[BTF_VAR] = {4, 0, false, -1, true},
	[BTF_DATASEC] = {0, 12, false, 0, false},
	[BTF_FLOAT] = {0, 0, false, -1, false},
	[BTF_DECL_TAG] = {4, 0, false, -1, true},
	[BTF_TYPE_TAG] = {0, 0, false, -1, true},
	[BTF_ENUM64] = {0, 12, true, -1, false},
};

static uint32_t info_kind(uint32_t info) { return info >> 24 & 31; }
static uint32_t info_vlen(uint32_t info) { return info & 0xffff; }

const char *btf_string(const struct btf *b, uint32_t offset)
{
	return offset < b->string_bytes ? b->strings + offset : NULL;
}

/* Bytes of the record at `at`, of at most `left`; 0: it is damaged. */
static uint32_t record_bytes(const uint8_t *at, uint32_t left)
{
	if (left < COMMON)
		return 0;
	const uint32_t info = raw32_load(at + 4), kind = info_kind(info);
	if (kind == BTF_VOID || kind >= BTF_KINDS)
		return 0;
	const uint32_t bytes = COMMON + shapes[kind].fixed + shapes[kind].each * info_vlen(info);
	return bytes <= left ? bytes : 0;
}

/* Finds where each type begins. */
static bool index_types(struct btf *b, uint32_t bytes, struct bpf_memory *memory, struct bpf_reason *why)
{
	uint32_t *at = bpf_take(memory, (bytes / COMMON + 1) * sizeof *at);
	if (!at)
		return object_refuse(why, ".BTF: no memory for its types");
	b->at = at;
	b->count = 1;
	for (uint32_t offset = 0, n; offset < bytes; offset += n) {
		n = record_bytes(b->types + offset, bytes - offset);
		if (n == 0)
			return object_refuse(why, ".BTF: type %u is of an unknown kind or is cut off",
			                     b->count);
		at[b->count++] = offset;
	}
	return true;
}

static bool names_exist(const struct btf *b, const uint8_t *record, const struct shape *s, uint32_t vlen)
{
	if (!btf_string(b, raw32_load(record)))
		return false;
	for (uint32_t i = 0; s->named && i < vlen; i++)
		if (!btf_string(b, raw32_load(record + COMMON + s->fixed + i * s->each)))
			return false;
	return true;
}

static bool types_exist(const struct btf *b, const uint8_t *record, const struct shape *s, uint32_t kind,
                        uint32_t vlen)
{
	if (s->refers && raw32_load(record + 8) >= b->count)
		return false;
	if (kind == BTF_ARRAY &&
	    (raw32_load(record + COMMON) >= b->count || raw32_load(record + COMMON + 4) >= b->count))
		return false;
	for (uint32_t i = 0; s->type >= 0 && i < vlen; i++)
		if (raw32_load(record + COMMON + s->fixed + i * s->each + s->type) >= b->count)
			return false;
	return true;
}

static bool check_types(const struct btf *b, struct bpf_reason *why)
{
	for (uint32_t id = 1; id < b->count; id++) {
		const uint8_t *record = b->types + b->at[id];
		const uint32_t info = raw32_load(record + 4), kind = info_kind(info), vlen = info_vlen(info);
		if (!names_exist(b, record, &shapes[kind], vlen))
			return object_refuse(why, ".BTF: type %u has a name outside of the table of strings",
			                     id);
		if (!types_exist(b, record, &shapes[kind], kind, vlen))
			return object_refuse(why, ".BTF: type %u refers to a type that does not exist", id);
	}
	return true;
}

bool btf_open(struct btf *b, const uint8_t *data, uint32_t bytes, struct bpf_memory *memory,
              struct bpf_reason *why)
{
	struct btf_header h;
	if (bytes < sizeof h)
		return object_refuse(why, ".BTF: %u bytes are too few", bytes);
	memcpy(&h, data, sizeof h);
	if (h.magic != BTF_MAGIC || h.version != BTF_VERSION)
		return object_refuse(why, ".BTF: magic 0x%04x, version %u are unknown", h.magic, h.version);
	if (h.hdr_len < sizeof h || h.hdr_len > bytes)
		return object_refuse(why, ".BTF: a header of %u bytes", h.hdr_len);
	const uint32_t left = bytes - h.hdr_len;
	if (h.type_off > left || h.type_len > left - h.type_off || h.str_off > left ||
	    h.str_len > left - h.str_off)
		return object_refuse(why, ".BTF: types or strings end behind the section");
	b->types = data + h.hdr_len + h.type_off;
	b->strings = (const char *)data + h.hdr_len + h.str_off;
	b->string_bytes = h.str_len;
	if (h.str_len == 0 || b->strings[0] || b->strings[h.str_len - 1])
		return object_refuse(why, ".BTF: the table of strings does not begin and end with NUL");
	return index_types(b, h.type_len, memory, why) && check_types(b, why);
}

struct btf_type btf_type(const struct btf *b, uint32_t id)
{
	if (id == 0)
		return (struct btf_type){.name = "", .kind = BTF_VOID};
	const uint8_t *record = b->types + b->at[id];
	const uint32_t info = raw32_load(record + 4);
	return (struct btf_type){b->strings + raw32_load(record), (uint8_t)info_kind(info),
	                         (uint16_t)info_vlen(info), raw32_load(record + 8), record + COMMON, info >> 31};
}

struct btf_member btf_struct_member(const struct btf *b, const struct btf_type *t, uint32_t i)
{
	const uint8_t *m = t->more + 12 * i;
	return (struct btf_member){b->strings + raw32_load(m), raw32_load(m + 4), raw32_load(m + 8)};
}

bool btf_section_variable(const struct btf *b, const struct btf_type *t, uint32_t i, struct btf_member *v)
{
	const uint8_t *m = t->more + 12 * i;
	const struct btf_type var = btf_type(b, raw32_load(m));
	*v = (struct btf_member){var.name, var.size_or_type, raw32_load(m + 4)};
	return var.kind == BTF_VAR;
}

static bool is_modifier(uint8_t kind)
{
	return kind == BTF_TYPEDEF || kind == BTF_VOLATILE || kind == BTF_CONST || kind == BTF_RESTRICT ||
	       kind == BTF_TYPE_TAG;
}

uint32_t btf_resolve(const struct btf *b, uint32_t id)
{
	for (unsigned i = 0; i < CHAIN_MAX; i++) {
		const struct btf_type t = btf_type(b, id);
		if (!is_modifier(t.kind))
			return id;
		id = t.size_or_type;
	}
	return 0;
}

bool btf_bytes(const struct btf *b, uint32_t id, uint32_t *bytes)
{
	uint64_t elements = 1, n;
	for (unsigned i = 0; i < CHAIN_MAX; i++) {
		id = btf_resolve(b, id);
		const struct btf_type t = btf_type(b, id);
		switch (t.kind) {
		case BTF_INT:
		case BTF_STRUCT:
		case BTF_UNION:
		case BTF_ENUM:
		case BTF_ENUM64:
		case BTF_FLOAT: n = t.size_or_type; break;
		case BTF_PTR: n = 8; break;
		case BTF_ARRAY: n = raw32_load(t.more + 8); break;
		default: return false;
		}
		elements *= n; /* both are below 2^32 */
		if (elements > UINT32_MAX)
			return false;
		if (t.kind != BTF_ARRAY) {
			*bytes = (uint32_t)elements;
			return true;
		}
		id = raw32_load(t.more);
	}
	return false;
}

bool btf_pointee(const struct btf *b, uint32_t id, uint32_t *to)
{
	const struct btf_type t = btf_type(b, btf_resolve(b, id));
	if (t.kind != BTF_PTR)
		return false;
	*to = btf_resolve(b, t.size_or_type);
	return true;
}

bool btf_number(const struct btf *b, uint32_t id, uint32_t *n)
{
	uint32_t to;
	if (!btf_pointee(b, id, &to))
		return false;
	const struct btf_type t = btf_type(b, to);
	if (t.kind != BTF_ARRAY)
		return false;
	*n = raw32_load(t.more + 8);
	return true;
}

uint32_t btf_find_section(const struct btf *b, const char *name)
{
	for (uint32_t id = 1; id < b->count; id++) {
		const struct btf_type t = btf_type(b, id);
		if (t.kind == BTF_DATASEC && strcmp(t.name, name) == 0)
			return id;
	}
	return 0;
}
