/* See lines.h. */
#include "tests/host/lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void broken(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fflush(stdout);
	fputs("harness: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(3);
}

const char *argument(void)
{
	const char *word = strtok(NULL, " \n");
	if (!word)
		broken("an argument is missing");
	return word;
}

static unsigned hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a' + 10);
	broken("'%c' is no hexadecimal digit", c);
}

uint8_t *parse_hex(const char *text, size_t most, size_t *n)
{
	*n = strcmp(text, "-") == 0 ? 0 : strlen(text) / 2;
	uint8_t *b = malloc(*n ? *n : 1);
	if (!b || *n > most)
		broken("too many bytes");
	for (size_t i = 0; i < *n; i++)
		b[i] = (uint8_t)(hex_digit(text[2 * i]) << 4 | hex_digit(text[2 * i + 1]));
	return b;
}

/* One stdio call for each digit would take most of a test's time. */
void print_hex(const uint8_t *b, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	char text[1024];
	while (n) {
		size_t some = n < sizeof text / 2 ? n : sizeof text / 2;
		for (size_t i = 0; i < some; i++) {
			text[2 * i] = digits[b[i] >> 4];
			text[2 * i + 1] = digits[b[i] & 15];
		}
		fwrite(text, 1, 2 * some, stdout);
		b += some;
		n -= some;
	}
}
