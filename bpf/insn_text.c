/*
 * Instructions as text (insn_text.h).
 */
#include "bpf/insn_text.h"

#include "bpf/helpers.h"
#include "lib/fmt.h"

static const char *const sizes[] = {"u32", "u16", "u8", "u64"};   /* by enum bpf_size >> 3 */
static const char *const signed_sizes[] = {"s32", "s16", "s8", "s64"};

/* The sign of a number that has none of its own. */
static const char *plus(int32_t n)
{
	return n < 0 ? "" : "+";
}

#define PUT(...) fmt_format(out, BPF_INSN_TEXT, __VA_ARGS__)

static void put_unknown(char *out, const struct bpf_insn *i)
{
	PUT("invalid: opcode 0x%02x, r%u, r%u, %d, 0x%x", i->opcode, i->dst, i->src, i->offset, (uint32_t)i->imm);
}

static const char *alu_sign(unsigned op, bool is_signed)
{
	switch (op) {
	case BPF_ADD: return "+=";
	case BPF_SUB: return "-=";
	case BPF_MUL: return "*=";
	case BPF_DIV: return is_signed ? "s/=" : "/=";
	case BPF_OR: return "|=";
	case BPF_AND: return "&=";
	case BPF_LSH: return "<<=";
	case BPF_RSH: return ">>=";
	case BPF_MOD: return is_signed ? "s%=" : "%=";
	case BPF_XOR: return "^=";
	case BPF_MOV: return "=";
	case BPF_ARSH: return "s>>=";
	default: return NULL;
	}
}

static void put_alu(char *out, const struct bpf_insn *i)
{
	const unsigned op = bpf_op(i);
	const bool wide = bpf_class(i) == BPF_ALU64;
	const char r = wide ? 'r' : 'w';
	if (op == BPF_END) {
		const char *order = wide ? "bswap" : bpf_source_is_reg(i) ? "be" : "le";
		PUT("r%u = %s%d r%u", i->dst, order, i->imm, i->dst);
		return;
	}
	if (op == BPF_NEG) {
		PUT("%c%u = -%c%u", r, i->dst, r, i->dst);
		return;
	}
	const char *sign = alu_sign(op, i->offset == 1);
	if (!sign)
		put_unknown(out, i);
	else if (!bpf_source_is_reg(i))
		PUT("%c%u %s %d", r, i->dst, sign, i->imm);
	else if (op == BPF_MOV && i->offset)
		PUT("%c%u = (s%d)%c%u", r, i->dst, i->offset, r, i->src);
	else
		PUT("%c%u %s %c%u", r, i->dst, sign, r, i->src);
}

static const char *jump_sign(unsigned op)
{
	switch (op) {
	case BPF_JEQ: return "==";
	case BPF_JGT: return ">";
	case BPF_JGE: return ">=";
	case BPF_JSET: return "&";
	case BPF_JNE: return "!=";
	case BPF_JSGT: return "s>";
	case BPF_JSGE: return "s>=";
	case BPF_JLT: return "<";
	case BPF_JLE: return "<=";
	case BPF_JSLT: return "s<";
	case BPF_JSLE: return "s<=";
	default: return NULL;
	}
}

static void put_call(char *out, const struct bpf_insn *i)
{
	const struct bpf_proto *proto = bpf_proto((uint32_t)i->imm);
	if (bpf_source_is_reg(i))
		PUT("callx r%u", i->dst);
	else if (i->src == BPF_CALL_LOCAL)
		PUT("call pc%s%d", plus(i->imm), i->imm);
	else if (i->src == BPF_CALL_HELPER && proto)
		PUT("call %s#%d", proto->name, i->imm);
	else if (i->src == BPF_CALL_HELPER)
		PUT("call %d", i->imm);
	else
		PUT("call kernel-function %d", i->imm);
}

static void put_jump(char *out, const struct bpf_insn *i)
{
	const unsigned op = bpf_op(i);
	const bool wide = bpf_class(i) == BPF_JMP;
	const char r = wide ? 'r' : 'w';
	const char *sign = jump_sign(op);
	if (op == BPF_JA)
		wide ? PUT("goto %s%d", plus(i->offset), i->offset) :
		       PUT("gotol %s%d", plus(i->imm), i->imm);
	else if (op == BPF_CALL && wide)
		put_call(out, i);
	else if (op == BPF_EXIT && wide)
		PUT("exit");
	else if (!sign)
		put_unknown(out, i);
	else if (bpf_source_is_reg(i))
		PUT("if %c%u %s %c%u goto %s%d", r, i->dst, sign, r, i->src, plus(i->offset), i->offset);
	else
		PUT("if %c%u %s %d goto %s%d", r, i->dst, sign, i->imm, plus(i->offset), i->offset);
}

