/* See json.h. Each function that takes something cuts it off *t, and returns false where it is not there. */
#include "control/text/json.h"


static void skip_blanks(struct text *t)
{
	while (t->len && (*t->at == ' ' || *t->at == '\t' || *t->at == '\n' || *t->at == '\r')) {
		t->at++;
		t->len--;
	}
}

static void skip(struct text *t, size_t n)
{
	t->at += n;
	t->len -= n;
}

/* The mark c, with blanks around it. */
static bool take(struct text *t, char c)
{
	skip_blanks(t);
	if (!t->len || *t->at != c)
		return false;
	skip(t, 1);
	skip_blanks(t);
	return true;
}

/* RFC 8259, section 7. *plain: it has no escape, so its bytes are its value. */
static bool take_string(struct text *t, struct text *s, bool *plain)
{
	size_t n = 1;
	if (!t->len || *t->at != '"')
		return false;
	*plain = true;
	for (; n < t->len && t->at[n] != '"'; n++) {
		if ((uint8_t)t->at[n] < 0x20)
			return false;
		if (t->at[n] == '\\') {
			*plain = false;
			n++;
		}
	}
	if (n >= t->len)
		return false;
	*s = (struct text){t->at + 1, n - 1};
	skip(t, n + 1);
	return true;
}

/* A number, or true, false, null: letters, digits and marks up to what may follow a value. */
static bool take_word(struct text *t, struct text *s)
{
	size_t n = 0;
	while (n < t->len && ((t->at[n] >= '0' && t->at[n] <= '9') ||
	                      (text_lower(t->at[n]) >= 'a' && text_lower(t->at[n]) <= 'z') ||
	                      t->at[n] == '-' || t->at[n] == '+' || t->at[n] == '.'))
		n++;
	*s = (struct text){t->at, n};
	skip(t, n);
	return n > 0;
}

/* An object or a list: brackets that match, and what is between them. */
static bool take_nested(struct text *t)
{
	uint32_t lists = 0; /* one bit for each open bracket, the innermost lowest */
	unsigned depth = 0;
	struct text s;
	bool plain;
	do {
		const char c = t->len ? *t->at : 0;
		if (c == '"') {
			if (!take_string(t, &s, &plain))
				return false;
			continue;
		}
		if (c == '{' || c == '[') {
			if (depth++ == JSON_DEPTH)
				return false;
			lists = lists << 1 | (c == '[');
		} else if (c == '}' || c == ']') {
			if ((lists & 1) != (c == ']'))
				return false;
			lists >>= 1;
			depth--;
		} else if (!t->len) {
			return false;
		}
		skip(t, 1);
	} while (depth);
	return true;
}

/* *plain: the bytes of *s are the value. */
static bool take_value(struct text *t, struct text *s, bool *plain)
{
	*s = text_of("");
	*plain = !t->len || (*t->at != '{' && *t->at != '[');
	if (!*plain)
		return take_nested(t);
	return take_string(t, s, plain) || take_word(t, s);
}

static bool keep(struct json_field *fields, unsigned n, struct text name, struct text value, bool plain)
{
	for (unsigned i = 0; i < n; i++)
		if (text_equal(name, text_of(fields[i].name))) {
			if (fields[i].there || !plain)
				return false;
			fields[i].there = true;
			fields[i].value = value;
		}
	return true;
}

/* The rest of an object, behind a member or its '{'. With `list`, a member "entries" whose value is a list ends
 * it: *list is true, and *t is behind the '['. */
static bool take_members(struct text *t, bool first, struct json_field *fields, unsigned n, bool *list)
{
	struct text name, value;
	bool plain;
	for (; !take(t, '}'); first = false) {
		if ((!first && !take(t, ',')) || !take_string(t, &name, &plain) || !plain || !take(t, ':'))
			return false;
		if (list && text_equal(name, text_of("entries")) && take(t, '['))
			return *list = true;
		if (!take_value(t, &value, &plain) || !keep(fields, n, name, value, plain))
			return false;
	}
	return true;
}

bool json_begin(struct json_objects *o, struct text t)
{
	struct text rest = t;
	*o = (struct json_objects){.rest = t, .at = JSON_ONE};
	if (take(&rest, '[')) {
		*o = (struct json_objects){.rest = rest, .at = JSON_FIRST};
		return true;
	}
	if (!take(&rest, '{') || !take_members(&rest, true, NULL, 0, &o->wrapped))
		return false;
	if (o->wrapped) {
		o->rest = rest;
		o->at = JSON_FIRST;
	}
	return true;
}

/* Behind the last object. */
static enum json_step end(struct json_objects *o)
{
	o->at = JSON_OVER;
	if (o->wrapped && !take_members(&o->rest, false, NULL, 0, NULL))
		return JSON_BAD;
	skip_blanks(&o->rest);
	return o->rest.len ? JSON_BAD : JSON_END;
}

enum json_step json_next(struct json_objects *o, struct json_field *fields, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fields[i] = (struct json_field){.name = fields[i].name, .value = text_of("")};
	if (o->at == JSON_OVER) {
		skip_blanks(&o->rest);
		return o->rest.len ? JSON_BAD : JSON_END;
	}
	if (o->at != JSON_ONE && take(&o->rest, ']'))
		return end(o);
	if ((o->at == JSON_NEXT && !take(&o->rest, ',')) || !take(&o->rest, '{') ||
	    !take_members(&o->rest, true, fields, n, NULL))
		return JSON_BAD;
	o->at = o->at == JSON_ONE ? JSON_OVER : JSON_NEXT;
	return JSON_OBJECT;
}
