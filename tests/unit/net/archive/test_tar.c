/*
 * The reader of tar archives (net/archive/tar.h): each format and rule by archives made here, archives of GNU
 * tar and of Python's tarfile in all their formats (rig/archives.py, in build/archives), and archives that
 * are cut off or damaged anywhere.
 */
#include "tests/unit/rig/host.h"

#include <dirent.h>

#include "net/archive/tar.h"

#define ROOM 65536

static uint8_t archive[ROOM];
static size_t used;
static struct tar tar;

/* --- making archives --- */

static void clear(void)
{
	memset(archive, 0, sizeof archive);
	used = 0;
}

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

/* A header in ustar format, and its content. Returns the header, for changes; put_checksum() must follow. */
static uint8_t *put(char type, const char *name, const void *content, size_t n)
{
	uint8_t *h = archive + used;
	strncpy((char *)h, name, 100);
	snprintf((char *)h + 124, 12, "%011o", (unsigned)n);
	snprintf((char *)h + 136, 12, "%011o", 512);
	h[156] = (uint8_t)type;
	memcpy(h + 257, "ustar\00000", 8);
	if (n)
		memcpy(h + TAR_BLOCK, content, n);
	used += TAR_BLOCK + (n + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
	put_checksum(h);
	return h;
}

static uint8_t *put_link(char type, const char *name, const char *link)
{
	uint8_t *h = put(type, name, NULL, 0);
	strncpy((char *)h + 157, link, 100);
	put_checksum(h);
	return h;
}

static void put_end(void)
{
	used += 2 * TAR_BLOCK;
}

/* A copy of the archive's first n bytes, for ASan; the caller frees it. */
static uint8_t *begin(size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);
	memcpy(copy, archive, n);
	tar_begin(&tar, copy, n);
	return copy;
}

/* Reads all of the archive made, and says what is in it: a line for each entry. */
static const char *listing(size_t bytes)
{
	static char out[16384];
	static const char *const kinds[] = {"file", "dir", "hard", "sym", "skipped"};
	size_t n = 0;
	enum tar_step step;
	uint8_t *copy = begin(bytes);
	out[0] = 0;
	while ((step = tar_next(&tar)) == TAR_ENTRY) {
		const struct tar_entry *e = &tar.entry;
		n += (size_t)snprintf(out + n, sizeof out - n, "%s %s%s%s %llu %lld%s%.*s%s%s\n", kinds[e->kind], e->name,
		                      e->link[0] ? " -> " : "", e->link, (unsigned long long)e->size,
		                      (long long)e->mtime, e->size ? " " : "", (int)e->size,
		                      e->data ? (const char *)e->data : "", e->why ? ": " : "", e->why ? e->why : "");
		assert_true(n < sizeof out);
		assert_int_equal(e->kind == TAR_SKIPPED, e->why != NULL);
	}
	assert_int_equal(tar_next(&tar), step);
	n += (size_t)snprintf(out + n, sizeof out - n, "%s%s at %zu\n", step == TAR_END ? "end" : "error: ",
	                      step == TAR_END ? "" : tar.why, tar.at);
	free(copy);
	return out;
}

/* --- formats --- */

static void ustar(void **state)
{
	(void)state;
	clear();
	put('5', "./", NULL, 0);
	put('0', "./index.html", "<html>", 6);
	put('7', "contiguous", "c", 1);
	put_link('1', "hard", "./index.html");
	put_link('2', "sym", "../x");
	put('3', "null", NULL, 0);
	uint8_t *pipe = put('6', "pipe", NULL, 0);
	snprintf((char *)pipe + 124, 12, "%011o", 3 * TAR_BLOCK); /* no content follows, whatever its size says */
	put_checksum(pipe);
	put('A', "vendor", "xyz", 3);
	put('0', "empty", NULL, 0);
	put_end();
	assert_string_equal(listing(used), "dir ./ 0 512\nfile ./index.html 6 512 <html>\nfile contiguous 1 512 c\n"
	                                   "hard hard -> ./index.html 0 512\nsym sym -> ../x 0 512\n"
	                                   "skipped null 0 512: device\nskipped pipe 0 512: FIFO\n"
	                                   "skipped vendor 0 512: unknown type of entry\nfile empty 0 512\n"
	                                   "end at 6144\n");
}

