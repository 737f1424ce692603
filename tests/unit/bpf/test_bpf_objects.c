/* The loader on objects that clang made: those of tests/bpf/, and those of Debian's package xdp-tools. Each
 * is loaded whole, cut, and changed at random. The programs themselves are the verifier's and the
 * compiler's tests. */
#include "tests/unit/rig/bpf_elf.h"

#include <glob.h>

#include "bpf/object/object.h"
#include "bpf/xdp.h"

#define XDP_TOOLS "/usr/lib/*/bpf/*.o"

static uint8_t *file;
static size_t bytes;

static void read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	if (!f)
		fail_msg("%s cannot be opened: make bpf-programs", path);
	free(file);
	fseek(f, 0, SEEK_END);
	bytes = (size_t)ftell(f);
	rewind(f);
	file = malloc(bytes);
	assert_int_equal(fread(file, 1, bytes, f), bytes);
	fclose(f);
}

static void loads(const char *path)
{
	read_file(path);
	const bool ok = make_load(file, bytes);
	if (!ok)
		fail_msg("%s: %s", path, made_why.text);
}

static const struct bpf_map_def *map_named(const char *name)
{
	for (unsigned i = 0; i < made.map_count; i++)
		if (strcmp(made.maps[i].name, name) == 0)
			return &made.maps[i];
	fail_msg("there is no map %s", name);
	return NULL;
}

static const struct bpf_program *program_named(const char *name)
{
	for (unsigned i = 0; i < made.program_count; i++)
		if (strcmp(made.programs[i].name, name) == 0)
			return &made.programs[i];
	fail_msg("there is no program %s", name);
	return NULL;
}

/* How often a program names a map, or a place in a map of data. */
static unsigned uses(const struct bpf_program *p, const char *map, int64_t offset)
{
	const int32_t index = (int32_t)(map_named(map) - made.maps);
	unsigned n = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		if (!bpf_is_wide(&p->insns[i]))
			continue;
		if (p->insns[i].src != BPF_WIDE_NUMBER && p->insns[i].imm == index &&
		    (offset < 0 || p->insns[i + 1].imm == offset))
			n++;
		i++;
	}
	return n;
}

/* --- tests/bpf/programs --- */

static void all_load(void **s)
{
	(void)s;
	glob_t g;
	assert_int_equal(glob("build/bpf/*.o", 0, NULL, &g), 0);
	assert_true(g.gl_pathc >= 17);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		loads(g.gl_pathv[i]);
		assert_string_equal(made.license, "Dual BSD/GPL");
	}
	globfree(&g);
}

static void sections(void **s)
{
	(void)s;
	static const char *const want[][2] = {{"pass", "xdp"}, {"aborted", "xdp"}, {"named", "xdp/named"},
	                                      {"frags", "xdp.frags"}, {"old_style", "xdp_old_style"}};
	loads("build/bpf/pass.o");
	assert_int_equal(made.program_count, ARRAY_LEN(want));
	for (unsigned i = 0; i < ARRAY_LEN(want); i++)
		assert_string_equal(program_named(want[i][0])->section, want[i][1]);
}

static void maps(void **s)
{
	(void)s;
	static const struct {
		const char *object, *map;
		uint32_t type, key_bytes, value_bytes, entries, flags;
	} want[] = {
		{"count", "counters", BPF_MAP_ARRAY, 4, 16, 4, 0},
		{"five_tuple", "blocked", BPF_MAP_HASH, 16, 8, 10000, 0},
		{"lpm", "sources4", BPF_MAP_LPM_TRIE, 8, 4, 100000, BPF_F_NO_PREALLOC},
		{"lpm", "sources6", BPF_MAP_LPM_TRIE, 20, 4, 10000, BPF_F_NO_PREALLOC},
		{"parse", "protocols", BPF_MAP_PERCPU_ARRAY, 4, 8, 256, 0},
		{"redirect", "ports", BPF_MAP_DEVMAP, 4, 4, 64, 0},
		{"redirect", "by_number", BPF_MAP_DEVMAP_HASH, 4, 8, 16, 0},
		{"tail_calls", "programs", BPF_MAP_PROG_ARRAY, 4, 4, 4, 0},
		{"ring", "events", BPF_MAP_RINGBUF, 0, 0, 65536, 0},
		{"per_cpu", "sources", BPF_MAP_PERCPU_HASH, 4, 16, 1024, 0},
		{"per_cpu", "recent", BPF_MAP_LRU_HASH, 4, 16, 512, 0},
		{"per_cpu", "recent_here", BPF_MAP_LRU_PERCPU_HASH, 4, 8, 512, 0},
		{"legacy_maps", "packets", BPF_MAP_PERCPU_ARRAY, 4, 8, 1, 0},
		{"legacy_maps", "sockets", BPF_MAP_XSKMAP, 4, 4, 64, 0},
	};
	for (unsigned i = 0; i < ARRAY_LEN(want); i++) {
		char path[100];
		snprintf(path, sizeof path, "build/bpf/%s.o", want[i].object);
		loads(path);
		const struct bpf_map_def *m = map_named(want[i].map);
		assert_int_equal(m->type, want[i].type);
		assert_int_equal(m->key_bytes, want[i].key_bytes);
		assert_int_equal(m->value_bytes, want[i].value_bytes);
		assert_int_equal(m->entries, want[i].entries);
		assert_int_equal(m->flags, want[i].flags);
		assert_true(uses(&made.programs[made.program_count - 1], want[i].map, -1) >= 1);
	}
}

