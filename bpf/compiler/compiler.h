/*
 * The compiler's own types: what its files share. The public interface is bpf/compile.h.
 *
 *   analyse.c   functions, targets of jumps, which registers are live, what need not be executed
 *   lookup.c    look-ups of arrays inline, and where their keys are
 *   alu.c       arithmetic
 *   memory.c    loads, stores, atomic instructions
 *   merge.c     bytes that are loaded, copied or stored one by one
 *   call.c      helpers, functions, tail calls; prologue and epilogue
 *   compile.c   jumps, the loop over instructions, sizes of jumps
 *   emit.c      encodings
 *
 * Registers
 *   R0 RAX; R1 to R5 RDI RSI RDX RCX R8, where the C convention has arguments; R6 to R9 RBX R13 R14 R15.
 *   In a function that calls nothing, R6 and R7 are R9 and R10 of the CPU, which need not be saved.
 *   BPF's R10 is no register: it is RSP + frame, because RSP stays where it is between the prologue and
 *   the epilogue. RBP is left alone, so that a crash report still finds its chain.
 *   R11 of the CPU is free within each instruction, and so are its R9 and R10 where they are not R6 and R7.
 */
#ifndef BPF_COMPILER_COMPILER_H
#define BPF_COMPILER_COMPILER_H

#include "bpf/compile.h"
#include "bpf/compiler/emit.h"
#include "bpf/program.h"

enum flag {
	IS_TARGET = 1,   /* a jump leads here */
	IS_FUNCTION = 2, /* the first instruction of a function */
	IS_SECOND = 4,   /* the second half of a wide instruction */
	IS_UNUSED = 8,   /* its result is not used */
	IS_DEAD = 16,    /* no path leads here */
	IS_SHORT = 32,   /* its jump fits into 8 bits; once set it stays */
};

struct function {
	uint32_t first, end;
	uint32_t entry;    /* offset of its prologue in the code */
	uint32_t frame;    /* bytes below the saved registers; R10 of BPF is RSP + frame */
	uint32_t stack;    /* bytes of BPF's stack that it uses */
	uint16_t saved;    /* bit r: saves the CPU's register r */
	bool calls;        /* has an instruction CALL in its code */
	bool loops_atomic; /* needs R9 and R10 of the CPU */
	uint8_t reg[BPF_REGS]; /* enum x86_reg; of R10 none */
};

/* How bpf_map_lookup_elem of an array is done. */
enum key { KEY_NONE, KEY_NUMBER, KEY_REGISTER, KEY_STACK, KEY_POINTER };
struct lookup {
	uint8_t key;    /* enum key; KEY_NONE: by a call */
	uint8_t reg;    /* KEY_REGISTER */
	int16_t offset; /* KEY_STACK: from R10 */
	uint32_t number; /* KEY_NUMBER */
};

struct compiler {
	const struct bpf_program *program;
	const struct bpf_note *notes; /* NULL: none */
	const struct bpf_env *env;
	uint64_t at;
	struct emit e;
	struct function *functions;
	unsigned function_count;
	const struct function *now; /* NULL between functions; whose instructions are being compiled */
	uint32_t *where;       /* count + 1; of the previous pass for what is still to come */
	uint8_t *flags;        /* enum flag */
	uint16_t *live;        /* bit r: register r may be read behind the instruction before it is written */
	struct lookup *lookups; /* of each call */
	uint16_t short_values; /* bit r: the upper 32 bits of register r are 0 */
	bool frozen;           /* no more jumps become short */
	bool failed;
	struct bpf_reason *why;
	struct bpf_code *code;
	/* where the last slice paused */
	unsigned pass;
	unsigned in_hand;      /* function that is being compiled; function_count: the pass has ended */
	uint32_t next;         /* its next instruction, if `now` is set */
	bool moved;            /* in this pass something moved */
};

/* Notes the first failure. */
PRINTF_LIKE(3, 4) void compile_fail(struct compiler *c, uint32_t insn, const char *format, ...);

static inline const struct bpf_insn *compile_insn(const struct compiler *c, uint32_t i)
{
	return &c->program->insns[i];
}

/* True if instruction i + n belongs to the sequence that begins at i: no jump leads to it. */
static inline bool compile_follows(const struct compiler *c, uint32_t i, uint32_t n)
{
	for (uint32_t k = 1; k <= n; k++)
		if (i + k >= c->program->count || (c->flags[i + k] & (IS_TARGET | IS_FUNCTION | IS_UNUSED | IS_DEAD)))
			return false;
	return true;
}

static inline unsigned compile_note(const struct compiler *c, uint32_t i)
{
	return c->notes ? c->notes[i].kind : BPF_NOTE_NONE;
}

/* The map of the call at i; NULL: not known. */
struct bpf_map;
const struct bpf_map *compile_map(const struct compiler *c, uint32_t i);
/* The address of the byte `offset` of the only value of an array. */
uint64_t compile_value(const struct bpf_map *map, uint32_t offset);

/* analyse.c */
bool compile_analyse(struct compiler *c, struct bpf_memory *memory);
uint16_t compile_uses(const struct compiler *c, uint32_t i);
uint16_t compile_defines(const struct bpf_insn *i);
/* Where the jump at i leads. */
uint32_t compile_target(const struct bpf_insn *insn, uint32_t i);
bool compile_is_jump(const struct bpf_insn *insn);

/* lookup.c */
void compile_find_key(struct compiler *c, uint32_t call);
/* Emits; returns the number of instructions. The jump behind the call may be part of it. */
uint32_t compile_lookup(struct compiler *c, uint32_t i);

/* The number of the core into that register. */
void compile_core(struct compiler *c, unsigned reg);

/* Each emits the code of instruction i, and perhaps of some behind it, and returns their number. */
uint32_t compile_alu(struct compiler *c, uint32_t i);
uint32_t compile_memory(struct compiler *c, uint32_t i);
uint32_t compile_call(struct compiler *c, uint32_t i);
/* 0: there is nothing to merge at i. */
uint32_t compile_merge(struct compiler *c, uint32_t i);

/* call.c */
void compile_prologue(struct compiler *c);
void compile_epilogue(struct compiler *c);
void compile_frame(struct function *f);

/* compile.c: a jump to the instruction `target`; condition X_NONE: always. `i` is whose IS_SHORT is used. */
void compile_jump(struct compiler *c, uint32_t i, unsigned condition, uint32_t target);

/* Whether the upper 32 bits of register r are known to be 0. */
static inline bool compile_is_short(const struct compiler *c, unsigned r)
{
	return c->short_values >> r & 1;
}

static inline void compile_set_short(struct compiler *c, unsigned r, bool is_short)
{
	c->short_values &= (uint16_t)~(1u << r);
	if (is_short)
		c->short_values |= (uint16_t)(1u << r);
}

/* The CPU's register of BPF's register r. R10's value is put into R11 of the CPU first. */
unsigned compile_reg(struct compiler *c, unsigned r);
/* The memory at BPF's register r + offset. */
struct x86_mem compile_at(const struct compiler *c, unsigned r, int32_t offset);

#endif
