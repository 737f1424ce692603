/* Loader, verifier and compiler need no zeroed memory, because they read nothing in it that they have not
 * written: with different bytes in it they do the same with every object of tests/bpf/. So the control
 * core does not zero its working memory (control/programs/load.c), which may have 120 MiB. */
#include "tests/unit/rig/host.h"

#include <glob.h>

#include "bpf/compile.h"
#include "bpf/helpers.h"
#include "bpf/maps/map.h"
#include "bpf/object/object.h"
#include "bpf/verify.h"

#define VERIFY_BYTES (4u << 20)
#define FILLS 3 /* zero, ones, random */

static uint8_t file[1 << 20];
static size_t bytes;
static uint64_t helper(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e) { return a + b + c + d + e; }

/* What has been made of one program, as a text and bytes that can be compared. */
struct result {
	struct bpf_verdict verdict;
	struct bpf_code code;
	struct bpf_reason why;
	struct bpf_note *notes;
	uint32_t *where;
	uint8_t *out;
	size_t out_bytes;
};

static uint8_t *filled(size_t size, unsigned fill)
{
	uint8_t *at = malloc(size);
	if (fill == 2)
		random_fill(at, size);
	else
		memset(at, fill ? 0xff : 0, size);
	return at;
}

static void compile(const struct bpf_program *p, struct bpf_map *const *maps, unsigned map_count, unsigned fill,
                    struct result *r)
{
	static bpf_helper table[BPF_HELPERS];
	for (unsigned i = 0; i < BPF_HELPERS; i++)
		table[i] = helper;
	const struct bpf_env env = {.maps = maps, .map_count = map_count, .helpers = table, .helper_count = BPF_HELPERS};
	const size_t room = BPF_COMPILE_MEMORY(p->count);
	uint8_t *space = filled(room, fill);
	struct bpf_memory memory = {space, space + room};
	r->out_bytes = bpf_code_room(p->count);
	r->out = filled(r->out_bytes, fill);
	if (bpf_compile(p, r->notes, &env, 0x70000000, r->out, r->out_bytes, &memory, &r->code, &r->why)) {
		r->where = malloc(p->count * sizeof *r->where);
		memcpy(r->where, r->code.where, p->count * sizeof *r->where);
	}
	free(space);
}

static void run(const struct bpf_object *o, const struct bpf_program *p, struct bpf_map *const *maps, unsigned fill,
                struct result *r)
{
	uint8_t *space = filled(VERIFY_BYTES, fill);
	struct bpf_memory memory = {space, space + VERIFY_BYTES};
	const struct bpf_limits limits = {30000, 30000};
	*r = (struct result){.notes = malloc(p->count * sizeof *r->notes)};
	bpf_verify(p, o->maps, o->map_count, BPF_CONTEXT_XDP, 0, limits, &memory, r->notes, &r->verdict);
	free(space);
	if (r->verdict.ok)
		compile(p, maps, o->map_count, fill, r);
}

static void same(const char *path, const struct bpf_program *p, const struct result *a, const struct result *b)
{
	if (a->verdict.ok != b->verdict.ok || a->verdict.steps != b->verdict.steps ||
	    a->verdict.states != b->verdict.states || a->verdict.stack != b->verdict.stack ||
	    strcmp(a->verdict.why.text, b->verdict.why.text) != 0 || a->code.ok != b->code.ok ||
	    a->code.bytes != b->code.bytes)
		fail_msg("%s, program %s: other results in memory with other bytes", path, p->name);
	if (!a->verdict.ok || !a->code.ok)
		return;
	assert_memory_equal(a->notes, b->notes, p->count * sizeof *a->notes);
	assert_memory_equal(a->where, b->where, p->count * sizeof *a->where);
	assert_memory_equal(a->out, b->out, a->code.bytes);
}

/* Maps that look like those of the object; no program runs. */
static void make_maps(const struct bpf_object *o, struct bpf_map *maps, struct bpf_map **list)
{
	for (unsigned i = 0; i < o->map_count; i++) {
		const struct bpf_map_def *d = &o->maps[i];
		maps[i] = (struct bpf_map){.type = d->type, .key_bytes = d->key_bytes, .value_bytes = d->value_bytes,
		                           .value_stride = (d->value_bytes + 7) & ~7u, .entries = d->entries, .cores = 2,
		                           .shared = (uint8_t *)0x400000000000, .buckets = (uint8_t *)0x400000001000,
		                           .pool = (uint8_t *)0x400000002000, .entry_stride = 64, .value_at = 32};
		list[i] = &maps[i];
	}
}

/* Returns the number of programs that could be compiled. */
static unsigned object(const char *path)
{
	static struct bpf_object o[FILLS];
	static struct bpf_map maps[BPF_OBJECT_MAPS];
	struct bpf_map *list[BPF_OBJECT_MAPS];
	uint8_t *space[FILLS];
	unsigned compiled = 0;
	for (unsigned f = 0; f < FILLS; f++) {
		struct bpf_reason why;
		space[f] = filled(BPF_OBJECT_MEMORY(bytes), f);
		struct bpf_memory memory = {space[f], space[f] + BPF_OBJECT_MEMORY(bytes)};
		memset(&o[f], (int)f, sizeof o[f]);
		if (!bpf_object_load(file, bytes, &memory, &o[f], &why))
			fail_msg("%s: %s", path, why.text);
		assert_int_equal(o[f].program_count, o[0].program_count);
		assert_int_equal(o[f].map_count, o[0].map_count);
	}
	make_maps(&o[0], maps, list);
	for (unsigned i = 0; i < o[0].program_count; i++) {
		struct result r[FILLS];
		for (unsigned f = 0; f < FILLS; f++) {
			const struct bpf_program *p = &o[f].programs[i];
			assert_int_equal(p->count, o[0].programs[i].count);
			assert_memory_equal(p->insns, o[0].programs[i].insns, p->count * sizeof *p->insns);
			run(&o[f], p, list, f, &r[f]);
			same(path, p, &r[0], &r[f]);
		}
		compiled += r[0].verdict.ok && r[0].code.ok;
		for (unsigned f = 0; f < FILLS; f++) {
			free(r[f].notes);
			free(r[f].where);
			free(r[f].out);
		}
	}
	for (unsigned f = 0; f < FILLS; f++)
		free(space[f]);
	return compiled;
}

static void contents_do_not_matter(void **s)
{
	(void)s;
	glob_t g;
	unsigned compiled = 0;
	seed_random("bpf_memory");
	assert_int_equal(glob("build/bpf/*.o", 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		FILE *f = fopen(g.gl_pathv[i], "rb");
		assert_non_null(f);
		bytes = fread(file, 1, sizeof file, f);
		fclose(f);
		compiled += object(g.gl_pathv[i]);
	}
	assert_true(compiled >= g.gl_pathc);
	globfree(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(contents_do_not_matter)};
	return cmocka_run_group_tests_name("bpf_memory", tests, NULL, NULL);
}
