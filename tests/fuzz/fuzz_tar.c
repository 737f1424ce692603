/*
 * Tar archives (net/archive/tar.h): the input is a byte, and the archive. With an odd byte the blocks that look
 * like headers get right checksums first. Every entry lies in the archive, behind the one before; no path of
 * the site has a part that leaves it; reading comes to an end.
 */
#include "tests/fuzz/archive.h"

static void check_path(const char *name)
{
	char path[TAR_NAME_MAX + 2], again[TAR_NAME_MAX + 2];
	const char *why = tar_path(path, sizeof path, name);
	if (why) {
		assert(strlen(why) > 10);
		return;
	}
	assert(path[0] == '/' && strlen(path) < sizeof path);
	assert(!strstr(path, "//") && !strstr(path, "/../") && !strstr(path, "/./"));
	for (const char *c = path; *c; c++)
		assert((uint8_t)*c >= 0x20 && *c != 0x7f);
	const char *end = strrchr(path, '/');
	assert(strcmp(end, "/..") != 0 && strcmp(end, "/.") != 0 && (end == path || end[1]));
	assert(!tar_path(again, sizeof again, path) && strcmp(path, again) == 0);
}

static void check_entry(const struct tar *t, const uint8_t *archive, size_t size)
{
	const struct tar_entry *e = &t->entry;
	volatile uint8_t last;
	assert(e->offset + TAR_BLOCK <= t->at && t->at <= size && t->at % TAR_BLOCK == 0);
	assert(strlen(e->name) <= TAR_NAME_MAX && strlen(e->link) <= TAR_NAME_MAX);
	assert(e->kind == TAR_SKIPPED ? strlen(e->why) > 3 : !e->why && e->name[0]);
	assert((e->kind == TAR_HARD_LINK || e->kind == TAR_SYMLINK) == (e->link[0] != 0) || e->kind == TAR_SKIPPED);
	assert(e->kind == TAR_FILE ? e->data != NULL : !e->data && !e->size);
	if (e->kind == TAR_FILE)
		assert(e->data == archive + e->offset + TAR_BLOCK && e->size <= t->at - e->offset - TAR_BLOCK);
	if (e->size)
		last = e->data[e->size - 1];
	(void)last;
	check_path(e->name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tar t;
	struct input in = {data, size};
	const bool correct = take8(&in) & 1;
	uint8_t *archive = exactly(in.p, in.n);
	size_t entries = 0, before = 0;
	enum tar_step step;
	if (correct)
		correct_checksums(archive, in.n);
	tar_begin(&t, archive, in.n);
	while ((step = tar_next(&t)) == TAR_ENTRY) {
		check_entry(&t, archive, in.n);
		assert(entries++ == 0 || t.entry.offset > before);
		before = t.entry.offset;
	}
	assert(tar_next(&t) == step && t.at <= in.n && (step == TAR_END || strlen(t.why) > 10));
	free(archive);
	char *name = exact_text(in.p, in.n);
	check_path(name);
	free(name);
	return 0;
}
