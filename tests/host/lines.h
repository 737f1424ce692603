/*
 * How the host processes that tests control by lines (tests/host/harness.c, tests/drill/harness.c)
 * read words and write bytes.
 */
#ifndef TESTS_HOST_LINES_H
#define TESTS_HOST_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/types.h"

/* The test or the machine broke a rule: prints a line on stderr, and exits. */
_Noreturn void broken(const char *format, ...) PRINTF_LIKE(1, 2);

/* The next word of the line that strtok() is reading; there must be one. */
const char *argument(void);

/* The bytes of a hexadecimal word ("-": none), at most `most`, in an allocation of exactly their
 * number. The caller owns it, and ASan sees accesses beyond it. */
uint8_t *parse_hex(const char *text, size_t most, size_t *n);

void print_hex(const uint8_t *b, size_t n);

#endif
