/* The command line of the examples, from tables: --name, --name=value, --name value, words. */
#ifndef EXAMPLES_OPTIONS_H
#define EXAMPLES_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "net/addr.h"

enum option_kind {
	OPTION_ON,     /* bool, true when given */
	OPTION_OFF,    /* bool, false when given */
	OPTION_U32,
	OPTION_U64,
	OPTION_TEXT,   /* const char * */
	OPTION_ADDR,   /* struct net_addr[OPTION_FAMILIES]; one of each family may be given */
	OPTION_PREFIX, /* struct option_prefix[OPTION_FAMILIES], the same: A.B.C.D/N, X:X::X/N */
	OPTION_MAC,    /* uint8_t[6] */
};

enum option_family { OPTION_IP4, OPTION_IP6, OPTION_FAMILIES };

struct option_prefix {
	struct net_addr addr; /* NET_ADDR_ANY: none of this family was given */
	uint32_t plen;        /* of its family: up to 32, or 128 */
};

static inline enum option_family option_family(const struct net_addr *addr)
{
	return net_addr_is_ip4(addr) ? OPTION_IP4 : OPTION_IP6;
}

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

/* An address of either family; false: it is none. */
bool option_addr(const char *text, struct net_addr *addr);

#endif
