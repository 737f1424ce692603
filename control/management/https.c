/* See https.h. */
#include "control/management/https.h"

#include "control/console/log.h"
#include "control/crypto/library.h"
#include "control/crypto/tls.h"
#include "control/management/http.h"
#include "control/management/tls_stream.h"
#include "control/storage/storage.h"
#include "lib/mem.h"
#include "runtime/sealed.h"

#define STORED "keys/https"

struct kept {
	uint8_t secret[TLS_SECRET];
};
static struct sealed kept = SEALED(CORE_PERSIST_HTTPS, 1, struct kept);

static void tell(const char *what)
{
	struct tls_identity i;
	if (tls_identity(&i))
		log_event(LOG_NOTICE, "HTTPS-KEY", "https: %s, SHA-256 fingerprint of the certificate %s", what, i.fingerprint);
}

/* Keeps a key that is in use. */
static void keep(const uint8_t secret[TLS_SECRET])
{
	struct kept *next = sealed_take(&kept) ? sealed_begin(&kept) : NULL;
	if (next) {
		memcpy(next->secret, secret, TLS_SECRET);
		sealed_end(&kept);
	}
	if (storage_present() && storage_put(STORED, secret, TLS_SECRET, NULL, NULL) != E_OK)
		log_event(LOG_ERR, "HTTPS-KEY", "https: the key could not be written to the disk");
}

/* The key of before a restart of the program, or of before a power cut. */
static bool use_old(void)
{
	const struct kept *old = sealed_newest(&kept);
	const uint8_t *stored;
	size_t n;
	if (old && tls_use_secret(old->secret))
		return true;
	if (storage_get(STORED, &stored, &n) != E_OK || n != TLS_SECRET)
		return false;
	uint8_t secret[TLS_SECRET];
	memcpy(secret, stored, sizeof secret);
	const bool good = tls_use_secret(secret);
	if (good) {
		keep(secret);
		tell("the key on the disk");
	}
	crypto_wipe(secret, sizeof secret);
	return good;
}

bool https_new_key(void)
{
	uint8_t secret[TLS_SECRET];
	const bool good = tls_secret_make(secret) && tls_use_secret(secret);
	if (good) {
		keep(secret);
		tell("a new key");
	}
	crypto_wipe(secret, sizeof secret);
	return good;
}

bool https_prepare(void)
{
	if (!http_prepare())
		return false;
	if (tls_stream_prepare())
		return true;
	if (*crypto_why())
		log_event(LOG_ERR, "HTTPS-KEY", "https: %s", crypto_why());
	return false;
}

bool https_choose(struct text pem)
{
	struct tls_identity i;
	const char *why = NULL;
	if (pem.len == 0 && ((tls_identity(&i) && i.own) || use_old() || https_new_key()))
		return true;
	if (pem.len)
		why = tls_use_pem((const uint8_t *)pem.at, pem.len);
	if (pem.len && !why) {
		tell("the certificate of the configuration");
		return true;
	}
	log_event(LOG_ERR, "HTTPS-KEY", "https: %s", why ? why : "no key could be made");
	return false;
}

void https_start(void)
{
	tls_stream_start();
}

void https_listen(uint16_t port)
{
	tls_stream_listen(port, &http_stream_app);
}
