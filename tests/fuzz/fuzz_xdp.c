/*
 * Requests of HTTP about XDP programs and maps (control/management/xdp.c, xdp_entries.c), and the words of map
 * entries that they become (control/programs/entries.c), over maps of all kinds.
 *
 * - A refused request changes no map, and says why; of a list, the map may refuse an entry after others were set.
 * - Constants and rings stay as they are; a program array has code of its own object's programs, or nothing; a
 *   device map has interfaces that exist.
 * - Every answer and every page is JSON, whatever the names in the object and the bytes in the maps are, and
 *   each item of a page fits into an empty text.
 *
 * Input: the number of requests; for each what it is, the map, the path or query, the content.
 */
#include "tests/fuzz/input.h"

#include "abi/boot_info.h"
#include "control/management/page.h"
#include "control/programs/programs.h"
#include "dataplane/state.h"
#include "runtime/runtime.h"
#include "tests/fuzz/json.h"

#define CORES 2
#define REQUESTS_MAX 6
#define INTERFACES 3
#define ARRAY 0
#define RODATA 1
#define PROGS 2
#define DEVMAP 3

static const struct bpf_map_def defs[] = {
	[ARRAY] = {"array", BPF_MAP_ARRAY, 4, 400, 3, 0, NULL, false, NULL},
	[RODATA] = {".rodata", BPF_MAP_ARRAY, 4, 16, 1, BPF_F_RDONLY_PROG, NULL, true, NULL},
	[PROGS] = {"progs", BPF_MAP_PROG_ARRAY, 4, 4, 4, 0, NULL, false, NULL},
	[DEVMAP] = {"devices", BPF_MAP_DEVMAP, 4, 4, 4, 0, NULL, false, NULL},
	{"devhash", BPF_MAP_DEVMAP_HASH, 4, 4, 4, 0, NULL, false, NULL},
	{"hash", BPF_MAP_HASH, 8, 1, 4, 0, NULL, false, NULL},
	{"lru", BPF_MAP_LRU_HASH, 130, 8, 4, 0, NULL, false, NULL},
	{"per_cpu", BPF_MAP_PERCPU_ARRAY, 4, 8, 2, 0, NULL, false, NULL},
	{"per_cpu_hash", BPF_MAP_PERCPU_HASH, 2, 2, 4, 0, NULL, false, NULL},
	{"lpm", BPF_MAP_LPM_TRIE, 8, 4, 4, BPF_F_NO_PREALLOC, NULL, false, NULL},
	{"cpus", BPF_MAP_CPUMAP, 4, 4, CORES, 0, NULL, false, NULL},
	{"xsks", BPF_MAP_XSKMAP, 4, 4, 2, 0, NULL, false, NULL},
	{"ring", BPF_MAP_RINGBUF, 0, 0, 4096, 0, NULL, false, NULL},
	{"perf", BPF_MAP_PERF_EVENT_ARRAY, 4, 4, CORES, 0, NULL, false, NULL},
};
#define MAPS ARRAY_LEN(defs)

static struct input in;
static struct bpf_map maps[MAPS];
static struct memory {
	uint8_t *at, *before;
	size_t bytes;
} memories[MAPS * (1 + CORES)];
static uint64_t before[MAPS]; /* contents */
static struct programs_object object;
static const uint8_t code[2][16];
static struct dp_state state;
static struct boot_info info = {.cores = CORES};
static uint8_t progress; /* what the store answers */

/* --- what the two files ask others --- */

struct core_self self = {.info = &info};

uint64_t core_now_ns(void)
{
	static uint64_t now;
	return now += 100000;
}

void *core_published_area(size_t *bytes)
{
	*bytes = sizeof state;
	return &state;
}

unsigned core_port_count(void) { return 2; }
bool config_is_object_name(struct text w) { return w.len && w.len < CONFIG_OBJECT_SIZE; }
const char *programs_action_word(unsigned action) { return action ? "drop" : "aborted"; }
const struct programs_object *programs_at(unsigned i) { return i ? NULL : &object; }

