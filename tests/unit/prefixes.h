/* IPv4 prefixes for FIB tests and benchmarks: the real global table where the file is there, else
 * made up with the same histogram of lengths and about the same clustering. */
#ifndef TESTS_UNIT_PREFIXES_H
#define TESTS_UNIT_PREFIXES_H

#include "lib/types.h"

#define GLOBAL_PREFIXES "../shared/data/global-prefixes.txt.gz"
#define GLOBAL_COUNT 901899u

struct prefix {
	uint32_t addr;
	uint32_t plen;
};

bool prefixes_present(void);

/* Reads the file (environment variable PREFIXES, or GLOBAL_PREFIXES); *out is malloc'ed. Returns
 * the number of IPv4 prefixes, 0 when the file is not there. */
unsigned prefixes_load(struct prefix **out);

/* Makes n prefixes, random64() deciding; *out is malloc'ed. Some may be equal. */
unsigned prefixes_make(struct prefix **out, unsigned n);

/* Next hop for a prefix: a hash into 64. */
uint32_t prefix_nh(struct prefix p);

#endif
