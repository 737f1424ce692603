/* What the fuzz entries share: the input read byte by byte, and the host's assert_fail(). */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/assert.h"
#include "lib/types.h"

_Noreturn void assert_fail(const char *expr, const char *file, unsigned line)
{
	fprintf(stderr, "%s:%u: assertion failed: %s\n", file, line, expr);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bytes not yet read; after the end all are zero. */
struct input {
	const uint8_t *p;
	size_t n;
};

static inline uint8_t take8(struct input *in)
{
	if (in->n == 0)
		return 0;
	in->n--;
	return *in->p++;
}

static inline uint16_t take16(struct input *in)
{
	uint16_t low = take8(in);
	return (uint16_t)(low | take8(in) << 8);
}

static inline uint32_t take32(struct input *in)
{
	uint32_t low = take16(in);
	return low | (uint32_t)take16(in) << 16;
}

/* A copy of exactly n bytes, so that ASan detects a read of one too many; the caller frees it. */
static inline uint8_t *exactly(const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);
	memcpy(copy, p, n);
	return copy;
}

/* The same with a NUL behind it. */
static inline char *exact_text(const uint8_t *p, size_t n)
{
	char *copy = malloc(n + 1);
	memcpy(copy, p, n);
	copy[n] = 0;
	return copy;
}

#endif
