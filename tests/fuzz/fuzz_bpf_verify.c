/*
 * The verifier (bpf/verifier/) and the compiler (bpf/compiler/). The input is a program (bpf_programs.h).
 *
 * - Verifying ends within its limits, whatever the program is.
 * - A program that the verifier accepts is run by the interpreter, which checks every access, over packets
 *   and map contents at random: it must never be stopped.
 * - Compiled, it does the same: result, packet, the bytes around it, and the memory of all maps are equal.
 *   A result may depend on where the stack is, because programs may compare addresses. So a difference
 *   counts if it is the same at many places of the stack.
 */
#include "tests/fuzz/input.h"

#include <alloca.h>
#include <signal.h>

#include "bpf/insn_text.h"
#include "bpf/interpret.h"
#include "bpf/maps/map.h"
#include "bpf/xdp.h"
#include "tests/bpf/execute.h"
#include "tests/fuzz/bpf_programs.h"

#define RUNS 6
#define STEPS 200000
#define ROOM 64         /* before and behind a packet */
#define PACKET_MAX 114
#define PLACES 96       /* of the stack, before a difference counts */

static uint64_t state; /* for choices that are not the input's: contents */

static uint64_t any64(void)
{
	state = (state + 1) * 0x9e3779b97f4a7c15u;
	return state ^ state >> 29;
}

/* --- the machine --- */

static struct bpf_map maps[RIG_MAPS];
static struct bpf_map *map_list[RIG_MAPS];
static bpf_helper helpers[BPF_HELPERS];
static const struct bpf_env env = {.maps = map_list, .map_count = RIG_MAPS, .helpers = helpers,
	.helper_count = BPF_HELPERS, .lookup_for = bpf_map_lookup_for};

/* All that a program can change: the same before each run. */
static struct packet {
	struct bpf_xdp xdp;
	uint8_t bytes[PACKET_MAX + 2 * ROOM];
} packet, packet_before;
static struct memory {
	uint8_t *at, *before;
	size_t bytes;
} memories[2 * RIG_MAPS]; /* shared and own of each map */
static uint64_t state_before;

static uint64_t adjust_head(uint64_t c, uint64_t delta, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)c, (void)r3, (void)r4, (void)r5;
	uint8_t *to = packet.xdp.data + (int32_t)delta;
	if (to < packet.xdp.start || to + 14 > packet.xdp.data_end)
		return (uint64_t)-22;
	packet.xdp.data = packet.xdp.data_meta = to;
	return 0;
}

static uint64_t adjust_meta(uint64_t c, uint64_t delta, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)c, (void)r3, (void)r4, (void)r5;
	uint8_t *to = packet.xdp.data_meta + (int32_t)delta;
	if (to < packet.xdp.start || to > packet.xdp.data)
		return (uint64_t)-22;
	packet.xdp.data_meta = to;
	return 0;
}

static uint64_t adjust_tail(uint64_t c, uint64_t delta, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)c, (void)r3, (void)r4, (void)r5;
	uint8_t *to = packet.xdp.data_end + (int32_t)delta;
	if (to > packet.xdp.end || to < packet.xdp.data + 14)
		return (uint64_t)-22;
	packet.xdp.data_end = to;
	return 0;
}

/* If it fails, the memory is zeroed: what it held may be bytes that nobody wrote. */
static uint64_t load_bytes(uint64_t c, uint64_t offset, uint64_t to, uint64_t size, uint64_t r5)
{
	(void)c, (void)r5;
	const uint64_t length = (uint64_t)(packet.xdp.data_end - packet.xdp.data);
	const bool inside = (uint32_t)offset <= length && size <= length - (uint32_t)offset;
	memset((void *)(uintptr_t)to, 0, size);
	if (inside)
		memcpy((void *)(uintptr_t)to, packet.xdp.data + (uint32_t)offset, size);
	return inside ? 0 : (uint64_t)-22;
}

static uint64_t random_u32(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return (uint32_t)any64();
}

