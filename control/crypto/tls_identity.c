/* Identities of the TLS server; see tls.h. */
#include "control/crypto/tls.h"

#include <mbedtls/oid.h>
#include <mbedtls/pem.h>
#include <mbedtls/platform.h>
#include <mbedtls/psa_util.h>
#include <mbedtls/x509_crt.h>
#include <mbedtls/x509_csr.h>
#include <psa/crypto.h>

#include "control/crypto/library.h"
#include "control/crypto/tls_inside.h"
#include "lib/civil.h"
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

/* --- creation and release --- */

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

bool tls_offer(mbedtls_ssl_config *c, int endpoint)
{
	if (mbedtls_ssl_config_defaults(c, endpoint, MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT) != 0)
		return false;
	mbedtls_ssl_conf_rng(c, mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);
	mbedtls_ssl_conf_min_tls_version(c, MBEDTLS_SSL_VERSION_TLS1_2);
	mbedtls_ssl_conf_max_tls_version(c, MBEDTLS_SSL_VERSION_TLS1_3);
	mbedtls_ssl_conf_ciphersuites(c, suites);
	mbedtls_ssl_conf_groups(c, groups);
	return true;
}

/* The configuration of its sessions. */
static bool configure(struct identity *i)
{
	mbedtls_ssl_config *c = &i->config;
	if (!tls_offer(c, MBEDTLS_SSL_IS_SERVER) || mbedtls_ssl_conf_own_cert(c, &i->chain, &i->key) != 0 ||
	    mbedtls_ssl_conf_alpn_protocols(c, protocols) != 0)
		return false;
	mbedtls_ssl_conf_sig_algs(c, signatures);
	mbedtls_ssl_conf_authmode(c, MBEDTLS_SSL_VERIFY_NONE);
	return true;
}

void tls_use(struct identity *i)
{
	identity_release(current);
	current = i;
}