/* A name of 100 bytes has no NUL, nor has a prefix of 155; ustar joins them by a slash. */
static void long_ustar_names(void **state)
{
	(void)state;
	char name[101], prefix[156], want[512];
	memset(name, 'n', 100);
	memset(prefix, 'p', 155);
	name[100] = prefix[155] = 0;
	clear();
	uint8_t *h = put('0', name, "x", 1);
	memcpy(h + 345, prefix, 155);
	put_checksum(h);
	h = put_link('2', "l", name);
	memcpy(h + 345, "q", 2);
	put_checksum(h);
	put_end();
	snprintf(want, sizeof want, "file %s/%s 1 512 x\nsym q/l -> %s 0 512\nend at 1536\n", prefix, name, name);
	assert_string_equal(listing(used), want);
	/* GNU tar's header has other things in place of the prefix */
	memcpy(archive + 257, "ustar  ", 8);
	put_checksum(archive);
	snprintf(want, sizeof want, "file %s 1 512 x\n", name);
	assert_memory_equal(listing(used), want, strlen(want));
}

/* Unix V7: no magic, type NUL; a folder is a name with a slash. */
static void v7(void **state)
{
	(void)state;
	clear();
	uint8_t *h = put(0, "d/", NULL, 0);
	memset(h + 257, 0, 8);
	put_checksum(h);
	h = put(0, "d/f", "v7", 2);
	memset(h + 257, 0, 8);
	memcpy(h + 124, "         2 ", 12); /* blanks before the digits, and one behind */
	put_checksum(h);
	put_end();
	assert_string_equal(listing(used), "dir d/ 0 512\nfile d/f 2 512 v7\nend at 1536\n");
}

static void gnu_long_names(void **state)
{
	(void)state;
	char name[TAR_NAME_MAX + 2], want[3 * TAR_NAME_MAX];
	memset(name, 'g', sizeof name);
	name[TAR_NAME_MAX] = 0;
	clear();
	put('L', "././@LongLink", name, TAR_NAME_MAX + 1);
	put('0', "short", "1", 1);
	put('K', "././@LongLink", "link", 5);
	put('L', "././@LongLink", "name", 4); /* without a NUL */
	put_link('2', "short", "l");
	put('0', "short", "2", 1); /* the long ones were for one entry */
	name[TAR_NAME_MAX] = 'g';
	put('L', "././@LongLink", name, TAR_NAME_MAX + 1);
	put('0', "short", "3", 1);
	put('L', "././@LongLink", NULL, 0);
	put('0', "short", "4", 1);
	put_end();
	name[TAR_NAME_MAX] = 0;
	snprintf(want, sizeof want,
	         "file %s 1 512 1\nsym name -> link 0 512\nfile short 1 512 2\n"
	         "skipped  0 512: the name is too long\nskipped  0 512: the name is empty\nend at %zu\n",
	         name, used - 2 * TAR_BLOCK);
	assert_string_equal(listing(used), want);
}

/* "LENGTH KEY=VALUE\n" with the right length. */
static size_t record(char *to, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3, n = rest + 1;
	while (n != rest + (size_t)snprintf(NULL, 0, "%zu", n))
		n++;
	return (size_t)sprintf(to, "%zu %s=%s\n", n, key, value);
}

static void put_pax(char type, const char *const (*pairs)[2], size_t n)
{
	char text[4096];
	size_t at = 0;
	for (size_t i = 0; i < n; i++)
		at += record(text + at, pairs[i][0], pairs[i][1]);
	put(type, "PaxHeader", text, at);
}

