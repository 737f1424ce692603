/*
 * The interpreter stops what a verified program does not do: at the first access outside of its memory, at a
 * wrong argument of a helper, when it runs too long, at what is no instruction. What instructions compute is
 * the differential test's and the conformance suite's.
 */
#include "tests/unit/rig/host.h"

#include "bpf/helpers.h"
#include "bpf/interpret.h"
#include "bpf/maps/map.h"
#include "bpf/xdp.h"
#include "tests/unit/rig/bpf_make.h"
#include "tests/unit/rig/maps_rig.h"

/* with space between them that is nobody's */
static struct { uint8_t before[64], memory[16], between[64], constants[8], behind[64]; } bytes;
static struct bpf_xdp xdp;
static struct rig_map *array, *hash, *ring, *programs;
static struct bpf_map *maps[4];
static bpf_helper helpers[BPF_HELPERS];

static struct bpf_env environment(void)
{
	bpf_map_helpers(helpers);
	return (struct bpf_env){.maps = maps, .map_count = 4, .helpers = helpers, .helper_count = BPF_HELPERS};
}

static int set_up(void **s)
{
	(void)s;
	bpf_core = 0;
	array = rig_map(BPF_MAP_ARRAY, 4, 8, 2);
	hash = rig_map(BPF_MAP_HASH, 4, 8, 4);
	ring = rig_map(BPF_MAP_RINGBUF, 0, 0, 4096);
	programs = rig_map(BPF_MAP_PROG_ARRAY, 4, 4, 2);
	maps[0] = &array->map;
	maps[1] = &hash->map;
	maps[2] = &ring->map;
	maps[3] = &programs->map;
	const uint32_t key = 0;
	const uint64_t value = 5;
	bpf_map_update(&hash->map, &key, &value, BPF_ANY);
	return 0;
}

static int tear_down(void **s)
{
	(void)s;
	rig_map_free(array);
	rig_map_free(hash);
	rig_map_free(ring);
	rig_map_free(programs);
	return 0;
}

static bool interpret(const struct bpf_insn *insns, uint32_t count, const struct bpf_note *notes, bool with_context,
                      struct bpf_run *run)
{
	static const struct bpf_range ranges[] = {{bytes.memory, sizeof bytes.memory, true}, {bytes.constants, sizeof bytes.constants, false}};
	const struct bpf_program p = {.insns = insns, .count = count};
	const struct bpf_env env = environment();
	*run = (struct bpf_run){.ranges = ranges, .range_count = 2, .steps = 1000, .context = with_context ? &xdp : NULL};
	return bpf_interpret(&p, notes, &env, with_context ? (uintptr_t)&xdp : (uintptr_t)bytes.memory, (uintptr_t)bytes.constants, NULL, run);
}

static void is_result(uint64_t want, const struct bpf_insn *insns, uint32_t count)
{
	struct bpf_run run;
	if (!interpret(insns, count, NULL, false, &run))
		fail_msg("%s", run.why.text);
	assert_int_equal(run.result, want);
}

static void is_stopped(const char *says, const struct bpf_insn *insns, uint32_t count, bool with_context)
{
	struct bpf_run run;
	assert_false(interpret(insns, count, NULL, with_context, &run));
	if (!strstr(run.why.text, says))
		fail_msg("\"%s\" does not say \"%s\"", run.why.text, says);
}

#define INSNS(...) (const struct bpf_insn[]){__VA_ARGS__}, sizeof((const struct bpf_insn[]){__VA_ARGS__}) / 8
#define RESULT(want, ...) is_result(want, INSNS(__VA_ARGS__, EXIT))
#define STOPS(says, ...) is_stopped(says, INSNS(__VA_ARGS__, EXIT), false)

static void ranges(void **s)
{
	(void)s;
	bytes.memory[15] = 7;
	RESULT(7, LOAD(BPF_B, 0, 1, 15));
	STOPS("instruction 0: load of 1 bytes", LOAD(BPF_B, 0, 1, 16));
	STOPS("load of 8 bytes", LOAD(BPF_DW, 0, 1, 9));
	STOPS("load of 1 bytes", LOAD(BPF_B, 0, 1, -1));
	RESULT(0, LOAD(BPF_DW, 0, 2, 0));
	STOPS("store of 4 bytes", STORE_K(BPF_W, 2, 0, 1)); /* only to be read */
	STOPS("store of 4 bytes", ATOMIC(BPF_W, BPF_ADD, 2, 1, 0));
	STOPS("load of 8 bytes", MOV_K(1, 0), LOAD(BPF_DW, 0, 1, 0));
	STOPS("load of 8 bytes", MOV_K(1, -4), LOAD(BPF_DW, 0, 1, 0)); /* over the end of all addresses */
	/* the stack: 512 bytes below R10 */
	RESULT(3, STORE_K(BPF_DW, 10, -512, 3), LOAD(BPF_DW, 0, 10, -512));
	STOPS("store of 8 bytes", STORE_K(BPF_DW, 10, -513, 3));
	STOPS("store of 1 bytes", STORE_K(BPF_B, 10, 0, 3));
}

