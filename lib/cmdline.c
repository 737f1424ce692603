/* See cmdline.h. */
#include "lib/cmdline.h"

#include "lib/divide.h"
#include "lib/mem.h"

bool cmdline_option(const char *cmdline, const char *name, char *buf, size_t size)
{
	size_t n = strlen(name);
	for (const char *p = cmdline; *p;) {
		size_t word = 0;
		while (p[word] && p[word] != ' ')
			word++;
		if (word > n && p[n] == '=' && memcmp(p, name, n) == 0 && word - n - 1 < size) {
			memcpy(buf, p + n + 1, word - n - 1);
			buf[word - n - 1] = '\0';
			return true;
		}
		p += word;
		while (*p == ' ')
			p++;
	}
	return false;
}

/* Value of a digit in any base up to 16; 16 if c is not a digit. */
static unsigned digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 0x20; /* lower case */
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

uint64_t cmdline_number(const char *cmdline, const char *name, uint64_t fallback)
{
	char text[24];
	if (!cmdline_option(cmdline, name, text, sizeof text) || !text[0])
		return fallback;
	unsigned base = text[0] == '0' && text[1] == 'x' ? 16 : 10;
	const char *p = base == 16 ? text + 2 : text;
	uint64_t value = 0;
	if (!*p)
		return fallback;
	for (; *p; p++) {
		unsigned digit = digit_value(*p);
		if (digit >= base || value > divide(UINT64_MAX - digit, base))
			return fallback;
		value = value * base + digit;
	}
	return value;
}
