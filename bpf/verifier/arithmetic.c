/*
 * Arithmetic on registers (RFC 9669 4.1): numbers, and pointers as far as it makes sense.
 *
 * - pointer + number, number + pointer, pointer - number, in 64 bits. A constant moves `off`; another
 *   number is added to the variable part, which must stay above -OFFSET_MAX so that no sum wraps around.
 * - A packet pointer then gets a new name, and nothing is known of what lies behind it. The bounds of its
 *   variable part are widened to a few classes, so that paths over headers of different lengths meet in
 *   states that include each other. xdpfilt_alw_all.o of xdp-tools takes 78,000 steps; with
 *   exact bounds, and saved states farther apart, it took 360,000.
 * - A constant in a register, added to a packet pointer, says how much a comparison of that pointer proves. So the
 *   register matters (verifier.h, invariant 3), even if no access uses the pointer.
 * - pointer - pointer, and the lower half of a pointer, are numbers of which nothing is known.
 * - A pointer that may be null is not moved: null plus something would pass the check for null.
 */
#include "bpf/insn_text.h"
#include "bpf/verifier/verifier.h"

#define CLASS_START 64   /* a pointer's own offset from the start of the packet counts up to here */
#define CLASS_END 0xfff

static bool may_be_moved(struct verifier *v, unsigned r, const struct value *p, bool by_constant)
{
	switch (p->kind) {
	case STACK: case PACKET: case META: case VALUE: case MEMORY: case RESERVED:
		return true;
	case CONTEXT:
		return by_constant || verifier_refuse(v, "R%u is the context: only constants can be added to it", r);
	case VALUE_OR_NULL: case RESERVED_OR_NULL:
		return verifier_refuse(v, "R%u is %s: compare it with 0 before arithmetic", r, verifier_kind(p));
	default:
		return verifier_refuse(v, "R%u is %s: no arithmetic is possible with it", r, verifier_kind(p));
	}
}

static bool move_by_constant(struct verifier *v, unsigned r, struct value *p, int64_t by)
{
	if (by < -OFFSET_MAX || by > OFFSET_MAX || p->off + by < -OFFSET_MAX || p->off + by > OFFSET_MAX)
		return verifier_refuse(v, "R%u is %s: it is moved too far", r, verifier_kind(p));
	p->off += (int32_t)by;
	return true;
}

/* A packet pointer to which a number has been added. */
static void start_anew(struct verifier *v, struct value *p)
{
	const struct scalar off = scalar_const((uint64_t)(int64_t)p->off);
	scalar_alu(&p->s, &off, BPF_ADD, false, 64);
	p->off = 0;
	p->id = ++v->last_id;
	p->range = NOTHING_PROVED;
	if (p->s.smin < 0 || p->s.umax > PACKET_OFFSET_MAX / 2)
		return;
	struct scalar class = scalar_unknown;
	class.umin = p->s.umin < CLASS_START ? p->s.umin : CLASS_START;
	for (class.umax = CLASS_END; class.umax < p->s.umax;)
		class.umax = 2 * class.umax + 1;
	scalar_deduce(&class);
	p->s = class;
}

/* p, which is in register r, plus or minus n. */
static bool move_pointer(struct verifier *v, unsigned r, struct value *p, const struct scalar *n, bool minus)
{
	if (!may_be_moved(v, r, p, scalar_is_const(n)))
		return false;
	if (scalar_is_const(n)) {
		const int64_t by = (int64_t)n->t.value;
		if (by < -OFFSET_MAX || by > OFFSET_MAX)
			return verifier_refuse(v, "R%u is %s: it is moved too far", r, verifier_kind(p));
		return move_by_constant(v, r, p, minus ? -by : by);
	}
	scalar_alu(&p->s, n, minus ? BPF_SUB : BPF_ADD, false, 64);
	if (p->s.smin < -OFFSET_MAX)
		return verifier_refuse(v, "R%u is %s: the number that moves it has no bounds; compare it with constants, or "
		                          "mask it", r, verifier_kind(p));
	if (p->kind == PACKET || p->kind == META)
		start_anew(v, p);
	return true;
}

/* As move_pointer, by the number in register n. */
static bool move_by_register(struct verifier *v, unsigned r, struct value *p, unsigned n, bool minus)
{
	if ((p->kind == PACKET || p->kind == META) && scalar_is_const(&verifier_reg(v, n)->s) &&
	    !(v->info[v->insn].needs.matter >> n & 1))
		verifier_decide(v);
	return move_pointer(v, r, p, &verifier_reg(v, n)->s, minus);
}

