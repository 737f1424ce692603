/*
 * Parsers of words, numbers and addresses in text that a person wrote.
 *
 * All parsers are strict. The whole word must be the value, and numbers are decimal. "010" is
 * refused because some systems read it as ten and others as eight. A text is a slice (pointer,
 * length), not NUL terminated, and may hold any byte.
 *
 * All parsers return 0, or return E_INVAL and leave *out unchanged. An IPv4 address in a uint32_t
 * is in host byte order; a struct net_addr is in network byte order.
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

/* Printable ASCII, including the blank. */
static inline bool text_is_printable(char c)
{
	return c >= 0x20 && c < 0x7f;
}

static inline char text_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/*
 * Cuts the next word (bytes up to a blank) off *rest. When only blanks are left it returns false,
 * and *word is empty and at the end of *rest.
 */
bool text_next_word(struct text *rest, struct text *word);

/* The line up to the end of its nth word; the last word of a line with fewer ends it. */
struct text text_first_words(struct text line, unsigned n);

unsigned text_count_words(struct text line);

/* The last word of the line; empty: the line has no word. */
struct text text_last_word(struct text line);

/* True if the line begins with exactly these words; blanks between them may differ. */
bool text_begins_with(struct text line, struct text words);

/* Cuts the next line off *rest; *line excludes the '\n'. When nothing is left it returns false and
 * leaves *line unchanged. */
bool text_next_line(struct text *rest, struct text *line);

uint32_t text_count_lines(struct text text);

/* t without blanks at its end; without blanks at both ends. */
struct text text_trim_end(struct text t);
struct text text_trim(struct text t);

bool text_equal(struct text a, struct text b);

/* Offset of the first c in t, or t.len. */
size_t text_find(struct text t, char c);

/* Number of printable bytes at the beginning of t. */
size_t text_printable(struct text t);

/* True if t is the keyword; is a beginning of the keyword. Both ignore case (ASCII). */
bool text_is_word(struct text t, struct text keyword);
bool text_begins_word(struct text t, struct text keyword);

/* A decimal number from min to max. */
int text_parse_u32(struct text t, uint32_t min, uint32_t max, uint32_t *out);
int text_parse_u64(struct text t, uint64_t min, uint64_t max, uint64_t *out);

/* "192.0.2.1" */
int text_parse_ip4(struct text t, uint32_t *out);

/* "255.255.255.0": contiguous masks only. *plen is 0 to 32. */
int text_parse_mask(struct text t, unsigned *plen);

/* "192.0.2.1/24". Keeps host bits; the caller decides whether they may be set. */
int text_parse_prefix(struct text t, uint32_t *addr, unsigned *plen);

/*
 * "2001:db8::1", any form of RFC 4291 2.2: one to four digits a group, letters in either case, at
 * most one "::" (RFC 4291: for one or more groups), the last two groups as an IPv4 address.
 * A zone ("%eth0", RFC 4007 11) is refused; the dialects name the interface in another word.
 * "::ffff:192.0.2.1" is refused because a struct net_addr would hold it as the IPv4 address.
 */
int text_parse_ip6(struct text t, struct net_addr *out);

/* "2001:db8::/32". Keeps host bits, as text_parse_prefix does; *plen is 0 to 128. */
int text_parse_prefix6(struct text t, struct net_addr *addr, unsigned *plen);

/* An address of either family; a word with a colon is read as IPv6. */
int text_parse_addr(struct text t, struct net_addr *out);

/* "00:11:22:aa:bb:cc", "00-11-22-aa-bb-cc" or "0011.22aa.bbcc"; letters in either case. */
int text_parse_mac(struct text t, uint8_t out[6]);

/* Exactly n bytes as 2 n hexadecimal digits, in either case. On an error *out is undefined. */
int text_parse_hex(struct text t, uint8_t *out, size_t n);

/* An error in a text of lines: the configuration or a script. */
struct text_error {
	uint32_t line;    /* from 1 */
	char word[48];    /* the wrong word, made printable; empty: the end of the line */
	char reason[480]; /* a sentence without full stop */
};

/* Fills *err unless err is NULL. Returns E_INVAL, for `return text_fail(…)`. */
int text_fail(struct text_error *err, uint32_t line, struct text word, const char *format, ...)
	PRINTF_LIKE(4, 5);

/* Writes `FILE:LINE: REASON, at "WORD"` to buf; returns what fmt_format returns. */
size_t text_error_format(char *buf, size_t size, const char *file, const struct text_error *err);

#endif
