/*
 * Entropy for the seeds of a cryptographic random generator (control/crypto), from two sources:
 *
 *     the CPU's random generator (RDSEED, else RDRAND)
 *     the jitter of the TSC over a SHA-256 block and an access to memory
 *
 * Each sample passes the health tests of NIST SP 800-90B section 4.4, the repetition count test (4.4.1) and
 * the adaptive proportion test (4.4.2); the first 1024 samples of a source are tested before any is used
 * (4.3, start-up tests). A source that fails once is out of use until the program restarts. The output is
 * SHA-256 over samples of all sources in use, which hold at least twice as much assessed entropy as it has
 * bits. Without a source that passes there is no output: a caller makes no keys then.
 *
 * runtime/random.c needs less and never refuses: its numbers are for hash tables and sequence numbers.
 *
 * For the control core.
 */
#ifndef RUNTIME_ENTROPY_H
#define RUNTIME_ENTROPY_H

#include "lib/types.h"

enum entropy_source { ENTROPY_CPU, ENTROPY_JITTER, ENTROPY_SOURCES };

struct entropy_state {
	const char *name;
	const char *failure; /* why it is out of use; NULL: it is in use, or has not been used yet */
	uint64_t samples;    /* tested so far */
};

/* Fills out with `bytes` bytes of full entropy. False: no source passes its tests, out is zeroed. Cold: with
 * the CPU's generator some 0.2 ms for 32 bytes, without it ten times that. */
bool entropy_get(void *out, size_t bytes);

const struct entropy_state *entropy_state(enum entropy_source source);

#endif
