/*
 * Runs the instructions of a program, as the plug-ins of public conformance suites do:
 *
 *   bpf-run [--jit | --interpret] [--verify] [--memory HEX | HEX] [--program HEX]
 *
 * The program's bytes are hexadecimal digits, with white space anywhere, of --program or of standard input.
 * It runs with R1 = the address of the memory and R2 = its length, both 0 if there is none. It has no maps,
 * and those helpers that need neither a packet nor a map. R0 is printed in hexadecimal digits, without 0x. What is refused, or stops the
 * interpreter, is said on standard error, with exit code 1; so is a fault of the compiled program.
 *
 * A program is not verified unless --verify asks for it: suites test instructions, and some of their
 * programs read registers that nobody has set.
 */
#include <ctype.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bpf/compile.h"
#include "bpf/helpers.h"
#include "bpf/interpret.h"
#include "bpf/verify.h"
#include "tests/bpf/execute.h"

#define STEPS 10000000

static _Noreturn void die(const char *text)
{
	fprintf(stderr, "%s\n", text);
	exit(1);
}

static int digit(int c)
{
	return isdigit(c) ? c - '0' : isxdigit(c) ? tolower(c) - 'a' + 10 : -1;
}

/* The bytes of a text of hexadecimal digits, in new memory. */
static uint8_t *parse(const char *text, size_t *bytes)
{
	uint8_t *out = aligned_alloc(64, (strlen(text) / 2 + 64) & ~63ul);
	size_t digits = 0;
	for (const char *s = text; *s; s++) {
		if (isspace((unsigned char)*s))
			continue;
		const int d = digit((unsigned char)*s);
		if (d < 0)
			die("this is no hexadecimal digit");
		if (digits % 2)
			out[digits / 2] = (uint8_t)(out[digits / 2] << 4 | d);
		else
			out[digits / 2] = (uint8_t)d;
		digits++;
	}
	if (digits % 2)
		die("an odd number of hexadecimal digits");
	*bytes = digits / 2;
	return out;
}

static char *read_all(FILE *f)
{
	size_t used = 0, room = 65536;
	char *text = malloc(room);
	for (size_t n; (n = fread(text + used, 1, room - used - 1, f)) > 0; used += n)
		if (room - used - n == 1)
			text = realloc(text, room *= 2);
	text[used] = 0;
	return text;
}

struct options {
	bool interpret, verify;
	const char *memory, *program;
};

static struct options parse_options(int argc, char **argv)
{
	struct options o = {0};
	for (int i = 1; i < argc; i++) {
		const bool more = i + 1 < argc;
		if (!strcmp(argv[i], "--jit"))
			o.interpret = false;
		else if (!strcmp(argv[i], "--interpret"))
			o.interpret = true;
		else if (!strcmp(argv[i], "--verify"))
			o.verify = true;
		else if (!strcmp(argv[i], "--debug"))
			continue;
		else if (!strcmp(argv[i], "--memory") && more)
			o.memory = argv[++i];
		else if (!strcmp(argv[i], "--program") && more)
			o.program = argv[++i];
		else if (argv[i][0] != '-' && !o.memory)
			o.memory = argv[i];
		else
			die("usage: bpf-run [--jit | --interpret] [--verify] [--memory HEX | HEX] [--program HEX]");
	}
	return o;
}

#define ARGUMENTS uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5
#define UNUSED (void)r1, (void)r2, (void)r3, (void)r4, (void)r5

static uint64_t ktime_get_ns(ARGUMENTS)
{
	UNUSED;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t get_prandom_u32(ARGUMENTS)
{
	UNUSED;
	return (uint32_t)mrand48();
}

static uint64_t get_smp_processor_id(ARGUMENTS)
{
	UNUSED;
	return 0;
}

static const bpf_helper helpers[BPF_HELPERS] = {
	[BPF_FN_KTIME_GET_NS] = ktime_get_ns,
	[BPF_FN_KTIME_GET_BOOT_NS] = ktime_get_ns,
	[BPF_FN_GET_PRANDOM_U32] = get_prandom_u32,
	[BPF_FN_GET_SMP_PROCESSOR_ID] = get_smp_processor_id,
};

static uint64_t interpret(const struct bpf_program *p, const struct bpf_env *env, uint8_t *memory, size_t bytes)
{
	const struct bpf_range range = {memory, bytes, true};
	struct bpf_run run = {.ranges = &range, .range_count = bytes != 0, .steps = STEPS};
	if (!bpf_interpret(p, NULL, env, (uint64_t)(uintptr_t)memory, bytes, NULL, &run))
		die(run.why.text);
	return run.result;
}

static void fault(int signal)
{
	static const char text[] = "the compiled program caused a fault\n";
	if (write(2, text, sizeof text - 1) < 0)
		_exit(2);
	_exit(signal ? 1 : 2);
}

static uint64_t compiled(const struct bpf_program *p, const struct bpf_env *env, uint8_t *memory, size_t bytes)
{
	struct bpf_reason why;
	struct executable code;
	if (!executable_make(&code, p, NULL, env, &why))
		die(why.text);
	signal(SIGSEGV, fault);
	signal(SIGBUS, fault);
	signal(SIGFPE, fault);
	signal(SIGTRAP, fault);
	const uint64_t result = ((uint64_t (*)(void *, uint64_t))(uintptr_t)code.at)(memory, bytes);
	executable_free(&code);
	return result;
}

static void verify(const struct bpf_program *p, size_t bytes)
{
	struct bpf_memory memory = {mmap(NULL, BPF_VERIFY_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), NULL};
	memory.end = memory.at + BPF_VERIFY_MEMORY;
	struct bpf_note *notes = calloc(p->count, sizeof *notes);
	struct bpf_verdict verdict = {0};
	bpf_verify(p, NULL, 0, BPF_CONTEXT_MEMORY, (uint32_t)bytes, BPF_LIMITS_DEFAULT, &memory, notes, &verdict);
	if (!verdict.ok)
		die(verdict.why.text);
	free(notes);
}

int main(int argc, char **argv)
{
	const struct options o = parse_options(argc, argv);
	size_t bytes = 0, program_bytes;
	uint8_t *memory = o.memory ? parse(o.memory, &bytes) : NULL;
	char *input = o.program ? NULL : read_all(stdin);
	uint8_t *insns = parse(o.program ? o.program : input, &program_bytes);
	if (program_bytes == 0 || program_bytes % sizeof(struct bpf_insn))
		die("a program is a number of instructions of 8 bytes");
	const struct bpf_program program = {.insns = (const struct bpf_insn *)(const void *)insns,
	                                    .count = (uint32_t)(program_bytes / sizeof(struct bpf_insn))};
	const struct bpf_env env = {.helpers = helpers, .helper_count = BPF_HELPERS};
	if (o.verify)
		verify(&program, bytes);
	printf("%lx\n", o.interpret ? interpret(&program, &env, memory, bytes) : compiled(&program, &env, memory, bytes));
	free(insns);
	free(input);
	free(memory);
	return 0;
}
