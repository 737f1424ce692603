/*
 * For fuzz entries that use a rig of the unit tests: the input stands for the random numbers of
 * tests/unit/host.h, so what a rig leaves to chance is what the fuzzer tries. What fails an
 * assertion of cmocka's ends the process, as libFuzzer wants it.
 */
#ifndef TESTS_FUZZ_RIG_H
#define TESTS_FUZZ_RIG_H

#include "tests/unit/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Reads from here on. A random number is two bytes, four times; behind the end all are zero. */
void rig_input(const uint8_t *data, size_t size);
bool rig_more(void);

/* Numbers of their own bytes, little-endian. */
uint8_t rig_u8(void);
uint16_t rig_u16(void);
uint32_t rig_u32(void);

#endif
