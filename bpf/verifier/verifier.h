/*
 * What the verifier's parts share (bpf/verify.h is for others).
 *
 *     structure.c   one pass over the instructions: encoding, functions, jumps, chains of calls
 *     pointers.c    which registers hold addresses of the stack: forward data flow
 *     liveness.c    which registers and stack bytes are read later, and matter: backward data flow
 *     walk.c        all paths, depth first, with
 *       states.c      saved states
 *       inclusion.c   which of them includes another
 *       arithmetic.c, branch.c, memory.c, stack.c, call.c   one instruction each
 *
 * Invariants
 *   1. A struct value in the state stands for all values that the register may have on this path; the
 *      state of a path is never narrower than what can really happen.
 *   2. A path ends early only in a state that a saved one includes, all of whose paths have been walked
 *      (struct record.branches == 0). What is not live is not compared; of numbers that do not influence
 *      a decision of the verifier (liveness.c) the value is not compared.
 *   3. A conditional jump decides if on some path the numbers leave one way only, or one register's number
 *      gives another's bounds. An addition decides if it moves a packet pointer by a constant in a register.
 *      The walk begins with none in the list of those that do (insn_info.decides). If it has found new ones at
 *      its end, its result is void, and it starts again with them in the list: only then their operands matter.
 *   4. Each step checks that what it reads was said to be live, so that a mistake in liveness.c refuses
 *      programs instead of accepting them.
 */
#ifndef BPF_VERIFIER_VERIFIER_H
#define BPF_VERIFIER_VERIFIER_H

#include "bpf/helpers.h"
#include "bpf/insn.h"
#include "bpf/verifier/scalar.h"
#include "bpf/verify.h"

#define SLOTS (BPF_STACK / 8)
#define RESERVED_MAX 8                 /* reserved memory that a program holds at the same time */
#define OFFSET_MAX ((int64_t)1 << 29)  /* a pointer is moved by no more */
#define NOTHING_PROVED ((int32_t)(1u << 31))
#define PACKET_OFFSET_MAX 0xffff       /* as in Linux: a longer packet's end is not reachable by pointers */

/* What a register holds. */
enum kind {
	NONE, /* not initialised: nothing may be done with it */
	SCALAR,
	CONTEXT,
	STACK,
	PACKET,
	META,
	END,
	MAP,
	VALUE_OR_NULL,
	VALUE,
	MEMORY, /* of BPF_CONTEXT_MEMORY */
	RESERVED_OR_NULL,
	RESERVED,
};

struct value {
	uint8_t kind;
	uint8_t frame; /* STACK: whose */
	uint8_t map;   /* MAP, VALUE */
	int32_t off;   /* pointers: bytes from their base ... */
	/* SCALAR: copies of one number have the same; 0: no copy. PACKET, META: those with the same variable
	 * part. Of what may be null and of reserved memory: its name. */
	uint32_t id;
	/* PACKET, META: base + s + range <= the packet's end, or NOTHING_PROVED. MEMORY, RESERVED: bytes. */
	int32_t range;
	struct scalar s; /* SCALAR: the number; pointers: what was added to the base, besides off */
};

/* What a byte of the stack holds. */
enum byte_kind { BYTE_NONE, BYTE_ANY, BYTE_ZERO, BYTE_SPILLED };

/* Eight bytes of the stack. BYTE_SPILLED: the lower bytes of `spilled`, from byte 0 on; all eight if it is a
 * pointer. Slot n is at R10 - 8 * (n + 1). */
struct slot {
	uint8_t byte[8];
	struct value spilled;
};

struct frame {
	uint32_t call;     /* where it was called; not of the first */
	uint32_t function;
	bool given_stack;  /* an argument was an address in the stack of a calling frame */
	uint64_t used;     /* slots that are not all BYTE_NONE */
	struct value reg[BPF_REGS];
	struct slot slot[SLOTS];
};

/* Stack bytes in units of 4: bit n is R10 - 4 * (n + 1) and the three bytes behind. */
struct units {
	uint64_t w[2];
};

/*
 * Registers and units of the stack that are live at some place; those whose values matter; and those
 * whose values would matter if every conditional jump did decide.
 */
struct needs {
	uint16_t live, matter, all_matter;
	struct units stack_live, stack_matter, stack_all_matter;
};

struct insn_info {
	struct needs needs;            /* before the instruction */
	struct record *records;        /* states saved here, the newest first */
	uint32_t comes_from;           /* a jump to here, plus 1; 0: none */
	uint32_t also_from;            /* another jump to where this jump leads, plus 1 */
	uint16_t function;
	uint8_t memory;                /* enum memory_use */
	bool is_second_half;
	bool is_join;
	bool seen;
	bool queued;
	bool map_differs;
	bool decides; /* invariant 3 */
};

