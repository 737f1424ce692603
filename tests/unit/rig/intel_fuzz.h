/* A guest that writes anything anywhere, for the tests of the models of Intel's cards. */
#ifndef TESTS_UNIT_RIG_INTEL_FUZZ_H
#define TESTS_UNIT_RIG_INTEL_FUZZ_H

#include "tests/unit/rig/nicsim_rig.h"

/* What a card's test knows of its registers and memory. */
struct fuzz_guest {
	uint32_t ctrl; /* offset of CTRL, whose resets are rare */
	uint32_t (*offset)(void);
	uint32_t (*value)(uint32_t offset);
	void (*set_up)(void); /* a pair of queues */
	void (*memory)(void); /* descriptors */
	void (*own)(void);    /* what only this card has, or NULL */
};

/* One access, frame, fault or span of time, chosen at random. `faults` is the number of the model's. */
void fuzz_step(const struct fuzz_guest *g, unsigned faults);

#endif
