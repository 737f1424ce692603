/*
 * Statements as JSON (RFC 8259), the form of a configuration over HTTP (docs/http.md), to text:
 *
 *     {"statements": ["hostname r1", {"block": "interface eth0", "statements": ["mtu 9000"]}]}
 *     ["hostname r1", "interface eth0", "mtu 9000"]
 *
 * becomes
 *
 *     hostname r1
 *     interface eth0
 *      mtu 9000
 *     exit
 *
 * The text replaces the JSON in its memory: it is never longer than what has been read, so the conversion needs no
 * other memory, and its time is linear. Invariants: the output ends at or before the position of the reader; after
 * an error the memory holds neither.
 *
 * A member "hash" or "script" of the outer object is skipped: GET answers with it. Other names are errors, because a
 * misspelt one would remove statements. "block" stands before "statements". A statement is one line of printable
 * ASCII, which may be written with escapes. Names have none.
 */
#ifndef CONTROL_TEXT_JSON_STATEMENTS_H
#define CONTROL_TEXT_JSON_STATEMENTS_H

#include "lib/types.h"

/* Converts the n bytes at `at`; returns the bytes of the text. -1: *why says what is wrong, at byte *where. */
int64_t json_statements(char *at, size_t n, const char **why, size_t *where);

#endif
