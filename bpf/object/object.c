/*
 * Loads an object: the order of the parts (loader.h), the licence, and the programs' places in a chain.
 *
 * A place in a chain is a struct in the section .xdp_run_config called as the program with an underscore
 * before it, whose member `priority` is the number, and whose members XDP_ABORTED to XDP_REDIRECT say with 1
 * or 0 whether the next program runs on that result; what is not there keeps its default (libxdp's
 * protocol.org, "Processing program metadata").
 */
#include "bpf/object/object.h"

#include "bpf/object/loader.h"
#include "bpf/object/reason.h"
#include "bpf/xdp.h"
#include "lib/mem.h"

static bool load_license(struct loader *l)
{
	const uint32_t i = elf_find(&l->elf, "license");
	const struct section *s = &l->elf.sections[i];
	char *to = l->object->license;
	to[0] = 0;
	if (!i || !s->data)
		return true;
	uint32_t n = 0;
	while (n < s->bytes && s->data[n]) {
		if (n == BPF_NAME - 1 || s->data[n] < ' ' || s->data[n] > '~')
			return object_refuse(l->why,
			                     "section license: longer than %d characters, or not printable",
			                     BPF_NAME - 1);
		to[n] = (char)s->data[n];
		n++;
	}
	to[n] = 0;
	return true;
}

static bool load_btf(struct loader *l)
{
	const uint32_t i = elf_find(&l->elf, ".BTF");
	const struct section *s = &l->elf.sections[i];
	if (!i)
		return true;
	if (!s->data)
		return object_refuse(l->why, ".BTF: the section has no bytes in the file");
	if (!btf_open(&l->btf, s->data, s->bytes, l->memory, l->why))
		return false;
	l->kconfig = btf_find_section(&l->btf, ".kconfig");
	if (btf_type(&l->btf, l->kconfig).vlen > KCONFIG_MAX)
		return object_refuse(l->why, ".kconfig has more than %d variables", KCONFIG_MAX);
	return true;
}

/* --- places in a chain --- */

static bool set_place(struct loader *l, struct bpf_program *p, const struct btf_member *member)
{
	static const char *const actions[XDP_ACTIONS] = {
		[XDP_ABORTED] = "XDP_ABORTED", [XDP_DROP] = "XDP_DROP",         [XDP_PASS] = "XDP_PASS",
		[XDP_TX] = "XDP_TX",           [XDP_REDIRECT] = "XDP_REDIRECT",
	};
	uint32_t n;
	if (!btf_number(&l->btf, member->type, &n))
		return object_refuse(l->why,
		                     ".xdp_run_config of program %s: %.40s is not a number as __uint makes it",
		                     p->name, member->name);
	if (strcmp(member->name, "priority") == 0) {
		p->priority = n;
		return true;
	}
	for (unsigned i = 0; i < XDP_ACTIONS; i++)
		if (strcmp(member->name, actions[i]) == 0) {
			p->chain_on = (p->chain_on & ~(1u << i)) | (n ? 1u << i : 0);
			return true;
		}
	/* What libxdp's own dispatcher returns for an empty slot, of which there are none here. */
	if (strcmp(member->name, "XDP_DISPATCHER_RETVAL") == 0)
		return true;
	return object_refuse(l->why, ".xdp_run_config of program %s: member %.40s is unknown", p->name,
	                     member->name);
}

static bool load_place(struct loader *l, struct bpf_program *p, const struct btf_member *variable)
{
	const struct btf_type t = btf_type(&l->btf, btf_resolve(&l->btf, variable->type));
	if (t.kind != BTF_STRUCT)
		return object_refuse(l->why, ".xdp_run_config of program %s: not a struct", p->name);
	for (uint32_t i = 0; i < t.vlen; i++) {
		const struct btf_member member = btf_struct_member(&l->btf, &t, i);
		if (!set_place(l, p, &member))
			return false;
	}
	return true;
}

bool object_load_chain(struct loader *l)
{
	const uint32_t id = l->btf.count ? btf_find_section(&l->btf, ".xdp_run_config") : 0;
	const struct btf_type variables = btf_type(&l->btf, id);
	for (uint32_t i = 0; i < variables.vlen; i++) {
		struct btf_member v;
		if (!btf_section_variable(&l->btf, &variables, i, &v))
			return object_refuse(l->why, ".BTF: member %u of .xdp_run_config is not a variable", i);
		for (unsigned k = 0; k < l->object->program_count; k++) {
			struct bpf_program *p = &l->object->programs[k];
			if (v.name[0] == '_' && strcmp(v.name + 1, p->name) == 0 && !load_place(l, p, &v))
				return false;
		}
	}
	return true;
}

bool bpf_object_load(const uint8_t *file, size_t bytes, struct bpf_memory *memory, struct bpf_object *object,
                     struct bpf_reason *why)
{
	struct loader *l = bpf_take(memory, sizeof *l);
	if (!l)
		return object_refuse(why, "no memory to load an object");
	l->memory = memory;
	l->object = object;
	l->why = why;
	object->map_count = object->program_count = object->slot_count = 0;
	if (!elf_open(&l->elf, file, bytes, memory, why))
		return false;
	l->roles = bpf_take(memory, l->elf.section_count * sizeof *l->roles);
	if (!l->roles)
		return object_refuse(why, "no memory for the sections");
	if (!load_license(l) || !load_btf(l) || !object_load_maps(l) || !object_load_functions(l) ||
	    !object_load_core(l) || !object_load_programs(l) || !object_load_slots(l) || !object_load_chain(l))
		return false;
	object_load_layouts(l);
	return true;
}
