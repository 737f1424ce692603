/*
 * Which registers may hold an address in the function's own stack frame: forward data flow, before the
 * walk. liveness.c needs to know which stack bytes a load, a store or a helper may touch.
 *
 * The lattice of a register: unreached, then an offset from R10 or "elsewhere", then "anywhere".
 *
 * - Arguments and results of calls point elsewhere: a function gets addresses of its callers' frames
 *   only, and the walk refuses to return an address of any frame.
 * - An address of a stack can be stored only in the frame of the running function (stack.c refuses the
 *   rest). So a load brings one only in a function that stores one; then all its loads may.
 *   `stores_address` is found by repetition.
 * - At the end, takes_stack of each function: it gets such an address, or a caller does that may pass it on.
 */
#include "bpf/verifier/verifier.h"

struct pass {
	struct verifier *v;
	struct points *points;
	bool stores_address[BPF_FUNCTIONS_MAX];
	uint32_t queued;
	bool begun, again;
};

static int16_t join(int16_t a, int16_t b)
{
	if (a == POINTS_UNREACHED || a == b)
		return b;
	return b == POINTS_UNREACHED ? a : POINTS_ANYWHERE;
}

static bool is_offset(int16_t p)
{
	return p < POINTS_ANYWHERE;
}

static int16_t moved(int16_t from, int64_t by)
{
	const int64_t to = from + by;
	return to < -0x4000 || to > 0x4000 ? POINTS_ANYWHERE : (int16_t)to;
}

static void after_alu(const struct bpf_insn *i, struct points *p)
{
	const unsigned op = bpf_op(i);
	const bool wide = bpf_class(i) == BPF_ALU64, by_reg = bpf_source_is_reg(i);
	const int16_t dst = p->reg[i->dst], src = by_reg && op != BPF_END ? p->reg[i->src] : POINTS_ELSEWHERE;
	int16_t *to = &p->reg[i->dst];
	if (op == BPF_MOV)
		*to = wide && !i->offset ? src : src == POINTS_ELSEWHERE ? POINTS_ELSEWHERE : POINTS_ANYWHERE;
	else if (dst == POINTS_ELSEWHERE && src == POINTS_ELSEWHERE)
		*to = POINTS_ELSEWHERE;
	else if (wide && !by_reg && op == BPF_ADD && is_offset(dst))
		*to = moved(dst, i->imm);
	else if (wide && !by_reg && op == BPF_SUB && is_offset(dst))
		*to = moved(dst, -(int64_t)i->imm);
	else
		*to = POINTS_ANYWHERE;
}

static void after(struct pass *pass, uint32_t n, struct points *p)
{
	const struct bpf_insn *i = &pass->v->insns[n];
	const unsigned function = pass->v->info[n].function;
	const int16_t loaded = pass->stores_address[function] ? POINTS_ANYWHERE : POINTS_ELSEWHERE;
	switch (bpf_class(i)) {
	case BPF_ALU: case BPF_ALU64:
		after_alu(i, p);
		break;
	case BPF_LD:
		p->reg[i->dst] = POINTS_ELSEWHERE;
		break;
	case BPF_LDX:
		p->reg[i->dst] = loaded;
		break;
	case BPF_STX:
		if (p->reg[i->src] != POINTS_ELSEWHERE && !pass->stores_address[function])
			pass->stores_address[function] = pass->again = true;
		if ((i->opcode & 0xe0) == BPF_ATOMIC && i->imm == BPF_CMPXCHG)
			p->reg[BPF_R0] = loaded;
		else if ((i->opcode & 0xe0) == BPF_ATOMIC && i->imm & BPF_FETCH)
			p->reg[i->src] = loaded;
		break;
	case BPF_JMP:
		for (unsigned r = BPF_R0; insn_is_call(i) && r <= BPF_R5; r++)
			p->reg[r] = POINTS_ELSEWHERE;
		break;
	}
}

static void flow(struct pass *pass, uint32_t to, const struct points *p)
{
	bool changed = false;
	for (unsigned r = 0; r < BPF_REGS; r++) {
		const int16_t now = join(pass->points[to].reg[r], p->reg[r]);
		changed = changed || now != pass->points[to].reg[r];
		pass->points[to].reg[r] = now;
	}
	if (changed && !pass->v->info[to].queued) {
		pass->v->info[to].queued = true;
		pass->v->queue[pass->queued++] = to;
	}
}

static void begin(struct pass *pass)
{
	struct verifier *v = pass->v;
	for (uint32_t n = 0; n < v->count; n++)
		for (unsigned r = 0; r < BPF_REGS; r++)
			pass->points[n].reg[r] = POINTS_UNREACHED;
	struct points start;
	for (unsigned r = 0; r < BPF_REGS; r++)
		start.reg[r] = r == BPF_R10 ? 0 : POINTS_ELSEWHERE;
	for (unsigned f = 0; f < v->function_count; f++)
		flow(pass, v->functions[f].start, &start);
	pass->begun = true;
	pass->again = false;
}

static void run(struct pass *pass, uint32_t most)
{
	struct verifier *v = pass->v;
	for (; pass->queued && most; most--) {
		const uint32_t n = v->queue[--pass->queued];
		const struct bpf_insn *i = &v->insns[n];
		v->info[n].queued = false;
		struct points p = pass->points[n];
		after(pass, n, &p);
		if (insn_is_jump(i))
			flow(pass, (uint32_t)verifier_target(v->insns, n), &p);
		if (!insn_leaves(i))
			flow(pass, verifier_next(v, n), &p);
	}
}

bool verifier_pointers_prepare(struct verifier *v)
{
	v->pass = bpf_take(&v->memory, sizeof *v->pass);
	v->points = bpf_take(&v->memory, v->count * sizeof *v->points);
	if (!v->pass || !v->points)
		return verifier_refuse(v, "there is not enough memory to verify the program");
	v->pass->v = v;
	v->pass->points = v->points;
	return true;
}

static bool may_pass_stack(const struct verifier *v, uint32_t call)
{
	bool may = v->functions[v->info[call].function].takes_stack;
	for (unsigned r = BPF_R1; r <= BPF_R5; r++)
		may = may || v->points[call].reg[r] != POINTS_ELSEWHERE;
	return may;
}

/* As often as a chain of calls is long: what a function takes, those that it calls may take. */
static void find_takers(struct verifier *v)
{
	for (bool changed = v->function_count > 1; changed;) {
		changed = false;
		for (uint32_t n = 0; n < v->count; n = verifier_next(v, n)) {
			const struct bpf_insn *i = &v->insns[n];
			if (!insn_is_call(i) || i->src != BPF_CALL_LOCAL)
				continue;
			struct function *callee = &v->functions[v->info[verifier_target(v->insns, n)].function];
			if (!callee->takes_stack && may_pass_stack(v, n))
				callee->takes_stack = changed = true;
		}
	}
}

bool verifier_pointers(struct verifier *v, uint32_t most)
{
	struct pass *pass = v->pass;
	if (!pass->begun)
		begin(pass);
	run(pass, most);
	if (pass->queued)
		return false;
	pass->begun = !pass->again;
	if (pass->begun)
		find_takers(v);
	return pass->begun;
}
