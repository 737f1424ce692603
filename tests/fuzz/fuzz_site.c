/*
 * The index of a site (apps/web/site.h): the input is a byte, and an archive, as for fuzz_tar.c; or, if the byte has bit 1, a few
 * bytes for each entry, of which an archive of files and links with short names is made. The index takes no more memory than was
 * counted. Each file lies in the archive, has a tag of its content and is found by its path; what a link to a folder leads to is
 * found by the link's; each entry is served, replaced or left out.
 */
#include "tests/fuzz/archive.h"

#include "apps/web/site_records.h"

#define ENTRIES_MAX 64

/* --- archives --- */

/* A path of up to `parts` of these names. */
static void put_path(char *to, struct input *in, unsigned parts, unsigned names)
{
	static const char *const name[] = {"a", "b", "c", "a.gz", "..", "..", ".", ""};
	unsigned n = 1 + take8(in) % parts;
	for (to[0] = 0; n; n--) {
		strcat(to, name[take8(in) % names]);
		strcat(to, n > 1 ? "/" : "");
	}
}

/* One entry, of a file with content, a hard link or a symbolic one. */
static void put_entry(uint8_t *h, struct input *in)
{
	const uint8_t how = take8(in);
	memcpy(h + 257, "ustar\00000", 8);
	put_path((char *)h, in, 4, 4);
	h[156] = "0122"[how & 3];
	memcpy(h + 124, h[156] == '0' ? "00000000002" : "00000000000", 11);
	memcpy(h + 136, "00000000000", 11);
	if (h[156] == '1')
		put_path((char *)h + 157, in, 4, 4);
	else if (h[156] == '2')
		put_path((char *)h + 157 + (how >> 7), in, 8, 8);
	if (how >> 7 && h[156] == '2')
		h[157] = '/';
	if (h[156] == '0') {
		h[TAR_BLOCK] = take8(in) & 1;
		h[TAR_BLOCK + 1] = how;
	}
}

static uint8_t *make_archive(struct input *in, size_t *size)
{
	uint8_t *archive = calloc(2 * ENTRIES_MAX + 1, TAR_BLOCK);
	size_t at = 0;
	for (unsigned n = 0; in->n && n < ENTRIES_MAX; n++) {
		put_entry(archive + at, in);
		at += archive[at + 156] == '0' ? 2 * TAR_BLOCK : TAR_BLOCK;
	}
	*size = at + TAR_BLOCK;
	return archive;
}

/* --- checks --- */

static const char *path_of(const struct site *s, const struct site_file *f)
{
	const char *path = site_text(s, f->path);
	assert(f->path + f->path_bytes < s->used && strlen(path) == f->path_bytes);
	return path;
}

static void check_file(const struct site *s, const struct site_file *f)
{
	assert(f->content <= s->archive_bytes && f->size <= s->archive_bytes - f->content);
	assert(f->etag == siphash24(&site_key, site_content(s, f), f->size));
	assert(site_find(s, path_of(s, f), f->path_bytes) == site_number(s, f));
	assert(f->coded[HTTP_IDENTITY] == site_number(s, f));
	for (unsigned c = 0; c < HTTP_CODINGS; c++) {
		assert(f->coded[c] == SITE_NONE || (f->coded[c] < s->files && s->file[f->coded[c]].kind == SITE_FILE));
		assert(f->coded[c] == SITE_NONE || f->head[c] + f->head_bytes[c] <= s->used);
	}
}

static bool is_kind(const struct site *s, const char *path, size_t n, enum site_kind kind)
{
	const uint32_t i = site_record_find(s, path, n);
	return i != SITE_NONE && s->file[i].kind == kind;
}

/* True if the path names an entry below a name of `from` bytes, which is a link: tar would have unpacked that elsewhere. */
static bool is_below(const struct site *s, const char *path, size_t n, size_t from)
{
	for (size_t at = from + 1; at < n; at++)
		if (path[at] == '/' && is_kind(s, path, at, SITE_FOLDER_LINK))
			return true;
	return is_kind(s, path, n, SITE_FILE);
}

/* By the link's path, each file in the folder is found. */
static void check_folder_link(const struct site *s, const struct site_file *link)
{
	const char *folder = site_text(s, link->link);
	char path[2 * SITE_PATH_MAX];
	assert(strlen(folder) == link->link_bytes && link->size == 0);
	for (uint32_t i = 0; i < s->files; i++) {
		const struct site_file *f = &s->file[i];
		if (f->kind != SITE_FILE || strncmp(path_of(s, f), folder, link->link_bytes) != 0 ||
		    site_text(s, f->path)[link->link_bytes] != '/')
			continue;
		const size_t n = (size_t)snprintf(path, sizeof path, "%s%s", site_text(s, link->path), site_text(s, f->path) + link->link_bytes);
		assert(n > SITE_PATH_MAX || is_below(s, path, n, link->path_bytes) || site_find(s, path, n) == i);
	}
}

static void check_site(const struct site *s, uint32_t entries)
{
	uint32_t kinds[SITE_FOLDER_OR_NOTHING + 1] = {0};
	assert(s->used <= s->bytes && s->files <= s->slots / 2);
	for (uint32_t i = 0; i < s->files; i++) {
		const struct site_file *f = &s->file[i];
		kinds[f->kind]++;
		if (f->kind == SITE_FILE)
			check_file(s, f);
		else
			assert(f->size == 0 || f->kind == SITE_GONE);
		if (f->kind == SITE_FOLDER_LINK)
			check_folder_link(s, f);
	}
	assert(kinds[SITE_SYMLINK] == 0 && kinds[SITE_FILE] == s->served && kinds[SITE_FOLDER_LINK] == s->folder_links);
	assert(s->served + s->folder_links + s->left_out <= entries);
	assert(s->served + s->folder_links + s->left_out + kinds[SITE_GONE] >= entries);
	for (uint32_t i = 0; i < s->left_out && i < SITE_OMISSIONS_MAX; i++)
		assert(strlen(s->omission[i].name) < sizeof s->omission[i].name && strlen(s->omission[i].why) > 3);
}

static uint32_t count_entries(const uint8_t *archive, size_t size)
{
	static struct tar t;
	uint32_t n = 0;
	tar_begin(&t, archive, size);
	while (tar_next(&t) == TAR_ENTRY)
		n += t.entry.kind != TAR_DIRECTORY;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct site_maker m;
	struct input in = {data, size};
	const uint8_t how = take8(&in);
	size_t bytes = in.n;
	uint8_t *archive = how & 2 ? make_archive(&in, &bytes) : exactly(in.p, in.n);
	enum site_step step;
	if (how & 3)
		correct_checksums(archive, bytes);
	site_begin(&m, archive, bytes);
	while ((step = site_count_step(&m)) == SITE_MORE)
		;
	if (step == SITE_DONE) {
		struct site *s = malloc(m.count.bytes);
		site_build(&m, s, archive);
		while (site_build_step(&m) == SITE_MORE)
			;
		check_site(s, count_entries(archive, bytes));
		free(s);
	}
	assert(step == SITE_DONE || !(how & 2));
	free(archive);
	return 0;
}