#define PAX(type, ...) put_pax(type, (const char *const[][2]){__VA_ARGS__}, \
	                       sizeof((const char *const[][2]){__VA_ARGS__}) / sizeof(const char *[2]))

/* Records of pax (IEEE Std 1003.1, pax, "pax Extended Header"). */
static void pax_records(void **state)
{
	(void)state;
	clear();
	PAX('x', {"path", "a=b\nc/d"}, {"mtime", "1350244992.023960108"}, {"comment", ""}, {"size", "3"},
	    {"SCHILY.xattr.user.a", "x\n\ny"});
	uint8_t *h = put('0', "short", "abc", 3);
	memcpy(h + 124, "00000000000", 12); /* the record goes before the field */
	put_checksum(h);
	PAX('x', {"path", "p"}, {"linkpath", "l/m"});
	put_link('1', "short", "l");
	put('0', "next", "n", 1); /* records are for one entry */
	PAX('x', {"path", "other"}, {"path", ""}, {"mtime", "7"}, {"mtime", ""}); /* an empty value removes */
	put('0', "again", "n", 1);
	PAX('x', {"mtime", "-1.5"});
	put('0', "t", "", 0);
	PAX('x', {"mtime", "-2"});
	put('0', "t", "", 0);
	PAX('x', {"mtime", "-3.000"});
	put('0', "t", "", 0);
	PAX('x', {"GNU.sparse.major", "1"}, {"path", "sp"});
	put('0', "sparse", "1\n", 2);
	PAX('g', {"comment", "a commit"}, {"mtime", "99"});
	put('0', "global", "", 0);
	PAX('x', {"mtime", "100"});
	put('0', "own", "", 0);
	PAX('g', {"mtime", ""});
	put('0', "gone", "", 0);
	put_end();
	assert_string_equal(listing(used), "file a=b\nc/d 3 1350244992 abc\nhard p -> l/m 0 512\nfile next 1 512 n\n"
	                                   "file again 1 512 n\nfile t 0 -2\nfile t 0 -2\nfile t 0 -3\n"
	                                   "skipped sp 0 512: sparse file\nfile global 0 99\nfile own 0 100\n"
	                                   "file gone 0 512\nend at 17920\n");
}

/* Each is an error at the header, and says why. */
static void wrong_pax(void **state)
{
	(void)state;
	static const struct {
		char type;
		const char *text, *why;
	} rows[] = {
		{'x', "x", "a record of a pax header has a wrong length"},
		{'x', "12", "a record of a pax header has a wrong length"},
		{'x', "0 path=a\n", "a record of a pax header has a wrong length"},
		{'x', "9 path=a\n0 path=b\n", "a record of a pax header has a wrong length"},
		{'x', "1 path=a\n", "a record of a pax header has a wrong length"},
		{'x', "2 path=a\n", "a record of a pax header has a wrong length"},
		{'x', "8 path=a\n", "a record of a pax header has a wrong length"},
		{'x', "11 path=a\n", "a record of a pax header has a wrong length"},
		{'x', "99 path=a\n", "a record of a pax header has a wrong length"},
		{'x', "18446744073709551625 path=a\n", "a record of a pax header has a wrong length"},
		{'x', "-9 path=a\n", "a record of a pax header has a wrong length"},
		{'x', " 10 path=a\n", "a record of a pax header has a wrong length"},
		{'x', "9 path=a\nx", "a record of a pax header has a wrong length"},
		{'x', "9 path=ax", "a record of a pax header has a wrong length"},
		{'x', "7 path\n", "a record of a pax header has no keyword"},
		{'x', "5 =a\n", "a record of a pax header has no keyword"},
		{'x', "3 \n", "a record of a pax header has no keyword"},
		{'x', "11 size=-1\n", "a pax header has a wrong number"},
		{'x', "11 size=1x\n", "a pax header has a wrong number"},
		{'x', "29 size=99999999999999999999\n", "a pax header has a wrong number"},
		{'x', "11 mtime=x\n", "a pax header has a wrong number"},
		{'x', "12 mtime=1,\n", "a pax header has a wrong number"},
		{'x', "13 mtime=--1\n", "a pax header has a wrong number"},
		{'g', "9 path=a\n", "a pax header has one name or size for all files"},
		{'g', "9 size=1\n", "a pax header has one name or size for all files"},
		{'g', "x", "a record of a pax header has a wrong length"},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		char want[128];
		clear();
		put('0', "first", "1", 1);
		put(rows[i].type, "PaxHeader", rows[i].text, strlen(rows[i].text));
		put('0', "second", "2", 1);
		put_end();
		snprintf(want, sizeof want, "file first 1 512 1\nerror: %s at 1024\n", rows[i].why);
		if (strcmp(listing(used), want) != 0)
			fail_msg("%s: %s", rows[i].text, listing(used));
	}
}

