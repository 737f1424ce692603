/*
 * Prefixes for FIB tests and benchmarks: the real global table if its file is there, otherwise
 * synthetic ones with the same histogram of lengths and about the same clustering. Both were
 * counted in that file, 901,899 IPv4 and 160,147 IPv6 prefixes with which the routing-table library
 * bart (github.com/gaissmai/bart, MIT licence) is tested. It has no date; by its size it is from
 * 2022: bgp.potaroo.net/v6/as2.0 reported 155,383 IPv6 prefixes on 16 May of that year, 187,070 on
 * 31 May of the next.
 */
#ifndef TESTS_UNIT_RIG_PREFIXES_H
#define TESTS_UNIT_RIG_PREFIXES_H

#include "lib/types.h"

#define GLOBAL_PREFIXES "../shared/data/global-prefixes.txt.gz"
#define GLOBAL_COUNT 901899u

struct prefix {
	uint32_t addr;
	uint32_t plen;
	uint32_t nh; /* the file's next hops by number; without any, one of 64 */
};

/* There is a file, or one was requested. */
bool prefixes_present(void);

/* Reads the file (environment variable PREFIXES, or GLOBAL_PREFIXES; formats: routes_file.h); *out
 * is malloc'ed. Returns the number of IPv4 prefixes, 0 if there is no file. An invalid file ends
 * the program. */
unsigned prefixes_load(struct prefix **out);

/* Makes n prefixes, chosen by random64(); *out is malloc'ed. Some may be equal. */
unsigned prefixes_make(struct prefix **out, unsigned n);

/* The same for IPv6. */
#define GLOBAL_COUNT6 160147u

struct prefix6 {
	uint8_t addr[16];
	uint32_t plen;
	uint32_t nh;
};

unsigned prefixes6_load(struct prefix6 **out);
unsigned prefixes6_make(struct prefix6 **out, unsigned n);

/* A random address of so many octets inside prefix/plen. */
void prefix_draw(uint8_t *to, unsigned octets, const uint8_t *prefix, unsigned plen);

#endif
