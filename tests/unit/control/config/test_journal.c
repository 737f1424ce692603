/* control/config/journal.c: committed changes are found again, whatever becomes of the program that wrote
 * them. */
#include "tests/unit/rig/host.h"

#include "control/config/journal.h"
#include "runtime/runtime.h"
#include "lib/fmt.h"

#define ROUTES 2000
#define MEMORY (4u << 20)

static struct {
	uint8_t memory[MEMORY];
	size_t used, kept_at, kept_bytes, most;
} w;

void *core_persist_alloc(enum core_persist what, size_t bytes)
{
	assert_int_equal(what, CORE_PERSIST_JOURNAL);
	bytes = (bytes + 4095) / 4096 * 4096;
	if (w.used + bytes > w.most)
		return NULL;
	w.kept_at = w.used;
	w.kept_bytes = bytes;
	w.used += bytes;
	return memset(w.memory + w.kept_at, 0, bytes);
}

void *core_persist_find(enum core_persist what, size_t *bytes)
{
	assert_int_equal(what, CORE_PERSIST_JOURNAL);
	*bytes = w.kept_bytes;
	return w.kept_bytes ? w.memory + w.kept_at : NULL;
}

/* --- a candidate with the contents that the test wants --- */

static char log_text[ROUTES * 24];
static bool on_boot;
static const char *routes; /* lines "-ROUTE" and "+ROUTE" that it changes */

void candidate_compare_routes(const struct candidate *c, candidate_line_fn line, void *ctx)
{
	assert_non_null(c);
	for (const char *p = routes; *p; p = strchr(p, '\n') + 1)
		line(ctx, *p, (struct text){p + 1, (size_t)(strchr(p, '\n') - p - 1)});
}

static bool stage(const char *statements, const char *changed)
{
	char text[200];
	struct candidate c = {.text = text, .len = strlen(statements)};
	memcpy(text, statements, c.len);
	routes = changed;
	return journal_stage(&c, on_boot);
}

static void commit(const char *statements, const char *changed)
{
	assert_true(stage(statements, changed));
	journal_seal();
}

static void found(const char *statements, const char *all, bool unconfirmed)
{
	struct journal_found f;
	assert_true(journal_find(&f));
	assert_int_equal(f.statements.len, strlen(statements));
	assert_memory_equal(f.statements.at, statements, f.statements.len);
	assert_int_equal(f.routes.len, strlen(all));
	assert_memory_equal(f.routes.at, all, f.routes.len);
	assert_int_equal(f.unconfirmed, unconfirmed);
	assert_int_equal(f.on_boot, on_boot);
}

static void nothing_found(void)
{
	struct journal_found f;
	assert_false(journal_find(&f));
}

static int begin(void **state)
{
	(void)state;
	journal_drop();
	memset(&w, 0xa5, sizeof w);
	w.used = w.kept_bytes = 0;
	w.most = MEMORY;
	on_boot = true;
	return 0;
}

/* --- the tests --- */

static void last_commit_is_found(void **s)
{
	(void)s;
	nothing_found();
	commit("hostname a\n", "+ip route 10.0.0.0/8 192.0.2.1\n");
	found("hostname a\n", "+ip route 10.0.0.0/8 192.0.2.1\n", false);
	commit("hostname b\n", "");
	commit("", "-ip route 10.0.0.0/8 192.0.2.1\n");
	found("", "", false); /* added and removed again */
	commit("", "-ip route 10.1.0.0/16 192.0.2.1\n+ip route 10.1.0.0/16 192.0.2.2\n");
	commit("", "-ip route 10.2.0.0/16 192.0.2.1\n");
	commit("", "-ip route 10.1.0.0/16 192.0.2.2\n+ip route 10.1.0.0/16 192.0.2.1\n");
	found("", "-ip route 10.2.0.0/16 192.0.2.1\n", false);
	journal_forget();
	nothing_found();
	commit("hostname c\n", "");
	found("hostname c\n", "", false);
}

