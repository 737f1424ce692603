/*
 * The index of a site (apps/web/site.h), which is made in steps: contents and tags of many and of large files, links, names that
 * come twice; archives that are cut off or damaged anywhere. ASan sees what is written behind the counted memory. Symbolic links
 * of random trees lead where open() of the same tree leads.
 */
#define _GNU_SOURCE /* nftw */
#include "tests/unit/rig/host.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* An entry in ustar format; link: of a link, else NULL. */
static void put_type(char type, const char *name, const void *content, size_t n, const char *link)
{
	uint8_t *h = archive + used;
	assert_true(used + 2 * TAR_BLOCK + n < ROOM);
	memset(h, 0, TAR_BLOCK);
	strncpy((char *)h, name, 99);
	snprintf((char *)h + 124, 12, "%011o", (unsigned)n);
	snprintf((char *)h + 136, 12, "%011o", 512);
	h[156] = (uint8_t)type;
	if (link)
		strncpy((char *)h + 157, link, 99);
	memcpy(h + 257, "ustar\00000", 8);
	used += TAR_BLOCK;
	if (n)
		memcpy(archive + used, content, n);
	used += (n + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
	put_checksum(h);
}

/* A file, or a hard link. */
static void put(const char *name, const void *content, size_t n, const char *link)
{
	put_type(link ? '1' : '0', name, content, n, link);
}

/* A symbolic link, with a text of any length: GNU tar's 'K', or pax's record. */
static void put_symlink(const char *name, const char *text, bool pax)
{
	char record[2048];
	const size_t n = strlen(text), bytes = n + 14 + (n + 14 >= 1000); /* with LENGTH */
	if (n >= 99 && pax)
		put_type('x', "PaxHeader", record, (size_t)snprintf(record, sizeof record, "%zu linkpath=%s\n", bytes, text), NULL);
	else if (n >= 99)
		put_type('K', "././@LongLink", text, n + 1, NULL);
	put_type('2', name, NULL, 0, text);
}

static void again(void)
{
	used = 0;
	steps = 0;
	memset(archive, 0, ROOM);
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
	again();
	put("large", large, LARGE, NULL);
	s = make(used + TAR_BLOCK);
	etag[1] = file_of(s, "/large")->etag;
	assert_true(etag[0] == etag[1]);
	free(s);
	large[LARGE - 1] ^= 1;
	again();
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
	assert_string_equal(s->omission[0].name, "/d");
	assert_int_equal(s->served, 3);
	assert_true(file_of(s, "/a")->etag == file_of(s, "/c")->etag && file_of(s, "/a")->etag != file_of(s, "/b")->etag);
	free(s);
}

/* --- symbolic links --- */

/* Exactly these entries are left out: "NAME: WHY" in any order. */
static void expect_left_out(const struct site *s, const char *const *lines, unsigned n)
{
	assert_int_equal(s->left_out, n);
	for (unsigned i = 0; i < n; i++) {
		unsigned found = 0;
		for (unsigned k = 0; k < n; k++) {
			char line[256];
			snprintf(line, sizeof line, "%s: %s", s->omission[k].name, s->omission[k].why);
			found += strcmp(line, lines[i]) == 0;
		}
		if (found != 1)
			fail_msg("not left out: %s", lines[i]);
	}
}

static void symbolic_links(void **state)
{
	(void)state;
	put_type('2', "current.html", NULL, 0, "v3.html"); /* before its target */
	put("v3.html", "three", 5, NULL);
	put("current.html.gz", "zipped", 6, NULL);
	put("v3.html.gz", "other", 5, NULL);
	put_type('2', "d/up", NULL, 0, "../v3.html");
	put_type('2', "d/e/far", NULL, 0, ".././/../d/./up/../../v3.html"); /* a file has no folder above it */
	put_type('2', "d/e/far2", NULL, 0, ".././/../d/./up");
	put_type('2', "chain", NULL, 0, "d/e/far2");
	put_type('1', "d/hard", NULL, 0, "current.html"); /* of the link: from here it leads to d/v3.html */
	put("d/v3.html", "other", 5, NULL);
	put_type('2', "d/v3.html.gz", NULL, 0, "none"); /* a coding that leads nowhere is none */
	put_type('2', "slash", NULL, 0, "v3.html/x");
	put_type('2', "absolute", NULL, 0, "/v3.html");
	put_type('2', "by-absolute", NULL, 0, "absolute");
	put_type('2', "d/out", NULL, 0, "../../v3.html");
	put_type('2', "nothing", NULL, 0, "none");
	put_type('2', "circle", NULL, 0, "circle2");
	put_type('2', "circle2", NULL, 0, "./circle");
	put_type('2', "self", NULL, 0, "self");
	put_type('2', "a\x01", NULL, 0, "v3.html");
	put_type('3', "de\xc3\xa4vice", NULL, 0, NULL);
	struct site *s = make(used + TAR_BLOCK);
	expect(s, "/current.html", "three", 5);
	expect(s, "/d/up", "three", 5);
	expect(s, "/d/e/far2", "three", 5);
	expect(s, "/chain", "three", 5);
	expect(s, "/d/hard", "other", 5);
	const struct site_file *current = file_of(s, "/current.html"), *v3 = file_of(s, "/v3.html");
	assert_true(current->etag == v3->etag && current->etag == file_of(s, "/chain")->etag && current->content == v3->content);
	/* codings by the link's own name */
	assert_ptr_equal(&s->file[current->coded[HTTP_GZIP]], file_of(s, "/current.html.gz"));
	assert_ptr_equal(&s->file[v3->coded[HTTP_GZIP]], file_of(s, "/v3.html.gz"));
	assert_int_equal(file_of(s, "/chain")->coded[HTTP_GZIP], SITE_NONE);
	assert_int_equal(file_of(s, "/d/v3.html")->coded[HTTP_GZIP], SITE_NONE);
	assert_int_equal(s->served, 9);
	static const char *const left_out[] = {
		"/d/e/far: symbolic link to nothing in the archive", "/d/v3.html.gz: symbolic link to nothing in the archive",
		"/slash: symbolic link to nothing in the archive",
		"/absolute: symbolic link to an absolute path", "/by-absolute: symbolic link to an absolute path",
		"/d/out: symbolic link that leads out of the archive", "/nothing: symbolic link to nothing in the archive",
		"/circle: symbolic links in a circle, or too many of them", "/circle2: symbolic links in a circle, or too many of them",
		"/self: symbolic links in a circle, or too many of them", "a?: the name has a control character",
		"de??vice: device",
	};
	expect_left_out(s, left_out, ARRAY_LEN(left_out));
	assert_null(file_of(s, "/absolute"));
	assert_null(file_of(s, "/nothing"));
	free(s);
}

/* The last entry of a name counts, whatever the two are. */
static void names_replaced(void **state)
{
	(void)state;
	put("a", "file", 4, NULL);
	put_type('2', "a", NULL, 0, "b");
	put_type('2', "c", NULL, 0, "none"); /* not left out: it is replaced */
	put("b", "content", 7, NULL);
	put("c", "see", 3, NULL);
	put_type('2', "d", NULL, 0, "c");
	put_type('2', "d", NULL, 0, "b");
	put_type('2', "e", NULL, 0, "b");
	put_type('2', "e", NULL, 0, "none");
	put_type('1', "f", NULL, 0, "f");
	put("g", "g", 1, NULL);
	put_type('1', "g", NULL, 0, "g");
	struct site *s = make(used + TAR_BLOCK);
	expect(s, "/a", "content", 7);
	expect(s, "/c", "see", 3);
	expect(s, "/d", "content", 7);
	expect(s, "/g", "g", 1);
	assert_null(file_of(s, "/e"));
	assert_int_equal(s->served, 5);
	static const char *const left_out[] = {"/e: symbolic link to nothing in the archive",
	                                       "/f: hard link to nothing before it in the archive"};
	expect_left_out(s, left_out, ARRAY_LEN(left_out));
	free(s);
}

static void links_to_folders(void **state)
{
	char path[SITE_PATH_MAX];
	(void)state;
	put_type('2', "latest", NULL, 0, "releases/v3/");
	put("releases/v3/index.html", "three", 5, NULL);
	put("releases/v3/doc/a.html", "a", 1, NULL);
	put("releases/v2/index.html", "two", 3, NULL);
	put_type('2', "releases/v3/old", NULL, 0, "../v2");
	put_type('2', "releases/me", NULL, 0, ".");
	put_type('2', "root", NULL, 0, "releases/..");
	put_type('2', "above", NULL, 0, "latest/../v2/index.html"); /* above where `latest` leads */
	put_type('2', "page", NULL, 0, "latest/old/index.html");
	put_type('2', "only/link", NULL, 0, "../releases");
	put_type('2', "to-only", NULL, 0, "only");
	put_type('5', "empty", NULL, 0, NULL);
	put_type('2', "to-empty", NULL, 0, "empty");
	struct site *s = make(used + TAR_BLOCK);
	expect(s, "/latest/index.html", "three", 5);
	expect(s, "/latest/doc/a.html", "a", 1);
	expect(s, "/latest/old/index.html", "two", 3);
	expect(s, "/root/root/latest/old/index.html", "two", 3);
	expect(s, "/above", "two", 3);
	expect(s, "/page", "two", 3);
	expect(s, "/to-only/link/v2/index.html", "two", 3);
	assert_ptr_equal(file_of(s, "/latest/index.html"), file_of(s, "/releases/v3/index.html"));
	static const char *const none[] = {"/latest", "/latest/", "/latest/none", "/late/index.html", "/latest2/index.html",
	                                   "/latestindex.html", "/root", "/empty/x", "/to-empty/x", "/only/link/x", "", "/"};
	for (unsigned i = 0; i < ARRAY_LEN(none); i++)
		assert_null(file_of(s, none[i]));
	assert_int_equal(s->folder_links, 6);
	static const char *const left_out[] = {"/to-empty: symbolic link to nothing in the archive"};
	expect_left_out(s, left_out, 1);
	for (unsigned links = 0; links < 12; links++) {
		strcpy(path, "/releases");
		for (unsigned i = 0; i < links; i++)
			strcat(path, "/me");
		strcat(path, "/v2/index.html");
		assert_int_equal(file_of(s, path) != NULL, links <= SITE_FOLDER_LINKS_MAX);
	}
	free(s);
}

/* An entry below the name of a link to a folder: its own name comes first. A link is followed from where tar would unpack it. */
static void entries_below_links(void **state)
{
	(void)state;
	put_type('2', "w", NULL, 0, "b");
	put("b/x", "x", 1, NULL);
	put("b/y", "y", 1, NULL);
	put("w/y", "own", 3, NULL);
	put_type('2', "w/rel", NULL, 0, "x");
	put_type('2', "w/b", NULL, 0, "../other");
	put("other/z", "z", 1, NULL);
	struct site *s = make(used + TAR_BLOCK);
	expect(s, "/w/x", "x", 1);
	expect(s, "/w/y", "own", 3);
	expect(s, "/w/rel", "x", 1);
	expect(s, "/w/b/z", "z", 1);
	assert_int_equal(s->left_out, 0);
	free(s);
}

/* 40 links are followed, as by Linux, 128 parts, and texts as long as tar.h reads them. */
static void limits_of_links(void **state)
{
	char name[32], text[SITE_PATH_MAX + 1], path[2 * SITE_PATH_MAX];
	(void)state;
	put("l0", "end", 3, NULL);
	for (unsigned i = 1; i <= 100; i++) {
		snprintf(name, sizeof name, "l%u", i);
		snprintf(text, sizeof text, "l%u", i - 1);
		put_type('2', name, NULL, 0, text);
	}
	struct site *s = make(used + TAR_BLOCK);
	for (unsigned i = 0; i <= 100; i++) {
		snprintf(path, sizeof path, "/l%u", i);
		assert_int_equal(file_of(s, path) != NULL, i <= 40);
	}
	assert_true(s->left_out == 60 && s->served == 41);
	assert_string_equal(s->omission[SITE_OMISSIONS_MAX - 1].name, "/l56");
	free(s);
	/* the longest text; parts */
	again();
	put("f", "end", 3, NULL);
	for (unsigned i = 0; i < 4; i++) {
		text[0] = 0;
		while (strlen(text) + 3 < (i < 2 ? SITE_PATH_MAX : 300))
			strcat(text, "./");
		strcat(text, "f");
		snprintf(name, sizeof name, "long%u", i);
		put_symlink(name, text, i % 2);
	}
	for (unsigned parts = 128; parts <= 129; parts++) {
		snprintf(name, sizeof name, "parts%u", parts);
		text[0] = 0;
		for (unsigned i = 1; i < parts; i++)
			strcat(text, "x/../");
		strcat(text, "f");
		put_symlink(name, text, false);
	}
	put("x/file", "x", 1, NULL);
	s = make(used + TAR_BLOCK);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(path, sizeof path, "/long%u", i);
		expect(s, path, "end", 3);
	}
	expect(s, "/parts128", "end", 3);
	assert_null(file_of(s, "/parts129"));
	free(s);
	/* a folder's path as long as it may be, and requests that become too long */
	again();
	memset(text, 'd', sizeof text);
	text[SITE_PATH_MAX - 2] = 0;
	put_symlink("l", text, false);
	text[SITE_PATH_MAX - 4] = 0;
	put_symlink("m", text, true);
	text[SITE_PATH_MAX - 4] = '/';
	text[SITE_PATH_MAX - 3] = 'f';
	text[SITE_PATH_MAX - 2] = 0;
	put_type('L', "././@LongLink", text, SITE_PATH_MAX - 2, NULL);
	put("x", "deep", 4, NULL);
	s = make(used + TAR_BLOCK);
	expect(s, "/m/f", "deep", 4);
	assert_null(file_of(s, "/m/ff"));
	assert_null(file_of(s, "/l/f"));
	memset(path, 'p', sizeof path);
	memcpy(path, "/m/", 3);
	for (size_t n = SITE_PATH_MAX - 10; n < SITE_PATH_MAX + 10; n++)
		assert_int_equal(site_find(s, path, n), SITE_NONE);
	free(s);
}

