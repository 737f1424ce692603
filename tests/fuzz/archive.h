/* What the fuzz entries of tar archives share. */
#ifndef TESTS_FUZZ_ARCHIVE_H
#define TESTS_FUZZ_ARCHIVE_H

#include "net/archive/tar.h"
#include "tests/fuzz/input.h"

/* Gives the blocks that look like headers the right checksums. */
static inline void correct_checksums(uint8_t *archive, size_t size)
{
	for (size_t at = 0; at + TAR_BLOCK <= size; at += TAR_BLOCK) {
		uint8_t *h = archive + at;
		unsigned sum = 0;
		char text[8];
		if (memcmp(h + 257, "ustar", 5) != 0)
			continue;
		memset(h + 148, ' ', 8);
		for (unsigned i = 0; i < TAR_BLOCK; i++)
			sum += h[i];
		snprintf(text, sizeof text, "%06o", sum);
		memcpy(h + 148, text, 7);
	}
}

#endif
