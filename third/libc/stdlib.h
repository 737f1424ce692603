/* For foreign code: how it ends the program (control/crypto/library.c). No allocator is declared: Mbed TLS
 * has a heap of its own, libsodium's files need none. */
#ifndef THIRD_STDLIB_H
#define THIRD_STDLIB_H

#include <stddef.h>

#define abort crypto_abort
#define exit crypto_exit

_Noreturn void abort(void);
_Noreturn void exit(int code);

#endif
