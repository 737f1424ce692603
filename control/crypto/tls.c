/* TLS sessions; see tls.h. */
#include "control/crypto/tls.h"

#include <mbedtls/error.h>
#include <mbedtls/platform.h>
#include <mbedtls/ssl.h>

#include "control/crypto/tls_inside.h"
#include "lib/mem.h"

struct tls {
	mbedtls_ssl_context ssl;
	struct identity *identity;
	const struct tls_io *io;
	void *arg;
	int error; /* of the library: the first that was fatal; 0: none */
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

struct tls *tls_open(const struct tls_io *io, void *arg)
{
	struct identity *identity = identity_take();
	struct tls *t = identity ? mbedtls_calloc(1, sizeof *t) : NULL;
	if (!t) {
		identity_release(identity);
		return NULL;
	}
	t->identity = identity;
	t->io = io;
	t->arg = arg;
	mbedtls_ssl_init(&t->ssl);
	if (mbedtls_ssl_setup(&t->ssl, &identity->config) != 0) {
		tls_close(t);
		return NULL;
	}
	mbedtls_ssl_set_bio(&t->ssl, t, on_send, on_receive, NULL);
	return t;
}

void tls_close(struct tls *t)
{
	if (!t)
		return;
	mbedtls_ssl_free(&t->ssl); /* erases its keys */
	identity_release(t->identity);
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
	const int got = t->error ? t->error : mbedtls_ssl_read(&t->ssl, to, n);
	if (got > 0)
		return got;
	if (got == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY)
		return TLS_ENDED;
	return is_fatal(t, got) ? TLS_BROKEN : 0;
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

enum tls_failure tls_failure(const struct tls *t)
{
	switch (t->error) {
	case MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION:
	case MBEDTLS_ERR_SSL_HANDSHAKE_FAILURE:
	case MBEDTLS_ERR_SSL_NO_APPLICATION_PROTOCOL:
		return TLS_FAILURE_AGREE;
	case MBEDTLS_ERR_SSL_INVALID_MAC:
		return TLS_FAILURE_RECORD;
	case MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE:
		return TLS_FAILURE_ALERT;
	case MBEDTLS_ERR_SSL_ALLOC_FAILED:
		return TLS_FAILURE_MEMORY;
	default:
		return TLS_FAILURE_PROTOCOL;
	}
}
