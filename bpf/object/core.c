/*
 * CO-RE relocations in .BTF.ext (Linux' Documentation/bpf/llvm_reloc.rst, "CO-RE Relocations"): the
 * compiler asks where a field is in the types of the kernel that the program will run on, and leaves in the
 * instruction where it is in the types that it was compiled with.
 *
 * There are no such types here. But a program compiled with vmlinux.h asks for struct xdp_md and the
 * headers of packets too, whose layout is a standard: for these the compiler's answer is right, and the
 * instruction stays as it is. What else is asked for cannot be answered; a function that asks is refused
 * when an XDP program contains it.
 *
 * The rest of .BTF.ext, lines of the source, is not used; its place is checked.
 */
#include "bpf/object/loader.h"

#include "bpf/object/reason.h"
#include "lib/bytes.h"
#include "lib/mem.h"

struct ext_header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t hdr_len, func_off, func_len, line_off, line_len;
	/* Those of objects before CO-RE end here. */
	uint32_t core_off, core_len;
};
_Static_assert(sizeof(struct ext_header) == 32, "struct btf_ext_header");
#define HEADER_MIN 24

struct core_relocation {
	uint32_t insn_off, type_id, access_off, kind;
};
_Static_assert(sizeof(struct core_relocation) == 16, "struct bpf_core_relo");

/* enum bpf_core_relo_kind: those that ask for a type's own number, or for an enumeration's value. */
enum core_kind {
	CORE_TYPE_ID_LOCAL = 6,
	CORE_TYPE_ID_TARGET = 7,
	CORE_ENUMVAL_EXISTS = 10,
	CORE_ENUMVAL_VALUE = 11
};

/* Structs whose layout is that of packets or of the interface to programs (uapi). The size tells a struct
 * of the same name with other members. */
static const struct standard {
	const char *name;
	uint32_t bytes;
} standards[] = {
	{"xdp_md", 24}, {"xdp_md", 20 /* before egress_ifindex, Linux 5.8 */}, {"bpf_fib_lookup", 64},
	{"bpf_devmap_val", 8}, {"bpf_cpumap_val", 8},
	{"ethhdr", 14}, {"vlan_hdr", 4}, {"vlan_ethhdr", 18}, {"arphdr", 8},
	{"iphdr", 20}, {"icmphdr", 8}, {"ipv6hdr", 40}, {"ipv6_opt_hdr", 2}, {"frag_hdr", 8}, {"icmp6hdr", 8},
	{"in6_addr", 16}, {"tcphdr", 20}, {"udphdr", 8}, {"sctphdr", 12}, {"gre_base_hdr", 4}, {"vxlanhdr", 8},
};

static bool is_standard(const struct btf *b, uint32_t type)
{
	const struct btf_type t = btf_type(b, btf_resolve(b, type));
	for (unsigned i = 0; t.kind == BTF_STRUCT && i < ARRAY_LEN(standards); i++)
		if (strcmp(t.name, standards[i].name) == 0 && t.size_or_type == standards[i].bytes)
			return true;
	return false;
}

static bool is_answered(const struct btf *b, const struct core_relocation *r)
{
	switch (r->kind) {
	case CORE_TYPE_ID_LOCAL: case CORE_TYPE_ID_TARGET: case CORE_ENUMVAL_EXISTS: case CORE_ENUMVAL_VALUE:
		return false;
	default:
		return is_standard(b, r->type_id);
	}
}

static struct core_relocation relocation_at(const struct loader *l, uint32_t at)
{
	struct core_relocation r;
	memcpy(&r, l->ext->data + at, sizeof r);
	return r;
}

bool object_refuse_core(struct loader *l, const struct function *f)
{
	const struct core_relocation r = relocation_at(l, f->core);
	const struct btf_type t = btf_type(&l->btf, btf_resolve(&l->btf, r.type_id));
	return object_refuse(l->why,
	                     "instruction %u of function %.60s needs %.60s of a running kernel (CO-RE, kind %u)",
	                     (unsigned)(r.insn_off / sizeof(struct bpf_insn)) - f->first, f->name,
	                     t.name[0] ? t.name : "types", r.kind);
}

