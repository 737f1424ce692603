/*
 * The first pass: what can be said of a program without following it (RFC 9669 3, 4, 5).
 *
 * - Each instruction is one of the conformance groups base32, base64, atomic32, atomic64, divmul32 and
 *   divmul64, in their one encoding: a field that the instruction does not use is zero.
 * - The program is cut into functions at the targets of local calls. A jump stays in its function and
 *   does not lead into the second half of a wide instruction; the last instruction of a function is
 *   exit or an unconditional jump.
 * - No function calls itself, directly or not, and chains of calls are short.
 *
 * Refused on purpose: the legacy packet instructions (5.5); callx (4.3): the verifier would have to know
 * all functions that the register may hold, and no XDP program needs it; calls by BTF id (4.3.1): there are
 * no kernel functions here.
 */
#include "bpf/insn_text.h"
#include "bpf/verifier/verifier.h"
#include "lib/fmt.h"

bool verifier_refuse(struct verifier *v, const char *format, ...)
{
	char text[BPF_INSN_TEXT];
	struct fmt_buf b = {v->verdict->why.text, sizeof v->verdict->why.text, 0, false};
	fmt_put(&b, "instruction %u", v->insn);
	if (v->insn < v->count && !(bpf_is_wide(&v->insns[v->insn]) && v->insn + 1 == v->count))
		fmt_put(&b, " (%s)", bpf_insn_text(text, &v->insns[v->insn]));
	fmt_put(&b, ": ");
	__builtin_va_list args;
	__builtin_va_start(args, format);
	fmt_vput(&b, format, args);
	__builtin_va_end(args);
	v->verdict->insn = v->insn;
	return false;
}

uint32_t verifier_next(const struct verifier *v, uint32_t i)
{
	return i + (bpf_is_wide(&v->insns[i]) ? 2 : 1);
}

int64_t verifier_target(const struct bpf_insn *insns, uint32_t i)
{
	const struct bpf_insn *insn = &insns[i];
	const bool in_imm = insn_is_call(insn) || (bpf_class(insn) == BPF_JMP32 && bpf_op(insn) == BPF_JA);
	return (int64_t)i + 1 + (in_imm ? insn->imm : insn->offset);
}

/* --- encoding --- */

static bool unused(struct verifier *v, bool zero, const char *field)
{
	return zero || verifier_refuse(v, "%s is not zero, although the instruction does not use it", field);
}

static bool check_alu(struct verifier *v, const struct bpf_insn *i)
{
	const bool wide = bpf_class(i) == BPF_ALU64, by_reg = bpf_source_is_reg(i);
	const unsigned op = bpf_op(i);
	if (op > BPF_END)
		return verifier_refuse(v, "unknown arithmetic operation");
	if (i->dst == BPF_R10)
		return verifier_refuse(v, "R10 is the end of the stack frame and cannot be changed");
	if (op == BPF_END) {
		if (wide && by_reg)
			return verifier_refuse(v, "bswap has no source register");
		if (i->imm != 16 && i->imm != 32 && i->imm != 64)
			return verifier_refuse(v, "the width is %d bits; 16, 32 and 64 are possible", i->imm);
		return unused(v, !i->src, "the source register") && unused(v, !i->offset, "the offset");
	}
	if (op == BPF_NEG)
		return unused(v, !by_reg && !i->src, "the source") && unused(v, !i->offset, "the offset") &&
			unused(v, !i->imm, "the immediate");
	if (!unused(v, by_reg ? !i->imm : !i->src, by_reg ? "the immediate" : "the source register"))
		return false;
	if (op == BPF_DIV || op == BPF_MOD)
		return i->offset == 0 || i->offset == 1 ||
			verifier_refuse(v, "the offset is %d; 0 is unsigned and 1 signed division", i->offset);
	if (op == BPF_MOV && by_reg)
		return i->offset == 0 || i->offset == 8 || i->offset == 16 || (i->offset == 32 && wide) ||
			verifier_refuse(v, "no sign extension from %d bits", i->offset);
	return unused(v, !i->offset, "the offset");
}

static bool check_call(struct verifier *v, const struct bpf_insn *i)
{
	if (bpf_source_is_reg(i))
		return verifier_refuse(v, "callx is not supported: the address that a register holds cannot be "
		                          "verified; call the function by name");
	if (!unused(v, !i->dst, "the destination register") || !unused(v, !i->offset, "the offset"))
		return false;
	if (i->src == BPF_CALL_HELPER)
		return bpf_proto((uint32_t)i->imm) || verifier_refuse(v, "there is no helper number %d here", i->imm);
	if (i->src == BPF_CALL_BTF)
		return verifier_refuse(v, "there are no kernel functions (kfuncs) here");
	return i->src == BPF_CALL_LOCAL || verifier_refuse(v, "unknown kind of call: source %u", i->src);
}

