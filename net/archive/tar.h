/*
 * Reads a tar archive in memory: POSIX ustar and pax (IEEE Std 1003.1-2017, pax, "ustar Interchange Format"
 * and "pax Interchange Format"), GNU tar's long names and base-256 numbers (GNU tar manual, "Basic Tar
 * Format"), and the format of Unix V7.
 *
 *     tar_begin(&t, data, size);
 *     while ((step = tar_next(&t)) == TAR_ENTRY)
 *         t.entry is valid until the next call
 *     if (step == TAR_ERROR)
 *         t.why says what is wrong, in the header at byte t.at of the archive
 *
 * Invariants
 * 1. Nothing outside of data[0..size) is read, and entry.data[0..entry.size) is inside. The archive may be
 *    hostile.
 * 2. Every call advances by a block at least, so reading comes to an end. After TAR_END or TAR_ERROR each
 *    further call returns the same.
 * 3. entry.name is not empty, except of an entry that is skipped, and has no NUL in it. It is not yet a path
 *    of the site: see tar_path().
 *
 * Deliberately missing: sparse files, volumes of a set, incremental dumps, owners, permissions, pax's
 * hdrcharset; compressed archives.
 */
#ifndef NET_ARCHIVE_TAR_H
#define NET_ARCHIVE_TAR_H

#include "lib/types.h"

#define TAR_BLOCK 512
#define TAR_NAME_MAX 1024 /* bytes of a name: as long as an HTTP target may be */

enum tar_kind {
	TAR_FILE,
	TAR_DIRECTORY,
	TAR_HARD_LINK, /* another name of the file that entry.link names as the archive does */
	TAR_SYMLINK,   /* entry.link: its text, relative to the folder of the name */
	TAR_SKIPPED,   /* entry.why says why; has a name only if that could be read */
};

struct tar_entry {
	enum tar_kind kind;
	size_t offset;       /* of its header in the archive */
	const char *name;    /* as in the archive: "./a/b", "a/" */
	const char *link;    /* of a link: what it is a name for; else "" */
	const uint8_t *data; /* of a file, in the archive, whose owner keeps it */
	uint64_t size;       /* bytes of data; 0 for all but files */
	int64_t mtime;       /* seconds since 1970, rounded down */
	const char *why;     /* of TAR_SKIPPED: "sparse file"; else NULL */
};

enum tar_step { TAR_ENTRY, TAR_END, TAR_ERROR };

struct tar {
	struct tar_entry entry;
	size_t at;       /* of the next header; after TAR_ERROR that of the wrong one */
	const char *why; /* after TAR_ERROR: the reason, for a person to read */
	/* private to the reader */
	const uint8_t *archive;
	size_t size;
	enum tar_step step;
	bool has_mtime;     /* a global pax header has set one */
	int64_t mtime;
	char name[TAR_NAME_MAX + 1], link[TAR_NAME_MAX + 1];
};

/* The caller keeps the archive until the last use of an entry's data. */
void tar_begin(struct tar *t, const void *archive, size_t size);

/* TAR_ENTRY: the next entry. TAR_END: a block of zeros, after which nothing is read. TAR_ERROR: not a tar
 * archive, damaged or cut off; without the block of zeros it counts as cut off. */
enum tar_step tar_next(struct tar *t);

/*
 * The absolute path of a site for a name of an archive: "./a/b", "a/b" and "/a/b" are "/a/b"; "./" and "."
 * are "/"; a slash at the end of a folder's name is removed. Returns NULL, or why the name is refused: it is
 * empty, has a part that is "..", "." or empty, a control character, or is longer than room - 1 bytes. No
 * request could ask for such a path (RFC 3986 5.2.4 removes dots). `to` is valid only for NULL.
 */
const char *tar_path(char *to, size_t room, const char *name);

#endif