uint8_t *programs_upload(void)
{
	static uint8_t room[PROGRAMS_FILE_MAX];
	return room;
}

bool programs_in_use(const struct programs_object *o) { return o->version & 1; }

const struct programs_object *programs_find(struct text name)
{
	return text_equal(name, text_of(object.name)) ? &object : NULL;
}

const struct programs_program *programs_program_of(const struct programs_object *o, struct text name)
{
	for (unsigned i = 0; i < o->program_count; i++)
		if (text_equal(name, text_of(o->programs[i].name)))
			return &o->programs[i];
	return NULL;
}

const struct programs_map *programs_map_of(struct text name, const struct programs_object **o, const char **why)
{
	if (o)
		*o = &object;
	if (why)
		*why = "no object has such a map";
	for (unsigned m = 0; m < MAPS; m++)
		if (text_equal(name, text_of(object.maps[m].def.name)))
			return &object.maps[m];
	return NULL;
}

static enum programs_progress progress_now(struct bpf_reason *why)
{
	fmt_format(why->text, sizeof why->text, "the \"reason\" \\ %u", progress);
	return progress % 3;
}

enum programs_progress programs_put(struct text name, const uint8_t *file, size_t bytes, struct bpf_reason *why)
{
	(void)name;
	for (size_t i = 0; i < bytes; i++)
		progress = (uint8_t)(progress + file[i]);
	return progress_now(why) == PROGRAMS_DONE ? PROGRAMS_MORE : progress_now(why);
}

enum programs_progress programs_put_go(struct bpf_reason *why, const struct programs_object **loaded)
{
	*loaded = &object;
	return progress_now(why);
}

int programs_delete(struct text name, struct bpf_reason *why)
{
	progress_now(why);
	return !programs_find(name) ? E_NOENT : progress & 1 ? E_AGAIN : E_OK;
}

bool programs_running_at(unsigned port, unsigned i, struct programs_running *r)
{
	*r = (struct programs_running){.object = &object, .program = &object.programs[i]};
	return i < port + 1 && i < object.program_count;
}

/* --- the machine --- */

static uint8_t *take_memory(unsigned n, size_t bytes)
{
	memories[n] = (struct memory){aligned_alloc(64, 64 + bytes), malloc(64 + bytes), 64 + bytes};
	memset(memories[n].at, 0, 64 + bytes);
	return memories[n].at;
}

static void make_maps(void)
{
	static const uint64_t key[2] = {3, 4};
	for (unsigned m = 0; m < MAPS; m++) {
		const uint64_t own_bytes = bpf_map_own_bytes(&defs[m], CORES);
		uint8_t *own[CORES], *shared = take_memory(m * (1 + CORES), bpf_map_shared_bytes(&defs[m], CORES));
		for (unsigned c = 0; c < CORES; c++)
			own[c] = take_memory(m * (1 + CORES) + 1 + c, own_bytes);
		bpf_map_init(&maps[m], &defs[m], shared, own, CORES, key);
		object.maps[m] = (struct programs_map){.def = defs[m], .map = &maps[m], .kept = m & 1};
	}
	object.map_count = MAPS;
	state.ifs = INTERFACES;
	for (unsigned i = 0; i < INTERFACES; i++) {
		state.interface[i].mtu = 1500;
		state.interface[i].port = i == 2 ? DP_PORT_NONE : (uint8_t)i;
		snprintf(state.name[i], sizeof state.name[i], i == 2 ? "lo0" : "eth%u", i);
	}
}

/* Of `size` bytes with the NUL, from these characters. */
static void take_name(char *to, size_t size, const char *from)
{
	const size_t n = 1 + take8(&in) % (size - 1), kinds = strlen(from);
	for (size_t i = 0; i < n; i++)
		to[i] = from[take8(&in) % kinds];
	to[n] = 0;
}