/* A record may not reach beyond its header, even if the byte where it would end is a line end. */
static void pax_beyond_its_header(void **state)
{
	(void)state;
	clear();
	put('x', "PaxHeader", "522 path=a\n", 11);
	put('0', "123456789\n", "2", 1);
	put_end();
	assert_int_equal(archive[TAR_BLOCK + 521], '\n');
	assert_string_equal(listing(used), "error: a record of a pax header has a wrong length at 0\n");
}

/* GNU tar's numbers in base 256, and octal ones that are wrong. */
static void numbers(void **state)
{
	(void)state;
	static const struct {
		const char *field; /* 12 bytes */
		const char *want;
	} rows[] = {
		{"\x80\0\0\0\0\0\0\0\0\0\0\5", "file f 5 512 hello\nend at 1024\n"},
		{"\x80\0\0\0\0\0\0\0\0\0\1\0", "error: the archive is cut off"},
		{"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", "error: the archive is cut off in a file's content at 0\n"},
		{"\x80\0\0\0\x80\0\0\0\0\0\0\0", "error: a header has a wrong size at 0\n"},
		{"\x80\0\0\1\0\0\0\0\0\0\0\5", "error: a header has a wrong size at 0\n"},
		{"\x81\0\0\0\0\0\0\0\0\0\0\5", "error: a header has a wrong size at 0\n"},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "error: a header has a wrong size at 0\n"},
		{"00000000005 ", "file f 5 512 hello\nend at 1024\n"},
		{"000000000005", "file f 5 512 hello\nend at 1024\n"},
		{"5\0xxxxxxxxxx", "file f 5 512 hello\nend at 1024\n"},
		{"777777777777", "error: the archive is cut off in a file's content at 0\n"},
		{"00000000009\0", "error: a header has a wrong size at 0\n"},
		{"-0000000005\0", "error: a header has a wrong size at 0\n"},
		{"0x000000005\0", "error: a header has a wrong size at 0\n"},
		{"\0\0\0\0\0\0\0\0\0\0\0\0", "file f 0 512\n"},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		clear();
		uint8_t *h = put('0', "f", "hello", 5);
		memcpy(h + 124, rows[i].field, 12);
		put_checksum(h);
		put_end();
		const char *got = listing(i == 1 ? used - 3 * TAR_BLOCK : used);
		if (strncmp(got, rows[i].want, strlen(rows[i].want)) != 0)
			fail_msg("row %u: %s", i, got);
	}
	/* times before 1970 */
	clear();
	uint8_t *h = put('0', "f", NULL, 0);
	memset(h + 136, 0xff, 12);
	h[147] = 0xfe;
	put_checksum(h);
	h = put('0', "g", NULL, 0);
	memcpy(h + 136, "1 x         ", 12);
	put_checksum(h);
	h = put('0', "h", NULL, 0);
	memcpy(h + 136, "x           ", 12);
	put_checksum(h);
	assert_string_equal(listing(used), "file f 0 -2\nfile g 0 1\nerror: a header has a wrong time at 1024\n");
}