static bool in_packet(const void *at, size_t bytes, bool write)
{
	(void)write;
	const uint8_t *p = at;
	return p >= packet.xdp.data_meta && p <= packet.xdp.data_end && bytes <= (size_t)(packet.xdp.data_end - p);
}

static uint8_t *take_memory(unsigned n, size_t bytes)
{
	memories[n] = (struct memory){aligned_alloc(64, 64 + bytes), malloc(64 + bytes), 64 + bytes};
	memset(memories[n].at, 0, 64 + bytes);
	return memories[n].at;
}

static void make_maps(void)
{
	static const uint64_t key[2] = {1, 2};
	for (unsigned m = 0; m < RIG_MAPS; m++) {
		uint8_t *shared = take_memory(2 * m, bpf_map_shared_bytes(&rig_maps[m], 1));
		uint8_t *own = take_memory(2 * m + 1, bpf_map_own_bytes(&rig_maps[m], 1));
		bpf_map_init(&maps[m], &rig_maps[m], shared, &own, 1, key);
		map_list[m] = &maps[m];
	}
	bpf_map_helpers(helpers);
	helpers[BPF_FN_XDP_ADJUST_HEAD] = adjust_head;
	helpers[BPF_FN_XDP_ADJUST_META] = adjust_meta;
	helpers[BPF_FN_XDP_ADJUST_TAIL] = adjust_tail;
	helpers[BPF_FN_XDP_LOAD_BYTES] = load_bytes;
	helpers[BPF_FN_GET_PRANDOM_U32] = random_u32;
}

static uint64_t content(void)
{
	static const uint64_t some[] = {0, 1, 7, 40, 47, 48, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, UINT64_MAX,
		1ull << 63};
	const uint64_t x = any64();
	return x >> 60 < 10 ? some[(x >> 32) % ARRAY_LEN(some)] : x >> (x & 63);
}

static void make_contents(void)
{
	uint8_t *at = packet.bytes + ROOM;
	const size_t bytes = 14 + any64() % (PACKET_MAX - 14);
	for (size_t i = 0; i < sizeof packet.bytes; i++)
		packet.bytes[i] = (uint8_t)content();
	packet.xdp = (struct bpf_xdp){.data = at, .data_end = at + bytes, .data_meta = at, .ingress_ifindex = 1,
		.start = packet.bytes, .end = packet.bytes + sizeof packet.bytes};
	for (unsigned n = 0; n < 4 * 48 / 8; n++) {
		const uint64_t x = content();
		memcpy(maps[ARRAY48].shared + 8 * n, &x, 8);
	}
	for (struct memory *m = memories; m < memories + ARRAY_LEN(memories); m++)
		memcpy(m->before, m->at, m->bytes);
	packet_before = packet;
	state_before = state;
}

static void restore_contents(void)
{
	for (struct memory *m = memories; m < memories + ARRAY_LEN(memories); m++)
		memcpy(m->at, m->before, m->bytes);
	packet = packet_before;
	state = state_before;
}

/* --- runs --- */

/* Hashes of all that a run changes. */
struct outcome {
	uint64_t result, packet, memory[ARRAY_LEN(memories)];
};

