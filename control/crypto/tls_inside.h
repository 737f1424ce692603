/* Between tls.c, tls_identity.c and tls_trust.c. */
#ifndef CONTROL_CRYPTO_TLS_INSIDE_H
#define CONTROL_CRYPTO_TLS_INSIDE_H

#include <mbedtls/ssl.h>

#include "control/crypto/tls.h"

/* What both sides offer, into a new configuration of this endpoint (MBEDTLS_SSL_IS_SERVER or _CLIENT). False: there
 * is no memory. */
bool tls_offer(mbedtls_ssl_config *c, int endpoint);

/* A text with a NUL behind it, which the library wants of PEM, in its heap. crypto_wipe and mbedtls_free end it.
 * NULL: it is too large, or there is no memory. */
char *tls_pem_copy(const uint8_t *text, size_t n);

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

/* Certificates of authorities, with the configuration of sessions of the client, likewise. */
struct trust {
	mbedtls_ssl_config config;
	mbedtls_x509_crt authorities;
	unsigned users;
	unsigned count; /* of the certificates; 0: a peer's fingerprint must be known */
};

/* The one in use, with one more user; NULL: there is no memory. */
struct trust *trust_take(void);
void trust_release(struct trust *t);

/* For mbedtls_ssl_set_verify(), of a struct tls_peer: what the library does not check. */
int trust_verify(void *peer, mbedtls_x509_crt *c, int depth, uint32_t *flags);

#endif
