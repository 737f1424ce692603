/*
 * Asserts that a text is JSON (RFC 8259), as far as Hayate's pages use it: objects, lists, strings of printable
 * ASCII, whole numbers, true and false. Several values may follow each other.
 */
#ifndef TESTS_FUZZ_JSON_H
#define TESTS_FUZZ_JSON_H

#include <string.h>

#include "lib/assert.h"

static const char *value_end(const char *s, unsigned depth);

static const char *string_end(const char *s)
{
	assert(*s == '"');
	for (s++; *s != '"'; s++) {
		assert(*s >= ' ' && *s < 0x7f);
		s += *s == '\\';
		assert(*s);
	}
	return s + 1;
}

static const char *skip(const char *s)
{
	return s + strspn(s, " \n");
}

static const char *list_end(const char *s, char end, unsigned depth)
{
	const bool names = end == '}';
	for (s = skip(s + 1); *s != end; s = skip(s)) {
		if (names) {
			s = string_end(s);
			assert(*s++ == ':');
		}
		s = skip(value_end(skip(s), depth + 1));
		assert(*s == end || *s == ',');
		if (*s == ',') {
			s = skip(s + 1);
			assert(*s != end);
		}
	}
	return s + 1;
}

static const char *value_end(const char *s, unsigned depth)
{
	assert(depth < 8);
	if (*s == '{' || *s == '[')
		return list_end(s, *s == '{' ? '}' : ']', depth);
	if (*s == '"')
		return string_end(s);
	const size_t n = strspn(s, "0123456789truefalsn");
	assert(n);
	return s + n;
}

static inline void check_json(const char *s)
{
	for (s = skip(s); *s; s = skip(s))
		s = value_end(s, 0);
}

#endif
