/* The guard word of the product's objects in programs of the host (GUARD in the Makefile); the C
 * library has the function that is called when it has changed. */
#include <stdint.h>

extern uintptr_t __stack_chk_guard;
uintptr_t __stack_chk_guard = 0x5a17c3e8d90b6400;
