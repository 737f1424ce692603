/*
 * Calls of helpers, by their prototypes (bpf/helpers.c); calls of the program's functions; the end of a
 * function and of the program (RFC 9669 4.3).
 *
 * - A function is walked for each call as if it stood there, with its own frame.
 * - bpf_tail_call is refused in functions: the program that it starts would run on the caller's stack, up
 *   to BPF_TAIL_CALLS_MAX times, and return into the caller's middle.
 * - What bpf_ringbuf_reserve returns must be given back on every path, at the latest before the end of the
 *   program or a tail call.
 */
#include "bpf/insn_text.h"
#include "bpf/verifier/verifier.h"

#define RESERVE_MAX (1u << 29)

struct call {
	const struct bpf_proto *proto;
	const struct bpf_map_def *map;
	uint8_t map_index;
	uint32_t reserve; /* bytes */
};

/* --- arguments --- */

static bool arg_is(struct verifier *v, unsigned r, enum kind kind, const char *what)
{
	const struct value *x = verifier_reg(v, r);
	if (x->kind != kind)
		return verifier_refuse(v, "R%u is %s, but the helper takes %s", r, verifier_kind(x), what);
	if (x->off || !scalar_is_const(&x->s) || x->s.t.value)
		return verifier_refuse(v, "R%u is %s with an offset added; the helper takes it unchanged", r,
		                       verifier_kind(x));
	return true;
}

static bool arg_map(struct verifier *v, unsigned r, struct call *c)
{
	if (!arg_is(v, r, MAP, "a map"))
		return false;
	c->map_index = verifier_reg(v, r)->map;
	c->map = &v->maps[c->map_index];
	if (c->map->type >= 32 || !(c->proto->map_types >> c->map->type & 1))
		return verifier_refuse(v, "R%u is map %s, whose type this helper does not take", r, c->map->name);
	return true;
}

static bool memory(struct verifier *v, unsigned r, uint64_t least, uint64_t most, unsigned arg, bool packet)
{
	const bool reads = arg != BPF_ARG_MEM_WRITE, writes = arg == BPF_ARG_MEM_WRITE || arg == BPF_ARG_MEM_BOTH;
	return (!reads || verifier_helper_memory(v, r, least, most, ACCESS_READ, packet)) &&
		(!writes || verifier_helper_memory(v, r, least, most, ACCESS_FILL, packet));
}

/* The memory in r, and in the next register its size. */
static bool sized_memory(struct verifier *v, unsigned r, unsigned arg, unsigned size_arg, const struct call *c)
{
	if (!verifier_readable(v, r + 1))
		return false;
	const struct value *size = verifier_reg(v, r + 1);
	if (size->kind != SCALAR)
		return verifier_refuse(v, "R%u is %s, but the helper takes a size", r + 1, verifier_kind(size));
	if (size->s.smin < 0 || size->s.umax > (uint64_t)OFFSET_MAX)
		return verifier_refuse(v, "R%u is a size that may be negative or has no upper bound: compare it with "
		                          "constants, or mask it", r + 1);
	if (size_arg == BPF_ARG_CONST_SIZE && !scalar_is_const(&size->s))
		return verifier_refuse(v, "R%u is a size that must be a constant", r + 1);
	if (size->s.umin == 0 && size_arg != BPF_ARG_SIZE_OR_ZERO)
		return verifier_refuse(v, "R%u is a size that may be 0, which the helper does not take", r + 1);
	if (value_is_null(verifier_reg(v, r)) && arg == BPF_ARG_MEM_OR_NULL && size->s.umax == 0)
		return true;
	return memory(v, r, size->s.umin, size->s.umax, arg, c->proto->packet_memory);
}

static bool arg_const_size(struct verifier *v, unsigned r, struct call *c)
{
	const struct value *x = verifier_reg(v, r);
	if (x->kind != SCALAR || !scalar_is_const(&x->s) || x->s.t.value > RESERVE_MAX)
		return verifier_refuse(v, "R%u is not a constant size", r);
	c->reserve = (uint32_t)x->s.t.value;
	return true;
}

static bool argument(struct verifier *v, unsigned n, struct call *c)
{
	const unsigned arg = c->proto->args[n], r = BPF_R1 + n;
	if (arg == BPF_ARG_OPTIONAL)
		return true;
	if (!verifier_readable(v, r))
		return false;
	switch (arg) {
	case BPF_ARG_CONTEXT:
		return arg_is(v, r, CONTEXT, "the context");
	case BPF_ARG_MAP:
		return arg_map(v, r, c);
	case BPF_ARG_KEY:
		return memory(v, r, c->map->key_bytes, c->map->key_bytes, arg, c->proto->packet_memory);
	case BPF_ARG_VALUE:
		return memory(v, r, c->map->value_bytes, c->map->value_bytes, arg, c->proto->packet_memory);
	case BPF_ARG_MEM: case BPF_ARG_MEM_OR_NULL: case BPF_ARG_MEM_WRITE: case BPF_ARG_MEM_BOTH:
		return sized_memory(v, r, arg, c->proto->args[n + 1], c);
	case BPF_ARG_CONST_SIZE:
		return c->proto->args[n - 1] != BPF_ARG_MAP || arg_const_size(v, r, c);
	case BPF_ARG_RESERVED:
		return arg_is(v, r, RESERVED, "memory from bpf_ringbuf_reserve");
	default:
		return true;
	}
}

/* --- effects --- */

