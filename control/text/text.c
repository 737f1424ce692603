/* See text.h. */
#include "control/text/text.h"

#include "lib/bytes.h"
#include "lib/fmt.h"
#include "lib/number.h"

#include "net/ip4.h"

bool text_next_word(struct text *rest, struct text *word)
{
	size_t start = 0;
	while (start < rest->len && text_is_blank(rest->at[start]))
		start++;
	size_t end = start;
	while (end < rest->len && !text_is_blank(rest->at[end]))
		end++;
	*word = (struct text){rest->at + start, end - start};
	*rest = (struct text){rest->at + end, rest->len - end};
	return word->len > 0;
}

struct text text_trim_end(struct text t)
{
	while (t.len > 0 && text_is_blank(t.at[t.len - 1]))
		t.len--;
	return t;
}

/* Texts may have a million lines, so searches take eight bytes at a time. */
#define ONES 0x0101010101010101u
#define TOPS (ONES << 7)

size_t text_find(struct text t, char c)
{
	size_t i = 0;
	for (; t.len - i >= 8; i += 8) {
		uint64_t v = raw64_load(t.at + i) ^ ONES * (uint8_t)c;
		uint64_t zero = (v - ONES) & ~v & TOPS; /* lowest bit: in the first zero byte */
		if (zero)
			return i + (unsigned)__builtin_ctzll(zero) / 8;
	}
	while (i < t.len && t.at[i] != c)
		i++;
	return i;
}

size_t text_printable(struct text t)
{
	size_t i = 0;
	for (; t.len - i >= 8; i += 8) {
		uint64_t v = raw64_load(t.at + i), low = (v - ONES * 0x20) & ~v, high = (v + ONES) | v;
		if ((low | high) & TOPS)
			break;
	}
	while (i < t.len && text_is_printable(t.at[i]))
		i++;
	return i;
}

bool text_next_line(struct text *rest, struct text *line)
{
	if (rest->len == 0)
		return false;
	size_t n = text_find(*rest, '\n'), used = n < rest->len ? n + 1 : n;
	*line = (struct text){rest->at, n};
	*rest = (struct text){rest->at + used, rest->len - used};
	return true;
}

uint32_t text_count_lines(struct text text)
{
	struct text line;
	uint32_t n = 0;
	while (text_next_line(&text, &line))
		n++;
	return n;
}

