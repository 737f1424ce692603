/*
 * Which registers and bytes of the stack an instruction, or one behind it, may read before they are
 * overwritten ("live"), and whose value may influence what the verifier decides ("matter"): backward data
 * flow over all functions at once, before the walk.
 *
 * A value matters if it may flow into an address, a size that a helper is given, or an operand of an
 * instruction that decides (verifier.h, invariant 3). A number that is only stored, returned, given
 * to a helper as a number, or compared by jumps that always go both ways does not: states that differ in
 * it alone behave alike. Endless loops are recognised by what could matter, with all conditional jumps.
 *
 * - Stack bytes are taken in units of 4. A unit stays live above a store that does not cover it.
 * - A load or helper through a register that may point anywhere into the frame reads all of it.
 * - A helper reads from its pointer up to the end of the frame, as sizes are not known here; what it
 *   fills is not taken as overwritten.
 * - A number that a function may store into a caller's stack matters: here is not known what the caller does
 *   with it.
 * - While a function runs, of its caller is live what is live behind the call; all of its stack, if an
 *   argument may be an address in it.
 */
#include "bpf/verifier/verifier.h"

#define BIT(r) ((uint16_t)(1u << (r)))
#define ARGUMENTS 0x3e /* R1 to R5 */
#define LOOKED_AT_A_STEP 64 /* instructions that take as long as one update */

static const struct units all_units = {{UINT64_MAX, UINT64_MAX}};

struct flow {
	struct verifier *v;
	const struct points *points;
	uint32_t queued;
	uint32_t looked_at; /* instructions, for the calls of a function */
};

struct units units_of(int64_t off, int64_t bytes)
{
	struct units u = {{0, 0}};
	if (off < -BPF_STACK)
		off = -BPF_STACK;
	for (int64_t at = off; at < off + bytes && at < 0; at = (at | 3) + 1) {
		const unsigned unit = (unsigned)((-at - 1) / 4);
		u.w[unit / 64] |= 1ull << (unit % 64);
	}
	return u;
}

/* Units that the bytes cover whole. */
static struct units units_inside(int64_t off, int64_t bytes)
{
	const int64_t first = (off + 3) & ~(int64_t)3, end = (off + bytes) & ~(int64_t)3;
	return first < end ? units_of(first, end - first) : (struct units){{0, 0}};
}

static void add_units(struct units *a, struct units b)
{
	a->w[0] |= b.w[0];
	a->w[1] |= b.w[1];
}

static void drop_units(struct units *a, struct units b)
{
	a->w[0] &= ~b.w[0];
	a->w[1] &= ~b.w[1];
}

static bool any_of(struct units a, struct units b)
{
	return (a.w[0] & b.w[0]) | (a.w[1] & b.w[1]);
}

/* How a value is needed. */
struct how {
	bool matters, could;
};
static const struct how as_number = {false, false}, as_decision = {true, true};

static void use(struct needs *n, unsigned r, struct how how)
{
	n->live |= BIT(r);
	if (how.matters)
		n->matter |= BIT(r);
	if (how.could)
		n->all_matter |= BIT(r);
}

static struct how how_reg(const struct needs *n, unsigned r)
{
	return (struct how){n->matter & BIT(r), n->all_matter & BIT(r)};
}

/* Gone behind the instruction. Returns how its value was needed. */
static struct how define(struct needs *n, unsigned r)
{
	const struct how needed = how_reg(n, r);
	n->live &= (uint16_t)~BIT(r);
	n->matter &= (uint16_t)~BIT(r);
	n->all_matter &= (uint16_t)~BIT(r);
	return needed;
}

/* Memory behind register r + off, up to bytes; 0: of unknown size. */
static void read_memory(struct flow *f, uint32_t at, struct needs *n, unsigned r, int64_t off, unsigned bytes,
                        struct how how)
{
	const int16_t p = f->points[at].reg[r];
	if (p == POINTS_ELSEWHERE)
		return;
	struct units touched = all_units;
	if (p < POINTS_ANYWHERE)
		touched = units_of(p + off, bytes ? bytes : BPF_STACK - (p + off));
	add_units(&n->stack_live, touched);
	if (how.matters)
		add_units(&n->stack_matter, touched);
	if (how.could)
		add_units(&n->stack_all_matter, touched);
}

/* Returns how the value stored is needed. */
static struct how write_memory(struct flow *f, uint32_t at, struct needs *n, unsigned r, int64_t off, unsigned bytes)
{
	const int16_t p = f->points[at].reg[r];
	const bool callers = f->v->functions[f->v->info[at].function].takes_stack;
	if (p == POINTS_ELSEWHERE)
		return callers ? as_decision : as_number;
	const struct units touched = p >= POINTS_ANYWHERE ? all_units : units_of(p + off, bytes);
	const struct how how = {any_of(n->stack_matter, touched), any_of(n->stack_all_matter, touched)};
	if (p >= POINTS_ANYWHERE)
		return callers ? as_decision : how;
	const struct units gone = units_inside(p + off, bytes);
	drop_units(&n->stack_live, gone);
	drop_units(&n->stack_matter, gone);
	drop_units(&n->stack_all_matter, gone);
	return how;
}

