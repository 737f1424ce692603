/*
 * Symbolic links of a site. A link is followed as open() follows it in the unpacked archive: its text is
 * relative to the folder of its name, part by part, and where a part is itself a link, the text of that comes
 * first. So "x/.." is the folder above the one to which x leads. What leaves the archive is refused: it is not
 * known where the archive would be unpacked.
 *
 * Invariants
 * 1. A link is followed independently of the others, over LINKS_MAX links and PARTS_MAX parts at most: the time
 *    for all of them grows with their number. A circle ends at LINKS_MAX.
 * 2. In which order entries stand in the archive makes no difference.
 * 3. The path of a folder to which a link leads has no link in it.
 *
 * The passes of site_build_step:
 *
 *     PASS_LINKS     coded[HTTP_IDENTITY] of a link becomes the number of the record to which it leads;
 *                    SITE_NONE: it is left out.
 *                    Where there is no record, one of SITE_FOLDER_OR_NOTHING is made
 *     PASS_FOLDERS   of these, those in which a file or a link lies become SITE_FOLDER
 *     PASS_NAMES     links become SITE_FILE, SITE_FOLDER_LINK or SITE_GONE
 */
#include "apps/web/site_records.h"

#include "lib/mem.h"

#define LINKS_MAX 40  /* as Linux: MAXSYMLINKS, path_resolution(7) */
#define PARTS_MAX 128 /* names between slashes, in all these links together */

/* The bytes of a record that no link to a folder uses, because it has no head, hold the folder's path. */
_Static_assert(2 * SITE_HEAD_MAX >= SITE_PATH_MAX, "the path of a folder has been counted");

/* Where following a link has got to. */
struct trail {
	const struct site *site;
	char path[SITE_PATH_MAX]; /* from the root to here, n bytes: "/a/b", or "" for the root */
	size_t n;
	char rest[4 * SITE_PATH_MAX]; /* of the way, from `at` to the end */
	size_t at;
	uint32_t record; /* of `path`; SITE_NONE: none */
	unsigned links, parts;
};

/* n bytes and a slash come before the rest. False: there is no room. */
static bool prepend(struct trail *t, const char *text, size_t n)
{
	if (t->at < n + 1)
		return false;
	t->rest[--t->at] = '/';
	t->at -= n;
	memcpy(t->rest + t->at, text, n);
	return true;
}

/* The text of a link comes before the rest. Returns NULL or why not. */
static const char *enter(struct trail *t, const struct site_file *link)
{
	const char *text = site_text(t->site, link->link);
	if (text[0] == '/')
		return "symbolic link to an absolute path";
	if (++t->links > LINKS_MAX)
		return "symbolic links in a circle, or too many of them";
	return prepend(t, text, link->link_bytes) ? NULL : "symbolic link with too long a path";
}

/* Removes the last part of the path; false: it is the root. */
static bool go_up(struct trail *t)
{
	if (t->n == 0)
		return false;
	while (t->path[--t->n] != '/')
		;
	t->record = SITE_NONE;
	return true;
}

/* Goes by a part of n bytes. Returns NULL or why not. */
static const char *go(struct trail *t, const char *part, size_t n)
{
	const bool file = t->record != SITE_NONE && t->site->file[t->record].kind == SITE_FILE;
	if (file)
		return "symbolic link to nothing in the archive"; /* the part before it is no folder */
	if (text_is(part, n, "."))
		return NULL;
	if (text_is(part, n, ".."))
		return go_up(t) ? NULL : "symbolic link that leads out of the archive";
	if (++t->parts > PARTS_MAX || t->n + 1 + n >= sizeof t->path)
		return "symbolic link with too long a path";
	t->path[t->n] = '/';
	memcpy(t->path + t->n + 1, part, n);
	t->n += 1 + n;
	t->record = site_record_find(t->site, t->path, t->n);
	if (t->record == SITE_NONE || t->site->file[t->record].kind != SITE_SYMLINK)
		return NULL;
	const struct site_file *link = &t->site->file[t->record];
	go_up(t);
	return enter(t, link);
}

