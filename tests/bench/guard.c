/* The stack guard word for the product's objects in host programs (GUARD in the Makefile); the C
 * library has the function that is called when the guard has changed. */
#include <stdint.h>

extern uintptr_t __stack_chk_guard;
uintptr_t __stack_chk_guard = 0x5a17c3e8d90b6400;