static void before_alu(const struct bpf_insn *i, struct needs *n, bool decides)
{
	const unsigned op = bpf_op(i);
	const struct how how = decides ? as_decision : how_reg(n, i->dst);
	if (op == BPF_MOV)
		define(n, i->dst);
	else
		use(n, i->dst, how);
	if (bpf_source_is_reg(i) && op != BPF_END)
		use(n, i->src, how);
}

static void before_atomic(struct flow *f, uint32_t at, struct needs *n)
{
	const struct bpf_insn *i = &f->v->insns[at];
	if (i->imm == BPF_CMPXCHG)
		define(n, BPF_R0);
	else if (i->imm & BPF_FETCH)
		define(n, i->src);
	read_memory(f, at, n, i->dst, i->offset, bpf_bytes(i), as_decision);
	if (i->imm == BPF_CMPXCHG)
		use(n, BPF_R0, as_decision);
	use(n, i->src, as_decision);
	use(n, i->dst, as_decision);
}

static void before_store(struct flow *f, uint32_t at, struct needs *n)
{
	const struct bpf_insn *i = &f->v->insns[at];
	if (bpf_class(i) == BPF_STX && (i->opcode & 0xe0) == BPF_ATOMIC) {
		before_atomic(f, at, n);
		return;
	}
	const struct how how = write_memory(f, at, n, i->dst, i->offset, bpf_bytes(i));
	if (bpf_class(i) == BPF_STX)
		use(n, i->src, how);
	use(n, i->dst, as_decision);
}

static void before_load(struct flow *f, uint32_t at, struct needs *n)
{
	const struct bpf_insn *i = &f->v->insns[at];
	const struct how how = define(n, i->dst);
	read_memory(f, at, n, i->src, i->offset, bpf_bytes(i), how);
	use(n, i->src, as_decision);
}

static bool is_memory(unsigned arg)
{
	return arg == BPF_ARG_KEY || arg == BPF_ARG_VALUE || arg == BPF_ARG_MEM || arg == BPF_ARG_MEM_OR_NULL ||
		arg == BPF_ARG_MEM_BOTH || arg == BPF_ARG_MEM_WRITE;
}

static void before_helper(struct flow *f, uint32_t at, struct needs *n)
{
	const struct bpf_proto *proto = bpf_proto((uint32_t)f->v->insns[at].imm);
	for (unsigned r = BPF_R0; r <= BPF_R5; r++)
		define(n, r);
	for (unsigned a = 0; a < ARRAY_LEN(proto->args) && proto->args[a]; a++) {
		const unsigned arg = proto->args[a];
		use(n, BPF_R1 + a, arg == BPF_ARG_ANY || arg == BPF_ARG_OPTIONAL ? as_number : as_decision);
		if (is_memory(arg))
			read_memory(f, at, n, BPF_R1 + a, 0, 0, as_number);
	}
}

static bool passes_stack(const struct points *p, uint16_t live)
{
	for (unsigned r = BPF_R1; r <= BPF_R5; r++)
		if (live & BIT(r) && p->reg[r] != POINTS_ELSEWHERE)
			return true;
	return false;
}

static void before_call(struct flow *f, uint32_t at, struct needs *n)
{
	struct verifier *v = f->v;
	const uint32_t target = (uint32_t)verifier_target(v->insns, at);
	const struct insn_info *callee = &v->info[target];
	struct function *function = &v->functions[callee->function];
	const struct how result = how_reg(n, BPF_R0);
	if ((result.matters && !function->result_matters) || (result.could && !function->result_could_matter)) {
		function->result_matters = function->result_matters || result.matters;
		function->result_could_matter = function->result_could_matter || result.could;
		for (uint32_t i = function->start; i < function->end; i++)
			if (insn_is_exit(&v->insns[i]) && !v->info[i].queued) {
				v->info[i].queued = true;
				v->queue[f->queued++] = i;
			}
	}
	for (unsigned r = BPF_R0; r <= BPF_R5; r++)
		define(n, r);
	n->live |= callee->needs.live & ARGUMENTS;
	n->matter |= callee->needs.matter & ARGUMENTS;
	n->all_matter |= callee->needs.all_matter & ARGUMENTS;
	if (passes_stack(&f->points[at], callee->needs.live))
		n->stack_live = n->stack_matter = n->stack_all_matter = all_units;
}

static void before_jump(struct flow *f, uint32_t at, struct needs *n)
{
	const struct bpf_insn *i = &f->v->insns[at];
	if (insn_is_call(i)) {
		i->src == BPF_CALL_LOCAL ? before_call(f, at, n) : before_helper(f, at, n);
	} else if (insn_is_exit(i)) {
		const struct function *function = &f->v->functions[f->v->info[at].function];
		use(n, BPF_R0, (struct how){function->result_matters, function->result_could_matter});
	} else if (bpf_op(i) != BPF_JA) {
		const struct how how = {f->v->info[at].decides, true};
		use(n, i->dst, how);
		if (bpf_source_is_reg(i))
			use(n, i->src, how);
	}
}