static uint64_t hash(const void *at, size_t bytes)
{
	const uint8_t *p = at;
	uint64_t h = bytes;
	for (size_t i = 0; i + 8 <= bytes; i += 8) {
		uint64_t x;
		memcpy(&x, p + i, 8);
		h = (h ^ x) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	for (size_t i = bytes & ~(size_t)7; i < bytes; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h;
}

static void take_outcome(struct outcome *o, uint64_t result)
{
	packet.xdp.tail_calls = 0;
	o->result = (uint32_t)result;
	o->packet = hash(&packet, sizeof packet);
	for (unsigned m = 0; m < ARRAY_LEN(memories); m++)
		o->memory[m] = hash(memories[m].at, memories[m].bytes);
}

static void print_program(void)
{
	char text[BPF_INSN_TEXT];
	for (uint32_t i = 0; i < count; i++) {
		fprintf(stderr, "%4u  %s\n", i, bpf_insn_text(text, &insns[i]));
		if (bpf_is_wide(&insns[i]))
			i++;
	}
}

static void interpret(const struct bpf_program *program, const struct bpf_note *notes, struct outcome *o)
{
	struct bpf_run r = {.context = &packet.xdp, .steps = STEPS};
	restore_contents();
	if (!bpf_interpret(program, notes, &env, (uint64_t)(uintptr_t)&packet.xdp, 0, in_packet, &r)) {
		print_program();
		fprintf(stderr, "accepted, but: %s\n", r.why.text);
		abort();
	}
	take_outcome(o, r.result);
}

/* clang from 17 on would look for the function's type in front of its code. */
__attribute__((no_sanitize("function"))) static void run_compiled(const struct executable *x, struct outcome *o)
{
	restore_contents();
	take_outcome(o, ((uint64_t (*)(struct bpf_xdp *))(uintptr_t)x->at)(&packet.xdp));
}

/* Both with the stack `lower` bytes lower; true if one of the two differs from what it was before. */
static __attribute__((noinline)) bool differs_below(size_t lower, const struct bpf_program *program,
                                                    const struct bpf_note *notes, const struct executable *x,
                                                    const struct outcome *interpreted, const struct outcome *compiled)
{
	struct outcome o;
	volatile uint8_t *room = alloca(lower);
	room[0] = 1;
	interpret(program, notes, &o);
	if (memcmp(&o, interpreted, sizeof o))
		return true;
	run_compiled(x, &o);
	return memcmp(&o, compiled, sizeof o) != 0;
}

/* Code that the compiler took for dead. libFuzzer does not catch this signal. */
static void trapped(int signal)
{
	(void)signal;
	print_program();
	fprintf(stderr, "accepted, but the compiled program runs into a trap\n");
	abort();
}

static void compare(const struct bpf_program *program, const struct bpf_note *notes, const struct executable *x)
{
	struct outcome interpreted, compiled;
	interpret(program, notes, &interpreted);
	run_compiled(x, &compiled);
	if (!memcmp(&interpreted, &compiled, sizeof compiled))
		return;
	for (size_t n = 1; n < PLACES; n++)
		if (differs_below(8 * n + (n % 3 == 0 ? 0x5008 * n : 0), program, notes, x, &interpreted, &compiled))
			return;
	print_program();
	fprintf(stderr, "R0: interpreted 0x%lx, compiled 0x%lx; packet %s\n", interpreted.result, compiled.result,
	        interpreted.packet == compiled.packet ? "equal" : "differs");
	for (unsigned m = 0; m < ARRAY_LEN(memories); m++)
		if (interpreted.memory[m] != compiled.memory[m])
			fprintf(stderr, "%s memory of map %s differs\n", m & 1 ? "own" : "shared", rig_maps[m / 2].name);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bpf_note notes[ARRAY_LEN(insns)];
	static uint8_t *space;
	if (!space) {
		space = malloc(BPF_VERIFY_MEMORY);
		make_maps();
		signal(SIGTRAP, trapped);
	}
	in = (struct input){data, size};
	state = size;
	for (size_t i = 0; i < size; i++)
		state = state * 31 + data[i];
	make_program();

	const struct bpf_program program = {.name = "fuzz", .section = "xdp", .insns = insns, .count = count};
	const struct bpf_limits limits = {20000, 4000};
	struct bpf_memory memory = {space, space + (24u << 20)};
	struct bpf_verdict verdict;
	bpf_verify(&program, rig_maps, RIG_MAPS, BPF_CONTEXT_XDP, 0, limits, &memory, notes, &verdict);
	if (!verdict.ok) {
		assert(verdict.why.text[0]);
		assert(!strstr(verdict.why.text, "internal error"));
		return 0;
	}
	struct executable x = {0};
	struct bpf_reason why;
	if (!executable_make(&x, &program, notes, &env, &why)) {
		print_program();
		fprintf(stderr, "verified, but the compiler refuses it: %s\n", why.text);
		abort();
	}
	for (unsigned n = 0; n < RUNS; n++) {
		make_contents();
		compare(&program, notes, &x);
	}
	executable_free(&x);
	return 0;
}