enum memory_use { MEMORY_UNUSED, MEMORY_CONTEXT, MEMORY_OTHER };

struct function {
	uint32_t start, end;
	uint32_t stack;        /* bytes */
	bool result_matters, result_could_matter; /* R0 at its end, for some caller */
	bool takes_stack;      /* some call may give it an address in a stack (pointers.c) */
	uint8_t mark;
	uint32_t chain_stack;
	uint8_t chain_calls;
};

#define SLOT_AT 16 /* entry.where of slot 0 */

/* One location of a saved state. */
struct entry {
	uint8_t frame;
	uint8_t where;   /* register, or SLOT_AT + slot */
	bool matters, could_matter;
	bool alone; /* a packet pointer whose name no other has */
	uint8_t byte[8];
	struct value value;
};

/* A saved state: what is live in it. */
struct record {
	struct record *next;    /* of the same instruction */
	struct record *parent;  /* the last one before it on its path */
	uint64_t hash;
	uint32_t insn;
	uint32_t since;         /* as in struct verifier */
	uint32_t branches;      /* paths from here that have not been walked to their ends */
	uint32_t call[BPF_CALLS_MAX];
	uint32_t reserved[RESERVED_MAX];
	uint16_t entries;
	uint8_t depth;
	uint8_t given_stack; /* bit n: frame n */
	uint8_t reserved_count;
	bool taken;          /* of a pushed branch: it jumps */
	struct entry entry[];
};

/* What the next slice does (bpf_verify_go). */
enum stage { STAGE_PREPARE, STAGE_STRUCTURE, STAGE_POINTERS, STAGE_LIVENESS, STAGE_WALK };

struct verifier {
	enum stage stage;
	uint64_t pause;            /* of verdict->steps: the walk pauses there */
	struct bpf_memory memory;  /* the rest of it */
	uint8_t *first_front;      /* front, when the walk begins */
	const struct bpf_program *program;
	const struct bpf_insn *insns;
	uint32_t count;
	const struct bpf_map_def *maps;
	unsigned map_count;
	enum bpf_context context;
	uint32_t memory_bytes;
	struct bpf_limits limits;
	struct bpf_note *notes;
	struct bpf_verdict *verdict;
	struct insn_info *info;
	uint32_t *queue;
	struct pass *pass;         /* pointers.c */
	struct points *points;
	uint32_t queued;           /* liveness.c: in queue, between two slices */
	struct function *functions;
	unsigned function_count;

	/* the state of the path */
	uint32_t insn;
	struct frame *frame; /* BPF_CALLS_MAX of them */
	unsigned depth;      /* of the running function */
	uint32_t reserved[RESERVED_MAX];
	unsigned reserved_count;
	uint32_t last_id;
	struct record *parent;
	uint32_t since;      /* steps since `parent` */

	/* Memory for records: saved states from the front, pushed branches from the back. */
	uint8_t *front, *back, *pending_end;
	struct record *scratch; /* for comparisons */
	struct id_use *ids;     /* states.c */
	uint32_t id_stamp;
	uint32_t compared;      /* entries, since the last step was counted for them */
	bool void_walk;         /* invariant 3: start again */
};

enum step { STEP_ON, STEP_END, STEP_REFUSED };

/* Refuses the program at v->insn: "instruction N (text): " and the reason. Returns false. */
PRINTF_LIKE(2, 3) bool verifier_refuse(struct verifier *v, const char *format, ...);
const char *verifier_kind(const struct value *value); /* such as "a pointer into the packet" */

/* structure.c */
bool verifier_structure(struct verifier *v);
bool verifier_stack_depth(struct verifier *v); /* after the walk */
uint32_t verifier_next(const struct verifier *v, uint32_t i);
int64_t verifier_target(const struct bpf_insn *insns, uint32_t i); /* of a jump or local call */
unsigned verifier_function_at(const struct verifier *v, uint32_t start);

static inline bool insn_is_jump(const struct bpf_insn *i)
{
	const unsigned class = bpf_class(i), op = bpf_op(i);
	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL && op != BPF_EXIT;
}
static inline bool insn_is_call(const struct bpf_insn *i) { return i->opcode == (BPF_JMP | BPF_CALL); }
static inline bool insn_is_exit(const struct bpf_insn *i) { return i->opcode == (BPF_JMP | BPF_EXIT); }
/* Never goes on to the next one. */
static inline bool insn_leaves(const struct bpf_insn *i)
{
	return insn_is_exit(i) || (insn_is_jump(i) && bpf_op(i) == BPF_JA);
}