static bool read_relocation(struct loader *l, struct code *c, const char *section, uint32_t at)
{
	const struct core_relocation r = relocation_at(l, at);
	const uint64_t i = r.insn_off / sizeof(struct bpf_insn);
	if (r.insn_off % sizeof(struct bpf_insn) || i >= c->count)
		return object_refuse(l->why,
		                     ".BTF.ext: a CO-RE relocation of section %.60s is not at an instruction",
		                     section);
	if (r.type_id >= l->btf.count || !btf_string(&l->btf, r.access_off))
		return object_refuse(l->why,
		                     ".BTF.ext: a CO-RE relocation of section %.60s has a wrong type or string",
		                     section);
	struct function *f = c->owner[i] ? &l->functions[c->owner[i] - 1] : NULL;
	if (f && !f->core && !is_answered(&l->btf, &r))
		f->core = at;
	return true;
}

/* The code of the section of that name. */
static struct code *code_named(const struct loader *l, const char *name)
{
	for (unsigned i = 0; i < l->code_section_count; i++)
		if (strcmp(l->elf.sections[l->code_sections[i]].name, name) == 0)
			return l->roles[l->code_sections[i]].code;
	return NULL;
}

/* From `at` to `end` of .BTF.ext: for each section its name, a number, and so many records. */
static bool read_relocations(struct loader *l, uint32_t at, uint32_t end)
{
	const uint8_t *data = l->ext->data;
	if (at == end)
		return true;
	const uint32_t each = end - at >= 4 ? raw32_load(data + at) : 0;
	if (each < sizeof(struct core_relocation))
		return object_refuse(l->why, ".BTF.ext: CO-RE relocations of %u bytes", each);
	at += 4;
	while (at < end) {
		const char *name = end - at >= 8 ? btf_string(&l->btf, raw32_load(data + at)) : NULL;
		const uint32_t n = name ? raw32_load(data + at + 4) : 0;
		if (n == 0 || n > (end - at - 8) / each)
			return object_refuse(l->why, ".BTF.ext: the CO-RE relocations are damaged at offset %u",
			                     at);
		struct code *c = code_named(l, name);
		if (!c)
			return object_refuse(l->why,
			                     ".BTF.ext: CO-RE relocations of section %.60s, which has no code",
			                     name);
		at += 8;
		for (uint32_t i = 0; i < n; i++, at += each)
			if (!read_relocation(l, c, name, at))
				return false;
	}
	return true;
}

static bool in_section(uint32_t offset, uint32_t length, uint32_t bytes)
{
	return offset <= bytes && length <= bytes - offset;
}

bool object_load_core(struct loader *l)
{
	const uint32_t section = elf_find(&l->elf, ".BTF.ext");
	const struct section *s = &l->elf.sections[section];
	struct ext_header h = {.magic = 0};
	if (!section || l->btf.count == 0)
		return true;
	if (!s->data || s->bytes < HEADER_MIN)
		return object_refuse(l->why, ".BTF.ext: %u bytes are too few", s->bytes);
	memcpy(&h, s->data, HEADER_MIN);
	if (h.magic != BTF_MAGIC || h.version != BTF_VERSION || h.hdr_len < HEADER_MIN || h.hdr_len > s->bytes)
		return object_refuse(l->why, ".BTF.ext: a header with magic 0x%04x, version %u, %u bytes",
		                     h.magic, h.version, h.hdr_len);
	if (h.hdr_len >= sizeof h)
		memcpy(&h, s->data, sizeof h);
	const uint32_t left = s->bytes - h.hdr_len;
	if (!in_section(h.func_off, h.func_len, left) || !in_section(h.line_off, h.line_len, left) ||
	    !in_section(h.core_off, h.core_len, left))
		return object_refuse(l->why, ".BTF.ext: a part ends behind the section");
	l->ext = s;
	return read_relocations(l, h.hdr_len + h.core_off, h.hdr_len + h.core_off + h.core_len);
}
