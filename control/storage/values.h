/*
 * Named values in memory, as one tar archive (POSIX ustar; net/archive/tar.h reads it, and so does any tar): the
 * content of a generation. An archive may come from a disk and is then checked before use.
 *
 * A function of its arguments: it knows no disk.
 */
#ifndef CONTROL_STORAGE_VALUES_H
#define CONTROL_STORAGE_VALUES_H

#include "lib/types.h"

#define VALUES_NAME_MAX 99 /* characters: letters, digits, '-', '_', '.', and '/' between them; no part is ".." */
#define VALUES_EMPTY 1024  /* bytes of an archive without values */

struct values {
	uint8_t *at;  /* the owner's memory */
	size_t bytes; /* of the archive */
	size_t room;  /* bytes of that memory, at least VALUES_EMPTY */
};

/* Makes an archive without values. */
void values_clear(struct values *v);

/* True: the archive can be read to its end, and holds values with possible names, each once, and nothing else. */
bool values_are_whole(const struct values *v);

/* Finds a value in an archive that is whole; *data lies in it. E_NOENT. */
int values_get(const struct values *v, const char *name, const uint8_t **data, size_t *n);

/* Sets a value, which replaces one of that name. `data` lies outside of the archive's memory, or behind
 * its bytes (values_behind). time_s: seconds since 1970, 0 if it is not
 * known. E_INVAL: no possible name. E_NOMEM: there is no room; nothing has changed. */
int values_put(struct values *v, const char *name, const void *data, size_t n, uint64_t time_s);

/* Memory behind the archive in which a value may be built for values_put: *room bytes, 0: there is none. */
uint8_t *values_behind(const struct values *v, size_t *room);

/* E_NOENT: there is no such value. */
int values_remove(struct values *v, const char *name);

/* The values in their order, the one put last is the last: *at is 0 at first. False: there are no more. */
struct values_entry {
	const char *name; /* valid until the next change */
	const uint8_t *data;
	size_t bytes;
	uint64_t time_s;
};
bool values_next(const struct values *v, size_t *at, struct values_entry *e);

#endif
