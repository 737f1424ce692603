/* Text of a report in a buffer of fixed size. */
#ifndef KERNEL_REPORT_H
#define KERNEL_REPORT_H

#include "lib/mem.h"
#include "lib/types.h"

#define REPORT_CUT "\n(cut: there was no room for more of this report)\n"

/*
 * Appends to text, which holds `at` of `size` bytes; size is larger than REPORT_CUT's. Returns the new
 * number of bytes. If `more` does not fit, text ends in REPORT_CUT, also after further calls.
 */
static inline size_t report_add(char *text, size_t size, size_t at, const char *more, size_t bytes)
{
	const size_t room = size - at, cut = sizeof REPORT_CUT - 1;
	if (bytes <= room) {
		memcpy(text + at, more, bytes);
		return at + bytes;
	}
	memcpy(text + at, more, room);
	memcpy(text + size - cut, REPORT_CUT, cut);
	return size;
}

#endif
