#include "tests/unit/rig/bpf_contract.h"

#include <stdlib.h>
#include <string.h>

#include "lib/assert.h"

static void check_text(const char *text, size_t size, size_t least)
{
	const size_t n = strnlen(text, size);
	assert(n < size && n >= least);
	for (size_t i = 0; i < n; i++)
		assert(text[i] >= ' ' && text[i] <= '~');
}

/* --- layouts --- */

static bool json_value(const char **c);

static bool json_string(const char **c)
{
	if (*(*c)++ != '"')
		return false;
	while (**c != '"')
		if (**c < ' ' || **c > '~' || (*(*c)++ == '\\' && !*(*c)++))
			return false;
	return *(*c)++ == '"';
}

/* Members or elements up to `end`. */
static bool json_list(const char **c, char end)
{
	for ((*c)++; **c != end; (*c)++) {
		if (end == '}' && (!json_string(c) || *(*c)++ != ':'))
			return false;
		if (!json_value(c) || (**c != ',' && **c != end))
			return false;
		if (**c == end)
			break;
	}
	return *(*c)++ == end;
}

static bool json_word(const char **c, const char *word)
{
	const size_t n = strlen(word);
	const bool is = strncmp(*c, word, n) == 0;
	*c += is ? n : 0;
	return is;
}

static bool json_value(const char **c)
{
	if (**c == '{')
		return json_list(c, '}');
	if (**c == '[')
		return json_list(c, ']');
	if (**c == '"')
		return json_string(c);
	if (json_word(c, "true") || json_word(c, "false"))
		return true;
	*c += **c == '-';
	const size_t digits = strspn(*c, "0123456789");
	*c += digits;
	return digits > 0;
}

bool bpf_layout_contract(const struct bpf_layout *layout, size_t room, unsigned root, const uint8_t *data,
                         uint32_t bytes, char *text, size_t size)
{
	struct fmt_buf b = {.at = text, .size = size};
	const char *c = text;
	*text = 0;
	if (!bpf_layout_print(layout, room, root, data, bytes, &b)) {
		assert(b.used == 0 && !*text && !b.full);
		return false;
	}
	assert(json_value(&c) && !*c && (size_t)(c - text) == b.used);
	return true;
}

/* Every key and value of the map's sizes can be printed, if there is room for the text. */
static void check_layout(const struct bpf_map_def *m)
{
	static char text[1 << 20];
	uint8_t data[4096];
	if (!m->layout)
		return;
	for (unsigned i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)(i * 37 >> (i & 3));
	for (unsigned is_key = 0; is_key < 2; is_key++) {
		const uint32_t bytes = is_key ? m->key_bytes : m->value_bytes;
		const unsigned root = is_key ? m->layout->key : m->layout->value;
		if (bytes > sizeof data || root == 0)
			continue;
		uint8_t *copy = malloc(bytes ? bytes : 1);
		memcpy(copy, data, bytes);
		bpf_layout_contract(m->layout, m->layout->bytes, root, copy, bytes, text, 1100);
		if (!bpf_layout_contract(m->layout, m->layout->bytes, root, copy, bytes, text, sizeof text))
			assert(bytes > 64); /* a union may show its bytes many times */
		free(copy);
	}
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
	check_layout(m);
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