static void put_load(char *out, const struct bpf_insn *i)
{
	const unsigned mode = i->opcode & 0xe0, size = (i->opcode & 0x18) >> 3;
	if (mode == BPF_MEM || mode == BPF_MEMSX)
		PUT("r%u = *(%s *)(r%u %c %d)", i->dst, (mode == BPF_MEM ? sizes : signed_sizes)[size], i->src,
		    i->offset < 0 ? '-' : '+', i->offset < 0 ? -i->offset : i->offset);
	else
		put_unknown(out, i);
}

static const char *atomic_sign(int32_t imm)
{
	switch (imm & ~BPF_FETCH) {
	case BPF_ADD: return "+=";
	case BPF_OR: return "|=";
	case BPF_AND: return "&=";
	case BPF_XOR: return "^=";
	default: return NULL;
	}
}

static const char *atomic_name(int32_t imm)
{
	switch (imm & ~BPF_FETCH) {
	case BPF_ADD: return "add";
	case BPF_OR: return "or";
	case BPF_AND: return "and";
	default: return "xor";
	}
}

static void put_store(char *out, const struct bpf_insn *i)
{
	const unsigned mode = i->opcode & 0xe0, size = (i->opcode & 0x18) >> 3;
	const char sign = i->offset < 0 ? '-' : '+';
	const int offset = i->offset < 0 ? -i->offset : i->offset;
	const char *type = sizes[size];
	if (mode == BPF_MEM && bpf_class(i) == BPF_ST)
		PUT("*(%s *)(r%u %c %d) = %d", type, i->dst, sign, offset, i->imm);
	else if (mode == BPF_MEM)
		PUT("*(%s *)(r%u %c %d) = r%u", type, i->dst, sign, offset, i->src);
	else if (mode != BPF_ATOMIC || bpf_class(i) != BPF_STX)
		put_unknown(out, i);
	else if (i->imm == BPF_XCHG)
		PUT("r%u = xchg((%s *)(r%u %c %d), r%u)", i->src, type, i->dst, sign, offset, i->src);
	else if (i->imm == BPF_CMPXCHG)
		PUT("r0 = cmpxchg((%s *)(r%u %c %d), r0, r%u)", type, i->dst, sign, offset, i->src);
	else if (!atomic_sign(i->imm))
		put_unknown(out, i);
	else if (i->imm & BPF_FETCH)
		PUT("r%u = atomic_fetch_%s((%s *)(r%u %c %d), r%u)", i->src, atomic_name(i->imm), type, i->dst, sign,
		    offset, i->src);
	else
		PUT("lock *(%s *)(r%u %c %d) %s r%u", type, i->dst, sign, offset, atomic_sign(i->imm), i->src);
}

static void put_wide(char *out, const struct bpf_insn *i)
{
	if (i->src == BPF_WIDE_MAP)
		PUT("r%u = map[%d] ll", i->dst, i->imm);
	else if (i->src == BPF_WIDE_VALUE)
		PUT("r%u = map[%d][0]+%d ll", i->dst, i->imm, i[1].imm);
	else if (i->src == BPF_WIDE_NUMBER)
		PUT("r%u = 0x%llx ll", i->dst,
		    (unsigned long long)((uint64_t)(uint32_t)i[1].imm << 32 | (uint32_t)i->imm));
	else
		put_unknown(out, i);
}

char *bpf_insn_text(char out[BPF_INSN_TEXT], const struct bpf_insn *i)
{
	switch (bpf_class(i)) {
	case BPF_ALU: case BPF_ALU64: put_alu(out, i); break;
	case BPF_JMP: case BPF_JMP32: put_jump(out, i); break;
	case BPF_LDX: put_load(out, i); break;
	case BPF_ST: case BPF_STX: put_store(out, i); break;
	default: bpf_is_wide(i) ? put_wide(out, i) : put_unknown(out, i); break;
	}
	return out;
}
