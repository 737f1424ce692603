/*
 * The Toeplitz hash of receive-side scaling ("Verifying the RSS Hash Calculation", Microsoft,
 * Windows driver documentation). Input, in network order as in the packet: source address,
 * destination address, then, if the hash type includes them, source port, destination port.
 *
 * The hash is linear over its input bits, so it is the XOR of one table entry per input byte. The
 * table is built when the key changes.
 */
#ifndef NICSIM_PACKET_TOEPLITZ_H
#define NICSIM_PACKET_TOEPLITZ_H

#include <stdint.h>

#define TOEPLITZ_KEY   40 /* bytes */
#define TOEPLITZ_INPUT 36 /* bytes, at most: IPv6 addresses and ports */

struct toeplitz {
	uint32_t row[TOEPLITZ_INPUT][256]; /* hash of byte value b at position i of the input */
};

void toeplitz_make(struct toeplitz *t, const uint8_t key[TOEPLITZ_KEY]);

/*
 * The XOR contribution to the hash of `bytes` of the input at p, a multiple of four, which begin at
 * input byte `at`. Takes four bytes at once: a loop over single bytes took three times the
 * instructions.
 */
static inline uint32_t toeplitz(const struct toeplitz *t, unsigned at, const uint8_t *p,
                                unsigned bytes)
{
	const uint32_t (*row)[256] = &t->row[at];
	uint32_t hash = 0;
	for (; bytes; bytes -= 4, row += 4, p += 4)
		hash ^= row[0][p[0]] ^ row[1][p[1]] ^ row[2][p[2]] ^ row[3][p[3]];
	return hash;
}

#endif
