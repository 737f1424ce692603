/* A TLS client, OpenSSL's, for tests of the TLS server. It is a function of bytes as the server is: the test
 * carries them. */
#ifndef TESTS_UNIT_RIG_OPENSSL_CLIENT_H
#define TESTS_UNIT_RIG_OPENSSL_CLIENT_H

#include <openssl/ssl.h>

#include "tests/unit/rig/host.h"

#define OPENSSL_CLIENT_LOG 65536

struct openssl_client {
	SSL_CTX *ctx;
	SSL *ssl;
	BIO *from_server, *to_server;
	bool ready;        /* its handshake is over */
	bool failed;
	bool ended;        /* close_notify has come */
	int alert;         /* description of the last alert that came (RFC 8446 6); -1: none */
	uint8_t got[OPENSSL_CLIENT_LOG];
	uint32_t n;        /* plain bytes in got[] */
};

/* Lists in OpenSSL's words. Members that are 0 leave its defaults, except the group, which is then P-256. */
struct openssl_wish {
	int version;         /* TLS1_2_VERSION, ... alone; 0: those from TLS 1.2 on */
	const char *ciphers; /* of TLS 1.2 and older */
	const char *suites;  /* of TLS 1.3 */
	const char *groups, *alpn;
	unsigned padding;    /* records of TLS 1.3 are padded to multiples of it */
};

void openssl_open(struct openssl_client *c, const struct openssl_wish *wish);
void openssl_close(struct openssl_client *c);

/* Does what the bytes that came allow. */
void openssl_step(struct openssl_client *c);

/* Bytes from the server, all of them; and those to it: how many, up to n. */
void openssl_take(struct openssl_client *c, const void *bytes, uint32_t n);
uint32_t openssl_give(struct openssl_client *c, void *bytes, uint32_t n);

/* Encrypts all n bytes. */
void openssl_write(struct openssl_client *c, const void *bytes, uint32_t n);

#endif