/* Contents are hashed once, however many links they have, and also if their name gets another content later. */
static void many_links(void **state)
{
	enum { LINKS = 3000 };
	char name[32];
	uint8_t *large = calloc(1, LARGE);
	(void)state;
	for (unsigned kind = 0; kind < 3; kind++) {
		again();
		put_type('2', "first", NULL, 0, "large");
		put("large", large, LARGE, NULL);
		for (unsigned i = 0; i < LINKS; i++) {
			snprintf(name, sizeof name, "l%u", i);
			put_type(kind ? '1' : '2', name, NULL, 0, i && kind == 2 ? "l0" : "large");
		}
		if (kind)
			put("large", "small", 5, NULL);
		struct site *s = make(used + TAR_BLOCK);
		assert_true(steps < 9 * (LINKS / SITE_STEP_ENTRIES + 1) + LARGE / SITE_STEP_BYTES + 9);
		assert_int_equal(s->served, LINKS + 2);
		expect(s, "/l2999", large, LARGE);
		expect(s, "/first", kind ? (void *)"small" : large, kind ? 5 : LARGE);
		assert_true(file_of(s, "/l2999")->etag == file_of(s, "/l0")->etag);
		free(s);
	}
	free(large);
}

/* --- the same tree unpacked: what the kernel opens --- */