static void start(void)
{
	for (unsigned m = 0; m < ARRAY_LEN(memories); m++)
		memcpy(memories[m].at, memories[m].before, memories[m].bytes);
	snprintf(object.name, sizeof object.name, "object_with_31_characters______");
	/* numbers with the most digits */
	object.file_bytes = object.verify_us = object.compile_us = object.longest_us = UINT32_MAX;
	object.version = take8(&in) % 2 ? UINT32_MAX : UINT32_MAX - 1;
	object.program_count = 2;
	for (unsigned p = 0; p < 2; p++)
		object.programs[p] = (struct programs_program){.name = {(char)('p' + p)}, .code = (uint8_t *)(uintptr_t)code[p],
			.insns = UINT32_MAX, .steps = UINT32_MAX, .stack = UINT32_MAX, .code_bytes = UINT32_MAX,
			.priority = UINT32_MAX, .chain_on = UINT32_MAX};
	snprintf(object.maps[ARRAY].def.name, BPF_NAME, "array");
	if (object.version % 2) {
		/* a license and a section may be of anything printable, names of what a symbol has (object_name) */
		take_name(object.license, sizeof object.license, "<\"\\aB 0/");
		take_name(object.programs[0].name, sizeof object.programs[0].name, "aZ09_.-$");
		take_name(object.programs[0].section, sizeof object.programs[0].section, "<\"\\aB/");
		take_name(object.maps[ARRAY].def.name, BPF_NAME, "aZ09_.-$");
	}
}

static uint64_t hash(uint64_t h, const void *at, size_t bytes)
{
	for (const uint8_t *p = at; bytes; bytes--)
		h = (h ^ *p++) * 0x100000001b3u;
	return h;
}

static bool has_entries(unsigned map)
{
	return map != PROGS && !programs_map_is_ring(&object.maps[map]);
}

/* Of all entries, in whatever order. Memory alone does not say it: an update that fails may have used a spare
 * entry. */
static uint64_t contents(unsigned map)
{
	uint64_t sum = 0;
	uint8_t key[BPF_KEY_MAX];
	bool there = bpf_map_next(&maps[map], NULL, key);
	for (unsigned n = 0; there && n < defs[map].entries; n++, there = bpf_map_next(&maps[map], key, key)) {
		uint64_t entry = hash(1, key, defs[map].key_bytes);
		for (unsigned c = 0; c < CORES; c++) {
			const void *value = bpf_map_value(&maps[map], key, c);
			entry = value ? hash(entry, value, defs[map].value_bytes) : entry + 1;
		}
		sum += entry;
	}
	return sum;
}

static void keep(void)
{
	for (unsigned m = 0; m < ARRAY_LEN(memories); m++)
		memcpy(memories[m].before, memories[m].at, memories[m].bytes);
	for (unsigned m = 0; m < MAPS; m++)
		before[m] = has_entries(m) ? contents(m) : 0;
}

static bool is_as_kept(unsigned map)
{
	if (has_entries(map))
		return contents(map) == before[map];
	for (unsigned m = map * (1 + CORES); m < (map + 1) * (1 + CORES); m++)
		if (memcmp(memories[m].at, memories[m].before, memories[m].bytes))
			return false;
	return true;
}

static void check_maps(void)
{
	for (unsigned m = 0; m < MAPS; m++)
		assert(is_as_kept(m) || (m != RODATA && !programs_map_is_ring(&object.maps[m])));
	for (unsigned i = 0; i < defs[PROGS].entries; i++) {
		uint64_t at;
		memcpy(&at, maps[PROGS].shared + 8 * i, 8);
		assert(!at || at == (uint64_t)(uintptr_t)code[0] || at == (uint64_t)(uintptr_t)code[1]);
	}
	for (unsigned m = DEVMAP; m <= DEVMAP + 1; m++) {
		uint8_t key[BPF_KEY_MAX];
		bool there = bpf_map_next(&maps[m], NULL, key);
		for (unsigned n = 0; there && n < defs[m].entries; n++, there = bpf_map_next(&maps[m], key, key)) {
			uint32_t index = 0;
			const void *value = bpf_map_value(&maps[m], key, 0);
			if (value)
				memcpy(&index, value, sizeof index);
			assert(index < INTERFACES);
		}
	}
}

