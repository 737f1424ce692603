/* Addresses of either family as text: lib/fmt and control/text, against the C library's functions
 * and each other. */
#include "tests/unit/rig/packets.h"

#include "control/text/text.h"
#include "lib/fmt.h"
#include "net/ip4.h"

/* Tables of RFC 5952 and RFC 4291: an accepted form, and the form that we write. */
static const struct {
	const char *text, *ours;
} good[] = {
	{"::", "::"},
	{"::1", "::1"},
	{"0:0:0:0:0:0:0:0", "::"},
	{"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},     /* RFC 5952 1, 4.2.3: the first of equals */
	{"2001:0db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
	{"2001:db8::1:0:0:1", "2001:db8::1:0:0:1"},
	{"2001:db8:0::1:0:0:1", "2001:db8::1:0:0:1"},
	{"2001:0db8::1:0:0:1", "2001:db8::1:0:0:1"},
	{"2001:DB8:0:0:1::1", "2001:db8::1:0:0:1"},
	{"2001:db8::0001", "2001:db8::1"},
	{"2001:db8:0:0:0:0:2:1", "2001:db8::2:1"},
	{"2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},   /* 4.2.2: not for one group */
	{"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},           /* 4.2.3: the longest */
	{"2001:db8:aaaa:bbbb:cccc:dddd:EeEe:AAAA", "2001:db8:aaaa:bbbb:cccc:dddd:eeee:aaaa"},
	{"ABCD:EF01:2345:6789:ABCD:EF01:2345:6789", "abcd:ef01:2345:6789:abcd:ef01:2345:6789"},
	{"FF01::101", "ff01::101"},
	{"1::", "1::"},
	{"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
	{"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
	{"1::8", "1::8"},
	{"0:0:3::", "0:0:3::"},
	{"::13.1.68.3", "::d01:4403"},                     /* RFC 4291 2.2 (3) */
	{"0:0:0:0:0:0:13.1.68.3", "::d01:4403"},
	{"64:ff9b::192.0.2.33", "64:ff9b::c000:221"},
	{"1:2:3:4:5:6:255.255.255.255", "1:2:3:4:5:6:ffff:ffff"},
	{"1::5:6:1.2.3.4", "1::5:6:102:304"},
	{"::5:6:7:8:1.2.3.4", "::5:6:7:8:102:304"},
	{"1:2:3:4:5::1.2.3.4", "1:2:3:4:5:0:102:304"},
	{"::fffe:1.2.3.4", "::fffe:102:304"},
};

static const char *bad[] = {
	"", ":", ":::", "1", "1:", ":1", "1:2", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:", ":1:2:3:4:5:6:7",
	"1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8:", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8",
	"1:2:3:4::5:6:7:8", "1::2::3", "1:::2", ":::1", "1:::", ":1::2", "1::2:", "12345::",
	"::12345", "00001::", "g::", "::g", "1: :2", " ::1", "::1 ", "::1/64", "fe80::1%eth0",
	"fe80::1%1", "[::1]", "::1\n", "0x1::", "+1::", "1.2.3.4", "1.2.3.4::", "::1.2.3",
	"::1.2.3.4.5", "::1.2.3.256", "::01.2.3.4", "::1.2.3.4:5", "1:2:3:4:5:6:7:1.2.3.4",
	"1:2:3:4:5:1.2.3.4", "::1:2:3:4:5:6:1.2.3.4", "::ffff:192.0.2.1", "::ffff:c000:201",
	"0:0:0:0:0:FFFF:1.2.3.4", "::.1.2.3", "1:2:3:4:5:6:1.2.3.4:", "1:2:3:4:5:6::1.2.3.4",
};

static void forms(void **s)
{
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(good); i++) {
		char buf[FMT_IP6_MAX];
		struct net_addr a, want = addr6(good[i].text);
		assert_int_equal(text_parse_ip6(text_of(good[i].text), &a), 0);
		assert_memory_equal(&a, &want, sizeof a);
		assert_string_equal(fmt_ip6(buf, &a), good[i].ours);
		assert_ptr_equal(fmt_addr(buf, &a), buf);
		assert_string_equal(buf, good[i].ours);
		assert_int_equal(text_parse_addr(text_of(good[i].ours), &a), 0);
		assert_memory_equal(&a, &want, sizeof a);
	}
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		struct net_addr a = addr6("1:2:3:4:5:6:7:8");
		const struct net_addr was = a;
		/* In exactly its length, so that ASan detects a read of one byte too many. */
		size_t n = strlen(bad[i]);
		char *text = malloc(n ? n : 1);
		memcpy(text, bad[i], n);
		assert_int_equal(text_parse_ip6((struct text){text, n}, &a), E_INVAL);
		assert_memory_equal(&a, &was, sizeof a);
		free(text);
	}
	struct net_addr a;
	const struct text nul = {"::1\0", 4};
	assert_int_equal(text_parse_ip6(nul, &a), E_INVAL);
}

static void mapped(void **s)
{
	(void)s;
	char buf[FMT_ADDR_MAX];
	struct net_addr a = net_addr_ip4(IP4(192, 0, 2, 1));
	assert_string_equal(fmt_addr(buf, &a), "192.0.2.1");
	assert_string_equal(fmt_ip6(buf, &a), "::ffff:192.0.2.1"); /* RFC 5952 5 */
	assert_int_equal(text_parse_addr(text_of("192.0.2.1"), &a), 0);
	assert_true(net_addr_is_ip4(&a) && net_addr_to_ip4(&a) == IP4(192, 0, 2, 1));
	assert_int_equal(text_parse_addr(text_of("::ffff:192.0.2.1"), &a), E_INVAL);
	assert_int_equal(text_parse_addr(text_of("192.0.2"), &a), E_INVAL);
	assert_int_equal(text_parse_addr(text_of("2001"), &a), E_INVAL);
}

static void prefixes(void **s)
{
	(void)s;
	char buf[FMT_PREFIX6_MAX];
	struct net_addr a;
	unsigned plen;
	/* RFC 4291 2.3 */
	const char *ok[] = {"2001:db8:0:cd30::/60", "::/0", "::1/128", "2001:db8::5/64"};
	const char *no[] = {"2001:db8::", "2001:db8::/", "2001:db8::/129", "2001:db8::/064", "/64",
	                    "2001:db8::/-1", "2001:db8::/6 4", "2001:db8::/64/64", "10.0.0.0/8",
	                    "::ffff:10.0.0.0/104"};
	for (unsigned i = 0; i < ARRAY_LEN(ok); i++) {
		assert_int_equal(text_parse_prefix6(text_of(ok[i]), &a, &plen), 0);
		assert_string_equal(fmt_prefix6(buf, &a, plen), ok[i]);
	}
	for (unsigned i = 0; i < ARRAY_LEN(no); i++)
		assert_int_equal(text_parse_prefix6(text_of(no[i]), &a, &plen), E_INVAL);
	a = addr6("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
	assert_string_equal(fmt_prefix6(buf, &a, 128), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128");
}

/* Every pattern of zero groups: our text against the C library's, and back. */
static void every_pattern_of_zeros(void **s)
{
	(void)s;
	seed_random("every_pattern_of_zeros");
	for (unsigned round = 0; round < 20; round++)
		for (unsigned zeros = 0; zeros < 256; zeros++) {
			struct net_addr a, back;
			uint8_t *p = (uint8_t *)&a;
			char ours[FMT_IP6_MAX], theirs[INET6_ADDRSTRLEN];
			for (unsigned i = 0; i < 8; i++)
				put16(p + 2 * i, zeros >> i & 1 ? 0 : 1 + (random_below(65535) >> random_below(16)));
			fmt_ip6(ours, &a);
			assert_int_equal(text_parse_ip6(text_of(ours), &back), 0);
			assert_memory_equal(&a, &back, sizeof a);
			/* The C library writes addresses that begin with 96 zero bits as
			 * IPv4-compatible. */
			if ((a.w[0] | a.w[1] | a.w[2]) == 0)
				continue;
			assert_non_null(inet_ntop(AF_INET6, &a, theirs, sizeof theirs));
			assert_string_equal(ours, theirs);
		}
}

/* Texts that are nearly valid: what the C library accepts, we accept, with the same meaning. */
static void random_texts(void **s)
{
	(void)s;
	seed_random("random_texts");
	unsigned taken = 0;
	for (unsigned round = 0; round < 200000; round++) {
		const char alphabet[] = "0123:::.fFg%";
		char text[64];
		const char *from = good[random_below(ARRAY_LEN(good))].text;
		size_t n = strlen(from);
		memcpy(text, from, n + 1);
		for (unsigned k = random_below(4); k > 0; k--) {
			size_t at = random_below((uint32_t)n + 1);
			char c = alphabet[random_below(sizeof alphabet - 1)];
			if (random_below(3) == 0 && at < n) {
				text[at] = c;
			} else if (random_below(2) && at < n) {
				memmove(text + at, text + at + 1, n-- - at);
			} else {
				memmove(text + at + 1, text + at, n++ - at + 1);
				text[at] = c;
			}
		}
		struct net_addr a, want;
		bool right = inet_pton(AF_INET6, text, &want) == 1 && !net_addr_is_ip4(&want);
		int result = text_parse_ip6(text_of(text), &a);
		if (result != (right ? 0 : E_INVAL))
			fail_msg("%s", text);
		if (!right)
			continue;
		taken++;
		assert_memory_equal(&a, &want, sizeof a);
	}
	assert_true(taken > 1000);
}

/* The search of eight bytes at a time against one of each byte: at every place, with the values
 * next to those sought. Bytes behind the text do not count. */
static void searches(void **state)
{
	static const char near[] = "\n\t\x0b\x1f \x21~\x7f\x80\x8a\xff";
	(void)state;
	for (unsigned round = 0; round < 200000; round++) {
		char at[48];
		const size_t from = random_below(8), len = random_below(sizeof at - 8);
		for (size_t i = 0; i < sizeof at; i++)
			at[i] = random_below(8) ? 'a' : near[random_below(sizeof near - 1)];
		const struct text t = {at + from, len};
		size_t line = 0, printable = 0;
		while (line < len && t.at[line] != '\n')
			line++;
		while (printable < len && text_is_printable(t.at[printable]))
			printable++;
		assert_int_equal(text_find(t, '\n'), line);
		assert_int_equal(text_printable(t), printable);
	}
}

/* Words at their places, and lines, with and without an end of the last. */
static void words(void **state)
{
	const struct text line = text_of("  ip  route\t0/0 "), end = {line.at + line.len, 0};
	const struct text blank = text_of(" \t"), none = text_of("");
	(void)state;
	assert_int_equal(text_count_words(line), 3);
	assert_int_equal(text_count_words(blank), 0);
	assert_true(text_equal(text_first_words(line, 2), text_of("  ip  route")));
	assert_true(text_equal(text_first_words(line, 4), line));
	assert_int_equal(text_first_words(line, 0).len, 0);
	assert_true(text_equal(text_last_word(line), text_of("0/0")));
	assert_int_equal(text_last_word(blank).len, 0);
	assert_int_equal(text_last_word(end).len, 0);
	assert_true(text_equal(text_trim(line), text_of("ip  route\t0/0")));
	assert_int_equal(text_trim(blank).len, 0);
	assert_true(text_begins_with(line, text_of("ip route")));
	assert_true(text_begins_with(line, none));
	assert_false(text_begins_with(line, text_of("ip rout")));
	assert_false(text_begins_with(line, text_of("ip route 0/0 x")));
	assert_false(text_equal(text_of("a"), text_of("A")));
}

static void lines(void **state)
{
	static const char *const texts[] = {"a\n\nbc\n", "a\n\nbc"};
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(texts); i++) {
		struct text rest = text_of(texts[i]), line;
		assert_int_equal(text_count_lines(rest), 3);
		assert_true(text_next_line(&rest, &line) && text_equal(line, text_of("a")));
		assert_true(text_next_line(&rest, &line) && line.len == 0);
		assert_true(text_next_line(&rest, &line) && text_equal(line, text_of("bc")));
		assert_false(text_next_line(&rest, &line));
		assert_true(text_equal(line, text_of("bc")));
	}
}

/* IPv4 as the C library accepts it, which is as strict. */
static void random_ip4(void **state)
{
	unsigned taken = 0;
	(void)state;
	for (unsigned round = 0; round < 500000; round++) {
		static const char letters[] = "0123456789....25/ ";
		char text[20];
		unsigned n = 0, len = random_below(sizeof text - 1);
		if (random_below(2))
			n = (unsigned)snprintf(text, sizeof text, "%u.%u.%u.%u", random_below(300),
			                       random_below(300), random_below(300), random_below(300));
		else
			while (n < len)
				text[n++] = letters[random_below(sizeof letters - 1)];
		text[n] = 0;
		if (n && !random_below(4))
			text[random_below(n)] = letters[random_below(sizeof letters - 1)];
		uint32_t addr = 0;
		be32_t want;
		bool right = inet_pton(AF_INET, text, &want) == 1;
		if (text_parse_ip4(text_of(text), &addr) != (right ? 0 : E_INVAL) ||
		    (right && addr != be32_get(want)))
			fail_msg("%s", text);
		taken += right;
	}
	assert_true(taken > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),
		cmocka_unit_test(mapped),
		cmocka_unit_test(prefixes),
		cmocka_unit_test(every_pattern_of_zeros),
		cmocka_unit_test(random_texts),
		cmocka_unit_test(random_ip4),
		cmocka_unit_test(searches),
		cmocka_unit_test(words),
		cmocka_unit_test(lines),
	};
	return cmocka_run_group_tests_name("addr", tests, NULL, NULL);
}
