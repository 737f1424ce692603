/* Range requests (net/http/range.h): the examples of RFC 9110 14.1.2 and 14.4, what is malformed, the rules
 * against abuse, and multipart/byteranges as 14.6 shows it. */
#include "tests/unit/rig/host.h"

#include "net/http/range.h"

static struct http_ranges ranges;

/* "206 0-499 9500-9999" */
static const char *read_text(const char *field, uint64_t size)
{
	static char out[512];
	char *copy = strdup(field); /* for ASan */
	memset(&ranges, 0xa5, sizeof ranges);
	size_t n = (size_t)snprintf(out, sizeof out, "%u", http_ranges_read(&ranges, copy, size));
	free(copy);
	for (unsigned i = 0; i < ranges.n; i++)
		n += (size_t)snprintf(out + n, sizeof out - n, " %llu-%llu",
		                      (unsigned long long)ranges.range[i].first,
		                      (unsigned long long)ranges.range[i].last);
	return out;
}

struct row {
	const char *field;
	uint64_t size;
	const char *want;
};

static void expect(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *got = read_text(rows[i].field, rows[i].size);
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("\"%s\" of %llu: %s", rows[i].field, (unsigned long long)rows[i].size, got);
	}
}

/* 14.1.2, of 10000 bytes */
static void examples(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"bytes=0-499", 10000, "206 0-499"},
		{"bytes=500-999", 10000, "206 500-999"},
		{"bytes=-500", 10000, "206 9500-9999"},
		{"bytes=9500-", 10000, "206 9500-9999"},
		{"bytes=0-0,-1", 10000, "206 0-0 9999-9999"},
		{"bytes= 0-0, -1", 10000, "206 0-0 9999-9999"},
		{"bytes= 0-999, 4500-5499, -1000", 10000, "206 0-999 4500-5499 9000-9999"},
		{"bytes=500-600,601-999", 10000, "206 500-600 601-999"},
		{"bytes=500-700,601-999", 10000, "200"}, /* valid, but refused: they overlap */
	};
	expect(rows, ARRAY_LEN(rows));
}

static void limits(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"bytes=0-", 10, "206 0-9"},
		{"bytes=9-9", 10, "206 9-9"},
		{"bytes=9-10", 10, "206 9-9"},
		{"bytes=0-18446744073709551615", 10, "206 0-9"},
		{"bytes=0-99999999999999999999999999", 10, "206 0-9"},
		{"bytes=-10", 10, "206 0-9"},
		{"bytes=-11", 10, "206 0-9"},
		{"bytes=-99999999999999999999999999", 10, "206 0-9"},
		{"bytes=18446744073709551600-", UINT64_MAX, "206 18446744073709551600-18446744073709551614"},
		{"BYTES=1-2", 10, "206 1-2"}, /* 14.1 */
		/* not satisfiable */
		{"bytes=10-", 10, "416"},
		{"bytes=10-10,11-12", 10, "416"},
		{"bytes=-0", 10, "416"},
		{"bytes=99999999999999999999999999-", 10, "416"},
		{"bytes=0-", 0, "416"},
		{"bytes=0-0", 0, "416"},
		{"bytes=-0", 0, "416"},
		{"bytes=-1", 0, "200"},      /* satisfiable, but there is no Content-Range for it */
		{"bytes=10-11,3-4", 10, "206 3-4"}, /* one of several is satisfiable */
	};
	expect(rows, ARRAY_LEN(rows));
}