/* Each variable is initialised, and each reference leads to one. */
static void globals(void **s)
{
	(void)s;
	loads("build/bpf/globals.o");
	const struct bpf_program *p = program_named("globals");
	const struct bpf_map_def *rodata = map_named(".rodata"), *data = map_named(".data"),
				 *bss = map_named(".bss");
	assert_int_equal(rodata->flags, BPF_F_RDONLY_PROG);
	static const uint16_t ports[] = {1000, 2000};
	assert_memory_equal(rodata->initial, ports, sizeof ports);
	static const uint64_t budget = 1000000;
	static const uint32_t calls_first = 7;
	assert_int_equal(data->value_bytes, 12);
	assert_memory_equal(data->initial, &budget, 8);
	assert_memory_equal(data->initial + 8, &calls_first, 4);
	assert_null(bss->initial);
	assert_true(bss->value_bytes >= 8 + 8 + 4 + 128);
	assert_true(uses(p, ".rodata", 0) >= 1 && uses(p, ".rodata", 2) >= 1); /* the two ports */
	assert_true(uses(p, ".data", 0) >= 1 && uses(p, ".data", 8) >= 1);     /* budget, calls */
	assert_true(uses(p, ".bss", -1) >= 3);
}

/* The functions are behind the program, each once, and each call leads to the first instruction of one. */
static void subprograms(void **s)
{
	(void)s;
	loads("build/bpf/functions.o");
	const struct bpf_program *p = program_named("functions");
	unsigned calls = 0, exits = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		const struct bpf_insn *insn = &p->insns[i];
		exits += insn->opcode == (BPF_JMP | BPF_EXIT);
		if (insn->opcode != (BPF_JMP | BPF_CALL) || insn->src != BPF_CALL_LOCAL)
			continue;
		const struct bpf_insn *before = insn + insn->imm;
		assert_int_equal(before->opcode, BPF_JMP | BPF_EXIT); /* a function ends before each */
		calls++;
	}
	assert_int_equal(calls, 4); /* bucket, mix, fold twice */
	assert_true(exits >= 4);
	const struct bpf_program *other = program_named("by_port");
	assert_true(other->count < p->count);
}

static void tail_calls(void **s)
{
	(void)s;
	static const struct {
		uint32_t index;
		const char *program;
	} want[] = {{0, "ip4"}, {1, "ip6"}, {3, "again"}};
	loads("build/bpf/tail_calls.o");
	assert_int_equal(made.slot_count, ARRAY_LEN(want));
	for (unsigned i = 0; i < ARRAY_LEN(want); i++) {
		assert_int_equal(made.slots[i].index, want[i].index);
		assert_string_equal(made.maps[made.slots[i].map].name, "programs");
		assert_string_equal(made.programs[made.slots[i].program].name, want[i].program);
	}
}

static void chain(void **s)
{
	(void)s;
	loads("build/bpf/chain.o");
	assert_int_equal(program_named("early")->priority, 5);
	assert_int_equal(program_named("early")->chain_on, 1 << XDP_PASS | 1 << XDP_DROP);
	assert_int_equal(program_named("late")->priority, 90);
	assert_int_equal(program_named("late")->chain_on, 1 << XDP_PASS | 1 << XDP_TX);
	assert_int_equal(program_named("ordinary")->priority, 50);
	assert_int_equal(program_named("ordinary")->chain_on, 1 << XDP_PASS);
}

/* What compilers make and this loader does not support, each with its reason. */
static void refusals(void **s)
{
	(void)s;
	static const char *const want[][2] = {
		{"kernel_type", "of function device needs net_device of a running kernel"},
		{"ksym", "jiffies is not in the object"},
		{"kfunc", "bpf_xdp_metadata_rx_hash is not in the object"},
		{"kconfig", "CONFIG_HZ is an option of Linux' configuration"},
		{"map_of_maps", "map outer: maps of maps"},
		{"callback", "the address of a function in .text"},
		{"tc", "sections of code: tc, fentry/something"},
		{"weak", NULL},
	};
	for (unsigned i = 0; i < ARRAY_LEN(want); i++) {
		char path[100];
		snprintf(path, sizeof path, "build/bpf/refused/%s.o", want[i][0]);
		read_file(path);
		assert_int_equal(make_load(file, bytes), want[i][1] == NULL);
		if (want[i][1] && !strstr(made_why.text, want[i][1]))
			fail_msg("%s: %s", path, made_why.text);
	}
}

/* --- Debian's --- */

