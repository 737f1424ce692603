/* See base64.h. */
#include "control/text/base64.h"

static int digit_of(char c, char plus)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == plus ? 62 : c == '/' ? 63 : -1;
}

int base64_decode_digits(struct text t, char plus, uint8_t *to, size_t size)
{
	uint32_t bits = 0;
	unsigned have = 0;
	size_t n = 0;
	for (size_t i = 0; i < t.len; i++) {
		const int digit = digit_of(t.at[i], plus);
		if (digit < 0)
			return -1;
		bits = bits << 6 | (uint32_t)digit;
		have += 6;
		if (have < 8)
			continue;
		if (n == size)
			return -1;
		have -= 8;
		to[n++] = (uint8_t)(bits >> have);
		bits &= (1u << have) - 1;
	}
	return have < 6 && bits == 0 ? (int)n : -1;
}

int base64_decode(struct text t, uint8_t *to, size_t size)
{
	if (t.len % 4 != 0)
		return -1;
	for (unsigned i = 0; i < 2 && t.len && t.at[t.len - 1] == '='; i++)
		t.len--;
	return base64_decode_digits(t, '+', to, size);
}

void base64_encode(char *to, const uint8_t *data, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < n; i += 3) {
		const size_t have = n - i < 3 ? n - i : 3;
		uint32_t bits = (uint32_t)data[i] << 16;
		bits |= have > 1 ? (uint32_t)data[i + 1] << 8 : 0;
		bits |= have > 2 ? data[i + 2] : 0;
		for (unsigned k = 0; k < 4; k++)
			*to++ = k <= have ? digits[bits >> (18 - 6 * k) & 63] : '=';
	}
	*to = 0;
}
