#include "tests/unit/rig/bpf_contract.h"

#include <string.h>

#include "lib/assert.h"

static void check_text(const char *text, size_t size, size_t least)
{
	const size_t n = strnlen(text, size);
	assert(n < size && n >= least);
	for (size_t i = 0; i < n; i++)
		assert(text[i] >= ' ' && text[i] <= '~');
}

static void check_map(const struct bpf_object *o, unsigned i)
{
	const struct bpf_map_def *m = &o->maps[i];
	volatile uint8_t sum = 0;
	check_text(m->name, sizeof m->name, 1);
	for (unsigned k = 0; k < i; k++)
		assert(strcmp(m->name, o->maps[k].name) != 0);
	assert(!m->is_data ||
	       (m->type == BPF_MAP_ARRAY && m->entries == 1 && m->key_bytes == 4 && m->value_bytes));
	assert(m->is_data || !m->initial);
	for (uint32_t k = 0; m->initial && k < m->value_bytes; k++)
		sum = (uint8_t)(sum + m->initial[k]);
	(void)sum;
}

static void check_wide(const struct bpf_object *o, const struct bpf_insn *insn)
{
	const uint32_t map = (uint32_t)insn[0].imm;
	assert(insn[1].opcode == 0);
	if (insn->src == BPF_WIDE_NUMBER)
		return;
	assert(map < o->map_count);
	if (insn->src == BPF_WIDE_MAP) {
		assert(!o->maps[map].is_data);
		return;
	}
	assert(insn->src == BPF_WIDE_VALUE && o->maps[map].is_data);
	assert((uint32_t)insn[1].imm < o->maps[map].value_bytes);
}

static void check_program(const struct bpf_object *o, unsigned i)
{
	const struct bpf_program *p = &o->programs[i];
	check_text(p->name, sizeof p->name, 1);
	check_text(p->section, sizeof p->section, 3);
	for (unsigned k = 0; k < i; k++)
		assert(strcmp(p->name, o->programs[k].name) != 0);
	assert(p->count >= 1 && p->count <= BPF_INSNS_MAX);
	assert(p->chain_on < 32);
	for (uint32_t n = 0; n < p->count; n++) {
		const struct bpf_insn *insn = &p->insns[n];
		if (bpf_is_wide(insn)) {
			assert(n + 1 < p->count);
			check_wide(o, insn);
			n++;
		} else if (insn->opcode == (BPF_JMP | BPF_CALL) && insn->src == BPF_CALL_LOCAL) {
			const int64_t to = (int64_t)n + 1 + insn->imm;
			assert(to >= 0 && to < p->count);
		}
	}
}

void bpf_object_contract(bool loaded, const struct bpf_object *o, const struct bpf_reason *why)
{
	if (!loaded) {
		check_text(why->text, sizeof why->text, 10);
		return;
	}
	assert(o->program_count >= 1 && o->program_count <= BPF_OBJECT_PROGRAMS);
	assert(o->map_count <= BPF_OBJECT_MAPS && o->slot_count <= BPF_OBJECT_SLOTS);
	check_text(o->license, sizeof o->license, 0);
	for (unsigned i = 0; i < o->map_count; i++)
		check_map(o, i);
	for (unsigned i = 0; i < o->program_count; i++)
		check_program(o, i);
	for (unsigned i = 0; i < o->slot_count; i++) {
		const struct bpf_slot *s = &o->slots[i];
		assert(s->map < o->map_count && o->maps[s->map].type == BPF_MAP_PROG_ARRAY);
		assert(s->index < o->maps[s->map].entries && s->program < o->program_count);
	}
}
