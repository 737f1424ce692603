/* The client's authorities, and its checks of a peer's certificate; see tls.h. */
#include <mbedtls/pem.h>
#include <mbedtls/platform.h>
#include <mbedtls/x509_crt.h>
#include <psa/crypto.h>

#include "control/crypto/library.h"
#include "control/crypto/tls_inside.h"
#include "lib/civil.h"
#include "lib/mem.h"

#define NO_MEMORY "there is no memory, or no entropy"
#define TEXT_MAX 65536 /* of PEM: leaves the heap to sessions, even while two are read */

static struct trust *current; /* NULL: none has been asked for yet */

/* What the client offers. The algorithms of PKCS #1 are for certificates, and for TLS 1.2. The list ends in 0. */
static const uint16_t signatures[] = {
	MBEDTLS_TLS1_3_SIG_ECDSA_SECP256R1_SHA256, MBEDTLS_TLS1_3_SIG_ECDSA_SECP384R1_SHA384,
	MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA256, MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA384,
	MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA512, MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA256,
	MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA384, MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA512, MBEDTLS_TLS1_3_SIG_NONE};

/* --- creation and release --- */

void trust_release(struct trust *t)
{
	if (!t || --t->users)
		return;
	mbedtls_ssl_config_free(&t->config);
	mbedtls_x509_crt_free(&t->authorities);
	mbedtls_free(t);
}

/* Without certificates. */
static struct trust *trust_new(void)
{
	struct trust *t = crypto_start() ? mbedtls_calloc(1, sizeof *t) : NULL;
	if (!t)
		return NULL;
	mbedtls_ssl_config_init(&t->config);
	mbedtls_x509_crt_init(&t->authorities);
	t->users = 1;
	if (!tls_offer(&t->config, MBEDTLS_SSL_IS_CLIENT)) {
		trust_release(t);
		return NULL;
	}
	mbedtls_ssl_conf_sig_algs(&t->config, signatures);
	mbedtls_ssl_conf_authmode(&t->config, MBEDTLS_SSL_VERIFY_REQUIRED);
	mbedtls_ssl_conf_ca_chain(&t->config, &t->authorities, NULL);
	return t;
}

struct trust *trust_take(void)
{
	if (!current)
		current = trust_new();
	if (current)
		current->users++;
	return current;
}

unsigned tls_trusted(void)
{
	return current ? current->count : 0;
}

/* --- certificates --- */

static const char *read_pem(struct trust *t, const uint8_t *text, size_t n)
{
	char *copy = n <= TEXT_MAX ? tls_pem_copy(text, n) : NULL;
	if (!copy)
		return n <= TEXT_MAX ? NO_MEMORY : "it is too large";
	const int bad = mbedtls_x509_crt_parse(&t->authorities, (const uint8_t *)copy, n + 1);
	mbedtls_free(copy);
	if (bad == MBEDTLS_ERR_X509_ALLOC_FAILED || bad == MBEDTLS_ERR_PEM_ALLOC_FAILED)
		return NO_MEMORY;
	if (bad > 0)
		return "a certificate is damaged, or of a kind that is not supported";
	if (bad < 0)
		return "no certificate, or a damaged one, in PEM";
	for (const mbedtls_x509_crt *c = &t->authorities; c; c = c->next)
		t->count++;
	return NULL;
}

/* Of a PEM text, into *to; *to NULL: why not. */
static const char *new_of_pem(const uint8_t *text, size_t n, struct trust **to)
{
	struct trust *t = trust_new();
	const char *why = t ? read_pem(t, text, n) : NO_MEMORY;
	if (why) {
		trust_release(t);
		t = NULL;
	}
	*to = t;
	return why;
}

const char *tls_trust_check(const uint8_t *text, size_t n)
{
	struct trust *t;
	const char *why = new_of_pem(text, n, &t);
	trust_release(t);
	return why;
}

const char *tls_trust_pem(const uint8_t *text, size_t n)
{
	struct trust *t = NULL;
	const char *why = n ? new_of_pem(text, n, &t) : NULL;
	if (why)
		return why;
	trust_release(current);
	current = t;
	return NULL;
}

/* --- a peer's certificate --- */

/* Is one of its iPAddress entries (RFC 5280 4.2.1.6) that address? */
static bool has_address(const mbedtls_x509_crt *c, const struct net_addr *addr)
{
	uint8_t octets[16];
	const bool four = net_addr_is_ip4(addr);
	const size_t n = four ? 4 : sizeof octets;
	memcpy(octets, addr, sizeof octets);
	for (const mbedtls_x509_sequence *s = &c->subject_alt_names; s; s = s->next)
		if ((s->buf.tag & MBEDTLS_ASN1_TAG_VALUE_MASK) == MBEDTLS_X509_SAN_IP_ADDRESS && s->buf.len == n &&
		    memcmp(s->buf.p, octets + sizeof octets - n, n) == 0)
			return true;
	return false;
}

static bool has_fingerprint(const mbedtls_x509_crt *c, const uint8_t fingerprint[SHA256_BYTES])
{
	uint8_t hash[SHA256_BYTES];
	size_t n;
	return psa_hash_compute(PSA_ALG_SHA_256, c->raw.p, c->raw.len, hash, sizeof hash, &n) == PSA_SUCCESS &&
	       memcmp(hash, fingerprint, sizeof hash) == 0;
}

static mbedtls_x509_time time_of(uint64_t utc_ns)
{
	struct civil c;
	civil_of((int64_t)(utc_ns / 1000000000), &c);
	return (mbedtls_x509_time){(int)c.year, (int)c.month, (int)c.day, (int)c.hour, (int)c.minute, (int)c.second};
}

int trust_verify(void *peer, mbedtls_x509_crt *c, int depth, uint32_t *flags)
{
	const struct tls_peer *p = peer;
	if (p->pinned) {
		*flags = depth == 0 && !has_fingerprint(c, p->fingerprint) ? MBEDTLS_X509_BADCERT_OTHER : 0;
		return 0;
	}
	const mbedtls_x509_time now = time_of(p->utc_ns);
	if (mbedtls_x509_time_cmp(&c->valid_to, &now) < 0)
		*flags |= MBEDTLS_X509_BADCERT_EXPIRED;
	if (mbedtls_x509_time_cmp(&c->valid_from, &now) > 0)
		*flags |= MBEDTLS_X509_BADCERT_FUTURE;
	if (depth == 0 && !p->name[0] && !has_address(c, &p->addr))
		*flags |= MBEDTLS_X509_BADCERT_CN_MISMATCH;
	return 0;
}
