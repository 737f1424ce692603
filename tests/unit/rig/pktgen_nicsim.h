/* nicsim's judge of test traffic, for tests of tools/pktgen, which has a struct stamp of its own:
 * both describe one format and share no header. */
#ifndef TESTS_UNIT_RIG_PKTGEN_NICSIM_H
#define TESTS_UNIT_RIG_PKTGEN_NICSIM_H

#include <stdint.h>

#define NICSIM_FLOWS 16

/* Frames 0 to `sent` - 1 of these flows are expected. */
void nicsim_expect(uint64_t sent);

/* True if it is a frame of a flow that arrives for the first time, with every byte correct. */
int nicsim_admits(const uint8_t *frame, uint32_t bytes, unsigned flow);

#endif
