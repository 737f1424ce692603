/* Between tls.c and tls_identity.c. */
#ifndef CONTROL_CRYPTO_TLS_INSIDE_H
#define CONTROL_CRYPTO_TLS_INSIDE_H

#include <mbedtls/ssl.h>

/* A key with its certificate, in the libraries' heap. It is freed when it is not in use any more and its
 * last session has ended. */
struct identity {
	mbedtls_ssl_config config;
	mbedtls_x509_crt chain;
	mbedtls_pk_context key;
	unsigned users; /* sessions, and one if it is the one in use */
};

/* The identity in use, with one more user; NULL: none. */
struct identity *identity_take(void);
void identity_release(struct identity *i);

#endif
