/* TLS sessions; see tls.h. */
#include "control/crypto/tls.h"

#include <mbedtls/asn1.h>
#include <mbedtls/bignum.h>
#include <mbedtls/cipher.h>
#include <mbedtls/ecp.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/md.h>
#include <mbedtls/pk.h>
#include <mbedtls/platform.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509.h>

#include "control/crypto/tls_inside.h"
#include "lib/mem.h"

struct tls {
	mbedtls_ssl_context ssl;
	struct identity *identity; /* of the server; else NULL */
	struct trust *trust;       /* of the client; else NULL */
	struct tls_peer peer;      /* of the client */
	const struct tls_io *io;
	void *arg;
	int error;  /* of the library: the first that was fatal; 0: none */
	bool ended; /* close_notify has come */
};

static int on_send(void *ctx, const unsigned char *from, size_t n)
{
	struct tls *t = ctx;
	const uint32_t taken = t->io->send(t->arg, from, (uint32_t)n);
	return taken ? (int)taken : MBEDTLS_ERR_SSL_WANT_WRITE;
}

static int on_receive(void *ctx, unsigned char *to, size_t n)
{
	struct tls *t = ctx;
	const uint32_t taken = t->io->receive(t->arg, to, (uint32_t)n);
	return taken ? (int)taken : MBEDTLS_ERR_SSL_WANT_READ;
}

/* A session of that configuration; NULL: there is no memory. */
static struct tls *begin(const mbedtls_ssl_config *config, const struct tls_io *io, void *arg)
{
	struct tls *t = mbedtls_calloc(1, sizeof *t);
	if (!t)
		return NULL;
	t->io = io;
	t->arg = arg;
	mbedtls_ssl_init(&t->ssl);
	if (mbedtls_ssl_setup(&t->ssl, config) != 0) {
		tls_close(t);
		return NULL;
	}
	mbedtls_ssl_set_bio(&t->ssl, t, on_send, on_receive, NULL);
	return t;
}

struct tls *tls_open(const struct tls_io *io, void *arg)
{
	struct identity *identity = identity_take();
	struct tls *t = identity ? begin(&identity->config, io, arg) : NULL;
	if (t)
		t->identity = identity;
	else
		identity_release(identity);
	return t;
}

struct tls *tls_open_client(const struct tls_io *io, void *arg, const struct tls_peer *peer, enum tls_failure *why)
{
	struct trust *trust = trust_take();
	*why = !trust                                  ? TLS_FAILURE_MEMORY
	       : !peer->pinned && trust->count == 0    ? TLS_FAILURE_NO_TRUST
	       : !peer->pinned && peer->utc_ns == 0    ? TLS_FAILURE_NO_TIME
	                                               : TLS_FAILURES;
	struct tls *t = *why == TLS_FAILURES ? begin(&trust->config, io, arg) : NULL;
	if (!t) {
		*why = *why == TLS_FAILURES ? TLS_FAILURE_MEMORY : *why;
		trust_release(trust);
		return NULL;
	}
	t->trust = trust;
	t->peer = *peer;
	mbedtls_ssl_set_verify(&t->ssl, trust_verify, &t->peer);
	/* NULL for an address: RFC 6066 3 allows none in the extension, and trust_verify() compares it */
	if (mbedtls_ssl_set_hostname(&t->ssl, peer->name[0] ? peer->name : NULL) == 0)
		return t;
	tls_close(t);
	*why = TLS_FAILURE_MEMORY;
	return NULL;
}

void tls_close(struct tls *t)
{
	if (!t)
		return;
	mbedtls_ssl_free(&t->ssl); /* erases its keys */
	identity_release(t->identity);
	trust_release(t->trust);
	mbedtls_free(t);
}

/* Keeps an error that is fatal; true: it is. */
static bool is_fatal(struct tls *t, int error)
{
	if (error == MBEDTLS_ERR_SSL_WANT_READ || error == MBEDTLS_ERR_SSL_WANT_WRITE ||
	    error == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY || error >= 0)
		return false;
	if (!t->error)
		t->error = error;
	return true;
}

enum tls_step tls_handshake(struct tls *t)
{
	if (mbedtls_ssl_is_handshake_over(&t->ssl))
		return TLS_READY;
	const int error = t->error ? t->error : mbedtls_ssl_handshake_step(&t->ssl);
	if (is_fatal(t, error) || error == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY)
		return TLS_FAILED;
	if (error < 0)
		return TLS_WAIT;
	return mbedtls_ssl_is_handshake_over(&t->ssl) ? TLS_READY : TLS_MORE;
}

int tls_read(struct tls *t, uint8_t *to, uint32_t n)
{
	if (t->error)
		return TLS_BROKEN;
	const int got = t->ended ? MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY : mbedtls_ssl_read(&t->ssl, to, n);
	if (got > 0)
		return got;
	t->ended = got == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY;
	if (t->ended)
		return TLS_ENDED;
	/* An alert waits for room, a refusal of renegotiation: mbedtls_ssl_write would send it instead of the data. */
	if (got == MBEDTLS_ERR_SSL_WANT_WRITE)
		t->error = got;
	return is_fatal(t, got) || t->error ? TLS_BROKEN : 0;
}

bool tls_write(struct tls *t, const void *from, uint32_t n)
{
	const int taken = t->error ? t->error : mbedtls_ssl_write(&t->ssl, from, n);
	if (taken >= 0 && (uint32_t)taken != n && !t->error)
		t->error = MBEDTLS_ERR_SSL_INTERNAL_ERROR; /* not with n up to TLS_WRITE_MAX */
	if (taken < 0 && !t->error)
		t->error = taken; /* WANT_WRITE too: there was to be room */
	return !t->error;
}