static bool check_jump(struct verifier *v, const struct bpf_insn *i)
{
	const bool wide = bpf_class(i) == BPF_JMP, by_reg = bpf_source_is_reg(i);
	const unsigned op = bpf_op(i);
	if (op > BPF_JSLE || ((op == BPF_CALL || op == BPF_EXIT) && !wide))
		return verifier_refuse(v, "unknown jump operation");
	if (op == BPF_CALL)
		return check_call(v, i);
	if (op == BPF_EXIT || op == BPF_JA)
		return unused(v, !by_reg, "the source bit") && unused(v, !i->dst, "the destination register") &&
			unused(v, !i->src, "the source register") &&
			unused(v, !i->imm || (op == BPF_JA && !wide), "the immediate") &&
			unused(v, !i->offset || (op == BPF_JA && wide), "the offset");
	return unused(v, by_reg ? !i->imm : !i->src, by_reg ? "the immediate" : "the source register");
}

static bool check_load(struct verifier *v, const struct bpf_insn *i)
{
	const unsigned mode = i->opcode & 0xe0;
	if (mode != BPF_MEM && (mode != BPF_MEMSX || bpf_bytes(i) == 8))
		return verifier_refuse(v, "unknown load");
	if (i->dst == BPF_R10)
		return verifier_refuse(v, "R10 is the end of the stack frame and cannot be changed");
	return unused(v, !i->imm, "the immediate");
}

static bool check_store(struct verifier *v, const struct bpf_insn *i)
{
	const unsigned mode = i->opcode & 0xe0;
	if (bpf_class(i) == BPF_ST)
		return mode == BPF_MEM ? unused(v, !i->src, "the source register") : verifier_refuse(v, "unknown store");
	if (mode == BPF_MEM)
		return unused(v, !i->imm, "the immediate");
	if (mode != BPF_ATOMIC)
		return verifier_refuse(v, "unknown store");
	if (bpf_bytes(i) < 4)
		return verifier_refuse(v, "atomic operations work on 4 or 8 bytes");
	switch (i->imm) {
	case BPF_ADD: case BPF_OR: case BPF_AND: case BPF_XOR: case BPF_CMPXCHG: return true;
	case BPF_ADD | BPF_FETCH: case BPF_OR | BPF_FETCH: case BPF_AND | BPF_FETCH: case BPF_XOR | BPF_FETCH:
	case BPF_XCHG:
		return i->src != BPF_R10 || verifier_refuse(v, "R10 is the end of the stack frame and cannot be changed");
	default: return verifier_refuse(v, "unknown atomic operation 0x%x", (uint32_t)i->imm);
	}
}

static bool check_wide(struct verifier *v, uint32_t at)
{
	const struct bpf_insn *i = &v->insns[at], *half = i + 1;
	const unsigned mode = i->opcode & 0xe0;
	if (mode == BPF_ABS || mode == BPF_IND)
		return verifier_refuse(v, "the legacy packet loads are not supported: read the packet between data "
		                          "and data_end");
	if (!bpf_is_wide(i))
		return verifier_refuse(v, "unknown load");
	if (at + 1 == v->count)
		return verifier_refuse(v, "the second half of the wide instruction is missing");
	if (half->opcode || half->dst || half->src || half->offset)
		return verifier_refuse(v, "the second half of the wide instruction has an opcode, register or offset");
	if (i->dst == BPF_R10)
		return verifier_refuse(v, "R10 is the end of the stack frame and cannot be changed");
	if (i->src > BPF_WIDE_VALUE)
		return verifier_refuse(v, "a wide instruction of kind %u is not supported", i->src);
	if (i->src != BPF_WIDE_NUMBER && (uint32_t)i->imm >= v->map_count)
		return verifier_refuse(v, "there is no map %d; the object has %u", i->imm, v->map_count);
	if (i->src == BPF_WIDE_MAP && half->imm)
		return unused(v, false, "the second immediate");
	if (i->src == BPF_WIDE_VALUE && v->maps[i->imm].type != BPF_MAP_ARRAY)
		return verifier_refuse(v, "map %s is no array: its value has no fixed address", v->maps[i->imm].name);
	return unused(v, !i->offset, "the offset");
}

static bool check_encoding(struct verifier *v)
{
	for (uint32_t n = 0; n < v->count; n = verifier_next(v, n)) {
		const struct bpf_insn *i = &v->insns[n];
		v->insn = n;
		if (i->dst > BPF_R10 || i->src > BPF_R10)
			return verifier_refuse(v, "there are registers R0 to R10 only");
		bool ok = false;
		switch (bpf_class(i)) {
		case BPF_LD: ok = check_wide(v, n); break;
		case BPF_LDX: ok = check_load(v, i); break;
		case BPF_ST: case BPF_STX: ok = check_store(v, i); break;
		case BPF_ALU: case BPF_ALU64: ok = check_alu(v, i); break;
		case BPF_JMP: case BPF_JMP32: ok = check_jump(v, i); break;
		}
		if (!ok)
			return false;
		if (bpf_is_wide(i))
			v->info[n + 1].is_second_half = true;
	}
	return true;
}

/* --- functions and jumps --- */

static bool is_local_call(const struct bpf_insn *i)
{
	return insn_is_call(i) && i->src == BPF_CALL_LOCAL;
}

