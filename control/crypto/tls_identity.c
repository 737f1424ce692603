/* Identities of the TLS server; see tls.h. */
#include "control/crypto/tls.h"

#include <mbedtls/pem.h>
#include <mbedtls/platform.h>
#include <mbedtls/psa_util.h>
#include <mbedtls/x509_crt.h>
#include <psa/crypto.h>

#include "control/crypto/library.h"
#include "control/crypto/tls_inside.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/sha256.h"

#define CERTIFICATE_MAX 1024 /* bytes of ours */
#define RSA_BITS_MIN 2048
#define RSA_BITS_MAX 4096    /* one operation takes some 20 ms */

static struct identity *current;

/* What is offered (docs/https.md). Lists end in 0. */
static const int suites[] = {
	MBEDTLS_TLS1_3_AES_128_GCM_SHA256, MBEDTLS_TLS1_3_AES_256_GCM_SHA384, MBEDTLS_TLS1_3_CHACHA20_POLY1305_SHA256,
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, 0};
static const uint16_t groups[] = {MBEDTLS_SSL_IANA_TLS_GROUP_X25519, MBEDTLS_SSL_IANA_TLS_GROUP_SECP256R1,
                                  MBEDTLS_SSL_IANA_TLS_GROUP_SECP384R1, 0};
static const uint16_t signatures[] = {
	MBEDTLS_TLS1_3_SIG_ECDSA_SECP256R1_SHA256, MBEDTLS_TLS1_3_SIG_ECDSA_SECP384R1_SHA384,
	MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA256, MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA384,
	MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA512, MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA256, /* the last: TLS 1.2 only */
	MBEDTLS_TLS1_3_SIG_NONE};
static const char *protocols[] = {"http/1.1", NULL}; /* ALPN, RFC 7301 */

/* --- life --- */

struct identity *identity_take(void)
{
	if (current)
		current->users++;
	return current;
}

void identity_release(struct identity *i)
{
	if (!i || --i->users)
		return;
	mbedtls_ssl_config_free(&i->config);
	mbedtls_x509_crt_free(&i->chain);
	mbedtls_pk_free(&i->key); /* erases the key */
	mbedtls_free(i);
}

static struct identity *identity_new(void)
{
	struct identity *i = crypto_start() ? mbedtls_calloc(1, sizeof *i) : NULL;
	if (!i)
		return NULL;
	mbedtls_ssl_config_init(&i->config);
	mbedtls_x509_crt_init(&i->chain);
	mbedtls_pk_init(&i->key);
	i->users = 1;
	return i;
}

/* The configuration of its sessions. */
static bool configure(struct identity *i)
{
	mbedtls_ssl_config *c = &i->config;
	if (mbedtls_ssl_config_defaults(c, MBEDTLS_SSL_IS_SERVER, MBEDTLS_SSL_TRANSPORT_STREAM,
	                                MBEDTLS_SSL_PRESET_DEFAULT) != 0 ||
	    mbedtls_ssl_conf_own_cert(c, &i->chain, &i->key) != 0 ||
	    mbedtls_ssl_conf_alpn_protocols(c, protocols) != 0)
		return false;
	mbedtls_ssl_conf_rng(c, mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);
	mbedtls_ssl_conf_min_tls_version(c, MBEDTLS_SSL_VERSION_TLS1_2);
	mbedtls_ssl_conf_max_tls_version(c, MBEDTLS_SSL_VERSION_TLS1_3);
	mbedtls_ssl_conf_ciphersuites(c, suites);
	mbedtls_ssl_conf_groups(c, groups);
	mbedtls_ssl_conf_sig_algs(c, signatures);
	mbedtls_ssl_conf_authmode(c, MBEDTLS_SSL_VERIFY_NONE);
	return true;
}

/* Puts a complete identity in the place of the one in use, or frees it. */
static bool use(struct identity *i, bool good)
{
	if (!i)
		return false;
	if (!good || !configure(i)) {
		identity_release(i);
		return false;
	}
	identity_release(current);
	current = i;
	return true;
}

void tls_forget(void)
{
	identity_release(current);
	current = NULL;
}

/* --- our own --- */

static psa_key_attributes_t p256(void)
{
	psa_key_attributes_t a = PSA_KEY_ATTRIBUTES_INIT;
	psa_set_key_type(&a, PSA_KEY_TYPE_ECC_KEY_PAIR(PSA_ECC_FAMILY_SECP_R1));
	psa_set_key_bits(&a, 256);
	psa_set_key_algorithm(&a, PSA_ALG_DETERMINISTIC_ECDSA(PSA_ALG_ANY_HASH));
	psa_set_key_usage_flags(&a, PSA_KEY_USAGE_EXPORT | PSA_KEY_USAGE_SIGN_HASH);
	return a;
}

bool tls_secret_make(uint8_t secret[TLS_SECRET])
{
	const psa_key_attributes_t a = p256();
	psa_key_id_t id = 0;
	size_t n = 0;
	const bool made = crypto_start() && psa_generate_key(&a, &id) == PSA_SUCCESS &&
	                  psa_export_key(id, secret, TLS_SECRET, &n) == PSA_SUCCESS && n == TLS_SECRET;
	psa_destroy_key(id);
	return made;
}

static bool key_of(const uint8_t secret[TLS_SECRET], mbedtls_pk_context *key)
{
	const psa_key_attributes_t a = p256();
	psa_key_id_t id = 0;
	const bool made = psa_import_key(&a, secret, TLS_SECRET, &id) == PSA_SUCCESS &&
	                  mbedtls_pk_copy_from_psa(id, key) == 0;
	psa_destroy_key(id);
	return made;
}

/* The certificate, RFC 5280: signed by its own key, deterministically (RFC 6979), with dates that are always
 * the same (4.1.2.5: 99991231235959Z is for no date of expiry), so that it has one fingerprint for ever. */
