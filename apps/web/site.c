/* See site.h. */
#include "apps/web/site_records.h"

#include "lib/assert.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/http/date.h"
#include "net/http/http.h"
#include "net/http/media.h"

/* --- heads --- */

char *site_etag(char buf[SITE_ETAG_MAX], const struct site_file *f)
{
	fmt_format(buf, SITE_ETAG_MAX, "\"%016llx\"", (unsigned long long)f->etag);
	return buf;
}

static bool has_codings(const struct site_file *f)
{
	for (unsigned c = HTTP_IDENTITY + 1; c < HTTP_CODINGS; c++)
		if (f->coded[c] != SITE_NONE)
			return true;
	return false;
}

size_t site_fields(char *buf, size_t size, const struct site *s, const struct site_file *f, enum http_coding c)
{
	const struct site_file *content = &s->file[f->coded[c]];
	const char *coding = http_coding_name(c);
	char etag[SITE_ETAG_MAX], date[HTTP_DATE_MAX];
	/* RFC 9110 8.8.2.1: not later than now, which we do not know; archives are made before they are loaded */
	return fmt_format(buf, size, "ETag: %s\r\nLast-Modified: %s\r\nAccept-Ranges: bytes\r\n%s%s%s%s",
	                  site_etag(etag, content), http_date_put(date, content->modified),
	                  has_codings(f) ? "Vary: Accept-Encoding\r\n" : "",
	                  coding ? "Content-Encoding: " : "", coding ? coding : "", coding ? "\r\n" : "");
}

/* --- counting --- */

void site_begin(struct site_maker *m, const void *archive, size_t bytes)
{
	m->count = (struct site_count){.bytes = sizeof(struct site) + 64 * sizeof(uint32_t)};
	tar_begin(&m->tar, archive, bytes);
}

/* Why an entry is left out, whatever else the archive has; NULL: it gets a record of this path. */
static const char *why_not(char path[SITE_PATH_MAX], const struct tar_entry *e)
{
	return e->kind == TAR_SKIPPED ? e->why : tar_path(path, SITE_PATH_MAX, e->name);
}

/* Records: a link also needs that of the folder to which it may lead; a hard link may be another name of a
 * symbolic one. Bytes: two slots for each record, which may be rounded up to four; the path; the heads of a
 * file for itself and for the file of which it may be a coding; the text of a symbolic link. */
static void count_entry(struct site_count *count, const struct tar_entry *e)
{
	char path[SITE_PATH_MAX];
	if (e->kind == TAR_DIRECTORY || why_not(path, e))
		return;
	const uint32_t records = e->kind == TAR_FILE ? 1 : 2;
	count->records += records;
	count->bytes += records * (sizeof(struct site_file) + 4 * sizeof(uint32_t)) + strlen(path) + 1 + 2 * SITE_HEAD_MAX;
	count->bytes += e->kind == TAR_SYMLINK ? strlen(e->link) + 1 : 0;
}

enum site_step site_count_step(struct site_maker *m)
{
	for (unsigned n = 0; n < SITE_STEP_ENTRIES; n++) {
		const enum tar_step step = tar_next(&m->tar);
		if (step != TAR_ENTRY)
			return step == TAR_END ? SITE_DONE : SITE_ERROR;
		count_entry(&m->count, &m->tar.entry);
	}
	return SITE_MORE;
}

char *site_why(char to[SITE_WHY_MAX], const struct site_maker *m)
{
	const struct tar *t = &m->tar;
	const bool named = t->entry.name && t->entry.name[0];
	/* the entry was read as far as its name, or it is the one before */
	const char *where = !named ? "" : t->entry.offset == t->at ? ", file " : ", after file ";
	fmt_format(to, SITE_WHY_MAX, "byte %llu of the archive%s%s: %s", (unsigned long long)t->at, where,
	           named ? t->entry.name : "", t->why);
	return to;
}

/* --- building --- */

/* The passes of site_build_step. PASS_LINKS to PASS_NAMES: site_links.c. */
enum { PASS_ENTRIES, PASS_LINKS, PASS_FOLDERS, PASS_NAMES, PASS_HASHES, PASS_CODINGS, PASS_HEADS, PASS_END };

static void add_file(struct site_maker *m, const char *path, const struct tar_entry *e)
{
	struct site_file *f = site_record_new(m, path, strlen(path), SITE_FILE);
	f->content = (uint64_t)(e->data - m->site->archive);
	f->size = e->size;
	f->modified = e->mtime;
}

static void add_symlink(struct site_maker *m, const char *path, const struct tar_entry *e)
{
	struct site_file *f = site_record_new(m, path, strlen(path), SITE_SYMLINK);
	f->link_bytes = (uint16_t)strlen(e->link);
	f->link = site_text_add(m, e->link, f->link_bytes + 1u);
}

/* A hard link names an earlier entry of the archive, and stays what that was if the name gets something else later. */
static void add_hard_link(struct site_maker *m, const char *path, const struct tar_entry *e)
{
	char target[SITE_PATH_MAX];
	struct site *s = m->site;
	const uint32_t n = tar_path(target, sizeof target, e->link) ? SITE_NONE : site_record_find(s, target, strlen(target));
	if (n == SITE_NONE) {
		site_omit(s, path, "hard link to nothing before it in the archive");
		return;
	}
	const struct site_file *to = &s->file[n];
	struct site_file *f = site_record_new(m, path, strlen(path), to->kind);
	f->link = to->link;
	f->link_bytes = to->link_bytes;
	if (f->kind == SITE_FILE)
		site_share(s, f, n);
}

