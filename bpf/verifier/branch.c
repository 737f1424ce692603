/*
 * Conditional jumps (RFC 9669 4.2): what each of the two ways says of the operands.
 *
 * - Numbers: their bounds, in all registers and stack bytes of the same name. If a register's number gave
 *   another bounds, it matters like one that decides (verifier.h, invariant 3).
 * - A pointer that may be null, compared with 0: all of the same name become pointers or 0.
 * - A packet pointer compared with data_end: so many bytes behind its base lie in the packet, for all
 *   packet pointers of the same name. So do pointers to metadata and data.
 */
#include "bpf/verifier/verifier.h"

struct operands {
	struct value *a, *b;
	struct value imm;
};

static void operands(struct verifier *v, const struct bpf_insn *i, struct operands *o)
{
	o->a = verifier_reg(v, i->dst);
	o->b = &o->imm;
	if (bpf_source_is_reg(i))
		o->b = verifier_reg(v, i->src);
	else
		o->imm = value_scalar(scalar_const((uint64_t)(int64_t)i->imm));
}

static unsigned width(const struct bpf_insn *i)
{
	return bpf_class(i) == BPF_JMP ? 64 : 32;
}

/* A pointer as it came, which is the address of something. */
static bool is_never_null(const struct value *x)
{
	return (x->kind == VALUE || x->kind == RESERVED || x->kind == CONTEXT || x->kind == MAP || x->kind == PACKET) &&
		!x->off && scalar_is_const(&x->s) && !x->s.t.value;
}

bool verifier_branch_possible(struct verifier *v, const struct bpf_insn *i, bool taken)
{
	const unsigned op = bpf_op(i);
	struct operands o;
	operands(v, i, &o);
	if (o.a->kind == SCALAR && o.b->kind == SCALAR) {
		struct scalar a = o.a->s, b = o.b->s;
		return scalar_refine(&a, &b, op, taken, width(i));
	}
	if (width(i) == 64 && (op == BPF_JEQ || op == BPF_JNE) &&
	    ((is_never_null(o.a) && value_is_null(o.b)) || (value_is_null(o.a) && is_never_null(o.b))))
		return (op == BPF_JNE) == taken;
	return true;
}

/* --- numbers --- */

static void set_same_number(struct value *x, void *with)
{
	const struct value *now = with;
	if (x->kind == SCALAR && x->id == now->id)
		x->s = now->s;
}

static void set_number(struct verifier *v, struct value *x, struct scalar s)
{
	x->s = s;
	if (x->id) {
		struct value now = *x;
		verifier_each_value(v, set_same_number, &now);
	}
}

static void compare_numbers(struct verifier *v, const struct bpf_insn *i, struct operands *o, bool taken)
{
	struct scalar a = o->a->s, b = o->b->s;
	scalar_refine(&a, &b, bpf_op(i), taken, width(i));
	if (o->b != o->a && o->b != &o->imm && !(scalar_contains(&a, &o->a->s) && scalar_contains(&b, &o->b->s)))
		verifier_decide(v);
	set_number(v, o->a, a);
	if (o->b != o->a && (o->b == &o->imm || o->b->id != o->a->id || !o->a->id))
		set_number(v, o->b, b);
}

/* --- null --- */

struct null_check {
	uint32_t id;
	bool null;
};

static void set_null(struct value *x, void *with)
{
	const struct null_check *check = with;
	if ((x->kind != VALUE_OR_NULL && x->kind != RESERVED_OR_NULL) || x->id != check->id)
		return;
	if (check->null)
		*x = value_scalar(scalar_const(0));
	else
		x->kind = x->kind == VALUE_OR_NULL ? VALUE : RESERVED;
	if (x->kind == VALUE)
		x->id = 0;
}

static void drop_reserved(struct verifier *v, uint32_t id)
{
	for (unsigned n = 0; n < v->reserved_count; n++)
		if (v->reserved[n] == id) {
			for (v->reserved_count--; n < v->reserved_count; n++)
				v->reserved[n] = v->reserved[n + 1];
			return;
		}
}

static void compare_with_null(struct verifier *v, const struct value *x, bool null)
{
	struct null_check check = {x->id, null};
	if (x->kind == RESERVED_OR_NULL && null)
		drop_reserved(v, x->id);
	verifier_each_value(v, set_null, &check);
}

/* --- the packet --- */

struct reach {
	uint32_t id;
	int32_t range;
	uint8_t kind;
};

static void set_range(struct value *x, void *with)
{
	const struct reach *reach = with;
	if (x->kind == reach->kind && x->id == reach->id && x->range < reach->range)
		x->range = reach->range;
}

/* p < end if `below`, else p <= end. Offsets are small, so no address wraps around. */
static void in_packet(struct verifier *v, const struct value *p, bool below)
{
	const int64_t range = (int64_t)p->off + below;
	if (p->s.smin < 0 || p->s.smin + range < 0 || p->s.smax > PACKET_OFFSET_MAX ||
	    p->s.smax + range > PACKET_OFFSET_MAX)
		return;
	struct reach reach = {p->id, (int32_t)range, p->kind};
	verifier_each_value(v, set_range, &reach);
}

static bool is_start(const struct value *x)
{
	return x->kind == PACKET && !x->id && !x->off && value_is_null(&(struct value){.kind = SCALAR, .s = x->s});
}

static bool is_bound_of(const struct value *end, const struct value *p)
{
	return (p->kind == PACKET && end->kind == END) || (p->kind == META && is_start(end));
}

/* op as seen from the other operand */
static unsigned mirrored(unsigned op)
{
	switch (op) {
	case BPF_JGT: return BPF_JLT;
	case BPF_JLT: return BPF_JGT;
	case BPF_JGE: return BPF_JLE;
	case BPF_JLE: return BPF_JGE;
	default: return op;
	}
}

static void compare_packet(struct verifier *v, const struct value *p, unsigned op, bool taken)
{
	if ((op == BPF_JLT && taken) || (op == BPF_JGE && !taken))
		in_packet(v, p, true);
	else if ((op == BPF_JLE && taken) || (op == BPF_JGT && !taken) || (op == BPF_JEQ && taken) ||
	         (op == BPF_JNE && !taken))
		in_packet(v, p, false);
}

void verifier_branch(struct verifier *v, const struct bpf_insn *i, bool taken)
{
	const unsigned op = bpf_op(i);
	struct operands o;
	operands(v, i, &o);
	if (o.a->kind == SCALAR && o.b->kind == SCALAR) {
		compare_numbers(v, i, &o, taken);
		return;
	}
	if (width(i) == 32)
		return;
	if (op == BPF_JEQ || op == BPF_JNE) {
		const bool equal = (op == BPF_JEQ) == taken;
		if (value_is_null(o.b) && (o.a->kind == VALUE_OR_NULL || o.a->kind == RESERVED_OR_NULL))
			compare_with_null(v, o.a, equal);
		else if (value_is_null(o.a) && (o.b->kind == VALUE_OR_NULL || o.b->kind == RESERVED_OR_NULL))
			compare_with_null(v, o.b, equal);
	}
	if (is_bound_of(o.b, o.a))
		compare_packet(v, o.a, op, taken);
	else if (is_bound_of(o.a, o.b))
		compare_packet(v, o.b, mirrored(op), taken);
}
