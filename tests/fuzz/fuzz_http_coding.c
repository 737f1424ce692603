/*
 * Accept-Encoding (net/http/coding.h): the input is a byte of codings that exist, and the field. The choice exists;
 * without the others it is the same; and it is one that the field does not refuse, if there is such a one, by a
 * second reading of the rules for fields in a simple form. The rest of the input, as a path, has a media type.
 */
#include "tests/fuzz/input.h"

#include "net/http/coding.h"
#include "net/http/media.h"

/* What a simple field, of names and "name;q=0" without blanks, says of a coding: 1, 0 (refused) or -1. */
static int said(const char *field, const char *name)
{
	int last = -1;
	const size_t n = strlen(name);
	for (const char *at = field; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, name, n) == 0 && (at[n] == ',' || !at[n]))
			last = 1;
		if (strncmp(at, name, n) == 0 && strncmp(at + n, ";q=0", 4) == 0)
			last = 0;
		if (!*at)
			break;
	}
	return last;
}

/* A field of eight choices from a byte each. */
static void check_simple(struct input *in)
{
	static const char *const names[] = {"identity", "gzip", "zstd", "br", "*", "x"};
	char field[256] = "";
	int weight[HTTP_CODINGS];
	for (unsigned left = take8(in) % 8; left; left--) {
		const uint8_t b = take8(in);
		strcat(strcat(field, field[0] ? "," : ""), names[b % ARRAY_LEN(names)]);
		strcat(field, b & 0x80 ? ";q=0" : "");
	}
	const unsigned available = (take8(in) & 15u) | 1;
	const enum http_coding c = http_coding_choose(field, available);
	bool any = false;
	for (unsigned i = 0; i < HTTP_CODINGS; i++) {
		weight[i] = said(field, names[i]) >= 0 ? said(field, names[i]) : said(field, "*");
		any |= (available >> i & 1) && weight[i] == 1;
	}
	assert(any ? weight[c] == 1 : c == HTTP_IDENTITY);
	for (unsigned i = c + 1; i < HTTP_CODINGS; i++)
		assert(!(available >> i & 1) || weight[i] != 1); /* no better one */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	const unsigned available = take8(&in);
	char *field = exact_text(in.p, in.n);
	const enum http_coding c = http_coding_choose(field, available);
	assert(c == HTTP_IDENTITY || (c < HTTP_CODINGS && available >> c & 1));
	assert(http_coding_choose(field, 1u << c) == c);
	const char *type = http_media_type(field);
	assert(strlen(type) < HTTP_MEDIA_TYPE_MAX && strchr(type, '/'));
	free(field);
	check_simple(&in);
	return 0;
}
