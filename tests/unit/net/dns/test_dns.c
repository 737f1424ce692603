/* net/dns: questions, and answers with compression, aliases, and all that a liar can send. */
#include "tests/unit/rig/host.h"

#include "lib/bytes.h"
#include "net/dns/message.h"

static uint8_t m[1024];
static unsigned len;

/* --- an answer, built piece by piece --- */

static void put(const void *bytes, unsigned n)
{
	memcpy(m + len, bytes, n);
	len += n;
}

static void put16(unsigned v)
{
	be16_store(m + len, (uint16_t)v);
	len += 2;
}

/* Labels and NUL. */
static void put_name(const char *name)
{
	while (*name) {
		const size_t n = strcspn(name, ".");
		m[len++] = (uint8_t)n;
		put(name, (unsigned)n);
		name += n + (name[n] == '.');
	}
	m[len++] = 0;
}

static void begin(unsigned flags, unsigned answers, const char *name, enum dns_type type)
{
	len = 0;
	put16(0x1234);
	put16(flags);
	put16(1);
	put16(answers);
	put16(0);
	put16(0);
	put_name(name);
	put16(type);
	put16(1);
}

/* Behind its name: a record with data; returns where the length is. */
static void record(unsigned type, uint32_t ttl, const void *data, unsigned n)
{
	put16(type);
	put16(1);
	put16(ttl >> 16);
	put16(ttl & 0xffff);
	put16(n);
	put(data, n);
}

#define Q "host.example"
#define POINTER(at) put16(0xc000 | (at))
#define GOOD 0x8180

static enum counter read_as(const char *name, enum dns_type type, struct dns_answer *a)
{
	uint8_t *copy = malloc(len ? len : 1); /* for ASan */
	memcpy(copy, m, len);
	const enum counter why = dns_answer(copy, len, 0x1234, name, type, a);
	free(copy);
	return why;
}

static enum counter read(struct dns_answer *a) { return read_as(Q, DNS_A, a); }

