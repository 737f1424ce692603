/*
 * The walk: every path of the program, depth first, and bpf_verify itself.
 *
 * A conditional jump has two outcomes: one is walked first (taken_first), the other one is pushed and walked later. At
 * a join the path ends if a saved state includes its state (states.c). Each instruction counts as a step, and the
 * number of steps is limited, so the walk of any program ends.
 */
#include "bpf/insn_text.h"
#include "bpf/verifier/verifier.h"
#include "lib/fmt.h"
#include "lib/mem.h"

const char *verifier_kind(const struct value *value)
{
	static const char *const names[] = {
		[NONE] = "not initialised", [SCALAR] = "a number", [CONTEXT] = "the context",
		[STACK] = "an address in the stack", [PACKET] = "a pointer into the packet",
		[META] = "a pointer to the packet's metadata", [END] = "the end of the packet", [MAP] = "a map",
		[VALUE_OR_NULL] = "a map value that may be null", [VALUE] = "a pointer to a map value",
		[MEMORY] = "a pointer to memory", [RESERVED_OR_NULL] = "reserved memory that may be null",
		[RESERVED] = "a pointer to reserved memory",
	};
	return names[value->kind];
}

bool verifier_readable(struct verifier *v, unsigned r)
{
	if (verifier_reg(v, r)->kind == NONE)
		return verifier_refuse(v, "R%u is not initialised on this path (or was lost in a call)", r);
	/* invariant 4 */
	return r == BPF_R10 || v->info[v->insn].needs.live >> r & 1 ||
		verifier_refuse(v, "internal error: R%u is read where it was thought to be dead", r);
}

void verifier_each_value(struct verifier *v, void (*visit)(struct value *value, void *with), void *with)
{
	for (unsigned n = 0; n <= v->depth; n++) {
		struct frame *f = &v->frame[n];
		for (unsigned r = 0; r < BPF_R10; r++)
			visit(&f->reg[r], with);
		for (uint64_t left = f->used; left; left &= left - 1) {
			struct slot *s = &f->slot[__builtin_ctzll(left)];
			if (s->byte[0] != BYTE_SPILLED)
				continue;
			visit(&s->spilled, with);
			if (s->spilled.kind == NONE) /* it was a pointer, so all bytes were it */
				memset(s->byte, BYTE_NONE, sizeof s->byte);
		}
	}
}

void verifier_decide(struct verifier *v)
{
	if (!v->info[v->insn].decides)
		v->info[v->insn].decides = v->void_walk = true;
}

/* A pointer compared with a number in a register: what it tells depends on the number. */
static bool one_is_null(struct verifier *v, const struct bpf_insn *i)
{
	return bpf_source_is_reg(i) &&
	       value_is_pointer(verifier_reg(v, i->dst)) != value_is_pointer(verifier_reg(v, i->src));
}

/* Follows one outcome of the conditional jump v->insn. */
static void go(struct verifier *v, bool taken)
{
	verifier_branch(v, &v->insns[v->insn], taken);
	v->insn = taken ? (uint32_t)verifier_target(v->insns, v->insn) : verifier_next(v, v->insn);
}

/*
 * Which outcome is walked first. It should be the one with the larger state: where both outcomes join, the path of the
 * other one then ends. Otherwise a chain of comparisons that join again would be walked to its end from each of them.
 * If a number is compared for being unequal to a constant, the larger state is that of the jump; else the jump comes
 * second. A jump back is that of a loop. It comes second, too, so that the exits of all rounds are not pending at once.
 */
static bool taken_first(struct verifier *v, const struct bpf_insn *i)
{
	return bpf_op(i) == BPF_JNE && !bpf_source_is_reg(i) && verifier_reg(v, i->dst)->kind == SCALAR &&
	       verifier_target(v->insns, v->insn) > v->insn;
}

static enum step step_branch(struct verifier *v, const struct bpf_insn *i)
{
	if (!verifier_readable(v, i->dst) || (bpf_source_is_reg(i) && !verifier_readable(v, i->src)))
		return STEP_REFUSED;
	const bool jumps = verifier_branch_possible(v, i, true), goes_on = verifier_branch_possible(v, i, false);
	if (!jumps || !goes_on || one_is_null(v, i))
		verifier_decide(v);
	if (!jumps && !goes_on) /* no number satisfies the bounds: this path does not exist */
		return STEP_END;
	const bool taken = jumps && (!goes_on || taken_first(v, i));
	if (jumps && goes_on && !verifier_push(v, !taken))
		return STEP_REFUSED;
	go(v, taken);
	return STEP_ON;
}