static char root[] = "/tmp/hayate-site-XXXXXX";
static unsigned entries;
static struct entry {
	char name[16], text[64]; /* text "": a file with its name as content */
} entry[64];

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

/* A random path of up to `parts` of these names. */
static void random_path(char *to, unsigned parts)
{
	to[0] = 0;
	for (unsigned n = 1 + random_below(parts), i = 0; i < n; i++)
		sprintf(to + strlen(to), "%s%c", i ? "/" : "", 'a' + (int)random_below(3));
}

static bool is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A random text of a link of that name. Before "..", what is there is a folder: ours does not ask for that. */
static void random_text(char *to, const char *name)
{
	char path[128];
	to[0] = 0;
	for (unsigned n = 1 + random_below(5), i = 0; i < n; i++) {
		static const char *const part[] = {"a", "b", "c", ".", "..", ".."};
		const char *next = part[random_below(ARRAY_LEN(part))];
		snprintf(path, sizeof path, "tree/%.*s%s", (int)(strlen(name) - 1), name, to); /* names have a part of one letter */
		if (strcmp(next, "..") == 0 && !is_folder(path))
			next = "a";
		sprintf(to + strlen(to), "%s%s", i ? "/" : "", next);
	}
}

/* A file or link of a path that is still free in the folder tree/ of `root`. */
static void add_random(void)
{
	char *name = entry[entries].name, *text = entry[entries].text, path[64];
	random_path(name, 3);
	for (char *slash = name; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = 0;
		snprintf(path, sizeof path, "tree/%s", name);
		const bool made = mkdir(path, 0700) == 0;
		struct stat st;
		*slash = '/';
		if (!made && (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode)))
			return;
	}
	snprintf(path, sizeof path, "tree/%s", name);
	if (random_below(3) == 0) {
		const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd < 0)
			return;
		assert_int_equal(write(fd, name, strlen(name)), strlen(name));
		close(fd);
		text[0] = 0;
	} else {
		random_text(text, name);
		if (symlink(text, path) != 0)
			return;
	}
	entries++;
}