static void add_entry(struct site_maker *m, const struct tar_entry *e)
{
	char path[SITE_PATH_MAX];
	if (e->kind == TAR_DIRECTORY)
		return;
	const char *why = why_not(path, e);
	if (why)
		site_omit(m->site, e->name, why);
	else if (e->kind == TAR_FILE)
		add_file(m, path, e);
	else if (e->kind == TAR_SYMLINK)
		add_symlink(m, path, e);
	else
		add_hard_link(m, path, e);
}

static bool entries_step(struct site_maker *m)
{
	for (unsigned n = 0; n < SITE_STEP_ENTRIES; n++) {
		if (tar_next(&m->tar) != TAR_ENTRY)
			return true;
		add_entry(m, &m->tar.entry);
	}
	return false;
}

/* Hashes contents, each once: SITE_STEP_BYTES of them or SITE_STEP_ENTRIES files. True: all are. */
static bool hashes_step(struct site_maker *m)
{
	const struct site *s = m->site;
	uint64_t left = SITE_STEP_BYTES;
	for (unsigned n = 0; n < SITE_STEP_ENTRIES && m->file < s->files; n++) {
		struct site_file *f = &m->site->file[m->file];
		if (f->coded[HTTP_IDENTITY] != m->file) { /* it shares its content */
			m->file++;
			continue;
		}
		if (m->hashed == 0)
			m->hash = siphash24_begin(&site_key);
		const uint64_t piece = u64_min(f->size - m->hashed, left);
		siphash24_add(&m->hash, site_content(s, f) + m->hashed, piece);
		m->hashed += piece;
		left -= piece;
		if (m->hashed < f->size)
			return false;
		f->etag = siphash24_end(&m->hash);
		m->hashed = 0;
		m->file++;
	}
	return m->file == s->files;
}

static void find_codings(struct site_maker *m, struct site_file *f)
{
	const struct site *s = m->site;
	char path[SITE_PATH_MAX + 8];
	if (f->kind != SITE_FILE)
		return;
	f->etag = s->file[f->coded[HTTP_IDENTITY]].etag;
	f->coded[HTTP_IDENTITY] = site_number(s, f);
	for (unsigned c = HTTP_IDENTITY + 1; c < HTTP_CODINGS; c++) {
		const size_t n = fmt_format(path, sizeof path, "%s%s", site_text(s, f->path),
		                            http_coding_suffix((enum http_coding)c));
		f->coded[c] = site_record_find(s, path, n);
		if (f->coded[c] != SITE_NONE && s->file[f->coded[c]].kind != SITE_FILE)
			f->coded[c] = SITE_NONE;
	}
}

static void make_heads(struct site_maker *m, struct site_file *f)
{
	struct site *s = m->site;
	for (unsigned c = 0; c < HTTP_CODINGS; c++) {
		char fields[SITE_HEAD_MAX], head[SITE_HEAD_MAX];
		if (f->kind != SITE_FILE || f->coded[c] == SITE_NONE)
			continue;
		site_fields(fields, sizeof fields, s, f, (enum http_coding)c);
		f->head_bytes[c] = (uint16_t)http_answer_put(
			head, sizeof head, &(struct http_answer){.status = 200, .minor = 1, .length = s->file[f->coded[c]].size,
		                                                 .type = http_media_type(site_text(s, f->path)), .fields = fields});
		assert(f->head_bytes[c]);
		f->head[c] = site_text_add(m, head, f->head_bytes[c]);
	}
}

static bool files_step(struct site_maker *m, void (*make)(struct site_maker *m, struct site_file *f))
{
	for (unsigned n = 0; n < SITE_STEP_ENTRIES && m->file < m->site->files; n++)
		make(m, &m->site->file[m->file++]);
	return m->file == m->site->files;
}

static uint32_t slots_for(uint32_t records)
{
	uint32_t slots = 16;
	while (slots < 2 * records)
		slots *= 2;
	return slots;
}

void site_build(struct site_maker *m, struct site *s, const void *archive)
{
	*s = (struct site){.archive = archive, .archive_bytes = m->tar.size, .bytes = m->count.bytes,
	                   .slots = slots_for(m->count.records)};
	s->slot_at = align_up(sizeof *s + m->count.records * sizeof *s->file, 8);
	m->site = s;
	m->at = s->slot_at + s->slots * sizeof(uint32_t);
	m->pass = PASS_ENTRIES;
	m->file = 0;
	m->hashed = 0;
	m->folders = 0;
	memset((uint8_t *)s + s->slot_at, 0, s->slots * sizeof(uint32_t));
	tar_begin(&m->tar, archive, s->archive_bytes);
}

enum site_step site_build_step(struct site_maker *m)
{
	bool done = false;
	switch (m->pass) {
	case PASS_ENTRIES: done = entries_step(m); break;
	case PASS_LINKS:   done = site_links_step(m); break;
	case PASS_FOLDERS: done = site_folders_step(m); break;
	case PASS_NAMES:   done = site_names_step(m); break;
	case PASS_HASHES:  done = hashes_step(m); break;
	case PASS_CODINGS: done = files_step(m, find_codings); break;
	case PASS_HEADS:   done = files_step(m, make_heads); break;
	}
	if (done) {
		m->pass++;
		m->file = 0;
	}
	m->site->used = m->at;
	return m->pass < PASS_END ? SITE_MORE : SITE_DONE;
}

uint64_t site_seal(const struct site *s, void (*alive)(void))
{
	struct siphash24 h = siphash24_begin(&site_key);
	for (uint64_t at = 0; at < s->used; at += SITE_STEP_BYTES) {
		siphash24_add(&h, (const uint8_t *)s + at, u64_min(s->used - at, SITE_STEP_BYTES));
		alive();
	}
	return siphash24_end(&h) | 1;
}
