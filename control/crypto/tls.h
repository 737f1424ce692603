/*
 * TLS 1.2 (RFC 5246) and 1.3 (RFC 8446), by Mbed TLS. A session is a function of bytes: it has no connection
 * and no clock. control/management/tls_stream.c puts it between an application and TCP.
 *
 *     tls_open()        a session of the server, whose memory is of the libraries' heap
 *     tls_open_client() one of the client
 *     tls_handshake()   a step of the handshake, until it says TLS_READY
 *     tls_read(), tls_write(), tls_end()
 *     tls_close()       frees it
 *
 * Offered, in this order: TLS 1.3 and TLS 1.2; AES-GCM and ChaCha20-Poly1305 with ephemeral ECDH alone;
 * X25519, P-256, P-384. Not offered: CBC, static RSA, DHE, PSK and tickets (no resumption), early data,
 * renegotiation, compression, client certificates.
 *
 * Invariant: at most one step of a handshake with operations of a public key per tls_handshake() call. Such a step
 * of the client verifies all signatures of the peer's chain, six at most.
 */
#ifndef CONTROL_CRYPTO_TLS_H
#define CONTROL_CRYPTO_TLS_H

#include "lib/sha256.h"
#include "lib/types.h"
#include "net/addr.h"

#define TLS_WRITE_MAX 4095u /* plain bytes of one record: third/config, less the type that TLS 1.3 encrypts with them */
#define TLS_OVERHEAD 64u    /* that a record adds at most: 5 + 8 + 16, or 5 + 1 + 15 of padding + 16 */

/* How a session reaches its connection. Both return the bytes taken, 0: none now. */
struct tls_io {
	uint32_t (*receive)(void *arg, uint8_t *to, uint32_t n);
	uint32_t (*send)(void *arg, const uint8_t *from, uint32_t n);
};

struct tls;

/* NULL: no identity is in use, or there is no memory. */
struct tls *tls_open(const struct tls_io *io, void *arg);
void tls_close(struct tls *t);

#define TLS_NAME_SIZE 128 /* of a host, with NUL */

/*
 * The peer that a client wants to reach. Without a fingerprint the certificate must be one of a trusted authority
 * (tls_trust_pem), valid at that time, and for the name (dNSName, or a common name if it has no subjectAltName), or
 * for the address (iPAddress) if there is no name. With a fingerprint it must be that certificate;
 * its authority, name and dates do not count.
 */
struct tls_peer {
	char name[TLS_NAME_SIZE]; /* of the host, which the server is told (RFC 6066 3); "": there is an address only */
	struct net_addr addr;     /* of the host, if it has no name */
	uint64_t utc_ns;          /* the time of day; 0: not known */
	bool pinned;              /* there is a fingerprint */
	uint8_t fingerprint[SHA256_BYTES]; /* SHA-256 of the certificate (DER) */
};

enum tls_step {
	TLS_READY,  /* the handshake is over */
	TLS_MORE,   /* call again */
	TLS_WAIT,   /* for io: bytes must come, or go */
	TLS_FAILED, /* an alert was sent, if there was room; tls_failure() */
};
enum tls_step tls_handshake(struct tls *t);

/* Decrypted bytes: their number, up to n; 0: none now. */
#define TLS_ENDED (-1) /* the peer has sent close_notify */
#define TLS_BROKEN (-2) /* tls_failure() */
int tls_read(struct tls *t, uint8_t *to, uint32_t n);

/* Encrypts n bytes, 1 to TLS_WRITE_MAX, into one record. io.send must have room for n + TLS_OVERHEAD bytes.
 * False: the session is broken. */
bool tls_write(struct tls *t, const void *from, uint32_t n);

/* Sends close_notify (RFC 8446 6.1), if io.send has room. */
void tls_end(struct tls *t);

/* What was agreed. Static texts. tls_suite() is for tests. */
const char *tls_version(const struct tls *t);
const char *tls_suite(const struct tls *t);

/* Why the session failed. The reasons from TLS_FAILURE_NO_TRUST on are the client's alone. */
enum tls_failure {
	TLS_FAILURE_PROTOCOL, /* a message that is wrong, unexpected or too long */
	TLS_FAILURE_AGREE,    /* no version, suite or group in common */
	TLS_FAILURE_RECORD,   /* a record whose tag is wrong */
	TLS_FAILURE_ALERT,    /* the peer's alert, often: it does not trust the certificate */
	TLS_FAILURE_MEMORY,      /* or no random numbers */
	TLS_FAILURE_NO_TRUST,    /* there is neither a trusted certificate nor a fingerprint */
	TLS_FAILURE_NO_TIME,     /* the time of day is not known, and dates must be checked */
	TLS_FAILURE_UNTRUSTED,   /* no chain leads to a trusted certificate */
	TLS_FAILURE_NAME,        /* the certificate is for another name or address */
	TLS_FAILURE_EXPIRED,     /* it, or an issuer's, is of the past */
	TLS_FAILURE_FUTURE,      /* of the future */
	TLS_FAILURE_PIN,         /* it has another fingerprint */
	TLS_FAILURE_CERTIFICATE, /* it is unfit: a weak key or signature, a wrong use, none at all */
	TLS_FAILURES,
};
#define TLS_FAILURES_SERVER TLS_FAILURE_NO_TRUST
enum tls_failure tls_failure(const struct tls *t);

