/* See site_records.h. Data cores call site_find() only. */
#include "apps/web/site_records.h"

#include "lib/assert.h"
#include "lib/fmt.h"
#include "lib/mem.h"

const struct siphash_key site_key = {0x486179617465, 0x776562};

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

uint32_t site_record_find_hashed(const struct site *s, uint64_t hash, const char *path, size_t n)
{
	return slots_of(s)[slot_of(s, hash, path, n)] - 1; /* SITE_NONE for 0 */
}

uint32_t site_record_find(const struct site *s, const char *path, size_t n)
{
	return site_record_find_hashed(s, siphash24(&site_key, path, n), path, n);
}

static uint32_t find_file(const struct site *s, const char *path, size_t n)
{
	const uint32_t i = site_record_find(s, path, n);
	return i != SITE_NONE && s->file[i].kind == SITE_FILE ? i : SITE_NONE;
}

/* The longest of the folders of a path that is a link to a folder, of those whose names have `from` bytes or
 * more; NULL: none. */
static const struct site_file *folder_link_on(const struct site *s, const char *path, size_t n, size_t from)
{
	struct siphash24 h = siphash24_begin(&site_key);
	const struct site_file *link = NULL;
	for (size_t at = 1, hashed = 0; at < n; at++) {
		if (path[at] != '/' || at < from)
			continue;
		siphash24_add(&h, path + hashed, at - hashed);
		hashed = at;
		const uint32_t i = site_record_find_hashed(s, siphash24_end(&h), path, at);
		if (i != SITE_NONE && s->file[i].kind == SITE_FOLDER_LINK)
			link = &s->file[i];
	}
	return link;
}

/* Over links to folders. The folder's path has no link in it, so only what follows it is looked at again. */
static uint32_t find_by_links(const struct site *s, const char *path, size_t n)
{
	char whole[SITE_PATH_MAX];
	size_t from = 1;
	if (n > sizeof whole)
		return SITE_NONE;
	memcpy(whole, path, n);
	for (unsigned links = 0; links < SITE_FOLDER_LINKS_MAX; links++) {
		const struct site_file *link = folder_link_on(s, whole, n, from);
		if (!link || link->link_bytes + (n - link->path_bytes) > sizeof whole)
			return SITE_NONE;
		memmove(whole + link->link_bytes, whole + link->path_bytes, n - link->path_bytes);
		memcpy(whole, site_text(s, link->link), link->link_bytes);
		n = link->link_bytes + (n - link->path_bytes);
		from = link->link_bytes + 1u;
		const uint32_t i = find_file(s, whole, n);
		if (i != SITE_NONE)
			return i;
	}
	return SITE_NONE;
}

uint32_t site_find(const struct site *s, const char *path, size_t n)
{
	const uint32_t i = find_file(s, path, n);
	return i == SITE_NONE && s->folder_links ? find_by_links(s, path, n) : i;
}

/* --- making --- */

uint64_t site_text_add(struct site_maker *m, const void *from, size_t n)
{
	const uint64_t at = m->at;
	m->at = at + n;
	assert(m->at <= m->site->bytes);
	memcpy((uint8_t *)m->site + at, from, n);
	return at;
}

struct site_file *site_record_new(struct site_maker *m, const char *path, size_t n, enum site_kind kind)
{
	struct site *s = m->site;
	const uint64_t hash = siphash24(&site_key, path, n);
	uint32_t *slot = (uint32_t *)(void *)((uint8_t *)s + s->slot_at) + slot_of(s, hash, path, n);
	struct site_file *f = &s->file[s->files++];
	assert(s->files <= m->count.records);
	*f = (struct site_file){.hash = hash, .path_bytes = (uint16_t)n, .kind = (uint8_t)kind};
	if (*slot) {
		f->path = s->file[*slot - 1].path;
		s->file[*slot - 1].kind = SITE_GONE;
	} else {
		f->path = site_text_add(m, path, n);
		site_text_add(m, "", 1);
	}
	*slot = s->files;
	f->coded[HTTP_IDENTITY] = site_number(s, f); /* whose content it has; until PASS_CODINGS of site.c */
	return f;
}

static void put_printable(char *to, size_t size, const char *from)
{
	size_t n = 0;
	for (; from[n] && n + 1 < size; n++)
		to[n] = from[n] < ' ' || from[n] > '~' ? '?' : from[n];
	to[n] = 0;
}

void site_omit(struct site *s, const char *name, const char *why)
{
	const uint32_t i = s->left_out++;
	if (i >= SITE_OMISSIONS_MAX)
		return;
	put_printable(s->omission[i].name, sizeof s->omission[i].name, name);
	put_printable(s->omission[i].why, sizeof s->omission[i].why, why);
}

void site_share(struct site *s, struct site_file *f, uint32_t n)
{
	const struct site_file *to = &s->file[n];
	f->content = to->content;
	f->size = to->size;
	f->modified = to->modified;
	f->coded[HTTP_IDENTITY] = to->coded[HTTP_IDENTITY];
}
