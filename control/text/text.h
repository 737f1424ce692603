/*
 * Words, numbers and addresses in text that a person wrote.
 *
 * Everything here is strict: the whole word must be the value, numbers are decimal, and "010"
 * is refused because some systems read it as ten and others as eight. A text is a slice
 * (pointer, length), never NUL terminated, and may hold any byte.
 *
 * All parsers return 0, or E_INVAL and leave *out as it was. IPv4 addresses alone are in host byte
 * order; a struct net_addr is as on the wire.
 */
#ifndef CONTROL_TEXT_TEXT_H
#define CONTROL_TEXT_TEXT_H

#include "lib/mem.h"
#include "lib/types.h"
#include "net/addr.h"

struct text {
	const char *at;
	size_t len;
};

/* The slice of a NUL-terminated string. */
static inline struct text text_of(const char *s)
{
	return (struct text){s, strlen(s)};
}

static inline bool text_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Printable ASCII, the blank included. */
static inline bool text_is_printable(char c)
{
	return c >= 0x20 && c < 0x7f;
}

static inline char text_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/*
 * Cuts the next word (bytes up to a blank) off *rest. Returns false, *word empty and at the end
 * of *rest, when only blanks are left.
 */
bool text_next_word(struct text *rest, struct text *word);

/* A line up to the end of its nth word, all of it where it has fewer; how many it has; the last of
 * them, empty where there is none. */
struct text text_first_words(struct text line, unsigned n);
unsigned text_count_words(struct text line);
struct text text_last_word(struct text line);

/* Is every one of these words the line's at its place? */
bool text_begins_with(struct text line, struct text words);

/* Cuts the next line off *rest, without its end. Returns false, *line as it was, when nothing is
 * left. */
bool text_next_line(struct text *rest, struct text *line);

uint32_t text_count_lines(struct text text);

/* t without blanks at its end, and on both sides. */
struct text text_trim_end(struct text t);
struct text text_trim(struct text t);

bool text_equal(struct text a, struct text b);

/* Offset of the first c in t, or t.len. */
size_t text_find(struct text t, char c);

/* How many bytes of t are printable before the first that is not. */
size_t text_printable(struct text t);

/* Is t the keyword / the beginning of the keyword? Case does not matter (ASCII). */
bool text_is_word(struct text t, struct text keyword);
bool text_begins_word(struct text t, struct text keyword);

/* A decimal number from min to max. */
int text_parse_u32(struct text t, uint32_t min, uint32_t max, uint32_t *out);
int text_parse_u64(struct text t, uint64_t min, uint64_t max, uint64_t *out);

/* "192.0.2.1" */
int text_parse_ip4(struct text t, uint32_t *out);

/* "255.255.255.0": contiguous masks only. *plen is 0 to 32. */
int text_parse_mask(struct text t, unsigned *plen);

/* "192.0.2.1/24". Host bits are kept: whether they may be set is the caller's rule. */
int text_parse_prefix(struct text t, uint32_t *addr, unsigned *plen);

/*
 * "2001:db8::1", any form of RFC 4291 2.2: one to four digits a group, letters in either case, at
 * most one "::" (for one group or more: RFC 4291 says so), the last two groups as an IPv4 address.
 * No zone ("%eth0", RFC 4007 11): the port is another word. "::ffff:192.0.2.1" is refused: in a
 * struct net_addr it would be the IPv4 address.
 */
int text_parse_ip6(struct text t, struct net_addr *out);

/* "2001:db8::/32", host bits kept as above; *plen is 0 to 128. */
int text_parse_prefix6(struct text t, struct net_addr *addr, unsigned *plen);

/* An address of either family: what has a colon is IPv6. */
int text_parse_addr(struct text t, struct net_addr *out);

/* "00:11:22:aa:bb:cc", "00-11-22-aa-bb-cc" or "0011.22aa.bbcc"; letters in either case. */
int text_parse_mac(struct text t, uint8_t out[6]);

/* What is wrong with a text of lines: the configuration, a script. */
struct text_error {
	uint32_t line;    /* from 1 */
	char word[48];    /* the offending word, made printable; empty: the end of the line */
	char reason[240]; /* what was expected, a sentence without full stop */
};

/* Fills *err, unless it is NULL, and returns E_INVAL: `return text_fail(…)`. */
int text_fail(struct text_error *err, uint32_t line, struct text word, const char *format, ...)
	PRINTF_LIKE(4, 5);

/* "FILE:LINE: REASON, at "WORD"" into buf; returns as fmt_format does. */
size_t text_error_format(char *buf, size_t size, const char *file, const struct text_error *err);

#endif
