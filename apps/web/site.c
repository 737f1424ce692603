/* See site.h. */
#include "apps/web/site.h"

#include "lib/assert.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/http/date.h"
#include "net/http/http.h"
#include "net/http/media.h"

/* No secret: a table that is built once does not get longer chains by what is asked for. */
static const struct siphash_key key = {0x486179617465, 0x776562};

/* --- look-up --- */

static const uint32_t *slots_of(const struct site *s)
{
	return (const uint32_t *)(const void *)((const uint8_t *)s + s->slot_at);
}

/* The slot of that path, or the free slot where it belongs. The table is never full. */
static uint32_t slot_of(const struct site *s, uint64_t hash, const char *path, size_t n)
{
	const uint32_t *slot = slots_of(s);
	uint32_t at = (uint32_t)hash & (s->slots - 1);
	for (; slot[at]; at = (at + 1) & (s->slots - 1)) {
		const struct site_file *f = &s->file[slot[at] - 1];
		if (f->hash == hash && f->path_bytes == n && memcmp(site_text(s, f->path), path, n) == 0)
			break;
	}
	return at;
}

uint32_t site_find(const struct site *s, const char *path, size_t n)
{
	return slots_of(s)[slot_of(s, siphash24(&key, path, n), path, n)] - 1; /* SITE_NONE for 0 */
}

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

/* Bytes of a file in the index: its record, two slots, which may be rounded up to four, its path, and the heads for itself
 * and for the file of which it may be a coding. */
static size_t bytes_of(const char *path)
{
	return sizeof(struct site_file) + 4 * sizeof(uint32_t) + strlen(path) + 1 + 2 * SITE_HEAD_MAX;
}

