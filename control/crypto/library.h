/*
 * The cryptographic libraries: Mbed TLS by its PSA interface, and libsodium for what that lacks. This room
 * is the only one that includes their headers or calls them (make check). Both run in the control program
 * alone: their heap is private memory of the control core.
 *
 * Nothing is taken and nothing is seeded before the first crypto_start(), so a machine without TLS and SSH
 * pays nothing.
 */
#ifndef CONTROL_CRYPTO_LIBRARY_H
#define CONTROL_CRYPTO_LIBRARY_H

#include "lib/types.h"

/* The libraries' heap, fixed. TLS sessions take most of it (control/crypto/tls.h). */
#define CRYPTO_HEAP (1024 * 1024)

/* True: the libraries are ready. The first call takes the heap and seeds the random generator, which needs
 * entropy (runtime/entropy.h); if that fails, all later calls fail too, until the program restarts. */
bool crypto_start(void);

/* Why crypto_start() has returned false; "" if it has not. */
const char *crypto_why(void);

/* Random bytes by CTR_DRBG (NIST SP 800-90A), for keys, nonces and salts. False: there is no entropy; out is
 * zeroed. Calls crypto_start(). */
bool crypto_random(void *out, size_t bytes);

/* Overwrites a secret; no compiler leaves it out. */
void crypto_wipe(void *at, size_t bytes);

struct crypto_use {
	bool started;
	size_t heap, used, peak; /* bytes of the heap, in use now, in use at most so far */
};
struct crypto_use crypto_use(void);

/* The libraries with version and licence, for people: "Mbed TLS 3.6.7 (Apache-2.0), ...". */
const char *crypto_libraries(void);

#endif