static void checksums(void **state)
{
	(void)state;
	clear();
	put('0', "f", "hello", 5);
	put('0', "g\xff\xfe", "x", 1);
	put_end();
	for (unsigned i = 0; i < TAR_BLOCK; i++) { /* any byte but those of the checksum itself */
		archive[i] ^= 1;
		const bool own = i >= 148 && i < 156;
		if (!own)
			assert_string_equal(listing(used), "error: this is not a tar archive at 0\n");
		archive[i] ^= 1;
	}
	/* the sum of signed bytes */
	uint8_t *h = archive + 2 * TAR_BLOCK;
	char text[8];
	int sum = 0;
	memset(h + 148, ' ', 8);
	for (unsigned i = 0; i < TAR_BLOCK; i++)
		sum += (int8_t)h[i];
	snprintf(text, sizeof text, "%06o", (unsigned)sum);
	memcpy(h + 148, text, 7);
	assert_string_equal(listing(used), "file f 5 512 hello\nfile g\xff\xfe 1 512 x\nend at 2048\n");
	h[153]++;
	assert_string_equal(listing(used), "file f 5 512 hello\nerror: a header has a wrong checksum at 1024\n");
}

/* Old sparse files of GNU tar have lists behind the header, which its size does not count. */
static void old_sparse(void **state)
{
	(void)state;
	clear();
	uint8_t *h = put('S', "sparse", NULL, 0);
	memcpy(h + 124, "00000000005", 12);
	memcpy(h + 257, "ustar  ", 8);
	h[482] = 1;
	put_checksum(h);
	archive[used + 504] = 1;
	used += 2 * TAR_BLOCK; /* two lists */
	memcpy(archive + used, "hello", 5);
	used += TAR_BLOCK;
	put('0', "next", "n", 1);
	put_end();
	assert_string_equal(listing(used), "skipped sparse 0 512: sparse file\nfile next 1 512 n\nend at 3072\n");
	assert_string_equal(listing(TAR_BLOCK), "error: the archive is cut off in a file's content at 0\n");
}

static void names_with_nul(void **state)
{
	(void)state;
	static const char text[] = "12 path=a\0b\n";
	clear();
	put('x', "PaxHeader", text, 12);
	put('0', "f", "1", 1);
	put('0', "", "2", 1);
	put_link('2', "l", "");
	put_end();
	assert_string_equal(listing(used), "skipped  0 512: the name has a NUL\nskipped  0 512: the name is empty\n"
	                                   "skipped l 0 512: the name is empty\nend at 3584\n");
}

/* --- the end --- */

static void ends(void **state)
{
	(void)state;
	clear();
	assert_string_equal(listing(0), "error: this is not a tar archive at 0\n");
	assert_string_equal(listing(511), "error: this is not a tar archive at 0\n");
	assert_string_equal(listing(512), "end at 0\n");
	memset(archive, 'x', 2048);
	assert_string_equal(listing(2048), "error: this is not a tar archive at 0\n");
	clear();
	put('0', "f", "hello", 5);
	assert_string_equal(listing(used), "file f 5 512 hello\nerror: the archive is cut off at 1024\n");
	assert_string_equal(listing(used + 512), "file f 5 512 hello\nend at 1024\n"); /* one block suffices */
	memset(archive + used + 512, 'x', 1024);
	assert_string_equal(listing(used + 1024), "file f 5 512 hello\nend at 1024\n");
	clear();
	put('L', "././@LongLink", "name", 5);
	put_end();
	assert_string_equal(listing(used), "error: a header describes an entry that does not follow at 1024\n");
	clear();
	PAX('g', {"comment", "nothing"});
	put_end();
	assert_string_equal(listing(used), "end at 1024\n");
}

