/* See services.h. */
#include "apps/echo/services.h"

#define FIRST ' '    /* first printable ASCII character */
#define CHARACTERS 95

static char text[CHARGEN_BYTES];

void chargen_init(void)
{
	char *to = text;
	for (unsigned line = 0; line < CHARACTERS; line++) {
		for (unsigned i = 0; i < CHARGEN_LINE - 2; i++)
			*to++ = (char)(FIRST + (line + i) % CHARACTERS);
		*to++ = '\r';
		*to++ = '\n';
	}
}

const char *chargen_text(void)
{
	return text;
}