static bool with_pointers(struct verifier *v, const struct bpf_insn *i, const struct value *src)
{
	struct value *dst = verifier_reg(v, i->dst);
	const unsigned op = bpf_op(i);
	const bool wide = bpf_class(i) == BPF_ALU64;
	const bool dst_points = value_is_pointer(dst), src_points = value_is_pointer(src);
	if (op == BPF_SUB && dst_points && src_points) {
		*dst = value_scalar(scalar_loaded(wide ? 8 : 4, false));
		return true;
	}
	if (wide && (op == BPF_ADD || op == BPF_SUB) && dst_points && !src_points)
		return bpf_source_is_reg(i) ? move_by_register(v, i->dst, dst, i->src, op == BPF_SUB)
		                            : move_pointer(v, i->dst, dst, &src->s, op == BPF_SUB);
	if (wide && op == BPF_ADD && !dst_points) {
		struct value moved = *src;
		if (!move_by_register(v, i->src, &moved, i->dst, false))
			return false;
		*dst = moved;
		return true;
	}
	const unsigned r = dst_points ? i->dst : i->src;
	return verifier_refuse(v, "R%u is %s: pointers can only be moved by 64-bit addition and subtraction of numbers",
	                       r, verifier_kind(verifier_reg(v, r)));
}

/* Copies of an unknown number get the same name, so that a comparison of one bounds the other. */
static void copy(struct verifier *v, struct value *dst, struct value *src)
{
	if (src->kind == SCALAR && !scalar_is_const(&src->s) && !src->id)
		src->id = ++v->last_id;
	*dst = *src;
}

static bool move_register(struct verifier *v, const struct bpf_insn *i)
{
	struct value *dst = verifier_reg(v, i->dst), *src = verifier_reg(v, i->src);
	const bool wide = bpf_class(i) == BPF_ALU64;
	if (wide && !i->offset) {
		copy(v, dst, src);
		return true;
	}
	if (i->offset && value_is_pointer(src))
		return verifier_refuse(v, "R%u is %s: the sign of a pointer cannot be extended", i->src, verifier_kind(src));
	if (value_is_pointer(src)) {
		*dst = value_scalar(scalar_loaded(4, false));
		return true;
	}
	if (!i->offset && src->s.umax <= UINT32_MAX) {
		copy(v, dst, src);
		return true;
	}
	*dst = *src;
	dst->id = 0;
	if (i->offset)
		scalar_sign_extend(&dst->s, (unsigned)i->offset);
	if (!wide)
		scalar_zero_extend(&dst->s, 32);
	return true;
}

static bool needs_number(struct verifier *v, unsigned r)
{
	const struct value *x = verifier_reg(v, r);
	return x->kind == SCALAR ||
		verifier_refuse(v, "R%u is %s: pointers can only be moved by 64-bit addition and subtraction of numbers", r,
	                    verifier_kind(x));
}

static bool byte_order(struct verifier *v, const struct bpf_insn *i)
{
	struct value *dst = verifier_reg(v, i->dst);
	if (!needs_number(v, i->dst))
		return false;
	if (bpf_class(i) == BPF_ALU && !bpf_source_is_reg(i))
		scalar_zero_extend(&dst->s, (unsigned)i->imm); /* memory is little-endian here */
	else
		scalar_swap(&dst->s, (unsigned)i->imm);
	dst->id = 0;
	return true;
}

static bool negate(struct verifier *v, const struct bpf_insn *i)
{
	struct value *dst = verifier_reg(v, i->dst);
	struct scalar zero = scalar_const(0);
	if (!needs_number(v, i->dst))
		return false;
	scalar_alu(&zero, &dst->s, BPF_SUB, false, bpf_class(i) == BPF_ALU64 ? 64 : 32);
	*dst = value_scalar(zero);
	return true;
}

bool verifier_alu(struct verifier *v, const struct bpf_insn *i)
{
	const unsigned op = bpf_op(i), bits = bpf_class(i) == BPF_ALU64 ? 64 : 32;
	const bool by_reg = bpf_source_is_reg(i) && op != BPF_END;
	const uint64_t imm = (uint64_t)(int64_t)i->imm;
	struct value *dst = verifier_reg(v, i->dst);
	if ((op != BPF_MOV && !verifier_readable(v, i->dst)) || (by_reg && !verifier_readable(v, i->src)))
		return false;
	if (op == BPF_END)
		return byte_order(v, i);
	if (op == BPF_NEG)
		return negate(v, i);
	if (op == BPF_MOV && by_reg)
		return move_register(v, i);
	struct value src = by_reg ? *verifier_reg(v, i->src)
	                          : value_scalar(scalar_const(bits == 64 ? imm : (uint32_t)imm));
	if (op == BPF_MOV) {
		*dst = src;
		return true;
	}
	if (value_is_pointer(dst) || value_is_pointer(&src))
		return with_pointers(v, i, &src);
	scalar_alu(&dst->s, &src.s, op, i->offset == 1, bits);
	dst->id = 0;
	return true;
}
