/* The command line of the examples, parsed by tables: --name, --name=value, --name value, words. */
#ifndef EXAMPLES_OPTIONS_H
#define EXAMPLES_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "net/addr.h"

enum option_kind {
	OPTION_ON,     /* bool, true if given */
	OPTION_OFF,    /* bool, false if given */
	OPTION_U32,
	OPTION_U64,
	OPTION_TEXT,   /* const char * */
	OPTION_ADDR,   /* struct net_addr[OPTION_FAMILIES]; one of each family may be given */
	OPTION_PREFIX, /* struct option_prefix[OPTION_FAMILIES], likewise: A.B.C.D/N, X:X::X/N */
	OPTION_MAC,    /* uint8_t[6] */
};

enum option_family { OPTION_IP4, OPTION_IP6, OPTION_FAMILIES };

struct option_prefix {
	struct net_addr addr; /* NET_ADDR_ANY: none given for this family */
	uint32_t plen;        /* up to 32 for IPv4, 128 for IPv6 */
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
 * Reads the command line by two tables (each may be NULL), and up to `max` words that are not options
 * into `words`. Returns the number of words. On an error or --help, prints `usage` (one line) and the
 * tables, and ends the program.
 */
unsigned options_read(int argc, char **argv, const char *usage, const struct option_row *a,
                      const struct option_row *b, const char **words, unsigned max);

/* Parses an address of either family; false: invalid, or the unspecified address. */
bool option_addr(const char *text, struct net_addr *addr);

#endif