static bool sign_itself(struct identity *i)
{
	mbedtls_x509write_cert w;
	uint8_t der[CERTIFICATE_MAX], serial[SHA256_BYTES];
	size_t n = 0;
	const int public = mbedtls_pk_write_pubkey_der(&i->key, der, sizeof der); /* at the end of der */
	if (public <= 0 || psa_hash_compute(PSA_ALG_SHA_256, der + sizeof der - public, (size_t)public, serial,
	                                    sizeof serial, &n) != PSA_SUCCESS)
		return false;
	serial[0] = (serial[0] & 0x7f) | 0x40; /* 4.1.2.2: positive, at most 20 octets */
	mbedtls_x509write_crt_init(&w);
	mbedtls_x509write_crt_set_version(&w, MBEDTLS_X509_CRT_VERSION_3);
	mbedtls_x509write_crt_set_md_alg(&w, MBEDTLS_MD_SHA256);
	mbedtls_x509write_crt_set_subject_key(&w, &i->key);
	mbedtls_x509write_crt_set_issuer_key(&w, &i->key);
	const bool good = mbedtls_x509write_crt_set_subject_name(&w, "CN=Hayate") == 0 &&
	                  mbedtls_x509write_crt_set_issuer_name(&w, "CN=Hayate") == 0 &&
	                  mbedtls_x509write_crt_set_serial_raw(&w, serial, 16) == 0 &&
	                  mbedtls_x509write_crt_set_validity(&w, "20260101000000", "99991231235959") == 0 &&
	                  mbedtls_x509write_crt_set_basic_constraints(&w, 0, -1) == 0 &&
	                  mbedtls_x509write_crt_set_key_usage(&w, MBEDTLS_X509_KU_DIGITAL_SIGNATURE) == 0;
	const int bytes = good ? mbedtls_x509write_crt_der(&w, der, sizeof der, mbedtls_psa_get_random,
	                                                   MBEDTLS_PSA_RANDOM_STATE) : 0;
	mbedtls_x509write_crt_free(&w);
	return bytes > 0 && mbedtls_x509_crt_parse_der(&i->chain, der + sizeof der - bytes, (size_t)bytes) == 0;
}

bool tls_use_secret(const uint8_t secret[TLS_SECRET])
{
	struct identity *i = identity_new();
	if (i)
		i->own = true;
	return use(i, i && key_of(secret, &i->key) && sign_itself(i));
}

/* --- users' --- */

static const char *kind_of(const mbedtls_pk_context *key)
{
	const size_t bits = mbedtls_pk_get_bitlen(key);
	if (mbedtls_pk_can_do(key, MBEDTLS_PK_ECDSA))
		return bits == 256 ? "ECDSA P-256" : bits == 384 ? "ECDSA P-384" : NULL;
	if (mbedtls_pk_can_do(key, MBEDTLS_PK_RSA) && bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX)
		return "RSA";
	return NULL;
}

/* text: with a NUL, counted in n, as the library wants it. */
static const char *read_pem(struct identity *i, const uint8_t *text, size_t n)
{
	if (mbedtls_x509_crt_parse(&i->chain, text, n) != 0)
		return "no certificate, or a damaged one, in PEM";
	const int key = mbedtls_pk_parse_key(&i->key, text, n, NULL, 0, mbedtls_psa_get_random,
	                                     MBEDTLS_PSA_RANDOM_STATE);
	if (key == MBEDTLS_ERR_PK_PASSWORD_REQUIRED || key == MBEDTLS_ERR_PEM_PASSWORD_REQUIRED)
		return "the private key is encrypted";
	if (key != 0)
		return "no private key, or a damaged one, in PEM";
	if (!kind_of(&i->key))
		return "the key is neither of P-256, P-384 nor RSA with 2048 to 4096 bits";
	if (mbedtls_pk_check_pair(&i->chain.pk, &i->key, mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE) != 0)
		return "the private key is not that of the first certificate";
	return NULL;
}

/* An identity of a PEM text, into *to; *to NULL: why not. */
static const char *new_of_pem(const uint8_t *text, size_t n, struct identity **to)
{
	struct identity *i = identity_new();
	char *copy = i && n < CRYPTO_HEAP / 8 ? mbedtls_calloc(1, n + 1) : NULL;
	const char *why = !i ? "there is no memory, or no entropy" : "it is too large";
	if (copy) {
		memcpy(copy, text, n);
		why = read_pem(i, (const uint8_t *)copy, n + 1);
		crypto_wipe(copy, n);
		mbedtls_free(copy);
	}
	if (why) {
		identity_release(i);
		i = NULL;
	}
	*to = i;
	return why;
}

const char *tls_check_pem(const uint8_t *text, size_t n)
{
	struct identity *i;
	const char *why = new_of_pem(text, n, &i);
	identity_release(i);
	return why;
}

const char *tls_use_pem(const uint8_t *text, size_t n)
{
	struct identity *i;
	const char *why = new_of_pem(text, n, &i);
	return why ? why : use(i, true) ? NULL : "there is no memory";
}

bool tls_identity(struct tls_identity *to)
{
	uint8_t hash[SHA256_BYTES];
	size_t n;
	if (!current || psa_hash_compute(PSA_ALG_SHA_256, current->chain.raw.p, current->chain.raw.len, hash, sizeof hash,
	                                 &n) != PSA_SUCCESS)
		return false;
	*to = (struct tls_identity){.own = current->own, .kind = kind_of(&current->key)};
	for (unsigned i = 0; i < sizeof hash; i++)
		fmt_format(to->fingerprint + 3 * i, 4, i + 1 < sizeof hash ? "%02X:" : "%02X", hash[i]);
	return true;
}
