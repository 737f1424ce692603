/*
 * For fuzz entries that use a rig of the unit tests: the input replaces the random numbers of
 * tests/unit/rig/host.h, so the fuzzer chooses what a rig leaves to chance. A failed cmocka assertion
 * ends the process, as libFuzzer requires.
 */
#ifndef TESTS_FUZZ_RIG_H
#define TESTS_FUZZ_RIG_H

#include "tests/unit/rig/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Reads from here on. A random number is two bytes, four times; after the end all are zero. */
void rig_input(const uint8_t *data, size_t size);
bool rig_more(void);

/* Numbers from bytes of their own, little-endian. */
uint8_t rig_u8(void);
uint16_t rig_u16(void);
uint32_t rig_u32(void);

#endif
