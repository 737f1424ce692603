/*
 * A site: the files of a tar archive, ready to be sent. Contents stay in the archive. Beside it the control
 * core builds an index, in one piece, in which all places are offsets from its start:
 *
 *     struct site
 *     struct site_file [files]
 *     uint32_t [slots]         a hash table with open addressing: number of a file + 1, or 0
 *     texts                    paths with NUL, heads of responses
 *
 * Archive and index lie at the same addresses on all cores. Data cores read both; neither changes.
 *
 * A file whose path has the suffix of a content coding (".gz", ".br", ".zst") is also sent in place of the file
 * without the suffix, to a client that accepts the coding (net/http/coding.h). For each such pair there is a
 * head.
 *
 * A hard link and a symbolic link to a file are files of their own name, with the content of their target. A
 * symbolic link to a folder has no content: site_find() puts the path of that folder in place of the link's
 * (site_links.c).
 *
 * The order of the files is that of the archive, so two sites of one archive number them alike.
 */
#ifndef APPS_WEB_SITE_H
#define APPS_WEB_SITE_H

#include "lib/siphash.h"
#include "lib/types.h"
#include "net/archive/tar.h"
#include "net/http/coding.h"

#define SITE_NONE UINT32_MAX
#define SITE_PATH_MAX 1024 /* with NUL */
#define SITE_HEAD_MAX 512  /* bytes of the head of a 200 */
#define SITE_ETAG_MAX 19   /* 16 digits in quotes, and NUL */
#define SITE_INDEX "index.html"
#define SITE_FOLDER_LINKS_MAX 8 /* links to folders in the path of a request */

enum site_kind {
	SITE_FILE,
	SITE_GONE,        /* not served: a later entry has the name, or a link that leads nowhere */
	SITE_FOLDER_LINK, /* a symbolic link to a folder */
	SITE_FOLDER,      /* to which such a link leads; not of all folders */
	/* while the index is being made */
	SITE_SYMLINK,
	SITE_FOLDER_OR_NOTHING, /* a link leads there: it is a folder if a file lies in it */
};

/* A record: of an entry of the archive, or of a folder to which a link leads. */
struct site_file {
	uint64_t hash;    /* of the path */
	uint64_t path;    /* where it is; of a folder without a slash at its end: "" is the root */
	uint64_t link;    /* of a link to a folder: where the folder's path is; of SITE_SYMLINK: where its text is */
	uint64_t content; /* where it is in the archive; of links to folders and of folders 0, as is the size */
	uint64_t size;
	uint64_t etag;    /* a hash of the content */
	int64_t modified; /* seconds since 1970 */
	uint32_t coded[HTTP_CODINGS]; /* the file with its content in that coding; SITE_NONE: none */
	uint64_t head[HTTP_CODINGS];  /* of a 200 with that content: HTTP/1.1, the connection stays open */
	uint16_t head_bytes[HTTP_CODINGS];
	uint16_t path_bytes, link_bytes;
	uint8_t kind; /* enum site_kind */
};

/* An entry of the archive that is not served, as texts of printable ASCII for a person to read. */
struct site_omission {
	char name[128]; /* cut off if it is longer */
	char why[72];
};
#define SITE_OMISSIONS_MAX 16

struct site {
	const uint8_t *archive;
	uint64_t archive_bytes;
	uint64_t bytes; /* of the index; */
	uint64_t used;  /* so many of them */
	uint64_t slot_at;
	uint32_t files; /* records; */
	uint32_t served; /* so many of them are files with a name */
	uint32_t folder_links;
	uint32_t slots; /* a power of two */
	uint32_t left_out; /* entries: links that lead nowhere, names that no request can ask for, kinds that tar_next()
	                    * skips; */
	struct site_omission omission[SITE_OMISSIONS_MAX]; /* the first of them */
	struct site_file file[];
};

/* What the index of an archive needs. */
struct site_count {
	size_t bytes;
	uint32_t records;
};

/*
 * An index in the making. Each step is short (SITE_STEP_BYTES, SITE_STEP_ENTRIES, SITE_STEP_LOOKUPS), so that
 * the control core does other work in between:
 *
 *     site_begin(&m, archive, bytes);
 *     while ((step = site_count_step(&m)) == SITE_MORE)
 *     if (step == SITE_ERROR)             site_why() says what is wrong with the archive
 *     site_build(&m, index, archive);     in m.count.bytes of memory
 *     while (site_build_step(&m) == SITE_MORE)
 */
#define SITE_STEP_BYTES (256u << 10)
#define SITE_STEP_ENTRIES 64
#define SITE_STEP_LOOKUPS 1024 /* of paths */
enum site_step { SITE_MORE, SITE_DONE, SITE_ERROR };
struct site_maker {
	struct site_count count;
	/* private */
	struct tar tar;
	struct site *site;
	uint64_t at;      /* next free byte of texts */
	uint8_t pass;     /* of site_build_step */
	uint32_t file;    /* of that pass */
	uint64_t hashed;  /* bytes of its content */
	struct siphash24 hash;
	uint32_t folders; /* records of SITE_FOLDER_OR_NOTHING */
};

void site_begin(struct site_maker *m, const void *archive, size_t bytes);

/* Counts what the archive needs. SITE_ERROR: it is damaged, or no tar archive. */
enum site_step site_count_step(struct site_maker *m);

/* After SITE_ERROR: the byte, the member and the reason, for a person to read; returns to. */
#define SITE_WHY_MAX 1200
char *site_why(char to[SITE_WHY_MAX], const struct site_maker *m);

/* Begins the index at s, 8-byte aligned, of the archive that has been counted; `archive`: where it is now. Of
 * several entries of one name the last one counts, as with tar. */
void site_build(struct site_maker *m, struct site *s, const void *archive);
enum site_step site_build_step(struct site_maker *m); /* never SITE_ERROR */

/* A hash of the whole index; not 0. `alive` is called from time to time (core_alive). */
uint64_t site_seal(const struct site *s, void (*alive)(void));

/* The number of the file with this path of `n` bytes, which may lead over SITE_FOLDER_LINKS_MAX links to
 * folders. A file with exactly this path comes first. SITE_NONE: there is none. */
uint32_t site_find(const struct site *s, const char *path, size_t n);

static inline const char *site_text(const struct site *s, uint64_t at)
{
	return (const char *)s + at;
}

static inline const uint8_t *site_content(const struct site *s, const struct site_file *f)
{
	return s->archive + f->content;
}

/* The strong entity-tag of a file, with quotes; returns buf. */
char *site_etag(char buf[SITE_ETAG_MAX], const struct site_file *f);

/* The field lines of all responses about file f in that coding: validators, Vary, Content-Encoding. Returns the
 * length; `size` of SITE_HEAD_MAX suffices. */
size_t site_fields(char *buf, size_t size, const struct site *s, const struct site_file *f, enum http_coding c);

#endif
