/*
 * Reads the file's headers once, into tables in host memory (elf.h). Fields may be unaligned in the file:
 * they are copied, never read in place.
 *
 * Missing on purpose: more than 65,279 sections (e_shnum 0), which no compiler makes of one source;
 * relocations with addends (SHT_RELA), which LLVM does not use for BPF.
 */
#include "bpf/object/elf.h"

#include "bpf/object/reason.h"
#include "lib/mem.h"

#define CLASS_64 2
#define LITTLE_ENDIAN 1
#define ET_REL 1
#define EM_BPF 247

struct elf_rel {
	uint64_t offset;
	uint32_t type, symbol; /* r_info, whose low half is the type */
};
_Static_assert(sizeof(struct elf_rel) == 16, "Elf64_Rel");

static bool read_header(struct elf *e, struct elf64_header *h, struct bpf_reason *why)
{
	if (e->bytes < sizeof *h)
		return object_refuse(why, "not an ELF file: %zu bytes", e->bytes);
	memcpy(h, e->file, sizeof *h);
	if (h->magic != ELF_MAGIC)
		return object_refuse(why, "not an ELF file");
	if (e->bytes > ELF_BYTES_MAX)
		return object_refuse(why, "the file is larger than 2 GiB");
	if (h->class != CLASS_64 || h->data != LITTLE_ENDIAN || h->ident_version != 1)
		return object_refuse(why, "not a 64-bit little-endian ELF file: compile with -target bpf");
	if (h->machine != EM_BPF)
		return object_refuse(why, "ELF machine %u is not BPF (%u): compile with -target bpf",
		                     h->machine, EM_BPF);
	if (h->type != ET_REL)
		return object_refuse(why, "ELF type %u is not a relocatable object (%u): compile with -c",
		                     h->type, ET_REL);
	if (h->shentsize != sizeof(struct elf64_section) || h->shnum == 0 || h->shnum >= ELF_RESERVED)
		return object_refuse(why, "ELF header: %u section headers of %u bytes", h->shnum, h->shentsize);
	if (h->shoff > e->bytes || (uint64_t)h->shnum * sizeof(struct elf64_section) > e->bytes - h->shoff)
		return object_refuse(why, "ELF header: the section headers end behind the file");
	return true;
}

static bool read_section(struct elf *e, uint32_t i, const struct elf64_section *h, struct bpf_reason *why)
{
	struct section *s = &e->sections[i];
	*s = (struct section){.name = "", .type = h->type, .flags = h->flags, .link = h->link, .info = h->info};
	if (h->type == ELF_NULL)
		return true;
	if (h->size > ELF_BYTES_MAX)
		return object_refuse(why, "section %u is larger than 2 GiB", i);
	s->bytes = (uint32_t)h->size;
	if (h->type == ELF_NOBITS)
		return true;
	if (h->offset > e->bytes || h->size > e->bytes - h->offset)
		return object_refuse(why, "section %u ends behind the file", i);
	s->data = e->file + h->offset;
	if (h->type == ELF_STRTAB && s->bytes && s->data[s->bytes - 1] != 0)
		return object_refuse(why, "section %u: the last string has no end", i);
	const unsigned entry = h->type == ELF_SYMTAB ? sizeof(struct elf64_symbol)
	                       : h->type == ELF_REL  ? sizeof(struct elf_rel)
	                                             : 0;
	if (entry && (h->entsize != entry || s->bytes % entry))
		return object_refuse(why, "section %u: entries are not of %u bytes", i, entry);
	return true;
}

/* The string at `offset` of a table; NULL: it is not in the table. */
static const char *string(const struct elf *e, uint32_t table, uint32_t offset)
{
	if (table >= e->section_count || e->sections[table].type != ELF_STRTAB ||
	    offset >= e->sections[table].bytes)
		return NULL;
	return (const char *)e->sections[table].data + offset;
}