/* Marks the targets of calls by is_join, which is set again for jumps later. */
static bool find_functions(struct verifier *v)
{
	v->info[0].is_join = true;
	for (uint32_t n = 0; n < v->count; n = verifier_next(v, n)) {
		if (!is_local_call(&v->insns[n]))
			continue;
		v->insn = n;
		const int64_t target = verifier_target(v->insns, n);
		if (target < 0 || target >= v->count || v->info[target].is_second_half)
			return verifier_refuse(v, "calls instruction %lld, which is not in the program", (long long)target);
		if (target == 0)
			return verifier_refuse(v, "the program calls itself: recursion has no end");
		v->info[target].is_join = true;
	}
	v->functions = bpf_take(&v->memory, BPF_FUNCTIONS_MAX * sizeof *v->functions);
	if (!v->functions)
		return verifier_refuse(v, "there is not enough memory to verify the program");
	for (uint32_t n = 0; n < v->count; n++) {
		if (v->info[n].is_join) {
			if (v->function_count == BPF_FUNCTIONS_MAX) {
				v->insn = n;
				return verifier_refuse(v, "the program has more than %u functions", BPF_FUNCTIONS_MAX);
			}
			v->functions[v->function_count++].start = n;
		}
		v->info[n].function = (uint16_t)(v->function_count - 1);
		v->functions[v->function_count - 1].end = n + 1;
	}
	return true;
}

unsigned verifier_function_at(const struct verifier *v, uint32_t start)
{
	return v->info[start].function;
}

static bool check_jumps(struct verifier *v)
{
	for (uint32_t n = 0; n < v->count; n = verifier_next(v, n)) {
		const struct bpf_insn *i = &v->insns[n];
		const struct function *f = &v->functions[v->info[n].function];
		v->insn = n;
		if (verifier_next(v, n) >= f->end && !insn_leaves(i))
			return verifier_refuse(v, "the %s does not end in exit or goto", f->start ? "function" : "program");
		if (is_local_call(i))
			v->info[n + 1].is_join = true;
		if (!insn_is_jump(i))
			continue;
		const int64_t target = verifier_target(v->insns, n);
		if (target < f->start || target >= f->end)
			return verifier_refuse(v, "jumps to instruction %lld, out of its function (%u to %u)",
			                       (long long)target, f->start, f->end - 1);
		struct insn_info *to = &v->info[target];
		if (to->is_second_half)
			return verifier_refuse(v, "jumps into the middle of a wide instruction");
		to->is_join = true;
		v->info[n].also_from = to->comes_from;
		to->comes_from = n + 1;
	}
	return true;
}

/* --- chains of calls --- */

enum { UNMARKED, OPEN, DONE };

/* Depth first; the recursion here is at most BPF_CALLS_MAX deep. */
static bool measure(struct verifier *v, unsigned index, unsigned depth)
{
	struct function *f = &v->functions[index];
	if (f->mark == DONE)
		return depth + f->chain_calls <= BPF_CALLS_MAX ||
			verifier_refuse(v, "a chain of calls is longer than %u functions", BPF_CALLS_MAX);
	if (depth >= BPF_CALLS_MAX)
		return verifier_refuse(v, "a chain of calls is longer than %u functions, or recursive", BPF_CALLS_MAX);
	f->mark = OPEN;
	uint32_t most_stack = 0;
	uint8_t most_calls = 0;
	for (uint32_t n = f->start; n < f->end; n = verifier_next(v, n)) {
		if (!is_local_call(&v->insns[n]))
			continue;
		const unsigned to = verifier_function_at(v, (uint32_t)verifier_target(v->insns, n));
		struct function *callee = &v->functions[to];
		v->insn = n;
		if (callee->mark == OPEN)
			return verifier_refuse(v, "the function calls itself, directly or by others: recursion has no end");
		if (!measure(v, to, depth + 1))
			return false;
		v->insn = n;
		most_stack = callee->chain_stack > most_stack ? callee->chain_stack : most_stack;
		most_calls = callee->chain_calls > most_calls ? callee->chain_calls : most_calls;
	}
	f->chain_stack = most_stack + ((f->stack + 7) & ~7u);
	f->chain_calls = (uint8_t)(most_calls + 1);
	f->mark = DONE;
	if (f->chain_stack > BPF_STACK_ALL) {
		v->insn = f->start;
		return verifier_refuse(v, "the functions of a chain of calls need %u bytes of stack together; %u are "
		                          "possible", f->chain_stack, BPF_STACK_ALL);
	}
	return true;
}

static bool measure_all(struct verifier *v)
{
	for (unsigned f = 0; f < v->function_count; f++)
		v->functions[f].mark = UNMARKED;
	for (unsigned f = 0; f < v->function_count; f++)
		if (!measure(v, f, 0))
			return false;
	return true;
}

bool verifier_structure(struct verifier *v)
{
	return check_encoding(v) && find_functions(v) && check_jumps(v) && measure_all(v);
}

bool verifier_stack_depth(struct verifier *v)
{
	if (!measure_all(v))
		return false;
	v->verdict->stack = v->functions[0].chain_stack;
	return true;
}