static void drop_packet_pointer(struct value *x, void *with)
{
	(void)with;
	if (x->kind == PACKET || x->kind == META || x->kind == END)
		x->kind = NONE;
}

static void drop_name(struct value *x, void *with)
{
	const uint32_t *id = with;
	if (x->kind == RESERVED && x->id == *id)
		x->kind = NONE;
}

static void give_back(struct verifier *v, uint32_t id)
{
	unsigned kept = 0;
	for (unsigned n = 0; n < v->reserved_count; n++)
		if (v->reserved[n] != id)
			v->reserved[kept++] = v->reserved[n];
	v->reserved_count = kept;
	verifier_each_value(v, drop_name, &id);
}

static bool nothing_is_reserved(struct verifier *v, const char *when)
{
	return !v->reserved_count ||
		verifier_refuse(v, "memory from bpf_ringbuf_reserve was not submitted or discarded before %s", when);
}

static bool result(struct verifier *v, const struct call *c)
{
	struct value *r0 = verifier_reg(v, BPF_R0);
	switch (c->proto->returns) {
	case BPF_RETURN_NUMBER:
		*r0 = value_scalar(scalar_unknown);
		return true;
	case BPF_RETURN_VALUE_OR_NULL:
		*r0 = (struct value){.kind = VALUE_OR_NULL, .map = c->map_index, .id = ++v->last_id, .s = scalar_const(0)};
		return true;
	case BPF_RETURN_RESERVED_OR_NULL:
		if (v->reserved_count == RESERVED_MAX)
			return verifier_refuse(v, "the program holds more than %u pieces of reserved memory", RESERVED_MAX);
		*r0 = (struct value){.kind = RESERVED_OR_NULL, .range = (int32_t)c->reserve, .id = ++v->last_id,
		                     .s = scalar_const(0)};
		v->reserved[v->reserved_count++] = r0->id;
		return true;
	default:
		return true;
	}
}

/* Tells the compiler which map it is, if it is the same on all paths. */
static void note_map(struct verifier *v, const struct call *c)
{
	struct bpf_note *note = &v->notes[v->insn];
	struct insn_info *info = &v->info[v->insn];
	if (note->kind == BPF_NOTE_MAP && note->map != c->map_index)
		info->map_differs = true;
	*note = info->map_differs ? (struct bpf_note){0} : (struct bpf_note){BPF_NOTE_MAP, c->map_index};
}

bool verifier_helper(struct verifier *v, const struct bpf_insn *i)
{
	struct call c = {.proto = bpf_proto((uint32_t)i->imm)};
	uint32_t back = 0;
	for (unsigned n = 0; n < ARRAY_LEN(c.proto->args) && c.proto->args[n]; n++) {
		if (!argument(v, n, &c))
			return false;
		if (c.proto->args[n] == BPF_ARG_RESERVED)
			back = verifier_reg(v, BPF_R1 + n)->id;
	}
	if (i->imm == BPF_FN_TAIL_CALL) {
		if (v->depth)
			return verifier_refuse(v, "bpf_tail_call is possible in the program itself only, not in a function that "
			                          "it calls");
		if (!nothing_is_reserved(v, "the tail call"))
			return false;
		v->verdict->tail_calls = true;
	}
	if (c.map)
		note_map(v, &c);
	if (back)
		give_back(v, back);
	if (c.proto->moves_packet || c.proto->writes_packet)
		v->verdict->writes_packet = true;
	if (c.proto->moves_packet)
		verifier_each_value(v, drop_packet_pointer, NULL);
	for (unsigned r = BPF_R0; r <= BPF_R5; r++)
		verifier_reg(v, r)->kind = NONE;
	return result(v, &c);
}

/* --- functions --- */

bool verifier_call(struct verifier *v, const struct bpf_insn *i)
{
	(void)i;
	struct frame *caller = &v->frame[v->depth], *callee = caller + 1;
	const uint32_t target = (uint32_t)verifier_target(v->insns, v->insn);
	if (v->depth + 1 == BPF_CALLS_MAX) /* structure.c has counted */
		return verifier_refuse(v, "internal error: a chain of calls is too long");
	verifier_clear_frame(v, v->depth + 1);
	callee->call = v->insn;
	callee->function = v->info[target].function;
	for (unsigned r = BPF_R1; r <= BPF_R5; r++) {
		callee->reg[r] = caller->reg[r];
		callee->given_stack = callee->given_stack || caller->reg[r].kind == STACK;
	}
	for (unsigned r = BPF_R0; r <= BPF_R5; r++)
		caller->reg[r].kind = NONE;
	v->depth++;
	v->insn = target;
	return true;
}

enum step verifier_exit(struct verifier *v)
{
	struct value *r0 = verifier_reg(v, BPF_R0);
	if (v->depth) {
		if (r0->kind == STACK) {
			verifier_refuse(v, "R0 is an address in the stack: a function cannot return one");
			return STEP_REFUSED;
		}
		const uint32_t call = v->frame[v->depth].call;
		v->frame[v->depth - 1].reg[BPF_R0] = *r0;
		verifier_clear_frame(v, v->depth);
		v->depth--;
		v->insn = verifier_next(v, call);
		return STEP_ON;
	}
	if (r0->kind != SCALAR) {
		verifier_refuse(v, r0->kind == NONE ? "R0 is not initialised: the program must return an action"
		                                    : "R0 is a pointer: the program must return an action");
		return STEP_REFUSED;
	}
	return nothing_is_reserved(v, "the end of the program") ? STEP_END : STEP_REFUSED;
}