static void xdp_tools(void **s)
{
	(void)s;
	glob_t g;
	unsigned filters = 0;
	if (glob(XDP_TOOLS, 0, NULL, &g) != 0) {
		print_message("the package xdp-tools is not installed\n");
		skip();
	}
	for (size_t i = 0; i < g.gl_pathc; i++) {
		if (strstr(g.gl_pathv[i], "xdpdump_bpf")) { /* programs of fentry and fexit */
			read_file(g.gl_pathv[i]);
			assert_false(make_load(file, bytes));
			continue;
		}
		if (!strstr(g.gl_pathv[i], "xdpfilt_")) {
			loads(g.gl_pathv[i]);
			continue;
		}
		loads(g.gl_pathv[i]);
		assert_int_equal(made.program_count, 1);
		assert_int_equal(made.programs[0].priority, 10);
		assert_int_equal(map_named("xdp_stats_map")->type, BPF_MAP_PERCPU_ARRAY);
		filters++;
	}
	assert_true(filters >= 10);
	globfree(&g);
}

/* --- damage --- */

static void put(size_t at, uint64_t value, unsigned n)
{
	memcpy(file + at, &value, n);
}

static uint64_t get(size_t at, unsigned n)
{
	uint64_t value = 0;
	memcpy(&value, file + at, n);
	return value;
}

/* Objects with something of everything. */
static const char *const rich[] = {"build/bpf/globals.o", "build/bpf/tail_calls.o", "build/bpf/functions.o",
                                   "build/bpf/legacy_maps.o", "build/bpf/core.o", "build/bpf/chain.o"};

/* The file cut at any byte, and each section shorter by any number of bytes. */
static void cut(void **s)
{
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(rich); i++) {
		read_file(rich[i]);
		for (size_t n = 0; n < bytes; n += n < 100 || n + 100 > bytes ? 1 : 13)
			assert_false(make_load(file, n));
		const size_t headers = get(40, 8), count = get(60, 2);
		for (size_t k = 1; k < count; k++) {
			const size_t at = headers + 64 * k + 32, size = get(at, 8);
			const size_t step = size > 512 ? 11 : 1;
			for (size_t n = 0; n < size; n += step) {
				put(at, n, 8);
				make_load(file, bytes);
			}
			put(at, size, 8);
		}
		assert_true(make_load(file, bytes));
	}
}

/* A place that a loader reads: the header, a section header, or a byte of a section that it uses. */
static size_t likely_place(size_t headers, size_t count)
{
	const uint32_t kind = random_below(10);
	if (kind == 0)
		return random_below(64);
	if (kind < 4)
		return headers + random_below((uint32_t)(64 * count));
	if (kind == 4)
		return random_below((uint32_t)bytes);
	const size_t section = headers + 64 * random_below((uint32_t)count);
	const size_t from = get(section + 24, 8), size = get(section + 32, 8);
	return size ? from + random_below((uint32_t)size) : 0;
}

static void mutate(size_t headers, size_t count)
{
	static const uint64_t values[] = {0,    1,      2,          4,          8,          0x7f,      0x80,
	                                  0xff, 0xffff, 0x7fffffff, 0x80000000, UINT32_MAX, UINT64_MAX};
	for (uint32_t n = 1 + random_below(4); n; n--) {
		const size_t at = likely_place(headers, count);
		const unsigned width = 1u << random_below(4);
		if (at + width > bytes)
			continue;
		switch (random_below(3)) {
		case 0: put(at, values[random_below(ARRAY_LEN(values))], width); break;
		case 1: put(at, get(at, width) ^ 1ull << random_below(8 * width), width); break;
		default: put(at, get(at, width) + random_below(33) - 16, width); break;
		}
	}
}

static void random_damage(void **s)
{
	(void)s;
	glob_t g;
	unsigned loaded = 0, refused = 0;
	seed_random("random_damage");
	assert_int_equal(glob("build/bpf/*.o", 0, NULL, &g), 0);
	glob("build/bpf/refused/*.o", GLOB_APPEND, NULL, &g);
	glob(XDP_TOOLS, GLOB_APPEND, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		read_file(g.gl_pathv[i]);
		const size_t headers = get(40, 8), count = get(60, 2);
		uint8_t *original = malloc(bytes);
		memcpy(original, file, bytes);
		for (unsigned n = 0; n < 1000; n++) {
			mutate(headers, count);
			const bool ok = random_below(20) ? make_load(file, bytes)
			                                 : make_load_in(file, bytes, random_below(40000));
			*(ok ? &loaded : &refused) += 1;
			memcpy(file, original, bytes);
		}
		free(original);
	}
	globfree(&g);
	printf("%u changed objects loaded, %u were refused\n", loaded, refused);
	assert_true(loaded && refused);
}

static int finish(void **s)
{
	(void)s;
	free(file);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_load),
		cmocka_unit_test(sections),
		cmocka_unit_test(maps),
		cmocka_unit_test(globals),
		cmocka_unit_test(subprograms),
		cmocka_unit_test(tail_calls),
		cmocka_unit_test(chain),
		cmocka_unit_test(refusals),
		cmocka_unit_test(xdp_tools),
		cmocka_unit_test(cut),
		cmocka_unit_test(random_damage),
	};
	return cmocka_run_group_tests_name("bpf_objects", tests, NULL, finish);
}
