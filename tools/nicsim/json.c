#include "tools/nicsim/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(struct json *j, const char *s, size_t n)
{
	if (j->failed)
		return;
	if (j->room - j->bytes <= n) { /* one byte is kept for the NUL */
		size_t room = 2 * j->room + n + 1024;
		char *text = realloc(j->text, room);
		if (text == NULL) {
			j->failed = true;
			return;
		}
		j->text = text;
		j->room = room;
	}
	memcpy(j->text + j->bytes, s, n);
	j->bytes += n;
	j->text[j->bytes] = 0;
}

static void put_quoted(struct json *j, const char *s)
{
	char code[8];
	put(j, "\"", 1);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\') {
			put(j, "\\", 1);
			put(j, s, 1);
		} else if ((unsigned char)*s < 0x20) {
			snprintf(code, sizeof code, "\\u%04x", (unsigned char)*s);
			put(j, code, 6);
		} else {
			put(j, s, 1);
		}
	}
	put(j, "\"", 1);
}

/* Writes what comes before every value: a comma and the name. */
static void member(struct json *j, const char *name)
{
	if (j->follows)
		put(j, ",", 1);
	j->follows = true;
	if (name) {
		put_quoted(j, name);
		put(j, ":", 1);
	}
}

static void open(struct json *j, const char *name, const char *opening, char closing)
{
	member(j, name);
	put(j, opening, 1);
	if (j->depth == JSON_DEPTH) {
		j->failed = true;
		return;
	}
	j->closing[j->depth++] = closing;
	j->follows = false;
}

void json_init(struct json *j)
{
	memset(j, 0, sizeof *j);
}

void json_free(struct json *j)
{
	free(j->text);
	json_init(j);
}

void json_object(struct json *j, const char *name)
{
	open(j, name, "{", '}');
}

void json_array(struct json *j, const char *name)
{
	open(j, name, "[", ']');
}

void json_end(struct json *j)
{
	if (j->depth == 0) {
		j->failed = true;
		return;
	}
	put(j, &j->closing[--j->depth], 1);
	j->follows = true;
}

void json_u64(struct json *j, const char *name, uint64_t value)
{
	char digits[24];
	int n = snprintf(digits, sizeof digits, "%" PRIu64, value);
	member(j, name);
	put(j, digits, (size_t)n);
}

void json_bool(struct json *j, const char *name, bool value)
{
	member(j, name);
	put(j, value ? "true" : "false", value ? 4 : 5);
}

void json_null(struct json *j, const char *name)
{
	member(j, name);
	put(j, "null", 4);
}

void json_string(struct json *j, const char *name, const char *value)
{
	member(j, name);
	put_quoted(j, value);
}

const char *json_text(const struct json *j)
{
	return j->failed || j->depth != 0 ? NULL : j->text;
}
