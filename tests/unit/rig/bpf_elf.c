#include "tests/unit/rig/bpf_elf.h"

#include "bpf/object/object.h"
#include "tests/unit/rig/bpf_contract.h"

struct bpf_object made;
struct bpf_reason made_why;

void make_begin(struct make *m)
{
	memset(m, 0, sizeof *m);
	m->section_count = m->symbol_count = m->type_count = 1;
	m->string_bytes = 1;
}

void make_end(struct make *m)
{
	for (unsigned i = 0; i < m->section_count; i++)
		free(m->sections[i].data);
	m->section_count = 0;
}

unsigned make_section(struct make *m, const char *name, uint32_t type, uint64_t flags, const void *data,
                      uint32_t bytes)
{
	assert_true(m->section_count < MAKE_SECTIONS);
	struct make_section *s = &m->sections[m->section_count];
	*s = (struct make_section){.type = type, .flags = flags, .bytes = bytes};
	snprintf(s->name, sizeof s->name, "%s", name);
	if (type != ELF_NOBITS) {
		s->data = calloc(1, bytes ? bytes : 1);
		if (data)
			memcpy(s->data, data, bytes);
	}
	return m->section_count++;
}

unsigned make_symbol(struct make *m, const char *name, uint8_t type, uint8_t bind, unsigned section,
                     uint64_t value, uint64_t size)
{
	assert_true(m->symbol_count < MAKE_SYMBOLS);
	snprintf(m->symbols[m->symbol_count].name, sizeof m->symbols[0].name, "%s", name);
	m->symbols[m->symbol_count].info = (uint8_t)(bind << 4 | type);
	m->symbols[m->symbol_count].section = (uint16_t)section;
	m->symbols[m->symbol_count].value = value;
	m->symbols[m->symbol_count].size = size;
	return m->symbol_count++;
}

void make_relocation(struct make *m, unsigned section, uint64_t offset, uint32_t type, unsigned symbol)
{
	assert_true(m->relocation_count < MAKE_RELOCATIONS);
	m->relocations[m->relocation_count].section = section;
	m->relocations[m->relocation_count].offset = offset;
	m->relocations[m->relocation_count].type = type;
	m->relocations[m->relocation_count++].symbol = symbol;
}

unsigned make_code(struct make *m, const char *section, const char *function, const struct bpf_insn *insns,
                   unsigned n)
{
	const unsigned i = make_section(m, section, ELF_PROGBITS, ELF_EXECUTE, insns, n * sizeof *insns);
	make_symbol(m, function, ELF_FUNC, ELF_GLOBAL, i, 0, n * sizeof *insns);
	return i;
}

/* --- types --- */

uint32_t make_string(struct make *m, const char *s)
{
	const uint32_t at = m->string_bytes;
	if (!*s)
		return 0;
	assert_true(at + strlen(s) < sizeof m->strings);
	memcpy(m->strings + at, s, strlen(s) + 1);
	m->string_bytes += (unsigned)strlen(s) + 1;
	return at;
}

uint32_t make_type(struct make *m, const char *name, uint8_t kind, uint32_t vlen, uint32_t size_or_type,
                   const uint32_t *words, unsigned n)
{
	const uint32_t head[3] = {make_string(m, name), (uint32_t)kind << 24 | vlen, size_or_type};
	assert_true(m->type_bytes + sizeof head + n * 4 <= sizeof m->types);
	memcpy(m->types + m->type_bytes, head, sizeof head);
	if (n)
		memcpy(m->types + m->type_bytes + sizeof head, words, n * 4);
	m->type_bytes += (unsigned)sizeof head + n * 4;
	return m->type_count++;
}

uint32_t make_int(struct make *m)
{
	return make_type(m, "int", BTF_INT, 0, 4, (uint32_t[]){0x01000020}, 1);
}

uint32_t make_pointer(struct make *m, uint32_t type)
{
	return make_type(m, "", BTF_PTR, 0, type, NULL, 0);
}

uint32_t make_number(struct make *m, uint32_t n)
{
	const uint32_t integer = make_int(m);
	return make_pointer(m, make_type(m, "", BTF_ARRAY, 0, 0, (uint32_t[]){integer, integer, n}, 3));
}

