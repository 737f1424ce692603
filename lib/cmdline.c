/* See cmdline.h. */
#include "lib/cmdline.h"

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
