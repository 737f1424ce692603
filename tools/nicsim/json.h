/*
 * Writes JSON (RFC 8259) into memory, compact, on one line. Members are written in the order of the
 * calls; the writer adds commas and tracks nesting. Inside arrays, names are NULL.
 */
#ifndef NICSIM_JSON_H
#define NICSIM_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH 16

struct json {
	char *text; /* ends with a NUL; owned by the writer, freed by json_free */
	size_t bytes, room;
	unsigned depth;
	char closing[JSON_DEPTH]; /* '}' or ']' of each open value */
	bool follows; /* a member has been written at this depth: a comma comes first */
	bool failed;  /* out of memory or nested too deep: text must not be used */
};

void json_init(struct json *j);
void json_free(struct json *j);

void json_object(struct json *j, const char *name);
void json_array(struct json *j, const char *name);
void json_end(struct json *j); /* closes the innermost object or array */

void json_u64(struct json *j, const char *name, uint64_t value);
void json_bool(struct json *j, const char *name, bool value);
void json_null(struct json *j, const char *name);
/* Escapes control characters, quotes and backslashes; the caller ensures that `value` is UTF-8. */
void json_string(struct json *j, const char *name, const char *value);

/* The finished text, or NULL after a failure or while a value is still open. */
const char *json_text(const struct json *j);

#endif