static void malformed(void **state)
{
	(void)state;
	static const char *const rows[] = {
		"", "bytes", "bytes=", "bytes=,", "bytes= , ,", "bytes:0-1", "bytes =0-1", " bytes=0-1", "byte=0-1",
		"bytess=0-1", "items=0-1", "none=0-1", "0-1", "bytes=0", "bytes=-", "bytes=--1", "bytes=0-1-", "bytes=0-1-2",
		"bytes=1-0", "bytes=0-1,5-4", "bytes=a-b", "bytes=0x0-1", "bytes=+0-1", "bytes=0 -1", "bytes=0- 1",
		"bytes=- 1", "bytes=0-1;2-3", "bytes=0-1 2-3", "bytes=0-1,x", "bytes=x,0-1", "bytes=*", "bytes=0-1, bytes=2-3",
		"bytes=\"0-1\"", "bytes=0-1\x80",
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(read_text(rows[i], 10), "200") != 0)
			fail_msg("%s", rows[i]);
	/* empty elements are no error (5.6.1.2) */
	assert_string_equal(read_text("bytes=, 0-1 ,\t,3-4,", 10000), "206 0-1 3-4");
}

/* The three rules of range.h. */
static void abuse(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"bytes=0-0,2-2,4-4,6-6,8-8,10-10,12-12,14-14", 10000,
		 "206 0-0 2-2 4-4 6-6 8-8 10-10 12-12 14-14"},
		{"bytes=0-0,2-2,4-4,6-6,8-8,10-10,12-12,14-14,16-16", 10000, "200"},
		{"bytes=90000-,90000-,90000-,90000-,90000-,90000-,90000-,90000-", 10000, "416"},
		{"bytes=90000-,90000-,90000-,90000-,90000-,90000-,90000-,90000-,0-1", 10000, "200"},
		{"bytes=0-,0-", 10000, "200"},
		{"bytes=0-5,5-9", 10000, "200"},
		{"bytes=5-9,0-5", 10000, "200"},
		{"bytes=2-3,0-9", 10000, "200"},
		{"bytes=0-9,2-3", 10000, "200"},
		{"bytes=9000-,-1", 10000, "200"},
		{"bytes=10-19,0-9", 10000, "206 10-19 0-9"}, /* in the order of the request */
		{"bytes=0-1,3-4", 4 + 2 * HTTP_PART_COST, "206 0-1 3-4"},
		{"bytes=0-1,3-4", 3 + 2 * HTTP_PART_COST, "200"},
		{"bytes=0-1,3-4", 5, "200"},
		{"bytes=0-1,9-", 5, "206 0-1"}, /* one range has no head of a part */
	};
	expect(rows, ARRAY_LEN(rows));
}

/* 14.4 */
static void content_range(void **state)
{
	(void)state;
	char buf[HTTP_CONTENT_RANGE_MAX];
	assert_string_equal(http_content_range_put(buf, &(struct http_range){42, 1233}, 1234), "bytes 42-1233/1234");
	assert_string_equal(http_content_range_put(buf, NULL, 1234), "bytes */1234");
	assert_string_equal(http_content_range_put(buf, &(struct http_range){UINT64_MAX - 2, UINT64_MAX - 1}, UINT64_MAX),
	                    "bytes 18446744073709551613-18446744073709551614/18446744073709551615");
}

/* The message of 14.6, with the line ends of RFC 2046 5.1.1. */
static void multipart(void **state)
{
	(void)state;
	static const char want[] = "--THIS_STRING_SEPARATES\r\nContent-Type: application/pdf\r\n"
	                           "Content-Range: bytes 500-999/8000\r\n\r\n(500)"
	                           "\r\n--THIS_STRING_SEPARATES\r\nContent-Type: application/pdf\r\n"
	                           "Content-Range: bytes 7000-7999/8000\r\n\r\n(1000)"
	                           "\r\n--THIS_STRING_SEPARATES--\r\n";
	const struct http_parts m = {&ranges, 8000, "application/pdf", "THIS_STRING_SEPARATES"};
	char buf[1024], type[HTTP_PARTS_TYPE_MAX];
	read_text("bytes=500-999,7000-7999", 8000);
	size_t n = http_part_head_put(buf, sizeof buf, &m, 0);
	n += (size_t)sprintf(buf + n, "(500)");
	n += http_part_head_put(buf + n, sizeof buf - n, &m, 1);
	n += (size_t)sprintf(buf + n, "(1000)");
	n += http_parts_end_put(buf + n, sizeof buf - n, &m);
	assert_string_equal(buf, want);
	assert_int_equal(http_parts_length(&m), n - strlen("(500)(1000)") + 1500);
	n = http_parts_type_put(type, sizeof type, m.boundary);
	assert_int_equal(n, strlen(type));
	assert_string_equal(type, "multipart/byteranges; boundary=THIS_STRING_SEPARATES");
}