bool text_equal(struct text a, struct text b)
{
	return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

struct text text_trim(struct text line)
{
	while (line.len > 0 && text_is_blank(line.at[0]))
		line = (struct text){line.at + 1, line.len - 1};
	return text_trim_end(line);
}

bool text_begins_with(struct text line, struct text words)
{
	struct text a, b;
	while (text_next_word(&words, &b))
		if (!text_next_word(&line, &a) || !text_equal(a, b))
			return false;
	return true;
}

struct text text_first_words(struct text line, unsigned n)
{
	struct text rest = line, word = {line.at, 0};
	while (n-- > 0 && text_next_word(&rest, &word))
		;
	return (struct text){line.at, (size_t)(word.at + word.len - line.at)};
}

unsigned text_count_words(struct text line)
{
	struct text word;
	unsigned n = 0;
	while (text_next_word(&line, &word))
		n++;
	return n;
}

struct text text_last_word(struct text line)
{
	struct text word = {line.at, 0}, next;
	while (text_next_word(&line, &next))
		word = next;
	return word;
}

bool text_begins_word(struct text t, struct text keyword)
{
	if (t.len > keyword.len)
		return false;
	for (size_t i = 0; i < t.len; i++)
		if (text_lower(t.at[i]) != text_lower(keyword.at[i]))
			return false;
	return true;
}

bool text_is_word(struct text t, struct text keyword)
{
	return t.len == keyword.len && text_begins_word(t, keyword);
}

int text_parse_u64(struct text t, uint64_t min, uint64_t max, uint64_t *out)
{
	/* refuses leading zeros, but not "0" */
	if (t.len == 0 || t.len > 20 || (t.len > 1 && t.at[0] == '0'))
		return E_INVAL;
	uint64_t value = 0;
	for (size_t i = 0; i < t.len; i++) {
		if (t.at[i] < '0' || t.at[i] > '9')
			return E_INVAL;
		uint64_t digit = (uint64_t)(t.at[i] - '0');
		if (value > UINT64_MAX / 10 || (value == UINT64_MAX / 10 && digit > UINT64_MAX % 10))
			return E_INVAL;
		value = value * 10 + digit;
	}
	if (value < min || value > max)
		return E_INVAL;
	*out = value;
	return 0;
}

int text_parse_u32(struct text t, uint32_t min, uint32_t max, uint32_t *out)
{
	uint64_t value;
	int error = text_parse_u64(t, min, max, &value);
	if (error == 0)
		*out = (uint32_t)value;
	return error;
}

int text_parse_ip4(struct text t, uint32_t *out)
{
	uint32_t addr = 0;
	size_t i = 0;
	for (int n = 0; n < 4; n++) {
		size_t start = i;
		uint32_t octet = 0;
		for (; i < t.len && i - start < 3 && t.at[i] >= '0' && t.at[i] <= '9'; i++)
			octet = octet * 10 + (uint32_t)(t.at[i] - '0');
		if (i == start || octet > 255 || (i - start > 1 && t.at[start] == '0'))
			return E_INVAL;
		addr = addr << 8 | octet;
		if (n < 3 && (i == t.len || t.at[i++] != '.'))
			return E_INVAL;
	}
	if (i != t.len)
		return E_INVAL;
	*out = addr;
	return 0;
}

int text_parse_mask(struct text t, unsigned *plen)
{
	uint32_t mask;
	if (text_parse_ip4(t, &mask) != 0)
		return E_INVAL;
	for (unsigned n = 0; n <= 32; n++) {
		if (mask == ip4_prefix_mask(n)) {
			*plen = n;
			return 0;
		}
	}
	return E_INVAL;
}

int text_parse_prefix(struct text t, uint32_t *addr, unsigned *plen)
{
	size_t slash = text_find(t, '/');
	uint32_t a, n;
	if (slash == t.len || text_parse_ip4((struct text){t.at, slash}, &a) != 0 ||
	    text_parse_u32((struct text){t.at + slash + 1, t.len - slash - 1}, 0, 32, &n) != 0)
		return E_INVAL;
	*addr = a;
	*plen = n;
	return 0;
}

/* Cuts one group of an IPv6 address off the beginning of *t. */
static int take_group(struct text *t, uint16_t *group)
{
	size_t n = 0;
	uint16_t value = 0;
	for (; n < t->len && hex_digit(t->at[n]) >= 0; n++) {
		if (n == 4)
			return E_INVAL;
		value = (uint16_t)(value << 4 | hex_digit(t->at[n]));
	}
	if (n == 0)
		return E_INVAL;
	*group = value;
	*t = (struct text){t->at + n, t->len - n};
	return 0;
}

/* Parses at most `most` groups between single colons; if ip4, an IPv4 address may stand for the
 * last two. Returns the number of groups, or E_INVAL. */
static int parse_groups(struct text t, int most, bool ip4, uint16_t *groups)
{
	int n = 0;
	while (n < most) {
		uint32_t addr;
		if (ip4 && n + 2 <= most && text_parse_ip4(t, &addr) == 0) {
			groups[n] = (uint16_t)(addr >> 16);
			groups[n + 1] = (uint16_t)addr;
			return n + 2;
		}
		if (take_group(&t, &groups[n]) != 0)
			return E_INVAL;
		n++;
		if (t.len == 0)
			return n;
		if (t.at[0] != ':')
			return E_INVAL;
		t = (struct text){t.at + 1, t.len - 1};
	}
	return E_INVAL;
}

/* Offset of "::" in t, or t.len. */
static size_t find_gap(struct text t)
{
	for (size_t i = 0; i + 1 < t.len; i++)
		if (t.at[i] == ':' && t.at[i + 1] == ':')
			return i;
	return t.len;
}

int text_parse_ip6(struct text t, struct net_addr *out)
{
	uint16_t groups[8] = {0}, tail[8];
	size_t gap = find_gap(t);
	if (gap == t.len) {
		if (parse_groups(t, 8, true, groups) != 8)
			return E_INVAL;
	} else {
		/* "::" stands for at least one group; either side of it may be empty */
		struct text after = {t.at + gap + 2, t.len - gap - 2};
		int head = gap ? parse_groups((struct text){t.at, gap}, 7, false, groups) : 0;
		if (head < 0)
			return E_INVAL;
		int n = after.len ? parse_groups(after, 7 - head, true, tail) : 0;
		if (n < 0)
			return E_INVAL;
		for (int i = 0; i < n; i++)
			groups[8 - n + i] = tail[i];
	}
	struct net_addr a;
	for (unsigned i = 0; i < 4; i++)
		a.w[i] = be32_make((uint32_t)groups[2 * i] << 16 | groups[2 * i + 1]).raw;
	if (net_addr_is_ip4(&a))
		return E_INVAL;
	*out = a;
	return 0;
}

int text_parse_prefix6(struct text t, struct net_addr *addr, unsigned *plen)
{
	size_t slash = text_find(t, '/');
	struct net_addr a;
	uint32_t n;
	if (slash == t.len || text_parse_ip6((struct text){t.at, slash}, &a) != 0 ||
	    text_parse_u32((struct text){t.at + slash + 1, t.len - slash - 1}, 0, 128, &n) != 0)
		return E_INVAL;
	*addr = a;
	*plen = n;
	return 0;
}

int text_parse_addr(struct text t, struct net_addr *out)
{
	uint32_t ip4;
	if (text_find(t, ':') < t.len)
		return text_parse_ip6(t, out);
	if (text_parse_ip4(t, &ip4) != 0)
		return E_INVAL;
	*out = net_addr_ip4(ip4);
	return 0;
}

int text_parse_mac(struct text t, uint8_t out[6])
{
	/* The length determines the form: 17 bytes are six groups of two digits, 14 three of 4. */
	size_t group = t.len == 17 ? 2 : t.len == 14 ? 4 : 0;
	if (group == 0)
		return E_INVAL;
	char separator = t.at[group];
	if (group == 4 ? separator != '.' : separator != ':' && separator != '-')
		return E_INVAL;
	uint8_t mac[6] = {0};
	unsigned digits = 0;
	for (size_t i = 0; i < t.len; i++) {
		if (i % (group + 1) == group) {
			if (t.at[i] != separator)
				return E_INVAL;
			continue;
		}
		int digit = hex_digit(t.at[i]);
		if (digit < 0)
			return E_INVAL;
		mac[digits / 2] = (uint8_t)(mac[digits / 2] << 4 | digit);
		digits++;
	}
	memcpy(out, mac, sizeof mac);
	return 0;
}

int text_parse_hex(struct text t, uint8_t *out, size_t n)
{
	if (t.len != 2 * n)
		return E_INVAL;
	for (size_t i = 0; i < n; i++) {
		const int high = hex_digit(t.at[2 * i]), low = hex_digit(t.at[2 * i + 1]);
		if (high < 0 || low < 0)
			return E_INVAL;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return E_OK;
}

int text_fail(struct text_error *err, uint32_t line, struct text word, const char *format, ...)
{
	if (err == NULL)
		return E_INVAL;
	__builtin_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(err->reason, sizeof err->reason, format, args);
	__builtin_va_end(args);
	err->line = line;
	size_t n = word.len < sizeof err->word - 1 ? word.len : sizeof err->word - 1;
	for (size_t i = 0; i < n; i++)
		err->word[i] = text_is_printable(word.at[i]) ? word.at[i] : '?';
	err->word[n] = 0;
	return E_INVAL;
}

size_t text_error_format(char *buf, size_t size, const char *file, const struct text_error *err)
{
	if (err->word[0] == 0)
		return fmt_format(buf, size, "%s:%u: %s", file, err->line, err->reason);
	return fmt_format(buf, size, "%s:%u: %s, at \"%s\"", file, err->line, err->reason, err->word);
}
