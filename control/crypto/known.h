/*
 * Known answers: what the libraries compute, compared with published test vectors, and how long it takes
 * on this machine. The console's `test crypto` and the unit tests run all of them.
 */
#ifndef CONTROL_CRYPTO_KNOWN_H
#define CONTROL_CRYPTO_KNOWN_H

#include "lib/types.h"

struct crypto_known {
	const char *name, *source; /* what is computed, and which document has the answer */
	bool right;
	uint64_t ns;               /* of one computation */
};

/* Does number i, from 0 on; false: there is no such number. crypto_start() has returned true. One takes up to
 * some 5 ms, ten times that where a host interprets the code. */
bool crypto_known(unsigned i, struct crypto_known *to);

#endif