static bool read_sections(struct elf *e, const struct elf64_header *h, struct bpf_memory *memory,
                          struct bpf_reason *why)
{
	struct elf64_section header;
	e->sections = bpf_take(memory, h->shnum * sizeof *e->sections);
	if (!e->sections)
		return object_refuse(why, "no memory for %u sections", h->shnum);
	e->section_count = h->shnum;
	for (uint32_t i = 0; i < h->shnum; i++) {
		memcpy(&header, e->file + h->shoff + i * sizeof header, sizeof header);
		if (!read_section(e, i, &header, why))
			return false;
	}
	for (uint32_t i = 1; i < h->shnum; i++) {
		memcpy(&header, e->file + h->shoff + i * sizeof header, sizeof header);
		e->sections[i].name = string(e, h->shstrndx, header.name);
		if (!e->sections[i].name)
			return object_refuse(why, "section %u: its name lies outside of the table of names", i);
	}
	return true;
}

static bool read_symbol(struct elf *e, const struct section *table, uint32_t i, struct bpf_reason *why)
{
	struct elf64_symbol in;
	struct symbol *s = &e->symbols[i];
	memcpy(&in, table->data + i * sizeof in, sizeof in);
	*s = (struct symbol){string(e, table->link, in.name),
	                     in.value,
	                     in.size,
	                     in.section,
	                     in.info & 15,
	                     in.info >> 4};
	if (!s->name)
		return object_refuse(why, "symbol %u: its name lies outside of the table of names", i);
	if (s->section < ELF_RESERVED && s->section >= e->section_count)
		return object_refuse(why, "symbol %u (%.60s) is in section %u, which does not exist", i,
		                     s->name, s->section);
	if (s->type == ELF_SECTION && s->section < ELF_RESERVED)
		s->name = e->sections[s->section].name;
	return true;
}

static bool read_symbols(struct elf *e, struct bpf_memory *memory, struct bpf_reason *why)
{
	uint32_t at = 1;
	while (at < e->section_count && e->sections[at].type != ELF_SYMTAB)
		at++;
	if (at >= e->section_count)
		return object_refuse(why, "there is no symbol table: has the object been stripped?");
	const struct section *table = &e->sections[at];
	e->symbol_count = table->bytes / sizeof(struct elf64_symbol);
	e->symbols = bpf_take(memory, e->symbol_count * sizeof *e->symbols);
	if (!e->symbols)
		return object_refuse(why, "no memory for %u symbols", e->symbol_count);
	for (uint32_t i = 0; i < e->symbol_count; i++)
		if (!read_symbol(e, table, i, why))
			return false;
	return true;
}

bool elf_open(struct elf *e, const uint8_t *file, size_t bytes, struct bpf_memory *memory,
              struct bpf_reason *why)
{
	struct elf64_header h;
	*e = (struct elf){.file = file, .bytes = bytes};
	return read_header(e, &h, why) && read_sections(e, &h, memory, why) && read_symbols(e, memory, why);
}

uint32_t elf_find(const struct elf *e, const char *name)
{
	for (uint32_t i = 1; i < e->section_count; i++)
		if (strcmp(e->sections[i].name, name) == 0)
			return i;
	return 0;
}

const struct symbol *elf_symbol(const struct elf *e, const char *name, uint32_t section)
{
	for (uint32_t i = 0; i < e->symbol_count; i++) {
		const struct symbol *s = &e->symbols[i];
		if (s->section == section && s->type != ELF_SECTION && strcmp(s->name, name) == 0)
			return s;
	}
	return NULL;
}

uint32_t elf_relocations(const struct section *s)
{
	return s->bytes / sizeof(struct elf_rel);
}

bool elf_relocation(const struct elf *e, const struct section *s, uint32_t i, struct relocation *r)
{
	struct elf_rel in;
	memcpy(&in, s->data + i * sizeof in, sizeof in);
	*r = (struct relocation){in.offset, in.type, in.symbol};
	return in.symbol < e->symbol_count;
}

bool elf_named(const struct section *s, const char *name)
{
	return object_begins(s->name, name) && (s->name[strlen(name)] == 0 || s->name[strlen(name)] == '.');
}