static enum step step_jump(struct verifier *v, const struct bpf_insn *i)
{
	if (insn_is_exit(i))
		return verifier_exit(v);
	if (insn_is_call(i) && i->src == BPF_CALL_LOCAL)
		return verifier_call(v, i) ? STEP_ON : STEP_REFUSED;
	if (insn_is_call(i)) {
		if (!verifier_helper(v, i))
			return STEP_REFUSED;
		v->insn++;
		return STEP_ON;
	}
	if (bpf_op(i) != BPF_JA)
		return step_branch(v, i);
	v->insn = (uint32_t)verifier_target(v->insns, v->insn);
	return STEP_ON;
}

static enum step step(struct verifier *v)
{
	const struct bpf_insn *i = &v->insns[v->insn];
	bool ok = false;
	v->info[v->insn].seen = true;
	v->since++;
	switch (bpf_class(i)) {
	case BPF_JMP: case BPF_JMP32: return step_jump(v, i);
	case BPF_ALU: case BPF_ALU64: ok = verifier_alu(v, i); break;
	case BPF_LD: ok = verifier_wide(v, i); break;
	case BPF_LDX: ok = verifier_load(v, i); break;
	case BPF_ST: ok = verifier_store(v, i); break;
	case BPF_STX: ok = (i->opcode & 0xe0) == BPF_ATOMIC ? verifier_atomic(v, i) : verifier_store(v, i); break;
	}
	if (!ok)
		return STEP_REFUSED;
	v->insn = verifier_next(v, v->insn);
	return STEP_ON;
}

/* The rest of a path; STEP_ON: up to v->pause. */
static enum step walk_path(struct verifier *v)
{
	while (v->verdict->steps < v->pause) {
		if (v->info[v->insn].is_join) {
			const enum visit visit = verifier_visit(v);
			if (visit != VISIT_NEW)
				return visit == VISIT_KNOWN ? STEP_END : STEP_REFUSED;
		}
		if (v->verdict->steps++ >= v->limits.steps) {
			verifier_refuse(v, "the program is too complex: not verified after %u steps (a loop with many rounds, "
			                   "or many branches that depend on each other)", v->limits.steps);
			return STEP_REFUSED;
		}
		const enum step s = step(v);
		if (s != STEP_ON)
			return s;
	}
	return STEP_ON;
}

/* STEP_END: all paths have been walked. */
static enum step walk(struct verifier *v)
{
	for (;;) {
		const enum step s = walk_path(v);
		if (s != STEP_END)
			return s;
		verifier_path_ends(v);
		bool taken;
		if (!verifier_pop(v, &taken))
			return STEP_END;
		go(v, taken);
	}
}

static void start_state(struct verifier *v)
{
	v->insn = v->depth = v->reserved_count = 0;
	v->parent = NULL;
	v->since = 0;
	for (unsigned n = 0; n < BPF_CALLS_MAX; n++)
		verifier_clear_frame(v, n);
	struct value *r1 = verifier_reg(v, BPF_R1);
	if (v->context == BPF_CONTEXT_XDP) {
		*r1 = (struct value){.kind = CONTEXT, .s = scalar_const(0)};
		return;
	}
	*r1 = (struct value){.kind = MEMORY, .range = (int32_t)v->memory_bytes, .s = scalar_const(0)};
	*verifier_reg(v, BPF_R2) = value_scalar(scalar_const(v->memory_bytes));
}

/* Discards all results of the last walk except which instructions decide (insn_info.decides). */
static void forget(struct verifier *v)
{
	v->front = v->first_front;
	v->back = v->pending_end;
	v->verdict->states = 0;
	v->void_walk = false;
	for (uint32_t n = 0; n < v->count; n++) {
		v->info[n].records = NULL;
		v->info[n].seen = v->info[n].map_differs = false;
		v->info[n].memory = MEMORY_UNUSED;
		v->notes[n] = (struct bpf_note){0};
	}
}

/* --- bpf_verify --- */

static bool take_memory(struct verifier *v)
{
	struct bpf_memory *memory = &v->memory;
	v->info = bpf_take(memory, v->count * sizeof *v->info);
	v->queue = bpf_take(memory, v->count * sizeof *v->queue);
	v->frame = bpf_take(memory, BPF_CALLS_MAX * sizeof *v->frame);
	uint8_t *scratch = bpf_take(memory, verifier_scratch_bytes());
	if (!v->info || !v->queue || !v->frame || !scratch)
		return verifier_refuse(v, "there is not enough memory to verify the program");
	verifier_scratch(v, scratch);
	return true;
}