/* For people, and a word in lower case for metrics. Static texts. */
const char *tls_failure_text(enum tls_failure f);
const char *tls_failure_word(enum tls_failure f);

/* A session of the client. NULL: why not, in *why. */
struct tls *tls_open_client(const struct tls_io *io, void *arg, const struct tls_peer *peer, enum tls_failure *why);

/* --- the authorities that the client trusts, for sessions that begin --- */

/* From now on they are those of PEM text (RFC 7468), one certificate or more; other text between them is ignored.
 * NULL: they are; else why not, and nothing has changed. n 0: from now on there are none. */
const char *tls_trust_pem(const uint8_t *text, size_t n);

/* Why that text could not be used; NULL: it could. */
const char *tls_trust_check(const uint8_t *text, size_t n);

/* Their number. */
unsigned tls_trusted(void);

/* --- the identity: a private key and its certificate. One is in use for all sessions that begin --- */

#define TLS_SECRET 32 /* bytes of a private key of P-256 */

/* Makes a private key. False: there is no entropy. */
bool tls_secret_make(uint8_t secret[TLS_SECRET]);

/* From now on sessions use that key and a certificate signed by itself, which depends on the key alone.
 * False: it is no key, or there is no memory; nothing has changed. */
bool tls_use_secret(const uint8_t secret[TLS_SECRET]);

/* The same of PEM text (RFC 7468): certificates, our own first, and an unencrypted private key: PKCS #8, SEC 1
 * or PKCS #1; ECDSA with P-256 or P-384, or RSA with 2048 to 4096 bits. secret: the key if the text has none;
 * NULL: it must have one. NULL: it is in use; else why not. */
const char *tls_use_pem(const uint8_t *text, size_t n, const uint8_t secret[TLS_SECRET]);

/* Why that text could not be used; NULL: it could. */
const char *tls_check_pem(const uint8_t *text, size_t n);

/* Reads such a text to import it, which is checked more closely: each certificate is signed by the next one, the
 * first is for a TLS server, and `now` (RFC 3339, "2026-11-29T21:44:05Z"; NULL: not known) is within their dates.
 * NULL: *to is that identity, to be passed to tls_use() or tls_drop(); else why not. */
struct identity;
#define TLS_CHAIN_MAX 6 /* certificates */
const char *tls_read_import(const uint8_t *text, size_t n, const uint8_t secret[TLS_SECRET], const char *now,
                            struct identity **to);

/* Uses it from now on; frees it. */
void tls_use(struct identity *i);
void tls_drop(struct identity *i);

/* No identity is in use. */
void tls_forget(void);

/* A name for a certificate: `dns`, or an address. */
struct tls_name {
	const char *dns; /* NULL: */
	uint8_t address[16], bytes; /* 4 or 16, in network order */
};

/* Writes a request for a certificate (PKCS #10, RFC 2986) of that key to `pem`, as PEM with a NUL. The first name, of
 * at most TLS_COMMON_NAME letters, digits, hyphens and dots, is also the subject's. 0: there is no room, or no
 * memory; else the text's length. */
#define TLS_NAMES_MAX 64
#define TLS_COMMON_NAME 64 /* RFC 5280, ub-common-name */
size_t tls_request(char *pem, size_t room, const uint8_t secret[TLS_SECRET], const struct tls_name *names,
                   unsigned count);

#define TLS_FINGERPRINT 96 /* "AA:BB:...", SHA-256 of the certificate, with NUL */
#define TLS_SUBJECT 160
#define TLS_DATE 21        /* "2026-11-29T21:44:05Z" */

struct tls_identity {
	const char *kind; /* "ECDSA P-256", static */
	char fingerprint[TLS_FINGERPRINT];
	char subject[TLS_SUBJECT], issuer[TLS_SUBJECT]; /* "CN=Hayate", printable; a longer one is not shown */
	char from[TLS_DATE], until[TLS_DATE];
};

/* The identity in use; false: none. */
bool tls_identity(struct tls_identity *to);

/* When its certificate expires, in seconds since 1970; the last one of year 9999: never (RFC 5280 4.1.2.5). False:
 * none. */
bool tls_expiry(int64_t *seconds);

#endif