static void count_entry(struct site_count *count, const struct tar_entry *e)
{
	char path[SITE_PATH_MAX];
	if (e->kind == TAR_DIRECTORY)
		return;
	if ((e->kind != TAR_FILE && e->kind != TAR_HARD_LINK) || tar_path(path, sizeof path, e->name)) {
		count->left_out++;
		return;
	}
	count->files++;
	count->bytes += bytes_of(path);
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

/* The passes of site_build_step. */
enum { PASS_ENTRIES, PASS_HASHES, PASS_CODINGS, PASS_HEADS, PASS_END };

static uint64_t take(struct site_maker *m, const void *from, uint64_t n)
{
	const uint64_t at = m->at;
	m->at = at + n;
	assert(m->at <= m->site->bytes);
	memcpy((uint8_t *)m->site + at, from, n);
	return at;
}

/* The record of a path: that of an earlier entry of the same name, or a new one. */
static struct site_file *record(struct site_maker *m, const char *path)
{
	struct site *s = m->site;
	const size_t n = strlen(path);
	const uint64_t hash = siphash24(&key, path, n);
	uint32_t *slot = (uint32_t *)(void *)((uint8_t *)s + s->slot_at) + slot_of(s, hash, path, n);
	if (*slot)
		return &s->file[*slot - 1];
	struct site_file *f = &s->file[s->files++];
	*slot = s->files;
	*f = (struct site_file){.hash = hash, .path = take(m, path, n + 1), .path_bytes = (uint16_t)n};
	return f;
}

static void add_file(struct site_maker *m, const char *path, const struct tar_entry *e)
{
	struct site_file *f = record(m, path);
	f->content = (uint64_t)(e->data - m->site->archive);
	f->size = e->size;
	f->modified = e->mtime;
	f->coded[HTTP_IDENTITY] = SITE_NONE; /* until PASS_CODINGS: the file whose content it shares */
}

/* A hard link names an earlier entry of the archive. */
static bool add_link(struct site_maker *m, const char *path, const struct tar_entry *e)
{
	char target[SITE_PATH_MAX];
	if (tar_path(target, sizeof target, e->link))
		return false;
	const uint32_t n = site_find(m->site, target, strlen(target));
	if (n == SITE_NONE)
		return false;
	struct site_file *f = record(m, path);
	const struct site_file *to = &m->site->file[n];
	f->content = to->content;
	f->size = to->size;
	f->modified = to->modified;
	f->coded[HTTP_IDENTITY] = n;
	return true;
}

static void add_entry(struct site_maker *m, const struct tar_entry *e)
{
	char path[SITE_PATH_MAX];
	if ((e->kind != TAR_FILE && e->kind != TAR_HARD_LINK) || tar_path(path, sizeof path, e->name))
		return;
	if (e->kind == TAR_FILE)
		add_file(m, path, e);
	else
		m->site->left_out += !add_link(m, path, e);
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

/* True if the tag of file f is that of the file it is a link to, which has been hashed. */
static bool shares_etag(const struct site *s, struct site_file *f)
{
	const uint32_t n = f->coded[HTTP_IDENTITY];
	const struct site_file *to = n < (uint32_t)(f - s->file) ? &s->file[n] : NULL;
	if (!to || to->content != f->content || to->size != f->size) /* that name may have got another content later */
		return false;
	f->etag = to->etag;
	return true;
}

/* Hashes contents, SITE_STEP_BYTES of them or SITE_STEP_ENTRIES files. True: all are. */
static bool hashes_step(struct site_maker *m)
{
	const struct site *s = m->site;
	uint64_t left = SITE_STEP_BYTES;
	for (unsigned n = 0; n < SITE_STEP_ENTRIES && m->file < s->files; n++) {
		struct site_file *f = &m->site->file[m->file];
		if (m->hashed == 0)
			m->hash = siphash24_begin(&key);
		if (m->hashed == 0 && shares_etag(s, f)) {
			m->file++;
			continue;
		}
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
	f->coded[HTTP_IDENTITY] = (uint32_t)(f - s->file);
	for (unsigned c = HTTP_IDENTITY + 1; c < HTTP_CODINGS; c++) {
		const size_t n = fmt_format(path, sizeof path, "%s%s", site_text(s, f->path),
		                            http_coding_suffix((enum http_coding)c));
		f->coded[c] = site_find(s, path, n);
	}
}

static void make_heads(struct site_maker *m, struct site_file *f)
{
	struct site *s = m->site;
	for (unsigned c = 0; c < HTTP_CODINGS; c++) {
		char fields[SITE_HEAD_MAX], head[SITE_HEAD_MAX];
		if (f->coded[c] == SITE_NONE)
			continue;
		site_fields(fields, sizeof fields, s, f, (enum http_coding)c);
		f->head_bytes[c] = (uint16_t)http_answer_put(
			head, sizeof head, &(struct http_answer){.status = 200, .minor = 1, .length = s->file[f->coded[c]].size,
		                                                 .type = http_media_type(site_text(s, f->path)), .fields = fields});
		assert(f->head_bytes[c]);
		f->head[c] = take(m, head, f->head_bytes[c]);
	}
}

static bool files_step(struct site_maker *m, void (*make)(struct site_maker *m, struct site_file *f))
{
	for (unsigned n = 0; n < SITE_STEP_ENTRIES && m->file < m->site->files; n++)
		make(m, &m->site->file[m->file++]);
	return m->file == m->site->files;
}

static uint32_t slots_for(uint32_t files)
{
	uint32_t slots = 16;
	while (slots < 2 * files)
		slots *= 2;
	return slots;
}

void site_build(struct site_maker *m, struct site *s, const void *archive)
{
	*s = (struct site){.archive = archive, .archive_bytes = m->tar.size, .bytes = m->count.bytes,
	                   .slots = slots_for(m->count.files), .left_out = m->count.left_out};
	s->slot_at = align_up(sizeof *s + m->count.files * sizeof *s->file, 8);
	m->site = s;
	m->at = s->slot_at + s->slots * sizeof(uint32_t);
	m->pass = PASS_ENTRIES;
	m->file = 0;
	m->hashed = 0;
	memset((uint8_t *)s + s->slot_at, 0, s->slots * sizeof(uint32_t));
	tar_begin(&m->tar, archive, s->archive_bytes);
}

enum site_step site_build_step(struct site_maker *m)
{
	bool done = false;
	switch (m->pass) {
	case PASS_ENTRIES: done = entries_step(m); break;
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
	struct siphash24 h = siphash24_begin(&key);
	for (uint64_t at = 0; at < s->used; at += SITE_STEP_BYTES) {
		siphash24_add(&h, (const uint8_t *)s + at, u64_min(s->used - at, SITE_STEP_BYTES));
		alive();
	}
	return siphash24_end(&h) | 1;
}
