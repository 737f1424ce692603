/*
 * Maps of an object: those of the section .maps, which BTF defines (libbpf's convention), those of the
 * section maps (a struct of numbers for each, as before BTF), and for each section of data an array of
 * one value.
 *
 * The order of maps is: .maps by their order in BTF, maps by their order in the symbol table, data by
 * sections. The shape of a map is not judged here: bpf_map_check does that (bpf/maps/map.h).
 *
 * Ignored: pinning, numa_node. Refused by name: maps of maps, unknown members.
 */
#include "bpf/object/loader.h"

#include "bpf/maps/map.h"
#include "bpf/object/reason.h"
#include "lib/bytes.h"
#include "lib/mem.h"

#define ARRAY_OF_MAPS 12
#define HASH_OF_MAPS 13
/* The legacy struct bpf_map_def: type, key_size, value_size, max_entries, map_flags. The last is missing in
 * the oldest objects. */
#define LEGACY_BYTES 20
#define LEGACY_BYTES_MIN 16

static bool add_map(struct loader *l, const char *name, uint32_t section, uint64_t offset,
                    struct bpf_map_def **map)
{
	struct bpf_object *o = l->object;
	if (o->map_count == BPF_OBJECT_MAPS)
		return object_refuse(l->why, "more than %d maps, among them one for each section of data",
		                     BPF_OBJECT_MAPS);
	struct bpf_map_def *m = &o->maps[o->map_count];
	*m = (struct bpf_map_def){.type = 0};
	if (!object_name(m->name, "map", name, l->why))
		return false;
	for (unsigned i = 0; i < o->map_count; i++)
		if (strcmp(o->maps[i].name, m->name) == 0)
			return object_refuse(l->why, "two maps are called %s", m->name);
	if (offset > ELF_BYTES_MAX)
		return object_refuse(l->why, "map %s lies outside of its section", m->name);
	l->map_section[o->map_count] = section;
	l->map_offset[o->map_count] = (uint32_t)offset;
	o->map_count++;
	*map = m;
	return true;
}

static bool check_type(struct loader *l, const struct bpf_map_def *m)
{
	if (m->type == ARRAY_OF_MAPS || m->type == HASH_OF_MAPS)
		return object_refuse(l->why, "map %s: maps of maps are not supported (BPF_MAP_TYPE_%s_OF_MAPS)",
		                     m->name, m->type == ARRAY_OF_MAPS ? "ARRAY" : "HASH");
	return true;
}

/* A perf event array without a size has one entry a CPU, as libbpf makes it. */
static void complete(struct bpf_map_def *m)
{
	if (m->type == BPF_MAP_PERF_EVENT_ARRAY && m->entries == 0)
		m->entries = BPF_CORES_MAX;
}

/* --- BTF-defined --- */

/* A size by the type of key or value, or by the number key_size or value_size; both must agree. */
static bool set_bytes(struct loader *l, struct bpf_map_def *m, uint32_t *to, uint32_t bytes, const char *member)
{
	if (*to && *to != bytes)
		return object_refuse(l->why, "map %s: %s says %u bytes, another member %u", m->name, member,
		                     bytes, *to);
	*to = bytes;
	return true;
}

static bool set_type_bytes(struct loader *l, struct bpf_map_def *m, uint32_t *to, uint32_t *of,
                           const struct btf_member *member)
{
	uint32_t type, bytes;
	if (!btf_pointee(&l->btf, member->type, &type) || !btf_bytes(&l->btf, type, &bytes))
		return object_refuse(l->why, "map %s: %.20s is not a pointer to a type with a size", m->name,
		                     member->name);
	*of = type;
	return set_bytes(l, m, to, bytes, member->name);
}

static bool read_member(struct loader *l, struct bpf_map_def *m, const struct btf_member *member)
{
	static const char *const ignored[] = {"pinning", "numa_node"};
	const struct {
		const char *name;
		uint32_t *to;
	} numbers[] = {{"type", &m->type}, {"max_entries", &m->entries}, {"map_flags", &m->flags}};
	uint32_t n;
	if (strcmp(member->name, "key") == 0)
		return set_type_bytes(l, m, &m->key_bytes, &l->map_key[m - l->object->maps], member);
	if (strcmp(member->name, "value") == 0)
		return set_type_bytes(l, m, &m->value_bytes, &l->map_value[m - l->object->maps], member);
	if (strcmp(member->name, "values") == 0) {
		l->map_values[m - l->object->maps] =
			member->offset / 8; /* addresses of functions: object_load_slots */
		return set_bytes(l, m, &m->value_bytes, sizeof(uint32_t), member->name);
	}
	if (!btf_number(&l->btf, member->type, &n))
		return object_refuse(l->why,
		                     "map %s: member %.40s is unknown, or not a number as __uint makes it",
		                     m->name, member->name);
	if (strcmp(member->name, "key_size") == 0)
		return set_bytes(l, m, &m->key_bytes, n, member->name);
	if (strcmp(member->name, "value_size") == 0)
		return set_bytes(l, m, &m->value_bytes, n, member->name);
	for (unsigned i = 0; i < ARRAY_LEN(numbers); i++)
		if (strcmp(member->name, numbers[i].name) == 0) {
			*numbers[i].to = n;
			return true;
		}
	for (unsigned i = 0; i < ARRAY_LEN(ignored); i++)
		if (strcmp(member->name, ignored[i]) == 0)
			return true;
	return object_refuse(l->why, "map %s: member %.40s is not supported", m->name, member->name);
}