/* The order of the archive has nothing to do with that in which they were made. */
static void put_shuffled(void)
{
	for (unsigned n = entries; n; n--) {
		const unsigned i = random_below(n);
		const struct entry e = entry[i];
		entry[i] = entry[n - 1];
		entry[n - 1] = e;
		if (e.text[0])
			put_type('2', e.name, NULL, 0, e.text);
		else
			put(e.name, e.name, strlen(e.name), NULL);
	}
}

static void compare(const struct site *s, const char *path)
{
	char full[128], content[32];
	snprintf(full, sizeof full, "tree%s", path);
	const int fd = open(full, O_RDONLY);
	const ssize_t n = fd < 0 ? -1 : read(fd, content, sizeof content); /* a folder: EISDIR */
	if (fd >= 0)
		close(fd);
	const uint32_t i = site_find(s, path, strlen(path));
	if ((n >= 0) != (i != SITE_NONE))
		fail_msg("%s is %s", path, n >= 0 ? "not found" : "found");
	if (n >= 0)
		expect(s, path, content, (size_t)n);
}

static void as_the_kernel(void **state)
{
	(void)state;
	char path[64], before[512];
	unsigned found = 0;
	seed_random("as_the_kernel");
	assert_non_null(mkdtemp(root));
	assert_non_null(getcwd(before, sizeof before));
	assert_int_equal(chdir(root), 0);
	for (unsigned round = 0; round < 150; round++) {
		assert_int_equal(mkdir("tree", 0700), 0);
		again();
		entries = 0;
		for (unsigned i = 0; i < 40; i++)
			add_random();
		put_shuffled();
		struct site *s = make(used + TAR_BLOCK);
		for (unsigned i = 0; i < entries; i++) {
			snprintf(path, sizeof path, "/%s", entry[i].name);
			compare(s, path);
		}
		for (unsigned i = 0; i < 300; i++) {
			path[0] = '/';
			random_path(path + 1, 6);
			compare(s, path);
			found += site_find(s, path, strlen(path)) != SITE_NONE;
		}
		free(s);
		assert_int_equal(nftw("tree", remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	}
	assert_true(found > 500);
	assert_int_equal(chdir(before), 0);
	assert_int_equal(rmdir(root), 0);
}

/* --- damage --- */

/* Cut off anywhere, and with any byte of its headers changed: a site, or a reason that names a byte. */
static void damaged(void **state)
{
	char why[SITE_WHY_MAX];
	unsigned refused = 0;
	(void)state;
	put("first", "1", 1, NULL);
	put("second", archive, 700, NULL);
	put("third", NULL, 0, "first");
	put_type('2', "fourth", NULL, 0, "../second");
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
		TEST(many_files), TEST(large_files), TEST(links), TEST(symbolic_links), TEST(names_replaced), TEST(links_to_folders),
		TEST(entries_below_links), TEST(limits_of_links), TEST(many_links), TEST(as_the_kernel), TEST(damaged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