void tls_drop(struct identity *i)
{
	identity_release(i);
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
	const bool good = i && key_of(secret, &i->key) && sign_itself(i) && configure(i);
	if (good)
		tls_use(i);
	else
		identity_release(i);
	return good;
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

static bool has_words(const uint8_t *text, size_t n, const char *words)
{
	const size_t length = strlen(words);
	for (size_t at = 0; at + length <= n; at++)
		if (memcmp(text + at, words, length) == 0)
			return true;
	return false;
}

/* The private key of a PEM text; if it has none, of secret, unless that is NULL. */
static const char *read_key(struct identity *i, const uint8_t *text, size_t n, const uint8_t *secret)
{
	if (secret && !has_words(text, n, "PRIVATE KEY-----")) /* the end of the label of all forms */
		return key_of(secret, &i->key) ? NULL : "there is no memory";
	if (has_words(text, n, "-----BEGIN ENCRYPTED PRIVATE KEY-----"))
		return "the private key is encrypted";
	const int key = mbedtls_pk_parse_key(&i->key, text, n, NULL, 0, mbedtls_psa_get_random,
	                                     MBEDTLS_PSA_RANDOM_STATE);
	if (key == MBEDTLS_ERR_PK_PASSWORD_REQUIRED || key == MBEDTLS_ERR_PEM_PASSWORD_REQUIRED)
		return "the private key is encrypted";
	return key == 0 ? NULL : "no private key, or a damaged one, in PEM";
}

/* text: with a NUL, counted in n, as the library wants it. */
static const char *read_pem(struct identity *i, const uint8_t *text, size_t n, const uint8_t *secret)
{
	static const char kinds[] = "the key is neither of P-256, P-384 nor RSA with 2048 to 4096 bits";
	const int error = mbedtls_x509_crt_parse(&i->chain, text, n);
	if (error == MBEDTLS_ERR_PK_UNKNOWN_NAMED_CURVE || error == MBEDTLS_ERR_PK_UNKNOWN_PK_ALG)
		return kinds;
	if (error != 0)
		return "no certificate, or a damaged one, in PEM";
	const char *why = read_key(i, text, n, secret);
	if (why)
		return why;
	if (!kind_of(&i->key))
		return kinds;
	if (mbedtls_pk_check_pair(&i->chain.pk, &i->key, mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE) != 0)
		return "the private key is not that of the first certificate";
	return NULL;
}

char *tls_pem_copy(const uint8_t *text, size_t n)
{
	char *copy = n < CRYPTO_HEAP / 8 ? mbedtls_calloc(1, n + 1) : NULL;
	if (copy)
		memcpy(copy, text, n);
	return copy;
}

/* An identity of a PEM text, into *to; *to NULL: why not. */
static const char *new_of_pem(const uint8_t *text, size_t n, const uint8_t *secret, struct identity **to)
{
	struct identity *i = identity_new();
	char *copy = i ? tls_pem_copy(text, n) : NULL;
	const char *why = !i ? "there is no memory, or no entropy" : "it is too large";
	if (copy) {
		why = read_pem(i, (const uint8_t *)copy, n + 1, secret);
		crypto_wipe(copy, n);
		mbedtls_free(copy);
	}
	if (!why && !configure(i))
		why = "there is no memory";
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
	const char *why = new_of_pem(text, n, NULL, &i);
	identity_release(i);
	return why;
}

const char *tls_use_pem(const uint8_t *text, size_t n, const uint8_t secret[TLS_SECRET])
{
	struct identity *i;
	const char *why = new_of_pem(text, n, secret, &i);
	if (!why)
		tls_use(i);
	return why;
}

/* --- import --- */

static void put_date(char to[TLS_DATE], const mbedtls_x509_time *t)
{
	fmt_format(to, TLS_DATE, "%04d-%02d-%02dT%02d:%02d:%02dZ", t->year, t->mon, t->day, t->hour, t->min, t->sec);
}

/* Each certificate of a chain is signed by the next one: the last is taken for trusted, and dates do not count. */
static bool is_chain(mbedtls_x509_crt *first)
{
	mbedtls_x509_crt *last = first;
	uint32_t flags = 0;
	unsigned n = 1;
	for (; last->next; last = last->next, n++)
		if (last->issuer_raw.len != last->next->subject_raw.len ||
		    memcmp(last->issuer_raw.p, last->next->subject_raw.p, last->issuer_raw.len) != 0)
			return false;
	if (n == 1)
		return true;
	(void)mbedtls_x509_crt_verify_with_profile(first, last, NULL, &mbedtls_x509_crt_profile_default, NULL, &flags,
	                                           NULL, NULL);
	return (flags & ~(uint32_t)(MBEDTLS_X509_BADCERT_EXPIRED | MBEDTLS_X509_BADCERT_FUTURE)) == 0;
}

_Static_assert(TLS_CHAIN_MAX == MBEDTLS_X509_MAX_INTERMEDIATE_CA + 2, "the library verifies no longer chain");

static const char *check_import(struct identity *i, const char *now)
{
	unsigned n = 0;
	for (const mbedtls_x509_crt *c = &i->chain; c; c = c->next) {
		char from[TLS_DATE], until[TLS_DATE];
		put_date(from, &c->valid_from);
		put_date(until, &c->valid_to);
		if (++n > TLS_CHAIN_MAX)
			return "there are more than 6 certificates";
		if (now && strcmp(now, from) < 0)
			return n == 1 ? "the certificate is not valid yet"
			              : "a certificate of an issuer is not valid yet";
		if (now && strcmp(now, until) > 0)
			return n == 1 ? "the certificate has expired" : "a certificate of an issuer has expired";
	}
	if (mbedtls_x509_crt_check_key_usage(&i->chain, MBEDTLS_X509_KU_DIGITAL_SIGNATURE) != 0 ||
	    mbedtls_x509_crt_check_extended_key_usage(&i->chain, MBEDTLS_OID_SERVER_AUTH,
	                                              MBEDTLS_OID_SIZE(MBEDTLS_OID_SERVER_AUTH)) != 0)
		return "the certificate is not for a TLS server (key usage)";
	return is_chain(&i->chain) ? NULL : "the certificates are no chain: each is to be signed by the next one";
}

const char *tls_read_import(const uint8_t *text, size_t n, const uint8_t secret[TLS_SECRET], const char *now,
                            struct identity **to)
{
	const char *why = new_of_pem(text, n, secret, to);
	if (!why)
		why = check_import(*to, now);
	if (why && *to) {
		identity_release(*to);
		*to = NULL;
	}
	return why;
}

/* --- a request for a certificate --- */

size_t tls_request(char *pem, size_t room, const uint8_t secret[TLS_SECRET], const struct tls_name *names,
                   unsigned count)
{
	mbedtls_x509_san_list san[TLS_NAMES_MAX];
	mbedtls_x509write_csr w;
	mbedtls_pk_context key;
	char subject[96];
	if (count == 0 || count > TLS_NAMES_MAX || !names[0].dns || !crypto_start())
		return 0;
	for (unsigned i = 0; i < count; i++) {
		const char *dns = names[i].dns;
		mbedtls_x509_buf *to = &san[i].node.san.unstructured_name;
		san[i].node.type = dns ? MBEDTLS_X509_SAN_DNS_NAME : MBEDTLS_X509_SAN_IP_ADDRESS;
		to->p = (unsigned char *)(uintptr_t)(dns ? (const void *)dns : names[i].address); /* only read */
		to->len = dns ? strlen(dns) : names[i].bytes;
		san[i].next = i ? &san[i - 1] : NULL; /* DER is written from its end */
	}
	fmt_format(subject, sizeof subject, "CN=%s", names[0].dns);
	mbedtls_pk_init(&key);
	mbedtls_x509write_csr_init(&w);
	mbedtls_x509write_csr_set_md_alg(&w, MBEDTLS_MD_SHA256);
	mbedtls_x509write_csr_set_key(&w, &key);
	const bool good = key_of(secret, &key) && mbedtls_x509write_csr_set_subject_name(&w, subject) == 0 &&
	                  mbedtls_x509write_csr_set_subject_alternative_name(&w, &san[count - 1]) == 0 &&
	                  mbedtls_x509write_csr_pem(&w, (unsigned char *)pem, room, mbedtls_psa_get_random,
	                                            MBEDTLS_PSA_RANDOM_STATE) == 0;
	mbedtls_x509write_csr_free(&w);
	mbedtls_pk_free(&key);
	return good ? strlen(pem) : 0;
}

/* --- what is in use --- */

static void put_name(char to[TLS_SUBJECT], const mbedtls_x509_name *name)
{
	if (mbedtls_x509_dn_gets(to, TLS_SUBJECT, name) < 0)
		fmt_format(to, TLS_SUBJECT, "(a name of more than %u characters)", TLS_SUBJECT - 1);
}

bool tls_identity(struct tls_identity *to)
{
	uint8_t hash[SHA256_BYTES];
	size_t n;
	if (!current || psa_hash_compute(PSA_ALG_SHA_256, current->chain.raw.p, current->chain.raw.len, hash,
	                                 sizeof hash, &n) != PSA_SUCCESS)
		return false;
	*to = (struct tls_identity){.kind = kind_of(&current->key)};
	put_name(to->subject, &current->chain.subject);
	put_name(to->issuer, &current->chain.issuer);
	put_date(to->from, &current->chain.valid_from);
	put_date(to->until, &current->chain.valid_to);
	for (unsigned i = 0; i < sizeof hash; i++)
		fmt_format(to->fingerprint + 3 * i, 4, i + 1 < sizeof hash ? "%02X:" : "%02X", hash[i]);
	return true;
}

bool tls_expiry(int64_t *seconds)
{
	if (!current)
		return false;
	const mbedtls_x509_time *t = &current->chain.valid_to;
	const struct civil c = {.year = (unsigned)t->year, .month = (unsigned)t->mon, .day = (unsigned)t->day,
	                        .hour = (unsigned)t->hour, .minute = (unsigned)t->min, .second = (unsigned)t->sec};
	*seconds = civil_is_valid(&c) ? civil_seconds(&c) : 0; /* the library has looked at it */
	return true;
}