/* --- requests --- */

static void read_page(const page_part *parts, const char *below, const char *query)
{
	static char whole[1u << 18];
	const struct page page = {.parts = parts};
	struct page_walk walk = {.below = below, .query = query};
	size_t used = 0;
	bool more = true;
	for (unsigned piece = 0; more; piece++) {
		char text[PAGE_ITEM_MAX];
		struct page_text t = {.out = {.at = text, .size = sizeof text}};
		assert(piece < 2000);
		more = page_fill(&page, &walk, &t); /* asserts that each item fits */
		if (t.broken)
			return;
		assert(used + t.out.used < sizeof whole);
		memcpy(whole + used, text, t.out.used);
		used += t.out.used;
	}
	whole[used] = 0;
	check_json(whole);
}

static void write(bool map, bool remove, const char *below, const char *query, uint8_t *content, uint32_t bytes)
{
	static char reply[PAGE_REPLY_MAX];
	struct page_write w = {.remove = remove, .below = below, .query = query, .content = content, .bytes = bytes,
		.reply = {.out = {.at = reply, .size = sizeof reply}}};
	reply[0] = 0;
	unsigned status;
	for (unsigned turn = 0; (status = map ? page_map_write(&w) : page_program_write(&w)) == 0; turn++) {
		assert(turn < (map ? 1000 : 4));
		w.again = true;
		progress++;
	}
	assert(!w.reply.out.full && w.reply.out.used);
	check_json(reply);
	assert(status == 200 || status == 201 || strncmp(reply, "{\"error\":\"", 10) == 0);
	const bool part = map && status == 409 && strstr(reply, "\"entries\":") && !strstr(reply, "\"entries\":0}");
	for (unsigned m = 0; m < MAPS; m++)
		assert(is_as_kept(m) || (map && (status == 200 || part)));
	check_maps();
}

/* Up to the next zero. */
static char *take_text(void)
{
	const size_t n = strnlen((const char *)in.p, in.n);
	char *text = malloc(n + 1);
	memcpy(text, in.p, n);
	text[n] = 0;
	in.p += n + (n < in.n);
	in.n -= n + (n < in.n);
	return text;
}

static void request(void)
{
	const uint8_t what = take8(&in), which = take8(&in);
	char *path = which & 0x80 ? take_text() : strdup(object.maps[which % MAPS].def.name), *query = take_text();
	const size_t length = what & 8 ? take16(&in) : 0, bytes = length < in.n ? length : in.n;
	uint8_t *content = exactly(in.p, bytes);
	in.p += bytes;
	in.n -= bytes;
	keep();
	switch (what % 8) {
	case 0: write(false, what & 16, which & 1 ? object.name : path, query, content, (uint32_t)bytes); break;
	case 1: read_page(page_map_exists(path) ? page_map : page_maps, path, query); break;
	case 2: read_page(which & 1 ? page_program : page_programs, object.name, query); break;
	default: write(true, what & 16, path, query, content, (uint32_t)bytes); break;
	}
	free(content);
	free(query);
	free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool made;
	static uint8_t *fresh[ARRAY_LEN(memories)];
	if (!made) {
		make_maps();
		for (unsigned m = 0; m < ARRAY_LEN(memories); m++)
			fresh[m] = exactly(memories[m].at, memories[m].bytes);
		made = true;
	}
	for (unsigned m = 0; m < ARRAY_LEN(memories); m++)
		memcpy(memories[m].before, fresh[m], memories[m].bytes);
	in = (struct input){data, size};
	start();
	for (unsigned n = 0; n < REQUESTS_MAX && in.n; n++)
		request();
	return 0;
}
