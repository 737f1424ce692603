/*
 * A site: the files of a tar archive, ready to be sent. The control core builds it in published memory, and all data cores
 * read it; it does not change. It is one piece, and all places in it are offsets from its start:
 *
 *     struct site
 *     struct site_file [files]
 *     uint32_t [slots]         a hash table with open addressing: number of a file + 1, or 0
 *     texts and contents       paths with NUL, heads of responses, contents (at multiples of 64)
 *
 * A file whose path has the suffix of a content coding (".gz", ".br", ".zst") is also sent in place of the file without the
 * suffix, to a client that accepts the coding (net/http/coding.h). For each such pair there is a head.
 *
 * The order of the files is that of the archive, so two sites of one archive number them alike.
 */
#ifndef APPS_WEB_SITE_H
#define APPS_WEB_SITE_H

#include "lib/types.h"
#include "net/http/coding.h"

#define SITE_NONE UINT32_MAX
#define SITE_PATH_MAX 1024 /* with NUL */
#define SITE_HEAD_MAX 512  /* bytes of the head of a 200 */
#define SITE_ETAG_MAX 19   /* 16 digits in quotes, and NUL */
#define SITE_INDEX "index.html"

struct site_file {
	uint64_t hash;    /* of the path */
	uint64_t path;    /* where it is */
	uint64_t content;
	uint64_t size;
	uint64_t etag;    /* a hash of the content */
	int64_t modified; /* seconds since 1970 */
	uint32_t coded[HTTP_CODINGS]; /* the file with its content in that coding; SITE_NONE: none */
	uint64_t head[HTTP_CODINGS];  /* of a 200 with that content: HTTP/1.1, the connection stays open */
	uint16_t head_bytes[HTTP_CODINGS];
	uint16_t path_bytes;
};

struct site {
	uint64_t bytes; /* of the whole piece */
	uint64_t slot_at;
	uint32_t files;
	uint32_t slots; /* a power of two */
	uint32_t left_out; /* entries of the archive, as in struct site_count, and links to what is not there */
	struct site_file file[];
};

/* What an archive needs, and what is left out of it: links that lead to no file, names that no request can ask for, kinds
 * that tar_next() skips. */
struct site_count {
	size_t bytes;
	uint32_t files;
	uint32_t left_out;
};

/* Where an archive is wrong. */
struct site_error {
	size_t at; /* byte of the archive */
	const char *why;
};

/* Counts what an archive needs. E_INVAL with *err: the archive is damaged or no tar archive. `alive` is called from time to
 * time (core_alive); may be NULL. */
int site_measure(const void *archive, size_t bytes, struct site_count *count, struct site_error *err,
                 void (*alive)(void));

/* Builds the site in count->bytes at s, 64-byte aligned, from an archive that site_measure() has counted. Of several files of
 * one name the last one counts, as with tar. */
void site_build(struct site *s, const void *archive, size_t bytes, const struct site_count *count, void (*alive)(void));

/* The number of the file with exactly this path, `n` bytes; SITE_NONE: there is none. */
uint32_t site_find(const struct site *s, const char *path, size_t n);

static inline const char *site_text(const struct site *s, uint64_t at)
{
	return (const char *)s + at;
}

/* The strong entity-tag of a file, with quotes; returns buf. */
char *site_etag(char buf[SITE_ETAG_MAX], const struct site_file *f);

/* The field lines of all responses about file f in that coding: validators, Vary, Content-Encoding. Returns the length; `size`
 * of SITE_HEAD_MAX suffices. */
size_t site_fields(char *buf, size_t size, const struct site *s, const struct site_file *f, enum http_coding c);

#endif
