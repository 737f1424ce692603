/*
 * Reads flat JSON objects (RFC 8259), one or a list of them, without a copy and without memory of its own:
 *
 *     {"key": "0a", "value": 1}                      one object
 *     [{"key": "0a"}, {"key": "0b"}]                 a list
 *     {"name": "x", "entries": [{"key": "0a"}]}      the same list
 *
 * Values of wanted names are strings, numbers, true, false or null. Anything else is an error, and so is a wanted
 * name that comes twice in an object, or a wanted string with a backslash. Other names may have objects and lists as
 * values, nested up to JSON_DEPTH deep; of these only brackets and strings are checked. A text may hold any byte.
 * Deliberately missing: UTF-8 checks, and the order and rounding of numbers, which are words here.
 */
#ifndef CONTROL_TEXT_JSON_H
#define CONTROL_TEXT_JSON_H

#include "control/text/text.h"

#define JSON_DEPTH 32

struct json_field {
	const char *name;   /* the caller's */
	struct text value;  /* of a string what is between the quotation marks */
	bool there;         /* the object has such a name; else value is empty */
};

/* A position between two objects; it may be kept and copied. Nothing in it is for the caller. */
struct json_objects {
	struct text rest;
	enum { JSON_ONE, JSON_FIRST, JSON_NEXT, JSON_OVER } at;
	bool wrapped; /* the list is the value of "entries" */
};

/* False: the text is none of the three. */
bool json_begin(struct json_objects *o, struct text t);

/* Reads the next object into the fields. JSON_END: there was none, and nothing but blanks follows. JSON_BAD: the
 * text is damaged from here on. */
enum json_step { JSON_BAD, JSON_END, JSON_OBJECT };
enum json_step json_next(struct json_objects *o, struct json_field *fields, unsigned n);

/* Is it a list, not a single object? */
static inline bool json_is_list(const struct json_objects *o) { return o->at != JSON_ONE; }

#endif
