/* Content codings; see coding.h. */
#include "net/http/coding.h"

#include "net/http/text.h"

/* Weights, RFC 9110 12.4.2, in thousandths. */
#define WEIGHT_NONE (-1)
#define WEIGHT_ONE 1000

static const char *const names[HTTP_CODINGS] = {
	[HTTP_IDENTITY] = "identity", [HTTP_GZIP] = "gzip", [HTTP_ZSTD] = "zstd", [HTTP_BR] = "br"};

const char *http_coding_name(enum http_coding c)
{
	return c == HTTP_IDENTITY ? NULL : names[c];
}

const char *http_coding_suffix(enum http_coding c)
{
	static const char *const suffixes[HTTP_CODINGS] = {
		[HTTP_IDENTITY] = "", [HTTP_GZIP] = ".gz", [HTTP_ZSTD] = ".zst", [HTTP_BR] = ".br"};
	return suffixes[c];
}

/* qvalue = ( "0" [ "." 0*3DIGIT ] ) / ( "1" [ "." 0*3("0") ] ); WEIGHT_NONE: it is none */
static int read_qvalue(struct http_text t)
{
	int weight;
	if (t.n == 0 || t.n > 5 || (t.at[0] != '0' && t.at[0] != '1') || (t.n > 1 && t.at[1] != '.'))
		return WEIGHT_NONE;
	weight = (t.at[0] - '0') * WEIGHT_ONE;
	for (size_t i = 2, unit = 100; i < t.n; i++, unit /= 10) {
		if (!http_is_digit(t.at[i]))
			return WEIGHT_NONE;
		weight += (int)unit * (t.at[i] - '0');
	}
	return weight <= WEIGHT_ONE ? weight : WEIGHT_NONE;
}

/* codings [ weight ], weight = OWS ";" OWS "q=" qvalue. Cuts `element` to the coding. WEIGHT_NONE: malformed. */
static int read_element(struct http_text *element)
{
	struct http_text t = *element;
	bool has_weight = false;
	for (size_t i = 0; i < t.n; i++)
		has_weight |= t.at[i] == ';';
	*element = http_text_until(&t, ';');
	http_text_trim(&t);
	if (!has_weight)
		return WEIGHT_ONE;
	if (t.n < 2 || http_lower(t.at[0]) != 'q' || t.at[1] != '=')
		return WEIGHT_NONE;
	http_text_skip(&t, 2);
	return read_qvalue(t);
}

/* Codings are in either case (8.4.1). HTTP_CODINGS: another. */
static unsigned coding_of(struct http_text name)
{
	unsigned c = 0;
	if (http_text_is(name, "x-gzip"))
		return HTTP_GZIP;
	while (c < HTTP_CODINGS && !http_text_is(name, names[c]))
		c++;
	return c;
}

enum http_coding http_coding_choose(const char *accept, unsigned available)
{
	int weight[HTTP_CODINGS + 1]; /* the last: of codings that do not exist here */
	int others = WEIGHT_NONE, best = 0;
	enum http_coding choice = HTTP_IDENTITY;
	struct http_text list = http_text_of(accept), element;
	for (unsigned c = 0; c <= HTTP_CODINGS; c++)
		weight[c] = WEIGHT_NONE;
	while (http_text_element(&list, &element)) {
		const int w = read_element(&element);
		if (w != WEIGHT_NONE)
			*(text_is(element.at, element.n, "*") ? &others : &weight[coding_of(element)]) = w;
	}
	available |= 1u << HTTP_IDENTITY;
	for (unsigned c = 0; c < HTTP_CODINGS; c++) {
		const int w = weight[c] != WEIGHT_NONE ? weight[c] : others;
		if (available >> c & 1 && w > 0 && w >= best) {
			best = w;
			choice = (enum http_coding)c;
		}
	}
	return choice;
}