/* The longest of each fits, and a byte less does not. */
static void rooms(void **state)
{
	(void)state;
	char boundary[71], buf[512];
	memset(boundary, 'b', 70);
	boundary[70] = 0;
	ranges = (struct http_ranges){2, {{0, 1}, {UINT64_MAX - 2, UINT64_MAX - 1}}};
	struct http_parts m = {&ranges, UINT64_MAX, "text/plain", boundary};
	size_t n = http_part_head_put(buf, HTTP_PART_HEAD_MAX + strlen(m.type), &m, 1);
	assert_int_equal(n, strlen(buf));
	assert_int_equal(http_part_head_put(buf, n, &m, 1), 0);
	m.type = NULL;
	n = http_part_head_put(buf, sizeof buf, &m, 0);
	assert_int_equal(n, strlen(buf));
	assert_null(strstr(buf, "Content-Type"));
	n = http_parts_end_put(buf, HTTP_PARTS_END_MAX, &m);
	assert_int_equal(n, strlen(buf));
	assert_int_equal(http_parts_end_put(buf, n, &m), 0);
	n = http_parts_type_put(buf, HTTP_PARTS_TYPE_MAX, boundary);
	assert_int_equal(n, strlen(buf));
	assert_int_equal(http_parts_type_put(buf, n, boundary), 0);
}

/* Random fields, beside an oracle that marks bytes: all that is sent was asked for, once, and no answer is
 * longer than the file and the heads. */
static void random_fields(void **state)
{
	(void)state;
	seed_random("random_fields");
	for (unsigned round = 0; round < 50000; round++) {
		uint64_t size = random_below(2000);
		char field[256] = "bytes=";
		bool asked[2000] = {0}, sent[2000] = {0}, any = false;
		for (unsigned n = 1 + random_below(4), i = 0; i < n; i++) {
			uint64_t first = random_below(2200), last = first + random_below(300), suffix = random_below(50);
			unsigned kind = random_below(4);
			size_t used = strlen(field);
			if (kind == 0)
				snprintf(field + used, sizeof field - used, "%s-%u", i ? "," : "", (unsigned)suffix);
			else
				snprintf(field + used, sizeof field - used, kind == 1 && i == n - 1 ? "%s%u-" : "%s%u-%u",
				         i ? ", " : "", (unsigned)first, (unsigned)last);
			if (kind == 0)
				first = suffix < size ? size - suffix : 0, last = suffix ? UINT64_MAX : 0;
			else if (kind == 1 && i == n - 1)
				last = UINT64_MAX;
			any |= kind == 0 ? suffix > 0 : first < size;
			for (uint64_t b = first; b < size && b <= last && !(kind == 0 && suffix == 0); b++)
				asked[b] = true;
		}
		unsigned status = http_ranges_read(&ranges, field, size);
		if ((status == 416) == any)
			fail_msg("%s of %u: %u", field, (unsigned)size, status);
		for (unsigned i = 0; i < ranges.n; i++)
			for (uint64_t b = ranges.range[i].first; b <= ranges.range[i].last; b++) {
				assert_true(b < size && asked[b] && !sent[b]);
				sent[b] = true;
			}
		if (status == 206)
			assert_memory_equal(asked, sent, sizeof asked);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples),      cmocka_unit_test(limits),    cmocka_unit_test(malformed),
		cmocka_unit_test(abuse),         cmocka_unit_test(content_range), cmocka_unit_test(multipart),
		cmocka_unit_test(rooms),         cmocka_unit_test(random_fields),
	};
	return cmocka_run_group_tests_name("http_range", tests, NULL, NULL);
}
