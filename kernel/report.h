/* Text of a report, in room that has an end. */
#ifndef KERNEL_REPORT_H
#define KERNEL_REPORT_H

#include "lib/mem.h"
#include "lib/types.h"

#define REPORT_CUT "\n(cut: there was no room for more of this report)\n"

/*
 * Adds to the `at` bytes that text has of `size`, more than REPORT_CUT's; returns how many it has
 * then. Where there is no room for all of it, text ends in REPORT_CUT, and stays so.
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