/* pointers.c: of each register before each instruction: an offset from R10, or one of these. */
#define POINTS_UNREACHED 0x7fff
#define POINTS_ELSEWHERE 0x7ffe /* not into this function's stack */
#define POINTS_ANYWHERE 0x7ffd  /* perhaps into it */
struct points {
	int16_t reg[BPF_REGS];
};
bool verifier_pointers_prepare(struct verifier *v);
bool verifier_pointers(struct verifier *v, uint32_t most); /* looks at so many; true: it has finished */

/* liveness.c */
bool verifier_liveness(struct verifier *v, uint32_t most); /* likewise */
struct units units_of(int64_t off, int64_t bytes); /* that it touches */
static inline bool units_contain(struct units a, struct units b)
{
	return !(b.w[0] & ~a.w[0]) && !(b.w[1] & ~a.w[1]);
}
/* Of frame n, in its function at v->insn or while the function that it called runs. */
struct needs verifier_needs(const struct verifier *v, unsigned frame);

/* states.c */
size_t verifier_scratch_bytes(void);
void verifier_scratch(struct verifier *v, uint8_t *memory); /* so many zeroed bytes */
enum visit { VISIT_NEW, VISIT_KNOWN, VISIT_REFUSED };
enum visit verifier_visit(struct verifier *v);
/* Saves the state before the jump v->insn, to be continued later at its target (taken), or at the next instruction. */
bool verifier_push(struct verifier *v, bool taken);
bool verifier_pop(struct verifier *v, bool *taken); /* false: nothing is left */
void verifier_path_ends(struct verifier *v);
void verifier_clear_frame(struct verifier *v, unsigned frame);

/* inclusion.c. whatever_could: numbers that could matter are compared, not only those that do. */
bool verifier_includes(struct verifier *v, const struct record *a, const struct record *b, bool whatever_could);

/* walk.c */
static inline struct value *verifier_reg(struct verifier *v, unsigned r) { return &v->frame[v->depth].reg[r]; }
bool verifier_readable(struct verifier *v, unsigned r); /* initialised, and live by liveness.c */
void verifier_decide(struct verifier *v); /* v->insn does (invariant 3) */
/* Calls visit for each register and spilled value of all frames. */
void verifier_each_value(struct verifier *v, void (*visit)(struct value *value, void *with), void *with);
static inline struct value value_scalar(struct scalar s) { return (struct value){.kind = SCALAR, .s = s}; }
static inline bool value_is_pointer(const struct value *x) { return x->kind > SCALAR; }
static inline bool value_is_null(const struct value *x)
{
	return x->kind == SCALAR && scalar_is_const(&x->s) && !x->s.t.value;
}

/* arithmetic.c, branch.c, memory.c, call.c */
bool verifier_alu(struct verifier *v, const struct bpf_insn *i);
bool verifier_branch_possible(struct verifier *v, const struct bpf_insn *i, bool taken);
void verifier_branch(struct verifier *v, const struct bpf_insn *i, bool taken);
bool verifier_load(struct verifier *v, const struct bpf_insn *i);
bool verifier_store(struct verifier *v, const struct bpf_insn *i);
bool verifier_atomic(struct verifier *v, const struct bpf_insn *i);
bool verifier_wide(struct verifier *v, const struct bpf_insn *i);
bool verifier_helper(struct verifier *v, const struct bpf_insn *i);
bool verifier_call(struct verifier *v, const struct bpf_insn *i);
enum step verifier_exit(struct verifier *v);

enum access { ACCESS_READ, ACCESS_WRITE, ACCESS_FILL };
/* An access to `bytes` bytes at register r + off: memory other than stack and context. */
bool verifier_access(struct verifier *v, unsigned r, int32_t off, uint64_t bytes, enum access access);
/* Memory that a helper reads or fills: `least` to `most` bytes from register r on. packet: it may lie in the packet. */
bool verifier_helper_memory(struct verifier *v, unsigned r, uint64_t least, uint64_t most, enum access access,
                            bool packet);

/* stack.c: r holds the pointer, off is the instruction's */
bool verifier_stack_range(struct verifier *v, unsigned r, int32_t off, uint64_t bytes, int64_t *first,
                          int64_t *last);
bool verifier_stack_load(struct verifier *v, unsigned r, int32_t off, unsigned bytes, bool sign,
                         struct value *result);
bool verifier_stack_store(struct verifier *v, unsigned r, int32_t off, unsigned bytes, const struct value *x);
bool verifier_stack_read(struct verifier *v, unsigned r, uint64_t bytes);
bool verifier_stack_fill(struct verifier *v, unsigned r, int32_t off, uint64_t least, uint64_t most);

#endif
