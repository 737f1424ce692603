/* The command line of the examples, from tables: --name, --name=value, --name value, words. */
#ifndef EXAMPLES_OPTIONS_H
#define EXAMPLES_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum option_kind {
	OPTION_ON,     /* bool, true when given */
	OPTION_OFF,    /* bool, false when given */
	OPTION_U32,
	OPTION_U64,
	OPTION_TEXT,   /* const char * */
	OPTION_IP4,    /* uint32_t, host order */
	OPTION_PREFIX, /* struct option_prefix: A.B.C.D/N */
	OPTION_MAC,    /* uint8_t[6] */
};

struct option_prefix {
	uint32_t addr; /* host order */
	uint32_t plen;
};

struct option_row {
	const char *name; /* NULL: the end of a table */
	enum option_kind kind;
	void *to;
	const char *help;
};

/*
 * Reads the command line by two tables (each may be NULL), and up to `max` words that are no
 * options into `words`. Returns how many; a mistake, or --help, ends the program: `usage` (one
 * line) and the tables are shown.
 */
unsigned options_read(int argc, char **argv, const char *usage, const struct option_row *a,
                      const struct option_row *b, const char **words, unsigned max);

/* a.b.c.d in host order; false: it is none. */
bool option_ip4(const char *text, uint32_t *addr);

#endif