uint32_t make_struct(struct make *m, unsigned members, const char *const *names, const uint32_t *types)
{
	uint32_t words[3 * 16];
	assert_true(members <= 16);
	for (unsigned i = 0; i < members; i++) {
		words[3 * i] = make_string(m, names[i]);
		words[3 * i + 1] = types[i];
		words[3 * i + 2] = 64 * i;
	}
	return make_type(m, "", BTF_STRUCT, members, 8 * members, words, 3 * members);
}

uint32_t make_variable(struct make *m, const char *name, uint32_t type)
{
	return make_type(m, name, BTF_VAR, 0, type, (uint32_t[]){1}, 1);
}

uint32_t make_datasec(struct make *m, const char *name, unsigned n, const uint32_t *variables)
{
	uint32_t words[3 * 16];
	assert_true(n <= 16);
	for (unsigned i = 0; i < n; i++) {
		words[3 * i] = variables[i];
		words[3 * i + 1] = 0;
		words[3 * i + 2] = 32;
	}
	return make_type(m, name, BTF_DATASEC, n, 0, words, 3 * n);
}

/* --- the file --- */

static void put(struct make *m, const void *data, size_t n)
{
	assert_true(m->bytes + n <= sizeof m->file);
	if (n && data)
		memcpy(m->file + m->bytes, data, n);
	m->bytes += n;
}

static void put32(struct make *m, uint32_t n) { put(m, &n, 4); }
static void put64(struct make *m, uint64_t n) { put(m, &n, 8); }

static void add_btf(struct make *m)
{
	const uint32_t header[6] = {0x0001eb9f, 24, 0, m->type_bytes, m->type_bytes, m->string_bytes};
	uint8_t data[sizeof header + sizeof m->types + sizeof m->strings];
	memcpy(data, header, sizeof header);
	memcpy(data + sizeof header, m->types, m->type_bytes);
	memcpy(data + sizeof header + m->type_bytes, m->strings, m->string_bytes);
	make_section(m, ".BTF", ELF_PROGBITS, 0, data,
	             (uint32_t)sizeof header + m->type_bytes + m->string_bytes);
	if (!m->ext_bytes)
		return;
	const uint32_t ext[8] = {0x0001eb9f, 32, 0, 0, 0, 0, 0, m->ext_bytes};
	memcpy(data, ext, sizeof ext);
	memcpy(data + sizeof ext, m->ext, m->ext_bytes);
	make_section(m, ".BTF.ext", ELF_PROGBITS, 0, data, (uint32_t)sizeof ext + m->ext_bytes);
}

static void add_relocations(struct make *m, unsigned symtab)
{
	for (unsigned section = 1; section < symtab; section++) {
		uint64_t data[2 * MAKE_RELOCATIONS];
		char name[120];
		unsigned n = 0;
		for (unsigned i = 0; i < m->relocation_count; i++) {
			if (m->relocations[i].section != section)
				continue;
			data[2 * n] = m->relocations[i].offset;
			data[2 * n++ + 1] = (uint64_t)m->relocations[i].symbol << 32 | m->relocations[i].type;
		}
		if (n == 0)
			continue;
		snprintf(name, sizeof name, ".rel%s", m->sections[section].name);
		struct make_section *s = &m->sections[make_section(m, name, ELF_REL, 0, data, 16 * n)];
		s->link = symtab;
		s->info = section;
		s->entry = 16;
	}
}

static void add_symbols(struct make *m)
{
	char names[MAKE_SYMBOLS * 40] = "";
	uint8_t table[MAKE_SYMBOLS * 24] = {0};
	uint32_t at = 1;
	for (unsigned i = 1; i < m->symbol_count; i++) {
		uint8_t *s = table + 24 * i;
		const size_t n = strlen(m->symbols[i].name) + 1;
		assert_true(at + n <= sizeof names);
		memcpy(s, &at, 4);
		s[4] = m->symbols[i].info;
		memcpy(s + 6, &m->symbols[i].section, 2);
		memcpy(s + 8, &m->symbols[i].value, 8);
		memcpy(s + 16, &m->symbols[i].size, 8);
		memcpy(names + at, m->symbols[i].name, n);
		at += (uint32_t)n;
	}
	struct make_section *s =
		&m->sections[make_section(m, ".symtab", ELF_SYMTAB, 0, table, 24 * m->symbol_count)];
	s->link = m->section_count;
	s->entry = 24;
	make_section(m, ".symstr", ELF_STRTAB, 0, names, at);
}

