/*
 * The index of a site (apps/web/site.h), which is made in steps: contents and tags of many and of large files, links, names that
 * come twice; archives that are cut off or damaged anywhere. ASan sees what is written behind the counted memory.
 */
#include "tests/unit/rig/host.h"

#include "apps/web/site.h"

#define FILES 500 /* several steps of entries */
#define LARGE (SITE_STEP_BYTES * 2 + 4321)
#define ROOM (4u << 20)

static uint8_t *archive;
static size_t used;
static struct site_maker maker;
static unsigned steps;

static void put_checksum(uint8_t *header)
{
	unsigned sum = 0;
	char text[8];
	memset(header + 148, ' ', 8);
	for (unsigned i = 0; i < TAR_BLOCK; i++)
		sum += header[i];
	snprintf(text, sizeof text, "%06o", sum);
	memcpy(header + 148, text, 7);
}

/* An entry in ustar format; link: of a hard link, else NULL. */
static void put(const char *name, const void *content, size_t n, const char *link)
{
	uint8_t *h = archive + used;
	memset(h, 0, TAR_BLOCK);
	strncpy((char *)h, name, 99);
	snprintf((char *)h + 124, 12, "%011o", (unsigned)n);
	snprintf((char *)h + 136, 12, "%011o", 512);
	h[156] = link ? '1' : '0';
	if (link)
		strncpy((char *)h + 157, link, 99);
	memcpy(h + 257, "ustar\00000", 8);
	used += TAR_BLOCK;
	if (n)
		memcpy(archive + used, content, n);
	used += (n + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
	put_checksum(h);
}

static int begin(void **state)
{
	(void)state;
	archive = calloc(1, ROOM);
	used = 0;
	steps = 0;
	return archive ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	free(archive);
	return 0;
}

static void nothing(void) {}

/* The site of n bytes of the archive, in memory of exactly the counted size; NULL: it is damaged. */
static struct site *make(size_t n)
{
	enum site_step step;
	site_begin(&maker, archive, n);
	while ((step = site_count_step(&maker)) == SITE_MORE)
		steps++;
	if (step == SITE_ERROR)
		return NULL;
	struct site *s = malloc(maker.count.bytes);
	assert_non_null(s);
	site_build(&maker, s, archive);
	while (site_build_step(&maker) == SITE_MORE)
		steps++;
	assert_true(s->used <= s->bytes && s->bytes == maker.count.bytes);
	assert_true(site_seal(s, nothing) != 0);
	return s;
}

static const struct site_file *file_of(const struct site *s, const char *path)
{
	const uint32_t n = site_find(s, path, strlen(path));
	return n == SITE_NONE ? NULL : &s->file[n];
}

static void expect(const struct site *s, const char *path, const void *content, size_t n)
{
	const struct site_file *f = file_of(s, path);
	assert_non_null(f);
	assert_int_equal(f->size, n);
	assert_memory_equal(site_content(s, f), content, n);
	assert_true(site_content(s, f) >= archive && site_content(s, f) + n <= archive + used);
}

static void many_files(void **state)
{
	char name[32];
	(void)state;
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "./d/%u", i);
		put(name, &i, sizeof i, NULL);
	}
	struct site *s = make(used + TAR_BLOCK);
	assert_int_equal(s->files, FILES);
	assert_true(steps > 4 * FILES / SITE_STEP_ENTRIES); /* in each of the passes */
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "/d/%u", i);
		expect(s, name, &i, sizeof i);
	}
	assert_null(file_of(s, "/d/500"));
	free(s);
}

/* A tag does not depend on how the content was divided into steps. */
static void large_files(void **state)
{
	uint8_t *large = malloc(LARGE);
	uint64_t etag[2];
	(void)state;
	for (size_t i = 0; i < LARGE; i++)
		large[i] = (uint8_t)(i * 7919 >> 5);
	put("odd", large, 12345, NULL); /* shifts the steps of the next */
	put("large", large, LARGE, NULL);
	put("empty", NULL, 0, NULL);
	struct site *s = make(used + TAR_BLOCK);
	expect(s, "/large", large, LARGE);
	expect(s, "/empty", large, 0);
	etag[0] = file_of(s, "/large")->etag;
	assert_true(file_of(s, "/odd")->etag != etag[0] && file_of(s, "/empty")->etag != file_of(s, "/odd")->etag);
	free(s);
	used = 0;
	memset(archive, 0, ROOM);
	put("large", large, LARGE, NULL);
	s = make(used + TAR_BLOCK);
	etag[1] = file_of(s, "/large")->etag;
	assert_true(etag[0] == etag[1]);
	free(s);
	used = 0;
	large[LARGE - 1] ^= 1;
	memset(archive, 0, ROOM);
	put("large", large, LARGE, NULL);
	s = make(used + TAR_BLOCK);
	assert_true(etag[0] != file_of(s, "/large")->etag);
	free(s);
	free(large);
}

/* A link has what its target had there, also if that name gets another content behind it. The last entry of a name counts. */
static void links(void **state)
{
	(void)state;
	put("a", "old", 3, NULL);
	put("b", NULL, 0, "a");
	put("a", "newer", 5, NULL);
	put("c", NULL, 0, "a");
	put("d", NULL, 0, "none");
	struct site *s = make(used + TAR_BLOCK);
	expect(s, "/a", "newer", 5);
	expect(s, "/b", "old", 3);
	expect(s, "/c", "newer", 5);
	assert_null(file_of(s, "/d"));
	assert_int_equal(s->left_out, 1);
	assert_true(file_of(s, "/a")->etag == file_of(s, "/c")->etag && file_of(s, "/a")->etag != file_of(s, "/b")->etag);
	free(s);
}

/* Cut off anywhere, and with any byte of its headers changed: a site, or a reason that names a byte. */
static void damaged(void **state)
{
	char why[SITE_WHY_MAX];
	unsigned refused = 0;
	(void)state;
	put("first", "1", 1, NULL);
	put("second", archive, 700, NULL);
	put("third", NULL, 0, "first");
	for (size_t n = 0; n < used; n++) {
		struct site *s = make(n);
		assert_null(s);
		assert_memory_equal(site_why(why, &maker), "byte ", 5);
	}
	make(TAR_BLOCK * 3 + 100);
	assert_non_null(strstr(site_why(why, &maker), "byte 1024 of the archive, file second: "));
	archive[2 * TAR_BLOCK] ^= 1;
	assert_null(make(used + TAR_BLOCK));
	assert_non_null(strstr(site_why(why, &maker), "byte 1024 of the archive, after file first: "));
	archive[2 * TAR_BLOCK] ^= 1;
	for (size_t at = 0; at < TAR_BLOCK; at++)
		for (unsigned value = 0; value < 256; value += 5) {
			uint8_t *h = archive + 2 * TAR_BLOCK;
			const uint8_t was = h[at];
			h[at] = (uint8_t)value;
			put_checksum(h);
			struct site *s = make(used + TAR_BLOCK);
			refused += !s;
			free(s);
			h[at] = was;
			put_checksum(h);
		}
	assert_true(refused > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(many_files), TEST(large_files), TEST(links), TEST(damaged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