static void questions(void **state)
{
	(void)state;
	uint8_t out[DNS_MESSAGE_MAX];
	static const uint8_t want[] = "\xab\xcd\1\0\0\1\0\0\0\0\0\0\4host\7example\0\0\x1c\0\1";
	assert_int_equal(dns_question(out, 0xabcd, Q, DNS_AAAA), sizeof want - 1);
	assert_memory_equal(out, want, sizeof want - 1);
	static const char *const wrong[] = {"", ".", "a..b", ".a", "a.", "a b", "a/b", "\xff",
	                                    "a23456789012345678901234567890123456789012345678901234567890.1234.x y"};
	for (unsigned i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(dns_question(out, 1, wrong[i], DNS_A), 0);
	char label[65];
	memset(label, 'a', 64);
	label[64] = 0;
	assert_int_equal(dns_question(out, 1, label, DNS_A), 0);
	label[63] = 0;
	assert_true(dns_question(out, 1, label, DNS_A) > 0);
	char name[300] = "";
	for (unsigned i = 0; i < 3; i++)
		strcat(strcat(name, label), ".");
	const size_t n = strlen(name);
	memset(name + n, 'b', 61); /* 3 * 64 + 62 + 1 = 255 bytes */
	name[n + 61] = 0;
	assert_int_equal(dns_question(out, 1, name, DNS_A), 12 + 255 + 4);
	name[n + 61] = 'b';
	name[n + 62] = 0;
	assert_int_equal(dns_question(out, 1, name, DNS_A), 0);
}

/* An answer about the longest name, of 253 characters, is read; a name of 254 is malformed. */
static void longest_name(void **state)
{
	(void)state;
	struct dns_answer a;
	char name[300] = "";
	for (unsigned i = 0; i < 4; i++) {
		memset(name + 64 * i, 'a', 63);
		name[64 * i + 63] = '.';
	}
	for (unsigned n = 252; n <= 254; n++) {
		name[n] = 0;
		begin(GOOD, 1, name, DNS_A);
		POINTER(12);
		record(1, 60, "\xc0\0\2\xa", 4);
		assert_int_equal(read_as(name, DNS_A, &a), n < 254 ? CNT_NONE : CNT_drop_dns_malformed);
		assert_int_equal(a.addresses, n < 254);
		name[n] = 'a';
	}
}

static void addresses(void **state)
{
	(void)state;
	struct dns_answer a;
	begin(GOOD, 3, "HOST.Example", DNS_A); /* letter case does not count */
	POINTER(12);
	record(1, 300, "\xc0\0\2\x9", 4);
	POINTER(12);
	record(1, 60, "\xc0\0\2\xa", 4);
	put_name("other.example");
	record(1, 5, "\xc0\0\2\xb", 4); /* nobody has asked */
	assert_int_equal(read(&a), CNT_NONE);
	assert_true(a.result == DNS_FOUND && a.addresses == 2 && a.ttl_s == 60);
	assert_int_equal(net_addr_to_ip4(&a.address[0]), 0xc0000209);
	begin(GOOD, 1, Q, DNS_AAAA);
	POINTER(12);
	record(28, 0xffffffff, "\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\7", 16); /* RFC 2181 8: a TTL of 0 */
	assert_int_equal(read_as(Q, DNS_AAAA, &a), CNT_NONE);
	assert_true(a.result == DNS_FOUND && a.addresses == 1 && a.ttl_s == 0 && !net_addr_is_ip4(&a.address[0]));
	/* longer than a day */
	begin(GOOD, 1, Q, DNS_A);
	POINTER(12);
	record(1, 1000000, "\xc0\0\2\x9", 4);
	assert_int_equal(read(&a), CNT_NONE);
	assert_int_equal(a.ttl_s, DNS_TTL_MAX_S);
	/* more than are kept */
	begin(GOOD, 9, Q, DNS_A);
	for (unsigned i = 0; i < 9; i++) {
		POINTER(12);
		record(1, 300, "\xc0\0\2\x9", 4);
	}
	assert_int_equal(read(&a), CNT_NONE);
	assert_int_equal(a.addresses, DNS_ADDRESSES_MAX);
	/* of a length that no address has */
	begin(GOOD, 1, Q, DNS_A);
	POINTER(12);
	record(1, 300, "\xc0\0\2", 3);
	assert_int_equal(read(&a), CNT_NONE);
	assert_int_equal(a.result, DNS_NO_DATA);
}

static void results(void **state)
{
	(void)state;
	struct dns_answer a;
	begin(GOOD, 0, Q, DNS_A);
	assert_true(read(&a) == CNT_NONE && a.result == DNS_NO_DATA);
	begin(GOOD | 3, 0, Q, DNS_A);
	assert_true(read(&a) == CNT_NONE && a.result == DNS_NO_NAME);
	begin(GOOD | 2, 0, Q, DNS_A);
	assert_true(read(&a) == CNT_NONE && a.result == DNS_FAILED);
	begin(GOOD | 5, 0, Q, DNS_A);
	assert_true(read(&a) == CNT_NONE && a.result == DNS_FAILED);
	begin(GOOD | 0x200, 0, Q, DNS_A);
	assert_true(read(&a) == CNT_NONE && a.result == DNS_TRUNCATED);
}

static void not_ours(void **state)
{
	(void)state;
	struct dns_answer a;
	begin(0x0100, 0, Q, DNS_A); /* a question */
	assert_int_equal(read(&a), CNT_drop_dns_question);
	begin(GOOD | 0x1000, 0, Q, DNS_A); /* another operation */
	assert_int_equal(read(&a), CNT_drop_dns_question);
	begin(GOOD, 0, Q, DNS_AAAA);
	assert_int_equal(read(&a), CNT_drop_dns_question);
	begin(GOOD, 0, "host.example2", DNS_A);
	assert_int_equal(read(&a), CNT_drop_dns_question);
	begin(GOOD, 0, "host", DNS_A);
	assert_int_equal(read(&a), CNT_drop_dns_question);
	begin(GOOD, 0, Q, DNS_A);
	m[1]++;
	assert_int_equal(read(&a), CNT_drop_dns_question);
	begin(GOOD, 0, Q, DNS_A);
	m[5] = 2; /* two questions */
	assert_int_equal(read(&a), CNT_drop_dns_question);
	begin(GOOD, 0, Q, DNS_A);
	m[len - 1] = 3; /* class CHAOS */
	assert_int_equal(read(&a), CNT_drop_dns_question);
}

/* host.example -> a.example -> b.example -> address; the records in any order. */
static void aliases(void **state)
{
	(void)state;
	struct dns_answer a;
	for (unsigned order = 0; order < 6; order++) {
		static const uint8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
		begin(GOOD, 3, Q, DNS_A);
		for (unsigned i = 0; i < 3; i++)
			switch (orders[order][i]) {
			case 0:
				put_name(Q);
				record(5, 50, "\1a\xc0\x11", 4); /* the pointer: "example" of the question */
				break;
			case 1:
				put_name("A.example");
				record(5, 40, "\1b\7example", 11);
				break;
			default:
				put_name("b.example");
				record(1, 30, "\xc0\0\2\x9", 4);
			}
		assert_int_equal(read(&a), CNT_NONE);
		assert_true(a.result == DNS_FOUND && a.ttl_s == 30 && net_addr_to_ip4(&a.address[0]) == 0xc0000209);
	}
	/* a chain to nowhere, and one in a circle */
	begin(GOOD, 1, Q, DNS_A);
	put_name(Q);
	record(5, 50, "\1a\xc0\x11", 4);
	assert_true(read(&a) == CNT_NONE && a.result == DNS_NO_DATA);
	begin(GOOD, 2, Q, DNS_A);
	put_name(Q);
	record(5, 50, "\1a\xc0\x11", 4);
	put_name("a.example");
	record(5, 50, "\xc0\x0c", 2);
	assert_true(read(&a) == CNT_NONE && a.result == DNS_FAILED);
}

static void malformed(void **state)
{
	(void)state;
	struct dns_answer a;
	/* every shorter message */
	begin(GOOD, 2, Q, DNS_A);
	POINTER(12);
	record(5, 50, "\1a\xc0\x11", 4);
	put_name("a.example");
	record(1, 60, "\xc0\0\2\xa", 4);
	const unsigned whole = len;
	for (len = 0; len < whole; len++)
		assert_int_equal(read(&a), CNT_drop_dns_malformed);
	/* pointers to itself, forwards, and in a circle */
	static const unsigned at[] = {30, 31, 40, 0x3fff};
	for (unsigned i = 0; i < ARRAY_LEN(at); i++) {
		begin(GOOD, 1, Q, DNS_A);
		assert_int_equal(len, 30);
		POINTER(at[i]);
		record(1, 60, "\xc0\0\2\xa", 4);
		assert_int_equal(read(&a), CNT_drop_dns_malformed);
	}
	begin(GOOD, 1, Q, DNS_A);
	put("\1a\xc0\x1e", 4); /* to its own first label */
	record(1, 60, "\xc0\0\2\xa", 4);
	assert_int_equal(read(&a), CNT_drop_dns_malformed);
	/* reserved kinds of label, and a name that is too long */
	begin(GOOD, 1, Q, DNS_A);
	put("\x41", 1);
	memset(m + len, 'a', 100);
	len += 100;
	assert_int_equal(read(&a), CNT_drop_dns_malformed);
	begin(GOOD, 1, Q, DNS_A);
	for (unsigned i = 0; i < 5; i++) {
		m[len++] = 63;
		memset(m + len, 'a', 63);
		len += 63;
	}
	m[len++] = 0;
	record(1, 60, "\xc0\0\2\xa", 4);
	assert_int_equal(read(&a), CNT_drop_dns_malformed);
	/* bytes that are in no name: the record is another's */
	begin(GOOD, 1, Q, DNS_A);
	put_name("ho\x07t.example");
	record(1, 60, "\xc0\0\2\xa", 4);
	assert_true(read(&a) == CNT_NONE && a.result == DNS_NO_DATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(questions), cmocka_unit_test(longest_name), cmocka_unit_test(addresses),
		cmocka_unit_test(results),   cmocka_unit_test(not_ours),     cmocka_unit_test(aliases),
		cmocka_unit_test(malformed),
	};
	return cmocka_run_group_tests_name("dns", tests, NULL, NULL);
}