static void frames(void **s)
{
	(void)s;
	/* a function sees its caller's stack */
	RESULT(9, STORE_K(BPF_DW, 10, -8, 9), MOV_X(1, 10), CALL_LOCAL(1), EXIT, LOAD(BPF_DW, 0, 1, -8));
	/* the caller does not see the function's */
	STOPS("instruction 1: load of 8 bytes", CALL_LOCAL(2), LOAD(BPF_DW, 0, 0, -8), EXIT, MOV_X(0, 10));
	STOPS("more than 8 calls deep", CALL_LOCAL(-1));
	RESULT(4, MOV_K(6, 4), CALL_LOCAL(2), MOV_X(0, 6), EXIT, MOV_K(6, 5), MOV_K(0, 0));
}

static void structure(void **s)
{
	(void)s;
	STOPS("takes too long", JUMP(-1));
	is_stopped("beyond the program", INSNS(MOV_K(0, 1)), false);
	STOPS("beyond the program", JUMP(100));
	STOPS("writes R10", MOV_K(10, 1));
	STOPS("no register R11", MOV_X(11, 1));
	STOPS("unknown opcode", INSN(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, 0));
	STOPS("unknown call", INSN(BPF_JMP | BPF_CALL | BPF_X, 1, 0, 0, 0));
	STOPS("unknown opcode", INSN(BPF_JMP | 0xe0, 1, 0, 0, 0));
	STOPS("byte swap of 24", INSN(BPF_ALU | BPF_END, 0, 0, 0, 24));
	STOPS("unknown atomic", ATOMIC(BPF_W, 0x77, 1, 2, 0));
	STOPS("there is no map 9", WIDE(1, BPF_WIDE_MAP, 9));
}

static void maps_and_helpers(void **s)
{
	(void)s;
#define LOOK_UP(map, key) STORE_K(BPF_W, 10, -4, key), MOV_X(2, 10), ALU64_K(BPF_ADD, 2, -4), WIDE(1, BPF_WIDE_MAP, map), \
	CALL(BPF_FN_MAP_LOOKUP)
	RESULT(5, LOOK_UP(1, 0), LOAD(BPF_DW, 0, 0, 0));
	STOPS("instruction 6: load of 8 bytes", LOOK_UP(1, 0), LOAD(BPF_DW, 0, 0, 1)); /* behind the value */
	STOPS("instruction 6: load of 8 bytes", LOOK_UP(1, 3), LOAD(BPF_DW, 0, 0, 0)); /* NULL */
	RESULT(0, LOOK_UP(0, 1), LOAD(BPF_DW, 0, 0, 0));
	RESULT(0, WIDE(1, BPF_WIDE_VALUE, 8ull << 32), LOAD(BPF_DW, 0, 1, 0));
	STOPS("load of 8 bytes", WIDE(1, BPF_WIDE_VALUE, 9ull << 32), LOAD(BPF_DW, 0, 1, 0));
	/* the key lies partly outside; the map is none; registers are lost */
	STOPS("load of 4 bytes", MOV_X(2, 10), ALU64_K(BPF_ADD, 2, -3), WIDE(1, BPF_WIDE_MAP, 0), CALL(BPF_FN_MAP_LOOKUP));
	STOPS("R1 is not a map", MOV_X(2, 1), CALL(BPF_FN_MAP_LOOKUP));
	STOPS("load of 8 bytes", LOOK_UP(0, 1), LOAD(BPF_DW, 0, 2, 0));
	STOPS("there is no helper 200", CALL(200));
	STOPS("R1 is not the context", MOV_K(2, 0), CALL(BPF_FN_PERF_EVENT_OUTPUT));
}