/* Saved states need not be zeroed, so they take the rest of the memory as it is. */
static void take_rest(struct verifier *v)
{
	const struct bpf_memory *memory = &v->memory;
	v->front = memory->at + (-(uintptr_t)memory->at & 15);
	v->back = memory->end - ((uintptr_t)memory->end & 15);
	if (v->front > v->back)
		v->front = v->back;
	v->first_front = v->front;
	v->pending_end = v->back;
}

static void note_dead(struct verifier *v)
{
	for (uint32_t n = 0; n < v->count; n++)
		if (!v->info[n].is_second_half && !v->info[n].seen) {
			v->notes[n].kind = BPF_NOTE_DEAD;
			if (bpf_is_wide(&v->insns[n]))
				v->notes[n + 1].kind = BPF_NOTE_DEAD;
		}
}

static bool prepare(struct verifier *v)
{
	if (!v->count || v->count > BPF_INSNS_MAX)
		return verifier_refuse(v, "the program has %u instructions; 1 to %u are possible", v->count, BPF_INSNS_MAX);
	if (v->map_count > BPF_OBJECT_MAPS)
		return verifier_refuse(v, "the object has %u maps; %u are possible", v->map_count, BPF_OBJECT_MAPS);
	return take_memory(v) && verifier_pointers_prepare(v);
}

static bool structure(struct verifier *v)
{
	if (!verifier_structure(v))
		return false;
	take_rest(v);
	return true;
}

static bool start_walk(struct verifier *v)
{
	start_state(v);
	v->stage = STAGE_WALK;
	return false;
}

/* A slice of the walk. A refusal is final even if the walk is void: only paths that ended early are in doubt. Returns
 * true when the verdict is final. */
static bool go_walk(struct verifier *v, uint32_t steps)
{
	v->pause = (uint64_t)v->verdict->steps + steps;
	const enum step s = walk(v);
	if (s != STEP_END)
		return s == STEP_REFUSED;
	if (v->void_walk) {
		forget(v);
		v->stage = STAGE_LIVENESS;
		return false;
	}
	if (!verifier_stack_depth(v))
		return true;
	note_dead(v);
	v->verdict->ok = true;
	return true;
}

struct verifier *bpf_verify_begin(const struct bpf_program *program, const struct bpf_map_def *maps, unsigned map_count,
                                  enum bpf_context context, uint32_t memory_bytes, struct bpf_limits limits,
                                  struct bpf_memory memory, struct bpf_note *notes, struct bpf_verdict *verdict)
{
	struct verifier *v = bpf_take(&memory, sizeof *v);
	*verdict = (struct bpf_verdict){0};
	memset(notes, 0, program->count * sizeof *notes);
	if (!v) {
		fmt_format(verdict->why.text, sizeof verdict->why.text, "there is not enough memory to verify the program");
		return NULL;
	}
	*v = (struct verifier){
		.program = program, .insns = program->insns, .count = program->count,
		.maps = maps, .map_count = map_count, .context = context, .memory_bytes = memory_bytes,
		.limits = limits, .memory = memory, .notes = notes, .verdict = verdict,
	};
	return v;
}

bool bpf_verify_go(struct verifier *v, uint32_t steps)
{
	switch (v->stage) {
	case STAGE_PREPARE:
		v->stage = STAGE_STRUCTURE;
		return !prepare(v);
	case STAGE_STRUCTURE:
		v->stage = STAGE_POINTERS;
		return !structure(v);
	case STAGE_POINTERS:
		if (verifier_pointers(v, steps))
			v->stage = STAGE_LIVENESS;
		return false;
	case STAGE_LIVENESS:
		return verifier_liveness(v, steps) && start_walk(v);
	case STAGE_WALK:
	default:
		return go_walk(v, steps);
	}
}

void bpf_verify(const struct bpf_program *program, const struct bpf_map_def *maps, unsigned map_count,
                enum bpf_context context, uint32_t memory_bytes, struct bpf_limits limits,
                struct bpf_memory *memory, struct bpf_note *notes, struct bpf_verdict *verdict)
{
	struct verifier *v = bpf_verify_begin(program, maps, map_count, context, memory_bytes, limits, *memory, notes,
	                                      verdict);
	while (v && !bpf_verify_go(v, UINT32_MAX))
		;
}