void tls_end(struct tls *t)
{
	if (!t->error)
		(void)mbedtls_ssl_close_notify(&t->ssl);
}

const char *tls_version(const struct tls *t)
{
	return mbedtls_ssl_get_version_number(&t->ssl) == MBEDTLS_SSL_VERSION_TLS1_3 ? "TLSv1.3" : "TLSv1.2";
}

const char *tls_suite(const struct tls *t)
{
	return mbedtls_ssl_get_ciphersuite(&t->ssl);
}

/* The reason, of several, that says most. */
static enum tls_failure refusal(uint32_t flags)
{
	return flags & MBEDTLS_X509_BADCERT_OTHER         ? TLS_FAILURE_PIN
	       : flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED ? TLS_FAILURE_UNTRUSTED
	       : flags & MBEDTLS_X509_BADCERT_CN_MISMATCH ? TLS_FAILURE_NAME
	       : flags & MBEDTLS_X509_BADCERT_EXPIRED     ? TLS_FAILURE_EXPIRED
	       : flags & MBEDTLS_X509_BADCERT_FUTURE      ? TLS_FAILURE_FUTURE
	                                                  : TLS_FAILURE_CERTIFICATE;
}

/* Of a fatal alert, which lies where the library has put it: level, description (RFC 8446 6). */
static enum tls_failure alerted(const struct tls *t)
{
	const uint8_t alert = t->ssl.MBEDTLS_PRIVATE(in_msg)[1];
	return alert == MBEDTLS_SSL_ALERT_MSG_PROTOCOL_VERSION || alert == MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE ||
	       alert == MBEDTLS_SSL_ALERT_MSG_INSUFFICIENT_SECURITY ? TLS_FAILURE_AGREE : TLS_FAILURE_ALERT;
}

/* The library adds an error of a low level to that of a higher one (include/mbedtls/error.h). It may report PSA's
 * lack of memory as a generic error or as failed hardware, of which there is none, and a generator of random numbers
 * without memory as one without entropy. */
static bool is_for_memory(int error)
{
	const int low = -(-error & 0x7f), high = error - low;
	return error == MBEDTLS_ERR_ERROR_GENERIC_ERROR || error == MBEDTLS_ERR_SSL_HW_ACCEL_FAILED ||
	       error == MBEDTLS_ERR_ENTROPY_SOURCE_FAILED || error == MBEDTLS_ERR_ECP_RANDOM_FAILED ||
	       low == MBEDTLS_ERR_MPI_ALLOC_FAILED || low == MBEDTLS_ERR_ASN1_ALLOC_FAILED ||
	       high == MBEDTLS_ERR_SSL_ALLOC_FAILED || high == MBEDTLS_ERR_ECP_ALLOC_FAILED ||
	       high == MBEDTLS_ERR_PK_ALLOC_FAILED || high == MBEDTLS_ERR_X509_ALLOC_FAILED ||
	       high == MBEDTLS_ERR_MD_ALLOC_FAILED || high == MBEDTLS_ERR_CIPHER_ALLOC_FAILED;
}

enum tls_failure tls_failure(const struct tls *t)
{
	if (is_for_memory(t->error))
		return TLS_FAILURE_MEMORY;
	switch (t->error) {
	case MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION:
	case MBEDTLS_ERR_SSL_HANDSHAKE_FAILURE:
	case MBEDTLS_ERR_SSL_NO_APPLICATION_PROTOCOL:
		return TLS_FAILURE_AGREE;
	case MBEDTLS_ERR_SSL_INVALID_MAC:
		return TLS_FAILURE_RECORD;
	case MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE:
		return t->trust ? alerted(t) : TLS_FAILURE_ALERT;
	case MBEDTLS_ERR_X509_CERT_VERIFY_FAILED:
	case MBEDTLS_ERR_SSL_BAD_CERTIFICATE:
		return refusal(mbedtls_ssl_get_verify_result(&t->ssl));
	default:
		return TLS_FAILURE_PROTOCOL;
	}
}

static const struct {
	const char *word, *text;
} failures[TLS_FAILURES] = {
	[TLS_FAILURE_PROTOCOL] = {"protocol", "a wrong or unexpected message"},
	[TLS_FAILURE_AGREE] = {"nothing_in_common", "no version, suite or group in common"},
	[TLS_FAILURE_RECORD] = {"bad_record", "a damaged record"},
	[TLS_FAILURE_ALERT] = {"alert", "the peer sent an alert"},
	[TLS_FAILURE_MEMORY] = {"memory", "there is no memory, or no entropy"},
	[TLS_FAILURE_NO_TRUST] = {"no_trust", "no trusted certificate is configured"},
	[TLS_FAILURE_NO_TIME] = {"no_time", "the time of day is not known, so that no certificate is valid"},
	[TLS_FAILURE_UNTRUSTED] = {"untrusted", "the certificate is not one of a trusted authority"},
	[TLS_FAILURE_NAME] = {"wrong_name", "the certificate is for another name or address"},
	[TLS_FAILURE_EXPIRED] = {"expired", "the certificate, or its issuer's, has expired"},
	[TLS_FAILURE_FUTURE] = {"not_yet_valid", "the certificate, or its issuer's, is not valid yet"},
	[TLS_FAILURE_PIN] = {"wrong_fingerprint", "the certificate has another fingerprint"},
	[TLS_FAILURE_CERTIFICATE] = {"unfit_certificate", "the certificate is unfit: its key, signature or use"},
};

const char *tls_failure_text(enum tls_failure f)
{
	return failures[f].text;
}

const char *tls_failure_word(enum tls_failure f)
{
	return failures[f].word;
}