static void unconfirmed_one_is_gone(void **s)
{
	(void)s;
	assert_true(stage("hostname a\n", "+x\n"));
	nothing_found();
	assert_true(stage("hostname b\n", "+y\n")); /* the first commit is kept */
	found("hostname a\n", "+x\n", true);
	journal_drop(); /* the second is not confirmed */
	found("hostname a\n", "+x\n", false);
	assert_true(stage("hostname c\n", "+z\n"));
	journal_seal();
	found("hostname c\n", "+x\n+z\n", false);
}

/* The routes of one configuration mean nothing to another: they start from nothing. */
static void another_configuration_of_the_boot(void **s)
{
	(void)s;
	commit("hostname a\n", "+x\n");
	on_boot = false;
	commit("hostname b\n", "+y\n");
	found("hostname b\n", "+y\n", false);
	commit("hostname b\n", "+z\n");
	found("hostname b\n", "+y\n+z\n", false);
	on_boot = true;
	commit("hostname c\n", "+x\n");
	found("hostname c\n", "+x\n", false);
}

/* The journal grows, and moves to where there is room. */
static void many_routes(void **s)
{
	(void)s;
	size_t len = 0;
	for (unsigned n = 0; n < ROUTES; n++) {
		char line[24];
		fmt_format(line, sizeof line, "+ip route %u\n", n);
		commit(n % 2 ? "hostname odd\n" : "hostname even\n", line);
		memcpy(log_text + len, line, strlen(line) + 1);
		len += strlen(line);
		if (n % 97 == 0)
			found(n % 2 ? "hostname odd\n" : "hostname even\n", log_text, false);
	}
	found("hostname odd\n", log_text, false);
}

/* A program that fails while it writes: whatever it has written, the previous commit is found. */
static void torn(void **s)
{
	(void)s;
	commit("hostname a\n", "+x\n");
	static uint8_t before[MEMORY], after[MEMORY];
	memcpy(before, w.memory, w.used);
	commit("hostname b\n", "+y\n");
	memcpy(after, w.memory, w.used);
	const size_t half = w.kept_at + w.kept_bytes;
	for (size_t cut = w.kept_at; cut < half; cut++) { /* written up to here, in either order */
		struct journal_found f;
		if (before[cut] == after[cut])
			continue;
		memcpy(w.memory, after, cut);
		memcpy(w.memory + cut, before + cut, w.used - cut);
		assert_true(journal_find(&f));
		assert_int_equal(f.statements.at[9], 'a');
		memcpy(w.memory, before, cut);
		memcpy(w.memory + cut, after + cut, w.used - cut);
		bool whole = journal_find(&f) && f.statements.at[9] == 'b';
		assert_true(whole ? cut <= w.kept_at + 16 || f.routes.len == 6
		                  : f.statements.at[9] == 'a');
	}
}

/* Any bit changed in the valid slot. */
static void what_is_found_is_sealed(void **s)
{
	(void)s;
	commit("hostname a\n", "+x\n");
	for (size_t at = w.kept_at + 16; at < w.kept_at + 16 + 40 + 11 + 3; at++) {
		struct journal_found f;
		w.memory[at] ^= 0x41;
		if (journal_find(&f))
			fail();
		w.memory[at] ^= 0x41;
		found("hostname a\n", "+x\n", false);
	}
}

static void no_memory(void **s)
{
	(void)s;
	w.most = 0;
	assert_false(stage("hostname a\n", "+x\n"));
	journal_seal();
	nothing_found();
	w.most = MEMORY;
	assert_false(stage("hostname b\n", "+y\n")); /* +x would be missing */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(last_commit_is_found, begin),
		cmocka_unit_test_setup(unconfirmed_one_is_gone, begin),
		cmocka_unit_test_setup(another_configuration_of_the_boot, begin),
		cmocka_unit_test_setup(many_routes, begin),
		cmocka_unit_test_setup(torn, begin),
		cmocka_unit_test_setup(what_is_found_is_sealed, begin),
		cmocka_unit_test_setup(no_memory, begin), /* the last test: it cannot be undone */
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