static bool read_btf_map(struct loader *l, uint32_t section, const struct btf_type *variables, uint32_t i)
{
	struct btf_member v;
	struct bpf_map_def *m;
	if (!btf_section_variable(&l->btf, variables, i, &v))
		return object_refuse(l->why, ".BTF: member %u of .maps is not a variable", i);
	/* BTF has no offsets before a linker has filled them in: the symbol has it. */
	const struct symbol *s = elf_symbol(&l->elf, v.name, section);
	if (!s)
		return object_refuse(l->why, "map %.60s: no symbol in .maps has this name", v.name);
	if (!add_map(l, v.name, section, s->value, &m))
		return false;
	const struct btf_type t = btf_type(&l->btf, btf_resolve(&l->btf, v.type));
	if (t.kind != BTF_STRUCT)
		return object_refuse(l->why, "map %s: its type is not a struct", m->name);
	for (uint32_t k = 0; k < t.vlen; k++) {
		const struct btf_member member = btf_struct_member(&l->btf, &t, k);
		if (!read_member(l, m, &member))
			return false;
	}
	complete(m);
	if (!check_type(l, m))
		return false;
	if (l->map_values[m - l->object->maps] && m->type != BPF_MAP_PROG_ARRAY)
		return object_refuse(l->why, "map %s: initial values are supported in program arrays only",
		                     m->name);
	return true;
}

static bool load_btf_maps(struct loader *l)
{
	const uint32_t section = elf_find(&l->elf, ".maps");
	if (!section || l->elf.sections[section].bytes == 0)
		return true;
	l->roles[section].has_maps = true;
	const uint32_t id = l->btf.count ? btf_find_section(&l->btf, ".maps") : 0;
	if (!id)
		return object_refuse(l->why, "the maps in .maps have no definition in BTF: compile with -g");
	const struct btf_type variables = btf_type(&l->btf, id);
	for (uint32_t i = 0; i < variables.vlen; i++)
		if (!read_btf_map(l, section, &variables, i))
			return false;
	return true;
}

/* --- legacy --- */

static bool read_legacy(struct loader *l, uint32_t section, const struct symbol *s, uint32_t bytes)
{
	const struct section *data = &l->elf.sections[section];
	struct bpf_map_def *m;
	if (!add_map(l, s->name, section, s->value, &m))
		return false;
	if (s->value > data->bytes || bytes > data->bytes - s->value)
		return object_refuse(l->why, "map %s lies outside of its section", m->name);
	const uint8_t *d = data->data + s->value;
	m->type = raw32_load(d);
	m->key_bytes = raw32_load(d + 4);
	m->value_bytes = raw32_load(d + 8);
	m->entries = raw32_load(d + 12);
	m->flags = bytes >= LEGACY_BYTES ? raw32_load(d + 16) : 0;
	for (uint32_t i = LEGACY_BYTES; i < bytes; i++)
		if (d[i])
			return object_refuse(l->why,
			                     "map %s: its definition has more than five numbers (struct bpf_map_def)",
			                     m->name);
	complete(m);
	return check_type(l, m);
}

static bool is_legacy(const struct symbol *s, uint32_t section)
{
	return s->section == section && s->type != ELF_SECTION && s->bind != ELF_LOCAL;
}

/* All definitions have the same size: that of the section, divided by their number. */
static bool load_legacy_maps(struct loader *l)
{
	const uint32_t section = elf_find(&l->elf, "maps");
	if (!section || l->elf.sections[section].bytes == 0)
		return true;
	const struct section *s = &l->elf.sections[section];
	uint32_t n = 0;
	for (uint32_t i = 0; i < l->elf.symbol_count; i++)
		n += is_legacy(&l->elf.symbols[i], section);
	if (!s->data || n == 0 || s->bytes % n || s->bytes / n < LEGACY_BYTES_MIN)
		return object_refuse(l->why, "section maps: %u bytes for %u maps", s->bytes, n);
	l->roles[section].has_maps = true;
	for (uint32_t i = 0; i < l->elf.symbol_count; i++)
		if (is_legacy(&l->elf.symbols[i], section) &&
		    !read_legacy(l, section, &l->elf.symbols[i], s->bytes / n))
			return false;
	return true;
}

/* --- data --- */

static bool is_data(const struct section *s)
{
	return s->bytes && (s->type == ELF_PROGBITS || s->type == ELF_NOBITS) && !(s->flags & ELF_EXECUTE) &&
	       (elf_named(s, ".data") || elf_named(s, ".rodata") || elf_named(s, ".bss"));
}

static bool load_data(struct loader *l)
{
	for (uint32_t i = 1; i < l->elf.section_count; i++) {
		const struct section *s = &l->elf.sections[i];
		struct bpf_map_def *m;
		if (!is_data(s))
			continue;
		if (!add_map(l, s->name, i, 0, &m))
			return false;
		m->type = BPF_MAP_ARRAY;
		m->key_bytes = sizeof(uint32_t);
		m->value_bytes = s->bytes;
		m->entries = 1;
		m->flags = elf_named(s, ".rodata") ? BPF_F_RDONLY_PROG : 0;
		m->initial = s->data;
		m->is_data = true;
		l->roles[i].data = (uint8_t)l->object->map_count;
	}
	return true;
}

bool object_load_maps(struct loader *l)
{
	return load_btf_maps(l) && load_legacy_maps(l) && load_data(l);
}
