/* See json_statements.h. Each function that takes something returns false where it is not there. */
#include "control/text/json_statements.h"

#include "control/text/text.h"
#include "lib/assert.h"
#include "lib/number.h"

#define NAME_MAX 16 /* longer than any name */

struct reader {
	char *text;
	size_t n, at;    /* bytes in all; bytes read */
	size_t out;      /* bytes written */
	const char *why; /* the first error */
};

static bool fail(struct reader *r, const char *why)
{
	r->why = r->why ? r->why : why;
	return false;
}

static void skip_blanks(struct reader *r)
{
	while (r->at < r->n && (r->text[r->at] == ' ' || r->text[r->at] == '\t' || r->text[r->at] == '\n' ||
	                        r->text[r->at] == '\r'))
		r->at++;
}

/* The mark c, with blanks around it. */
static bool take(struct reader *r, char c)
{
	skip_blanks(r);
	if (r->at == r->n || r->text[r->at] != c)
		return false;
	r->at++;
	skip_blanks(r);
	return true;
}

static void put(struct reader *r, char c)
{
	assert(r->out < r->at);
	r->text[r->out++] = c;
}

/* What the escape behind a backslash stands for (RFC 8259 7), if that is printable ASCII; else -1. */
static int take_escape(struct reader *r)
{
	unsigned value = 0;
	const char c = r->at < r->n ? r->text[r->at++] : 0;
	if (c == '"' || c == '\\' || c == '/')
		return c;
	if (c != 'u' || r->n - r->at < 4)
		return -1;
	for (unsigned i = 0; i < 4; i++) {
		const int digit = hex_digit(r->text[r->at++]);
		if (digit < 0)
			return -1;
		value = value << 4 | (unsigned)digit;
	}
	return value < 0x7f && text_is_printable((char)value) ? (int)value : -1;
}

/* Writes a string's value as a line, with a blank before it if it is `inner`. */
static bool take_line(struct reader *r, bool inner)
{
	if (!take(r, '"'))
		return fail(r, "expected a statement, which is a string");
	/* take() has skipped blanks of the value, which mean nothing in a statement */
	if (inner)
		put(r, ' ');
	while (r->at < r->n && r->text[r->at] != '"') {
		int c = r->text[r->at++];
		if (c == '\\')
			c = take_escape(r);
		if (c < 0 || !text_is_printable((char)c))
			return fail(r, "a statement is one line of printable ASCII characters");
		put(r, (char)c);
	}
	if (r->at == r->n)
		return fail(r, "the string has no end");
	r->at++;
	put(r, '\n');
	return true;
}

static bool take_name(struct reader *r, char name[NAME_MAX])
{
	size_t n = 0;
	if (!take(r, '"'))
		return fail(r, "expected a name");
	while (r->at < r->n && r->text[r->at] != '"' && n < NAME_MAX - 1)
		name[n++] = r->text[r->at++];
	name[n] = 0;
	if (!take(r, '"') || !take(r, ':'))
		return fail(r, "expected a name and a colon");
	return true;
}

/* A string, null, or another word, which means nothing here. */
static bool skip_value(struct reader *r)
{
	const size_t begin = r->at;
	if (r->at < r->n && r->text[r->at] == '"') {
		for (r->at++; r->at < r->n && r->text[r->at] != '"'; r->at++)
			r->at += r->text[r->at] == '\\' && r->at + 1 < r->n;
		return take(r, '"') || fail(r, "the string has no end");
	}
	while (r->at < r->n && r->text[r->at] >= 'a' && r->text[r->at] <= 'z')
		r->at++;
	return r->at > begin || fail(r, "expected a string or null");
}

static bool take_block(struct reader *r)
{
	char name[NAME_MAX];
	static const char end[] = "exit\n";
	if (!take_name(r, name) || strcmp(name, "block") != 0)
		return fail(r, "expected \"block\", the line that opens the block");
	if (!take_line(r, false))
		return false;
	if (!take(r, ',') || !take_name(r, name) || strcmp(name, "statements") != 0 || !take(r, '['))
		return fail(r, "expected \"statements\", the list of the block's statements");
	for (bool first = true; !take(r, ']'); first = false)
		if ((!first && !take(r, ',')) || !take_line(r, true))
			return fail(r, "expected a comma or the end of the list");
	if (!take(r, '}'))
		return fail(r, "expected the end of the block");
	for (size_t i = 0; i < sizeof end - 1; i++)
		put(r, end[i]);
	return true;
}

/* Behind the '[' of a list of statements and blocks. */
static bool take_statements(struct reader *r)
{
	for (bool first = true; !take(r, ']'); first = false) {
		if (!first && !take(r, ','))
			return fail(r, "expected a comma or the end of the list");
		if (!(take(r, '{') ? take_block(r) : take_line(r, false)))
			return false;
	}
	return true;
}

/* Behind the '{' of the outer object. */
static bool take_members(struct reader *r)
{
	char name[NAME_MAX];
	bool found = false;
	for (bool first = true; !take(r, '}'); first = false) {
		if (!first && !take(r, ','))
			return fail(r, "expected a comma or the end of the object");
		if (!take_name(r, name))
			return false;
		if (strcmp(name, "statements") == 0 && !found && take(r, '[')) {
			found = true;
			if (!take_statements(r))
				return false;
		} else if (strcmp(name, "hash") != 0 && strcmp(name, "script") != 0) {
			return fail(r, "expected \"statements\", once, with a list");
		} else if (!skip_value(r)) {
			return false;
		}
	}
	return found || fail(r, "there are no \"statements\"");
}

int64_t json_statements(char *at, size_t n, const char **why, size_t *where)
{
	struct reader r = {.text = at, .n = n};
	const bool good = take(&r, '[')   ? take_statements(&r)
	                  : take(&r, '{') ? take_members(&r)
	                                  : fail(&r, "expected a list of statements, or an object with one");
	skip_blanks(&r);
	if (good && r.at < r.n)
		(void)fail(&r, "expected the end of the text");
	*why = r.why;
	*where = r.at;
	return r.why ? -1 : (int64_t)r.out;
}
