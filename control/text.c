/* Words, numbers and addresses in text that a person wrote; see text.h. */
#include "control/text.h"

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

size_t text_find(struct text t, char c)
{
	size_t i = 0;
	while (i < t.len && t.at[i] != c)
		i++;
	return i;
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

int text_parse_u32(struct text t, uint32_t min, uint32_t max, uint32_t *out)
{
	/* Ten digits cannot overflow 64 bits; a leading zero is refused, zero itself is not. */
	if (t.len == 0 || t.len > 10 || (t.len > 1 && t.at[0] == '0'))
		return E_INVAL;
	uint64_t value = 0;
	for (size_t i = 0; i < t.len; i++) {
		if (t.at[i] < '0' || t.at[i] > '9')
			return E_INVAL;
		value = value * 10 + (uint64_t)(t.at[i] - '0');
	}
	if (value < min || value > max)
		return E_INVAL;
	*out = (uint32_t)value;
	return 0;
}

int text_parse_ip4(struct text t, uint32_t *out)
{
	uint32_t addr = 0;
	for (int i = 0; i < 4; i++) {
		size_t n = i < 3 ? text_find(t, '.') : t.len;
		uint32_t octet;
		if (text_parse_u32((struct text){t.at, n}, 0, 255, &octet) != 0)
			return E_INVAL;
		addr = addr << 8 | octet;
		if (i < 3) {
			if (n == t.len)
				return E_INVAL;
			t = (struct text){t.at + n + 1, t.len - n - 1};
		}
	}
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

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = text_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int text_parse_mac(struct text t, uint8_t out[6])
{
	/* The length tells the spelling: 17 bytes in six groups of two digits, 14 in three of four. */
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
