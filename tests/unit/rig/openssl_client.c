#include "tests/unit/rig/openssl_client.h"

#include <openssl/err.h>

static void on_message(int write, int version, int type, const void *bytes, size_t n, SSL *ssl, void *arg)
{
	struct openssl_client *c = arg;
	(void)version, (void)ssl;
	if (!write && type == SSL3_RT_ALERT && n == 2)
		c->alert = ((const uint8_t *)bytes)[1];
}

void openssl_open(struct openssl_client *c, const struct openssl_wish *wish)
{
	uint8_t alpn[32];
	*c = (struct openssl_client){.ctx = SSL_CTX_new(TLS_client_method()), .alert = -1};
	assert_non_null(c->ctx);
	SSL_CTX_set_security_level(c->ctx, 0); /* old versions too */
	assert_true(SSL_CTX_set_min_proto_version(c->ctx, wish->version ? wish->version : TLS1_2_VERSION));
	assert_true(SSL_CTX_set_max_proto_version(c->ctx, wish->version));
	assert_true(!wish->ciphers || SSL_CTX_set_cipher_list(c->ctx, wish->ciphers));
	assert_true(!wish->suites || SSL_CTX_set_ciphersuites(c->ctx, wish->suites));
	assert_true(SSL_CTX_set1_groups_list(c->ctx, wish->groups ? wish->groups : "P-256"));
	if (wish->alpn) {
		alpn[0] = (uint8_t)strlen(wish->alpn);
		memcpy(alpn + 1, wish->alpn, alpn[0]);
		assert_int_equal(SSL_CTX_set_alpn_protos(c->ctx, alpn, alpn[0] + 1u), 0);
	}
	assert_true(!wish->padding || SSL_CTX_set_block_padding(c->ctx, wish->padding));
	c->ssl = SSL_new(c->ctx);
	c->from_server = BIO_new(BIO_s_mem());
	c->to_server = BIO_new(BIO_s_mem());
	assert_true(c->ssl && c->from_server && c->to_server);
	SSL_set_bio(c->ssl, c->from_server, c->to_server);
	SSL_set_msg_callback(c->ssl, on_message);
	SSL_set_msg_callback_arg(c->ssl, c);
	SSL_set_connect_state(c->ssl);
}

void openssl_close(struct openssl_client *c)
{
	SSL_free(c->ssl); /* and its BIOs */
	SSL_CTX_free(c->ctx);
	ERR_clear_error();
	*c = (struct openssl_client){0};
}

/* What a call returned that did not succeed. */
static void judge(struct openssl_client *c, int result)
{
	const int error = SSL_get_error(c->ssl, result);
	c->ended |= error == SSL_ERROR_ZERO_RETURN;
	c->failed |= error != SSL_ERROR_ZERO_RETURN && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE;
	ERR_clear_error();
}

void openssl_step(struct openssl_client *c)
{
	if (c->failed)
		return;
	if (!c->ready) {
		const int done = SSL_do_handshake(c->ssl);
		c->ready = done == 1;
		if (!c->ready) {
			judge(c, done);
			return;
		}
	}
	while (!c->failed && !c->ended) {
		assert_true(c->n < sizeof c->got);
		const int got = SSL_read(c->ssl, c->got + c->n, (int)(sizeof c->got - c->n));
		if (got <= 0) {
			judge(c, got);
			return;
		}
		c->n += (uint32_t)got;
	}
}

void openssl_take(struct openssl_client *c, const void *bytes, uint32_t n)
{
	assert_int_equal(BIO_write(c->from_server, bytes, (int)n), (int)n);
}

uint32_t openssl_give(struct openssl_client *c, void *bytes, uint32_t n)
{
	const int got = BIO_read(c->to_server, bytes, (int)n);
	return got > 0 ? (uint32_t)got : 0;
}

void openssl_write(struct openssl_client *c, const void *bytes, uint32_t n)
{
	assert_int_equal(SSL_write(c->ssl, bytes, (int)n), (int)n);
}