/* Returns NULL, with t->path free of links, or why the link leads nowhere. */
static const char *follow(struct trail *t, const struct site *s, const struct site_file *link)
{
	t->site = s;
	t->at = sizeof t->rest;
	t->n = 0;
	t->record = SITE_NONE;
	t->links = t->parts = 0;
	const char *path = site_text(s, link->path), *why = enter(t, link);
	size_t folder = link->path_bytes;
	while (path[--folder] != '/')
		;
	prepend(t, path, folder); /* there is room behind one text */
	while (!why && t->at < sizeof t->rest) {
		const char *part = t->rest + t->at;
		size_t n = 0;
		while (part[n] != '/') /* there is one at the end */
			n++;
		t->at += n + 1;
		why = n ? go(t, part, n) : NULL;
	}
	return why;
}

static void resolve(struct site_maker *m, struct trail *t, struct site_file *link)
{
	struct site *s = m->site;
	const char *why = follow(t, s, link);
	if (why) {
		site_omit(s, site_text(s, link->path), why);
		link->coded[HTTP_IDENTITY] = SITE_NONE;
		return;
	}
	if (t->record == SITE_NONE) /* nothing, or the folder above something */
		t->record = site_record_find(s, t->path, t->n);
	if (t->record == SITE_NONE) {
		t->record = site_number(s, site_record_new(m, t->path, t->n, SITE_FOLDER_OR_NOTHING));
		m->folders++;
	}
	link->coded[HTTP_IDENTITY] = t->record;
}

bool site_links_step(struct site_maker *m)
{
	struct site *s = m->site;
	struct trail t;
	for (unsigned n = 0, looked = 0; n < SITE_STEP_ENTRIES && looked < SITE_STEP_LOOKUPS; n++) {
		if (m->file == s->files)
			return true;
		struct site_file *f = &s->file[m->file++];
		if (f->kind != SITE_SYMLINK)
			continue;
		resolve(m, &t, f);
		looked += 1 + t.parts;
	}
	return false;
}

/* Returns the number of look-ups. */
static unsigned note_folders_of(struct site *s, const struct site_file *f)
{
	const char *path = site_text(s, f->path);
	struct siphash24 h = siphash24_begin(&site_key);
	unsigned looked = 0;
	for (size_t at = 0, hashed = 0; at < f->path_bytes; at++) {
		if (path[at] != '/')
			continue;
		siphash24_add(&h, path + hashed, at - hashed);
		hashed = at;
		const uint32_t i = site_record_find_hashed(s, siphash24_end(&h), path, at);
		if (i != SITE_NONE && s->file[i].kind == SITE_FOLDER_OR_NOTHING)
			s->file[i].kind = SITE_FOLDER;
		looked++;
	}
	return looked;
}

bool site_folders_step(struct site_maker *m)
{
	struct site *s = m->site;
	for (unsigned n = 0, looked = 0; n < SITE_STEP_ENTRIES && looked < SITE_STEP_LOOKUPS; n++) {
		if (!m->folders || m->file == s->files)
			return true;
		const struct site_file *f = &s->file[m->file++];
		if (f->kind == SITE_FILE || f->kind == SITE_SYMLINK)
			looked += note_folders_of(s, f);
	}
	return false;
}

static void name(struct site *s, struct site_file *link)
{
	const uint32_t n = link->coded[HTTP_IDENTITY];
	const struct site_file *to = n == SITE_NONE ? NULL : &s->file[n];
	link->coded[HTTP_IDENTITY] = site_number(s, link);
	link->kind = SITE_GONE;
	if (to && to->kind == SITE_FILE) {
		site_share(s, link, n);
		link->kind = SITE_FILE;
	} else if (to && to->kind == SITE_FOLDER) {
		link->link = to->path;
		link->link_bytes = to->path_bytes;
		link->kind = SITE_FOLDER_LINK;
		s->folder_links++;
	} else if (to) {
		site_omit(s, site_text(s, link->path), "symbolic link to nothing in the archive");
	}
}

bool site_names_step(struct site_maker *m)
{
	struct site *s = m->site;
	for (unsigned n = 0; n < SITE_STEP_ENTRIES && m->file < s->files; n++) {
		struct site_file *f = &s->file[m->file++];
		if (f->kind == SITE_SYMLINK)
			name(s, f);
		s->served += f->kind == SITE_FILE;
	}
	return m->file == s->files;
}