static void before(struct flow *f, uint32_t at, struct needs *n)
{
	const struct bpf_insn *i = &f->v->insns[at];
	switch (bpf_class(i)) {
	case BPF_LD: define(n, i->dst); break;
	case BPF_LDX: before_load(f, at, n); break;
	case BPF_ST: case BPF_STX: before_store(f, at, n); break;
	case BPF_ALU: case BPF_ALU64: before_alu(i, n, f->v->info[at].decides); break;
	case BPF_JMP: case BPF_JMP32: before_jump(f, at, n); break;
	}
}

static void take_needs(struct needs *n, const struct needs *from)
{
	n->live |= from->live;
	n->matter |= from->matter;
	n->all_matter |= from->all_matter;
	add_units(&n->stack_live, from->stack_live);
	add_units(&n->stack_matter, from->stack_matter);
	add_units(&n->stack_all_matter, from->stack_all_matter);
}

static void again(struct flow *f, uint32_t at)
{
	if (f->v->info[at].queued)
		return;
	f->v->info[at].queued = true;
	f->v->queue[f->queued++] = at;
}

/* Those from which `at` is reached; if it starts a function whose needed arguments have changed, its
 * calls, too. */
static void queue_before(struct flow *f, uint32_t at, bool arguments)
{
	struct verifier *v = f->v;
	const struct function *function = &v->functions[v->info[at].function];
	if (at > function->start) {
		const uint32_t previous = v->info[at - 1].is_second_half ? at - 2 : at - 1;
		if (!insn_leaves(&v->insns[previous]))
			again(f, previous);
	}
	for (uint32_t jump = v->info[at].comes_from; jump; jump = v->info[jump - 1].also_from)
		again(f, jump - 1);
	if (at != function->start || !at || !arguments)
		return;
	f->looked_at += v->count;
	for (uint32_t n = 0; n < v->count; n = verifier_next(v, n))
		if (insn_is_call(&v->insns[n]) && v->insns[n].src == BPF_CALL_LOCAL && verifier_target(v->insns, n) == at)
			again(f, n);
}

static bool same_arguments(const struct needs *a, const struct needs *b)
{
	return !(((a->live ^ b->live) | (a->matter ^ b->matter) | (a->all_matter ^ b->all_matter)) & ARGUMENTS);
}

/* b is what a was before, so it has nothing that a has not. */
static bool has_grown(const struct needs *a, const struct needs *b)
{
	return a->live != b->live || a->matter != b->matter || a->all_matter != b->all_matter ||
		!units_contain(b->stack_live, a->stack_live) || !units_contain(b->stack_matter, a->stack_matter) ||
		!units_contain(b->stack_all_matter, a->stack_all_matter);
}

static void update(struct flow *f, uint32_t at)
{
	struct verifier *v = f->v;
	const struct bpf_insn *i = &v->insns[at];
	struct insn_info *info = &v->info[at];
	struct needs n = {0};
	if (insn_is_jump(i))
		take_needs(&n, &v->info[verifier_target(v->insns, at)].needs);
	if (!insn_leaves(i))
		take_needs(&n, &v->info[verifier_next(v, at)].needs);
	before(f, at, &n);
	n.live &= (uint16_t)~BIT(BPF_R10);
	n.matter &= (uint16_t)~BIT(BPF_R10);
	n.all_matter &= (uint16_t)~BIT(BPF_R10);
	if (!has_grown(&n, &info->needs))
		return;
	const bool arguments = !same_arguments(&n, &info->needs);
	info->needs = n;
	queue_before(f, at, arguments);
}

/* Needs only grow while this runs: each is a monotone function of those behind. If jumps have been added to
 * those that decide, it goes on from the last result, which the new one contains. */
bool verifier_liveness(struct verifier *v, uint32_t most)
{
	struct flow f = {v, v->points, v->queued, 0};
	if (!v->queued)
		for (uint32_t n = 0; n < v->count; n = verifier_next(v, n))
			if (f.points[n].reg[BPF_R10] != POINTS_UNREACHED) /* nothing leads to the others */
				again(&f, n);
	for (; f.queued && f.looked_at / LOOKED_AT_A_STEP < most; most--) {
		const uint32_t at = v->queue[--f.queued];
		v->info[at].queued = false;
		update(&f, at);
	}
	v->queued = f.queued;
	return !f.queued;
}

struct needs verifier_needs(const struct verifier *v, unsigned frame)
{
	if (frame == v->depth)
		return v->info[v->insn].needs;
	const uint16_t kept = BIT(BPF_R6) | BIT(BPF_R7) | BIT(BPF_R8) | BIT(BPF_R9);
	const struct frame *callee = &v->frame[frame + 1];
	struct needs n = v->info[verifier_next(v, callee->call)].needs;
	n.live &= kept;
	if (callee->given_stack)
		n.stack_live = n.stack_matter = n.stack_all_matter = all_units;
	return n;
}
