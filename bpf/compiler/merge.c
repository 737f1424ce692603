/*
 * Words that a program loads byte by byte: what clang makes of fields of packed structures, such as the EtherType
 * in <linux/if_ether.h>. Four instructions, in either order of the loads,
 *
 *     low = *(u8 *)(base + n);  high = *(u8 *)(base + n + 1);  high <<= 8;  high |= low
 *
 * are one load of 16 bits. x86-64 needs no alignment. If the program reads `low` later, it is loaded too.
 */
#include "bpf/compiler/compiler.h"

static bool is_byte_load(const struct bpf_insn *i)
{
	return i->opcode == (BPF_LDX | BPF_MEM | BPF_B);
}

uint32_t compile_merge(struct compiler *c, uint32_t i)
{
	const struct bpf_insn *insn = compile_insn(c, i);
	if (!is_byte_load(insn) || !compile_follows(c, i, 3))
		return 0;
	const bool low_first = is_byte_load(insn + 1);
	const struct bpf_insn *low = low_first ? insn : insn + 2, *high = low_first ? insn + 1 : insn;
	const struct bpf_insn *shift = low_first ? insn + 2 : insn + 1, *or = insn + 3;
	if (!is_byte_load(low) || shift->opcode != (BPF_ALU64 | BPF_LSH | BPF_K) || shift->imm != 8 ||
	    or->opcode != (BPF_ALU64 | BPF_OR | BPF_X) || shift->dst != high->dst || or->dst != high->dst ||
	    or->src != low->dst || high->dst == low->dst || high->src != low->src || high->offset != low->offset + 1 ||
	    low->src == low->dst || low->src == high->dst)
		return 0;
	const struct x86_mem m = compile_at(c, low->src, low->offset);
	x86_mem(&c->e, X86_0F, 0xb7, c->now->reg[high->dst], m);
	compile_set_short(c, high->dst, true);
	if (c->live[i + 3] >> low->dst & 1) {
		x86_mem(&c->e, X86_0F, 0xb6, c->now->reg[low->dst], m);
		compile_set_short(c, low->dst, true);
	}
	return 4;
}
