/* See site.h. */
#include "apps/web/site.h"

#include "lib/assert.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "lib/siphash.h"
#include "net/archive/tar.h"
#include "net/http/date.h"
#include "net/http/http.h"
#include "net/http/media.h"

#define CONTENT_ALIGN 64
#define HASH_PIECE (1u << 20) /* bytes between two calls of alive */

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

/* --- building --- */

struct builder {
	struct site *site;
	uint64_t at;  /* next free byte of texts and contents */
	void (*alive)(void);
};

static uint64_t take(struct builder *b, const void *from, uint64_t n, uint64_t align)
{
	const uint64_t at = align_up(b->at, align);
	b->at = at + n;
	assert(b->at <= b->site->bytes);
	memcpy((uint8_t *)b->site + at, from, n);
	return at;
}

static uint64_t content_hash(const struct builder *b, const uint8_t *data, uint64_t n)
{
	struct siphash24 h = siphash24_begin(&key);
	while (n) {
		const size_t piece = n < HASH_PIECE ? (size_t)n : HASH_PIECE;
		siphash24_add(&h, data, piece);
		data += piece;
		n -= piece;
		if (b->alive)
			b->alive();
	}
	return siphash24_end(&h);
}

/* The record of a path: that of an earlier entry of the same name, or a new one. */
static struct site_file *record(struct builder *b, const char *path)
{
	struct site *s = b->site;
	const size_t n = strlen(path);
	const uint64_t hash = siphash24(&key, path, n);
	uint32_t *slot = (uint32_t *)(void *)((uint8_t *)s + s->slot_at) + slot_of(s, hash, path, n);
	if (*slot)
		return &s->file[*slot - 1];
	struct site_file *f = &s->file[s->files++];
	*slot = s->files;
	*f = (struct site_file){.hash = hash, .path = take(b, path, n + 1, 1), .path_bytes = (uint16_t)n};
	return f;
}

static void add_file(struct builder *b, const char *path, const struct tar_entry *e)
{
	struct site_file *f = record(b, path);
	f->content = take(b, e->data, e->size, CONTENT_ALIGN);
	f->size = e->size;
	f->modified = e->mtime;
	f->etag = content_hash(b, e->data, e->size);
}

/* A hard link names an earlier entry of the archive. */
static bool add_link(struct builder *b, const char *path, const struct tar_entry *e)
{
	char target[SITE_PATH_MAX];
	if (tar_path(target, sizeof target, e->link))
		return false;
	const uint32_t n = site_find(b->site, target, strlen(target));
	if (n == SITE_NONE)
		return false;
	struct site_file *f = record(b, path);
	const struct site_file *to = &b->site->file[n];
	f->content = to->content;
	f->size = to->size;
	f->modified = to->modified;
	f->etag = to->etag;
	return true;
}

static void find_codings(struct site *s, struct site_file *f)
{
	char path[SITE_PATH_MAX + 8];
	f->coded[HTTP_IDENTITY] = (uint32_t)(f - s->file);
	for (unsigned c = HTTP_IDENTITY + 1; c < HTTP_CODINGS; c++) {
		const size_t n = fmt_format(path, sizeof path, "%s%s", site_text(s, f->path),
		                            http_coding_suffix((enum http_coding)c));
		f->coded[c] = site_find(s, path, n);
	}
}

static void make_heads(struct builder *b, struct site_file *f)
{
	struct site *s = b->site;
	for (unsigned c = 0; c < HTTP_CODINGS; c++) {
		char fields[SITE_HEAD_MAX], head[SITE_HEAD_MAX];
		if (f->coded[c] == SITE_NONE)
			continue;
		site_fields(fields, sizeof fields, s, f, (enum http_coding)c);
		f->head_bytes[c] = (uint16_t)http_answer_put(
			head, sizeof head, &(struct http_answer){.status = 200, .minor = 1, .length = s->file[f->coded[c]].size,
		                                                 .type = http_media_type(site_text(s, f->path)), .fields = fields});
		assert(f->head_bytes[c]);
		f->head[c] = take(b, head, f->head_bytes[c], 1);
	}
}

static uint32_t slots_for(uint32_t files)
{
	uint32_t slots = 16;
	while (slots < 2 * files)
		slots *= 2;
	return slots;
}

void site_build(struct site *s, const void *archive, size_t bytes, const struct site_count *count, void (*alive)(void))
{
	static struct tar t;
	struct builder b = {.site = s, .alive = alive};
	char path[SITE_PATH_MAX];
	*s = (struct site){.bytes = count->bytes, .slots = slots_for(count->files), .left_out = count->left_out};
	s->slot_at = align_up(sizeof *s + count->files * sizeof *s->file, 8);
	b.at = s->slot_at + s->slots * sizeof(uint32_t);
	memset((uint8_t *)s + s->slot_at, 0, s->slots * sizeof(uint32_t));
	tar_begin(&t, archive, bytes);
	while (tar_next(&t) == TAR_ENTRY) {
		if ((t.entry.kind != TAR_FILE && t.entry.kind != TAR_HARD_LINK) ||
		    tar_path(path, sizeof path, t.entry.name))
			continue;
		if (t.entry.kind == TAR_FILE)
			add_file(&b, path, &t.entry);
		else
			s->left_out += !add_link(&b, path, &t.entry);
	}
	for (uint32_t i = 0; i < s->files; i++)
		find_codings(s, &s->file[i]);
	for (uint32_t i = 0; i < s->files; i++)
		make_heads(&b, &s->file[i]);
}

/* Bytes of a file besides its content: its record, two slots, which may be rounded up to four, its path, and the heads for
 * itself and for the file of which it may be a coding. */
static size_t beside(const char *path)
{
	return sizeof(struct site_file) + 4 * sizeof(uint32_t) + strlen(path) + 1 + 2 * SITE_HEAD_MAX;
}

int site_measure(const void *archive, size_t bytes, struct site_count *count, struct site_error *err, void (*alive)(void))
{
	static struct tar t;
	char path[SITE_PATH_MAX];
	enum tar_step step;
	*count = (struct site_count){.bytes = sizeof(struct site) + 64 * sizeof(uint32_t)};
	tar_begin(&t, archive, bytes);
	while ((step = tar_next(&t)) == TAR_ENTRY) {
		const bool file = t.entry.kind == TAR_FILE || t.entry.kind == TAR_HARD_LINK;
		if (alive)
			alive();
		if (t.entry.kind == TAR_DIRECTORY)
			continue;
		if (!file || tar_path(path, sizeof path, t.entry.name)) {
			count->left_out++;
			continue;
		}
		count->files++;
		count->bytes += beside(path) + (t.entry.kind == TAR_FILE ? align_up(t.entry.size, CONTENT_ALIGN) + CONTENT_ALIGN : 0);
	}
	*err = (struct site_error){t.at, t.why};
	return step == TAR_END ? E_OK : E_INVAL;
}