static void reservations(void **s)
{
	(void)s;
#define RESERVE WIDE(1, BPF_WIDE_MAP, 2), MOV_K(2, 8), MOV_K(3, 0), CALL(BPF_FN_RINGBUF_RESERVE), MOV_X(6, 0)
	RESULT(0, RESERVE, STORE_K(BPF_DW, 6, 0, 1), MOV_X(1, 6), MOV_K(2, 0), CALL(BPF_FN_RINGBUF_SUBMIT), MOV_K(0, 0));
	STOPS("store of 8 bytes", RESERVE, STORE_K(BPF_DW, 6, 1, 1));
	STOPS("which it has not reserved", MOV_K(2, 0), CALL(BPF_FN_RINGBUF_SUBMIT));
	/* it is no longer its own after that */
	STOPS("store of 8 bytes", RESERVE, MOV_X(1, 6), MOV_K(2, 0), CALL(BPF_FN_RINGBUF_DISCARD), STORE_K(BPF_DW, 6, 0, 1));
	STOPS("which it has not reserved", RESERVE, MOV_X(1, 6), MOV_K(2, 0), CALL(BPF_FN_RINGBUF_DISCARD), MOV_X(1, 6), MOV_K(2, 0),
	      CALL(BPF_FN_RINGBUF_DISCARD));
}

static void context(void **s)
{
	(void)s;
	xdp.data_end = (uint8_t *)0x123456789a;
	const struct bpf_insn insns[] = {LOAD(BPF_W, 0, 1, XDP_MD_DATA_END), EXIT};
	const struct bpf_note notes[2] = {{BPF_NOTE_CONTEXT, 0}};
	struct bpf_run run;
	assert_true(interpret(insns, 2, notes, true, &run));
	assert_int_equal(run.result, 0x123456789a);
	/* without the verifier's note it is memory that the program does not have */
	is_stopped("load of 4 bytes", insns, 2, true);
	const struct bpf_insn beside[] = {ALU64_K(BPF_ADD, 1, 4), LOAD(BPF_W, 0, 1, 0), EXIT};
	const struct bpf_note second[3] = {{0}, {BPF_NOTE_CONTEXT, 0}};
	assert_false(interpret(beside, 3, second, true, &run));
}

static void tail_calls(void **s)
{
	(void)s;
	static const struct bpf_insn target[] = {ALU64_X(BPF_XOR, 0, 0), ALU64_K(BPF_ADD, 0, 21), EXIT};
	static const struct bpf_insn caller[] = {WIDE(2, BPF_WIDE_MAP, 3), MOV_K(3, 1), CALL(BPF_FN_TAIL_CALL), MOV_K(0, 4), EXIT};
	const struct bpf_program other = {.insns = target, .count = 3};
	const struct bpf_env env = environment();
	const struct bpf_loaded loaded = {&other, NULL, &env};
	struct bpf_run run;
	xdp.tail_calls = 0;
	assert_true(interpret(caller, ARRAY_LEN(caller), NULL, true, &run));
	assert_int_equal(run.result, 4);
	bpf_prog_array_set(&programs->map, 1, (uintptr_t)&loaded);
	assert_true(interpret(caller, ARRAY_LEN(caller), NULL, true, &run));
	assert_int_equal(run.result, 21);
	assert_int_equal(xdp.tail_calls, 1);
	xdp.tail_calls = BPF_TAIL_CALLS_MAX;
	assert_true(interpret(caller, ARRAY_LEN(caller), NULL, true, &run));
	assert_int_equal(run.result, 4);
}

/* What the verifier has marked as dead is executed: one of the two is wrong. */
static void dead_code(void **s)
{
	(void)s;
	static const struct bpf_insn insns[] = {MOV_K(0, 1), EXIT};
	struct bpf_run run;
	for (unsigned dead = 0; dead < ARRAY_LEN(insns); dead++) {
		struct bpf_note notes[ARRAY_LEN(insns)] = {0};
		assert_true(interpret(insns, ARRAY_LEN(insns), notes, false, &run));
		notes[dead].kind = BPF_NOTE_DEAD;
		assert_false(interpret(insns, ARRAY_LEN(insns), notes, false, &run));
		assert_non_null(strstr(run.why.text, "marked as dead"));
		assert_int_equal(run.insn, dead);
	}
}

int main(void)
{
	seed_random("test_bpf_interpret");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges), cmocka_unit_test(frames), cmocka_unit_test(structure), cmocka_unit_test(maps_and_helpers),
		cmocka_unit_test(reservations), cmocka_unit_test(context), cmocka_unit_test(tail_calls),
		cmocka_unit_test(dead_code),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
