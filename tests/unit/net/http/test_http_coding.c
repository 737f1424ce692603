/* Content codings (net/http/coding.h): the examples and rules of RFC 9110 12.5.3, malformed weights, and
 * media types by name (net/http/media.h). */
#include "tests/unit/rig/host.h"

#include "net/http/coding.h"
#include "net/http/media.h"

#define BIT(c) (1u << HTTP_##c)
#define ALL (BIT(IDENTITY) | BIT(GZIP) | BIT(ZSTD) | BIT(BR))
#define GZ (BIT(IDENTITY) | BIT(GZIP))

static enum http_coding choose(const char *accept, unsigned available)
{
	char *copy = strdup(accept); /* for ASan */
	enum http_coding c = http_coding_choose(copy, available);
	free(copy);
	return c;
}

static void rules(void **state)
{
	(void)state;
	static const struct {
		enum http_coding want;
		unsigned available;
		const char *accept;
	} rows[] = {
		/* the examples of 12.5.3 */
		{HTTP_GZIP, ALL, "compress, gzip"},
		{HTTP_IDENTITY, ALL, ""},
		{HTTP_BR, ALL, "*"},
		{HTTP_GZIP, ALL, "compress;q=0.5, gzip;q=1.0"},
		{HTTP_GZIP, ALL, "gzip;q=1.0, identity; q=0.5, *;q=0"},
		/* of browsers */
		{HTTP_BR, ALL, "gzip, deflate, br, zstd"},
		{HTTP_GZIP, GZ, "gzip, deflate, br, zstd"},
		{HTTP_ZSTD, ALL & ~BIT(BR), "gzip, deflate, br, zstd"},
		{HTTP_IDENTITY, BIT(IDENTITY), "gzip, deflate, br, zstd"},
		{HTTP_IDENTITY, 0, "gzip"},
		/* weights */
		{HTTP_GZIP, ALL, "br;q=0.5, gzip;q=0.6"},
		{HTTP_BR, ALL, "br;q=0.600, gzip;q=0.6"},
		{HTTP_GZIP, ALL, "br;q=0.599, gzip;q=0.6"},
		{HTTP_IDENTITY, ALL, "gzip;q=0.9, identity"},
		{HTTP_IDENTITY, ALL, "gzip;q=0.001, identity;q=0.002"},
		{HTTP_GZIP, ALL, "gzip, identity"},
		{HTTP_GZIP, ALL, "gzip;q=0.001"}, /* identity is not named */
		{HTTP_GZIP, ALL, "br;q=0, gzip;q=0.1"},
		{HTTP_IDENTITY, ALL, "br;q=0, gzip;q=0, zstd;q=0"},
		{HTTP_IDENTITY, ALL, "compress"},
		/* "*": what is not named */
		{HTTP_ZSTD, ALL, "*, br;q=0"},
		{HTTP_GZIP, ALL, "*;q=0.5, gzip"},
		{HTTP_BR, ALL, "*;q=0.5, gzip;q=0.5"},
		{HTTP_BR, ALL, "*;q=0.5, gzip;q=0.4, identity;q=0"},
		{HTTP_IDENTITY, GZ, "*;q=0.5, gzip;q=0.4"}, /* identity is not named either */
		{HTTP_IDENTITY, ALL, "identity, *;q=0"},
		{HTTP_IDENTITY, ALL, "identity;q=0.5, *;q=0.1"},
		/* identity refused */
		{HTTP_GZIP, GZ, "gzip;q=0.1, identity;q=0"},
		{HTTP_GZIP, GZ, "gzip;q=0.1, *;q=0"},
		{HTTP_GZIP, GZ, "identity;q=0, *;q=0.1"},
		/* nothing is acceptable: instead of 406 */
		{HTTP_IDENTITY, ALL, "identity;q=0"},
		{HTTP_IDENTITY, ALL, "*;q=0"},
		{HTTP_IDENTITY, GZ, "br, identity;q=0"},
		/* names: 8.4.1, 8.4.1.3 */
		{HTTP_GZIP, ALL, "GZip"},
		{HTTP_GZIP, ALL, "x-gzip"},
		{HTTP_IDENTITY, ALL, "gzi, gzipp, b, brr, x-br"},
		/* lists and whitespace */
		{HTTP_GZIP, ALL, ", \t,gzip ,,"},
		{HTTP_GZIP, ALL, "br;q=0.1 ,\tgzip\t; \tQ=0.2"},
		{HTTP_BR, ALL, "br;q=1.000, gzip;q=1."},
		{HTTP_GZIP, ALL, "gzip;q=0.1, br;q=0."},
		{HTTP_GZIP, ALL, "br, gzip, br;q=0"}, /* the last counts */
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		enum http_coding got = choose(rows[i].accept, rows[i].available);
		if (got != rows[i].want)
			fail_msg("%u instead of %u: %s", got, rows[i].want, rows[i].accept);
	}
}