void make_file(struct make *m)
{
	static const uint8_t ident[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
	char names[MAKE_SECTIONS * 40] = "";
	uint32_t name[MAKE_SECTIONS], used = 1;
	uint64_t offset[MAKE_SECTIONS];
	if (!m->no_btf)
		add_btf(m);
	const unsigned user = m->section_count;
	add_symbols(m);
	add_relocations(m, user);
	const unsigned count = m->section_count + 1;
	m->bytes = 64;
	for (unsigned i = 1; i < count; i++) {
		const struct make_section *s = &m->sections[i];
		const char *text = i == count - 1 ? ".shstrtab" : s->name;
		name[i] = used;
		used += (uint32_t)(stpcpy(names + used, text) - (names + used)) + 1;
		assert_true(used + 100 < sizeof names);
		offset[i] = m->bytes;
		if (i < count - 1 && s->data)
			put(m, s->data, s->bytes);
		m->bytes = (m->bytes + 7) & ~(size_t)7;
	}
	put(m, names, used);
	m->bytes = (m->bytes + 7) & ~(size_t)7;
	m->headers = m->bytes;
	put(m, NULL, 64);
	for (unsigned i = 1; i < count; i++) {
		const struct make_section *s = &m->sections[i];
		const bool last = i == count - 1;
		put32(m, name[i]);
		put32(m, last ? ELF_STRTAB : s->type);
		put64(m, last ? 0 : s->flags);
		put64(m, 0);
		put64(m, offset[i]);
		put64(m, last ? used : s->bytes);
		put32(m, last ? 0 : s->link);
		put32(m, last ? 0 : s->info);
		put64(m, 1);
		put64(m, last ? 0 : s->entry);
	}
	const uint16_t sizes[6] = {64, 0, 0, 64, (uint16_t)count, (uint16_t)(count - 1)};
	const uint64_t shoff = m->headers;
	const uint16_t kind[2] = {1, 247};
	memcpy(m->file, ident, 16);
	memcpy(m->file + 16, kind, 4);
	memcpy(m->file + 20, &(uint32_t){1}, 4);
	memcpy(m->file + 40, &shoff, 8);
	memcpy(m->file + 52, sizes, 12);
}

/* --- loading --- */

static bool load(const uint8_t *file, size_t bytes, uint8_t *memory, size_t room)
{
	static uint8_t *copy;
	free(copy);
	copy = malloc(bytes ? bytes : 1); /* of the exact size: ASan finds a read behind it */
	memcpy(copy, file, bytes);
	memset(&made, 0xa5, sizeof made);
	memset(&made_why, 0, sizeof made_why);
	struct bpf_memory m = {memory, memory + room};
	const bool ok = bpf_object_load(copy, bytes, &m, &made, &made_why);
	bpf_object_contract(ok, &made, &made_why);
	return ok;
}

bool make_load_in(const uint8_t *file, size_t bytes, size_t room)
{
	static uint8_t *memory;
	free(memory);
	memory = malloc(room ? room : 1);
	return load(file, bytes, memory, room);
}

/* Memory for all calls: ASan takes a millisecond for each new megabyte. */
bool make_load(const uint8_t *file, size_t bytes)
{
	static uint8_t *memory;
	static size_t room;
	if (room < BPF_OBJECT_MEMORY(bytes)) {
		free(memory);
		room = BPF_OBJECT_MEMORY(bytes);
		memory = malloc(room);
	}
	return load(file, bytes, memory, BPF_OBJECT_MEMORY(bytes));
}

void make_expect(struct make *m, const char *reason)
{
	make_file(m);
	const bool ok = make_load(m->file, m->bytes);
	if (!reason && !ok)
		fail_msg("%s", made_why.text);
	if (reason)
		assert_false(ok);
	if (reason && !strstr(made_why.text, reason))
		fail_msg("\"%s\" instead of \"%s\"", made_why.text, reason);
	make_end(m);
}
