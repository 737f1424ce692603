/*
 * The interpreter: the oracle of the tests for verifier and compiler. It is written for being obviously
 * right beside RFC 9669, whose sections the code cites, not for speed; the image does not contain it.
 *
 * Invariants
 *   1. The program touches no byte that is not in one of: the stack frames of the functions that run
 *      now, run->ranges, arrays of the environment, values that a look-up has returned, memory that
 *      bpf_ringbuf_reserve has returned and nobody has given back, and what ranges_now allows.
 *   2. The memory that a helper is given is checked by the helper's prototype before the call.
 *   3. Fields of struct xdp_md are read only by loads that the verifier has marked.
 *   4. Every instruction counts as one step, so a run ends.
 *   5. What the verifier has marked as dead is not executed.
 *
 * Whether memory is initialised is not checked: stack frames start as bytes 0xa5, and R1 to R5 are
 * overwritten by a helper call, so that a program which depends on them differs from its compiled code.
 *
 * Atomic instructions (5.3) are plain loads and stores here: tests run one core. x86-64 only, as all of
 * bpf/: memory is little-endian, and accesses need no alignment.
 *
 * Missing: the legacy packet instructions (5.5), calls by BTF id and callx, which no program may use.
 */
#include "bpf/helpers.h"
#include "bpf/insn.h"
#include "bpf/interpret.h"
#include "bpf/maps/map.h"
#include "bpf/xdp.h"
#include "lib/bytes.h"
#include "lib/fmt.h"
#include "lib/mem.h"

#define VALUES 128 /* values and reservations that a program can hold: registers and spilled ones */

struct frame {
	uint8_t stack[BPF_STACK] __attribute__((aligned(16)));
	/* Of the caller, who may be in another program after a tail call. */
	struct bpf_loaded caller;
	uint64_t saved[4]; /* R6 to R9 */
	uint32_t back;     /* where it goes on */
};

struct machine {
	struct bpf_loaded now;
	bool (*ranges_now)(const void *at, size_t bytes, bool write);
	struct bpf_run *run;
	uint64_t r[BPF_REGS];
	uint32_t pc; /* of the instruction that is executed */
	unsigned depth;
	struct bpf_xdp *context;
	struct frame frames[BPF_CALLS_MAX];
	struct value {
		uint8_t *from; /* NULL: free */
		size_t bytes;
		bool writable, reserved;
	} values[VALUES];
	unsigned next_value;
};

PRINTF_LIKE(2, 3) static bool stop(struct machine *m, const char *format, ...)
{
	const size_t used = fmt_format(m->run->why.text, sizeof m->run->why.text, "instruction %u: ", m->pc);
	__builtin_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(m->run->why.text + used, sizeof m->run->why.text - used, format, args);
	__builtin_va_end(args);
	return false;
}

/* --- memory --- */

static bool inside(uint64_t at, size_t bytes, const void *from, size_t length)
{
	const uint64_t first = (uint64_t)(uintptr_t)from;
	return at >= first && bytes <= length && at - first <= length - bytes;
}

/* Arrays, data sections among them, lie in one piece. */
static bool in_array(const struct machine *m, uint64_t at, size_t bytes, bool write)
{
	for (unsigned i = 0; i < m->now.env->map_count; i++) {
		const struct bpf_map *map = m->now.env->maps[i];
		if (!map || map->type != BPF_MAP_ARRAY || (write && (map->flags & BPF_F_RDONLY_PROG)))
			continue;
		if (inside(at, bytes, map->shared, (size_t)map->value_stride * map->entries))
			return true;
	}
	return false;
}

static bool allowed(const struct machine *m, uint64_t at, size_t bytes, bool write)
{
	for (unsigned i = 0; i <= m->depth; i++)
		if (inside(at, bytes, m->frames[i].stack, BPF_STACK))
			return true;
	for (unsigned i = 0; i < m->run->range_count; i++) {
		const struct bpf_range *range = &m->run->ranges[i];
		if ((range->writable || !write) && inside(at, bytes, range->from, range->bytes))
			return true;
	}
	for (unsigned i = 0; i < VALUES; i++) {
		const struct value *v = &m->values[i];
		if (v->from && (v->writable || !write) && inside(at, bytes, v->from, v->bytes))
			return true;
	}
	return in_array(m, at, bytes, write) ||
	       (m->ranges_now && m->ranges_now((const void *)(uintptr_t)at, bytes, write));
}

static bool check(struct machine *m, uint64_t at, size_t bytes, bool write)
{
	return allowed(m, at, bytes, write) ||
	       stop(m, "%s of %zu bytes at %p, where the program has no memory", write ? "store" : "load", bytes,
	            (void *)(uintptr_t)at);
}