/* Cut at any byte, an archive is an error there or before, and never another archive. */
static void cut_anywhere(void **state)
{
	(void)state;
	char whole[8192];
	clear();
	put('5', "d", NULL, 0);
	PAX('x', {"path", "d/a"}, {"mtime", "5"});
	put('0', "x", "hello", 5);
	put('L', "././@LongLink", "long", 5);
	put('0', "x", "world", 5);
	put_end();
	strcpy(whole, listing(used));
	for (size_t n = 0; n < used - TAR_BLOCK; n++) {
		const char *got = listing(n);
		const char *error = strstr(got, "error: ");
		assert_non_null(error);
		assert_memory_equal(got, whole, (size_t)(error - got));
		assert_true(tar.at <= n);
	}
}

/* Damaged anywhere: what is read lies within the archive (ASan), and reading comes to an end. */
static void damage(void **state)
{
	(void)state;
	seed_random("damage");
	for (unsigned round = 0; round < 20000; round++) {
		clear();
		put('5', "d", NULL, 0);
		PAX('x', {"path", "d/a"}, {"mtime", "5"}, {"size", "5"});
		put('0', "x", "hello", 5);
		put('L', "././@LongLink", "long", 5);
		put('0', "x", "world", 5);
		put_link('1', "l", "x");
		put_end();
		const unsigned changes = 1 + random_below(4);
		for (unsigned i = 0; i < changes; i++)
			archive[random_below((uint32_t)used)] = (uint8_t)random64();
		for (size_t at = 0; at < used - 2 * TAR_BLOCK; at += TAR_BLOCK)
			if (memcmp(archive + at + 257, "ustar", 5) == 0)
				put_checksum(archive + at);
		uint8_t *copy = begin(used);
		unsigned entries = 0, sum = 0;
		while (tar_next(&tar) == TAR_ENTRY) {
			assert_true(++entries <= used / TAR_BLOCK);
			for (uint64_t i = 0; i < tar.entry.size; i++)
				sum += tar.entry.data[i];
			assert_true(strlen(tar.entry.name) <= TAR_NAME_MAX && strlen(tar.entry.link) <= TAR_NAME_MAX);
		}
		assert_true(sum < 1u << 30 && (tar.step == TAR_END || tar.why));
		free(copy);
	}
}

/* --- archives of other programs --- */

static void *read_file(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	*n = (size_t)ftell(f);
	rewind(f);
	void *content = malloc(*n ? *n : 1);
	assert_int_equal(fread(content, 1, *n, f), *n);
	fclose(f);
	return content;
}

/* NAME.tar has what NAME.list says, a line for each path in any order: "file PATH MTIME SIZE SUM", "dir PATH
 * MTIME", "sym PATH LINK", "hard PATH LINK", "skipped PATH". */
static unsigned check_archive(const char *name)
{
	char path[512], line[4096];
	size_t n, lines_n;
	unsigned entries = 0, lines = 0;
	snprintf(path, sizeof path, "build/archives/%s.tar", name);
	uint8_t *content = read_file(path, &n);
	snprintf(path, sizeof path, "build/archives/%s.list", name);
	char *want = read_file(path, &lines_n);
	for (size_t i = 0; i < lines_n; i++)
		lines += want[i] == '\n';
	want = realloc(want, lines_n + 1);
	want[lines_n] = 0;
	tar_begin(&tar, content, n);
	while (tar_next(&tar) == TAR_ENTRY) {
		const struct tar_entry *e = &tar.entry;
		char site[TAR_NAME_MAX + 2];
		uint32_t sum = 0;
		assert_null(tar_path(site, sizeof site, e->name));
		for (uint64_t i = 0; i < e->size; i++)
			sum = sum * 31 + e->data[i];
		if (e->kind == TAR_FILE)
			snprintf(line, sizeof line, "file %s %lld %llu %u\n", site, (long long)e->mtime,
			         (unsigned long long)e->size, sum);
		else if (e->kind == TAR_DIRECTORY)
			snprintf(line, sizeof line, "dir %s %lld\n", site, (long long)e->mtime);
		else if (e->kind == TAR_SKIPPED)
			snprintf(line, sizeof line, "skipped %s\n", site);
		else
			snprintf(line, sizeof line, "%s %s %s\n", e->kind == TAR_SYMLINK ? "sym" : "hard", site, e->link);
		const char *found = strstr(want, line);
		if (!found || (found > want && found[-1] != '\n'))
			fail_msg("%s: not in the list: %s", name, line);
		entries++;
	}
	if (tar.step != TAR_END)
		fail_msg("%s: %s at %zu", name, tar.why, tar.at);
	assert_int_equal(entries, lines);
	free(want);
	free(content);
	return entries;
}

