/* The records of an index, for its makers (site.c, site_links.c): apps/web/site.h has what others use. */
#ifndef APPS_WEB_SITE_RECORDS_H
#define APPS_WEB_SITE_RECORDS_H

#include "apps/web/site.h"

/* No secret: a table that is built once does not get longer chains by what is asked for. */
extern const struct siphash_key site_key;

/* The number of the last record of exactly this path, of any kind; SITE_NONE: there is none. */
uint32_t site_record_find(const struct site *s, const char *path, size_t n);
uint32_t site_record_find_hashed(const struct site *s, uint64_t hash, const char *path, size_t n); /* by site_key */

/* A new record of this path, without NUL. An earlier one of that path becomes SITE_GONE; its number and content
 * stay. */
struct site_file *site_record_new(struct site_maker *m, const char *path, size_t n, enum site_kind kind);

/* Copies n bytes to the texts of the index; returns where they are. */
uint64_t site_text_add(struct site_maker *m, const void *from, size_t n);

static inline uint32_t site_number(const struct site *s, const struct site_file *f)
{
	return (uint32_t)(f - s->file);
}

/* Notes that an entry is left out. */
void site_omit(struct site *s, const char *name, const char *why);

/* f gets the content of record n, which is a file. */
void site_share(struct site *s, struct site_file *f, uint32_t n);

/* The passes over links, SITE_STEP_LOOKUPS of each. True: the pass has ended. */
bool site_links_step(struct site_maker *m);   /* where each link leads */
bool site_folders_step(struct site_maker *m); /* which of these places are folders */
bool site_names_step(struct site_maker *m);   /* links become files, links to folders, or are left out */

#endif
