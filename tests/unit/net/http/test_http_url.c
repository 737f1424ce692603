/* URLs (net/http/url.h). */
#include "tests/unit/rig/host.h"

#include "net/http/url.h"

static void good(void **state)
{
	static const struct {
		const char *text, *host, *target;
		unsigned port;
		bool tls, brackets;
	} rows[] = {
		{"https://a.example/new.upgrade", "a.example", "/new.upgrade", 443, true, false},
		{"http://192.0.2.1:8080/a/b?c=d:e@f", "192.0.2.1", "/a/b?c=d:e@f", 8080, false, false},
		{"HTTPS://[2001:db8::1]:65535", "2001:db8::1", "", 65535, true, true},
		{"http://[::1]/", "::1", "/", 80, false, true},
		{"http://x:1/%20", "x", "/%20", 1, false, false},
	};
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_url u;
		assert_null(http_url_read(rows[i].text, &u));
		assert_string_equal(u.host, rows[i].host);
		assert_string_equal(u.target, rows[i].target);
		assert_int_equal(u.port, rows[i].port);
		assert_int_equal(u.tls, rows[i].tls);
		assert_int_equal(u.brackets, rows[i].brackets);
	}
}

static void bad(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"", "begins"}, {"ftp://a/b", "begins"}, {"https:/a", "begins"}, {"http", "begins"}, {"a.example/x", "begins"},
		{"https://", "no host"}, {"https:///x", "no host"}, {"https://:443/x", "no host"}, {"https://[::1/x", "no host"},
		{"https://[::1/:80", "no host"}, /* what follows the authority is no port of it */
		{"https://[]/x", "no host"}, {"https://[::1]x/", "no host"}, {"https://user@a/x", "user name"},
		{"https://user:password@a/x", "port"}, {"https://a:0/x", "port"}, {"https://a:65536/x", "port"},
		{"https://a:/x", "port"}, {"https://a:1x/", "port"}, {"https://a:99999999999999999999/", "port"},
		{"https://a/x#y", "fragment"}, {"https://a/x y", "character"}, {"https://a/\x7f", "character"},
		{"https://a/\xc3\xa4", "character"}, {"https://a?x", "no path"},
	};
	char text[HTTP_URL_HOST + 16] = "http://";
	struct http_url u;
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		char *copy = strdup(rows[i].text); /* for ASan */
		const char *why = http_url_read(copy, &u);
		assert_non_null(why);
		if (!strstr(why, rows[i].why))
			fail_msg("%s: %s", rows[i].text, why);
		free(copy);
	}
	memset(text + 7, 'a', HTTP_URL_HOST - 1);
	assert_null(http_url_read(text, &u));
	text[7 + HTTP_URL_HOST - 1] = 'a';
	assert_non_null(http_url_read(text, &u));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(good), cmocka_unit_test(bad)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