static void other_programs(void **state)
{
	(void)state;
	DIR *dir = opendir("build/archives");
	unsigned archives = 0;
	assert_non_null(dir);
	for (struct dirent *d; (d = readdir(dir)) != NULL;) {
		char name[256];
		size_t n = strlen(d->d_name);
		if (n < 4 || strcmp(d->d_name + n - 4, ".tar") != 0)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)(n - 4), d->d_name);
		assert_true(check_archive(name) > 5);
		archives++;
	}
	closedir(dir);
	assert_true(archives >= 10); /* GNU tar's five formats, sparse ones, tarfile's three */
}

/* --- paths --- */

static void paths(void **state)
{
	(void)state;
	static const struct {
		const char *name, *path; /* NULL: refused */
	} rows[] = {
		{"a", "/a"}, {"./a/b", "/a/b"}, {"a/b", "/a/b"}, {"/a/b", "/a/b"}, {"./a/", "/a"}, {"a/b/", "/a/b"},
		{".", "/"}, {"./", "/"}, {"/", "/"}, {"...", "/..."}, {"..a", "/..a"}, {".a", "/.a"}, {"a.", "/a."},
		{"./.well-known/x", "/.well-known/x"}, {"a b\xc3\xa9", "/a b\xc3\xa9"}, {"a%2e", "/a%2e"}, {"1234567", "/1234567"},
		{"", NULL}, {"..", NULL}, {"../a", NULL}, {"./../a", NULL}, {"a/..", NULL}, {"a/../b", NULL}, {"/..", NULL},
		{"a/./b", NULL}, {"a/.", NULL}, {"./.", NULL}, {"/.", NULL}, {"//", NULL}, {"//a", NULL}, {"a//b", NULL},
		{"a//", NULL}, {".//a", NULL}, {"a\nb", NULL}, {"a\x7f", NULL}, {"\x01", NULL},
	};
	char to[32];
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		char *copy = strdup(rows[i].name);
		const char *why = tar_path(to, sizeof to, copy);
		if (!why != (rows[i].path != NULL) || (!why && strcmp(to, rows[i].path) != 0))
			fail_msg("\"%s\": %s", rows[i].name, why ? why : to);
		free(copy);
	}
	for (size_t room = 0; room < 8; room++) { /* "/a/b" needs five bytes */
		char *exact = malloc(room ? room : 1);
		assert_int_equal(tar_path(exact, room, "./a/b/") == NULL, room >= 5);
		assert_int_equal(tar_path(exact, room, "./") == NULL, room >= 2);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ustar),          cmocka_unit_test(long_ustar_names), cmocka_unit_test(v7),
		cmocka_unit_test(gnu_long_names), cmocka_unit_test(pax_records),      cmocka_unit_test(wrong_pax),
		cmocka_unit_test(pax_beyond_its_header),
		cmocka_unit_test(numbers),        cmocka_unit_test(checksums),        cmocka_unit_test(old_sparse),
		cmocka_unit_test(names_with_nul), cmocka_unit_test(ends),             cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(damage),         cmocka_unit_test(other_programs),   cmocka_unit_test(paths),
	};
	return cmocka_run_group_tests_name("tar", tests, NULL, NULL);
}
