/* Text of HTTP fields: characters, and lists (RFC 9110 5.6), for the parsers of net/http. */
#ifndef NET_HTTP_TEXT_H
#define NET_HTTP_TEXT_H

#include "lib/mem.h"
#include "lib/types.h"

/* A piece of a text; no NUL stands at its end. */
struct http_text {
	const char *at;
	size_t n;
};

static inline struct http_text http_text_of(const char *s)
{
	return (struct http_text){s, strlen(s)};
}

static inline bool http_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool http_is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline char http_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline bool http_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* True if t is the word, which is in lower case, in either case. */
static inline bool http_text_is(struct http_text t, const char *word)
{
	size_t i = 0;
	for (; i < t.n && word[i]; i++)
		if (http_lower(t.at[i]) != word[i])
			return false;
	return i == t.n && !word[i];
}

/* Takes n bytes, at most all, off the front. */
static inline void http_text_skip(struct http_text *t, size_t n)
{
	t->at += n;
	t->n -= n;
}

/* Removes whitespace at both ends. */
static inline void http_text_trim(struct http_text *t)
{
	while (t->n && http_is_blank(t->at[0]))
		http_text_skip(t, 1);
	while (t->n && http_is_blank(t->at[t->n - 1]))
		t->n--;
}

/* Takes what is before the first `mark`, trimmed, and the mark off the front; all if there is no mark. */
static inline struct http_text http_text_until(struct http_text *t, char mark)
{
	size_t n = 0;
	while (n < t->n && t->at[n] != mark)
		n++;
	struct http_text part = {t->at, n};
	http_text_trim(&part);
	http_text_skip(t, n < t->n ? n + 1 : n);
	return part;
}

/* The next element of a list without quoted strings (RFC 9110 5.6.1); it may be empty. False: the end. */
static inline bool http_text_element(struct http_text *list, struct http_text *element)
{
	if (list->n == 0)
		return false;
	*element = http_text_until(list, ',');
	return true;
}

/* Takes the digits at the front as a number. One that is too great for 64 bits, or nearly so, becomes UINT64_MAX.
 * False: there is no digit. */
static inline bool http_text_number(struct http_text *t, uint64_t *number)
{
	uint64_t n = 0;
	if (t->n == 0 || !http_is_digit(t->at[0]))
		return false;
	for (; t->n && http_is_digit(t->at[0]); http_text_skip(t, 1))
		n = n >= UINT64_MAX / 10 ? UINT64_MAX : n * 10 + (unsigned)(t->at[0] - '0');
	*number = n;
	return true;
}

#endif