/* 12.4.2: an element without a proper weight is ignored, and no other. */
static void malformed(void **state)
{
	(void)state;
	static const char *const weights[] = {
		"q=", "q=2", "q=1.1", "q=1.001", "q=0.0001", "q=1.0000", "q=.5", "q=-1", "q=+1", "q=00", "q=01", "q=10", "q=0,5",
		"q=0.x", "q=0.5x", "q=0x5", "q=1e0", "q =0.5", "q= 0.5", "q=\"1\"", "q", "", ";", "q=1;", "q=1;x=y", "x=y",
		"x=y;q=1", "qq=1", "1",
	};
	for (unsigned i = 0; i < ARRAY_LEN(weights); i++) {
		char accept[64];
		snprintf(accept, sizeof accept, "br;%s, gzip;q=0.001", weights[i]);
		if (choose(accept, ALL) != HTTP_GZIP)
			fail_msg("%s", accept);
		snprintf(accept, sizeof accept, "gzip;q=0.001, br; %s", weights[i]);
		if (choose(accept, ALL) != HTTP_GZIP)
			fail_msg("%s", accept);
	}
	assert_int_equal(choose("*;q=2", ALL), HTTP_IDENTITY);
	assert_int_equal(choose(";q=1", ALL), HTTP_IDENTITY);
}

static void names(void **state)
{
	(void)state;
	assert_null(http_coding_name(HTTP_IDENTITY));
	assert_string_equal(http_coding_name(HTTP_GZIP), "gzip");
	assert_string_equal(http_coding_name(HTTP_ZSTD), "zstd");
	assert_string_equal(http_coding_name(HTTP_BR), "br");
	assert_string_equal(http_coding_suffix(HTTP_IDENTITY), "");
	assert_string_equal(http_coding_suffix(HTTP_GZIP), ".gz");
	assert_string_equal(http_coding_suffix(HTTP_ZSTD), ".zst");
	assert_string_equal(http_coding_suffix(HTTP_BR), ".br");
}

#define UNKNOWN "application/octet-stream"

static void media(void **state)
{
	(void)state;
	static const struct {
		const char *path, *type;
	} rows[] = {
		{"/index.html", "text/html; charset=utf-8"},
		{"/a.b/INDEX.HtM", "text/html; charset=utf-8"},
		{"/a.js", "text/javascript; charset=utf-8"},
		{"/a.json", "application/json"},
		{"/a.css", "text/css; charset=utf-8"},
		{"/a.txt", "text/plain; charset=utf-8"},
		{"/a.svg", "image/svg+xml"},
		{"/a.tar.gz", "application/gzip"},
		{"/a.7z", "application/x-7z-compressed"}, /* the first of the table */
		{"/a.zst", "application/zstd"},           /* the last */
		{"x.png", "image/png"},
		{"/favicon.ico", "image/vnd.microsoft.icon"},
		{"/a.woff2", "font/woff2"},
		{"/a.woff", "font/woff"},
		{"/", UNKNOWN}, {"", UNKNOWN}, {"/a", UNKNOWN}, {"/a.", UNKNOWN}, {"/html", UNKNOWN}, {"/.html", UNKNOWN},
		{"/a.html/b", UNKNOWN}, {"/a.html/", UNKNOWN}, {"/a.htmlx", UNKNOWN}, {"/a.ht", UNKNOWN}, {"/a.!", UNKNOWN},
		{"/a.\xff", UNKNOWN}, {"/a.zzz", UNKNOWN}, {"/a. html", UNKNOWN},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		char *copy = strdup(rows[i].path);
		assert_string_equal(http_media_type(copy), rows[i].type);
		assert_true(strlen(http_media_type(copy)) < HTTP_MEDIA_TYPE_MAX);
		free(copy);
	}
}

/* The search finds each row, which needs the rows in order: the extensions are read from the source. */
static void every_row(void **state)
{
	(void)state;
	char line[256], extension[32], type[128], path[64];
	unsigned rows = 0;
	FILE *f = fopen("net/http/media.c", "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "\t{\"%31[^\"]\", \"%127[^\"]\"", extension, type) != 2)
			continue;
		bool text = strstr(line, "UTF_8}") != NULL;
		snprintf(path, sizeof path, "/a.%s", extension);
		if (text)
			strcat(type, "; charset=utf-8");
		assert_string_equal(http_media_type(path), type);
		assert_int_equal(text, strncmp(type, "text/", 5) == 0);
		assert_true(strlen(type) < HTTP_MEDIA_TYPE_MAX);
		rows++;
	}
	fclose(f);
	assert_true(rows > 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules), cmocka_unit_test(malformed), cmocka_unit_test(names),
		cmocka_unit_test(media), cmocka_unit_test(every_row),
	};
	return cmocka_run_group_tests_name("http_coding", tests, NULL, NULL);
}
