/* tools/pktgen/report/report.h: the output formats, with made-up results. A browser checks that the JSON
 * is valid and that the page draws its plots (tests/system/test_pktgen_report.py). */
#include "tests/unit/rig/host.h"

#include "tests/unit/rig/report_sample.h"
#include "tools/pktgen/report/report_out.h"

#define TEXT_ROOM (1u << 20)

static char text[TEXT_ROOM];
static size_t used, longest;

static void collect(void *ctx, const char *piece, size_t len)
{
	assert_ptr_equal(ctx, text);
	assert_true(len > 0 && len < TEXT_ROOM - used);
	memcpy(text + used, piece, len);
	used += len;
	longest = len > longest ? len : longest;
	text[used] = '\0';
}

static void make(void (*form)(const struct report *, report_write *, void *), unsigned what)
{
	used = longest = 0;
	form(sample_report(what), collect, text);
}

static void contains(const char *what)
{
	if (!strstr(text, what))
		fail_msg("no `%s` in\n%s", what, text);
}

static void text_of_a_run(void **s)
{
	(void)s;
	make(report_text, SAMPLE_RUN);
	contains("Run of 10.000 s: valid\n");
	contains("stream small: eth0 sent 29761904 frames, 1904761856 bytes, 2.976 Mpps, "
	         "2000.000 Mbit/s\n"
	         "  received 29761904, lost 0 (0.0000 %), reordered 0, duplicates 0, corrupted 0\n"
	         "  latency ns: min 3000 mean ");
	contains("stream imix <v6>: eth1 sent 4000000 frames, 1428000000 bytes, 0.400 Mpps, "
	         "1206.400 Mbit/s\n"
	         "  received 3999863, lost 137 (0.0034 %), reordered 12, duplicates 1, corrupted "
	         "0\n");
	contains(" Mbit/s\n  no stamps: not judged\n");
	contains("  pacing error ns: min 0 mean ");
	contains("probe: eth0 to eth1 sent 1000, timed by the cards 998, clock error at most 1300 ns\n"
	         "  latency ns: min 24");
	assert_null(strstr(text, "RFC 2544"));
}

/* A test that failed says why, in every format. */
static void failures(void **s)
{
	(void)s;
	struct report r = *sample_report(0);
	r.error = "stream a: nobody answers";
	r.flaw = TRIAL_FAULT;
	used = 0;
	report_text(&r, collect, text);
	contains("Run of 0.000 s: FAILED: stream a: nobody answers\n");
	used = 0;
	report_json(&r, collect, text);
	contains("\"valid\":false,\"why\":\"stream a: nobody answers\",\"streams\":[");
	r.rfc2544 = sample_report(SAMPLE_RFC2544)->rfc2544;
	used = 0;
	report_text(&r, collect, text);
	contains("The test failed: stream a: nobody answers\n");
	assert_null(strstr(text, "Run of"));
	used = 0;
	report_json(&r, collect, text);
	contains("\"error\":\"stream a: nobody answers\"");
}

static void text_of_rfc2544(void **s)
{
	(void)s;
	make(report_text, SAMPLE_RFC2544);
	contains("\n    64    49.700       7395833    4970.000    3786.667   8 of 1 to 11\n");
	contains(" 46 of 27 to 46   at least: the generator fell behind\n");
	contains("\n  1024  not measurable: a link was down\n");
	contains("\n  1024  no throughput to measure it at\n");
	contains("100.000: invalid");
	contains("   at least: a burst of 2 s passes\n");
	assert_null(strstr(text, "Run of"));
	/* Every trial is listed. */
	char line[32];
	const struct report *r = sample_report(SAMPLE_RFC2544);
	for (uint32_t i = 0; i < r->rfc2544->trials; i++) {
		snprintf(line, sizeof line, "\n%6u  ", i + 1);
		contains(line);
	}
	assert_true(longest <= 1024);
}

/* Brackets match, outside strings; every string ends. */
static void check_json(const char *p, const char *end)
{
	char open[32];
	unsigned depth = 0;
	for (; p < end; p++) {
		if (*p == '"') {
			for (p++; *p != '"'; p++) {
				assert_true((unsigned char)*p >= 0x20 && *p != '<');
				p += *p == '\\';
			}
		} else if (*p == '{' || *p == '[') {
			assert_true(depth < sizeof open);
			open[depth++] = *p;
		} else if (*p == '}' || *p == ']') {
			assert_true(depth > 0 && open[--depth] == *p - 2);
		} else if (*p == ',') {
			assert_null(strchr(",[{", p[-1]));
		}
	}
	assert_int_equal(depth, 0);
}

static void json_is_well_formed(void **s)
{
	(void)s;
	for (unsigned what = 0; what < 4; what++) {
		make(report_json, what);
		check_json(text, text + used);
		contains("\"script\":\"# \\\"quotes\\\", tabs\\u0009and \\u003c/script> do no harm\\u000a");
		assert_true(!strstr(text, "\"rfc2544\":") == !(what & SAMPLE_RFC2544));
		assert_true(!strstr(text, "\"run\":") == !(what & SAMPLE_RUN));
		assert_true(!strstr(text, "\"probe\":{\"port\":0,\"port_in\":1,\"sent\":1000,"
		                          "\"clock_error_ns\":1300,\"latency\":{\"count\":998,") ==
		            !(what & SAMPLE_RUN));
	}
}

static void page_has_the_json(void **s)
{
	(void)s;
	static char json[TEXT_ROOM];
	make(report_json, SAMPLE_RUN | SAMPLE_RFC2544);
	memcpy(json, text, used + 1);
	make(report_html, SAMPLE_RUN | SAMPLE_RFC2544);
	contains(json);
	assert_null(strstr(text, "@JSON@"));
	assert_memory_equal(text, "<!doctype html>", 15);
	assert_string_equal(text + used - 8, "</html>\n");
	/* Nothing is loaded; the name of SVG's namespace is not an address. */
	char *at = text;
	while ((at = strstr(at, "://")) != NULL) {
		assert_memory_equal(at - 4, "http://www.w3.org/2000/svg", 26);
		at++;
	}
	assert_null(strstr(text, "src="));
}

static void numbers_with_decimals(void **s)
{
	(void)s;
	char b[REPORT_NUMBER];
	assert_string_equal(report_fixed(b, 0, 0), "0");
	assert_string_equal(report_fixed(b, 5, 3), "0.005");
	assert_string_equal(report_fixed(b, 100000, 3), "100.000");
	assert_string_equal(report_fixed(b, UINT64_MAX, 9), "18446744073.709551615");
	assert_int_equal(report_rate(1000, 500000000), 2000);
	assert_int_equal(report_rate(1000, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_of_a_run),
		cmocka_unit_test(failures),
		cmocka_unit_test(text_of_rfc2544),
		cmocka_unit_test(json_is_well_formed),
		cmocka_unit_test(page_has_the_json),
		cmocka_unit_test(numbers_with_decimals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