static uint64_t load(uint64_t at, unsigned bytes)
{
	uint64_t v = 0;
	memcpy(&v, (const void *)(uintptr_t)at, bytes);
	return v;
}

static void store(uint64_t at, unsigned bytes, uint64_t v)
{
	memcpy((void *)(uintptr_t)at, &v, bytes);
}

/* The low `bits` of v as a signed number. */
static int64_t sign_extend(uint64_t v, unsigned bits)
{
	return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

/* --- arithmetic (4.1) --- */

static uint64_t divide(uint64_t a, uint64_t b, bool is_signed, bool modulo, bool wide)
{
	if (b == 0)
		return modulo ? a : 0;
	if (!is_signed)
		return modulo ? a % b : a / b;
	const int64_t x = wide ? (int64_t)a : (int32_t)a, y = wide ? (int64_t)b : (int32_t)b;
	/* LLONG_MIN / -1 is LLONG_MIN, and its remainder 0 */
	if (y == -1)
		return modulo ? 0 : 0 - (uint64_t)x;
	return (uint64_t)(modulo ? x % y : x / y);
}

/* 4.2: the source bit chooses the byte order in class ALU; in class ALU64 the bytes are always swapped. */
static bool swap(struct machine *m, const struct bpf_insn *i, uint64_t *d)
{
	const bool swaps = bpf_class(i) == BPF_ALU64 || bpf_source_is_reg(i);
	switch (i->imm) {
	case 16: *d = swaps ? __builtin_bswap16((uint16_t)*d) : (uint16_t)*d; return true;
	case 32: *d = swaps ? __builtin_bswap32((uint32_t)*d) : (uint32_t)*d; return true;
	case 64: *d = swaps ? __builtin_bswap64(*d) : *d; return true;
	default: return stop(m, "byte swap of %d bits", i->imm);
	}
}

static bool alu(struct machine *m, const struct bpf_insn *i)
{
	const bool wide = bpf_class(i) == BPF_ALU64;
	const unsigned bits = wide ? 64 : 32;
	uint64_t *d = &m->r[i->dst];
	if (i->dst == BPF_R10)
		return stop(m, "writes R10");
	if (bpf_op(i) == BPF_END)
		return swap(m, i, d);
	uint64_t a = *d, b = bpf_source_is_reg(i) ? m->r[i->src] : (uint64_t)(int64_t)i->imm;
	if (!wide)
		a = (uint32_t)a, b = (uint32_t)b;
	const bool is_signed = i->offset == 1;
	switch (bpf_op(i)) {
	case BPF_ADD: a += b; break;
	case BPF_SUB: a -= b; break;
	case BPF_MUL: a *= b; break;
	case BPF_DIV: a = divide(a, b, is_signed, false, wide); break;
	case BPF_MOD: a = divide(a, b, is_signed, true, wide); break;
	case BPF_OR: a |= b; break;
	case BPF_AND: a &= b; break;
	case BPF_XOR: a ^= b; break;
	case BPF_LSH: a <<= b & (bits - 1); break;
	case BPF_RSH: a >>= b & (bits - 1); break;
	case BPF_ARSH: a = (uint64_t)(sign_extend(a, bits) >> (b & (bits - 1))); break;
	case BPF_NEG: a = 0 - a; break;
	case BPF_MOV:
		if (i->offset != 0 && i->offset != 8 && i->offset != 16 && !(i->offset == 32 && wide))
			return stop(m, "move with sign extension from %d bits", i->offset);
		a = i->offset ? (uint64_t)sign_extend(b, (unsigned)i->offset) : b;
		break;
	default: return stop(m, "unknown opcode 0x%02x", i->opcode);
	}
	*d = wide ? a : (uint32_t)a;
	return true;
}

/* --- jumps (4.3) --- */

static bool taken(unsigned op, uint64_t a, uint64_t b, unsigned bits)
{
	const int64_t x = sign_extend(a, bits), y = sign_extend(b, bits);
	switch (op) {
	case BPF_JEQ: return a == b;
	case BPF_JNE: return a != b;
	case BPF_JGT: return a > b;
	case BPF_JGE: return a >= b;
	case BPF_JLT: return a < b;
	case BPF_JLE: return a <= b;
	case BPF_JSET: return a & b;
	case BPF_JSGT: return x > y;
	case BPF_JSGE: return x >= y;
	case BPF_JSLT: return x < y;
	default: return x <= y; /* BPF_JSLE */
	}
}

static bool call_local(struct machine *m, const struct bpf_insn *i)
{
	if (m->depth + 1 == BPF_CALLS_MAX)
		return stop(m, "more than %d calls deep", BPF_CALLS_MAX);
	struct frame *f = &m->frames[++m->depth];
	memcpy(f->saved, &m->r[BPF_R6], sizeof f->saved);
	f->caller = m->now;
	memset(f->stack, 0xa5, sizeof f->stack);
	f->back = m->pc + 1;
	m->r[BPF_R10] = (uint64_t)(uintptr_t)(f->stack + BPF_STACK);
	m->pc += 1 + (uint32_t)i->imm;
	return true;
}

/* The caller's memory is in place: only its registers come back. */
static void return_local(struct machine *m)
{
	const struct frame *f = &m->frames[m->depth--];
	memcpy(&m->r[BPF_R6], f->saved, sizeof f->saved);
	m->now = f->caller;
	m->r[BPF_R10] = (uint64_t)(uintptr_t)(m->frames[m->depth].stack + BPF_STACK);
	m->pc = f->back;
}

/* The value or reservation becomes accessible. */
static void remember(struct machine *m, uint64_t at, size_t bytes, bool writable, bool reserved)
{
	for (unsigned i = 0; i < VALUES; i++)
		if (m->values[i].from == (uint8_t *)(uintptr_t)at)
			return;
	unsigned slot = m->next_value;
	while (m->values[slot].from && m->values[slot].reserved && slot != (m->next_value + VALUES - 1) % VALUES)
		slot = (slot + 1) % VALUES;
	m->values[slot] = (struct value){(uint8_t *)(uintptr_t)at, bytes, writable, reserved};
	m->next_value = (slot + 1) % VALUES;
}

static bool release(struct machine *m, uint64_t at)
{
	for (unsigned i = 0; i < VALUES; i++)
		if (m->values[i].from && m->values[i].reserved && m->values[i].from == (uint8_t *)(uintptr_t)at) {
			m->values[i].from = NULL;
			return true;
		}
	return stop(m, "gives back %p, which it has not reserved", (void *)(uintptr_t)at);
}

static const struct bpf_map *map_at(const struct machine *m, uint64_t at)
{
	for (unsigned i = 0; i < m->now.env->map_count; i++)
		if (m->now.env->maps[i] && (uint64_t)(uintptr_t)m->now.env->maps[i] == at)
			return m->now.env->maps[i];
	return NULL;
}

static bool check_argument(struct machine *m, unsigned n, const struct bpf_proto *p, const struct bpf_map *map)
{
	const uint64_t at = m->r[BPF_R1 + n], size = n < 4 ? m->r[BPF_R1 + n + 1] : 0;
	switch (p->args[n]) {
	case BPF_ARG_CONTEXT:
		return (m->context && at == (uint64_t)(uintptr_t)m->context) ||
		       stop(m, "%s: R%u is not the context", p->name, n + 1);
	case BPF_ARG_MAP: return map || stop(m, "%s: R%u is not a map", p->name, n + 1);
	case BPF_ARG_KEY: return check(m, at, map->key_bytes, false);
	case BPF_ARG_VALUE: return check(m, at, map->value_bytes, false);
	case BPF_ARG_MEM_OR_NULL: return size == 0 || check(m, at, size, false);
	case BPF_ARG_MEM: return check(m, at, size, false);
	case BPF_ARG_MEM_WRITE:
	case BPF_ARG_MEM_BOTH: return check(m, at, size, true);
	case BPF_ARG_RESERVED: return release(m, at);
	default: return true;
	}
}

static bool call_helper(struct machine *m, uint32_t id)
{
	const struct bpf_proto *p = bpf_proto(id);
	if (!p || id >= m->now.env->helper_count || !m->now.env->helpers[id])
		return stop(m, "there is no helper %u", id);
	const struct bpf_map *map = NULL;
	for (unsigned n = 0; n < 5; n++)
		if (p->args[n] == BPF_ARG_MAP)
			map = map_at(m, m->r[BPF_R1 + n]);
	for (unsigned n = 0; n < 5; n++)
		if (!check_argument(m, n, p, map))
			return false;
	const uint64_t size = m->r[BPF_R2];
	m->r[BPF_R0] = m->now.env->helpers[id](m->r[1], m->r[2], m->r[3], m->r[4], m->r[5]);
	for (unsigned n = BPF_R1; n <= BPF_R5; n++)
		m->r[n] = 0xdead000000000000 + n;
	if (map && m->r[BPF_R0] && p->returns == BPF_RETURN_VALUE_OR_NULL)
		remember(m, m->r[BPF_R0], map->value_bytes, !(map->flags & BPF_F_RDONLY_PROG), false);
	if (m->r[BPF_R0] && p->returns == BPF_RETURN_RESERVED_OR_NULL)
		remember(m, m->r[BPF_R0], size, true, true);
	m->pc++;
	return true;
}

/* bpf_tail_call: this function ends, and the other program runs with this function's caller as its own; or
 * the call does nothing. */
static bool tail_call(struct machine *m)
{
	const struct bpf_map *map = map_at(m, m->r[BPF_R2]);
	const uint32_t index = (uint32_t)m->r[BPF_R3];
	if (!m->context || m->r[BPF_R1] != (uint64_t)(uintptr_t)m->context || !map ||
	    map->type != BPF_MAP_PROG_ARRAY)
		return stop(m, "a tail call without the context or without a program array");
	m->pc++;
	const struct bpf_loaded *to = NULL;
	if (index < map->entries)
		memcpy(&to, map->shared + 8 * (size_t)index, sizeof to);
	if (!to || m->context->tail_calls >= BPF_TAIL_CALLS_MAX)
		return true;
	m->context->tail_calls++;
	m->now = *to;
	m->pc = 0;
	memset(m->frames[m->depth].stack, 0xa5, BPF_STACK);
	return true;
}

static bool jump(struct machine *m, const struct bpf_insn *i)
{
	const bool wide = bpf_class(i) == BPF_JMP;
	uint64_t a = m->r[i->dst], b = bpf_source_is_reg(i) ? m->r[i->src] : (uint64_t)(int64_t)i->imm;
	switch (bpf_op(i)) {
	case BPF_JA: m->pc += 1 + (uint32_t)(wide ? i->offset : i->imm); return true;
	case BPF_CALL:
		if (!wide || bpf_source_is_reg(i) || i->src > BPF_CALL_LOCAL)
			return stop(m, "unknown call");
		if (i->src == BPF_CALL_LOCAL)
			return call_local(m, i);
		return i->imm == BPF_FN_TAIL_CALL ? tail_call(m) : call_helper(m, (uint32_t)i->imm);
	case BPF_EXIT:
	case 0xe0:
	case 0xf0: return stop(m, "unknown opcode 0x%02x", i->opcode);
	}
	if (!wide)
		a = (uint32_t)a, b = (uint32_t)b;
	m->pc += 1 + (uint32_t)(taken(bpf_op(i), a, b, wide ? 64 : 32) ? i->offset : 0);
	return true;
}

/* --- loads and stores (5) --- */

static bool load_context(struct machine *m, const struct bpf_insn *i)
{
	unsigned offset, bytes;
	if (!m->context || m->r[i->src] != (uint64_t)(uintptr_t)m->context || i->opcode != (BPF_LDX | BPF_MEM | BPF_W) ||
	    i->offset < 0 || !xdp_field((unsigned)i->offset, &offset, &bytes))
		return stop(m, "no load of a field of struct xdp_md");
	m->r[i->dst] = load((uint64_t)(uintptr_t)m->context + offset, bytes);
	return true;
}

/* 5.3 */
static bool atomic(struct machine *m, const struct bpf_insn *i)
{
	const unsigned bytes = bpf_bytes(i);
	const uint64_t at = m->r[i->dst] + (uint64_t)(int64_t)i->offset;
	if (bytes < 4)
		return stop(m, "atomic operation on %u bytes", bytes);
	if (!check(m, at, bytes, true))
		return false;
	const uint64_t old = load(at, bytes), mask = bytes == 8 ? UINT64_MAX : UINT32_MAX;
	const uint64_t operand = m->r[i->src] & mask;
	switch (i->imm) {
	case BPF_ADD: case BPF_ADD | BPF_FETCH: store(at, bytes, old + operand); break;
	case BPF_OR: case BPF_OR | BPF_FETCH: store(at, bytes, old | operand); break;
	case BPF_AND: case BPF_AND | BPF_FETCH: store(at, bytes, old & operand); break;
	case BPF_XOR: case BPF_XOR | BPF_FETCH: store(at, bytes, old ^ operand); break;
	case BPF_XCHG: store(at, bytes, operand); break;
	case BPF_CMPXCHG:
		if (old == (m->r[BPF_R0] & mask))
			store(at, bytes, operand);
		m->r[BPF_R0] = old;
		return true;
	default: return stop(m, "unknown atomic operation 0x%x", (unsigned)i->imm);
	}
	if ((i->imm & BPF_FETCH) && i->src == BPF_R10)
		return stop(m, "writes R10");
	if (i->imm & BPF_FETCH)
		m->r[i->src] = old;
	return true;
}

static bool move(struct machine *m, const struct bpf_insn *i)
{
	const unsigned mode = i->opcode & 0xe0u, class = bpf_class(i), bytes = bpf_bytes(i);
	const uint64_t at = m->r[class == BPF_LDX ? i->src : i->dst] + (uint64_t)(int64_t)i->offset;
	if (class == BPF_STX && mode == BPF_ATOMIC)
		return atomic(m, i);
	if (class == BPF_LDX ? mode != BPF_MEM && (mode != BPF_MEMSX || bytes == 8) : mode != BPF_MEM)
		return stop(m, "unknown opcode 0x%02x", i->opcode);
	if (class == BPF_LDX && i->dst == BPF_R10)
		return stop(m, "writes R10");
	if (m->now.notes && m->now.notes[m->pc].kind == BPF_NOTE_CONTEXT)
		return load_context(m, i);
	if (!check(m, at, bytes, class != BPF_LDX))
		return false;
	if (class == BPF_ST)
		store(at, bytes, (uint64_t)(int64_t)i->imm);
	else if (class == BPF_STX)
		store(at, bytes, m->r[i->src]);
	else
		m->r[i->dst] = mode == BPF_MEMSX ? (uint64_t)sign_extend(load(at, bytes), 8 * bytes) : load(at, bytes);
	return true;
}

/* 5.4 */
static bool load_wide(struct machine *m, const struct bpf_insn *i)
{
	if (!bpf_is_wide(i) || m->pc + 1 >= m->now.program->count || i->dst == BPF_R10)
		return stop(m, "unknown opcode 0x%02x", i->opcode);
	uint64_t v = (uint32_t)i->imm | (uint64_t)(uint32_t)i[1].imm << 32;
	if (i->src != BPF_WIDE_NUMBER) {
		if (i->src > BPF_WIDE_VALUE || (uint32_t)i->imm >= m->now.env->map_count || !m->now.env->maps[i->imm])
			return stop(m, "there is no map %d", i->imm);
		const struct bpf_map *map = m->now.env->maps[i->imm];
		v = i->src == BPF_WIDE_MAP ? (uint64_t)(uintptr_t)map :
		                             (uint64_t)(uintptr_t)map->shared + (uint32_t)i[1].imm;
	}
	m->r[i->dst] = v;
	m->pc += 2;
	return true;
}

/* --- the loop --- */

static bool step(struct machine *m)
{
	const struct bpf_insn *i = &m->now.program->insns[m->pc];
	if (i->dst > BPF_R10 || i->src > BPF_R10)
		return stop(m, "there is no register R%u", i->dst > BPF_R10 ? i->dst : i->src);
	bool ok;
	switch (bpf_class(i)) {
	case BPF_JMP:
	case BPF_JMP32: return jump(m, i);
	case BPF_LD: return load_wide(m, i);
	case BPF_ALU:
	case BPF_ALU64: ok = alu(m, i); break;
	default: ok = move(m, i); break;
	}
	m->pc++;
	return ok;
}

bool bpf_interpret(const struct bpf_program *program, const struct bpf_note *notes, const struct bpf_env *env,
                   uint64_t r1, uint64_t r2, bool (*ranges_now)(const void *at, size_t bytes, bool write),
                   struct bpf_run *run)
{
	struct machine m = {.now = {program, notes, env}, .ranges_now = ranges_now, .run = run};
	memset(m.frames[0].stack, 0xa5, BPF_STACK);
	m.r[BPF_R1] = r1;
	m.r[BPF_R2] = r2;
	m.r[BPF_R10] = (uint64_t)(uintptr_t)(m.frames[0].stack + BPF_STACK);
	m.context = run->context;
	for (;;) {
		run->insn = m.pc;
		if (m.pc >= m.now.program->count)
			return stop(&m, "beyond the program");
		if (run->steps == 0)
			return stop(&m, "the program takes too long");
		run->steps--;
		if (m.now.notes && m.now.notes[m.pc].kind == BPF_NOTE_DEAD)
			return stop(&m, "is executed, although it is marked as dead");
		if (m.now.program->insns[m.pc].opcode == (BPF_JMP | BPF_EXIT)) {
			if (m.depth == 0)
				break;
			return_local(&m);
		} else if (!step(&m)) {
			return false;
		}
	}
	run->result = m.r[BPF_R0];
	return true;
}
